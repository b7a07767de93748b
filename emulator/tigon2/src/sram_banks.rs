//! SRAM in several banks, of a `tigon-n` (docs/tigon2-n.md): each has a port of its own, and accesses to different ones do not
//! wait for each other.

use emulator_cpu::clock::{CpuClock, TICKS_PER_CYCLE};
use emulator_state::{Reader, State, StateError, Value, Writer, value_struct};

use crate::sram_bus::Bursts;
use defs::tigon2::rings::BURST_BYTES;

/// Most banks of a board.
pub const MOST_BANKS: usize = 16;

/// The banks that a board has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BankPlan {
    count: u32,
    interleave_bytes: u32,
}

impl BankPlan {
    /// The one port of the chip's SRAM.
    pub const CHIP: Self = Self {
        count: 1,
        interleave_bytes: 8,
    };

    /// So many banks, in which addresses change after so many bytes; `None` if one of the two is not a power of two, or there are too many
    /// banks.
    #[must_use]
    pub fn new(count: u32, interleave_bytes: u32) -> Option<Self> {
        let fits = count.is_power_of_two()
            && count as usize <= MOST_BANKS
            && interleave_bytes.is_power_of_two()
            && interleave_bytes >= 4;
        fits.then_some(Self {
            count,
            interleave_bytes,
        })
    }

    /// The number of banks.
    #[must_use]
    pub const fn count(self) -> usize {
        self.count as usize
    }

    /// The first bank of a range and the number of banks in which it lies; a range of no bytes lies in one.
    fn banks_of(self, range: SramRange) -> (u32, u32) {
        let first = range.address / self.interleave_bytes;
        let last = range.address.saturating_add(range.bytes.max(1) - 1) / self.interleave_bytes;
        (first % self.count, (last - first + 1).min(self.count))
    }
}

/// A range of SRAM that an access takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SramRange {
    /// The first address.
    pub address: u32,
    /// The length.
    pub bytes: u32,
}

impl SramRange {
    /// The word, or a part of it, at an address.
    #[must_use]
    #[inline(always)]
    pub const fn word(address: u32) -> Self {
        Self { address, bytes: 4 }
    }
}

/// The place of bursts that follow each other, which go on elsewhere behind the end of their buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct BurstPlace {
    at: u32,
    /// Bytes up to the end of the buffer.
    room: u32,
    /// The start of the buffer.
    behind: u32,
}

value_struct!(BurstPlace {
    at: at,
    room: room,
    behind: behind
});

impl BurstPlace {
    /// The place of a frame in these parts of its buffer: addresses and lengths.
    pub(super) const fn new([(at, room), (behind, _)]: [(u32, u32); 2]) -> Self {
        Self { at, room, behind }
    }

    /// The range of the next burst, and the place behind it.
    fn advance(&mut self) -> SramRange {
        let range = SramRange {
            address: self.at,
            bytes: BURST_BYTES,
        };
        match self.room.checked_sub(BURST_BYTES) {
            Some(room) => {
                self.at = self.at.wrapping_add(BURST_BYTES);
                self.room = room;
            }
            None => {
                self.at = self.behind.wrapping_add(BURST_BYTES - self.room);
                self.room = u32::MAX;
            }
        }
        range
    }
}

/// Until when each bank is taken, and what takes them later on.
#[derive(Debug)]
pub(super) struct SramBanks {
    plan: BankPlan,
    /// A bank is taken until this tick.
    free_at: [u64; MOST_BANKS],
    bursts: Option<(Bursts, BurstPlace)>,
}

impl State for SramBanks {
    fn save(&self, out: &mut Writer) {
        let taken = &self.free_at[..self.plan.count()];
        taken.iter().for_each(|tick| tick.write(out));
        let (bursts, place) = match &self.bursts {
            Some((bursts, place)) => (Some(bursts), Some(place)),
            None => (None, None),
        };
        bursts.is_some().write(out);
        if let (Some(bursts), Some(place)) = (bursts, place) {
            bursts.write(out);
            place.write(out);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        for tick in &mut self.free_at[..self.plan.count()] {
            *tick = u64::read(from)?;
        }
        self.bursts = match bool::read(from)? {
            true => Some((Bursts::read(from)?, BurstPlace::read(from)?)),
            false => None,
        };
        Ok(())
    }
}

impl SramBanks {
    /// Free banks.
    pub(super) const fn new(plan: BankPlan) -> Self {
        Self {
            plan,
            free_at: [0; MOST_BANKS],
            bursts: None,
        }
    }

    /// Waits for the banks of a range on behalf of a core, and takes them; `cycles`: those that the access takes in one bank.
    pub(super) fn take(&mut self, clock: &mut CpuClock, range: SramRange, cycles: u32) {
        self.take_bursts(clock.now);
        let (first, count) = self.plan.banks_of(range);
        let places = self.places(first, count);
        let free = places.clone().map(|bank| self.free_at[bank]).max();
        clock.stall_until(free.unwrap_or(0));
        let until = clock.now + ticks(cycles, count);
        places.for_each(|bank| self.free_at[bank] = until);
    }

    /// Takes the banks of a range for a device, each as soon as it is free.
    pub(super) fn take_at(&mut self, tick: u64, range: SramRange, cycles: u32) {
        self.take_bursts(tick);
        self.occupy(tick, range, cycles);
    }

    /// Whether the bank of a word is free from `from` to `until`, apart from accesses by cores and from later events.
    pub(super) fn stay_free(&mut self, address: u32, from: u64, until: u64) -> bool {
        self.take_bursts(from);
        let (bank, _) = self.plan.banks_of(SramRange::word(address));
        let next = self.bursts.as_ref().map(|(bursts, _)| bursts.next_tick());
        self.free_at[bank as usize] <= from && next.is_none_or(|next| until < next)
    }

    /// Sets the bursts that take banks from now on. Earlier ones must be over.
    pub(super) fn expect_bursts(&mut self, bursts: Bursts, place: BurstPlace) {
        self.take_bursts(bursts.next_tick());
        self.bursts = Some((bursts, place));
    }

    /// Ends the bursts.
    pub(super) fn stop_bursts(&mut self) {
        self.bursts = None;
    }

    fn occupy(&mut self, tick: u64, range: SramRange, cycles: u32) {
        let (first, count) = self.plan.banks_of(range);
        for bank in self.places(first, count) {
            self.free_at[bank] = self.free_at[bank].max(tick) + ticks(cycles, count);
        }
    }

    /// Lets the bursts up to `tick` take their banks.
    fn take_bursts(&mut self, tick: u64) {
        while let Some((bursts, place)) = &mut self.bursts {
            let next = bursts.next_tick();
            if next > tick || bursts.left == 0 {
                return;
            }
            bursts.left -= 1;
            bursts.next += bursts.period;
            let (range, cycles) = (place.advance(), bursts.cycles);
            self.occupy(next, range, cycles);
        }
    }

    /// The indices of `count` banks from `first` on.
    fn places(&self, first: u32, count: u32) -> impl Iterator<Item = usize> + Clone + use<> {
        let all = self.plan.count;
        (first..first + count).map(move |bank| (bank % all) as usize)
    }
}

/// Ticks that each of `count` banks is taken by an access of so many cycles.
const fn ticks(cycles: u32, count: u32) -> u64 {
    cycles.div_ceil(count) as u64 * TICKS_PER_CYCLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator_base::time::{ClockDomain, SimTime};

    const fn range(address: u32, bytes: u32) -> SramRange {
        SramRange { address, bytes }
    }

    #[test]
    fn plans_have_powers_of_two() {
        let counts = (0..40).filter(|count| BankPlan::new(*count, 8).is_some());
        assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 4, 8, 16]);
        let bytes = (0..40).filter(|bytes| BankPlan::new(4, *bytes).is_some());
        assert_eq!(bytes.collect::<Vec<_>>(), [4, 8, 16, 32]);
    }

    #[test]
    fn ranges_lie_in_banks() {
        let check = |address, bytes, expected| {
            let plan = BankPlan::new(4, 8).unwrap();
            assert_eq!(
                plan.banks_of(range(address, bytes)),
                expected,
                "{address:#x}"
            );
        };
        check(0, 4, (0, 1));
        check(0x3C, 4, (3, 1));
        check(0x24, 8, (0, 2));
        check(0x38, 16, (3, 2));
        check(0x20, 32, (0, 4));
        check(0x10, 64, (2, 4));
        check(8, 0, (1, 1));
    }

    /// Ticks at which accesses of one cycle to these words begin, all requested at 0, and the cycles that were waited.
    fn starts(banks: u32, words: &[u32]) -> Vec<u64> {
        let mut banks = SramBanks::new(BankPlan::new(banks, 8).unwrap());
        let start = |address: &u32| {
            let mut clock = CpuClock::default();
            banks.take(&mut clock, SramRange::word(*address), 1);
            assert_eq!(clock.stalled, clock.now);
            clock.now / TICKS_PER_CYCLE
        };
        words.iter().map(start).collect()
    }

    #[test]
    fn different_banks_do_not_contend() {
        let words = [0, 4, 8, 16, 24, 32];
        assert_eq!(starts(1, &words), [0, 1, 2, 3, 4, 5]);
        assert_eq!(starts(2, &words), [0, 1, 0, 2, 1, 3]);
        assert_eq!(starts(4, &words), [0, 1, 0, 0, 0, 2]);
    }

    #[test]
    fn a_range_waits_for_all_of_its_banks() {
        let mut banks = SramBanks::new(BankPlan::new(4, 8).unwrap());
        banks.take_at(0, range(8, 4), 5);
        let mut clock = CpuClock::default();
        banks.take(&mut clock, range(0, 32), 4);
        assert_eq!(clock.now, 5 * TICKS_PER_CYCLE);
        assert_eq!(banks.free_at[..4], [6 * TICKS_PER_CYCLE; 4]);
        // A device takes each bank as soon as it is free: 64 bytes are two beats in each.
        banks.take_at(0, range(0x40, 64), 8);
        assert_eq!(banks.free_at[..4], [8 * TICKS_PER_CYCLE; 4]);
    }

    #[test]
    fn bursts_take_the_banks_where_they_are() {
        let mut banks = SramBanks::new(BankPlan::new(4, 64).unwrap());
        let ticks = ClockDomain::new(100_000_000 * TICKS_PER_CYCLE);
        let bursts = Bursts {
            next: SimTime::from_ns(100),
            period: SimTime::from_ns(50),
            left: 3,
            cycles: 8,
            ticks,
        };
        // A frame in banks 3, then 0 behind the wrap at 0x100 to 0x1000.
        let place = BurstPlace::new([(0xC0, 64), (0x1000, 128)]);
        banks.expect_bursts(bursts, place);
        assert!(!banks.stay_free(0xC0, 0, 11 * TICKS_PER_CYCLE));
        assert!(banks.stay_free(0xC0, 0, 9 * TICKS_PER_CYCLE));
        banks.take_bursts(200 * TICKS_PER_CYCLE);
        let cycles = banks.free_at.map(|tick| tick / TICKS_PER_CYCLE);
        assert_eq!(cycles[..4], [23, 28, 0, 18]);
        let mut out = Writer::default();
        banks.save(&mut out);
        let bytes = out.into_bytes();
        let mut again = SramBanks::new(banks.plan);
        again.load(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(again.free_at, banks.free_at);
        assert_eq!(again.bursts.unwrap().0.left, 0);
    }
}

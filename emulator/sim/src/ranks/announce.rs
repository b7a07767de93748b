//! Announcements of a rank about its nodes: what left them, and how soon more can.
//!
//! A node's announcement is a byte that says whether anything left, the four times of [`Member`] as differences from a time that all
//! ranks know, and the outbox.

use super::{RankError, Ranks};
use crate::component::Member;
use crate::rounds::{NodeRoundState, NodeSet, Peers};
use emulator_base::time::SimTime;
use emulator_state::{Reader, StateError, Value, Writer};

/// Bits of a byte of a number, the lowest first. The highest bit of the byte says that more follow.
const BITS: u32 = 7;

/// Writes a time: short if it is near `base`, and [`SimTime::MAX`] as one byte.
fn write_time(time: SimTime, base: SimTime, out: &mut Writer) {
    if time == SimTime::MAX {
        return out.bytes(&[0]);
    }
    // The sign is the lowest bit, so that small differences of both signs are short; 0 is left for the time without an end.
    let difference = i128::from(time.ps()) - i128::from(base.ps());
    let number = match difference >= 0 {
        true => 2 * difference as u128,
        false => 2 * difference.unsigned_abs() - 1,
    };
    let mut rest = number + 1;
    loop {
        let byte = (rest & 0x7F) as u8;
        rest >>= BITS;
        if rest == 0 {
            return out.bytes(&[byte]);
        }
        out.bytes(&[byte | 0x80]);
    }
}

/// Reads a time that was written with the same `base`.
fn read_time(base: SimTime, from: &mut Reader<'_>) -> Result<SimTime, StateError> {
    let wrong = StateError::Value("a time");
    let (mut number, mut shift) = (0_u128, 0);
    loop {
        let byte = u8::read(from)?;
        number |= u128::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            break;
        }
        shift += BITS;
        // No difference of two times takes as many bytes.
        if shift > 70 {
            return Err(wrong);
        }
    }
    let Some(number) = number.checked_sub(1) else {
        return Ok(SimTime::MAX);
    };
    let half = number.div_ceil(2).cast_signed();
    let difference = if number & 1 == 0 { half } else { -half };
    let ps = u64::try_from(i128::from(base.ps()) + difference);
    ps.map(SimTime::from_ps).map_err(|_| wrong)
}

impl Member<'_> {
    /// The times that other ranks must know, in the order in which they are sent.
    fn times_mut(&mut self) -> [&mut SimTime; 4] {
        [
            &mut self.effect,
            &mut self.transmitter_free_at,
            &mut self.next_control,
            &mut self.now,
        ]
    }

    /// Writes what left the node, after a byte that says whether anything did.
    fn write_outbox(&mut self, out: &mut Writer) {
        let mut outbox = Writer::default();
        self.node.save_outbox(&mut outbox);
        let outbox = outbox.into_bytes();
        out.bytes(&[u8::from(!outbox.is_empty())]);
        out.bytes(&outbox);
    }

    /// Reads what left the node in another process.
    fn read_outbox(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        match bool::read(from)? {
            true => self.node.load_outbox(from),
            false => Ok(()),
        }
    }

    fn write(&mut self, base: SimTime, out: &mut Writer) {
        for time in self.times_mut() {
            write_time(*time, base, out);
        }
        self.write_outbox(out);
    }

    fn read(&mut self, base: SimTime, from: &mut Reader<'_>) -> Result<(), StateError> {
        for time in self.times_mut() {
            *time = read_time(base, from)?;
        }
        self.read_outbox(from)
    }
}

/// The ranks that execute the nodes of a segment, and the function that says whether this rank is to end the run.
pub(crate) struct PeerRanks<'a, F> {
    pub(crate) ranks: &'a mut Ranks,
    pub(crate) interrupted: F,
}

impl<F: Fn() -> bool> Peers for PeerRanks<'_, F> {
    type Error = RankError;

    fn announce(
        &mut self,
        members: &mut impl NodeSet,
        which: &[usize],
        base: SimTime,
        reports: &mut Vec<(usize, NodeRoundState)>,
    ) -> Result<bool, RankError> {
        self.ranks.exchanged.rounds += 1;
        self.ranks.want_end((self.interrupted)());
        exchange(
            members,
            which,
            self.ranks,
            |member, out| member.write(base, out),
            |index, member, from| {
                member.read(base, from)?;
                reports.push((index, member.report()));
                Ok(())
            },
        )?;
        Ok(self.ranks.is_interrupted())
    }

    fn announce_outboxes(
        &mut self,
        members: &mut impl NodeSet,
        which: &[usize],
    ) -> Result<(), RankError> {
        exchange(
            members,
            which,
            self.ranks,
            |member, out| member.write_outbox(out),
            |_, member, from| member.read_outbox(from),
        )
    }
}

/// Exchanges something about the nodes `which`: writes it for those of this rank, reads it for the others. Only the ranks that own one of
/// them take part.
fn exchange(
    members: &mut impl NodeSet,
    which: &[usize],
    ranks: &mut Ranks,
    write: impl Fn(&mut Member<'_>, &mut Writer),
    mut read: impl FnMut(usize, &mut Member<'_>, &mut Reader<'_>) -> Result<(), StateError>,
) -> Result<(), RankError> {
    if which.is_empty() {
        return Ok(());
    }
    let mut out = Writer::default();
    let mut sends = vec![false; ranks.ranks()];
    for &index in which {
        let owner = members.with(index, |member| {
            if member.is_mine {
                write(member, &mut out);
            }
            member.owner
        });
        sends[owner] = true;
    }
    let messages = ranks.exchange_of(&out.into_bytes(), |rank| sends[rank])?;
    let mut readers: Vec<_> = messages.iter().map(|bytes| Reader::new(bytes)).collect();
    for &index in which {
        members.with(index, |member| {
            if member.is_mine {
                return Ok(());
            }
            let rank = member.owner;
            let done = read(index, member, &mut readers[rank]);
            done.map_err(|error| RankError::Unreadable { rank, error })
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every time is read as it was written, from any base.
        #[test]
        fn times_are_read_as_written(time in any::<u64>(), base in any::<u64>(), near in 0..2_000_u64) {
            let near = base.saturating_add(near);
            for time in [0, time, base, near, u64::MAX - 1, u64::MAX].map(SimTime::from_ps) {
                let (base, mut out) = (SimTime::from_ps(base), Writer::default());
                write_time(time, base, &mut out);
                let bytes = out.into_bytes();
                let mut reader = Reader::new(&bytes);
                prop_assert_eq!(read_time(base, &mut reader), Ok(time));
                prop_assert!(reader.is_empty());
            }
        }

        /// No bytes of another process cause a panic.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..30), base in any::<u64>()) {
            let _ = read_time(SimTime::from_ps(base), &mut Reader::new(&bytes));
        }
    }
}

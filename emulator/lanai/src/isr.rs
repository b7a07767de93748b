//! Interrupt status (docs/lanai.md, section 3.3).

use super::chip::Generation;
use emulator_state::state;

/// The signal to the host.
pub const HOST_SIG: u32 = 1 << 30;

/// A cause that sets a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The host's control register, or a block of DMA with WAKE.
    Wake,
    /// An interval timer has passed 0.
    Timer(usize),
    /// A transfer is complete.
    Dma,
    /// The sender has reached its limit.
    Send,
    /// The receiver has reached its limit before the tail.
    Buffer,
    /// The receiver has stored a tail.
    Receive,
    /// The sender may be started.
    SendReady,
    /// A packet that was blocked for too long was taken out of the network.
    Nres,
    /// The packet that NRES took out of the network was being sent.
    SendBlocked,
    /// The link has lost its carrier.
    LinkDown,
    /// The beat of the other end is missed, as it is without a carrier.
    BeatMissed,
}

/// Names of the bits of each generation, from bit 31 down.
const L4: [&str; 32] = [
    "debug", "host_sig", "", "", "", "", "", "", "lan7_sig", "lan6_sig", "lan5_sig", "lan4_sig",
    "lan3_sig", "lan2_sig", "lan1_sig", "lan0_sig", "word_rdy", "half_rdy", "send_rdy", "link",
    "nres", "wake", "off_by_2", "off_by_1", "tail", "wdog", "time", "dma", "send", "buff", "recv",
    "byte_rdy",
];
const L7: [&str; 32] = [
    "debug", "host_sig", "", "", "", "link2", "link1", "link0", "lan7_sig", "lan6_sig", "lan5_sig",
    "lan4_sig", "lan3_sig", "lan2_sig", "lan1_sig", "lan0_sig", "parity", "memory", "time2",
    "wake", "nres", "off_by_4", "off_by_2", "off_by_1", "time1", "time0", "lan9_sig", "lan8_sig",
    "send", "buff", "recv", "head",
];
const L9: [&str; 32] = [
    "debug",
    "host_sig",
    "lanai_sig",
    "",
    "",
    "",
    "",
    "beat_missed",
    "tx_blocked",
    "tx_long",
    "rx_long",
    "illegal",
    "beat",
    "data_rx",
    "data_sent",
    "link_down",
    "parity",
    "memory",
    "time2",
    "wake0",
    "nres",
    "orun4",
    "off_by_2",
    "off_by_1",
    "time1",
    "time0",
    "wake2",
    "wake1",
    "send",
    "buff",
    "recv",
    "head",
];

/// The name of a bit; `None` if the generation has no such bit.
#[must_use]
pub fn name(generation: Generation, bit: u32) -> Option<&'static str> {
    let names = match generation {
        Generation::L4 => &L4,
        Generation::L7 => &L7,
        Generation::L9 => &L9,
    };
    let place = 31_u32.checked_sub(bit)?;
    names
        .get(place as usize)
        .copied()
        .filter(|name| !name.is_empty())
}

impl Cause {
    /// The bit of the cause; 0 if the generation has none.
    #[must_use]
    pub const fn bit(self, generation: Generation) -> u32 {
        match (self, generation) {
            (Self::Wake, Generation::L4) => 1 << 10,
            (Self::Wake, _) => 1 << 12,
            (Self::Timer(0), Generation::L4) => 1 << 5,
            (Self::Timer(_), Generation::L4) => 0,
            (Self::Timer(0), _) => 1 << 6,
            (Self::Timer(1), _) => 1 << 7,
            (Self::Timer(_), _) => 1 << 13,
            (Self::Dma, Generation::L4) => 1 << 4,
            (Self::SendReady, Generation::L4) => 1 << 13,
            (Self::Dma | Self::SendReady, _) => 0,
            (Self::Send, _) => 1 << 3,
            (Self::Buffer, _) => 1 << 2,
            (Self::Receive, _) => 1 << 1,
            (Self::Nres, _) => 1 << 11,
            (Self::SendBlocked, Generation::L4) => 1 << 6,
            (Self::SendBlocked, Generation::L9) => 1 << 23,
            (Self::LinkDown, Generation::L4) => 1 << 12,
            (Self::LinkDown, Generation::L7) => 1 << 24,
            (Self::LinkDown, Generation::L9) => 1 << 16,
            (Self::BeatMissed, Generation::L9) => 1 << 24,
            (Self::SendBlocked | Self::BeatMissed, _) => 0,
        }
    }
}

/// The signals from the host to the LANai.
#[must_use]
pub const fn signals(generation: Generation) -> u32 {
    match generation {
        Generation::L4 => 0x00FF_0000,
        Generation::L7 => 0x00FF_0030,
        Generation::L9 => 1 << 29,
    }
}

/// The bits that count the bytes of a receiver's last unit that are behind the tail.
const fn overshoot_bits(generation: Generation) -> u32 {
    match generation {
        Generation::L4 => 0x300,
        Generation::L7 | Generation::L9 => 0x700,
    }
}

/// Interrupt status and mask.
#[derive(Debug)]
pub struct Isr {
    generation: Generation,
    bits: u32,
    /// The host's interrupt is raised by these bits.
    pub mask: u32,
}

state!(Isr { bits, mask } fixed { generation });

impl Isr {
    /// No bit is set.
    #[must_use]
    pub const fn new(generation: Generation) -> Self {
        Self {
            generation,
            bits: 0,
            mask: 0,
        }
    }

    /// The bits that are stored: all but SEND_RDY.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Raises a cause.
    pub const fn raise(&mut self, cause: Cause) {
        self.bits |= cause.bit(self.generation);
    }

    /// Clears a cause.
    pub const fn clear(&mut self, cause: Cause) {
        self.bits &= !cause.bit(self.generation);
    }

    /// Notes how many bytes of the receiver's last unit are behind the tail.
    pub const fn set_overshoot(&mut self, bytes: u32) {
        let bits = overshoot_bits(self.generation);
        self.bits = self.bits & !bits | bytes << 8 & bits;
    }

    /// Writes as the LANai: 1 clears a bit, and sets the signal to the host.
    pub const fn write_by_lanai(&mut self, value: u32) {
        self.bits = self.bits & !(value & !HOST_SIG) | value & HOST_SIG;
    }

    /// Writes as the host: 1 clears a bit, and sets a signal to the LANai.
    pub const fn write_by_host(&mut self, value: u32) {
        let signals = signals(self.generation);
        self.bits = self.bits & !(value & !signals) | value & signals;
    }

    /// Resets the status: no bit is set, and none raises an interrupt.
    pub const fn reset(&mut self) {
        self.bits = 0;
        self.mask = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_clear_and_signals_cross() {
        let check = |generation, bits, by_host, value, after| {
            let mut isr = Isr::new(generation);
            isr.bits = bits;
            match by_host {
                true => isr.write_by_host(value),
                false => isr.write_by_lanai(value),
            }
            assert_eq!(isr.bits, after, "{generation:?} {bits:#x} {value:#x}");
        };
        use Generation::{L4, L7, L9};
        check(L4, 0x0001_0C3E, false, 0x0001_0C3E, 0);
        check(L4, 0x30, false, 0x10, 0x20);
        check(L4, 0x30, false, HOST_SIG, HOST_SIG | 0x30);
        check(L4, 0x3F, false, !0, HOST_SIG);
        check(L4, HOST_SIG | 2, true, HOST_SIG, 2);
        check(L4, 0, true, 0x0001_0000, 0x0001_0000);
        check(L7, 0, true, 0x30, 0x30);
        check(L7, 0x30, false, 0x20, 0x10);
        check(L9, 0x30, true, 0x30, 0);
        check(L9, 0, true, 1 << 29, 1 << 29);
    }

    #[test]
    fn each_cause_has_a_named_bit() {
        let check = |cause: Cause, names: [Option<&str>; 3]| {
            for (generation, expected) in Generation::ALL.into_iter().zip(names) {
                let bit = cause.bit(generation);
                let found = (bit != 0)
                    .then(|| name(generation, bit.trailing_zeros()))
                    .flatten();
                assert_eq!(found, expected, "{cause:?} {generation:?}");
            }
        };
        check(Cause::Wake, [Some("wake"), Some("wake"), Some("wake0")]);
        check(
            Cause::Timer(0),
            [Some("time"), Some("time0"), Some("time0")],
        );
        check(Cause::Timer(1), [None, Some("time1"), Some("time1")]);
        check(Cause::Timer(2), [None, Some("time2"), Some("time2")]);
        check(Cause::Dma, [Some("dma"), None, None]);
        check(Cause::Send, [Some("send"); 3]);
        check(Cause::Buffer, [Some("buff"); 3]);
        check(Cause::Receive, [Some("recv"); 3]);
        check(Cause::SendReady, [Some("send_rdy"), None, None]);
        check(Cause::Nres, [Some("nres"); 3]);
        check(Cause::SendBlocked, [Some("wdog"), None, Some("tx_blocked")]);
        check(
            Cause::LinkDown,
            [Some("link"), Some("link0"), Some("link_down")],
        );
        check(Cause::BeatMissed, [None, None, Some("beat_missed")]);
    }

    #[test]
    fn overshoot_has_two_or_three_bits() {
        let check = |generation, bytes, bits| {
            let mut isr = Isr::new(generation);
            isr.bits = 0x0F00_0702;
            isr.set_overshoot(bytes);
            assert_eq!(isr.bits & 0x700, bits);
        };
        check(Generation::L4, 3, 0x700);
        check(Generation::L4, 1, 0x500);
        check(Generation::L7, 5, 0x500);
        check(Generation::L9, 0, 0);
    }
}

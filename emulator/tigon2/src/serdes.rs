//! The serializer of a fibre board and its link partner: carrier, configuration
//! words, loopback (docs/tigon2-io.md, section 6, "Link start-up").
//!
//! Configuration words never leave the board: a negotiating partner, as required by known firmware, and a
//! fixed one are modelled here.

mod link;

use emulator_state::state;
use emulator_state::value_enum;

/// Behaviour of the link partner besides sending frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkPartner {
    /// The partner sends idle: a fixed link.
    #[default]
    Idle,
    /// The partner sends configuration words until this board's transmitter is enabled.
    Negotiating {
        /// Ability of the partner: an 802.3z configuration word, bytes swapped.
        ability: u16,
    },
}

value_enum!(LinkPartner { Idle {}, Negotiating { ability: ability } });

impl LinkPartner {
    /// A partner with full duplex and pause frames both ways.
    pub const FULL_DUPLEX_WITH_PAUSE: Self = Self::Negotiating { ability: 0xA001 };
}

/// The partner has received this board's word.
const ACKNOWLEDGE: u32 = 0x40;

/// The words, the carrier and the partner.
#[derive(Debug, Default)]
pub struct Serdes {
    /// The transmitted word.
    pub sent: u32,
    /// The last received word.
    received: u32,
    /// The carrier is present.
    pub signal: bool,
    /// Behaviour of the partner.
    pub partner: LinkPartner,
    /// A word is on its way.
    pub word_due: bool,
}

state!(Serdes {
    sent,
    received,
    signal,
    partner,
    word_due
});

impl Serdes {
    /// Registers as after power-on; fibre and partner are unchanged.
    pub fn reset(&mut self) {
        self.sent = 0;
        self.received = 0;
    }

    /// The received word, as firmware reads it.
    #[must_use]
    pub const fn received(&self, loopback: bool) -> u32 {
        if loopback { self.sent } else { self.received }
    }

    /// Writes the received word for firmware: 0 clears it.
    pub fn set_received(&mut self, value: u32) {
        self.received = value & 0xFFFF;
    }

    /// Whether the partner sends configuration words.
    #[must_use]
    pub const fn partner_sends_config(&self, transmitting: bool) -> bool {
        self.signal && !transmitting && matches!(self.partner, LinkPartner::Negotiating { .. })
    }

    /// The word that the partner sends now, if it differs from the last received one.
    #[must_use]
    pub fn new_word(&self, transmitting: bool, loopback: bool) -> Option<u32> {
        let LinkPartner::Negotiating { ability } = self.partner else {
            return None;
        };
        if loopback || !self.partner_sends_config(transmitting) {
            return None;
        }
        let seen = if self.sent == 0 { 0 } else { ACKNOWLEDGE };
        let word = u32::from(ability) | seen;
        (word != self.received).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_returns_what_is_sent() {
        let serdes = Serdes {
            sent: 0x4000,
            ..Serdes::default()
        };
        assert_eq!((serdes.received(true), serdes.received(false)), (0x4000, 0));
        assert_eq!(serdes.new_word(false, false), None);
    }

    #[test]
    fn a_partner_acknowledges_once_it_sees_a_word() {
        let mut serdes = Serdes {
            signal: true,
            partner: LinkPartner::FULL_DUPLEX_WITH_PAUSE,
            ..Serdes::default()
        };
        assert!(serdes.partner_sends_config(false));
        assert_eq!(serdes.new_word(false, false), Some(0xA001));
        serdes.set_received(0xA001);
        assert_eq!(serdes.new_word(false, false), None);
        serdes.sent = 0x2000;
        assert_eq!(serdes.new_word(false, false), Some(0xA041));
        assert_eq!(serdes.new_word(false, true), None, "loopback");
        assert_eq!(serdes.new_word(true, false), None, "we transmit");
        assert!(!serdes.partner_sends_config(true));
        serdes.signal = false;
        assert_eq!(serdes.new_word(false, false), None);
    }
}

//! Carries out what the wires around the chip cause: EEPROM and serdes lines of LOCAL_CONTROL, the
//! signal on the fibre, the partner's configuration words (docs/tigon2.md, sections 2 and 6).

use defs::tigon2::regs as r;
use defs::tigon2::regs::{LocalControl, MacRxState, MacTxState};

use super::fabric::{BoardContext, BoardEvent, Fabric};
use crate::observe::event::TraceKind;
use crate::sim::initiator::{Actor, Initiator};

impl Fabric {
    /// What LOCAL_CONTROL reads, given what was stored: inputs come from their wires. A fibre board
    /// has no PHY, so that MDIO data reads 0.
    pub(super) fn read_local_control(&self, stored: u32) -> u32 {
        let inputs = LocalControl::MDIO_IN | LocalControl::EEPROM_IN;
        let eeprom = if self.eeprom.wire() {
            LocalControl::EEPROM_IN.bits()
        } else {
            0
        };
        stored & !(LocalControl::RAISE_INTERRUPT | inputs).bits() | eeprom
    }

    /// A write of LOCAL_CONTROL. Tells whether it scheduled anything.
    pub(super) fn write_local_control(
        &mut self,
        value: u32,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        let lines = LocalControl::from_bits_retain(value);
        self.store(
            r::LOCAL_CONTROL,
            lines.difference(LocalControl::RAISE_INTERRUPT).bits(),
        );
        let pulled =
            lines.contains(LocalControl::EEPROM_DRIVE) && !lines.contains(LocalControl::EEPROM_OUT);
        self.eeprom.drive(
            lines.contains(LocalControl::EEPROM_CLOCK),
            !pulled,
            lines.contains(LocalControl::EEPROM_WRITE_ENABLE),
        );
        let raised =
            lines.contains(LocalControl::RAISE_INTERRUPT) && self.set_interrupt(true, who, ctx);
        self.poll_partner(ctx) || raised
    }

    /// Whether configuration words are looped back.
    pub(super) fn loopback(&self) -> bool {
        let all = LocalControl::SERDES_LOOPBACK.bits();
        self.stored(r::LOCAL_CONTROL) & all == all
    }

    fn transmitting(&self) -> bool {
        self.mac.tx_state & MacTxState::ENABLE.bits() != 0
    }

    /// What MAC_RX_STATE reads: the state with its read-only bits.
    pub(super) fn read_rx_state(&self) -> u32 {
        let mut state = MacRxState::from_bits_retain(self.mac.rx_state);
        state.set(MacRxState::SIGNAL, self.serdes.signal);
        let config = self.serdes.partner_sends_config(self.transmitting());
        state.set(MacRxState::PARTNER_CONFIG, config);
        state.bits()
    }

    /// Lets a word of the partner come in if it is a new one. Tells whether it scheduled anything.
    pub(super) fn poll_partner(&mut self, ctx: &mut BoardContext) -> bool {
        let new = self.serdes.new_word(self.transmitting(), self.loopback());
        if new.is_none() || self.serdes.word_due {
            return false;
        }
        self.serdes.word_due = true;
        let time = ctx.now + self.timing.mac_config_word;
        ctx.schedule(time, Initiator::MacReceive, BoardEvent::ConfigWord);
        true
    }

    /// The partner's word is in.
    pub(super) fn config_word(&mut self) {
        self.serdes.word_due = false;
        if let Some(word) = self.serdes.new_word(self.transmitting(), self.loopback()) {
            self.serdes.set_received(word);
            self.raise_rx_attention(MacRxState::ATTENTION_CONFIG);
        }
    }

    /// The signal on the fibre comes or goes.
    pub(super) fn signal_changes(&mut self, present: bool, ctx: &mut BoardContext) {
        if self.serdes.signal == present {
            return;
        }
        self.serdes.signal = present;
        let kind = TraceKind::Signal { present };
        ctx.trace.record(ctx.now, Initiator::MacReceive, kind);
        self.raise_rx_attention(MacRxState::ATTENTION_LINK | MacRxState::ATTENTION_SYNC);
        self.poll_partner(ctx);
    }

    pub(super) fn raise_rx_attention(&mut self, attention: MacRxState) {
        self.mac.rx_state |= attention.bits();
        self.update_levels();
    }
}

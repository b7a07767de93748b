//! The fibre's carrier and the link partner's configuration words (docs/tigon2-io.md, section 6).

use defs::tigon2::regs::{MacRxState, MacTxState};

use crate::fabric::{BoardContext, BoardEvent, Fabric};
use emulator_base::initiator::Initiator;
use emulator_observe::event::TraceKind;

impl Fabric {
    fn transmitting(&self) -> bool {
        self.mac.tx_state & MacTxState::ENABLE.bits() != 0
    }

    /// Value of MAC_RX_STATE: the state with its read-only bits.
    pub(crate) fn read_rx_state(&self) -> u32 {
        let mut state = MacRxState::from_bits_retain(self.mac.rx_state);
        state.set(MacRxState::SIGNAL, self.serdes.signal);
        let config = self.serdes.partner_sends_config(self.transmitting());
        state.set(MacRxState::PARTNER_CONFIG, config);
        state.bits()
    }

    /// Schedules the arrival of a new word of the partner. Returns whether there is one.
    pub(crate) fn poll_partner(&mut self, ctx: &mut BoardContext) -> bool {
        let new = self.serdes.new_word(self.transmitting(), self.loopback());
        if new.is_none() || self.serdes.word_due {
            return false;
        }
        self.serdes.word_due = true;
        let time = ctx.now + self.timing.mac_config_word;
        ctx.schedule(time, Initiator::Receiver, BoardEvent::ConfigWord);
        true
    }

    /// Receives the partner's word.
    pub(crate) fn config_word(&mut self) {
        self.serdes.word_due = false;
        if let Some(word) = self.serdes.new_word(self.transmitting(), self.loopback()) {
            self.serdes.set_received(word);
            self.raise_rx_attention(MacRxState::ATTENTION_CONFIG);
        }
    }

    /// Handles the appearance or loss of the carrier.
    pub(crate) fn signal_changes(&mut self, present: bool, ctx: &mut BoardContext) {
        if self.serdes.signal == present {
            return;
        }
        self.serdes.signal = present;
        let kind = TraceKind::Signal { present };
        ctx.trace.record(ctx.now, Initiator::Receiver, kind);
        self.raise_rx_attention(MacRxState::ATTENTION_LINK | MacRxState::ATTENTION_SYNC);
        self.poll_partner(ctx);
    }

    pub(crate) fn raise_rx_attention(&mut self, attention: MacRxState) {
        self.mac.rx_state |= attention.bits();
        self.update_levels();
    }
}

//! LOCAL_CONTROL: the host interrupt and the lines of EEPROM, MDIO and serdes (docs/tigon2-registers.md, section 2).

use defs::tigon2::regs as r;
use defs::tigon2::regs::LocalControl;

use super::fabric::{BoardContext, Fabric};
use emulator_base::initiator::Actor;

impl Fabric {
    /// Value of LOCAL_CONTROL, given its stored bits: inputs come from their wires. A fibre board
    /// has no PHY, so MDIO data reads 0.
    pub(super) fn read_local_control(&self, stored: u32) -> u32 {
        let inputs = LocalControl::MDIO_IN | LocalControl::EEPROM_IN;
        let eeprom = if self.eeprom.wire() {
            LocalControl::EEPROM_IN.bits()
        } else {
            0
        };
        stored & !(LocalControl::RAISE_INTERRUPT | inputs).bits() | eeprom
    }

    /// Writes LOCAL_CONTROL. Returns whether that scheduled an event.
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
}

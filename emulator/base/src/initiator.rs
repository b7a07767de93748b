//! Initiators of actions.

use emulator_state::{Reader, StateError, Value, Writer};

/// Initiator of an action on a node, by its role. The order of the variants is the rank of actions at equal times:
/// hardware that cannot wait comes first, the CPUs last. Each board has at most one initiator of each role; its
/// `BoardNames` say what they are called there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Initiator {
    /// The receiver of the network port.
    Receiver,
    /// The transmitter of the network port.
    Transmitter,
    /// The DMA channel that reads host memory.
    DmaRead,
    /// The DMA channel that writes host memory.
    DmaWrite,
    /// Another hardware block of the board, by the board's own number.
    Block(u8),
    /// The host, through the PCI window.
    Host,
    /// A CPU of the board, by index.
    Cpu(u8),
    /// A debugger or a test: its reads have no side effect.
    Debugger,
    /// Reset of the machine: after all other actions at its time.
    Power,
    /// The network between nodes: links and switches.
    Wire,
}

/// Blocks have the even numbers from here on, CPUs after the second one the odd numbers.
const FURTHER: u16 = 10;

impl Initiator {
    /// Number in hashes, files and tables. It never changes; common initiators have the numbers below 10.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u16 {
        match self {
            Self::Receiver => 0,
            Self::Transmitter => 1,
            Self::DmaRead => 2,
            Self::DmaWrite => 3,
            Self::Host => 4,
            Self::Cpu(cpu @ 0..=1) => 5 + cpu as u16,
            Self::Debugger => 7,
            Self::Power => 8,
            Self::Wire => 9,
            Self::Block(block) => FURTHER + 2 * block as u16,
            Self::Cpu(cpu) => FURTHER + 2 * (cpu as u16 - 2) + 1,
        }
    }

    /// The initiator with this [`number`](Self::number).
    #[must_use]
    pub const fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            0 => Self::Receiver,
            1 => Self::Transmitter,
            2 => Self::DmaRead,
            3 => Self::DmaWrite,
            4 => Self::Host,
            5 | 6 => Self::Cpu(number as u8 - 5),
            7 => Self::Debugger,
            8 => Self::Power,
            9 => Self::Wire,
            _ => {
                let further = (number - FURTHER) / 2;
                match number % 2 {
                    0 if further < 256 => Self::Block(further as u8),
                    1 if further < 254 => Self::Cpu(further as u8 + 2),
                    _ => return None,
                }
            }
        })
    }

    /// The index of the CPU that acts, if one does.
    #[must_use]
    #[inline]
    pub const fn cpu(self) -> Option<usize> {
        match self {
            Self::Cpu(cpu) => Some(cpu as usize),
            _ => None,
        }
    }
}

impl Value for Initiator {
    fn write(&self, out: &mut Writer) {
        self.number().write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Self::from_number(u16::read(from)?).ok_or(StateError::Value("an initiator"))
    }
}

/// Initiator of an action, with the instruction if it is a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// The initiator.
    pub initiator: Initiator,
    /// Address of the instruction.
    pub pc: Option<u32>,
}

impl From<Initiator> for Actor {
    fn from(initiator: Initiator) -> Self {
        Self {
            initiator,
            pc: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_fixed_and_lead_back() {
        let check = |initiator: Initiator, number| {
            assert_eq!(initiator.number(), number);
            assert_eq!(Initiator::from_number(number), Some(initiator));
        };
        let common = [
            Initiator::Receiver,
            Initiator::Transmitter,
            Initiator::DmaRead,
            Initiator::DmaWrite,
            Initiator::Host,
            Initiator::Cpu(0),
            Initiator::Cpu(1),
            Initiator::Debugger,
            Initiator::Power,
            Initiator::Wire,
        ];
        for (number, initiator) in (0..).zip(common) {
            check(initiator, number);
        }
        check(Initiator::Block(0), 10);
        check(Initiator::Block(255), 520);
        check(Initiator::Cpu(2), 11);
        check(Initiator::Cpu(255), 517);
        for unused in [519, 521, 522, u16::MAX] {
            assert_eq!(Initiator::from_number(unused), None);
        }
    }

    #[test]
    fn hardware_comes_before_the_host_and_the_host_before_cpus() {
        let order = [
            Initiator::DmaWrite,
            Initiator::Block(0),
            Initiator::Block(9),
            Initiator::Host,
            Initiator::Cpu(0),
            Initiator::Cpu(3),
            Initiator::Debugger,
            Initiator::Wire,
        ];
        assert!(order.is_sorted());
    }
}

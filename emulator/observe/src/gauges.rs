//! Fill levels of a board's rings and buffers, from the indices that hardware and CPUs move.

use std::collections::BTreeMap;

/// Unit of a fill level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeUnit {
    /// Entries of a ring.
    Entries,
    /// Bytes of a buffer.
    Bytes,
}

/// A fill level.
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    /// Name: `receive buffer`.
    pub name: &'static str,
    /// Unit.
    pub unit: GaugeUnit,
    /// Addresses of the registers that it depends on.
    pub registers: &'static [u32],
    /// Current level; `None` as long as a register is unknown.
    pub level: fn(&KnownRegisters) -> Option<u32>,
}

/// The buffers from which frames are sent and into which they are received.
#[derive(Debug, Clone, Copy)]
pub struct FrameBuffers {
    /// Distance from a frame's address to another address in the transmit buffer.
    pub transmit_offset: fn(&KnownRegisters, frame: u32, address: u32) -> u32,
    /// Distance from a frame's address to another address in the receive buffer.
    pub receive_offset: fn(&KnownRegisters, frame: u32, address: u32) -> u32,
    /// Address of the register that the transmitter moves when a frame has left, if there is one.
    pub frame_left: Option<u32>,
}

impl FrameBuffers {
    /// Buffers that do not wrap.
    pub const UNKNOWN: Self = Self {
        transmit_offset: |_, frame, address| address.wrapping_sub(frame),
        receive_offset: |_, frame, address| address.wrapping_sub(frame),
        frame_left: None,
    };
}

/// Last known values of a board's registers, by address.
#[derive(Debug, Default)]
pub struct KnownRegisters(BTreeMap<u32, u32>);

impl KnownRegisters {
    /// Sets a register's value.
    pub fn set(&mut self, address: u32, value: u32) {
        self.0.insert(address, value);
    }

    /// The value of a register, if it is known.
    #[must_use]
    pub fn get(&self, address: u32) -> Option<u32> {
        self.0.get(&address).copied()
    }

    /// Clears all values after a reset of the chip.
    pub fn clear(&mut self) {
        self.0.values_mut().for_each(|value| *value = 0);
    }
}

//! What a debugger reads and changes by hand, in a board at rest. Addresses are those that a CPU uses. To read has no
//! effect on anything, also where a CPU's or the host's read would have one.

use defs::tigon2::map::SRAM_LIMIT;

use crate::cpu::mips::bus::Width;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::tigon2::board::Tigon2;
use crate::tigon2::fabric::BoardContext;
use crate::tigon2::map::{self, Place};

/// Nothing can be changed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing answers at {address:#x} for CPU {}", if *.cpu == 0 { 'A' } else { 'B' })]
pub struct NothingThere {
    /// The address.
    pub address: u32,
    /// The CPU, 0 = A, 1 = B.
    pub cpu: usize,
}

const fn who(cpu: usize) -> Initiator {
    match cpu {
        0 => Initiator::CpuA,
        _ => Initiator::CpuB,
    }
}

impl Tigon2 {
    /// The word at an address as a CPU (0 = A, 1 = B) sees it, in SRAM, in its scratchpad or in the registers; the two
    /// lowest bits of the address do not count. `None` where nothing answers.
    #[must_use]
    pub fn peek(&self, cpu: usize, address: u32, now: SimTime) -> Option<u32> {
        let address = address & !3;
        match map::place(who(cpu), address) {
            Place::Sram => Some(self.fabric.sram.word(address)),
            Place::Scratchpad => {
                let scratchpad = &self.cores[cpu & 1].private.scratchpad;
                scratchpad.get(address, Width::Word)
            }
            Place::Register(offset) => Some(self.register(offset, now)),
            Place::StackMap | Place::Nothing => None,
        }
    }

    /// Bytes from an address on, each as [`Tigon2::peek`] has it; fewer if something in between does not answer.
    #[must_use]
    pub fn peek_bytes(&self, cpu: usize, address: u32, length: usize, now: SimTime) -> Vec<u8> {
        let byte = |address: u32| {
            let word = self.peek(cpu, address, now)?;
            Some(word.to_be_bytes()[address as usize & 3])
        };
        let addresses = (0..length).map(|offset| address.wrapping_add(offset as u32));
        addresses.map_while(byte).collect()
    }

    /// Changes bytes, as a CPU (0 = A, 1 = B) could in SRAM, its scratchpad and the registers; those are changed as
    /// whole words. To be called at rest, and followed by nothing else at that time that relies on what a core knew.
    ///
    /// # Errors
    /// If nothing answers at one of them. Those before it are changed.
    pub fn poke(
        &mut self,
        cpu: usize,
        address: u32,
        bytes: &[u8],
        ctx: &mut BoardContext,
    ) -> Result<(), NothingThere> {
        let mut rest = bytes;
        let mut address = address;
        while let Some(first) = rest.first() {
            let taken = if address & 3 == 0 && rest.len() >= 4 {
                4
            } else {
                1
            };
            let (value, width) = match rest.first_chunk() {
                Some(word) if taken == 4 => (u32::from_be_bytes(*word), Width::Word),
                _ => (u32::from(*first), Width::Byte),
            };
            self.poke_one(cpu, address, value, width, ctx)?;
            rest = &rest[taken..];
            address = address.wrapping_add(taken as u32);
        }
        self.wake_cores();
        Ok(())
    }

    fn poke_one(
        &mut self,
        cpu: usize,
        address: u32,
        value: u32,
        width: Width,
        ctx: &mut BoardContext,
    ) -> Result<(), NothingThere> {
        match map::place(who(cpu), address) {
            Place::Sram if address < SRAM_LIMIT => self.fabric.sram.write(address, width, value),
            Place::Scratchpad => {
                let scratchpad = &mut self.cores[cpu & 1].private.scratchpad;
                scratchpad.write(address, width, value);
            }
            Place::Register(offset) => {
                let (shift, mask) = (width.shift(address), width.mask());
                let rest = match width {
                    Width::Word => 0,
                    _ => self.register(offset & !3, ctx.now) & !(mask << shift),
                };
                let word = rest | (value & mask) << shift;
                self.outsider_writes_register(offset & !3, word, Initiator::Debugger, ctx);
            }
            _ => return Err(NothingThere { address, cpu }),
        }
        Ok(())
    }

    /// Changes a general register of a CPU (0 = A, 1 = B).
    pub fn set_register(&mut self, cpu: usize, index: usize, value: u32) {
        self.cores[cpu & 1].core.set_register(index & 31, value);
        self.wake_cores();
    }

    /// Has a CPU (0 = A, 1 = B) go on at another instruction; what is left of a jump that it was in is dropped.
    pub fn set_pc(&mut self, cpu: usize, pc: u32) {
        self.cores[cpu & 1].core.start_at(pc);
        self.wake_cores();
    }
}

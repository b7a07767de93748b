//! Code that the linker moved out of line for arithmetic in software (`defs::software`), as callers see it: it belongs to the function
//! from which it was moved, and has no entry of its own in `.debug_frame`.

use std::collections::BTreeMap;

use defs::software::{ROUTINES, SITES, SITES_END};

use super::Image;
use emulator_cpu::architecture::Transfer;

/// Most instructions of a part of the moved code.
const MOST_STEPS: u32 = 256;
// Opcodes of MIPS (bits 31 to 26 of an instruction).
const ADDIU: u32 = 0x09;
const ORI: u32 = 0x0D;
const LUI: u32 = 0x0F;
const LW: u32 = 0x23;
const SW: u32 = 0x2B;

/// Whether `address` is in a routine: it keeps all registers, and its return address in one.
pub(super) fn is_routine(image: &Image, address: u32) -> bool {
    let mut routines = ROUTINES.iter();
    routines.any(|(_, symbol)| {
        let symbol = image.symbols.named(symbol);
        symbol.is_some_and(|symbol| address.wrapping_sub(symbol.address) < symbol.size_bytes)
    })
}

/// The address at which the function goes on behind the moved code at `address`, and its registers there as far as they tell its frame;
/// `None` if no moved code is there.
pub(super) fn back(
    image: &Image,
    address: u32,
    registers: &[u32; 32],
    word: &impl Fn(u32) -> Option<u32>,
) -> Option<(u32, [u32; 32])> {
    let named = |name| Some(image.symbols.named(name)?.address);
    let (start, end) = (named(SITES)?, named(SITES_END)?);
    let sites = start..end;
    if !sites.contains(&address) {
        return None;
    }
    let mut walk = Walk {
        registers: *registers,
        stored: BTreeMap::new(),
        word,
    };
    let is_jump = |at: &u32| transfer(image, *at) == Some(Transfer::Jump);
    // In the slot of a jump.
    let mut at = match address.checked_sub(4).filter(is_jump) {
        Some(jump) if sites.contains(&jump) => jump,
        _ => address,
    };
    for _ in 0..MOST_STEPS {
        if !sites.contains(&at) {
            return Some((at, walk.registers));
        }
        let instruction = image.instruction(at)?;
        let next = at.wrapping_add(8);
        at = match transfer(image, at) {
            None => {
                walk.step(instruction);
                at.wrapping_add(4)
            }
            Some(Transfer::Jump) => {
                walk.step(image.instruction(at.wrapping_add(4))?);
                image.architecture.target(instruction, at)?
            }
            // A routine is called.
            Some(Transfer::Call) => next,
            Some(_) => return None,
        };
    }
    None
}

fn transfer(image: &Image, at: u32) -> Option<Transfer> {
    image.architecture.transfer(image.instruction(at)?)
}

/// Executes what changes the stack pointer and the return address.
struct Walk<'a, W> {
    registers: [u32; 32],
    /// Words that instructions on the way would store.
    stored: BTreeMap<u32, u32>,
    word: &'a W,
}

impl<W: Fn(u32) -> Option<u32>> Walk<'_, W> {
    fn step(&mut self, word: u32) {
        let (from, to) = ((word >> 21 & 31) as usize, (word >> 16 & 31) as usize);
        let base = self.registers[from];
        let place = base.wrapping_add_signed((word as i16).into());
        let value = match word >> 26 {
            ADDIU => Some(place),
            ORI => Some(base | word & 0xFFFF),
            LUI => Some(word << 16),
            LW => self
                .stored
                .get(&place)
                .copied()
                .or_else(|| (self.word)(place)),
            SW => {
                self.stored.insert(place, self.registers[to]);
                None
            }
            _ => None,
        };
        if let Some(value) = value.filter(|_| to != 0) {
            self.registers[to] = value;
        }
    }
}

//! The simplest board: one flat memory from address 0, with free and immediate accesses.

use emulator::cpu::decoded::Place;
use emulator::cpu::mips::asm::Program;
use emulator::cpu::mips::bits::BitChange;
use emulator::cpu::mips::bus::{Bus, BusStop, Fault, Private, Width};
use emulator::cpu::mips::exec::Core;
use emulator::cpu::mips::isa::Op;

/// Memory, and its decoded instructions. Reads beyond it return 0; writes beyond it are ignored.
pub struct FlatBus {
    bytes: Vec<u8>,
    decoded: Vec<Place<Op>>,
}

impl FlatBus {
    /// Memory of `length` (a multiple of 4) zero bytes.
    pub fn new(length: usize) -> Self {
        Self {
            bytes: vec![0; length],
            decoded: (0..length / 4).map(|_| Place::default()).collect(),
        }
    }

    /// Loads an assembled program into memory.
    pub fn place(&mut self, program: &Program) {
        for segment in &program.segments {
            for (offset, &byte) in (0..).zip(&segment.bytes) {
                self.write(segment.address + offset, Width::Byte, u32::from(byte));
            }
        }
    }

    /// Reads like a core.
    #[inline(always)]
    pub fn read(&self, address: u32, width: Width) -> u32 {
        let start = address as usize;
        match (self.bytes.get(start..start + width as usize), width) {
            (Some(&[a, b, c, d]), Width::Word) => u32::from_be_bytes([a, b, c, d]),
            (Some(&[a, b]), Width::Half) => u32::from(u16::from_be_bytes([a, b])),
            (Some(&[a]), Width::Byte) => u32::from(a),
            _ => 0,
        }
    }

    /// Writes like a core.
    #[inline(always)]
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        let start = address as usize;
        if let Some(place) = self.bytes.get_mut(start..start + width as usize) {
            place.copy_from_slice(&value.to_be_bytes()[4 - width as usize..]);
            self.decoded[start / 4].set(Op::UNDECODED);
        }
    }

    #[cold]
    fn decode(&mut self, pc: u32) -> Result<Op, BusStop> {
        let op = Op::decode(self.read(pc, Width::Word));
        match self.decoded.get(pc as usize / 4) {
            Some(place) => {
                place.set(op);
                Ok(op)
            }
            None => Err(BusStop::Fault(Fault::NoCode { address: pc })),
        }
    }
}

impl Bus for FlatBus {
    type Own<'a> = ();
    type Witness<'a> = ();

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    #[inline(always)]
    fn private(&mut self, _: &Core) -> Private<'_, (), ()> {
        Private {
            ops: &self.decoded,
            base: 0,
            memory: (),
            witness: (),
        }
    }

    #[inline(always)]
    fn fetch(&mut self, _: &mut Core, pc: u32) -> Result<Op, BusStop> {
        match self.decoded.get(pc as usize / 4).map(Place::get) {
            Some(op) if op != Op::UNDECODED => Ok(op),
            _ => self.decode(pc),
        }
    }

    #[inline(always)]
    fn load(&mut self, _: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        Ok(self.read(address, width))
    }

    #[inline(always)]
    fn store(
        &mut self,
        _: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.write(address, width, value);
        Ok(())
    }

    fn change_bits(
        &mut self,
        _: &mut Core,
        address: u32,
        change: BitChange,
    ) -> Result<u32, BusStop> {
        let word = self.read(address, Width::Word);
        self.write(address, Width::Word, change.applied_to(word));
        Ok(word)
    }

    fn probe(&mut self, _: &mut Core, _: u32) -> bool {
        false
    }
}

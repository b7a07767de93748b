//! The simplest board: one flat memory from address 0, and an interrupt status.

use emulator::cpu::decoded::Place;

use emulator::cpu::bus::Access;
use emulator::cpu::lanai::Op;
use emulator::cpu::lanai::asm::Program;
use emulator::cpu::lanai::bus::{Bus, BusStop, Fault, OwnMemory, Passed, Private, Width};
use emulator::cpu::lanai::exec::Core;

/// Memory, and its decoded instructions. Reads beyond it return 0; writes beyond it are ignored. `FAST`: the core
/// uses it as private memory.
pub struct FlatBus<const FAST: bool> {
    bytes: Vec<u8>,
    decoded: Vec<Place<Op>>,
    /// Interrupt status: a write clears bits.
    pub status: u32,
    /// Cycles of a load and of a store.
    pub costs: (u32, u32),
}

/// Memory as the core uses it without its bus.
pub struct FlatMemory<'a> {
    bytes: &'a mut [u8],
    decoded: &'a [Place<Op>],
    costs: (u32, u32),
}

impl<const FAST: bool> FlatBus<FAST> {
    /// Memory of `length` (a multiple of 4) zero bytes.
    pub fn new(length: usize) -> Self {
        Self {
            bytes: vec![0; length],
            decoded: (0..length / 4).map(|_| Place::default()).collect(),
            status: 0,
            costs: (0, 0),
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
    pub fn read(&self, address: u32, width: Width) -> u32 {
        read(&self.bytes, address, width).unwrap_or(0)
    }

    /// Writes like a core.
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        self.memory().write(address, width, value);
    }

    fn memory(&mut self) -> FlatMemory<'_> {
        FlatMemory {
            bytes: &mut self.bytes,
            decoded: &self.decoded,
            costs: self.costs,
        }
    }
}

#[inline(always)]
fn read(bytes: &[u8], address: u32, width: Width) -> Option<u32> {
    let start = address as usize;
    match (bytes.get(start..start + width as usize)?, width) {
        (&[a, b, c, d], Width::Word) => Some(u32::from_be_bytes([a, b, c, d])),
        (&[a, b], Width::Half) => Some(u32::from(u16::from_be_bytes([a, b]))),
        (&[a], Width::Byte) => Some(u32::from(a)),
        _ => None,
    }
}

impl FlatMemory<'_> {
    #[inline(always)]
    fn write(&mut self, address: u32, width: Width, value: u32) -> Option<()> {
        let start = address as usize;
        let place = self.bytes.get_mut(start..start + width as usize)?;
        place.copy_from_slice(&value.to_be_bytes()[4 - width as usize..]);
        self.decoded.get(start / 4)?.set(Op::UNDECODED);
        Some(())
    }
}

impl OwnMemory for FlatMemory<'_> {
    fn begin(&mut self, _: u64) {}

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, _: Access) -> Option<(u32, u32)> {
        Some((read(self.bytes, address, width)?, self.costs.0))
    }

    #[inline(always)]
    fn store(&mut self, address: u32, width: Width, value: u32, _: Access) -> Option<u32> {
        self.write(address, width, value)?;
        Some(self.costs.1)
    }
}

/// Private memory, if there is any.
pub struct Perhaps<M>(Option<M>);

impl<M: OwnMemory> OwnMemory for Perhaps<M> {
    fn begin(&mut self, cycles: u64) {
        if let Some(memory) = &mut self.0 {
            memory.begin(cycles);
        }
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, access: Access) -> Option<(u32, u32)> {
        self.0.as_mut()?.load(address, width, access)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, width: Width, value: u32, access: Access) -> Option<u32> {
        self.0.as_mut()?.store(address, width, value, access)
    }
}

impl<const FAST: bool> Bus for FlatBus<FAST> {
    type Code<'a> = &'a [Place<Op>];
    type Own<'a> = Perhaps<FlatMemory<'a>>;
    type Witness<'a> = ();

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    #[inline(always)]
    fn private(&mut self, _: &Core) -> Private<&[Place<Op>], Self::Own<'_>, ()> {
        let code: &[Place<Op>] = if FAST { &self.decoded } else { &[] };
        let memory = FAST.then_some(FlatMemory {
            bytes: &mut self.bytes,
            decoded: &self.decoded,
            costs: self.costs,
        });
        Private {
            code,
            memory: Perhaps(memory),
            witness: (),
            until: u64::MAX,
        }
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        let word = self.read(pc, Width::Word);
        let place = self.decoded.get(pc as usize / 4);
        let place = place.ok_or(BusStop::Fault(Fault::NoCode { address: pc }))?;
        if place.get() == Op::UNDECODED {
            place.set(Op::decode(word, core.pipeline()));
        }
        Ok(place.get())
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        let value = read(&self.bytes, address, width);
        if value.is_some() {
            core.clock.charge(self.costs.0.into());
        }
        Ok(value.unwrap_or(0))
    }

    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        if self.memory().write(address, width, value).is_some() {
            core.clock.charge(self.costs.1.into());
        }
        Ok(())
    }

    fn interrupt_status(&mut self, _: &mut Core) -> Result<u32, BusStop> {
        Ok(self.status)
    }

    fn set_interrupt_status(&mut self, _: &mut Core, value: u32) -> Result<(), BusStop> {
        self.status &= !value;
        Ok(())
    }

    fn probe(&mut self, _: &mut Core, _: u32) -> Passed {
        Passed::Instruction
    }
}

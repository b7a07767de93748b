//! A LANai that copies words and sums them, for a fixed number of instructions:
//! `cargo run --release --example busy_lanai -- [PIPELINE [MILLIONS]]`, and for tools that count instructions:
//! `valgrind --tool=callgrind target/release/examples/busy_lanai lanai 1`.

use emulator::cpu::decoded::Place;
use std::time::Instant;

use emulator::cpu::asm::AsmError;
use emulator::cpu::bus::Access;
use emulator::cpu::lanai::Op;
use emulator::cpu::lanai::asm::assemble;
use emulator::cpu::lanai::bus::{Bus, BusStop, Fault, OwnMemory, Passed, Private, Width};
use emulator::cpu::lanai::exec::{Core, Exit, run};
use emulator::cpu::lanai::pipeline::Pipeline;

/// Bytes of memory.
const SRAM_BYTES: usize = 1 << 20;

/// Copies 4 KiB and adds its words with end-around carry, four words a round, in a function that is called for each block.
/// Every value is used three instructions after its load at the earliest, and there are two slots behind each branch, so that
/// every pipeline computes the same.
const KERNEL: &str = "
    mov   0x80000, %sp
block:
    mov   0x10000, %r6
    mov   0x20000, %r7
    mov   256, %r9
    mov   0, %r8
round:
    ld    [%r6++], %r12
    ld    [%r6++], %r13
    ld    [%r6++], %r14
    ld    [%r6++], %r16
    st    %r12, [%r7++]
    add.f %r8, %r12, %r8
    addc.f %r8, %r13, %r8
    addc.f %r8, %r14, %r8
    addc.f %r8, %r16, %r8
    addc  %r8, 0, %r8
    st    %r13, [%r7++]
    st    %r14, [%r7++]
    st    %r16, [%r7++]
    sub.f %r9, 1, %r9
    bne   round
    nop
    nop
    st    %r8, [0x30000]
    bt    block
    nop
    nop
";

/// Memory of a board, with its decoded instructions.
struct Sram {
    bytes: Vec<u8>,
    decoded: Vec<Place<Op>>,
}

/// Memory as the core uses it without its bus.
struct Own<'a> {
    bytes: &'a mut [u8],
    decoded: &'a [Place<Op>],
}

impl OwnMemory for Own<'_> {
    fn begin(&mut self, _: u64) {}

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, _: Access) -> Option<(u32, u32)> {
        let start = address as usize;
        let value = match (width, self.bytes.get(start..start + width as usize)?) {
            (Width::Word, &[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
            (Width::Half, &[a, b]) => u16::from_be_bytes([a, b]).into(),
            (_, bytes) => bytes[0].into(),
        };
        Some((value, 0))
    }

    #[inline(always)]
    fn store(&mut self, address: u32, width: Width, value: u32, _: Access) -> Option<u32> {
        let start = address as usize;
        let place = self.bytes.get_mut(start..start + width as usize)?;
        match (width, place) {
            (Width::Word, [a, b, c, d]) => [*a, *b, *c, *d] = value.to_be_bytes(),
            (Width::Half, [a, b]) => [*a, *b] = (value as u16).to_be_bytes(),
            (_, bytes) => bytes[0] = value as u8,
        }
        self.decoded.get(start / 4)?.set(Op::UNDECODED);
        Some(0)
    }
}

impl Bus for Sram {
    type Code<'a> = &'a [Place<Op>];
    type Own<'a> = Own<'a>;
    type Witness<'a> = ();

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    fn private(&mut self, _: &Core) -> Private<&[Place<Op>], Own<'_>, ()> {
        Private {
            code: &self.decoded,
            memory: Own {
                bytes: &mut self.bytes,
                decoded: &self.decoded,
            },
            witness: (),
            until: u64::MAX,
        }
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        let word = self.load(core, pc, Width::Word)?;
        let place = self.decoded.get(pc as usize / 4);
        let place = place.ok_or(BusStop::Fault(Fault::NoCode { address: pc }))?;
        place.set(Op::decode(word, core.pipeline()));
        Ok(place.get())
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        let private = self
            .private(core)
            .memory
            .load(address, width, Access::default());
        Ok(private.map_or(0, |(value, _)| value))
    }

    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.private(core)
            .memory
            .store(address, width, value, Access::default());
        Ok(())
    }

    fn probe(&mut self, _: &mut Core, _: u32) -> Passed {
        Passed::Instruction
    }
}

fn main() -> Result<(), AsmError> {
    let name = std::env::args().nth(1);
    let named = |pipeline: &Pipeline| Some(pipeline.name) == name.as_deref();
    let pipeline = Pipeline::ALL
        .into_iter()
        .find(named)
        .unwrap_or(Pipeline::LLVM);
    let millions = std::env::args().nth(2).and_then(|text| text.parse().ok());
    let count: u64 = 1_000_000 * millions.unwrap_or(1000);
    let mut sram = Sram {
        bytes: vec![0; SRAM_BYTES],
        decoded: (0..SRAM_BYTES / 4).map(|_| Place::default()).collect(),
    };
    for (address, word) in assemble(KERNEL)?.words() {
        let start = address as usize;
        sram.bytes[start..start + 4].copy_from_slice(&word.to_be_bytes());
    }
    for (number, byte) in sram.bytes[0x10000..0x11000].iter_mut().enumerate() {
        *byte = (number * 7) as u8;
    }
    let mut core = Core::new(pipeline);
    let start = Instant::now();
    let exit = run(&mut core, &mut sram, u64::MAX, count);
    let seconds = start.elapsed().as_secs_f64();
    let instructions = core.instructions();
    let rate = instructions as f64 / seconds / 1e6;
    let ended = if exit == Exit::Limit { "" } else { ", stopped" };
    println!(
        "{}: {instructions} instructions, {} clocks, checksum {:#010x}, {rate:.0} million a second{ended}",
        pipeline.name,
        core.clock.cycles,
        core.register(8)
    );
    Ok(())
}

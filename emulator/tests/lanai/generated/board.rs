//! The board that runs an image of programs: memory, and one device that notes the order of its accesses.

use emulator::cpu::lanai::Op;
use emulator::cpu::lanai::bus::{Bus, BusStop, Passed, Private, Width};
use emulator::cpu::lanai::exec::{Core, Exit, run};
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::image::Image;

use super::super::flat::FlatBus;
use super::super::toolchain;
use super::Call;

/// Bytes of memory.
pub const MEMORY: u32 = 0x20_0000;
/// The image's end, where the words of calls begin: their number, number of those that are complete; program, two inputs, two words of result for each.
pub const IMAGE_END: u32 = 0x1F_0000;
/// Words before the first call.
const HEAD: u32 = 2;
/// Words of a call.
const WORDS: u32 = 5;
/// First address of the device.
pub const DEVICE: u32 = 0xFFFF_FF00;
/// Instructions between two looks at what is complete.
const STEP: u64 = 10_000;
/// Instructions that one call may take.
const LIMIT: u64 = 20_000_000;

/// Memory and the device.
struct Board {
    flat: FlatBus<true>,
    /// State of the device: a read mixes it with the register's number, a write with the value.
    state: u32,
}

impl Bus for Board {
    type Code<'a> = <FlatBus<true> as Bus>::Code<'a>;
    type Own<'a> = <FlatBus<true> as Bus>::Own<'a>;
    type Witness<'a> = ();

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    #[inline(always)]
    fn private(&mut self, core: &Core) -> Private<Self::Code<'_>, Self::Own<'_>, ()> {
        self.flat.private(core)
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        self.flat.fetch(core, pc)
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        if address < DEVICE {
            return self.flat.load(core, address, width);
        }
        // As in `native.rs`.
        self.state = self.state.wrapping_mul(1_664_525) ^ ((address - DEVICE) / 4);
        Ok(self.state)
    }

    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        match address.checked_sub(DEVICE) {
            None => return self.flat.store(core, address, width, value),
            Some(0) => self.state = value,
            Some(_) => self.state = self.state.rotate_left(5) ^ value,
        }
        Ok(())
    }

    fn probe(&mut self, _: &mut Core, _: u32) -> Passed {
        Passed::Instruction
    }
}

/// Results of all calls, `None` from the first one on that does not end; instructions of all.
pub fn results(image: &Image, calls: &[Call]) -> (Vec<Option<u64>>, u64) {
    let mut board = Board {
        flat: toolchain::loaded(image, MEMORY),
        state: 0,
    };
    let write = |flat: &mut FlatBus<true>, address: u32, value: u32| {
        flat.write(address, Width::Word, value);
    };
    let number = |value: usize| u32::try_from(value).expect("few");
    let place = |index: usize| IMAGE_END + 4 * (HEAD + WORDS * number(index));
    write(&mut board.flat, IMAGE_END, number(calls.len()));
    write(&mut board.flat, IMAGE_END + 4, 0);
    for (index, call) in calls.iter().enumerate() {
        let words = [number(call.index), call.a, call.b];
        for (at, word) in (0..).zip(words) {
            write(&mut board.flat, place(index) + 4 * at, word);
        }
    }
    let mut core = Core::new(Pipeline::LLVM);
    core.start_at(image.entry);
    let (mut complete, mut began) = (0, 0);
    while complete < calls.len() && core.instructions() - began < LIMIT {
        let exit = run(&mut core, &mut board, u64::MAX, STEP);
        let now = board.flat.read(IMAGE_END + 4, Width::Word) as usize;
        if now > complete {
            (complete, began) = (now, core.instructions());
        }
        if !matches!(exit, Exit::Limit) {
            break;
        }
    }
    let result = |index: usize| {
        let word = |at: u32| u64::from(board.flat.read(place(index) + 4 * at, Width::Word));
        (index < complete).then(|| word(3) << 32 | word(4))
    };
    ((0..calls.len()).map(result).collect(), core.instructions())
}

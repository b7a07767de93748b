//! The image `hello` for the LANai against the same Rust code on this machine. The image exists where LLVM's tools do.

use std::io::Write as _;
use std::path::Path;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::cpu::lanai::bus::Width;
use emulator::cpu::lanai::exec::{Core, run};
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::image::Image;

use super::toolchain;

#[allow(
    clippy::cast_possible_wrap,
    reason = "firmware, whose lints are its own workspace's"
)]
#[path = "../../../firmware/lanai/images/hello/src/work.rs"]
mod work;

/// Memory of the test, in bytes: the image's, and the shared words behind it.
const MEMORY: u32 = 0x4_0000;

/// Reads an image, if it was built.
fn image(name: &str) -> Option<Image> {
    let path = format!(
        "{}/../firmware/target/lanai/release/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    if !Path::new(&path).exists() {
        // Past the capture of the test harness, which hides the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of the image {name} (`make firmware` builds it where llc of LLVM 22 is installed)"
        );
        return None;
    }
    Some(toolchain::image(Path::new(&path), MEMORY).unwrap_or_else(|error| panic!("{error}")))
}

/// Inputs with special values, and random ones.
fn inputs() -> Vec<(u32, u32)> {
    let special = [0, 1, 2, 31, 63, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF];
    let pairs = special.into_iter().flat_map(|a| special.map(|b| (a, b)));
    let mut random = ChaCha8Rng::seed_from_u64(1);
    // All magnitudes.
    let mut number = || random.next_u32() >> (random.next_u32() & 31);
    let random: Vec<_> = (0..500).map(|_| (number(), number())).collect();
    pairs.chain(random).collect()
}

#[test]
fn compiled_code_computes_what_the_host_computes() {
    let Some(image) = image("hello") else {
        return;
    };
    let top = image.symbols.named("__stack_top").expect("the linker's");
    let shared = |index: u32| top.address + 4 * index;
    for (a, b) in inputs() {
        let mut bus = toolchain::loaded(&image, MEMORY);
        bus.write(shared(0), Width::Word, a);
        bus.write(shared(1), Width::Word, b);
        let mut core = Core::new(Pipeline::LLVM);
        core.start_at(image.entry);
        let _ = run(&mut core, &mut bus, u64::MAX, 50_000);
        assert_eq!(
            bus.read(shared(2), Width::Word),
            0x600D_600D,
            "{a:#x} {b:#x}: no end"
        );
        let results: [u32; work::RESULTS] = std::array::from_fn(|index| {
            let index = u32::try_from(index).expect("few results");
            bus.read(shared(3 + index), Width::Word)
        });
        assert_eq!(results, work::results(a, b), "{a:#x} {b:#x}");
    }
}

//! The tests of EMP's protocol (`firmware/emp`), compiled as they are for the LANai and run on its core.

use std::env;
use std::path::{Path, PathBuf};

use emulator::cpu::lanai::bus::Width;
use emulator::cpu::lanai::exec::{Core, run};
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::image::Image;

use super::flat::FlatBus;
use super::toolchain::{self, Toolchain};

/// The memory of `firmware/lanai/testing/std.rs`, whose heap ends here.
const MEMORY: u32 = 0x800_0000;
/// End of the image's memory, where the words of `firmware/lanai/testing/test.rs` begin.
const IMAGE_END: u32 = 0x1F_0000;
/// Instructions between two looks at the words.
const STEP: u64 = 1_000_000;
/// Instructions that one test may take.
const LIMIT: u64 = 100_000_000_000;

/// The crates for the LANai that EMP's tests need.
struct Crates {
    toolchain: Toolchain,
    folder: PathBuf,
}

impl Crates {
    fn new(what: &str) -> Option<Crates> {
        let arguments = ["-Zbuild-std=core,alloc", "--package", "lanigon-lanai-hal"];
        let crates = Crates {
            toolchain: Toolchain::new(what, &arguments)?,
            folder: toolchain::folder("emp-lanai").join(what),
        };
        std::fs::create_dir_all(&crates.folder).expect("a folder");
        crates.library(
            "std",
            "firmware/lanai/testing/std.rs",
            &["alloc", "lanai_rt"],
        );
        crates.library("test", "firmware/lanai/testing/test.rs", &["lanai_rt"]);
        crates.library("rings", "firmware/rings/src/lib.rs", &[]);
        Some(crates)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("lib{name}.rlib"))
    }

    fn library(&self, name: &str, source: &str, libraries: &[&str]) {
        let mut rustc = self.toolchain.rustc(libraries);
        rustc
            .args(["--crate-type=rlib", "-Copt-level=2", "--crate-name", name])
            .arg(self.toolchain.root.join(source))
            .arg("-o")
            .arg(self.file(name));
        toolchain::output(&mut rustc).unwrap_or_else(|error| panic!("{error}"));
    }

    /// The tests of the crate at `source`, as an image.
    fn tests(&self, source: &str, libraries: &[&str]) -> Image {
        let image = self.folder.join("tests");
        let mut rustc = self.toolchain.linking(&["defs"], IMAGE_END);
        for name in ["std", "test", "rings"].iter().chain(libraries) {
            rustc.arg(format!("--extern={name}={}", self.file(name).display()));
        }
        rustc
            .args(["--test", "-Copt-level=2", "--crate-name=tests", "-o"])
            .arg(&image)
            .arg(self.toolchain.root.join(source));
        toolchain::output(&mut rustc).unwrap_or_else(|error| panic!("{error}"));
        toolchain::image(Path::new(&image), MEMORY).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The functions around the core's place, innermost first.
fn callers(image: &Image, bus: &FlatBus<true>, core: &Core) -> Vec<String> {
    let frame = |fp: &u32| Some(bus.read(fp.wrapping_sub(8), Width::Word));
    let frames = std::iter::successors(Some(core.register(5)), frame);
    let place = |fp: u32| {
        image
            .symbols
            .describe(bus.read(fp.wrapping_sub(4), Width::Word))
    };
    frames
        .take_while(|fp| *fp < IMAGE_END)
        .take(20)
        .map(place)
        .collect()
}

/// Runs the tests of an image whose names begin with `start`: their number, and the instructions of all.
fn run_all(image: &Image, start: &str) -> (u32, u64) {
    let mut bus = toolchain::loaded(image, MEMORY);
    let mut core = Core::new(Pipeline::LLVM);
    core.start_at(image.entry);
    // One test, none passed, until the program tells.
    let length = u32::try_from(start.len()).expect("short");
    let head = [1, 0, 0, 0, length];
    let words = head.into_iter().chain(start.bytes().map(u32::from));
    for (index, word) in (0..).zip(words) {
        bus.write(IMAGE_END + 4 * index, Width::Word, word);
    }
    let (mut passed, mut began) = (0, 0);
    loop {
        let _ = run(&mut core, &mut bus, u64::MAX, STEP);
        let word = |index: u32| bus.read(IMAGE_END + 4 * index, Width::Word);
        if word(1) == word(0) {
            return (word(0), core.instructions());
        }
        let name: Vec<u8> = (word(2)..word(2) + word(3))
            .map(|address| bus.read(address, Width::Byte).to_be_bytes()[3])
            .collect();
        let name = String::from_utf8_lossy(&name);
        if word(1) > passed {
            println!("{name} begins at {} instructions", core.instructions());
            (passed, began) = (word(1), core.instructions());
        }
        // A panic stays in a loop of one branch.
        let place = image.symbols.describe(core.pc());
        assert!(
            !place.contains("lanai_rt::stop"),
            "{name} has failed, called from {:#?}",
            callers(image, &bus, &core)
        );
        let took = core.instructions() - began;
        assert!(took < LIMIT, "{name} does not end: {place}");
    }
}

/// The protocol's tests whose names begin with each of `starts` pass, and are as many. Memory is empty at each start: the tests
/// never free the records of their nodes.
fn check_protocol(folder: &str, starts: &[(&str, u32)]) {
    let Some(crates) = Crates::new(folder) else {
        return;
    };
    crates.library("emp", "firmware/emp/src/lib.rs", &["defs"]);
    let image = crates.tests("firmware/emp/tests/protocol/main.rs", &["emp"]);
    for (start, expected) in starts {
        let (passed, instructions) = run_all(&image, start);
        println!("{start} {passed} tests, {instructions} instructions");
        assert_eq!(passed, *expected, "{start}");
    }
}

#[test]
fn unit_tests_of_emp_pass_as_code_for_the_lanai() {
    let Some(crates) = Crates::new("unit") else {
        return;
    };
    let (passed, instructions) = run_all(&crates.tests("firmware/emp/src/lib.rs", &[]), "");
    println!("{passed} tests, {instructions} instructions");
    assert_eq!(passed, 8);
}

/// The modules with tests of the protocol, and their numbers of tests.
const PROTOCOL_TESTS: [(&str, u32); 6] = [
    ("exchange::", 2),
    ("flow::", 4),
    ("control::", 6),
    ("faults::", 15),
    ("found::", 3),
    ("timeouts::", 6),
];

/// One protocol test; all of them on one CPU if the environment says so: `LANIGON_EMP_TESTS=all`.
#[test]
fn protocol_tests_of_emp_pass_as_code_for_the_lanai() {
    match env::var("LANIGON_EMP_TESTS").as_deref() {
        Ok("all") => check_protocol("protocol", &PROTOCOL_TESTS),
        Ok(other) => panic!("LANIGON_EMP_TESTS={other}: not \"all\""),
        Err(_) => check_protocol("one", &[("control::a_receive", 1)]),
    }
}

//! Machine code on a whole board, checked against the chip's description: cases that no compiler would
//! generate. `corpus/firmware/` holds the cases, one file per block; each lists the acts and the expected
//! state of host and SRAM (`act.rs` defines the words). `SIZE` is replaced by the size of the installed
//! SRAM.
use emulator::tigon2::sram::SramSize;

use crate::act::{Act, play};
use crate::bench::{Bench, finishes};

/// Performs each case on boards of every size.
fn check(file: &str) {
    for case in file.split("\n== ") {
        let (title, text) = case.split_once('\n').expect("a title line");
        for sram in [SramSize::K512, SramSize::M1, SramSize::M2] {
            let size = format!("{:#x}", sram.bytes());
            println!("{title} ({size})");
            let acts = Act::parse_all(&text.replace("SIZE", &size));
            finishes(move || play(&mut Bench::bare(sram), &acts));
        }
    }
}

macro_rules! checks {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(include_str!(concat!("../corpus/firmware/", stringify!($name), ".txt")));
        }
    )*};
}

checks! {
    aliasing
    assist
    cpu_control
    dispatch
    events
    patched_code
    rings
    scratchpad
    semaphore
    stack_map
    timer
}

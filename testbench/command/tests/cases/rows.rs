//! Expected output of each program of `firmware/cases`.

/// A board for which the programs are built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Board {
    Tigon2,
    Lanai,
}

use Board::{Lanai, Tigon2};

const BOTH: &[Board] = &[Tigon2, Lanai];

/// A program that is executed.
pub struct Case {
    pub program: &'static str,
    pub boards: &'static [Board],
    /// Exit code of the command.
    pub code: i32,
    /// Texts that the command prints.
    pub says: &'static [&'static str],
}

/// A program that ends well.
const fn gives(
    program: &'static str,
    boards: &'static [Board],
    says: &'static [&'static str],
) -> Case {
    Case {
        program,
        boards,
        code: 0,
        says,
    }
}

/// A program that panics: what happened and where, and the calls down to `main`.
const fn panics(
    program: &'static str,
    boards: &'static [Board],
    says: &'static [&'static str],
) -> Case {
    stops(program, boards, says)
}

/// A program at which the CPU stops.
const fn stops(
    program: &'static str,
    boards: &'static [Board],
    says: &'static [&'static str],
) -> Case {
    Case {
        program,
        boards,
        code: 1,
        says,
    }
}

pub const CASES: &[Case] = &[
    gives("recursion", BOTH, &["log: depth 3 and 7"]),
    gives(
        "infinite",
        &[Tigon2],
        &[
            "log: before",
            "cpu_a: still runs after 200000 instructions, the limit: in main at cases/src/bin/infinite.rs:12, called by",
            "_start",
        ],
    ),
    gives(
        "infinite",
        &[Lanai],
        &[
            "log: before",
            "cpu: still runs after 200000 instructions, the limit: in ",
            "infinite::main at cases/src/bin/infinite.rs:12, called by main at rt/src/lib.rs:",
        ],
    ),
    gives(
        "big_match",
        BOTH,
        &["log: seven", "log: match 1323 1073741750"],
    ),
    gives("ring", BOTH, &["log: ring 600"]),
    gives(
        "log_zero",
        BOTH,
        &["log: sum 0 0x2a", "log: zeros 0 0 0x0 0", "log: end 7 0"],
    ),
    Case {
        program: "bits",
        boards: &[Tigon2],
        code: 2,
        says: &[
            "3 instructions that the chip does not have",
            "bits::main_b+",
            "in cases/src/bin/bits.rs:",
            "a board tigon-n may have them (docs/tigon2-n.md)",
        ],
    },
    gives("static_mut", BOTH, &["log: static 6 7 8"]),
    gives("async_work", BOTH, &["log: sum 45 after 11 polls"]),
    gives(
        "mul_div_u32",
        BOTH,
        &[
            "log: u32 37000111 27027 4",
            "log: i32 0xfdcb6c51 0xffff966d 0xfffffffc",
            "log: least 0x80000000 0x0",
            "log: tens 12345 6",
        ],
    ),
    gives(
        "mul_div_u64",
        BOTH,
        &[
            "log: product 0x79be0246 0x8abebb49",
            "log: quotient 0x13 0x16af23b9 remainder 799648",
        ],
    ),
    gives("div_u128", BOTH, &["log: quotient 0x3c861 0xc29e7daf"]),
    gives("f32", BOTH, &["log: f32 0xc0cc0000 less 0"]),
    gives(
        "format",
        BOTH,
        &[
            "log: written 1",
            "log: text 0x613d3432",
            "log: text 0x29000000",
            "log: length 21",
        ],
    ),
    gives(
        "bytes",
        BOTH,
        &["log: equal 0 less 1", "log: bytes 0x10203 0x3020100"],
    ),
    gives("atomic32", BOTH, &["log: count 2"]),
    stops(
        "null_call",
        BOTH,
        &[
            "log: before",
            "(null_call::main+",
            "call to address 0, at 0x",
            "null_call::main at cases/src/bin/null_call.rs:15",
        ],
    ),
    stops(
        "smashed_return",
        BOTH,
        &[
            "log: before",
            "(smashed_return::smash+",
            " at cases/src/bin/smashed_return.rs:25): return to 0x01234560, where no memory is\n",
            "(its return address was overwritten: the callers are not known)",
        ],
    ),
    stops(
        "endless_recursion",
        BOTH,
        &[
            "log: start",
            "(endless_recursion::descend+",
            "stack overflow: store to 0x",
            "endless_recursion::main at cases/src/bin/endless_recursion.rs:18",
        ],
    ),
    stops(
        "endless_recursion",
        &[Tigon2],
        &["the stack ends (-Clink-arg=--defsym=__stack_sram_bytes=4352 doubles it)"],
    ),
    Case {
        program: "big_frame",
        boards: &[Tigon2],
        code: 2,
        says: &[
            "the stack of 2288 bytes is too small",
            "big_frame::sum_of_squares takes 32032 for its frame; make large local values `static`",
            "or link with -Clink-arg=--defsym=__stack_sram_bytes=31",
        ],
    },
    gives("big_frame", &[Lanai], &["log: sum 0"]),
    stops(
        "misaligned",
        &[Tigon2],
        &[
            "log: before",
            "misaligned 4-byte access to 0x00004001",
            "at cases/src/bin/misaligned.rs:15",
        ],
    ),
    stops(
        "no_memory",
        BOTH,
        &[
            "log: before",
            "access to 0xf0000000, where nothing answers",
            "at cases/src/bin/no_memory.rs:15",
        ],
    ),
    panics(
        "panic_expect",
        BOTH,
        &[
            "stop: panic",
            "panic at cases/src/bin/panic_expect.rs:13: no descriptor is free",
            "core::option::expect_failed at core/src/option.rs:",
            "panic_expect::main at cases/src/bin/panic_expect.rs:13",
        ],
    ),
    panics(
        "panic_format",
        BOTH,
        &[
            "panic at cases/src/bin/panic_format.rs:12: ring {} has no end",
            "panic_format::main at cases/src/bin/panic_format.rs:12",
        ],
    ),
    panics(
        "fail",
        BOTH,
        &[
            "panic at cases/src/bin/fail.rs:12: ring 3 has no end",
            "main at cases/src/bin/fail.rs:12",
        ],
    ),
    panics(
        "out_of_bounds",
        BOTH,
        &[
            "panic at cases/src/bin/out_of_bounds.rs:13: index out of bounds: the len is",
            "core::panicking::panic_bounds_check at core/src/panicking.rs:",
            "main at cases/src/bin/out_of_bounds.rs:13",
        ],
    ),
    panics(
        "overflow_product",
        BOTH,
        &[
            "log: before",
            "panic at cases/src/bin/overflow_product.rs:13: attempt to multiply with overflow",
            "overflow_product::weigh at cases/src/bin/overflow_product.rs:13",
            "overflow_product::total at cases/src/bin/overflow_product.rs:19",
            "overflow_product::main at cases/src/bin/overflow_product.rs:25",
        ],
    ),
    stops(
        "divide_by_zero",
        &[Tigon2],
        &[
            "cpu_a: division by zero (break 7) at pc 0x",
            "(divide_by_zero::share at cases/src/bin/divide_by_zero.rs:17)",
            "__software_divu",
        ],
    ),
    stops(
        "abort",
        &[Tigon2],
        &[
            "log: before",
            "stop: abort",
            "cpu_a: abort at pc 0x",
            "(main at cases/src/bin/abort.rs:14)",
            "abort::start at cases/src/lib.rs:",
        ],
    ),
    stops(
        "abort",
        &[Lanai],
        &[
            "cpu: abort at pc 0x",
            "(abort::main at cases/src/bin/abort.rs:14)",
            "main at rt/src/lib.rs:",
        ],
    ),
    stops(
        "own_break",
        &[Tigon2],
        &[
            "cpu_a: break 9 at pc 0x",
            "(main at cases/src/bin/own_break.rs:16)",
        ],
    ),
    panics(
        "overflow",
        BOTH,
        &[
            "panic at cases/src/bin/overflow.rs:11: attempt to add with overflow",
            "main at cases/src/bin/overflow.rs:11",
        ],
    ),
    panics(
        "heap",
        &[Tigon2],
        &["log: heap 190", "heap::main at cases/src/bin/heap.rs:"],
    ),
];

/// A program that the compiler or the linker refuses.
pub struct Refused {
    pub program: &'static str,
    pub boards: &'static [Board],
    /// Texts that the build prints.
    pub says: &'static [&'static str],
}

/// Texts of each linker about an image that the memory cannot hold.
const TIGON2_FULL: &[&str] = &["will not fit in region 'SRAM'"];
const LANAI_FULL: &[&str] = &["the image ends at 0x", "the memory at 0x3f000"];

const fn refused(
    program: &'static str,
    boards: &'static [Board],
    says: &'static [&'static str],
) -> Refused {
    Refused {
        program,
        boards,
        says,
    }
}

pub const REFUSED: &[Refused] = &[
    refused("atomic64", BOTH, &["src/bin/atomic64.rs:6"]),
    refused(
        "atomic_add",
        BOTH,
        &["src/bin/atomic_add.rs:13", "no method named `fetch_add`"],
    ),
    refused("big_constant", &[Tigon2], TIGON2_FULL),
    refused("big_constant", &[Lanai], LANAI_FULL),
    refused("big_zeroed", &[Tigon2], TIGON2_FULL),
    refused("big_zeroed", &[Lanai], LANAI_FULL),
];

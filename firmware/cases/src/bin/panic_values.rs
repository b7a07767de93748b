//! Panics with values in their texts: the test sets [`KIND`].
#![no_std]
#![no_main]
#![allow(unsafe_code)]
#![feature(asm_experimental_arch)]

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};

use cases::{black_box, case, rest};

case!(main);

/// Number of the panic.
#[unsafe(no_mangle)]
static KIND: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
#[allow(dead_code, reason = "the derived text alone reads the fields")]
enum Refused {
    Full { free: u8, name: &'static str },
}

#[inline(never)] // The panic is in a function of its own, as in most firmware.
fn index() -> u32 {
    black_box([64u32, 128, 256])[black_box(5usize)]
}

#[inline(never)] // The panic is in a function of its own, as in most firmware.
fn slices(start: usize, end: usize) -> usize {
    black_box(&[1u8, 2, 3, 4])[start..end].len()
}

#[inline(never)] // The panic is in a function of its own, as in most firmware.
fn results(number: u32) -> u32 {
    let refused = Refused::Full {
        free: 3,
        name: "tx",
    };
    let result: Result<u32, Refused> = black_box(Err(refused));
    match number {
        0 => result.unwrap_or(0) + black_box(None::<u32>).unwrap(),
        1 => result.unwrap(),
        _ => result.expect("no descriptor"),
    }
}

#[inline(never)] // The panic is in a function of its own, as in most firmware.
fn checks(number: u32) {
    let count = black_box(3i32);
    let cell = RefCell::new(count);
    let held = cell.borrow_mut();
    match number {
        0 => assert!(black_box(*held) < 3, "count {count}"),
        1 => assert_eq!(black_box(*held), -3),
        2 => assert_ne!(black_box(*held), 3, "ring {}", black_box('b')),
        _ => {
            black_box(cell.borrow());
        }
    }
}

#[inline(never)] // The panic is in a function of its own, as in most firmware.
fn sums(number: u32) -> u32 {
    let most = black_box(u32::MAX);
    match number {
        0 => most + black_box(1),
        1 => most * black_box(2),
        2 => black_box(1) - most,
        3 => most / black_box(0),
        _ => 1 << (most - black_box(1)),
    }
}

#[inline(never)] // The panic is in a function of its own, as in most firmware.
fn formats() {
    let (ring, name, flag) = black_box((7u16, "tx", true));
    panic!(
        "ring {ring} {name:?} at {:#x}: {flag}",
        black_box(0x4100u32)
    );
}

fn main() -> ! {
    let kind = KIND.load(Ordering::SeqCst);
    let value = match kind {
        0 => index(),
        1 => slices(3, black_box(9)) as u32,
        2 => slices(black_box(3), 2) as u32,
        3..=5 => results(kind - 3),
        6..=9 => {
            checks(kind - 6);
            0
        }
        10..=14 => sums(kind - 10),
        _ => {
            formats();
            0
        }
    };
    black_box(value);
    rest()
}

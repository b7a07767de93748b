//! A heap: boxes and a vector, then an allocation that does not fit.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "an allocator is unsafe")]

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, UnsafeCell};

use cases::{black_box, case, log, rest};

case!(main);

/// Memory that is given out once, from the front.
struct Heap {
    memory: UnsafeCell<[u64; 256]>,
    used_bytes: Cell<usize>,
}

// SAFETY: one CPU runs this program.
unsafe impl Sync for Heap {}

// SAFETY: no two allocations share a byte.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.used_bytes.get().next_multiple_of(layout.align());
        if start + layout.size() > size_of::<[u64; 256]>() {
            return core::ptr::null_mut();
        }
        self.used_bytes.set(start + layout.size());
        // SAFETY: the end is within the memory.
        unsafe { self.memory.get().cast::<u8>().add(start) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Heap = Heap {
    memory: UnsafeCell::new([0; 256]),
    used_bytes: Cell::new(0),
};

fn main() -> ! {
    let mut numbers: Vec<u32> = Vec::new();
    for number in 0..20 {
        numbers.push(black_box(number));
    }
    let sum = Box::new(numbers.iter().sum::<u32>());
    log!("heap {}", *sum);
    let large: Vec<u8> = Vec::with_capacity(black_box(100_000));
    log!("large {}", large.capacity() as u32);
    rest()
}

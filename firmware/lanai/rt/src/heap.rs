//! Memory for `alloc`, and values of the one thread. Firmware needs neither; tests that run on the chip do.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr::null_mut;

/// Sizes of blocks: powers of two from 16 bytes on.
const CLASSES: usize = 28;

/// An allocator of blocks whose sizes are powers of two; a free block is used again for the same size.
///
/// A program names one as its `#[global_allocator]`.
#[derive(Debug)]
pub struct Heap {
    /// First address that was never used.
    next: Cell<usize>,
    end: usize,
    /// First free block of each size. Its first word is the address of the next one.
    free: [Cell<usize>; CLASSES],
}

// SAFETY: there is one thread, and it is never interrupted.
unsafe impl Sync for Heap {}

impl Heap {
    /// The memory from `start` to `end`, which must be behind the image and its stack.
    pub const fn new(start: usize, end: usize) -> Heap {
        assert!(start.is_multiple_of(16) && start <= end, "no memory");
        Heap {
            next: Cell::new(start),
            end,
            free: [const { Cell::new(0) }; CLASSES],
        }
    }
}

/// The size of the block for `layout`, as its class and in bytes.
fn class(layout: Layout) -> Option<(usize, usize)> {
    let bytes = layout.size().max(layout.align()).max(16);
    let bytes = bytes.checked_next_power_of_two()?;
    let class = bytes.trailing_zeros() as usize - 4;
    (class < CLASSES).then_some((class, bytes))
}

// SAFETY: blocks are distinct, large enough, and aligned to 16 bytes, or to their size if more is asked for.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((class, bytes)) = class(layout) else {
            return null_mut();
        };
        let block = self.free[class].get();
        if block != 0 {
            // SAFETY: a free block, whose first word `dealloc` has written.
            self.free[class].set(unsafe { (block as *const usize).read() });
            return block as *mut u8;
        }
        let block = self.next.get().next_multiple_of(layout.align());
        if self.end.saturating_sub(block) < bytes {
            return null_mut();
        }
        self.next.set(block + bytes);
        block as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some((class, _)) = class(layout) {
            // SAFETY: the block is no longer in use, and it has at least 16 bytes, aligned.
            unsafe { block.cast::<usize>().write(self.free[class].get()) };
            self.free[class].set(block.addr());
        }
    }
}

/// A value of the one thread, as a static.
#[derive(Debug)]
pub struct Local<T>(T);

// SAFETY: there is one thread, and it is never interrupted.
unsafe impl<T> Sync for Local<T> {}

impl<T> Local<T> {
    /// A static with this value.
    pub const fn new(value: T) -> Local<T> {
        Local(value)
    }

    /// Calls `action` with the value.
    pub fn with<R>(&self, action: impl FnOnce(&T) -> R) -> R {
        action(&self.0)
    }
}

impl<T: Copy> Local<Cell<T>> {
    /// A copy of the value.
    pub fn get(&self) -> T {
        self.0.get()
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        self.0.set(value);
    }
}

//! A generic ring of pairs.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

struct Ring<T: Copy, const N: usize> {
    items: [Option<T>; N],
    produced: usize,
    consumed: usize,
}

impl<T: Copy, const N: usize> Ring<T, N> {
    const MASK: usize = {
        assert!(N.is_power_of_two());
        N - 1
    };

    fn push(&mut self, item: T) -> Result<(), T> {
        if self.produced - self.consumed == N {
            return Err(item);
        }
        self.items[self.produced & Self::MASK] = Some(item);
        self.produced += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<T> {
        if self.produced == self.consumed {
            return None;
        }
        let item = self.items[self.consumed & Self::MASK].take();
        self.consumed += 1;
        item
    }
}

fn main() -> ! {
    let mut ring: Ring<(u32, u16), 8> = Ring {
        items: [None; 8],
        produced: 0,
        consumed: 0,
    };
    let mut sum = 0;
    for item in 0..30u16 {
        if ring.push((u32::from(item), black_box(item))).is_err() {
            while let Some((a, b)) = ring.pop() {
                sum += a + u32::from(b);
            }
        }
    }
    log!("ring {}", sum);
    rest()
}

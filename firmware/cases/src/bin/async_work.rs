//! A future that is polled by hand.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use cases::{black_box, case, log, rest};

case!(main);

/// Gives way once.
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        Poll::Pending
    }
}

async fn sum(end: u32) -> u32 {
    let mut sum = 0;
    for number in 0..end {
        sum += number;
        Yield(false).await;
    }
    sum
}

fn main() -> ! {
    let mut work = pin!(sum(black_box(10)));
    let mut context = Context::from_waker(Waker::noop());
    let mut polls = 0;
    loop {
        polls += 1;
        if let Poll::Ready(sum) = work.as_mut().poll(&mut context) {
            log!("sum {} after {} polls", sum, polls);
            rest();
        }
    }
}

//! CPU B: the software DMA assist, which moves descriptors from the rings to the channels (docs/tigon2-io.md,
//! section 5).
//!
//! CPU A writes CPU B's event register after each descriptor; CPU B idles until then. CPU B has no other
//! software event, so neither needs the semaphore: each writes the whole register.

use defs::tigon2::map::REGISTER_BASE;
use tigon2_hal::cpu::B;
use tigon2_hal::dma::{Read, SoftwareAssist, Write};
use tigon2_hal::{dispatch, entry_b, event, published, regs};

use crate::dma::FAILED;

struct Assist {
    read: SoftwareAssist<Read>,
    write: SoftwareAssist<Write>,
}

dispatch! {
    fn run_b(cpu: B, state: Assist = Assist::new());
    SOFT_ASSIST => Assist::on_descriptors,
}

entry_b!(main);
published!("event register of CPU B", REGISTER_BASE + regs::EVENT_B, 1);

fn main(cpu: B) -> ! {
    event::enable(event::SOFT_ASSIST);
    run_b(cpu, |_| {})
}

/// Wakes CPU B: CPU A has put descriptors into a ring.
#[inline(always)]
pub fn wake() {
    regs::write(regs::EVENT_B, 1 << event::SOFT_ASSIST);
}

impl Assist {
    const fn new() -> Self {
        Self {
            read: SoftwareAssist::new(),
            write: SoftwareAssist::new(),
        }
    }

    fn on_descriptors(&mut self) {
        // Clear the event before reading the rings: a later descriptor raises it again.
        regs::write(regs::EVENT_B, 0);
        // Step both channels in each round, whatever the first one returns.
        while self.read.step(FAILED) | self.write.step(FAILED) {}
    }
}

//! The two CPUs as types that give the offsets of their registers.
//!
//! Each CPU's `main` gets the only value of its type. A function that may run only once on a CPU, such as
//! the event loop, takes that value.

use crate::queue::Sram;
use crate::regs;

pub use crate::any::Any;

/// The CPU that executes, for code that each of several CPUs executes, one copy for each: or, for [`Any`](crate::any::Any), one copy
/// for all.
pub trait Executing {
    /// Index of the CPU, 0 for CPU A.
    fn index() -> u32;
    /// Number of CPUs that execute the code.
    fn cpus() -> u32;
    /// The CPU's side of the semaphore.
    fn semaphore() -> u32;
    /// The CPU's mailbox event register.
    fn mailbox_event() -> u32;

    /// Takes a value for the CPU: [`rings::claim::take`].
    #[doc(hidden)]
    #[inline(always)]
    fn take_claim(words: u32) -> bool {
        rings::claim::take(&mut Sram, words, Self::index(), Self::cpus())
    }
}

/// A CPU's own registers. Code for either CPU is generic over this trait.
pub trait Cpu {
    /// The other CPU.
    type Other: Cpu;
    /// Event register.
    const EVENT: u32;
    /// Mailbox event register.
    const MAILBOX_EVENT: u32;
    /// Timer reference.
    const TIMER_REFERENCE: u32;
    /// This CPU's side of the semaphore.
    const SEMAPHORE: u32;
}

/// CPU A: started by the host.
pub struct A(());
/// CPU B: started by CPU A.
pub struct B(());

impl A {
    /// For `entry_a!` only.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn take() -> Self {
        Self(())
    }
}

impl B {
    /// For `entry_b!` only.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn take() -> Self {
        Self(())
    }
}

impl Cpu for A {
    type Other = B;
    const EVENT: u32 = regs::EVENT_A;
    const MAILBOX_EVENT: u32 = regs::MAILBOX_EVENT_A;
    const TIMER_REFERENCE: u32 = regs::TIMER_REFERENCE_A;
    const SEMAPHORE: u32 = regs::SEMAPHORE_A;
}

impl Cpu for B {
    type Other = A;
    const EVENT: u32 = regs::EVENT_B;
    const MAILBOX_EVENT: u32 = regs::MAILBOX_EVENT_B;
    const TIMER_REFERENCE: u32 = regs::TIMER_REFERENCE_B;
    const SEMAPHORE: u32 = regs::SEMAPHORE_B;
}

macro_rules! executing {
    ($cpu:ident, $index:literal) => {
        impl Executing for $cpu {
            #[inline(always)]
            fn index() -> u32 {
                $index
            }

            #[inline(always)]
            fn cpus() -> u32 {
                2
            }

            #[inline(always)]
            fn semaphore() -> u32 {
                Self::SEMAPHORE
            }

            #[inline(always)]
            fn mailbox_event() -> u32 {
                Self::MAILBOX_EVENT
            }
        }
    };
}

executing!(A, 0);
executing!(B, 1);

/// Starts CPU B, from CPU A, at the image's [`entry_b!`](crate::entry_b) function.
pub fn start_b(_: &A) {
    unsafe extern "C" {
        fn _start_b();
    }
    let halt = regs::CpuState::HALT.bits();
    regs::write(regs::CPU_STATE + regs::CPU_B, halt);
    regs::write(regs::CPU_PC + regs::CPU_B, _start_b as *const () as u32);
    regs::write(regs::CPU_STATE + regs::CPU_B, 0);
}

/// Whether CPU B has started: its start code sets a flag.
#[must_use]
pub fn b_has_started() -> bool {
    let state = regs::CpuState::from_bits_retain(regs::read(regs::CPU_STATE + regs::CPU_B));
    state.contains(regs::CpuState::STARTED)
}

/// Halts the executing CPU permanently: the firmware has ended on purpose.
pub fn stop() -> ! {
    // SAFETY: `break` halts this CPU: nothing after it runs.
    unsafe {
        core::arch::asm!(
            "break {end}",
            end = const defs::probe::END_BREAK,
            options(nomem, nostack, noreturn)
        )
    }
}

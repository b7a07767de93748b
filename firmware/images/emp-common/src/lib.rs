//! EMP's images: the protocol on the chip's two CPUs. A scheme of [`emp::roles`] assigns roles to CPUs; an
//! image consists of a scheme's name and [`emp_image!`].
#![no_std]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

pub mod chip;
pub mod queues;

pub use defs;
pub use emp;
pub use tigon2_hal;

use emp::roles::{self, Roles, RolesOn, Scheme};
use tigon2_hal::cpu::{A, B, Cpu};
use tigon2_hal::event;

/// Maps a CPU of the chip to its roles in a scheme.
pub trait SchemeCpu: Cpu {
    /// Roles of this CPU.
    type Roles<S: Scheme>: Roles;
}

impl SchemeCpu for A {
    type Roles<S: Scheme> = RolesOn<roles::A, S>;
}

impl SchemeCpu for B {
    type Roles<S: Scheme> = RolesOn<roles::B, S>;
}

/// Events that a CPU with these roles dispatches. The timer event is enabled when the timer is armed.
#[must_use]
pub const fn events<R: Roles>() -> u32 {
    let mut events = 1 << event::SOFT_SEND;
    if R::SENDER || R::MATCHER {
        events |= 1 << event::MAILBOX;
    }
    if R::TRANSMITTER {
        events |= 1 << event::READ_DMA_ATTENTION | 1 << event::READ_DMA_DONE;
    }
    if R::DELIVERER {
        events |= 1 << event::WRITE_DMA_ATTENTION | 1 << event::WRITE_DMA_DONE;
    }
    if R::MATCHER {
        events |= 1 << event::RX_COMPLETE;
    }
    if !R::ALONE {
        let mut number = 0;
        while number < emp::jobs::Queue::ALL.len() {
            events |= 1 << queues::event(emp::jobs::Queue::ALL[number]);
            number += 1;
        }
    }
    events
}

/// A handler for the dispatch table: the loop starts with an initialised engine.
#[doc(hidden)]
#[macro_export]
macro_rules! __emp_handlers {
    ($($name:ident)*) => {
        $(fn $name(state: &mut State) {
            if let Some(emp) = state {
                emp.$name();
            }
        })*
    };
}

/// Places a function that is called per message, not per frame, in SRAM when both CPUs' code must fit into
/// one range of scratchpad addresses.
#[doc(hidden)]
#[macro_export]
macro_rules! __in_sram {
    // Inlined, it would be in the scratchpad with its caller.
    (fn $($function:tt)*) => { #[inline(never)] fn $($function)* };
}

/// One CPU's event loop and hot functions, in their own module. `$more`: handlers in addition to those of a
/// one-CPU image.
#[doc(hidden)]
#[macro_export]
macro_rules! __emp_cpu {
    (
        $module:ident, $cpu:ident, $scratchpad:ident, $scheme:ty, { $($receive:tt)* }, { $($ack:tt)* },
        $($event:ident => $handler:ident),*
    ) => {
        mod $module {
            use super::*;
            use $crate::emp::nic::Arrival;
            use $crate::emp::{Emp, Tables};
            use $crate::tigon2_hal::cpu::$cpu;
            use $crate::tigon2_hal::{Singleton, dispatch, $scratchpad};

            pub(super) type Roles = <$cpu as $crate::SchemeCpu>::Roles<$scheme>;
            pub(super) type Engine = Emp<'static, $crate::chip::Chip<$cpu, $scheme>>;
            /// The engine, after its start.
            pub(super) type State = Option<Engine>;

            pub(super) static TABLES: Singleton<Tables<Roles>> = Singleton::new(Tables::new());

            dispatch! {
                fn start(cpu: $cpu, state: State = None);
                TIMER => on_timer,
                MAILBOX => on_mailbox,
                READ_DMA_ATTENTION => on_read_attention,
                WRITE_DMA_ATTENTION => on_write_attention,
                READ_DMA_DONE => on_read_done,
                WRITE_DMA_DONE => on_write_done,
                RX_COMPLETE => on_receive,
                SOFT_SEND => on_send,
                $($event => $handler,)*
            }

            /// Handles events for ever.
            pub(super) fn run(cpu: $cpu, emp: Engine) -> ! {
                $crate::tigon2_hal::event::set_mask($crate::events::<Roles>());
                start(cpu, |state| *state = Some(emp))
            }

            $crate::__emp_handlers! {
                on_timer on_read_attention on_write_attention on_read_done on_write_done
                $($handler)*
            }

            fn on_mailbox(state: &mut State) {
                if let Some(emp) = state {
                    emp.on_mailbox(post_transmit, post_receive);
                }
            }

            fn on_send(state: &mut State) {
                if let Some(emp) = state {
                    send(emp);
                }
            }

            fn on_receive(state: &mut State) {
                if let Some(emp) = state {
                    emp.on_receive(take_ack, take_frame);
                }
            }

            $($receive)* {
                fn post_receive(emp: &mut Engine) {
                    emp.post_receive();
                }
            }

            $($ack)* {
                fn take_ack(emp: &mut Engine, arrival: Arrival) {
                    emp.take_ack(arrival);
                }
            }

            $scratchpad! {
                fn post_transmit(emp: &mut Engine) {
                    emp.post_transmit(send);
                }

                fn send(emp: &mut Engine) {
                    emp.on_send();
                }

                fn take_frame(emp: &mut Engine, arrival: Arrival, type_kind: u32) {
                    emp.take_frame(arrival, type_kind);
                }
            }
        }
    };
}

/// Defines an image: `emp_image!(Base, one CPU);` or `emp_image!(So, two CPUs);`, or, if that does not fit
/// into the scratchpads, `emp_image!(Sr, two CPUs, acks in SRAM);`: then posted receives fit in instead.
#[macro_export]
macro_rules! emp_image {
    ($scheme:ident, one CPU) => {
        $crate::__emp_main! { $scheme, |_| {}, { scratchpad_a! }, { scratchpad_a! }, }
    };
    ($scheme:ident, two CPUs) => {
        $crate::__emp_two_cpus! { $scheme, { $crate::__in_sram! }, { scratchpad_a! }, { scratchpad_b! } }
    };
    ($scheme:ident, two CPUs, acks in SRAM) => {
        $crate::__emp_two_cpus! { $scheme, { scratchpad_a! }, { $crate::__in_sram! }, { $crate::__in_sram! } }
    };
}

/// An image that uses both CPUs; `post_receive` of CPU A and `take_ack` are placed in memory of these kinds.
#[doc(hidden)]
#[macro_export]
macro_rules! __emp_two_cpus {
    ($scheme:ident, { $($receive_a:tt)* }, { $($ack_a:tt)* }, { $($ack_b:tt)* }) => {
        $crate::__emp_main! {
            $scheme, $crate::tigon2_hal::cpu::start_b, { $($receive_a)* }, { $($ack_a)* },
            SOFT_FRAMES => on_frames,
            SOFT_ARRIVALS => on_arrivals,
            SOFT_ACKS => on_acks,
            SOFT_REPORTS => on_reports,
            SOFT_PAGES => on_pages,
            SOFT_CLOSED => on_closed
        }

        $crate::__emp_cpu! {
            cpu_b, B, scratchpad_b, $crate::emp::roles::$scheme, { $crate::__in_sram! }, { $($ack_b)* },
            SOFT_FRAMES => on_frames,
            SOFT_ARRIVALS => on_arrivals,
            SOFT_ACKS => on_acks,
            SOFT_REPORTS => on_reports,
            SOFT_PAGES => on_pages,
            SOFT_CLOSED => on_closed
        }

        $crate::tigon2_hal::entry_b!(main_b);

        #[cold]
        fn main_b(cpu: $crate::tigon2_hal::cpu::B) -> ! {
            let nic = $crate::chip::Chip::new();
            let memory = $crate::emp::MemoryPlan::at($crate::tigon2_hal::sram::image_end());
            let mut emp = $crate::emp::Emp::new(nic, cpu_b::TABLES.take(), memory);
            emp.begin();
            cpu_b::run(cpu, emp)
        }
    };
}

/// CPU A: the image's start, and its events.
#[doc(hidden)]
#[macro_export]
macro_rules! __emp_main {
    ($scheme:ident, $start_b:expr, { $($receive:tt)* }, { $($ack:tt)* }, $($event:ident => $handler:ident),*) => {
        $crate::__emp_cpu! {
            cpu_a, A, scratchpad_a, $crate::emp::roles::$scheme, { $($receive)* }, { $($ack)* }, $($event => $handler),*
        }

        $crate::tigon2_hal::entry_a!(main);
        $crate::tigon2_hal::published!(all $crate::queues::PUBLISHED: 0 1 2 3 4 5 6);
        $crate::tigon2_hal::published!(all $crate::queues::SHARED_ROUTES: 0 1 2 behind "__image_end");

        #[cold]
        fn main(cpu: $crate::tigon2_hal::cpu::A) -> ! {
            use $crate::emp::{Emp, MemoryPlan, RESERVED_BYTES};
            use $crate::tigon2_hal::layout::{self, Layout};
            use $crate::tigon2_hal::{cpu, dma, log, mac, sram};

            layout::initialise(&Layout::DEFAULT);
            let base = sram::image_end();
            let end = base + RESERVED_BYTES;
            if end > $crate::queues::BASE {
                $crate::tigon2_hal::fail!("EMP needs memory up to {x}, beyond what is free", end)
            }
            let nic = $crate::chip::Chip::new();
            let mut emp = Emp::new(nic, cpu_a::TABLES.take(), MemoryPlan::at(base));
            emp.publish();
            log!(
                "EMP ready: descriptors at {x}, memory used up to {x}",
                base,
                end
            );
            while !emp.poll_start() {}
            $crate::queues::reset();
            let start_b: fn(&$crate::tigon2_hal::cpu::A) = $start_b;
            start_b(&cpu);
            dma::enable_assist();
            mac::enable_fixed_link();
            log!("EMP started");
            cpu_a::run(cpu, emp)
        }
    };
}

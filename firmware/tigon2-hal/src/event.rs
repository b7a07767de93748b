//! The event register, its mask and the dispatch loop (docs/tigon2.md, section 3).
//!
//! The loop uses the chip's instructions: `lw` reads the event register, `PRI` finds the highest unmasked
//! bit, `JOFF` jumps into a table of 33 entries of 8 bytes, and its delay slot loads the handlers' return
//! address. [`dispatch!`](crate::dispatch) builds table and loop in the CPU's scratchpad.
//!
//! The mask is the CPU register `$k0`, which the MIPS ABI reserves and the compiler never uses. Handlers
//! change it by [`enable`] and [`disable`], and the loop needs no load for it.
//!
//! The loop keeps its three constants in `$s0` to `$s2`, which every handler preserves.

pub use defs::tigon2::event::*;

use core::arch::asm;
use core::cell::UnsafeCell;

use crate::cpu::Cpu;
use crate::regs;

/// `PRI rd, rs, rt`: rd = 1 + the highest bit set in both rs and rt, or 0.
#[doc(hidden)]
#[must_use]
pub const fn pri(rd: u32, rs: u32, rt: u32) -> u32 {
    rs << 21 | rt << 16 | rd << 11 | 0x0B
}

/// `JOFF rs, rt`: jump to rs + 8 * rt, with a delay slot.
#[doc(hidden)]
#[must_use]
pub const fn joff(rs: u32, rt: u32) -> u32 {
    rs << 21 | rt << 16 | 0x0A
}

/// The highest bit set in `word`, plus one; 0 if there is none. One instruction (`PRI`).
#[inline(always)]
#[must_use]
pub fn highest(word: u32) -> u32 {
    // `cargo check` for the machine of the author knows no `$2`.
    #[cfg(not(target_arch = "mips"))]
    let index = u32::BITS - word.leading_zeros();
    #[cfg(target_arch = "mips")]
    let index;
    #[cfg(target_arch = "mips")]
    // SAFETY: PRI only computes. The assembler does not know the instruction, hence the fixed registers.
    unsafe {
        asm!(
            ".4byte {pri}",
            pri = const pri(2, 2, 2),
            inlateout("$2") word => index,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    index
}

/// The lowest bit set in `word`, plus one; 0 if there is none. Three instructions.
#[inline(always)]
#[must_use]
pub fn lowest(word: u32) -> u32 {
    highest(word & word.wrapping_neg())
}

/// The mask of events that this CPU dispatches.
#[inline(always)]
#[must_use]
pub fn mask() -> u32 {
    let mask;
    // SAFETY: reads a register that the compiler does not use.
    unsafe {
        asm!(".set push", ".set noat", "move {}, $k0", ".set pop", out(reg) mask,
            options(nomem, nostack, preserves_flags));
    }
    mask
}

/// Sets the mask: bit n enables event n.
#[inline(always)]
pub fn set_mask(mask: u32) {
    // SAFETY: writes a register that the compiler does not use.
    unsafe {
        asm!(".set push", ".set noat", "move $k0, {}", ".set pop", in(reg) mask,
            options(nomem, nostack, preserves_flags));
    }
}

/// Enables event `number`.
#[inline(always)]
pub fn enable(number: u32) {
    set_mask(mask() | 1 << number);
}

/// Disables event `number`.
#[inline(always)]
pub fn disable(number: u32) {
    set_mask(mask() & !(1 << number));
}

/// Whether event `number` is set in `C`'s event register.
#[inline(always)]
#[must_use]
pub fn is_raised<C: Cpu>(number: u32) -> bool {
    regs::read(C::EVENT) & 1 << number != 0
}

/// Raises the software event `number` of CPU `C` by a read and a write. If the other CPU changes that
/// register too, both must hold the [semaphore](crate::semaphore).
#[inline(always)]
pub fn raise<C: Cpu>(number: u32) {
    regs::set(C::EVENT, 1 << number);
}

/// Clears the software event `number` of CPU `C`; the rule of [`raise`] applies.
#[inline(always)]
pub fn clear<C: Cpu>(number: u32) {
    regs::clear(C::EVENT, 1 << number);
}

/// Table entry of events without a handler: an enabled event without a handler would stay raised for ever.
#[doc(hidden)]
#[cold]
pub extern "C" fn unexpected() {
    panic!("an event without a handler is enabled")
}

/// State shared by one CPU's handlers. Only [`dispatch!`](crate::dispatch) creates it.
#[doc(hidden)]
pub struct State<T>(UnsafeCell<T>);

// SAFETY: only one CPU's handlers access the value, and they never nest: see `get`.
unsafe impl<T> Sync for State<T> {}

impl<T> State<T> {
    /// Wraps the initial value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Pointer to the state. Only the loop of one CPU and its callees may use it, one handler at a time.
    #[inline(always)]
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}

/// Declares one CPU's event loop, its handlers and their shared state.
///
/// ```ignore
/// dispatch! {
///     fn run(cpu: A, state: Echo = Echo::new());
///     MAILBOX => Echo::on_mailbox,
///     TIMER => Echo::on_timer,
///     idle => Echo::on_idle,      // optional: called when no event is raised
/// }
///
/// fn main(cpu: A) -> ! {
///     event::enable(event::MAILBOX);
///     run(cpu, |echo| echo.prepare())
/// }
/// ```
///
/// A handler is a `fn(&mut State)`; its name at the left is a constant of [`defs::tigon2::event`].
/// Loop, table, state and handlers (including inlined functions) are placed in the CPU's scratchpad.
/// Keep big tables out of the state, and mark rarely called functions `#[inline(never)]` to keep
/// them in SRAM.
///
/// `cpu: Any` declares one loop for all CPUs of a board with any number ([`any`](crate::any)): each has its own state.
#[macro_export]
macro_rules! dispatch {
    (
        fn $run:ident(cpu: A, state: $state:ty = $initial:expr);
        $($event:ident => $handler:expr),* $(,)?
    ) => {
        $crate::__dispatch! {
            "a", A, <$crate::cpu::A as $crate::cpu::Cpu>::EVENT,
            ["la    $s0, {registers}", registers = const $crate::regs::BASE], $run, $state, $initial,
            $($event => $handler,)*
        }
    };
    (
        fn $run:ident(cpu: B, state: $state:ty = $initial:expr);
        $($event:ident => $handler:expr),* $(,)?
    ) => {
        $crate::__dispatch! {
            "b", B, <$crate::cpu::B as $crate::cpu::Cpu>::EVENT,
            ["la    $s0, {registers}", registers = const $crate::regs::BASE], $run, $state, $initial,
            $($event => $handler,)*
        }
    };
    (
        fn $run:ident(cpu: Any, state: $state:ty = $initial:expr);
        $($event:ident => $handler:expr),* $(,)?
    ) => {
        $crate::__dispatch! {
            "n", Any, $crate::any::EVENT, [".set noat\nmove  $s0, {registers}\n.set at", registers = in(reg) $crate::any::event_base()], $run, $state, $initial,
            $($event => $handler,)*
        }
    };
}

/// Table index of an entry of [`dispatch!`]: 0 for `idle`, else the bit's number plus one.
#[doc(hidden)]
#[macro_export]
macro_rules! __table_index {
    (idle) => {
        0
    };
    ($event:ident) => {
        $crate::event::$event + 1
    };
}

/// Implements [`dispatch!`].
#[doc(hidden)]
#[macro_export]
#[allow_internal_unsafe]
macro_rules! __dispatch {
    (
        $letter:literal, $cpu:ident, $register:expr, [$base:literal, $($registers:tt)*], $run:ident, $state:ty, $initial:expr,
        $($event:ident => $handler:expr,)*
    ) => {
        /// Handles events for ever, after `first` has initialised the state.
        fn $run(cpu: $crate::cpu::$cpu, first: impl FnOnce(&mut $state)) -> ! {
            $run::run(cpu, first)
        }

        #[allow(non_snake_case)]
        mod $run {
            use super::*;

            #[unsafe(link_section = concat!(".scratch_", $letter, ".data"))]
            static STATE: $crate::event::State<$state> = $crate::event::State::new($initial);

            $(
                #[unsafe(link_section = concat!(".scratch_", $letter, ".text"))]
                pub(super) extern "C" fn $event() {
                    let handler: fn(&mut $state) = $handler;
                    // SAFETY: only the loop calls handlers, one at a time, on one CPU.
                    handler(unsafe { &mut *STATE.get() })
                }
            )*

            ::core::arch::global_asm!(
                concat!(".section .scratch_", $letter, ".dispatch, \"ax\", @progbits"),
                ".set push",
                ".set noreorder",
                concat!(".type __dispatch_", $letter, ", @function"),
                concat!("__dispatch_", $letter, ":"),
                "    lw    $t0, {event}($s0)",
                "    .4byte {pri}",
                "    .4byte {joff}",
                "    move  $ra, $s2",
                concat!(".size __dispatch_", $letter, ", . - __dispatch_", $letter),
                concat!(".type __dispatch_table_", $letter, ", @function"),
                concat!("__dispatch_table_", $letter, ":"),
                // One line for each handler: its index and its address. (A flag says that the index is
                // taken: `.ifdef` does not see a symbol that stands for a function elsewhere.)
                ".macro on_{event} index, handler",
                "    .set .Lhas_{event}_\\index, 1",
                "    .set .Lhandler_{event}_\\index, \\handler",
                ".endm",
                $(concat!("on_{event} {}, {} # ", stringify!($event)),)*
                ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, \
                 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32",
                "    .ifdef .Lhas_{event}_\\n",
                "    j     .Lhandler_{event}_\\n",
                "    .else",
                "    .if   \\n",
                "    j     {unexpected}",
                "    .else",
                concat!("    j     __dispatch_", $letter),
                "    .endif",
                "    .endif",
                "    nop",
                ".endr",
                concat!(".size __dispatch_table_", $letter, ", . - __dispatch_table_", $letter),
                ".set pop",
                ".text",
                $(const $crate::__table_index!($event), sym $event,)*
                event = const $register,
                pri = const $crate::event::pri(8, 8, 26),
                joff = const $crate::event::joff(17, 8),
                unexpected = sym $crate::event::unexpected,
            );

            pub(super) fn run(_: $crate::cpu::$cpu, first: impl FnOnce(&mut $state)) -> ! {
                // SAFETY: no handler runs yet, and the CPU's value is used up: this happens once.
                first(unsafe { &mut *STATE.get() });
                // SAFETY: the loop takes over this CPU with a fresh stack and never returns.
                unsafe {
                    ::core::arch::asm!(
                        $base,
                        concat!("la    $s1, __dispatch_table_", $letter),
                        concat!("la    $s2, __dispatch_", $letter),
                        "la    $sp, __stack_top",
                        concat!("j     __dispatch_", $letter),
                        $($registers)*,
                        options(noreturn),
                    )
                }
            }
        }
    };
}

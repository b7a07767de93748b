//! Images for a board with any number of CPUs (`tigon-n`, docs/tigon2-registers.md): all of them execute the same code.
//!
//! Such an image has one part for all scratchpads ([`scratchpad_n!`](crate::scratchpad_n)), which each CPU copies into its own: so statics
//! in it are the CPU's. Its loop is `dispatch! { fn run(cpu: Any, ..); .. }`. CPU A begins, as on the chip:
//!
//! ```ignore
//! entry_a!(main);
//! entry_any!(main_any);
//!
//! fn main(cpu: A) -> ! {
//!     let cpu = any::continue_on_any(cpu);
//!     // ... what is to be done once ...
//!     any::start_others(&cpu);
//!     run(cpu, |state| {})
//! }
//!
//! fn main_any(cpu: Any) -> ! {
//!     run(cpu, |state| {})
//! }
//! ```
//! The image's build script names the number of stacks: `--defsym=__cpus=8`.

use core::cell::Cell;

use defs::tigon2::banks::{self, CHIP_CPUS, CPU_COUNT, CPU_NUMBER};

use crate::cpu::{A, B, Cpu, Executing};
use crate::queue::Sram;
use crate::{regs, scratchpad_n};

/// The executing CPU, whichever it is. Each CPU has one value.
pub struct Any(());

impl Any {
    /// For `entry_any!` only.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn take() -> Self {
        OWN.look();
        Self(())
    }
}

/// Data that a CPU keeps about itself, in its scratchpad.
struct Own {
    index: Cell<u32>,
    cpus: Cell<u32>,
    semaphore: Cell<u32>,
    event: Cell<u32>,
}

// SAFETY: each CPU has this static in its own scratchpad.
unsafe impl Sync for Own {}

#[unsafe(link_section = ".scratch_n.data")]
static OWN: Own = Own {
    index: Cell::new(0),
    cpus: Cell::new(0),
    semaphore: Cell::new(0),
    event: Cell::new(0),
};

impl Own {
    /// Fills it in, from registers.
    #[cold]
    fn look(&self) {
        let index = regs::read(CPU_NUMBER);
        self.index.set(index);
        self.cpus.set(regs::read(CPU_COUNT));
        self.semaphore.set(banks::semaphore(index as usize));
        self.event.set(banks::event_register(index as usize));
    }
}

impl Executing for Any {
    #[inline(always)]
    fn index() -> u32 {
        OWN.index.get()
    }

    #[inline(always)]
    fn cpus() -> u32 {
        OWN.cpus.get()
    }

    #[inline(always)]
    fn semaphore() -> u32 {
        OWN.semaphore.get()
    }

    #[inline(always)]
    fn mailbox_event() -> u32 {
        banks::mailbox_event(Self::index() as usize)
    }

    #[inline(always)]
    fn take_claim(words: u32) -> bool {
        take_claim(words)
    }
}

scratchpad_n! {
    // Once: its loops are long.
    fn take_claim(words: u32) -> bool {
        rings::claim::take(&mut Sram, words, Any::index(), Any::cpus())
    }
}

/// The offset by which the loop of [`dispatch!`](crate::dispatch) reads the event register, from [`event_base`].
#[doc(hidden)]
pub const EVENT: u32 = A::EVENT;

/// Address from which the executing CPU's event register is [`EVENT`] bytes away.
#[doc(hidden)]
#[must_use]
pub fn event_base() -> u32 {
    regs::BASE + OWN.event.get() - EVENT
}

/// Raises a software event of the executing CPU, as [`event::raise`](crate::event::raise) does for one that is known.
pub fn raise(number: u32) {
    regs::set(OWN.event.get(), 1 << number);
}

/// Sets the executing CPU's timer reference.
pub fn set_timer(at_us: u32) {
    regs::write(banks::timer_reference(Any::index() as usize), at_us);
}

/// Does something with the event register of every CPU: `change` gets its offset.
#[inline(always)]
pub fn each_event_register(change: impl Fn(u32)) {
    let cpus = Any::cpus();
    change(A::EVENT);
    if cpus > 1 {
        change(B::EVENT);
        each_further(cpus, banks::EVENT, change);
    }
}

/// Does something with the mailbox event register of every CPU behind CPU B: `change` gets its offset.
#[inline(always)]
pub fn each_further_mailbox_register(change: impl Fn(u32)) {
    each_further(Any::cpus(), banks::MAILBOX_EVENT, change);
}

#[inline(always)]
fn each_further(cpus: u32, in_bank: u32, change: impl Fn(u32)) {
    let mut register = banks::bank(CHIP_CPUS) + in_bank;
    for _ in CHIP_CPUS as u32..cpus {
        change(register);
        register += banks::BANK_BYTES;
    }
}

/// Copies the part for all scratchpads into that of CPU A, which from then on is one CPU of many. Boards other than `tigon-n`, which
/// lack the registers that tell the number of CPUs, refuse the image.
#[must_use]
pub fn continue_on_any(_: A) -> Any {
    crate::for_boards!("tigon-n");
    // `cargo check` for the machine of the author knows no such registers.
    #[cfg(target_arch = "mips")]
    // SAFETY: the routine of the start code copies words between these symbols of the linker, to which nothing has referred
    // yet. It changes registers that the ABI lets a function change.
    unsafe {
        core::arch::asm!(
            ".set push",
            ".set noreorder",
            "la    $a0, __scratch_n_start",
            "la    $a1, __scratch_n_end",
            "la    $a2, __scratch_n_load",
            "move  $t2, $ra",
            "jal   __copy_words",
            "nop",
            "move  $ra, $t2",
            ".set pop",
            out("$4") _,
            out("$5") _,
            out("$6") _,
            out("$8") _,
            out("$9") _,
            out("$10") _,
        );
    }
    // SAFETY: CPU A comes here once: its value is used up.
    unsafe { Any::take() }
}

/// Starts all other CPUs, from CPU A, at the image's [`entry_any!`](crate::entry_any) function.
pub fn start_others(_: &Any) {
    unsafe extern "C" {
        fn _start_any();
    }
    let halt = regs::CpuState::HALT.bits();
    for cpu in 1..Any::cpus() {
        let private = banks::private_of(cpu as usize);
        regs::write(regs::CPU_STATE + private, halt);
        regs::write(regs::CPU_PC + private, _start_any as *const () as u32);
        regs::write(regs::CPU_STATE + private, 0);
    }
}

// The start of a CPU other than CPU A, as `start.rs` has it for CPU B. Its bank is known by its number only.
core::arch::global_asm!(
    ".section .start.any, \"ax\", @progbits",
    ".set noreorder",
    ".global _start_any",
    ".type _start_any, @function",
    "_start_any:",
    "    la    $sp, __stack_top",
    "    li    $t1, {registers}",
    "    lw    $t2, {number}($t1)",
    "    la    $t0, __stack_map_a",
    "    la    $t3, __overflow_bytes",
    "    move  $t4, $t2",
    "1:  beq   $t4, $zero, 2f",
    "    addiu $t4, $t4, -1",
    "    j     1b",
    "    subu  $t0, $t0, $t3",
    "2:  sll   $t2, $t2, 2",
    "    la    $t3, __banks_of_cpus",
    "    addu  $t3, $t3, $t2",
    "    lw    $t3, 0($t3)",
    "    addu  $t1, $t1, $t3",
    "    sw    $t0, {stack_map}($t1)",
    "    lw    $t0, {cpu_state}($t1)",
    "    ori   $t0, $t0, {started}",
    "    sw    $t0, {cpu_state}($t1)",
    "    la    $a0, __scratch_n_start",
    "    la    $a1, __scratch_n_end",
    "    la    $a2, __scratch_n_load",
    "    jal   __copy_words",
    "    nop",
    "    j     __main_any",
    // The event mask: all events disabled.
    "    move  $k0, $zero",
    ".size _start_any, . - _start_any",
    ".type __banks_of_cpus, @object",
    "__banks_of_cpus:",
    "    .4byte {bank_0}, {bank_1}, {bank_2}, {bank_3}, {bank_4}, {bank_5}, {bank_6}, {bank_7}",
    ".size __banks_of_cpus, . - __banks_of_cpus",
    ".set reorder",
    ".text",
    registers = const regs::BASE,
    number = const CPU_NUMBER,
    stack_map = const regs::STACK_MAP,
    cpu_state = const regs::CPU_STATE,
    started = const regs::CpuState::STARTED.bits(),
    bank_0 = const banks::private_of(0),
    bank_1 = const banks::private_of(1),
    bank_2 = const banks::private_of(2),
    bank_3 = const banks::private_of(3),
    bank_4 = const banks::private_of(4),
    bank_5 = const banks::private_of(5),
    bank_6 = const banks::private_of(6),
    bank_7 = const banks::private_of(7),
);

/// Names the main function of all CPUs but CPU A, which runs once CPU A has called [`start_others`](crate::any::start_others):
/// `entry_any!(main_any);` with `fn main_any(cpu: Any) -> !`.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! entry_any {
    ($main:path) => {
        #[unsafe(export_name = "__main_any")]
        extern "C" fn __main_any() -> ! {
            let main: fn($crate::any::Any) -> ! = $main;
            // SAFETY: the start code is the only caller and calls once on each CPU.
            main(unsafe { $crate::any::Any::take() })
        }
    };
}

/// The executing CPU's side of a semaphore, by its number from 0 on. A number that the board does not have stands for one that it has.
#[must_use]
pub fn semaphore_of(number: u32) -> u32 {
    let semaphores = regs::read(banks::SEMAPHORE_COUNT).max(1);
    let mut number = number;
    while number >= semaphores {
        number -= semaphores;
    }
    banks::semaphore_of(number as usize, Any::index() as usize)
}

/// Event register of the executing CPU.
#[inline(always)]
#[must_use]
pub fn event_register() -> u32 {
    OWN.event.get()
}

//! A host outside: another process in the place of a node's programs, such as an operating system with a driver of its own.
//!
//! The emulator owns time. An outside host is the body of one program: whenever its node lets it go on, it runs, in no simulated time,
//! until it does something that takes time: an access to the board, or a wait. That is carried out like any program's, at the costs of
//! the profile; so nothing else of the emulator knows of outside hosts. Memory of such a host is its own and is lent to the node
//! ([`Lent`]), whose board transfers from and to it. Linux guests are outside hosts (`testbench/guests`).
//!
//! An outside host has a clock of its own, which may be ahead of its node's, by as much as the host has been allowed to run without
//! waiting, or behind it, by what its accesses have cost since it last waited. A read and a write state the time on that clock: the program
//! spends CPU time until then before it makes the access. A wait states its end, and brings both clocks together.

use lanigon_window::window::{System, Window};

use super::machine::Machine;
use emulator_base::time::SimTime;
use emulator_board::memory::Lent;

/// The next action of an outside host.
#[derive(Debug)]
pub enum Act {
    /// Reads a word of the board's window.
    Read {
        /// Time on the host's clock.
        at: SimTime,
        /// Window offset.
        offset: u32,
    },
    /// Writes a word of the board's window.
    Write {
        /// Time on the host's clock.
        at: SimTime,
        /// Window offset.
        offset: u32,
        /// The word.
        value: u32,
    },
    /// Waits.
    Wait {
        /// Time up to which the host waits; [`SimTime::MAX`]: for ever.
        until: SimTime,
        /// The board's interrupt ends the wait.
        interrupt: bool,
    },
    /// Has said lines on its console.
    Say(Vec<String>),
    /// Lends the node its memory: the board's transfers go there from now on.
    Lend(Box<dyn Lent>),
    /// Has ended.
    End,
}

/// Reason why an outside host goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeCause {
    /// The host begins, or its last act is over and has no answer.
    Done,
    /// The word that it read.
    Word(u32),
    /// The board interrupts.
    Interrupt,
    /// The time for which it waited has come.
    Time,
}

/// A host outside.
pub trait Outside: Send {
    /// Reason why the host could not go on.
    type Error: Send;

    /// Lets it go on at `now`, until its next act. The calling thread waits meanwhile.
    ///
    /// # Errors
    /// If it has crashed, hangs, or breaks the rules of its interface.
    fn next_act(&mut self, now: SimTime, cause: WakeCause) -> Result<Act, Self::Error>;
}

/// The body of the node's program: carries out the acts of an outside host on the program's machine, until the host ends.
///
/// # Errors
/// As [`Outside::next_act`].
pub async fn run<H: Outside>(mut machine: Machine, host: &mut H) -> Result<(), H::Error> {
    let mut cause = WakeCause::Done;
    loop {
        cause = match host.next_act(machine.now(), cause)? {
            Act::Read { at, offset } => {
                machine.work_until(at).await;
                WakeCause::Word(machine.read(offset).await)
            }
            Act::Write { at, offset, value } => {
                machine.work_until(at).await;
                machine.write(offset, value).await;
                WakeCause::Done
            }
            Act::Wait { until, interrupt } => wait(&mut machine, until, interrupt).await,
            Act::Say(lines) => {
                machine.say(lines);
                WakeCause::Done
            }
            Act::Lend(memory) => {
                machine.lend(memory);
                WakeCause::Done
            }
            Act::End => return Ok(()),
        };
    }
}

/// Waits: a sleep, since others may use the CPU meanwhile.
async fn wait(machine: &mut Machine, until: SimTime, interrupt: bool) -> WakeCause {
    let left_ns = until.saturating_sub(machine.now()).ps().div_ceil(1000);
    if left_ns == 0 {
        return WakeCause::Time;
    }
    let timeout_ns = (until != SimTime::MAX).then_some(left_ns);
    match interrupt {
        true => match machine.wait_interrupt(timeout_ns).await {
            Ok(()) => WakeCause::Interrupt,
            Err(_) => WakeCause::Time,
        },
        false => {
            // For ever: the longest sleep that has a number of picoseconds.
            machine.sleep(timeout_ns.unwrap_or(u64::MAX / 1000)).await;
            WakeCause::Time
        }
    }
}

//! Machines of tests, which answer each request at once: programs on them never wait.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::window::{
    FoundWord, MachineAnswer, MachineRequest, PhysicalAddress, PolledWord, VirtualAddress,
};

/// A machine of tests.
pub trait AnswersAtOnce {
    /// The word at an offset of the window.
    fn read(&self, offset: u32) -> u32;

    /// Writes words of the window.
    fn write_burst(&self, offset: u32, values: &[u32]);

    /// A word of memory, in the host's order.
    fn memory_word(&self, address: VirtualAddress) -> Result<u32, VirtualAddress> {
        Err(address)
    }

    /// Polls each word once: nothing changes while a program waits.
    fn poll(
        &self,
        words: &[PolledWord],
        timeout_ns: Option<u64>,
        why: &'static str,
    ) -> MachineAnswer {
        assert!(!words.is_empty());
        for (index, word) in words.iter().enumerate() {
            let (value, mask, expected) = match *word {
                PolledWord::Window(watch) => {
                    if let Some((offset, value)) = watch.before {
                        self.write_burst(offset, &[value]);
                    }
                    (self.read(watch.offset), watch.mask, watch.expected)
                }
                PolledWord::Memory(watch) => match self.memory_word(watch.address) {
                    Ok(value) => (value, watch.mask, watch.expected),
                    Err(address) => return MachineAnswer::BadAddress(address),
                },
            };
            if value & mask == expected {
                return MachineAnswer::Found(FoundWord { index, value });
            }
        }
        let timeout_ns = timeout_ns.unwrap_or_else(|| panic!("would wait for ever for {why}"));
        self.pass(timeout_ns);
        MachineAnswer::TimedOut
    }

    /// Physical addresses of the pages of a range.
    fn translate(&self, _: VirtualAddress, _: u64) -> Option<Vec<PhysicalAddress>> {
        None
    }

    /// Lets time pass.
    fn pass(&self, nanoseconds: u64);

    /// Whether the board's interrupt comes.
    fn wait_interrupt(&self, _timeout_ns: Option<u64>) -> bool {
        false
    }

    /// The answer to a request.
    fn answer(&self, request: MachineRequest<'_>) -> MachineAnswer {
        match request {
            MachineRequest::Read { offset } => return MachineAnswer::Word(self.read(offset)),
            MachineRequest::Write { offset, values } => self.write_burst(offset, values),
            MachineRequest::Poll {
                words,
                timeout_ns,
                why,
            } => return self.poll(&words.to_vec(), timeout_ns, why),
            MachineRequest::Translate { address, length } => {
                return MachineAnswer::Pages(self.translate(address, length));
            }
            MachineRequest::Compute { nanoseconds } | MachineRequest::Sleep { nanoseconds } => {
                self.pass(nanoseconds);
            }
            MachineRequest::WaitInterrupt { timeout_ns } => {
                return MachineAnswer::Interrupt(self.wait_interrupt(timeout_ns));
            }
            MachineRequest::ChargeCopy { .. }
            | MachineRequest::SystemCall
            | MachineRequest::EnableSignals => {}
        }
        MachineAnswer::Done
    }
}

/// Implements `MachinePort` for a machine that answers at once.
macro_rules! port_at_once {
    ($machine:ty) => {
        impl crate::window::MachinePort for $machine {
            fn start(
                &mut self,
                request: crate::window::MachineRequest<'_>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<crate::window::MachineAnswer> {
                std::task::Poll::Ready(crate::at_once::AnswersAtOnce::answer(self, request))
            }

            fn proceed(
                &mut self,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<crate::window::MachineAnswer> {
                panic!("each request is answered at once");
            }

            fn refuse_answer(&mut self) {
                panic!("the answer is of another kind than its request");
            }
        }
    };
}
pub(crate) use port_at_once;

/// Runs a future of such a machine, which is never pending.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the machine never waits"),
    }
}

//! Execution of one program: its future, or the log that stands in for it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Waker};

use super::log::{Answers, InputRecord, OutputRecord};
use super::machine::Machine;
use super::program::Program;
use super::request::lock;
use emulator_base::time::SimTime;
use emulator_board::SharedMemory;
use emulator_board::events::Response;

pub(super) type ProgramFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Makes a program's future for a machine; the number counts how often the program has begun.
pub(super) type Factory = Box<dyn Fn(Machine, u32) -> ProgramFuture + Send>;

/// Execution mode of a host program.
pub(super) enum Execution {
    /// The future runs.
    Alive(ProgramFuture),
    /// The log is replayed.
    Replaying,
    /// The replayed log has ended or does not fit: the program stands still.
    Lost,
    /// The program has ended.
    Ended,
}

impl Program {
    /// Polls the future of the program or of its signal handler once, which runs until its next request or its end; tells
    /// whether it has ended.
    pub(super) fn poll_future(&mut self) -> bool {
        let mut task = TaskContext::from_waker(Waker::noop());
        if let Some(handler) = &mut self.handler {
            let ended = handler.as_mut().poll(&mut task).is_ready();
            if ended {
                self.handler = None;
            }
            return ended;
        }
        let ended = match &mut self.execution {
            Execution::Alive(future) => future.as_mut().poll(&mut task).is_ready(),
            _ => false,
        };
        if ended {
            self.execution = Execution::Ended;
        }
        ended
    }

    /// Makes the future of the signal handler, after a response that is a signal.
    pub(super) fn start_handler(&mut self) {
        // Out of the port: the handler may use that.
        let handler = lock(&self.port).handler.take();
        if let Some(mut handler) = handler {
            self.handler = Some(handler.0(self.machine.clone()));
            lock(&self.port).handler.get_or_insert(handler);
        }
    }

    /// Runs the program, or replays its log, until its next request or its end; tells whether it has ended.
    pub(super) fn advance(
        &mut self,
        now: SimTime,
        mut response: Option<Response>,
        memory: &SharedMemory,
    ) -> bool {
        if matches!(self.execution, Execution::Replaying) {
            return self.replay_next(now, response.as_ref(), memory);
        }
        let signal = matches!(response, Some(Response::Signal));
        {
            let mut port = lock(&self.port);
            port.now = now;
            if self.logs.is_some() {
                port.response.clone_from(&response);
                port.answers = Answers::Logged(Vec::new(), Vec::new());
            } else {
                port.response = response.take();
                if self.tape.is_some() {
                    port.answers = Answers::Noted(Vec::new());
                }
            }
        }
        if signal {
            self.start_handler();
        }
        let in_handler = self.handler.is_some();
        let ended = self.poll_future();
        if let Some(tape) = &self.tape {
            let port = lock(&self.port);
            let (Answers::Noted(acts) | Answers::Logged(_, acts)) = &port.answers else {
                return ended;
            };
            tape.record(now, in_handler, acts, port.request.as_ref(), ended);
        }
        if let Some(log) = self.logs.as_mut().and_then(|logs| logs.last_mut()) {
            let mut port = lock(&self.port);
            if let Answers::Logged(memory, acts) = std::mem::take(&mut port.answers) {
                let input = InputRecord {
                    now,
                    response,
                    memory,
                };
                let request = port.request.clone();
                log.push(
                    input,
                    OutputRecord {
                        memory: acts,
                        request,
                        ended,
                    },
                );
            }
        }
        ended
    }

    /// Replays the next step of the log.
    fn replay_next(
        &mut self,
        now: SimTime,
        response: Option<&Response>,
        memory: &SharedMemory,
    ) -> bool {
        let log = self.logs.as_mut().and_then(|logs| logs.last_mut());
        let done = log.and_then(|log| {
            log.replay_next(now, response, |output| {
                output.replay(memory);
                (output.request.clone(), output.ended)
            })
        });
        let Some((request, ended)) = done else {
            self.execution = Execution::Lost;
            return false;
        };
        lock(&self.port).request = request;
        if ended && !self.signals.handling {
            self.execution = Execution::Ended;
        }
        ended
    }

    /// Whether the program has not ended.
    pub(super) const fn is_at_work(&self) -> bool {
        !matches!(self.execution, Execution::Ended)
    }
}

//! The host program of one rank.

use std::fmt;
use std::sync::Arc;

use emulator::host::machine::Machine;
use host_lib::window::SystemPort;
use lanigon_requests::{Class, End, Poll, Request, SocketCall, Welcome};
use lanigon_worlds::programs::deliveries::Deliveries;
use lanigon_worlds::workload::HostProcess;

use crate::error::ProcessError;
use crate::hub::{Hub, RankAction};
use crate::rank::RankState;
use crate::service::Service;
use crate::workload::SentTotals;

/// A host program that waits looks so often whether all the others wait too, in ns.
pub(crate) const STEP_NS: u64 = 100_000;
/// A process is held so long at most, in ns.
const HOLD_NS: u64 = 1_000_000;

/// The host program of one rank.
pub(crate) struct RankProgram<S> {
    service: S,
    hub: Arc<Hub>,
    rank: usize,
    /// The host, whose trace gets the calls of the process.
    machine: Machine,
    deliveries: Deliveries,
    /// Messages of the process that the records of the node have.
    recorded: SentTotals,
}

/// Kind of a call of a process.
enum CallKind {
    /// Sends a message of this class and length to a rank.
    Send(Class, usize, u32),
    /// A call on a socket, as text.
    Socket(String),
    /// Begins a collective operation of the boards; whether it reduces values.
    Collective(bool),
    /// Has nothing to do until something comes.
    Wait,
}

/// A call of a rank's process, as traces and timelines show it.
struct ProcessCall {
    rank: usize,
    kind: CallKind,
}

impl ProcessCall {
    /// The call of a request; `None` if the program has not called anything that communicates.
    fn of(rank: usize, request: &Request) -> Option<Self> {
        let kind = match request {
            Request::Send { message, .. } => {
                CallKind::Send(message.envelope.class, message.bytes.len(), message.rank)
            }
            Request::Call {
                call: SocketCall::Cancel { .. } | SocketCall::CloseAll,
                ..
            } => return None,
            Request::Call { call, .. } => CallKind::Socket(call.to_string()),
            Request::Collective { reduction, .. } => CallKind::Collective(reduction.is_some()),
            Request::Poll { .. } => CallKind::Wait,
            _ => return None,
        };
        Some(Self { rank, kind })
    }
}

impl fmt::Display for ProcessCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: ", self.rank)?;
        match &self.kind {
            CallKind::Send(class, bytes, to) => {
                let class = match class {
                    Class::Plain => "send",
                    Class::Tagged => "tagged send",
                    Class::Operation => "operation",
                    Class::Reply => "reply",
                };
                write!(f, "{class} of {bytes} bytes to rank {to}")
            }
            CallKind::Socket(call) => f.write_str(call),
            CallKind::Collective(false) => f.write_str("barrier of the boards"),
            CallKind::Collective(true) => f.write_str("reduction of the boards"),
            CallKind::Wait => f.write_str("wait"),
        }
    }
}

impl<S: Service> RankProgram<S> {
    /// The program of a rank, on a host process with the records of its start.
    pub(crate) fn new(service: S, hub: Arc<Hub>, rank: usize, process: &HostProcess<'_>) -> Self {
        Self {
            service,
            hub,
            rank,
            machine: process.machine(),
            deliveries: process.deliveries.clone(),
            recorded: SentTotals::default(),
        }
    }

    /// Carries out the requests of the process, until it has ended.
    pub(crate) async fn run(mut self) -> Result<(), ProcessError> {
        let done = self.serve().await;
        self.record_sent();
        done
    }

    /// Records what the process has sent since the last time: a run may end at any time.
    fn record_sent(&mut self) {
        let used = self.service.used();
        if used == self.recorded {
            return;
        }
        let before = std::mem::replace(&mut self.recorded, used);
        self.deliveries.record(|node: &mut SentTotals| {
            node.messages += used.messages - before.messages;
            node.bytes += used.bytes - before.bytes;
        });
    }

    async fn serve(&mut self) -> Result<(), ProcessError> {
        self.begin().await?;
        loop {
            if self.hub.place(self.rank).state == RankState::Absent && !self.await_process().await?
            {
                return Ok(());
            }
            match self.hub.read(self.rank)? {
                RankAction::Request(request) => {
                    let is_traced = self.machine.notes_calls();
                    let call = is_traced.then(|| ProcessCall::of(self.rank, &request));
                    let call = call.flatten();
                    call.iter().for_each(|call| self.machine.call_begins(call));
                    self.serve_request(request).await?;
                    call.iter().for_each(|call| self.machine.call_returns(call));
                    self.record_sent();
                }
                RankAction::Away => self.stay_away().await?,
                RankAction::Gone if self.service.gone() => return self.outlive().await,
                RankAction::Gone if self.hub.place(self.rank).has_left => return Ok(()),
                RankAction::Gone => return Err(self.hub.death(self.rank)),
            }
        }
    }

    /// Waits until the process begins.
    async fn begin(&mut self) -> Result<(), ProcessError> {
        // Ranks that share a CPU may open their ports later than others.
        while !self.hub.are_all_open() {
            self.service.step(STEP_NS).await?;
            self.hub.goes_on()?;
        }
        let after_ns = self.service.begins_after_ns();
        let welcome = self.welcome();
        self.hub.gather(after_ns.is_none().then_some(welcome))?;
        let Some(after_ns) = after_ns else {
            return Ok(());
        };
        let begin_ns = self.now_ns() + after_ns;
        while self.now_ns() < begin_ns {
            let left_ns = begin_ns - self.now_ns();
            self.service.step(left_ns.min(STEP_NS)).await?;
            self.hub.goes_on()?;
        }
        let welcome = self.welcome();
        self.hub.welcome(self.rank, welcome);
        Ok(())
    }

    /// Greeting of the process; the hub knows its number and node.
    fn welcome(&self) -> Welcome {
        Welcome {
            time_ns: self.now_ns(),
            eager_bytes: self.service.eager_bytes() as u32,
            ..Welcome::default()
        }
    }

    /// No process has this place: waits until one is started; `false` if none is before the end.
    async fn await_process(&mut self) -> Result<bool, ProcessError> {
        while self.hub.place(self.rank).state == RankState::Absent {
            if self.hub.are_all_gone() {
                return Ok(false);
            }
            if !self.service.step(STEP_NS).await? {
                self.look_outside()?;
            }
        }
        Ok(true)
    }

    /// The process starts `count` others when no other rank starts any and there are places for them.
    async fn spawn(&mut self, count: usize) -> Result<(), ProcessError> {
        self.hub.place(self.rank).state = RankState::Queued(count);
        while !self.hub.begin_spawn(self.rank, count)? {
            if !self.service.step(STEP_NS).await? {
                self.look_outside()?;
            }
        }
        self.send_answers();
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.service.now_ns()
    }

    async fn serve_request(&mut self, request: Request) -> Result<(), ProcessError> {
        self.service.begin();
        self.hub.place(self.rank).has_left = false;
        match request {
            Request::Poll { spent_ns, poll } => {
                self.service.compute(spent_ns).await;
                self.poll(poll).await
            }
            Request::Time { spent_ns } => {
                self.service.compute(spent_ns).await;
                self.send_answers();
                Ok(())
            }
            Request::Spawn { spent_ns, count } => {
                self.service.compute(spent_ns).await;
                self.spawn(count as usize).await
            }
            Request::Spawned { spent_ns } => {
                self.service.compute(spent_ns).await;
                self.hub.end_spawn(self.rank);
                Ok(())
            }
            Request::Finalize { spent_ns } => {
                self.service.compute(spent_ns).await;
                self.hub.place(self.rank).is_finalizing = true;
                Ok(())
            }
            Request::Abort { code } => {
                self.hub.place(self.rank).aborts = Some(code);
                Ok(())
            }
            Request::Bye => {
                self.hub.end_spawn(self.rank);
                self.hub.place(self.rank).leave();
                self.stay_away().await
            }
            Request::Hello(_) => {
                let what = "greets a second time".into();
                Err(ProcessError::refused(self.rank, what))
            }
            Request::Send { .. }
            | Request::Collective { .. }
            | Request::Call { .. }
            | Request::Region { .. } => self.service.serve_request(request).await,
        }
    }

    /// Answers with all that has come.
    fn send_answers(&mut self) {
        let end = End {
            time_ns: self.now_ns(),
            stalled: false,
        };
        self.service.goes_on();
        let answers = self.service.answers();
        answers.push(lanigon_requests::Answer::End(end));
        let place = &mut *self.hub.place(self.rank);
        place.time_ns = end.time_ns;
        place.has_answers = false;
        place.answer(answers);
        answers.clear();
    }

    /// The process has nothing to do: answers when something has come, or when its limit has passed.
    async fn poll(&mut self, mut poll: Poll) -> Result<(), ProcessError> {
        while self.service.step(0).await? {}
        let begin_ns = self.now_ns();
        let deadline_ns = self.service.deadline_ns();
        if let Some(deadline_ns) = deadline_ns {
            poll.limit_ns = Some(deadline_ns.saturating_sub(begin_ns));
        }
        let waits = self.service.waits();
        let is_held = waits.is_held();
        self.hub.place(self.rank).hold(poll, begin_ns, waits);
        while self.service.answers().is_empty() && !self.service.wakes(&poll) {
            let passed_ns = self.now_ns() - begin_ns;
            let longest_ns = if is_held { u64::MAX } else { HOLD_NS };
            let left_ns = poll
                .limit_ns
                .unwrap_or(longest_ns)
                .saturating_sub(passed_ns);
            if left_ns == 0 {
                break;
            }
            let came = self.service.step(left_ns.min(STEP_NS)).await?;
            let state = match came {
                true => self.hub.place(self.rank).state,
                false => self.look_outside()?,
            };
            match state {
                RankState::Held(_) | RankState::Running => {}
                // Its poll was answered while the world was stalled: what has come since is for the next one.
                RankState::Away => return self.stay_away().await,
                _ => return Ok(()),
            }
        }
        if self.service.answers().is_empty() && deadline_ns.is_some() {
            // What has waited for this time is told.
            self.service.step(0).await?;
        }
        self.send_answers();
        Ok(())
    }

    /// The process sleeps outside a poll, or has left the network: what comes for it is kept.
    async fn stay_away(&mut self) -> Result<(), ProcessError> {
        loop {
            let came = self.service.step(STEP_NS).await?;
            if !came {
                self.look_outside()?;
            }
            let place = &mut *self.hub.place(self.rank);
            match place.state {
                RankState::Away => {}
                // It polled while the world was stalled, and nothing has come: the poll goes on.
                RankState::Held(poll) => {
                    place.ask_again(poll);
                    return Ok(());
                }
                // It polled while the world was stalled, and something has come: the poll is answered.
                RankState::Running => break,
                _ => return Ok(()),
            }
        }
        self.send_answers();
        Ok(())
    }

    /// The process has ended; its host answers others until these have ended too.
    async fn outlive(&mut self) -> Result<(), ProcessError> {
        loop {
            let came = self.service.step(STEP_NS).await?;
            if !came {
                if self.hub.are_all_gone() {
                    return Ok(());
                }
                self.look_outside()?;
            }
        }
    }

    /// Looks whether the world is stalled, and waits for what happens outside then. Gives what the own process does.
    fn look_outside(&self) -> Result<RankState, ProcessError> {
        self.hub.goes_on()?;
        if self.rank == 0 {
            self.hub.refuse_others()?;
        }
        if self.hub.is_stalled() {
            self.hub.stall(self.now_ns())?;
        }
        self.hub.rests(self.now_ns())?;
        Ok(self.hub.place(self.rank).state)
    }
}

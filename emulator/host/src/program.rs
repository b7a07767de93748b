//! The programs of a host: how they begin, end, and begin anew.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use super::accounts::{Accounts, Phase};
use super::execution::{Execution, Factory, ProgramFuture};
use super::log::ProgramLog;
use super::machine::Machine;
use super::memory_poll::MemoryPoll;
use super::request::SharedPort;
use super::scheduler::{Cpus, Scheduling};
use super::signals::Signals;
use super::tape::Tape;
use super::work::{Sleep, Work};
use emulator_base::time::SimTime;
use emulator_board::pci::PciBus;
use emulator_board::{Board, SharedMemory};
use emulator_profile::costs::HostCosts;

/// A program of a host.
#[repr(C)] // What each visit of a node reads stands side by side.
pub(super) struct Program {
    pub(super) started: bool,
    /// The machine was reset and will be on again.
    pub(super) awaits_power: bool,
    /// Whether the program has slept since it last used up a time slice.
    pub(super) woken: bool,
    pub(super) signals: Signals,
    /// Number of times that the program has begun, from 1.
    pub(super) incarnation: u32,
    pub(super) scheduling: Scheduling,
    /// The present request.
    pub(super) work: Work,
    pub(super) name: String,
    pub(super) execution: Execution,
    /// Makes its future anew after a reset, if it restarts.
    pub(super) factory: Option<Factory>,
    /// Replay log of each incarnation, if kept.
    pub(super) logs: Option<Vec<ProgramLog>>,
    /// Replay logs of its next incarnations, if it replays.
    pub(super) next_logs: VecDeque<ProgramLog>,
    /// The recorded actions, if they are recorded.
    pub(super) tape: Option<Tape>,
    pub(super) port: SharedPort,
    /// The rest of the program's time slice, if a program that woke has taken its place.
    pub(super) slice_left: Option<SimTime>,
    pub(super) accounts: Accounts,
    /// The program's own request, while its signal handler runs.
    pub(super) suspended: Option<Box<Work>>,
    /// The future of its signal handler.
    pub(super) handler: Option<ProgramFuture>,
    /// The machine that its handlers get.
    pub(super) machine: Machine,
    /// Time at which the program's pending timeout event is due. There is one at most: one that is early is scheduled again.
    pub(super) timeout_at: Option<SimTime>,
}

impl Program {
    fn new(name: String, port: SharedPort, machine: Machine, future: ProgramFuture) -> Self {
        Self {
            name,
            execution: Execution::Alive(future),
            factory: None,
            incarnation: 1,
            logs: None,
            next_logs: VecDeque::new(),
            tape: None,
            awaits_power: false,
            port,
            work: Work::default(),
            scheduling: Scheduling::Off,
            woken: false,
            slice_left: None,
            accounts: Accounts::default(),
            signals: Signals::default(),
            suspended: None,
            handler: None,
            machine,
            timeout_at: None,
            started: false,
        }
    }

    /// Whether the program has ended and does not begin again.
    const fn has_ended(&self) -> bool {
        !self.is_at_work() && !self.awaits_power
    }

    /// Ends it wherever it is.
    fn cut_off(&mut self, now: SimTime) {
        self.execution = Execution::Ended;
        self.work = Work::default();
        self.signals = Signals::default();
        self.suspended = None;
        self.handler = None;
        self.scheduling = Scheduling::Off;
        self.woken = false;
        self.slice_left = None;
        self.accounts.enter(Phase::Off, now);
        self.timeout_at = None;
        self.started = true;
    }

    /// The purpose of the program's poll or sleep.
    fn waits_for(&self) -> Option<&'static str> {
        let power = Some("the machine to be on again");
        let work = self.suspended.as_deref().unwrap_or(&self.work);
        work.waits_for()
            .or_else(|| power.filter(|_| self.awaits_power))
    }

    /// The program's sleep, unless a signal has interrupted it.
    pub(super) fn sleep(&self) -> Option<Sleep> {
        let asleep = self.scheduling == Scheduling::Off;
        self.work.sleep.filter(|_| asleep)
    }

    /// Whether a signal waits for the end of its present poll or access.
    pub(super) const fn has_signal(&self) -> bool {
        self.signals.pending && !self.signals.handling
    }

    /// The time at which the program acts without an event that is not a poll; [`SimTime::ZERO`]: at once.
    const fn activity(&self) -> SimTime {
        if !self.started || self.has_signal() {
            return SimTime::ZERO;
        }
        match self.scheduling {
            Scheduling::Running(_) if self.work.polls_window() => self.work.deadline,
            _ => SimTime::MAX,
        }
    }

    /// The program's polls of host memory.
    pub(super) fn memory_polls(&self) -> impl Iterator<Item = &MemoryPoll> {
        self.work.memory_poll.iter()
    }
}

/// The programs of one host.
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Programs {
    /// Time at which programs act without an event that is not a poll; [`SimTime::ZERO`]: at once. It follows from the rest, and is found
    /// again behind whatever changes that.
    activity: SimTime,
    /// The shortest time for which an access takes the PCI bus.
    shortest_access: SimTime,
    pub(super) programs: Vec<Program>,
    pub(super) cpus: Cpus,
    pub(super) memory: SharedMemory,
    pub(super) costs: Box<HostCosts>,
    /// Whether logs are kept, from which programs can be restored.
    keeps_log: bool,
    /// Whether actions are recorded, which another process can replay.
    keeps_tapes: bool,
    /// Whether programs replay their logs.
    pub(super) replays: bool,
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.programs.iter().map(|program| &program.name))
            .finish()
    }
}

impl Programs {
    /// No programs.
    #[must_use]
    pub fn new(memory: SharedMemory, costs: &HostCosts) -> Self {
        let clocks = costs.pio_write_setup_clocks.min(costs.pio_read_bus_clocks);
        Self {
            activity: SimTime::MAX,
            memory,
            costs: Box::new(*costs),
            programs: Vec::new(),
            cpus: Cpus::new(costs.cpus),
            keeps_log: false,
            keeps_tapes: false,
            replays: false,
            shortest_access: PciBus::new(costs.pci_clock_hz).span_of(clocks.into()),
        }
    }

    /// Costs of the host.
    #[must_use]
    pub const fn costs(&self) -> &HostCosts {
        &self.costs
    }

    /// Other costs from now on, before the run.
    pub fn set_costs(&mut self, costs: &HostCosts) {
        *self.costs = *costs;
    }

    /// Keeps the log of the answers to programs from now on, so that programs can be saved, but for those that have begun.
    pub fn keep_log(&mut self) {
        self.keeps_log = true;
        for program in self.programs.iter_mut().filter(|program| !program.started) {
            program
                .logs
                .get_or_insert_with(|| vec![ProgramLog::default()]);
        }
    }

    /// Adds a program, with the log or tape that is kept of it.
    fn add(&mut self, program: Program) {
        let logs = self.keeps_log.then(|| vec![ProgramLog::default()]);
        let tape = self.keeps_tapes.then(Tape::default);
        self.programs.push(Program {
            logs,
            tape,
            ..program
        });
        self.note_activity();
    }

    /// Records the actions of programs that are added from now on.
    pub fn keep_tapes(&mut self) {
        self.keeps_tapes = true;
    }

    /// The programs whose actions are recorded, with their names.
    pub fn tapes(&self) -> impl Iterator<Item = (&str, &Tape)> {
        let programs = self.programs.iter();
        programs.filter_map(|program| Some((program.name.as_str(), program.tape.as_ref()?)))
    }

    /// Adds a program; it begins when the node next runs. `start` is given the machine it runs on.
    pub fn spawn<F>(&mut self, name: impl Into<String>, start: impl FnOnce(Machine) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (port, machine) = self.machine();
        let future = Box::pin(start(machine.clone()));
        self.add(Program::new(name.into(), port, machine, future));
    }

    /// Adds a program that begins anew whenever the machine is on again after a reset, even if it had
    /// ended before. `start` is given the machine, and how often the program has been begun: 1 for the
    /// first time.
    pub fn spawn_restartable<F>(
        &mut self,
        name: impl Into<String>,
        start: impl Fn(Machine, u32) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let factory: Factory =
            Box::new(move |machine, incarnation| Box::pin(start(machine, incarnation)));
        let (port, machine) = self.machine();
        let future = factory(machine.clone(), 1);
        let program = Program::new(name.into(), port, machine, future);
        self.add(Program {
            factory: Some(factory),
            ..program
        });
    }

    /// Begins a program's next life.
    pub(super) fn begin_incarnation(&mut self, index: usize) {
        let (port, machine) = self.machine();
        let program = &mut self.programs[index];
        program.incarnation += 1;
        program.port = port;
        program.machine = machine.clone();
        program.execution = match &program.factory {
            Some(begin) => Execution::Alive(begin(machine, program.incarnation)),
            None => Execution::Ended,
        };
    }

    /// A machine for a program, and the port that it shares with its node.
    fn machine(&self) -> (SharedPort, Machine) {
        let port = SharedPort::default();
        let memory = Arc::clone(&self.memory);
        let machine = Machine::new(Arc::clone(&port), memory, &self.costs);
        (port, machine)
    }

    /// Ends every program. Those that restart wait for power if the machine `comes_back`.
    pub fn reset(&mut self, now: SimTime, comes_back: bool) {
        self.cpus.reset();
        for program in &mut self.programs {
            program.cut_off(now);
            program.awaits_power = comes_back && program.factory.is_some();
        }
        self.note_activity();
    }

    /// Restarts the programs that wait for the machine to be on again.
    pub fn power_on(&mut self) {
        for index in 0..self.programs.len() {
            if !self.programs[index].awaits_power {
                continue;
            }
            self.begin_incarnation(index);
            let program = &mut self.programs[index];
            program.awaits_power = false;
            program.started = false;
            if self.replays {
                program.execution = Execution::Replaying;
            }
            if let Some(logs) = &mut program.logs {
                logs.push(program.next_logs.pop_front().unwrap_or_default());
            }
        }
        self.note_activity();
    }

    /// Whether every program has ended.
    #[must_use]
    pub fn all_ended(&self) -> bool {
        self.programs.iter().all(Program::has_ended)
    }

    /// Number of beginnings and ends of programs so far.
    #[must_use]
    pub fn beginnings_and_ends(&self) -> u64 {
        let count = |program: &Program| {
            u64::from(program.started) + 2 * u64::from(program.incarnation)
                - u64::from(program.is_at_work())
        };
        self.programs.iter().map(count).sum()
    }

    /// The end of the last one of those waits and computations that take `span` or more and whose end is known; [`SimTime::ZERO`] if
    /// there is none.
    #[must_use]
    pub fn long_waits_end(&self, now: SimTime, span: SimTime) -> SimTime {
        let end = |program: &Program| {
            let work = &program.work;
            let polls = work.polls_window() || work.memory_poll.is_some();
            let end = match work.sleep {
                Some(sleep) => sleep.deadline,
                None if polls => work.deadline,
                None => work.ends,
            };
            let is_long = end.saturating_sub(program.accounts.since()) >= span;
            let is_known = program.is_at_work() && end > now && end != SimTime::MAX;
            (is_known && is_long).then_some(end)
        };
        let ends = self.programs.iter().filter_map(end);
        ends.max().unwrap_or_default()
    }

    /// The earliest time at which programs act without an event that is not a poll: `now` while one has not begun, or waits
    /// for the end of another one's poll; the end of a poll's timeout.
    #[must_use]
    #[inline]
    pub fn next_activity(&self, now: SimTime) -> SimTime {
        debug_assert_eq!(self.activity, self.find_activity());
        self.activity.max(now)
    }

    /// Computes [`next_activity`](Self::next_activity) from the programs, without the present time.
    fn find_activity(&self) -> SimTime {
        let times = self.programs.iter().map(Program::activity);
        match self.cpus.will_switch() {
            true => SimTime::ZERO,
            false => times.min().unwrap_or(SimTime::MAX),
        }
    }

    /// Updates the time at which programs act next, after a change.
    pub(super) fn note_activity(&mut self) {
        self.activity = self.find_activity();
    }

    /// The time at which programs that go on at `time` can reach the board: with a write that passes the PCI bus behind all that it
    /// carries. A read takes longer.
    #[must_use]
    #[inline]
    pub fn reaches_board(&self, time: SimTime, pci: &PciBus) -> SimTime {
        match time {
            SimTime::MAX => time,
            _ => time.max(pci.free_at()).saturating_add(self.shortest_access),
        }
    }

    /// Whether a program stops at the end of a poll: for another program, or for a signal.
    fn polls_may_stop(&self) -> bool {
        self.cpus.will_switch() || self.programs.iter().any(Program::has_signal)
    }

    /// The requests of programs that have a CPU and poll the window.
    fn polling(&self) -> impl Iterator<Item = &Work> {
        let running = |program: &&Program| matches!(program.scheduling, Scheduling::Running(_));
        let programs = self.programs.iter().filter(running);
        programs
            .map(|program| &program.work)
            .filter(|work| work.polls_window())
    }

    /// The number of pending events that are polls.
    #[must_use]
    pub fn pending_polls(&self) -> usize {
        self.polling().count()
    }

    /// Whether a condition that is polled for already holds.
    #[must_use]
    pub fn poll_will_end<B: Board>(&self, board: &B, now: SimTime) -> bool {
        self.programs.iter().any(
            |program| match (&program.work.rotation, program.work.polling) {
                (Some(rotation), _) => rotation.will_end(board, &self.memory, now),
                (None, Some(poll)) => poll.holds(board.window_peek(poll.offset, now)),
                (None, None) => false,
            },
        )
    }

    /// Whether every poll of the window is an idle poll: its condition does not hold, and comes to hold by events alone,
    /// since it is one of memory; and no program waits for its end.
    pub fn polls_fruitlessly<B: Board>(&self, board: &B, now: SimTime) -> bool {
        let of_memory = |program: &Program| match (&program.work.rotation, program.work.polling) {
            (Some(rotation), _) => rotation.is_of_memory(board),
            (None, Some(poll)) => board.is_memory(poll.offset),
            (None, None) => true,
        };
        !self.polls_may_stop()
            && self.programs.iter().all(of_memory)
            && !self.poll_will_end(board, now)
    }

    /// A line for each program that has not ended: its state and what it waits for.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        self.programs
            .iter()
            .filter(|program| !program.has_ended())
            .map(|program| match program.waits_for() {
                Some(what) => format!("{} waits for {what}", program.name),
                None => format!("{} is at work", program.name),
            })
            .collect()
    }

    /// The CPU time of every program that has not ended: a line for each.
    #[must_use]
    pub fn describe_cpu_times(&self, now: SimTime) -> Vec<String> {
        let programs = self.programs.iter().filter(|program| !program.has_ended());
        let line = |program: &Program| {
            let time = program.accounts.until(now);
            format!("CPU time of {}: {time}", program.name)
        };
        programs.map(line).collect()
    }
}

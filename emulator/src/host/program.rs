//! The programs of a host: how they begin, end, and begin anew.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use super::costs::HostCosts;
use super::execution::{Execution, Factory, ProgramFuture};
use super::log::Life;
use super::machine::Machine;
use super::request::{PollRequest, SharedPort};
use super::rotation::Rotation;
use crate::board::{Board, SharedMemory};
use crate::sim::time::SimTime;

/// One program of a host.
pub(super) struct Program {
    pub(super) name: String,
    pub(super) execution: Execution,
    /// How it begins anew after a reset, if it does.
    factory: Option<Factory>,
    /// How often it has been begun.
    pub(super) life: u32,
    /// What it was told in each life, if that is kept.
    pub(super) lives: Option<Vec<Life>>,
    /// What is known of its next lives, if it repeats.
    pub(super) next_lives: VecDeque<Life>,
    /// The machine was reset and will be on again.
    pub(super) awaits_power: bool,
    pub(super) port: SharedPort,
    /// The condition that it polls for.
    pub(super) polling: Option<PollRequest>,
    /// The words that it polls in turn.
    pub(super) rotation: Option<Rotation>,
    /// While it waits for an interrupt: until when.
    pub(super) interrupt_deadline: Option<SimTime>,
    /// When its pending timeout event is due. There is one at most: it moves on when it comes early.
    pub(super) timeout_at: Option<SimTime>,
    pub(super) started: bool,
}

impl Program {
    fn new(name: String, port: SharedPort, future: ProgramFuture) -> Self {
        Self {
            name,
            execution: Execution::Alive(future),
            factory: None,
            life: 1,
            lives: None,
            next_lives: VecDeque::new(),
            awaits_power: false,
            port,
            polling: None,
            rotation: None,
            interrupt_deadline: None,
            timeout_at: None,
            started: false,
        }
    }

    const fn has_ended(&self) -> bool {
        !self.is_at_work() && !self.awaits_power
    }

    /// Ends it wherever it is.
    fn cut_off(&mut self) {
        self.execution = Execution::Ended;
        self.polling = None;
        self.rotation = None;
        self.interrupt_deadline = None;
        self.timeout_at = None;
        self.started = true;
    }

    /// What it waits for, if it does nothing else.
    const fn waits_for(&self) -> Option<&'static str> {
        match (self.polling, self.interrupt_deadline) {
            (Some(poll), _) => Some(poll.why),
            (None, Some(_)) => Some("an interrupt"),
            (None, None) if self.awaits_power => Some("the machine to be on again"),
            (None, None) => None,
        }
    }
}

/// The programs of one host.
pub struct Programs {
    pub(super) memory: SharedMemory,
    pub(super) costs: HostCosts,
    pub(super) programs: Vec<Program>,
    /// Whether what programs are told is kept.
    keeps_log: bool,
    /// Whether programs only repeat what is known of them.
    pub(super) repeats: bool,
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
    pub const fn new(memory: SharedMemory, costs: &HostCosts) -> Self {
        Self {
            memory,
            costs: *costs,
            programs: Vec::new(),
            keeps_log: false,
            repeats: false,
        }
    }

    /// From now on keeps what programs are told, so that they can be saved. Those that have begun cannot.
    pub fn keep_log(&mut self) {
        self.keeps_log = true;
        for program in self.programs.iter_mut().filter(|program| !program.started) {
            program.lives.get_or_insert_with(|| vec![Life::default()]);
        }
    }

    fn add(&mut self, program: Program) {
        let lives = self.keeps_log.then(|| vec![Life::default()]);
        self.programs.push(Program { lives, ..program });
    }

    /// Adds a program; it begins when the node next runs. `start` is given the machine it runs on.
    pub fn spawn<F>(&mut self, name: impl Into<String>, start: impl FnOnce(Machine) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (port, machine) = self.machine();
        let future = Box::pin(start(machine));
        self.add(Program::new(name.into(), port, future));
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
        let factory: Factory = Box::new(move |machine, life| Box::pin(start(machine, life)));
        let (port, machine) = self.machine();
        let program = Program::new(name.into(), port, factory(machine, 1));
        self.add(Program {
            factory: Some(factory),
            ..program
        });
    }

    /// Begins a program's next life.
    pub(super) fn begin_life(&mut self, index: usize) {
        let (port, machine) = self.machine();
        let program = &mut self.programs[index];
        program.life += 1;
        program.port = port;
        program.execution = match &program.factory {
            Some(begin) => Execution::Alive(begin(machine, program.life)),
            None => Execution::Ended,
        };
    }

    /// A machine for a program, and the port that it shares with its node.
    fn machine(&self) -> (SharedPort, Machine) {
        let port = SharedPort::default();
        let machine = Machine::new(Arc::clone(&port), Arc::clone(&self.memory));
        (port, machine)
    }

    /// Ends every program wherever it is. Those that can begin anew wait for that if the machine `comes_back`.
    pub(crate) fn reset(&mut self, comes_back: bool) {
        for program in &mut self.programs {
            program.cut_off();
            program.awaits_power = comes_back && program.factory.is_some();
        }
    }

    /// The machine is on again.
    pub(crate) fn power_on(&mut self) {
        for index in 0..self.programs.len() {
            if !self.programs[index].awaits_power {
                continue;
            }
            self.begin_life(index);
            let program = &mut self.programs[index];
            program.awaits_power = false;
            program.started = false;
            if self.repeats {
                program.execution = Execution::Repeating;
            }
            if let Some(lives) = &mut program.lives {
                lives.push(program.next_lives.pop_front().unwrap_or_default());
            }
        }
    }

    /// Whether every program has ended.
    #[must_use]
    pub fn all_ended(&self) -> bool {
        self.programs.iter().all(Program::has_ended)
    }

    /// `now` while a program has not begun.
    #[must_use]
    pub fn next_activity(&self, now: SimTime) -> SimTime {
        if self.programs.iter().all(|program| program.started) {
            SimTime::MAX
        } else {
            now
        }
    }

    /// The number of pending events that are polls.
    #[must_use]
    pub fn pending_polls(&self) -> usize {
        self.programs
            .iter()
            .filter(|program| program.polling.is_some())
            .count()
    }

    /// Whether a condition that is polled for already holds.
    #[must_use]
    pub fn poll_will_end<B: Board>(&self, board: &B, now: SimTime) -> bool {
        self.programs
            .iter()
            .any(|program| match (&program.rotation, program.polling) {
                (Some(rotation), _) => rotation.will_end(board, now),
                (None, Some(poll)) => poll.holds(board.window_peek(poll.offset, now)),
                (None, None) => false,
            })
    }

    /// Whether no condition that is polled for holds, or comes to hold by itself: every poll is one of
    /// memory.
    pub(crate) fn polls_in_vain<B: Board>(&self, board: &B, now: SimTime) -> bool {
        let of_memory = |program: &Program| match (&program.rotation, program.polling) {
            (Some(rotation), _) => rotation.is_of_memory(board),
            (None, Some(poll)) => board.is_memory(poll.offset),
            (None, None) => true,
        };
        self.programs.iter().all(of_memory) && !self.poll_will_end(board, now)
    }

    /// Who waits for what: a line for each program that has not ended.
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
}

//! Restores the programs of a host: each restarts and receives its log again, or replays it.

use super::execution::Execution;
use super::log::{Answers, HostLog, OutputRecord, ProgramLog};
use super::program::{Program, Programs};
use super::request::{Request, lock};
use super::scheduler::Scheduling;
use emulator_board::events::{HostEvent, Response};
use emulator_board::poller::Poller;
use emulator_state::{Reader, StateError, Value, Writer};

impl Program {
    fn save(&self, out: &mut Writer) {
        let logs = self.logs.iter().flatten();
        let steps: Vec<usize> = logs.map(ProgramLog::len).collect();
        steps.write(out);
        self.is_at_work().write(out);
        (self.awaits_power, self.started).write(out);
        (self.scheduling, self.woken, self.slice_left).write(out);
        (self.accounts, self.timeout_at).write(out);
        self.work.write(out);
        self.signals.write(out);
        self.suspended.write(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        (self.awaits_power, self.started) = Value::read(from)?;
        (self.scheduling, self.woken, self.slice_left) = Value::read(from)?;
        (self.accounts, self.timeout_at) = Value::read(from)?;
        self.work = Value::read(from)?;
        self.signals = Value::read(from)?;
        self.suspended = Value::read(from)?;
        Ok(())
    }

    /// Passes the logged inputs of an incarnation to the program, from step `first` on.
    fn replay_inputs(&mut self, log: &ProgramLog, first: usize) -> Result<(), StateError> {
        let same = log.replay_inputs(first, |input| {
            if !matches!(self.execution, Execution::Alive(_)) {
                return None;
            }
            {
                let mut port = lock(&self.port);
                port.now = input.now;
                port.response.clone_from(&input.response);
                let answers = input.memory.iter().cloned().collect();
                port.answers = Answers::Replayed(answers, Vec::new());
            }
            if matches!(input.response, Some(Response::Signal)) {
                self.start_handler();
            }
            let ended = self.poll_future();
            let mut port = lock(&self.port);
            let request = port.request.take();
            let fits = !port.mismatch;
            match std::mem::take(&mut port.answers) {
                Answers::Replayed(left, memory) if left.is_empty() && fits => Some(OutputRecord {
                    memory,
                    request,
                    ended,
                }),
                _ => None,
            }
        });
        lock(&self.port).answers = Answers::default();
        match same {
            true => Ok(()),
            false => Err(StateError::Diverged(self.name.clone())),
        }
    }

    /// States the reason of its polls, as its last request gives it.
    fn set_why(&mut self, log: &ProgramLog) {
        let why = |request: Option<Request>| match request {
            Some(Request::Poll { poll, .. }) => poll.why,
            Some(Request::PollAny { why, .. } | Request::PollMemory { why, .. }) => why,
            _ => "",
        };
        let begun = self.signals.begun;
        let own = match &mut self.suspended {
            Some(suspended) => {
                self.work.set_why(why(log.last_request()));
                suspended
            }
            None => &mut self.work,
        };
        own.set_why(why(log.last_own_request(begun)));
    }
}

impl Programs {
    /// Replay logs of the programs so far.
    #[must_use]
    pub fn log(&self) -> HostLog {
        HostLog {
            programs: self
                .programs
                .iter()
                .map(|program| program.logs.clone())
                .collect(),
        }
    }

    /// Whether the logs of all programs are complete, so that they can be saved.
    ///
    /// # Errors
    /// The first of which it is not.
    pub fn check_log(&self) -> Result<(), StateError> {
        let unknown = |program: &&Program| program.started && program.logs.is_none();
        match self.programs.iter().find(unknown) {
            Some(program) => Err(StateError::NoLog(program.name.clone())),
            None => Ok(()),
        }
    }

    /// Saves everything but the log.
    pub fn save(&self, out: &mut Writer) {
        self.programs.len().write(out);
        self.programs.iter().for_each(|program| program.save(out));
        self.cpus.write(out);
    }

    /// Brings programs to the position of others with the replay log `log`, which must not be earlier. With `replay`,
    /// they replay the others' actions from then on.
    ///
    /// # Errors
    /// If they are others, or do something else.
    pub fn load(
        &mut self,
        log: &HostLog,
        replay: bool,
        from: &mut Reader<'_>,
    ) -> Result<(), StateError> {
        self.replays = replay;
        let (saved, here) = (usize::read(from)?, self.programs.len());
        if saved != here || log.programs.len() != here {
            let what = "host programs";
            return Err(StateError::Shape { what, saved, here });
        }
        for index in 0..here {
            self.load_program(index, log.programs[index].as_deref(), from)?;
        }
        self.cpus = Value::read(from)?;
        self.note_activity();
        let cpu_exists = |program: &Program| match program.scheduling {
            Scheduling::Running(cpu) => cpu < self.costs.cpus as usize,
            Scheduling::Off | Scheduling::Ready => true,
        };
        match self.cpus.fit(self.costs.cpus, here) && self.programs.iter().all(cpu_exists) {
            true => Ok(()),
            false => Err(StateError::Value("the CPUs of a host")),
        }
    }

    /// Loads one program: finds its place in its log, runs or replays it up to there, and loads the rest of its state.
    fn load_program(
        &mut self,
        index: usize,
        log: Option<&[ProgramLog]>,
        from: &mut Reader<'_>,
    ) -> Result<(), StateError> {
        let steps: Vec<usize> = Value::read(from)?;
        let at_work = bool::read(from)?;
        let mut logs = log.unwrap_or_default().to_vec();
        let next_logs = logs.split_off(steps.len().min(logs.len()));
        let known = logs.len() == steps.len();
        let rewound = logs
            .iter_mut()
            .zip(&steps)
            .all(|(log, &steps)| log.rewind(steps));
        if !known || !rewound {
            let name = self.programs[index].name.clone();
            return Err(StateError::NoLog(name));
        }
        if self.replays {
            self.begin_replay(index, logs.len(), next_logs);
        } else {
            self.replay_all_inputs(index, &logs)?;
        }
        let program = &mut self.programs[index];
        program.load(from)?;
        if let Some(log) = logs.last() {
            program.set_why(log);
        }
        if !at_work {
            program.execution = Execution::Ended;
        } else if !program.is_at_work() {
            return Err(StateError::Diverged(program.name.clone()));
        }
        program.logs = Some(logs);
        Ok(())
    }

    /// Brings a program to the end of these logs, which begin as its own did.
    fn replay_all_inputs(&mut self, index: usize, logs: &[ProgramLog]) -> Result<(), StateError> {
        let own = self.programs[index].logs.as_deref().unwrap_or_default();
        let done = own.len().saturating_sub(1);
        let mut first = own.last().map_or(0, ProgramLog::len);
        for (number, log) in logs.iter().enumerate().skip(done) {
            if number > done {
                self.begin_incarnation(index);
            }
            self.programs[index].replay_inputs(log, first)?;
            first = 0;
        }
        Ok(())
    }

    /// Makes a program replay the actions of another one from now on, and those of the incarnations in `next_logs` when they come.
    fn begin_replay(&mut self, index: usize, logs: usize, next_logs: Vec<ProgramLog>) {
        let program = &mut self.programs[index];
        program.incarnation = logs as u32;
        program.execution = Execution::Replaying;
        program.next_logs = next_logs
            .into_iter()
            .map(|mut log| {
                log.rewind(0);
                log
            })
            .collect();
    }

    /// Discards the steps of shared logs that lie behind this host's position in them.
    pub fn forget_later_steps(&self) {
        let logs = self.programs.iter().flat_map(|program| &program.logs);
        logs.flatten().for_each(ProgramLog::forget_later_steps);
    }

    /// Checks that the programs that replay a log found each step in it.
    ///
    /// # Errors
    /// The first that could not.
    pub fn check_replay(&self) -> Result<(), StateError> {
        let lost = |program: &&Program| matches!(program.execution, Execution::Lost);
        match self.programs.iter().find(lost) {
            Some(program) => Err(StateError::Diverged(program.name.clone())),
            None => Ok(()),
        }
    }

    /// Restores what a saved state does not have: the reasons of pending polls, and the polled words whose writes memory reports.
    pub fn restore_poll_reasons<'a>(
        &self,
        events: impl Iterator<Item = &'a mut HostEvent>,
        poller: &'a mut Poller,
    ) {
        let polls = events
            .filter_map(HostEvent::poll_mut)
            .chain(poller.polls_mut());
        for (program, poll) in polls {
            let of_program = self
                .programs
                .get(program)
                .and_then(|program| program.work.polling);
            if let Some(known) = of_program {
                poll.why = known.why;
            }
        }
        self.watch_polled_words();
    }
}

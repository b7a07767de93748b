//! Brings the programs of a host to where they stood when a state was saved.

use super::log::{Answers, HostLog, Life};
use super::poller::Poller;
use super::program::{Program, Programs};
use super::request::{HostEvent, Request, lock};
use crate::state::{Reader, StateError, Value, Writer};

impl Program {
    fn save(&self, out: &mut Writer) {
        let lives = self.lives.iter().flatten();
        let told: Vec<usize> = lives.map(Life::len).collect();
        told.write(out);
        self.future.is_some().write(out);
        (self.awaits_power, self.started).write(out);
        (self.interrupt_deadline, self.timeout_at).write(out);
        self.polling.write(out);
        self.rotation.write(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        (self.awaits_power, self.started) = Value::read(from)?;
        (self.interrupt_deadline, self.timeout_at) = Value::read(from)?;
        self.polling = Value::read(from)?;
        self.rotation = Value::read(from)?;
        Ok(())
    }

    /// Tells the program all that it was told in a life; gives the last thing that it asked for.
    fn repeat(&mut self, life: &Life) -> Result<Option<Request>, StateError> {
        let mut last = None;
        let same = life.all(|turn| {
            if self.future.is_none() {
                return false;
            }
            {
                let mut port = lock(&self.port);
                port.now = turn.now;
                port.response.clone_from(&turn.response);
                port.answers = Answers::Repeated(turn.memory.iter().cloned().collect());
            }
            self.go_on();
            let mut port = lock(&self.port);
            last = port.request.take();
            port.answers.all_given()
        });
        lock(&self.port).answers = Answers::default();
        match same {
            true => Ok(last),
            false => Err(StateError::Diverged(self.name.clone())),
        }
    }

    /// What it says that it polls for.
    fn set_why(&mut self, request: Option<&Request>) {
        let why = match request {
            Some(Request::Poll(poll)) => poll.why,
            Some(Request::PollAny { why, .. }) => why,
            _ => return,
        };
        if let Some(poll) = &mut self.polling {
            poll.why = why;
        }
        if let Some(rotation) = &mut self.rotation {
            rotation.set_why(why);
        }
    }
}

impl Programs {
    /// What programs were told so far.
    #[must_use]
    pub fn log(&self) -> HostLog {
        HostLog {
            programs: self
                .programs
                .iter()
                .map(|program| program.lives.clone())
                .collect(),
        }
    }

    /// Whether what every program was told is known, so that they can be saved.
    ///
    /// # Errors
    /// The first of which it is not.
    pub fn check_log(&self) -> Result<(), StateError> {
        let unknown = |program: &&Program| program.started && program.lives.is_none();
        match self.programs.iter().find(unknown) {
            Some(program) => Err(StateError::NoLog(program.name.clone())),
            None => Ok(()),
        }
    }

    /// Saves everything but the log.
    pub(crate) fn save(&self, out: &mut Writer) {
        self.programs.len().write(out);
        self.programs.iter().for_each(|program| program.save(out));
    }

    /// Brings programs that have not begun to where others stood, which were told what is in `log`.
    ///
    /// # Errors
    /// If they are others, or do something else.
    pub(crate) fn load(&mut self, log: &HostLog, from: &mut Reader<'_>) -> Result<(), StateError> {
        let (saved, here) = (usize::read(from)?, self.programs.len());
        if saved != here || log.programs.len() != here {
            let what = "host programs";
            return Err(StateError::Shape { what, saved, here });
        }
        for index in 0..here {
            self.load_program(index, log.programs[index].as_deref(), from)?;
        }
        Ok(())
    }

    fn load_program(
        &mut self,
        index: usize,
        log: Option<&[Life]>,
        from: &mut Reader<'_>,
    ) -> Result<(), StateError> {
        let told: Vec<usize> = Value::read(from)?;
        let at_work = bool::read(from)?;
        let mut lives = log.unwrap_or_default().to_vec();
        lives.truncate(told.len());
        let known = lives.len() == told.len();
        let rewound = lives
            .iter_mut()
            .zip(&told)
            .all(|(life, &told)| life.rewind(told));
        if !known || !rewound {
            let name = self.programs[index].name.clone();
            return Err(StateError::NoLog(name));
        }
        let mut last = None;
        for (number, life) in lives.iter().enumerate() {
            if number > 0 {
                self.begin_life(index);
            }
            last = self.programs[index].repeat(life)?;
        }
        let program = &mut self.programs[index];
        program.load(from)?;
        program.set_why(last.as_ref());
        if !at_work {
            program.future = None;
        } else if program.future.is_none() {
            return Err(StateError::Diverged(program.name.clone()));
        }
        program.lives = Some(lives);
        Ok(())
    }

    /// Pending polls say again what they are for.
    pub(crate) fn explain_polls<'a>(
        &self,
        events: impl Iterator<Item = &'a mut HostEvent>,
        poller: &'a mut Poller,
    ) {
        let polls = events
            .filter_map(HostEvent::poll_mut)
            .chain(poller.poll_mut());
        for (program, poll) in polls {
            let of_program = self
                .programs
                .get(program)
                .and_then(|program| program.polling);
            if let Some(known) = of_program {
                poll.why = known.why;
            }
        }
    }
}

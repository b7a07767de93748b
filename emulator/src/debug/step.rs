//! One instruction of one core, while everything else goes on as it does.
//!
//! When a core has executed an instruction, its clock says when it begins the next one: the world need not be
//! disturbed to know that. Going back, a core is followed through the instructions of the last microseconds, and their times are
//! remembered for the steps that follow.

use super::history::{DebugError, History};
use super::search::Direction;
use crate::board::{CpuId, CpuView};
use crate::sim::time::SimTime;

/// A core that executes nothing for so long executes nothing.
const PATIENCE: SimTime = SimTime::from_us(20_000);
/// So far before now a core is followed.
const WINDOW: SimTime = SimTime::from_us(15);
const PICOSECOND: SimTime = SimTime::from_ps(1);

/// When a core began some instructions.
#[derive(Debug)]
pub(super) struct Trail {
    /// Node and core.
    of: (usize, CpuId),
    /// How many instructions it had executed before.
    first: u64,
    begins: Vec<SimTime>,
}

impl Trail {
    /// When a core began the instruction before which it had executed so many.
    fn begin_of(&self, of: (usize, CpuId), executed: u64) -> Option<SimTime> {
        let index = executed.checked_sub(self.first).filter(|_| self.of == of)?;
        self.begins.get(usize::try_from(index).ok()?).copied()
    }
}

impl History {
    /// Brings the world to the time at which a CPU begins its next instruction after the one at which it stands, or
    /// began the one before.
    ///
    /// # Errors
    /// If the core executes nothing, or there is no such node; if somebody interrupts, or a state cannot be taken up.
    pub fn step(
        &mut self,
        direction: Direction,
        node: usize,
        cpu: CpuId,
    ) -> Result<(), DebugError> {
        match direction {
            Direction::Forward => {
                self.stepping(node, cpu, |history| history.step_forward(node, cpu))
            }
            Direction::Backward => self.steps_back(node, cpu, 1),
        }
    }

    /// Brings the world to the time at which a core began the instruction that was so many before the one at which it stands.
    ///
    /// # Errors
    /// If the core has not executed so many; else as [`step`](Self::step).
    pub fn steps_back(&mut self, node: usize, cpu: CpuId, count: u64) -> Result<(), DebugError> {
        self.stepping(node, cpu, |history| history.step_back(node, cpu, count))
    }

    /// A step, or the world stands where it stood.
    fn stepping(
        &mut self,
        node: usize,
        cpu: CpuId,
        step: impl FnOnce(&mut Self) -> Result<(), DebugError>,
    ) -> Result<(), DebugError> {
        let start = self.now();
        let Some(found) = self.world().nodes.get(node) else {
            return Err(DebugError::NoNode(node));
        };
        if found.inspect().cpu(cpu).is_none() {
            let cpu = cpu.index();
            return Err(DebugError::NoCpu { node, cpu });
        }
        let stepped = step(self);
        if matches!(stepped, Err(DebugError::Still { .. })) {
            self.go_to(start)?;
        }
        stepped
    }

    /// A part of what a CPU shows now.
    fn look<T: Default>(&self, node: usize, cpu: CpuId, part: impl FnOnce(CpuView) -> T) -> T {
        let view = self.world().nodes[node].inspect().cpu(cpu);
        view.map(part).unwrap_or_default()
    }

    /// How many instructions a CPU has executed.
    fn executed(&self, node: usize, cpu: CpuId) -> u64 {
        self.look(node, cpu, |view| view.instructions)
    }

    /// When the CPU will begin the instruction at which it stands; not after now if it waits for something.
    fn begins(&self, node: usize, cpu: CpuId) -> SimTime {
        self.look(node, cpu, |view| view.time)
    }

    /// A CPU begins no two instructions within this time.
    fn cycle(&self, node: usize, cpu: CpuId) -> SimTime {
        self.look(node, cpu, |view| view.cycle_time).max(PICOSECOND)
    }

    fn still(&self, node: usize, cpu: CpuId) -> DebugError {
        let info = self.world().nodes[node].inspect().cpus().get(cpu.index());
        let name = info.map_or("", |info| info.name);
        DebugError::Still { node, cpu, name }
    }

    fn step_forward(&mut self, node: usize, cpu: CpuId) -> Result<(), DebugError> {
        let start = self.now();
        if self.begins(node, cpu) > start {
            // It stands in the midst of the world's time, between two instructions: the next one is this one.
            return self.go_to(self.begins(node, cpu));
        }
        let executed = self.executed(node, cpu);
        let shortest = self.cycle(node, cpu);
        let mut span = shortest;
        while self.now() < start.saturating_add(PATIENCE) {
            let before = self.now();
            let waits = self.begins(node, cpu) < before;
            let until = match waits {
                true => before.saturating_add(span),
                false => self.begins(node, cpu).saturating_add(PICOSECOND),
            };
            self.run_to(until)?;
            match self.executed(node, cpu) - executed {
                0 if waits => span = span.saturating_add(span),
                0 => {}
                1 => return self.go_to(self.begins(node, cpu)),
                _ if span == shortest => return Ok(()),
                _ => {
                    // Too far: it has been waiting for long, and went on.
                    self.go_to(before)?;
                    span = shortest;
                }
            }
        }
        Err(self.still(node, cpu))
    }

    fn step_back(&mut self, node: usize, cpu: CpuId, count: u64) -> Result<(), DebugError> {
        let (start, executed) = (self.now(), self.executed(node, cpu));
        let still = self.still(node, cpu);
        let wanted = executed.checked_sub(count).ok_or_else(|| still.clone())?;
        let known = |trail: &Trail| trail.begin_of((node, cpu), wanted);
        let mut time = self.trail.as_ref().and_then(known);
        if time.is_none() {
            let behind = wanted + 1;
            if !self.go_before(node, cpu, behind)? {
                return Err(still);
            }
            let trail = self.follow(node, cpu, behind, start)?;
            time = known(&trail);
            self.trail = Some(trail);
        }
        self.go_to(time.ok_or(still)?.min(start))
    }

    /// Brings the world to a time, not long before a core had executed so many instructions, at which it had not; `false` if
    /// there is none.
    fn go_before(&mut self, node: usize, cpu: CpuId, executed: u64) -> Result<bool, DebugError> {
        let now = self.now();
        let mut near = now.saturating_sub(WINDOW).max(self.begin());
        // What comes before a change does not lead here.
        let after = |time: SimTime| time.saturating_add(PICOSECOND);
        while let Some(change) = self.states.change_from(after(near))
            && change <= now
        {
            near = change;
        }
        self.go_to(near)?;
        if self.executed(node, cpu) >= executed {
            // It has been at rest for longer than that.
            let states = self.states.before(near).into_iter();
            let earlier = |time: &SimTime| {
                let saved = self.states.at(*time);
                saved.is_some_and(|saved| saved.executed(node, cpu) < executed)
            };
            let Some(from) = states.into_iter().find(earlier) else {
                return Ok(false);
            };
            self.take_up(from)?;
            let mut last = from;
            while self.executed(node, cpu) < executed {
                last = self.now();
                self.go_to(last.saturating_add(WINDOW).min(near))?;
            }
            self.go_to(last)?;
        }
        self.keep_near_state()?;
        Ok(true)
    }

    /// Follows a core until it has executed so many instructions, which it has at `end`.
    fn follow(
        &mut self,
        node: usize,
        cpu: CpuId,
        executed: u64,
        end: SimTime,
    ) -> Result<Trail, DebugError> {
        let mut trail = Trail {
            of: (node, cpu),
            first: self.executed(node, cpu),
            begins: vec![self.begins(node, cpu)],
        };
        while self.executed(node, cpu) < executed && self.now() < end {
            let before = self.now();
            let until = match self.begins(node, cpu) {
                begins if begins < before => before.saturating_add(self.cycle(node, cpu)),
                begins => begins.saturating_add(PICOSECOND),
            };
            self.run_to(until.min(end))?;
            let more = self.executed(node, cpu) - trail.first + 1;
            let begins = self.begins(node, cpu);
            trail
                .begins
                .resize(usize::try_from(more).unwrap_or(0), begins);
        }
        Ok(trail)
    }
}

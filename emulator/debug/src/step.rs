//! Steps of one core, by instructions.
//!
//! After an instruction, a core's clock tells when the next one starts; no change of the world is needed.
//! For steps backwards, the core is followed through the instructions of the last microseconds, and their
//! start times are kept for further steps.

use super::history::{DebugError, History};
use super::search::TimeDirection;
use emulator_base::time::SimTime;
use emulator_board::{CpuId, CpuView};

/// A core without an instruction in this time is considered stopped.
const PATIENCE: SimTime = SimTime::from_us(20_000);
/// Length of the interval before the current time in which a core is followed.
const WINDOW: SimTime = SimTime::from_us(15);
const PICOSECOND: SimTime = SimTime::from_ps(1);

/// Start times of a core's instructions.
#[derive(Debug)]
pub(super) struct Trail {
    /// Node and core.
    of: (usize, CpuId),
    /// Number of instructions executed before the first one.
    first: u64,
    begins: Vec<SimTime>,
}

impl Trail {
    /// Start time of the instruction with number `executed`.
    fn begin_of(&self, of: (usize, CpuId), executed: u64) -> Option<SimTime> {
        let index = executed.checked_sub(self.first).filter(|_| self.of == of)?;
        self.begins.get(usize::try_from(index).ok()?).copied()
    }
}

impl History {
    /// Moves the world to the start of a CPU's next instruction after the current one, or of the
    /// previous one.
    ///
    /// # Errors
    /// If the core executes nothing, the node does not exist, the operation is interrupted, or a checkpoint
    /// cannot be loaded.
    pub fn step(
        &mut self,
        direction: TimeDirection,
        node: usize,
        cpu: CpuId,
    ) -> Result<(), DebugError> {
        match direction {
            TimeDirection::Forward => {
                self.stepping(node, cpu, |history| history.step_forward(node, cpu))
            }
            TimeDirection::Backward => self.steps_back(node, cpu, 1),
        }
    }

    /// Moves the world to the start of the instruction `count` before a core's current one.
    ///
    /// # Errors
    /// If the core has not executed that many; otherwise as for [`step`](Self::step).
    pub fn steps_back(&mut self, node: usize, cpu: CpuId, count: u64) -> Result<(), DebugError> {
        self.stepping(node, cpu, |history| history.step_back(node, cpu, count))
    }

    /// Executes a step; if it fails, returns to the current time.
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

    /// A property of a CPU's current state.
    fn look<T: Default>(&self, node: usize, cpu: CpuId, part: impl FnOnce(CpuView) -> T) -> T {
        let view = self.world().nodes[node].inspect().cpu(cpu);
        view.map(part).unwrap_or_default()
    }

    /// Number of executed instructions of a CPU.
    fn executed(&self, node: usize, cpu: CpuId) -> u64 {
        self.look(node, cpu, |view| view.instructions)
    }

    /// Start time of the CPU's current instruction; not after the current time if it waits.
    fn begins(&self, node: usize, cpu: CpuId) -> SimTime {
        self.look(node, cpu, |view| view.time)
    }

    /// Shortest time between the starts of two instructions of a CPU.
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
        let in_progress = self.look(node, cpu, |view| view.is_fetched);
        if self.begins(node, cpu) > start && !in_progress {
            // The world is between two instructions of the core: the current instruction is the next one.
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
                    // Too far: the core has waited for long and then continued.
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

    /// Moves the world to a time shortly before the core had executed `executed` instructions; `false` if
    /// there is none.
    fn go_before(&mut self, node: usize, cpu: CpuId, executed: u64) -> Result<bool, DebugError> {
        let now = self.now();
        let mut near = now.saturating_sub(WINDOW).max(self.begin());
        // A run cannot cross a change: start after it.
        let after = |time: SimTime| time.saturating_add(PICOSECOND);
        while let Some(change) = self.checkpoints.change_from(after(near))
            && change <= now
        {
            near = change;
        }
        self.go_to(near)?;
        if self.executed(node, cpu) >= executed {
            // The core has been idle for longer than the window.
            let states = self.checkpoints.before(near).into_iter();
            let earlier = |time: &SimTime| {
                let saved = self.checkpoints.at(*time);
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

    /// Follows a core up to instruction `executed`, which it reaches by `end`.
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

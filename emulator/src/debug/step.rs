//! One instruction of one core, while everything else goes on as it does.

use super::history::{DebugError, History};
use super::search::Direction;
use crate::sim::time::SimTime;

/// A core that executes nothing for so long executes nothing.
const PATIENCE: SimTime = SimTime::from_us(20_000);
/// Before a step backwards a state is kept so long before now: more such steps are likely.
const NEAR: SimTime = SimTime::from_us(30);

impl History {
    /// Brings the world to the time at which a core (0 = A, 1 = B) begins its next instruction after the one at which it stands, or
    /// began the one before.
    ///
    /// # Errors
    /// If the core executes nothing, or there is no such node; if somebody interrupts, or a state cannot be taken up.
    pub fn step(
        &mut self,
        direction: Direction,
        node: usize,
        cpu: usize,
    ) -> Result<(), DebugError> {
        let executed = self.executed(node, cpu)?;
        match direction {
            Direction::Forward => self.step_forward(node, cpu, executed),
            Direction::Backward => self.step_back(node, cpu, executed),
        }
    }

    /// How many instructions a core has executed.
    fn executed(&self, node: usize, cpu: usize) -> Result<u64, DebugError> {
        let node = self
            .world()
            .nodes
            .get(node)
            .ok_or(DebugError::NoNode(node))?;
        Ok(node.board.cores[cpu & 1].core.instructions())
    }

    /// When the core will begin the instruction at which it stands.
    fn begins(&self, node: usize, cpu: usize) -> SimTime {
        let board = &self.world().nodes[node].board;
        board.fabric.ticks.time_of(board.cores[cpu].core.clock.now)
    }

    fn step_forward(&mut self, node: usize, cpu: usize, executed: u64) -> Result<(), DebugError> {
        let start = self.now();
        let begins = self.begins(node, cpu);
        if begins > start {
            // It stands in the midst of the world's time, between two instructions: the next one is this one.
            return self.go_to(begins);
        }
        self.keep_state(false)?;
        let time = self.time_of_instruction(node, cpu, executed + 1, start + PATIENCE)?;
        self.take_up(start)?;
        match time {
            Some(time) => self.go_to(time),
            None => Err(DebugError::Still { node, cpu }),
        }
    }

    fn step_back(&mut self, node: usize, cpu: usize, executed: u64) -> Result<(), DebugError> {
        let start = self.now();
        let near = start.saturating_sub(NEAR);
        if near > self.begin() {
            self.go_to(near)?;
            self.keep_state(false)?;
        }
        for from in self.states_before(start) {
            self.take_up(from)?;
            let before = self.executed(node, cpu)?;
            if before >= executed {
                continue;
            }
            let time = self.time_of_instruction(node, cpu, executed - 1, start)?;
            self.take_up(from)?;
            if let Some(time) = time {
                return self.go_to(time.min(start));
            }
        }
        self.go_to(start)?;
        Err(DebugError::Still { node, cpu })
    }

    /// Lets the world run until a core has executed so many instructions and stands before the next one; gives the time at which it
    /// begins that, if it comes so far up to `limit`. The world is of no use then: the core was held.
    fn time_of_instruction(
        &mut self,
        node: usize,
        cpu: usize,
        executed: u64,
        limit: SimTime,
    ) -> Result<Option<SimTime>, DebugError> {
        self.world_mut().nodes[node].board.held_after[cpu] = executed;
        let mut span = SimTime::from_us(1);
        while self.executed(node, cpu)? < executed && self.now() < limit {
            let until = self.now().saturating_add(span).min(limit);
            if !self.run_to(until) {
                return Err(DebugError::Interrupted);
            }
            span = span.saturating_add(span);
        }
        let there = self.executed(node, cpu)? >= executed;
        Ok(there.then(|| self.begins(node, cpu)))
    }
}

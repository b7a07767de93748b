//! Through a session's history, forwards and backwards.

use std::sync::Arc;

use emulator::debug::{DebugError, Direction, Found};
use emulator::observe::event::TraceEvent;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;

use super::session::Session;
use super::stop::{self, Stop};

/// Why a session stands where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// These events are about to happen; each with the numbers of the stops that it meets.
    At(Vec<(Vec<u32>, TraceEvent)>),
    /// It is where it was to go.
    There,
    /// The time that was set is over.
    Limit,
    /// Nothing happens any more, for this reason.
    End(RunEnd),
    /// Nothing happened before.
    Begin,
}

impl Session {
    /// Goes to the next thing that stops it, or back to the last one: any that is set, or one of `also`. Forwards
    /// it goes as far as `limit`.
    ///
    /// # Errors
    /// If somebody interrupts; if a state cannot be taken up.
    pub fn run(
        &mut self,
        direction: Direction,
        also: Vec<Stop>,
        limit: SimTime,
    ) -> Result<Stopped, DebugError> {
        let mut stops = self.stops().to_vec();
        stops.extend(also.into_iter().map(Arc::new));
        let found = self.with_armed(&stops, |session| {
            let search = stop::search(&stops);
            session.history.find(direction, &search, limit)
        });
        Ok(match found? {
            Found::Events(events) => {
                let numbers = |event: &TraceEvent| {
                    let met = stops.iter().filter(|stop| stop.is(event));
                    met.map(|stop| stop.number).collect()
                };
                Stopped::At(
                    events
                        .into_iter()
                        .map(|event| (numbers(&event), event))
                        .collect(),
                )
            }
            Found::Limit => Stopped::Limit,
            Found::End(end) => Stopped::End(end),
            Found::Begin => Stopped::Begin,
        })
    }

    /// The focused CPU's next instruction, or its last one. Another stop that is met on the way there ends it.
    ///
    /// # Errors
    /// If that CPU executes nothing; if somebody interrupts; if a state cannot be taken up.
    pub fn step(&mut self, direction: Direction) -> Result<Stopped, DebugError> {
        let (node, cpu) = (self.focus.node, self.focus.cpu);
        let start = self.now();
        self.history.step(direction, node, cpu)?;
        if self.stops().is_empty() {
            return Ok(Stopped::There);
        }
        let there = self.now();
        self.history.go_to(start)?;
        let stopped = match direction {
            Direction::Forward => self.run(direction, Vec::new(), there)?,
            Direction::Backward => self.run_back_to(there)?,
        };
        if stopped == Stopped::There || stopped == Stopped::Limit {
            self.history.go_to(there)?;
            return Ok(Stopped::There);
        }
        Ok(stopped)
    }

    /// The last stop that is not before `time`.
    fn run_back_to(&mut self, time: SimTime) -> Result<Stopped, DebugError> {
        match self.run(Direction::Backward, Vec::new(), SimTime::ZERO)? {
            at @ Stopped::At(_) if self.now() > time => Ok(at),
            _ => Ok(Stopped::There),
        }
    }

    /// Goes to a time.
    ///
    /// # Errors
    /// If somebody interrupts; if a state cannot be taken up.
    pub fn go_to(&mut self, time: SimTime) -> Result<Stopped, DebugError> {
        let begin = self.history.begin();
        self.history.go_to(time.max(begin))?;
        Ok(match time < begin {
            true => Stopped::Begin,
            false => Stopped::There,
        })
    }

    /// Does something while boards tell of these stops, and no longer.
    fn with_armed<T>(&mut self, stops: &[Arc<Stop>], act: impl FnOnce(&mut Self) -> T) -> T {
        self.arm(stops);
        let result = act(self);
        self.arm(&[]);
        result
    }

    fn arm(&mut self, stops: &[Arc<Stop>]) {
        for node in 0..self.header.nodes.len() {
            // Every node of the header is one of the world's.
            let _ = self.history.set_stops(node, stop::stops_of(node, stops));
        }
    }
}

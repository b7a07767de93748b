//! Runs that several ranks share.

use super::{RankError, Ranks};
use crate::component::Component;
use crate::quiet::{Patience, QuietWatch};
use crate::threads::ThreadPool;
use crate::world::{RunEnd, RunLimits, StopReason, World, earliest, end_of_slice, last_stir};
use emulator_base::time::SimTime;
use emulator_observe::tracer::Tracer;
use emulator_state::value_struct;
use emulator_state::{Reader, State, StateError, Writer};

/// State of a run between slices, on which ranks must agree.
#[derive(Debug, Clone, Copy)]
struct RunState {
    /// The time that all nodes have reached.
    now: SimTime,
    next_activity: SimTime,
    programs_ended: bool,
    is_live: bool,
    /// The time at which a node stirred last, or will stir.
    stirred: SimTime,
}

value_struct!(RunState {
    now: now,
    next_activity: next_activity,
    programs_ended: programs_ended,
    is_live: is_live,
    stirred: stirred
});

impl RunState {
    /// The state of the nodes that this rank executes.
    fn measure(
        components: &[Component<'_>],
        watch: &mut QuietWatch,
        quiet: Option<Patience>,
    ) -> Self {
        Self {
            now: earliest(components.iter().map(Component::now)),
            next_activity: earliest(components.iter().map(Component::next_activity)),
            programs_ended: components.iter().all(Component::programs_ended),
            is_live: components.iter().any(Component::is_live),
            stirred: quiet.map_or(SimTime::ZERO, |patience| {
                last_stir(components, watch, patience)
            }),
        }
    }

    /// The state of the nodes of both.
    fn and(self, other: Self) -> Self {
        Self {
            now: self.now.min(other.now),
            next_activity: self.next_activity.min(other.next_activity),
            programs_ended: self.programs_ended && other.programs_ended,
            is_live: self.is_live || other.is_live,
            stirred: self.stirred.max(other.stirred),
        }
    }

    /// Agrees with the other ranks on that of the whole world.
    fn agree(self, ranks: &mut Ranks) -> Result<Self, RankError> {
        let all = ranks.gather(&self)?;
        Ok(all.into_iter().fold(self, Self::and))
    }
}

impl World {
    /// Runs a world together with the other ranks until every program has ended, or `done` returns true, or a limit. Every rank must call
    /// it with the same limits of time; `done` may ask the other ranks, and must return the same at all. An interrupt of one rank ends
    /// the run at all of them. Observers see the nodes of this rank only.
    ///
    /// # Errors
    /// If another rank is gone. The world is unusable then.
    pub fn run_shared(
        &mut self,
        ranks: &mut Ranks,
        limits: &RunLimits,
        mut done: impl FnMut(&mut Ranks) -> Result<bool, RankError> + Send,
    ) -> Result<RunEnd, RankError> {
        let stop = self.run_shared_slices(ranks, limits, |state, ranks| {
            Ok(if done(ranks)? || state.programs_ended {
                Some(StopReason::Completed)
            } else if !state.is_live {
                Some(StopReason::Deadlock)
            } else {
                let still = state.now.saturating_sub(state.stirred);
                let is_quiet = limits.quiet.is_some_and(|patience| still >= patience.idle);
                is_quiet.then_some(StopReason::Quiet)
            })
        })?;
        Ok(match stop {
            StopReason::Completed => RunEnd::Completed,
            StopReason::Interrupted => RunEnd::Interrupted,
            StopReason::Deadlock => RunEnd::Deadlock(self.describe_shared(ranks)?),
            StopReason::Quiet => RunEnd::Quiet(self.describe_shared(ranks)?),
            StopReason::TimeLimit => RunEnd::TimeLimit(self.describe_shared(ranks)?),
        })
    }

    /// As [`pass_time`](Self::pass_time), together with the other ranks.
    ///
    /// # Errors
    /// If another rank is gone. The world is unusable then.
    pub fn pass_time_shared(
        &mut self,
        ranks: &mut Ranks,
        limits: &RunLimits,
    ) -> Result<bool, RankError> {
        if limits.max_time.is_none() {
            return Ok(true);
        }
        let stop = self.run_shared_slices(ranks, limits, |_, _| Ok(None))?;
        Ok(stop == StopReason::TimeLimit)
    }

    /// Runs slice by slice until `stop` ends it at all ranks, or a limit is reached.
    fn run_shared_slices(
        &mut self,
        ranks: &mut Ranks,
        limits: &RunLimits,
        mut stop: impl FnMut(&RunState, &mut Ranks) -> Result<Option<StopReason>, RankError> + Send,
    ) -> Result<StopReason, RankError> {
        let max_time = limits.max_time.unwrap_or(SimTime::MAX);
        let mut watch = std::mem::take(self.watch_mut());
        let (mut components, stream) = self.divide(Some(ranks));
        let most_threads = components.iter().map(Component::most_threads).sum();
        let pool = ThreadPool::new(limits.threads.get().min(most_threads));
        let (stop, now) = pool.install(|| {
            loop {
                ranks.want_end(limits.interrupted());
                let state =
                    RunState::measure(&components, &mut watch, limits.quiet).agree(ranks)?;
                let now = state.now;
                limits.reached(now);
                if ranks.is_interrupted() {
                    return Ok((StopReason::Interrupted, now));
                }
                if let Some(stop) = stop(&state, ranks)? {
                    return Ok((stop, now));
                }
                if now >= max_time {
                    return Ok((StopReason::TimeLimit, now));
                }
                let end = end_of_slice(state.next_activity.max(now)).min(max_time);
                run_slice(&mut components, end, &pool, limits, ranks)?;
                let all = earliest(components.iter().map(Component::now));
                stream.pass_on_before(all, components.iter_mut().flat_map(Component::traces));
            }
        })?;
        let members = components.iter_mut().flat_map(|all| &mut all.members);
        for member in members.filter(|member| !member.is_mine) {
            member.node.set_now(now);
        }
        drop(components);
        *self.watch_mut() = watch;
        Ok(stop)
    }

    /// The lines of [`describe`](Self::describe), each by the rank that executes the node.
    fn describe_shared(&self, ranks: &mut Ranks) -> Result<Vec<String>, RankError> {
        let owned = (0..self.nodes.len()).filter(|&node| ranks.owns(node));
        let mine: Vec<_> = owned.map(|node| (node, self.describe_node(node))).collect();
        let waiting = self.describe_waiting();
        let mut nodes = Vec::new();
        let mut most = Vec::new();
        for (lines, waiting) in ranks.gather(&(mine, waiting))? {
            nodes.extend(lines);
            // Ranks that do not run a network have no lines of it; replicas have the same.
            if waiting.len() > most.len() {
                most = waiting;
            }
        }
        // In the order in which a single process lists them.
        nodes.sort_by_key(|(node, _)| *node);
        let lines = nodes.into_iter().flat_map(|(_, lines)| lines).chain(most);
        Ok(lines.collect())
    }

    /// After the last run: brings the traces of all places, and the links and switches that other ranks ran, to this rank, so that hash and
    /// counts are those of the whole world.
    ///
    /// # Errors
    /// If another rank is gone or has built another world.
    pub fn complete_shared(&mut self, ranks: &mut Ranks) -> Result<(), RankError> {
        let (mut components, _) = self.divide(Some(ranks));
        let mut out = Writer::default();
        for component in &mut components {
            component.save_mine(&mut out);
        }
        let me = ranks.rank();
        let messages = ranks.exchange(&out.into_bytes())?;
        for (rank, message) in messages.iter().enumerate() {
            if rank != me {
                let mut from = Reader::new(message);
                let mut others = components.iter_mut();
                let done = others.try_for_each(|component| component.load_of(rank, &mut from));
                done.map_err(|error| RankError::Unreadable { rank, error })?;
            }
        }
        Ok(())
    }
}

/// Brings all nodes to `end`. Components that several ranks execute run one after the other, in the same order at all ranks.
fn run_slice(
    components: &mut [Component<'_>],
    end: SimTime,
    pool: &ThreadPool,
    limits: &RunLimits,
    ranks: &mut Ranks,
) -> Result<(), RankError> {
    let is_whole = |component: &&mut Component<'_>| component.is_mine() && !component.is_divided();
    let mut whole: Vec<_> = components.iter_mut().filter(is_whole).collect();
    pool.for_each(&mut whole, |component| {
        component.run_until(end, pool, || limits.interrupted());
    });
    for component in components {
        if component.is_divided() {
            component.run_divided(end, pool, || limits.interrupted(), ranks)?;
        }
    }
    Ok(())
}

impl Component<'_> {
    /// Saves what other ranks need of this one: the traces of its nodes, and the links and switches that it carries out alone.
    fn save_mine(&mut self, out: &mut Writer) {
        for member in self.members.iter().filter(|member| member.is_mine) {
            member.node.trace.save(out);
        }
        let (is_mine, is_divided) = (self.is_mine(), self.is_divided());
        let Some(segment) = &mut self.segment else {
            return;
        };
        match segment.part() {
            Some(part) => part.save_part(out),
            None if is_mine && !is_divided => segment.save(out),
            None => {}
        }
    }

    /// Loads what another rank saved.
    fn load_of(&mut self, rank: usize, from: &mut Reader<'_>) -> Result<(), StateError> {
        let is_divided = self.is_divided();
        let mut all = true;
        for member in &mut self.members {
            all &= member.owner == rank;
            if member.owner == rank {
                let trace: &mut Tracer = &mut member.node.trace;
                trace.load(from)?;
            }
        }
        let Some(segment) = &mut self.segment else {
            return Ok(());
        };
        match segment.part() {
            Some(part) => part.load_part(rank, from),
            None if all && !is_divided => segment.load(from),
            None => Ok(()),
        }
    }
}

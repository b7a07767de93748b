//! `--explain`: where the time of a short message goes, and how many instructions its packet takes.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use emulator::observe::event::{Place, TraceEvent};
use emulator::observe::instructions::InstructionLog;
use emulator::observe::instructions::steps::{Action, Steps};
use emulator::observe::stream::Observer;
use emulator::sim::time::{ClockDomain, SimTime};
use lanigon_analysis::ledger::follow::Follower;
use lanigon_analysis::ledger::{Ledger, Owner};
use lanigon_experiments::Error;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::nodes::START;
use serde::Serialize;

use super::SHORT;
use super::bench::{Setup, span};

/// Rounds of the ping-pong before the measured ones.
const WARM_UP: u32 = 1;

/// A part of the time of a message, as a mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimePart {
    /// Owner of the time.
    pub owner: &'static str,
    /// Name.
    pub what: String,
    /// Sum over all messages, in picoseconds.
    pub sum_ps: u64,
    /// Mean in microseconds.
    pub mean_us: f64,
    /// Instructions that the CPU of a board executed meanwhile; `None` for the host and the wire.
    pub instructions: Option<f64>,
}

/// The mean message of a ping-pong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Name of the profile.
    pub profile: String,
    /// Length of the messages.
    pub bytes: u32,
    /// Number of messages.
    pub messages: u32,
    /// Half of the mean round trip, in microseconds: the sum of all parts.
    pub latency_us: f64,
    /// The measured time of all messages, in picoseconds: the sum of all parts.
    pub sum_ps: u64,
    /// The parts, in the order of their occurrence.
    pub parts: Vec<TimePart>,
    /// Instructions between the host's post and the packet's first byte but for waits for DMA.
    pub sent_instructions: f64,
    /// Instructions between the packet in memory and the start of its DMA to the host.
    pub received_instructions: f64,
}

/// Instructions that each node's CPU begins.
#[derive(Debug, Default)]
struct InstructionCounts {
    cores: BTreeMap<u16, (Steps, Vec<u64>)>,
}

/// Observer that notes when each instruction begins.
#[derive(Debug, Clone, Default)]
struct Instructions(Arc<Mutex<InstructionCounts>>);

impl Observer for Instructions {
    fn event(&mut self, _: &TraceEvent) {}

    fn sees_instructions(&self) -> bool {
        true
    }

    fn instructions(&mut self, place: Place, _: usize, log: &InstructionLog) {
        let Place::Node(node) = place else {
            return;
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (steps, starts) = counts.cores.entry(node).or_default();
        for record in log.records() {
            match steps.follow(record) {
                Some(Action::Executed(executed)) => starts.push(executed.start),
                // Programs begin later: only the last rounds before them could matter.
                Some(Action::Rounds {
                    start,
                    round_ticks,
                    instructions,
                    rounds,
                }) => {
                    let clock = ClockDomain::new(steps.ticks_per_second().max(1));
                    let end = start.saturating_add(round_ticks.saturating_mul(rounds));
                    if end > clock.first_at(START) {
                        let all = steps.skipped(start, instructions, rounds);
                        starts.extend(all.map(|executed| executed.start));
                    }
                }
                _ => {}
            }
        }
    }
}

impl InstructionCounts {
    /// Whether the records of all CPUs end at this time or before, but for an instruction under way.
    fn end_by(&self, time: SimTime) -> bool {
        let slack = SimTime::from_us(1);
        self.cores.values().all(|(steps, _)| {
            let clock = ClockDomain::new(steps.ticks_per_second().max(1));
            steps.tick() <= clock.first_at(time + slack)
        })
    }

    /// Number of instructions that a node's CPU began from one time to another one.
    fn between(&self, node: u16, from: SimTime, to: SimTime) -> u64 {
        let Some((steps, starts)) = self.cores.get(&node) else {
            return 0;
        };
        let clock = ClockDomain::new(steps.ticks_per_second().max(1));
        let [from, to] = [from, to].map(|time| {
            let tick = clock.first_at(time);
            starts.partition_point(|start| *start < tick)
        });
        to.saturating_sub(from) as u64
    }
}

impl Setup<'_> {
    /// Follows the messages of a ping-pong of `rounds` rounds.
    ///
    /// # Errors
    /// If a program fails.
    pub fn explain(&self, rounds: u32) -> Result<Explanation, Error> {
        let mut gm = self.world()?;
        let follower = Follower::new(Protocol::Gm, self.profile);
        let counter = Instructions::default();
        gm.world.observe(Box::new(follower.clone()));
        gm.world.observe(Box::new(counter.clone()));
        let span_ps = span(&self.ping_pong(&mut gm, SHORT, rounds)?);
        gm.world.finish_observing();
        let account = follower.account(self.profile)?;
        let ledgers = account.ledgers.into_iter();
        let measured: Vec<Ledger> = ledgers
            .filter(|ledger| ledger.id.number >= WARM_UP)
            .collect();
        let counts = counter.0.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(counts.end_by(gm.world.now()), "instructions of the future");
        Ok(self.sum_up(&measured, &counts, span_ps))
    }

    fn sum_up(&self, ledgers: &[Ledger], counts: &InstructionCounts, span_ps: u64) -> Explanation {
        let mut parts: Vec<(Owner, &str, u64, u64)> = Vec::new();
        for span in ledgers
            .iter()
            .flat_map(|ledger| ledger.spans.iter().map(move |span| (ledger, span)))
        {
            let (ledger, span) = span;
            let node = match span.owner {
                Owner::SenderNic => Some(ledger.id.from),
                Owner::ReceiverNic => Some(ledger.id.to),
                _ => None,
            };
            let count = node.map_or(0, |node| counts.between(node, span.from, span.to));
            let ps = span.time().ps();
            let same = |part: &&mut (Owner, &str, u64, u64)| {
                (part.0, part.1) == (span.owner, span.what.as_str())
            };
            match parts.iter_mut().find(same) {
                Some(part) => (part.2, part.3) = (part.2 + ps, part.3 + count),
                None => parts.push((span.owner, &span.what, ps, count)),
            }
        }
        parts.sort_by_key(|part| part.0);
        let inside: u64 = parts.iter().map(|part| part.2).sum();
        let between = span_ps.saturating_sub(inside);
        if between > 0 {
            let what = "the next receive buffer, before the next send";
            parts.push((Owner::ReceiverHost, what, between, 0));
        }
        let messages = ledgers.len() as f64;
        let count = |names: &[&str]| {
            let chosen = parts.iter().filter(|part| names.contains(&part.1));
            chosen.map(|part| part.3).sum::<u64>() as f64 / messages
        };
        let sent_instructions = count(&["CPU: take send slot", "CPU: SDMA", "CPU: SEND"]);
        let received_instructions = count(&["CPU: RECV", "CPU: RDMA"]);
        let part = |(owner, what, sum_ps, instructions): (Owner, &str, u64, u64)| TimePart {
            owner: owner.name(),
            what: what.into(),
            sum_ps,
            mean_us: sum_ps as f64 / messages / 1e6,
            instructions: matches!(owner, Owner::SenderNic | Owner::ReceiverNic)
                .then(|| instructions as f64 / messages),
        };
        Explanation {
            profile: self.profile.name.clone(),
            bytes: SHORT,
            messages: ledgers.len() as u32,
            latency_us: span_ps as f64 / messages / 1e6,
            sum_ps: span_ps,
            parts: parts.into_iter().map(part).collect(),
            sent_instructions,
            received_instructions,
        }
    }
}

/// Writes an explanation.
pub(super) fn write(text: &mut String, of: &Explanation) -> fmt::Result {
    writeln!(
        text,
        "GM, profile {}: where the {:.2} us of a message of {} bytes go,\nas means of {} messages of a ping-pong\n\n  mean us  instructions",
        of.profile, of.latency_us, of.bytes, of.messages
    )?;
    let mut owner = "";
    for part in &of.parts {
        if part.owner != owner {
            owner = part.owner;
            writeln!(text, "                        {owner}")?;
        }
        let count = part
            .instructions
            .map_or_else(String::new, |count| format!("{count:.1}"));
        writeln!(text, "{:>9.3}{count:>14}   {}", part.mean_us, part.what)?;
    }
    writeln!(text, "{:>9.3}                 in all\n", of.latency_us)?;
    writeln!(
        text,
        "Instructions for each packet: {:.0} to send it (take send slot, SDMA, SEND), {:.0} to\nreceive it (RECV, RDMA).\n",
        of.sent_instructions, of.received_instructions
    )
}

//! Mapping of published numbers to measurements, and their value as evidence.
//!
//! The rules use the columns of `data/published-emp.csv`: the kind of a number selects its measurement.

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::descriptor::PAGE_BYTES;
use defs::emp::frame::{data_frame_capacity, header_frame_capacity};
use defs::probe::stage;
use emulator::profile::Profile;
use emulator::profile::costs::HostCosts;

use super::key::{Experiment, Key};
use super::published::PARAMETER;
use super::results::ProfileResults;
use super::{FRAME, LARGE, LEDGERS, SMALL, Task};
use crate::emp::measure::passing::System;
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::testbed::Testbed;
use lanigon_experiments::published::Published;
use lanigon_experiments::row;
use lanigon_worlds::nodes::EMP_SRAM_BYTES;
use lanigon_worlds::wire_times::wire_bytes;

/// Value of a result as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The published number is an input of the model.
    Input,
    /// The model was adjusted to the published number.
    Calibrated,
    /// The result was predicted by the model.
    Predicted,
    /// A property of this firmware, compared with that of the thesis's firmware.
    Compared,
}

impl Role {
    /// Name in rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Calibrated => row::CALIBRATED,
            Self::Predicted => row::PREDICTED,
            Self::Compared => "compared",
        }
    }
}

/// Comparison of a value with its published number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// By relative error.
    Error,
    /// A lower bound.
    AtLeast,
    /// An upper bound.
    AtMost,
}

/// A cost of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// One poll of NIC memory by a host, in ns.
    Poll,
    /// The translation of one page, in us.
    Translation,
}

impl Cost {
    fn time_on(self, host: &HostCosts) -> f64 {
        match self {
            Self::Poll => host.pio_read.us() * 1e3,
            Self::Translation => host.translate.us(),
        }
    }
}

/// A quantity to measure or compute.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantity {
    /// A point's value.
    Point(Key),
    /// The highest value over all sizes.
    Peak(Key),
    /// Reduction of the first against the second, in percent.
    Reduction(Key, Key),
    /// Increase of the first over the second, in percent.
    Increase(Key, Key),
    /// Largest increase of the first over the second, in percent.
    PeakIncrease(Key, Key),
    /// By how much the first is above the second.
    Difference(Key, Key),
    /// A point's value as percentage of a bandwidth.
    Share(Key, f64),
    /// By how much a system's latency is below a point's at most, over these message lengths.
    Advantage(System, Key, &'static [u32]),
    /// Duration of a stage in a scheme, on one CPU or both.
    Stage {
        /// Scheme of the stage.
        scheme: Scheme,
        /// The firmware's stages that form it.
        stages: &'static [&'static str],
        /// The CPU, if one.
        cpu: Option<usize>,
    },
    /// The shortest DMA of a short message and of a full frame, in us.
    ShortestDma,
    /// The longest DMA of a short message and of a full frame, in us.
    LongestDma,
    /// The highest bandwidth of TCP; whether the hosts' processors take time.
    Tcp(bool),
    /// A cost of the profile.
    Cost(Cost),
    /// A value that follows from parameters alone.
    Constant(f64),
}

/// Answer to a published number.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Quantity that answers the number.
    pub quantity: Quantity,
    /// Comparison of the quantity with the number.
    pub comparison: Comparison,
    role: Role,
    /// Note for the reader.
    pub note: &'static str,
}

impl Answer {
    const fn new(role: Role, quantity: Quantity) -> Self {
        Self {
            quantity,
            comparison: Comparison::Error,
            role,
            note: "",
        }
    }

    const fn predicted(quantity: Quantity) -> Self {
        Self::new(Role::Predicted, quantity)
    }

    fn bound(self, number: &Published) -> Self {
        let comparison = if number.quantity.contains("lower bound") {
            Comparison::AtLeast
        } else if number.quantity.contains("upper bound") {
            Comparison::AtMost
        } else {
            self.comparison
        };
        Self { comparison, ..self }
    }

    const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Role of number `id` under a profile. Plain hardware has no stage durations as inputs. A result that
    /// a profile entry names as its source is not a prediction.
    #[must_use]
    pub fn role(&self, id: &str, profile: &Profile) -> Role {
        let named = || profile.stages.values().any(|entry| entry.source == id);
        match self.quantity {
            Quantity::Stage { .. } if profile.stages.is_empty() => Role::Compared,
            Quantity::Point(_) if named() => Role::Calibrated,
            _ => self.role,
        }
    }
}

impl Quantity {
    /// Tasks needed for the quantity; curves have these sizes.
    #[must_use]
    pub fn needs(&self, sizes: &[u32]) -> Vec<Task> {
        let points = |keys: Vec<Key>| keys.into_iter().map(Task::Point).collect();
        let sweep = |key: Key| sizes.iter().map(move |&size| key.sized(size));
        match self {
            Self::Point(key) | Self::Share(key, _) => points(vec![*key]),
            Self::Peak(key) => points(sweep(*key).collect()),
            Self::PeakIncrease(key, base) => points(sweep(*key).chain([*base]).collect()),
            Self::Reduction(a, b) | Self::Increase(a, b) | Self::Difference(a, b) => {
                points(vec![*a, *b])
            }
            Self::Advantage(system, key, sizes) => {
                let own = sizes.iter().map(|&size| Task::Point(key.sized(size)));
                let others = sizes.iter().map(|&size| Task::Other(*system, size));
                own.chain(others).collect()
            }
            Self::Stage { scheme, .. } => vec![Task::Ledger(*scheme, SMALL)],
            Self::ShortestDma | Self::LongestDma => {
                LEDGERS.map(|size| Task::Ledger(Scheme::Base, size)).into()
            }
            // Its rows say what comes with and without.
            Self::Tcp(_) => vec![Task::Tcp(true), Task::Tcp(false)],
            Self::Cost(_) | Self::Constant(_) => Vec::new(),
        }
    }

    /// Scheme whose firmware is needed.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::Point(key)
            | Self::Share(key, _)
            | Self::Peak(key)
            | Self::PeakIncrease(key, _)
            | Self::Reduction(key, _)
            | Self::Increase(key, _)
            | Self::Difference(key, _)
            | Self::Advantage(_, key, _) => Some(key.scheme),
            Self::Stage { scheme, .. } => Some(*scheme),
            Self::ShortestDma | Self::LongestDma => Some(Scheme::Base),
            Self::Tcp(_) | Self::Cost(_) | Self::Constant(_) => None,
        }
    }

    /// Value of the quantity under a profile, if measured.
    #[must_use]
    pub fn value(&self, results: &ProfileResults) -> Option<f64> {
        let value = |key: &Key| results.value(*key);
        let ratio = |a: f64, b: f64| 100.0 * (a / b - 1.0);
        match self {
            Self::Point(key) => value(key),
            Self::Peak(key) => peak(results, *key),
            Self::Reduction(a, b) => Some(-ratio(value(a)?, value(b)?)),
            Self::Increase(a, b) => Some(ratio(value(a)?, value(b)?)),
            Self::PeakIncrease(a, b) => Some(ratio(peak(results, *a)?, value(b)?)),
            Self::Difference(a, b) => Some(value(a)? - value(b)?),
            Self::Share(key, of) => Some(100.0 * value(key)? / of),
            Self::Advantage(system, key, sizes) => {
                let below =
                    |&size: &u32| Some(value(&key.sized(size))? - results.other(*system, size)?);
                let all: Option<Vec<_>> = sizes.iter().map(below).collect();
                all?.into_iter().reduce(f64::max)
            }
            Self::Stage {
                scheme,
                stages,
                cpu,
            } => stage_us(results, *scheme, stages, *cpu),
            Self::ShortestDma => dma_us(results).reduce(f64::min),
            Self::LongestDma => dma_us(results).reduce(f64::max),
            Self::Tcp(processor) => results.tcp.get(processor)?.peak(),
            Self::Cost(cost) => Some(cost.time_on(&results.profile.host)),
            Self::Constant(value) => Some(*value),
        }
    }
}

/// Highest value of a curve.
#[must_use]
pub fn peak(results: &ProfileResults, curve: Key) -> Option<f64> {
    let on_curve = |(key, _): &(&Key, _)| key.sized(0) == curve.sized(0);
    let points = results.points.iter().filter(on_curve);
    points.map(|(_, point)| point.value).reduce(f64::max)
}

fn stage_us(
    results: &ProfileResults,
    scheme: Scheme,
    stages: &[&str],
    cpu: Option<usize>,
) -> Option<f64> {
    let scheme = results.schemes.get(&scheme)?;
    let us = |name: &&str| {
        let (stage, factor) = scheme.stage(name)?;
        Some(factor * cpu.map_or(stage.us, |cpu| stage.cpus_us[cpu]))
    };
    // Without the probe, one stage contains both parts.
    let marked = |name: &str| scheme.stage(name).is_some();
    match stages {
        [whole, part] if !marked(part) => us(whole),
        [stage::RECEIVE_BOOKKEEPING] if !marked(stage::RECEIVE_FRAME) => None,
        _ => stages.iter().map(us).sum(),
    }
}

/// Durations of the DMA transfers of a short message and of a full frame.
fn dma_us(results: &ProfileResults) -> impl Iterator<Item = f64> + '_ {
    let ledgers = results.schemes.get(&Scheme::Base).into_iter();
    let ledgers = ledgers.flat_map(|scheme| scheme.ledgers.values());
    ledgers.flat_map(|quiet| quiet.dma.iter().map(|span| span.us()))
}

/// Bandwidth of messages of `size` bytes with frames back to back.
#[must_use]
pub fn limit_megabits_per_s(size: u32) -> f64 {
    let (header, data) = (FRAME, data_frame_capacity(DEFAULT_FRAME_BYTES));
    let overhead = DEFAULT_FRAME_BYTES - header_frame_capacity(DEFAULT_FRAME_BYTES);
    let more = size.saturating_sub(header);
    let headers = overhead + (DEFAULT_FRAME_BYTES - data) * more.div_ceil(data);
    let frames = 1 + u64::from(more.div_ceil(data));
    let bytes = wire_bytes(0) * frames + u64::from(size + headers);
    f64::from(size) / bytes as f64 * 1000.0
}

/// Message lengths below 256 bytes.
const SHORT: &[u32] = &[4, SMALL];

/// Note on numbers of TCP: what they come from.
const TCP_NOTE: &str = "Linux 6.1 with its own driver, this project's firmware, and time of the processor by host.kernel_... of the profile, which were set before the first run";

/// Answers to numbers of other systems.
fn other_answer(number: &Published) -> Option<Answer> {
    let base = Key::new(Experiment::Latency, Scheme::Base, SMALL);
    match number.scheme {
        "tcp" => Some(Answer::predicted(Quantity::Tcp(true)).note(TCP_NOTE)),
        "gm" if number.quantity.starts_with("advantage") => {
            let advantage = Quantity::Advantage(System::Gm, base, SHORT);
            Some(Answer::predicted(advantage).note("GM on boards with a LANai 7.2 at 66 MHz"))
        }
        _ => None,
    }
}

/// Answer to a published number; `None` for parameters of the experiments.
#[must_use]
pub fn answer(number: &Published) -> Option<Answer> {
    if number.kind == PARAMETER {
        return None;
    }
    if let Some(answer) = other_answer(number) {
        return Some(answer);
    }
    let head = number.quantity.split([';', ':']).next()?;
    let answer = match head {
        "stage" => stage_answer(number),
        _ if number.experiment == "-" => cost_answer(number, head),
        _ => point_answer(number, head),
    }?;
    Some(answer.bound(number))
}

/// Answers to numbers of the benchmarks.
fn point_answer(number: &Published, head: &str) -> Option<Answer> {
    let scheme = Scheme::by_name(number.scheme)?;
    let experiment = Experiment::by_name(number.experiment)?;
    let testbed = Testbed::by_name(number.testbed)?;
    let default = match experiment {
        Experiment::Latency => SMALL,
        Experiment::OneWay | Experiment::TwoWay => LARGE,
    };
    let size = number.message_bytes.unwrap_or(default);
    let key = Key::new(experiment, scheme, size).with_testbed(testbed);
    let base = key.with_scheme(Scheme::Base);
    Some(match head {
        "bandwidth" if number.quantity.contains("highest") => {
            Answer::predicted(Quantity::Peak(key))
        }
        "latency" | "bandwidth" => {
            Answer::predicted(Quantity::Point(key)).note(contradiction(number.id))
        }
        "reduction against base" => Answer::predicted(Quantity::Reduction(key, base)),
        "increase against base" => Answer::predicted(Quantity::Increase(key, base)),
        "bandwidth gain over base" => Answer::predicted(Quantity::PeakIncrease(key, base)),
        "added by a switch" => {
            let direct = key.with_testbed(Testbed::Direct933);
            Answer::new(Role::Calibrated, Quantity::Difference(key, direct))
                .note("the latency of the switch is calibrated on emp-006 and emp-007")
        }
        "share of the line rate that is delivered" => {
            Answer::predicted(Quantity::Share(key, 1000.0)).note(contradiction(number.id))
        }
        "share of the theoretical limit" => {
            Answer::predicted(Quantity::Share(key, limit_megabits_per_s(size)))
        }
        _ => return None,
    })
}

/// Notes on numbers that the thesis gives more than once, with different values.
const fn contradiction(id: &str) -> &'static str {
    match id.as_bytes() {
        b"emp-002" | b"emp-183" => {
            "the thesis says 840 elsewhere (emp-005), and 80 % of the line rate (emp-072)"
        }
        b"emp-005" => {
            "the thesis says 880 elsewhere (emp-002, emp-183), and 80 % of the line rate (emp-072)"
        }
        b"emp-072" => "the thesis says 840 and 880 Mb/s elsewhere (emp-005, emp-002)",
        b"emp-182" => "4 us above emp-001; elsewhere the switch adds 5 to 6 us (emp-006, emp-007)",
        _ => "",
    }
}

/// Answers to numbers of single operations.
fn cost_answer(number: &Published, head: &str) -> Option<Answer> {
    let us = |quantity| Answer::predicted(quantity);
    Some(match head {
        "mapping one page" => Answer::new(Role::Input, Quantity::Cost(Cost::Translation))
            .note("the profile's host.translate, a guess: nothing was measured"),
        "one DMA operation" if number.quantity.contains("lower") => us(Quantity::ShortestDma),
        "one DMA operation" => us(Quantity::LongestDma),
        "one poll of a descriptor by the host" => {
            Answer::new(Role::Input, Quantity::Cost(Cost::Poll))
        }
        "host memory that page tables in all of the SRAM could map" => {
            let entries =
                f64::from(EMP_SRAM_BYTES) / f64::from(defs::emp::descriptor::PAGE_ENTRY_BYTES);
            let megabytes = entries * f64::from(PAGE_BYTES) / f64::from(1 << 20);
            Answer::new(Role::Input, Quantity::Constant(megabytes))
                .note("follows from parameters alone")
        }
        _ => return None,
    })
}

/// Stages of Tables 3.1 to 3.3, and the firmware's stages that form them.
const STAGES: [(&str, &[&str]); 8] = [
    (
        "send bookkeeping",
        &[stage::SEND_BOOKKEEPING, stage::SEND_FRAME],
    ),
    ("transmission", &[stage::TRANSMISSION]),
    ("receive ack", &[stage::TAKE_ACK, stage::RECEIVE_ACK]),
    (
        "receive bookkeeping",
        &[stage::RECEIVE_BOOKKEEPING, stage::RECEIVE_FRAME],
    ),
    (
        "receive bookkeeping (without the frame)",
        &[stage::RECEIVE_BOOKKEEPING],
    ),
    ("receive bookkeeping (the frame)", &[stage::RECEIVE_FRAME]),
    ("receiving", &[stage::RECEIVING]),
    ("send ack", &[stage::SEND_ACK]),
];

fn stage_answer(number: &Published) -> Option<Answer> {
    let mut words = number.quantity.strip_prefix("stage: ")?.split("; ");
    let name = words.next()?;
    let cpu = match words.next() {
        None => None,
        Some("CPU A") => Some(0),
        Some("CPU B") => Some(1),
        Some(_) => return None,
    };
    let stages = stages_of(name, cpu)?;
    let quantity = Quantity::Stage {
        scheme: Scheme::by_name(number.scheme)?,
        stages,
        cpu,
    };
    Some(Answer::new(Role::Input, quantity))
}

/// The firmware's stages for a stage of the tables. If receive ack is divided, the sender's part, always on
/// CPU A, has the name of the whole.
fn stages_of(name: &str, cpu: Option<usize>) -> Option<&'static [&'static str]> {
    match (name, cpu) {
        ("receive ack (part)", Some(0)) => Some(&[stage::RECEIVE_ACK]),
        ("receive ack (part)", Some(_)) => Some(&[stage::TAKE_ACK]),
        _ => STAGES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, stages)| *stages),
    }
}

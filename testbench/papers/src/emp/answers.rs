//! Mapping of published numbers to measurements, and their value as evidence: the rules of `statements.toml`.
//!
//! A rule's formula also tells what is to be measured for a number: everything that it looks for.

use std::cell::RefCell;
use std::sync::LazyLock;

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::descriptor::{PAGE_BYTES, PAGE_ENTRY_BYTES};
use defs::emp::frame::{data_frame_capacity, header_frame_capacity};
use defs::probe::stage;
use emulator::profile::Profile;

use super::key::Key;
use super::published::{PARAMETER, TABLE};
use super::results::{Lacks, ProfileResults};
use super::{FRAME, LEDGERS, SMALL, STATEMENTS, Task};
use crate::emp::measure::netpipe::{NetPipe, Stack};
use crate::emp::measure::scheme::Scheme;
use lanigon_experiments::formula::{FormulaError, FormulaValue, Measurements};
use lanigon_experiments::published::Published;
use lanigon_experiments::row::{CALIBRATED, PREDICTED};
use lanigon_experiments::statements::{StatedRole, Statements};
use lanigon_worlds::nodes::EMP_SRAM_BYTES;
use lanigon_worlds::wire_times::wire_bytes;

/// The rules. What is wrong in them is an error of the experiment.
static RULES: LazyLock<Statements> = LazyLock::new(|| STATEMENTS.parse().unwrap_or_default());

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

/// Answer to a published number.
#[derive(Debug, Clone, Copy)]
pub struct Answer(&'static Published);

/// The thesis's figures whose numbers are wanted, and the tasks that they need for curves of these sizes.
pub(super) fn figures(sizes: &[u32], wanted: &dyn Fn(&str) -> bool) -> (Vec<String>, Vec<Task>) {
    let needs = Needs::of(sizes);
    // Without the name of a profile behind it.
    let number = |file: &str| {
        file.trim_start_matches("figure-")
            .trim_end_matches('-')
            .to_owned()
    };
    let all = RULES.some_figures(&TABLE, &needs, &|file| wanted(&number(file)));
    let numbers = all.iter().map(|(file, _)| number(file)).collect();
    (numbers, needs.tasks.into_inner())
}

/// Answer to a published number; `None` for parameters of the experiments.
#[must_use]
pub fn answer(number: &'static Published) -> Option<Answer> {
    (number.kind != PARAMETER && RULES.has(number)).then_some(Answer(number))
}

impl Answer {
    /// Tasks that are needed, in the order in which the formula looks for them; curves have these sizes.
    #[must_use]
    pub fn needs(&self, sizes: &[u32]) -> Vec<Task> {
        let needs = Needs::of(sizes);
        RULES.value(self.0, &needs);
        needs.tasks.into_inner()
    }

    /// The value under a profile, if measured.
    #[must_use]
    pub fn value(&self, results: &ProfileResults) -> Option<f64> {
        RULES.value(self.0, results)
    }

    /// Comparison of the value with the number.
    #[must_use]
    pub fn comparison(&self) -> Comparison {
        match self.0.quantity {
            lower if lower.contains("lower bound") => Comparison::AtLeast,
            upper if upper.contains("upper bound") => Comparison::AtMost,
            _ => Comparison::Error,
        }
    }

    /// Note for the reader.
    #[must_use]
    pub fn note(&self, results: &ProfileResults) -> String {
        RULES.note(self.0, results)
    }

    /// The point, if the value is that of one.
    #[must_use]
    pub fn point(&self) -> Option<Key> {
        match self.needs(&[])[..] {
            [Task::Point(key)] if RULES.is_point(self.0) => Some(key),
            _ => None,
        }
    }

    /// Why there is no value.
    #[must_use]
    pub fn why_missing(&self, lacks: &Lacks) -> String {
        let needs = self.needs(&[SMALL]);
        let other = needs.iter().find(|task| match task {
            Task::Point(key) => key.experiment.is_other(),
            Task::NetPipe(_) => true,
            Task::Ledger(..) | Task::Usage(..) => false,
        });
        match other {
            Some(Task::NetPipe(_)) => lacks.of_tcp(),
            Some(_) => lacks.of_other(),
            None => lacks.of(needs.first().map(|task| task.scheme())),
        }
    }

    /// Role of the number under a profile. Plain hardware has no stage durations as inputs: they are a property of this firmware. A result
    /// that a profile entry names as its source is not a prediction.
    #[must_use]
    pub fn role(&self, profile: &Profile) -> &'static str {
        let named = || {
            profile
                .stages
                .values()
                .any(|entry| entry.source == self.0.id)
        };
        match RULES.role(self.0) {
            Some(StatedRole::Input)
                if self.0.quantity.starts_with("stage") && profile.stages.is_empty() =>
            {
                "compared"
            }
            Some(stated) => stated.name(),
            None if self.point().is_some() && named() => CALIBRATED,
            None => PREDICTED,
        }
    }
}

/// Measurements that a formula looks for.
struct Needs {
    sizes: Vec<f64>,
    tasks: RefCell<Vec<Task>>,
}

impl Needs {
    fn of(sizes: &[u32]) -> Self {
        Self {
            sizes: sizes.iter().copied().map(f64::from).collect(),
            tasks: RefCell::default(),
        }
    }
}

impl Measurements for Needs {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        let mut tasks = self.tasks.borrow_mut();
        match (measure, at) {
            ("sizes", []) => return Ok(self.sizes.clone().into()),
            ("profile", []) => return Ok("".into()),
            ("dma_us", []) => tasks.extend(LEDGERS.map(|size| Task::Ledger(Scheme::Base, size))),
            // Its rows say what comes with and without.
            ("tcp_peak", []) => {
                tasks.extend([Stack::Tcp, Stack::TcpWithoutTime].map(Task::NetPipe));
            }
            ("stage", [scheme, ..]) => {
                tasks.extend(Scheme::by_name(scheme.text()?).map(|one| Task::Ledger(one, SMALL)));
            }
            ("poll_ns" | "translation_us" | "mapped_megabytes", []) | ("limit", [_]) => {}
            (_, []) => return Err(FormulaError::unknown(measure)),
            ("tcp" | "sockets", [_]) => {}
            _ => tasks.push(Task::Point(Key::read(measure, at)?)),
        }
        Ok(1.0.into())
    }
}

/// Quantities of single operations, and what follows from parameters alone.
pub(super) fn find(
    results: &ProfileResults,
    measure: &str,
    at: &[FormulaValue],
) -> Option<Result<FormulaValue, FormulaError>> {
    let host = &results.profile.host;
    let number: Option<f64> = match (measure, at) {
        ("tcp_peak", []) => results.netpipe.get(&Stack::Tcp).and_then(NetPipe::peak),
        ("sockets_peak", []) => results.netpipe.get(&Stack::Emp).and_then(NetPipe::peak),
        ("poll_ns", []) => Some(host.pio_read.us() * 1e3),
        ("translation_us", []) => Some(host.translate.us()),
        ("mapped_megabytes", []) => {
            let entries = f64::from(EMP_SRAM_BYTES) / f64::from(PAGE_ENTRY_BYTES);
            Some(entries * f64::from(PAGE_BYTES) / f64::from(1 << 20))
        }
        ("limit", [size]) => {
            let size = size.number().ok()?;
            Some(limit_megabits_per_s(size as u32))
        }
        ("stage", [scheme, name, cpu]) => {
            let scheme = Scheme::by_name(scheme.text().ok()?)?;
            let name = name.text().ok()?.strip_prefix("stage: ")?;
            let cpu = ["CPU A", "CPU B"]
                .into_iter()
                .position(|one| cpu.text() == Ok(one));
            stage_us(results, scheme, stages_of(name, cpu)?, cpu)
        }
        ("dma_us", []) => {
            let ledgers = results.schemes.get(&Scheme::Base).into_iter();
            let ledgers = ledgers.flat_map(|scheme| scheme.ledgers.values());
            let all = ledgers.flat_map(|quiet| quiet.dma.iter().map(|span| span.us()));
            return Some(Ok(all.collect::<Vec<_>>().into()));
        }
        _ => return None,
    };
    Some(number.map(Into::into).ok_or_else(FormulaError::missing))
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
        let us = cpu.map_or(Some(&stage.us), |cpu| stage.cpus_us.get(cpu))?;
        Some(factor * us)
    };
    // Without the probe, one stage contains both parts.
    let marked = |name: &str| scheme.stage(name).is_some();
    match stages {
        [whole, part] if !marked(part) => us(whole),
        [stage::RECEIVE_BOOKKEEPING] if !marked(stage::RECEIVE_FRAME) => None,
        _ => stages.iter().map(us).sum(),
    }
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

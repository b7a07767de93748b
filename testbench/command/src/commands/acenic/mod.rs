//! `lanigon acenic`: Ethernet adapter firmware on two directly connected boards.

mod report;

use lanigon_worlds::boards;
use std::sync::Arc;

use defs::acenic::Mode;
use emulator::sim::node::Node;
use emulator::sim::world::{RunEnd, RunLimits, World};
use host_lib::acenic::{Config, JUMBO_MTU, NEGOTIATED_LINK};

use super::Status;
use crate::cli::{AcenicArgs, Assist};
use crate::progress::ProgressLine;
use crate::{logging, output};
use lanigon_analysis::trace::record;
use lanigon_worlds::acenic::frames::LONGEST_BYTES;
use lanigon_worlds::acenic::node::{self, ExchangePlan, NodeLog};
use lanigon_worlds::acenic::{self, AceFirmware};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::profile;
use report::AcenicReport;

/// Number of buffers for jumbo frames.
const JUMBO_BUFFERS: u32 = 64;

/// Runs the command.
///
/// # Errors
/// If the request is invalid, or a result cannot be written.
pub fn run(args: &AcenicArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    output::one_file_each(
        &[
            ("--firmware", &args.firmware),
            ("--profile", args.profile.as_ref()),
        ],
        &[("--trace", args.record.trace.as_deref())],
    )?;
    let firmware = acenic::read_firmware(&args.firmware, args.sram_bytes)?;
    if let Some(version) = firmware
        .version
        .filter(|version| version.is_older_protocol())
    {
        log::warn!(
            "{}: firmware {version} speaks the host protocol before 12.3, without a mini ring; this driver speaks the later one",
            args.firmware.display()
        );
    }
    let profile = profile::load(&args.profile)?;
    let config = config(args);
    let mut world = acenic::pair(&firmware, &profile, args.sram_bytes, config.link)?;
    let recording = args.record.begin(&mut world, || {
        let run = format!("acenic {}", args.firmware.display());
        record::header(
            &run,
            0,
            ["node 0", "node 1"].map(|node| (node.into(), boards::DEFAULT)),
        )
    })?;
    for node in &mut world.nodes {
        logging::show_trace(&mut node.trace);
    }
    let logs = spawn(&mut world, &firmware, &config, args);
    let progress = ProgressLine::run("frames", 2 * u64::from(args.frames));
    let limits = RunLimits {
        max_time: args.max_time,
        interrupt: Some(interrupt.flag()),
        clock: progress.clock(),
        ..RunLimits::default()
    };
    let mut shown = ShownEvents::default();
    let end = world.run_until(&limits, &mut || {
        progress.set(logs.iter().map(|log| u64::from(log.received())).sum());
        if !args.json {
            shown.show(&logs, &progress);
        }
        false
    });
    if !args.json {
        shown.show(&logs, &progress);
    }
    drop(progress);
    shown.outcome?;
    // An output error must not hide results.
    world.finish_observing();
    let status = finish(&world.nodes, &logs, &end, &firmware, args)?;
    recording.finish()?;
    Ok(status)
}

/// Shows the results.
fn finish(
    nodes: &[Node],
    logs: &[NodeLog],
    end: &RunEnd,
    firmware: &AceFirmware,
    args: &AcenicArgs,
) -> anyhow::Result<Status> {
    let report = AcenicReport::new(nodes, logs, end, firmware, args.frames);
    if args.json {
        output::print_json(&report.json())?;
    } else {
        output::print(&report.text(log::log_enabled!(log::Level::Info)))?;
    }
    Ok(match end {
        RunEnd::Interrupted => Status::Interrupted,
        _ if report.is_good() => Status::Done,
        _ => Status::Failed,
    })
}

fn config(args: &AcenicArgs) -> Config {
    let mut config = Config::default();
    config.mode.set(Mode::ONE_DMA, args.assist == Assist::Hw);
    if args.negotiate {
        config.link = NEGOTIATED_LINK;
    }
    if args.size.is_some_and(|size| size > LONGEST_BYTES) {
        config.jumbo_buffers = JUMBO_BUFFERS;
        config.mtu = JUMBO_MTU;
    }
    config
}

fn spawn(
    world: &mut World,
    firmware: &AceFirmware,
    config: &Config,
    args: &AcenicArgs,
) -> Vec<NodeLog> {
    let image = Arc::new(firmware.firmware.clone());
    let nodes = (0..).zip(&mut world.nodes);
    nodes
        .map(|(index, host)| {
            let plan = ExchangePlan {
                node: index,
                frames: args.frames,
                size: args.size,
            };
            node::spawn(host, &image, config, plan)
        })
        .collect()
}

/// Number of events already shown of each node.
struct ShownEvents {
    events: Vec<usize>,
    outcome: Result<(), output::WriteError>,
}

impl Default for ShownEvents {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            outcome: Ok(()),
        }
    }
}

impl ShownEvents {
    /// Shows new events, sorted by time.
    fn show(&mut self, logs: &[NodeLog], progress: &ProgressLine) {
        self.events.resize(logs.len(), 0);
        let mut lines = Vec::new();
        for (index, (log, shown)) in logs.iter().zip(&mut self.events).enumerate() {
            let (events, released_ps) = log.events_from(*shown);
            *shown += events.len();
            for event in events {
                let line = report::event_line(index, &event, released_ps);
                lines.push((event.time_ps, index, line));
            }
        }
        lines.sort_by_key(|(time_ps, index, _)| (*time_ps, *index));
        let text: String = lines.into_iter().map(|(_, _, line)| line).collect();
        if self.outcome.is_ok() && !text.is_empty() {
            self.outcome = progress.around(|| output::print(&text));
        }
    }
}

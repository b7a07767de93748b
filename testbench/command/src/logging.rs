//! Logging on standard error: guest warnings, and trace lines on request.
//!
//! The target of a log line is its block (`guest`, `cpu_a`, `dma_read`, `mac_tx`, ...), so that
//! `RUST_LOG=warn,dma_read=info` shows one block only.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::observe::tracer::{Sink, Tracer};
use env_logger::fmt::Formatter;
use log::{Level, LevelFilter, Record};

/// Target of warnings about guest mistakes.
const GUEST: &str = "guest";
/// Target of the firmware's log lines, which are also trace lines.
const FIRMWARE: &str = "firmware";
/// Largest number of guest warnings: mistakes usually repeat in a loop.
const MOST_GUEST_WARNINGS: u64 = 20;

/// Starts logging: `verbose` counts -v; RUST_LOG takes precedence.
pub fn init(verbose: u8) {
    let by_option = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let by_variable = std::env::var("RUST_LOG").ok();
    let by_variable = by_variable.filter(|filters| !filters.trim().is_empty());
    let mut filters = by_variable.unwrap_or_else(|| by_option.into());
    if !filters.contains(FIRMWARE) {
        filters.push_str(",firmware=off");
    }
    // Relaxed: the number alone decides, no data follow it.
    let guest_warnings = AtomicU64::new(0);
    env_logger::Builder::new()
        .parse_filters(&filters)
        .format(move |out, record| {
            let brief = record.target() == GUEST && log::max_level() < LevelFilter::Info;
            match guest_warnings.fetch_add(u64::from(brief), Ordering::Relaxed) {
                MOST_GUEST_WARNINGS if brief => {
                    writeln!(
                        out,
                        "warning: and so on (-vv shows every mistake of the guest)"
                    )
                }
                count if brief && count > MOST_GUEST_WARNINGS => Ok(()),
                _ => write_record(out, record),
            }
        })
        .init();
}

/// Suppresses guest warnings: a debugger visits moments repeatedly, and shows mistakes as events.
pub fn without_guests() {
    log::set_max_level(LevelFilter::Error);
}

fn write_record(out: &mut Formatter, record: &Record) -> std::io::Result<()> {
    match record.level() {
        Level::Error => writeln!(out, "error: {}", record.args()),
        Level::Warn => writeln!(out, "warning: {}", record.args()),
        _ => writeln!(out, "{}", record.args()),
    }
}

/// Sink that logs every trace event under the name of its block.
#[derive(Debug)]
struct TraceLines;

impl Sink for TraceLines {
    fn event(&mut self, event: &TraceEvent) {
        // The tracer itself warns about mistakes.
        if !matches!(event.kind, TraceKind::GuestMistake { .. }) {
            log::info!(target: event.initiator_name(), "{event}");
        }
    }
}

/// Logs a node's trace if -v or RUST_LOG requests it.
pub fn show_trace(trace: &mut Tracer) {
    if log::max_level() >= LevelFilter::Info {
        trace.add_sink(Box::new(TraceLines));
    }
}

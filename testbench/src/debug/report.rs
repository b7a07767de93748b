//! What a session says when it has moved: why it stands where, and where that is.

use std::fmt::Write;

use emulator::cpu::mips::disasm::disassemble;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;

use super::motion::Stopped;
use super::session::Session;

/// A time as traces have it, and since the start of the host programs: `20023.400000 us (+23.400000)`.
#[must_use]
pub fn time(session: &Session, time: SimTime) -> String {
    let ps = |time: SimTime| i128::from(time.ps());
    let since = ps(time) - ps(session.start());
    let sign = if since < 0 { '-' } else { '+' };
    let us = |ps: i128| format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000);
    format!("{} us ({sign}{})", us(ps(time)), us(since.abs()))
}

/// Why the session stands where it stands, if there is more to it than that it was sent there, and where that is.
#[must_use]
pub fn stopped(session: &Session, stopped: &Stopped) -> String {
    let mut out = String::new();
    match stopped {
        Stopped::At(met) => met.iter().for_each(|(numbers, event)| {
            out += &at(session, numbers, event);
        }),
        Stopped::There => {}
        Stopped::Limit => out += "the time that was set is over\n",
        Stopped::End(end) => out += &ended(end),
        Stopped::Begin => out += "the beginning: nothing happened before\n",
    }
    out + &here(session)
}

fn at(session: &Session, numbers: &[u32], event: &TraceEvent) -> String {
    let mut out = String::new();
    let set = session.stops().iter();
    for stop in set.filter(|stop| numbers.contains(&stop.number)) {
        // Writing to a string does not fail.
        let _ = writeln!(out, "stop {}: {}", stop.number, stop.text);
    }
    if event.kind != TraceKind::Breakpoint {
        // Its time is that at which the session stands.
        let line = event.to_string();
        let (_, line) = line.trim().split_once(' ').unwrap_or_default();
        let _ = writeln!(out, "{}", line.trim_start());
    }
    out
}

/// Why nothing happens any more.
#[must_use]
pub fn ended(end: &RunEnd) -> String {
    match end {
        RunEnd::Completed => "the run is over: all host programs have ended\n".into(),
        RunEnd::Deadlock(who) => {
            let who: String = who.iter().map(|line| format!("  {line}\n")).collect();
            format!("nothing can happen any more:\n{who}")
        }
        RunEnd::TimeLimit(_) => "the time that was set is over\n".into(),
        RunEnd::Interrupted => "interrupted\n".into(),
    }
}

/// A node by its number, and its name if it has another one: `n1 server`.
#[must_use]
pub fn node_name(session: &Session, node: usize) -> String {
    let name = session.node_name(node);
    match name.is_empty() || name == node.to_string() {
        true => format!("n{node}"),
        false => format!("n{node} {name}"),
    }
}

/// Where the focused CPU stands: time, function, line, instruction.
#[must_use]
pub fn here(session: &Session) -> String {
    let focus = session.focus;
    let core = session.core();
    let pc = core.pc();
    let node = node_name(session, focus.node);
    let function = session.image.symbols.describe_for(focus.who(), pc);
    let mut out = format!(
        "{}  {node} CPU {}  {function}\n",
        time(session, session.now()),
        focus.letter(),
    );
    let frames = session.lines().and_then(|lines| lines.at(pc));
    if let Some(frame) = frames.ok().and_then(|frames| frames.first().cloned()) {
        let _ = writeln!(out, "    {}:{}", frame.file, frame.line);
    }
    let word = session.board().peek(focus.cpu, pc, session.now());
    let text = word.map_or("nothing".into(), |word| disassemble(word, pc));
    let slot = if core.in_taken_slot() {
        "  (delay slot)"
    } else {
        ""
    };
    let _ = writeln!(out, "    {pc:08x}  {text}{slot}");
    out
}

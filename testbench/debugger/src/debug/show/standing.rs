//! Display of a session's position.

use defs::tigon2::event;
use emulator::cpu::mips::disasm::disassemble;
use emulator::cpu::mips::isa;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::cores::StopReason;

use super::{address, calls, code, text};
use crate::debug::session::{Focus, Session};

/// A time in microseconds.
#[must_use]
pub fn microseconds(time: SimTime) -> String {
    let ps = time.ps();
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

/// A time relative to the start of the host programs, in signed microseconds.
#[must_use]
pub fn since_start(session: &Session, time: SimTime) -> String {
    let start = SimTime::from_ps(session.header.start_ps);
    match time >= start {
        true => format!("+{}", microseconds(time - start)),
        false => format!("-{}", microseconds(start - time)),
    }
}

/// A node by number, with its name if it has one.
pub(in crate::debug) fn node(session: &Session, node: usize) -> String {
    match session.node_name(node) {
        name if name.is_empty() || name == node.to_string() => format!("node {node}"),
        name => format!("node {node} ({name})"),
    }
}

/// Time, and state and position of the node's CPUs.
#[must_use]
pub fn where_(session: &Session) -> String {
    let (now, node) = (session.now(), session.focus.node);
    let time = format!(
        "{} us ({} us from the start), {}",
        microseconds(now),
        since_start(session, now),
        self::node(session, node)
    );
    let both = session.focus.both().into_iter();
    let cpus = both.flat_map(|focus| cpu(session, focus));
    text([time].into_iter().chain(cpus))
}

/// State of a CPU in a few words.
pub(in crate::debug) fn state(session: &Session, focus: Focus, node: usize) -> String {
    let board = session.history.world().nodes[node].board::<Tigon2>();
    match board.stop_reason(focus.cpu) {
        Some(StopReason::Break { code }) => format!("stopped by break {code}"),
        Some(StopReason::Fault(fault)) => format!("stopped: {fault}"),
        None if board.cores[focus.cpu].private.running() => "running".into(),
        None => "halted".into(),
    }
}

/// Lines of one CPU; the focused one is marked.
fn cpu(session: &Session, focus: Focus) -> Vec<String> {
    let mark = if focus == session.focus { "->" } else { "" };
    let core = &session.board().cores[focus.cpu].core;
    let pc = core.pc();
    let state = state(session, focus, focus.node);
    let place = address::with_symbol(session, focus, pc);
    let mut lines = vec![format!(
        "{mark:2} CPU {}  {state} at {place}",
        focus.letter()
    )];
    let mut add = |line: String| lines.push(format!("{:10}{line}", ""));
    for (index, frame) in address::source_for(session, focus, pc).iter().enumerate() {
        let into = if index == 0 { "" } else { "inlined into " };
        add(format!("{into}{frame}"));
    }
    if let Some(word) = code::word(session, focus, pc) {
        add(code::instruction(session, focus, word, pc));
    }
    delay_slot(session, focus).into_iter().for_each(&mut add);
    let mut doing = Vec::new();
    if let Some((event, name)) = calls::handler(session, focus) {
        let event = event::name(event).map_or_else(|| event.to_string(), str::to_owned);
        doing.push(format!("handler of {event} ({name})"));
    }
    let board = session.board();
    if let Some((stage, waits)) = board.stages[focus.cpu].current() {
        let stages = board.probes.stages();
        let name = stages.get(stage).map_or("?", |name| &**name);
        let waits = if waits { ", waiting" } else { "" };
        doing.push(format!("stage \"{name}\"{waits}"));
    }
    if !doing.is_empty() {
        add(format!("in {}", doing.join(", in ")));
    }
    lines
}

/// Whether a taken jump's delay slot comes next.
pub(in crate::debug) fn delay_slot(session: &Session, focus: Focus) -> Option<String> {
    let core = &session.board().cores[focus.cpu].core;
    if !core.in_taken_slot() {
        return None;
    }
    let to = address::with_symbol(session, focus, core.next_pc());
    let jump = core.pc().wrapping_sub(4);
    let word = code::word(session, focus, jump)?;
    let has_slot = isa::lookup(word).is_some_and(|row| row.kind.flow().has_delay_slot());
    let of = match has_slot {
        true => disassemble(word, jump),
        false => "a jump".into(),
    };
    Some(format!("in the delay slot of {of}, which leads to {to}"))
}

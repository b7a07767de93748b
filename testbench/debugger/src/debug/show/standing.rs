//! Display of a session's position.

use emulator::board::CpuState;
use emulator::sim::time::SimTime;

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
    let both = session.cpus(session.focus.node);
    let cpus = both.flat_map(|focus| cpu(session, focus));
    text([time].into_iter().chain(cpus))
}

/// State of a CPU, in few words. An idle CPU counts as running: it executes.
pub(in crate::debug) fn state(session: &Session, focus: Focus) -> String {
    match session.cpu_of(focus).state {
        CpuState::Idle => CpuState::Running.to_string(),
        state => state.to_string(),
    }
}

/// Lines of one CPU; the focused one is marked.
fn cpu(session: &Session, focus: Focus) -> Vec<String> {
    let mark = if focus == session.focus { "->" } else { "" };
    let view = session.cpu_of(focus);
    let pc = view.pc;
    let state = state(session, focus);
    let place = address::with_symbol(session, focus, pc);
    let mut lines = vec![format!(
        "{mark:2} {}  {state} at {place}",
        session.info(focus).name
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
        let named = (session.board().names().event)(event);
        let event = named.map_or_else(|| event.to_string(), str::to_owned);
        doing.push(format!("handler of {event} ({name})"));
    }
    if let Some((stage, waits)) = view.stage {
        let stages = session.board().stages();
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
    let view = session.cpu_of(focus);
    if !view.in_delay_slot() {
        return None;
    }
    let to = address::with_symbol(session, focus, view.next_pc);
    let jump = view.pc.wrapping_sub(4);
    let word = code::word(session, focus, jump)?;
    let architecture = session.info(focus).architecture;
    let of = match architecture.delay_slots(word) {
        1.. => architecture.disassemble(word, jump),
        0 => "a jump".into(),
    };
    Some(format!("in the delay slot of {of}, which leads to {to}"))
}

//! Reports of a session's motions: reason of the stop, and current position.

use emulator::board::CpuId;
use std::fmt::Write;

use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;

use super::motion::Stopped;
use super::session::{Focus, Session};
use super::show::standing::{self, microseconds, since_start};
use super::show::{address, code, frame};
use lanigon_worlds::stopped::{Cause, Stopped as StoppedCpu};

/// A time as in traces, and relative to the start of the host programs: `20023.400000 us (+23.400000)`.
#[must_use]
pub fn time(session: &Session, time: SimTime) -> String {
    let (us, since) = (microseconds(time), since_start(session, time));
    format!("{us} us ({since})")
}

/// Reason of the stop, unless the target was reached, and the current position.
#[must_use]
pub fn stopped(session: &Session, stopped: &Stopped) -> String {
    let mut out = String::new();
    match stopped {
        Stopped::At(met) => met.iter().for_each(|(numbers, event)| {
            out += &stopped_at(session, numbers, event);
        }),
        Stopped::There => {}
        Stopped::Limit => out += "the time that was set is over\n",
        Stopped::End(end) => out += &ended(end),
        Stopped::Begin => out += "the beginning: nothing happened before\n",
    }
    out += &here(session);
    let focus = session.focus;
    if *stopped == Stopped::There && session.cpu().state.stopped().is_some() {
        let state = panic(session, focus).unwrap_or_else(|| standing::state(session, focus));
        let _ = writeln!(out, "({}: {state})", session.info(focus).name);
    }
    out
}

fn stopped_at(session: &Session, numbers: &[u32], event: &TraceEvent) -> String {
    let mut out = String::new();
    let set = session.stops().iter();
    for stop in set.filter(|stop| numbers.contains(&stop.number)) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "stop {}: {}", stop.number, stop.text);
    }
    if event.kind != TraceKind::Breakpoint {
        // The time of the event is the current time.
        let line = event.to_string();
        let (_, line) = line.trim().split_once(' ').unwrap_or_default();
        let more = more(session, event).map_or(String::new(), |more| format!("  ({more})"));
        let _ = writeln!(out, "{}{more}", line.trim_start());
    }
    out
}

/// Additional data of an event: the value of a write, the reason of a CPU's stop.
fn more(session: &Session, event: &TraceEvent) -> Option<String> {
    let Place::Node(node) = event.place else {
        return None;
    };
    let board = session
        .history
        .world()
        .nodes
        .get(usize::from(node))?
        .inspect();
    let cpu = CpuId::new(event.initiator.cpu().unwrap_or_default());
    let architecture = board.cpus().get(cpu.index())?.architecture;
    match event.kind {
        TraceKind::FrameHead { head, .. } => Some(frame::describe(|index| {
            head.get(index).copied().unwrap_or(0)
        })),
        TraceKind::MemoryWrite {
            address,
            length: length @ (1 | 2 | 4),
        } => {
            let bytes = board.peek_bytes(cpu, address, length as usize, session.now());
            let old = bytes
                .iter()
                .fold(0, |value, byte| value << 8 | u32::from(*byte));
            let mask = u32::MAX >> (32 - 8 * length);
            let store = event.pc.and_then(|pc| board.peek(cpu, pc, session.now()));
            // The value written by other initiators is not known yet.
            let new = store.and_then(|word| architecture.stored_register(word));
            let new = new.map(|register| board.registers(cpu)[register] & mask);
            Some(match new {
                Some(new) => format!("{old:#x} -> {new:#x}"),
                None => format!("{old:#x} before"),
            })
        }
        TraceKind::CoreStopped { .. } => {
            let node = node.into();
            panic(session, Focus { node, cpu })
        }
        _ => None,
    }
}

/// The panic of a CPU that stopped at one, or what another `break` that is no regular end means.
fn panic(session: &Session, focus: Focus) -> Option<String> {
    let stopped = StoppedCpu::examine(&session.code_of(focus))?;
    matches!(stopped.cause, Cause::Panic | Cause::Abort).then_some(stopped.what)
}

/// Report of a run's end.
#[must_use]
pub fn ended(end: &RunEnd) -> String {
    match end {
        RunEnd::Completed => "the run is over: all host programs have ended\n".into(),
        RunEnd::Deadlock(who) | RunEnd::Quiet(who) => {
            let who: String = who.iter().map(|line| format!("  {line}\n")).collect();
            format!("nothing can happen any more:\n{who}")
        }
        RunEnd::TimeLimit(_) => "the time that was set is over\n".into(),
        RunEnd::Interrupted => "interrupted\n".into(),
    }
}

/// Position of the focused CPU: time, function, source line, instruction.
#[must_use]
pub fn here(session: &Session) -> String {
    let focus = session.focus;
    let pc = session.cpu().pc;
    let (now, node) = (
        time(session, session.now()),
        standing::node(session, focus.node),
    );
    let function = address::describe(session, pc);
    let mut out = format!("{now}  {node} {}  {function}\n", session.info(focus).name);
    match code::disassembly(session, pc, 1) {
        Ok(code) => out += &code,
        Err(error) => {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "({error})");
        }
    }
    if let Some(slot) = standing::delay_slot(session, focus) {
        let _ = writeln!(out, "({slot})");
    }
    out
}

//! Commands that move in time: forwards, and with `reverse` backwards.

use anyhow::bail;
use emulator::debug::TimeDirection;
use emulator::observe::event::TraceKind;

use super::{Command, CommandArguments, CommandGroup, SessionFlow, count};
use crate::debug::motion::Stopped;
use crate::debug::report;
use crate::debug::session::Session;
use crate::debug::show;
use crate::debug::stop::{Scope, Stop, StopCondition};
use lanigon_analysis::trace::filter;
use lanigon_analysis::trace::time;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        names: &["continue", "c"],
        group: CommandGroup::Move,
        usage: "[SPAN]",
        about: "go on to the next stop, at most so far",
        more: "continue 50us",
        run: |session, words, out| go(session, TimeDirection::Forward, "continue", words, out),
    },
    Command {
        names: &["step", "s"],
        group: CommandGroup::Move,
        usage: "[COUNT|line|out|handler|stage|EVENT]",
        about: "go on to the next of these",
        more: "step 5\nstep line\nstep out\nstep handler\nstep stage\nstep kind=dma-start\n\
               step probe=frame sent node=1\nEvents as in `lanigon trace grep`: kind=, probe=, stage=, node=, by=, ...",
        run: |session, words, out| go(session, TimeDirection::Forward, "step", words, out),
    },
    Command {
        names: &["reverse", "r"],
        group: CommandGroup::Move,
        usage: "continue|step ...",
        about: "the same backwards",
        more: "reverse continue\nreverse step\nreverse step handler\nreverse step kind=register-write",
        run: reverse,
    },
    Command {
        names: &["rc"],
        group: CommandGroup::Move,
        usage: "[SPAN]",
        about: "reverse continue",
        more: "",
        run: |session, words, out| go(session, TimeDirection::Backward, "continue", words, out),
    },
    Command {
        names: &["rs"],
        group: CommandGroup::Move,
        usage: "...",
        about: "reverse step",
        more: "",
        run: |session, words, out| go(session, TimeDirection::Backward, "step", words, out),
    },
    Command {
        names: &["goto", "g"],
        group: CommandGroup::Move,
        usage: "TIME",
        about: "go to a time, before or after now, whatever stops are set",
        more: "goto +31us                 31 us after the host programs started\ngoto 20031.5us             from power-on\nFrom here: continue 5us, reverse continue 5us",
        run: go_to,
    },
];

/// Register number of the stack pointer.
const SP: usize = 29;
/// Largest number of instructions of one command.
const MOST_STEPS: usize = 100_000;

fn reverse(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let (what, rest) = words.split().unwrap_or(("", words));
    let what = match what {
        "continue" | "c" => "continue",
        "step" | "s" => "step",
        "" => bail!("reverse: expected reverse continue or reverse step"),
        _ => bail!("\"{what}\": expected reverse continue or reverse step"),
    };
    go(session, TimeDirection::Backward, what, rest, out)
}

fn go(
    session: &mut Session,
    direction: TimeDirection,
    what: &str,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let stopped = match (what, words.text()) {
        ("continue", _) => proceed(session, direction, words)?,
        (_, "line") => step_line(session, direction)?,
        (_, "out") => step_out(session, direction)?,
        (_, "handler") => step_handler(session, direction)?,
        (_, "stage") => {
            let terms = format!("kind=stage-enter,stage-exit {}", own(session));
            to_event(session, direction, &terms)?
        }
        (_, text) if text.contains('=') => to_event(session, direction, text)?,
        (_, text) if text.starts_with(char::is_alphabetic) => {
            bail!(
                "\"{text}\": expected a number, line, out, handler, stage, or an event as kind=dma-start"
            )
        }
        _ => {
            let words = words.at_most(1)?;
            let count = count(words.first(), 1, MOST_STEPS)?;
            step_instructions(session, direction, count)?
        }
    };
    *out += &report::stopped(session, &stopped);
    Ok(SessionFlow::Next)
}

fn go_to(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(1)?;
    let Some(word) = words.first() else {
        bail!("goto: expected a time, as +31us");
    };
    let time = time::time(word).map_err(anyhow::Error::msg)?;
    let stopped = session.go_to(time.resolve(session.start()))?;
    *out += &report::stopped(session, &stopped);
    Ok(SessionFlow::Next)
}

/// Runs to the next or previous stop; the argument limits the time.
fn proceed(
    session: &mut Session,
    direction: TimeDirection,
    words: CommandArguments<'_>,
) -> anyhow::Result<Stopped> {
    let words = words.at_most(1)?;
    let span = words.first().map(|word| time::span(word)).transpose();
    let span = span.map_err(anyhow::Error::msg)?;
    let now = session.now();
    Ok(match (direction, span) {
        (TimeDirection::Forward, Some(span)) => {
            session.run(direction, Vec::new(), now.saturating_add(span))?
        }
        (_, None) => session.run(direction, Vec::new(), session.farthest(direction))?,
        (TimeDirection::Backward, Some(span)) => {
            let earliest = now.saturating_sub(span);
            session.run_back_to(earliest)?
        }
    })
}

fn step_instructions(
    session: &mut Session,
    direction: TimeDirection,
    count: usize,
) -> anyhow::Result<Stopped> {
    if direction == TimeDirection::Backward && session.stops().is_empty() {
        return Ok(session.steps_back(count as u64)?);
    }
    let mut stopped = Stopped::There;
    for _ in 0..count {
        stopped = session.step(direction)?;
        if stopped != Stopped::There {
            break;
        }
    }
    Ok(stopped)
}

/// Filter for events of the focused CPU.
fn own(session: &Session) -> String {
    format!(
        "node={} by={}",
        session.focus.node,
        session.info(session.focus).id
    )
}

/// A temporary stop of one command.
fn once(what: StopCondition, scope: Scope) -> Stop {
    Stop {
        number: 0,
        text: String::new(),
        scope,
        what,
        condition: None,
    }
}

fn focused(session: &Session) -> Scope {
    Scope {
        nodes: Some(vec![session.focus.node]),
        cpu: Some(session.focus.cpu),
    }
}

fn to_event(
    session: &mut Session,
    direction: TimeDirection,
    terms: &str,
) -> anyhow::Result<Stopped> {
    let terms = filter::parse(terms).map_err(anyhow::Error::msg)?;
    let what = session.events(&terms)?;
    let farthest = session.farthest(direction);
    Ok(session.run(direction, vec![once(what, Scope::default())], farthest)?)
}

/// Runs to another source line.
fn step_line(session: &mut Session, direction: TimeDirection) -> anyhow::Result<Stopped> {
    let others = session.other_lines()?;
    let stop = once(session.on_each_cpu(others), focused(session));
    let farthest = session.farthest(direction);
    Ok(session.run(direction, vec![stop], farthest)?)
}

/// Runs to the return from the current function, or backwards to its call.
fn step_out(session: &mut Session, direction: TimeDirection) -> anyhow::Result<Stopped> {
    let Some(caller) = show::calls::caller(session) else {
        bail!("it is not known who called this");
    };
    // After the call and its delay slot. A return without a call ends there at once.
    let addresses = match direction {
        TimeDirection::Forward => vec![caller.address, caller.address.wrapping_add(8)],
        TimeDirection::Backward => vec![caller.address],
    };
    let farthest = session.farthest(direction);
    loop {
        let stop = once(session.on_each_cpu(addresses.clone()), focused(session));
        let focus = session.focus;
        let stopped = session.run(direction, vec![stop], farthest)?;
        let Stopped::At(met) = &stopped else {
            return Ok(stopped);
        };
        let own = met.iter().all(|(numbers, _)| numbers[..] == [0]) && session.focus == focus;
        // The same address in a deeper call does not count.
        if !own || !addresses.contains(&session.cpu().pc) || session.register(SP) == caller.sp {
            return Ok(stopped);
        }
    }
}

/// Runs to the first instruction of a handler.
fn step_handler(session: &mut Session, direction: TimeDirection) -> anyhow::Result<Stopped> {
    let start = session.now();
    let terms = format!("kind=handler-enter {}", own(session));
    loop {
        let stopped = to_event(session, direction, &terms)?;
        let Stopped::At(met) = &stopped else {
            return Ok(stopped);
        };
        let mut entered = met.iter().filter(|(numbers, _)| numbers.contains(&0));
        let Some(address) = entered.find_map(|(_, event)| match event.kind {
            TraceKind::HandlerEnter { address, .. } => Some(address),
            _ => None,
        }) else {
            return Ok(stopped);
        };
        let joff = session.now();
        let stop = once(session.on_each_cpu(vec![address]), focused(session));
        let last = session.farthest(TimeDirection::Forward);
        let there = session.run(TimeDirection::Forward, vec![stop], last)?;
        if direction == TimeDirection::Forward || session.now() < start {
            return Ok(match there {
                // Report the handler's event instead of the temporary stop.
                Stopped::At(ref met) if met.iter().all(|(numbers, _)| numbers[..] == [0]) => {
                    stopped
                }
                _ => there,
            });
        }
        // The session was at the start of a handler: continue to the previous one.
        session.go_to(joff)?;
    }
}

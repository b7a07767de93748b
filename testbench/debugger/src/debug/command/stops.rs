//! Commands that set and remove stops.

use std::fmt::Write;

use anyhow::{Context, bail, ensure};
use defs::emp::fields::FIELDS;

use super::{Command, CommandArguments, CommandGroup, SessionFlow};
use crate::debug::condition::Condition;
use crate::debug::place::number;
use crate::debug::session::Session;
use crate::debug::stop::{Access, FrameHeads, Scope, StopCondition};
use emulator::observe::event::Place;
use lanigon_analysis::trace::filter::{self, node};
use lanigon_analysis::trace::names::unknown;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        names: &["break", "b"],
        group: CommandGroup::Stop,
        usage: "WHAT [on NODES] [cpu a|b] [if CONDITION]",
        about: "stop at an instruction, access, event bit, frame or event",
        more: "break take_buffer                     a function, a line (main.rs:41), an address\n\
               break write free                      before memory is written, by whomever\n\
               break write 0x1f000 64\n\
               break register semaphore_a            a register is read or written\n\
               break register dma_read_state write\n\
               break raised mailbox cpu a            a bit of an event register comes up\n\
               break frame kind=ack message=3        a frame that is sent or received; numbers count from 0\n\
               break probe frame sent                an event probe of the firmware\n\
               break event kind=dma-failed           any event, as `lanigon trace grep` has them\n\
               Everywhere, or: break give_back on n1 cpu b if $a0 == 3\n\
               break write free if [free] > 16       a condition sees what is there before",
        run: set,
    },
    Command {
        names: &["watch"],
        group: CommandGroup::Stop,
        usage: "PLACE [BYTES] ...",
        about: "stop before memory is written: break write",
        more: "watch free\nwatch 0x1f000 64 on n0",
        run: |session, words, out| {
            set_kind(
                session,
                "write",
                words,
                format!("watch {}", words.text()).trim(),
                out,
            )
        },
    },
    Command {
        names: &["delete", "d"],
        group: CommandGroup::Stop,
        usage: "NUMBER|all",
        about: "forget a stop",
        more: "",
        run: delete,
    },
    Command {
        names: &["stops"],
        group: CommandGroup::Stop,
        usage: "",
        about: "the stops that are set",
        more: "",
        run: list,
    },
];

/// Words that end the place in a command.
struct Suffix<'a> {
    what: &'a str,
    scope: Scope,
    condition: Option<Condition>,
}

fn set(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let Some((kind, rest)) = words.split() else {
        bail!("break: expected what, as a function; `help break` shows more");
    };
    let text = format!("break {}", words.text());
    match kind {
        "write" | "register" | "raised" | "frame" | "probe" | "event" => {
            set_kind(session, kind, rest, &text, out)
        }
        _ if kind.contains('=') && !kind.contains('<') => {
            bail!("{text}: expected a kind of stop, as break event {kind} or break frame {kind}")
        }
        _ => set_kind(session, "instruction", words, &text, out),
    }
}

fn set_kind(
    session: &mut Session,
    kind: &str,
    words: CommandArguments<'_>,
    text: &str,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let Suffix {
        what,
        scope,
        condition,
    } = suffix(session, words.text())?;
    ensure!(
        !what.is_empty(),
        "{text}: expected what; `help break` shows more"
    );
    let what = match kind {
        "write" => write(session, what)?,
        "register" => register(session, what)?,
        "raised" => StopCondition::Raised(event_bit(session, what)?),
        "frame" => StopCondition::Frame(frame(what)?),
        "probe" => session.events(&[(filter::FilterKey::Probe, what.into())])?,
        "event" => {
            let terms = filter::parse(what).map_err(anyhow::Error::msg)?;
            session.events(&terms)?
        }
        _ => StopCondition::Instruction(session.code(what)?),
    };
    let where_ = places(session, &what);
    let number = session.add_stop_if(what, scope, condition, text);
    writeln!(out, "stop {number}: {text}{where_}")?;
    Ok(SessionFlow::Next)
}

/// Addresses of a stop's instructions and memory.
fn places(session: &Session, what: &StopCondition) -> String {
    match what {
        StopCondition::Instruction(code) => {
            let mut addresses = code.concat();
            addresses.sort_unstable();
            addresses.dedup();
            let shown = addresses
                .iter()
                .take(8)
                .map(|address| format!("{address:#x}"));
            let shown: Vec<_> = shown.collect();
            let more = addresses.len().saturating_sub(8);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("  ({}{more})", shown.join(", "))
        }
        StopCondition::Write {
            address, length, ..
        } => {
            let who = session.info(session.focus).initiator;
            let found = session.image().symbols.seen_by(who, *address);
            let name = found.map_or(String::new(), |(symbol, _)| format!(", {}", symbol.name));
            format!("  ({length} bytes at {address:#x}{name})")
        }
        _ => String::new(),
    }
}

/// Splits off the suffixes `on`, `cpu` and `if`.
fn suffix<'a>(session: &Session, text: &'a str) -> anyhow::Result<Suffix<'a>> {
    let (text, condition) = match text.split_once(" if ") {
        Some((text, condition)) => (text, Some(Condition::parse(session, condition.trim())?)),
        None => (text, None),
    };
    let (text, cpu) = match text.rsplit_once(" cpu ") {
        Some((text, letter)) => (text, Some(session.cpu_called(letter)?)),
        None => (text, None),
    };
    let (what, nodes) = match text.rsplit_once(" on ") {
        Some((text, names)) => (text, Some(nodes(session, names)?)),
        None => (text, None),
    };
    Ok(Suffix {
        what: what.trim(),
        scope: Scope { nodes, cpu },
        condition,
    })
}

fn nodes(session: &Session, names: &str) -> anyhow::Result<Vec<usize>> {
    let number = |name: &str| match node(name.trim(), &session.header)? {
        Place::Node(node) => Ok(node.into()),
        Place::Switch(_) => bail!("{name} is no node"),
    };
    names.split(',').map(number).collect()
}

/// Default length of watched memory.
const WORD_BYTES: u32 = 4;

fn write(session: &Session, text: &str) -> anyhow::Result<StopCondition> {
    let words: Vec<_> = text.split_whitespace().collect();
    let (place, length) = match words[..] {
        [place] => (place, None),
        [place, length] => (place, Some(number(length)?)),
        _ => bail!("\"{text}\": expected a place and perhaps its length in bytes"),
    };
    let data = session.data(place)?;
    let length = length.or(data.length).unwrap_or(WORD_BYTES);
    ensure!(length > 0, "\"{text}\": expected at least 1 byte");
    // Registers are not watched as memory.
    if let Ok(address) = session.chip_register(&format!("{:#x}", data.address)) {
        ensure!(
            length <= WORD_BYTES,
            "\"{text}\": registers are watched one by one"
        );
        let access = Access::Write;
        return Ok(StopCondition::Register { address, access });
    }
    session.word(data)?;
    let area = session.board().area(data.cpu, data.address);
    Ok(StopCondition::Write {
        address: data.address,
        length,
        cpu: data.cpu,
        private: area.is_some_and(|area| area.private),
    })
}

fn register(session: &Session, text: &str) -> anyhow::Result<StopCondition> {
    let words: Vec<_> = text.split_whitespace().collect();
    let (name, access) = match words[..] {
        [name] => (name, Access::Any),
        [name, "read"] => (name, Access::Read),
        [name, "write"] => (name, Access::Write),
        _ => bail!("\"{text}\": expected a register and perhaps read or write"),
    };
    let address = session.chip_register(name)?;
    Ok(StopCondition::Register { address, access })
}

/// Parses a bit of an event register, by name or number.
fn event_bit(session: &Session, name: &str) -> anyhow::Result<u32> {
    let board = session.board().names();
    let named: Vec<_> = (0..u32::BITS)
        .filter_map(|bit| Some(((board.event)(bit)?, bit)))
        .collect();
    if let Some((_, bit)) = named.iter().find(|(known, _)| *known == name) {
        return Ok(1 << bit);
    }
    match number(name) {
        Ok(bit @ 0..u32::BITS) => Ok(1 << bit),
        Ok(bit) => bail!("{bit}: an event register has bits 0 to 31"),
        Err(_) => {
            let names: Vec<_> = named.iter().map(|(name, _)| *name).collect();
            Err(unknown("event bit", name, &names).into())
        }
    }
}

/// Parses a frame pattern: fields such as `kind=ack message=3`, or words by index, such as `word3=0x12`.
fn frame(text: &str) -> anyhow::Result<FrameHeads> {
    let mut heads = FrameHeads::default();
    for term in text.split_whitespace() {
        let (name, value) = term
            .split_once('=')
            .with_context(|| format!("\"{term}\": expected FIELD=VALUE, as kind=ack"))?;
        if let Some(index) = name
            .strip_prefix("word")
            .and_then(|index| index.parse().ok())
        {
            let known = emulator::observe::event::FrameHead::default().len();
            ensure!(index < known, "{name}: words 0 to {} are seen", known - 1);
            heads.words.push((index, number(value)?));
            continue;
        }
        let names: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
        let field = FIELDS.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| unknown("field of a frame", name, &names))?;
        let values: Vec<_> = field.values.iter().map(|(_, name)| *name).collect();
        let mut known = field.values.iter();
        let named = known.find(|(_, name)| name.eq_ignore_ascii_case(value));
        let value = match (named, number(value)) {
            (Some((value, _)), _) => *value,
            (None, Ok(value)) => value,
            (None, Err(_)) if !values.is_empty() => {
                return Err(unknown(field.name, value, &values).into());
            }
            (None, Err(error)) => return Err(error.into()),
        };
        ensure!(value <= field.mask, "{term}: at most {}", field.mask);
        heads.fields.push((*field, value));
    }
    Ok(heads)
}

fn delete(
    session: &mut Session,
    words: CommandArguments<'_>,
    _: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(1)?;
    match words.first() {
        Some(&"all") => {
            let numbers: Vec<_> = session.stops().iter().map(|stop| stop.number).collect();
            for number in numbers {
                session.remove_stop(number);
            }
        }
        Some(word) => {
            let known = session.remove_stop(number(word)?);
            ensure!(known, "there is no stop {word}");
        }
        None => bail!("delete: expected the number of a stop, or all"),
    }
    Ok(SessionFlow::Next)
}

fn list(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    words.none()?;
    if session.stops().is_empty() {
        writeln!(out, "no stops are set")?;
    }
    for stop in session.stops() {
        writeln!(
            out,
            "stop {}: {}{}",
            stop.number,
            stop.text,
            places(session, &stop.what)
        )?;
    }
    Ok(SessionFlow::Next)
}

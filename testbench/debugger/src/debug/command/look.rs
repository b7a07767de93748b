//! Commands that display something.

use anyhow::{bail, ensure};
use emulator::observe::event::Details;

use super::{Command, CommandArguments, CommandGroup, SessionFlow, count};
use crate::debug::place::number;
use crate::debug::session::Session;
use crate::debug::show;
use lanigon_analysis::trace::record;

/// Text that a command shows, or the reason for which it cannot.
struct CommandText(anyhow::Result<String>);

impl From<String> for CommandText {
    fn from(text: String) -> Self {
        Self(Ok(text))
    }
}

impl From<anyhow::Result<String>> for CommandText {
    fn from(text: anyhow::Result<String>) -> Self {
        Self(text)
    }
}

/// Defines a command without arguments that displays one thing.
macro_rules! plain {
    ($names:expr, $about:literal, $show:path) => {
        Command {
            names: $names,
            group: CommandGroup::Look,
            usage: "",
            about: $about,
            more: "",
            run: |session, words, out| {
                words.none()?;
                *out += &CommandText::from($show(session)).0?;
                Ok(SessionFlow::Next)
            },
        }
    };
}

pub(super) const COMMANDS: &[Command] = &[
    plain!(
        &["where", "w"],
        "time, and what both CPUs of the node are at",
        show::standing::where_
    ),
    plain!(
        &["backtrace", "bt"],
        "who called whom",
        show::calls::backtrace
    ),
    Command {
        names: &["list", "l"],
        group: CommandGroup::Look,
        usage: "[LINES]",
        about: "the source around the present line",
        more: "",
        run: list,
    },
    Command {
        names: &["disassemble", "dis"],
        group: CommandGroup::Look,
        usage: "[PLACE] [COUNT]",
        about: "instructions, with their source lines",
        more: "dis\ndis take_buffer 20\ndis 0x4a10",
        run: disassemble,
    },
    plain!(
        &["registers", "regs"],
        "the CPU's registers",
        show::registers::registers
    ),
    Command {
        names: &["memory", "x"],
        group: CommandGroup::Look,
        usage: "PLACE [BYTES]",
        about: "memory, a scratchpad or registers of the chip, in words",
        more: "x free\nx $sp 64\nx 0x1f000 128",
        run: memory,
    },
    plain!(
        &["event"],
        "the CPU's event register, bit by bit",
        show::event::event_register
    ),
    plain!(
        &["rings"],
        "rings and buffers of DMA and MAC, what is pending decoded",
        show::chip::rings
    ),
    Command {
        names: &["chip"],
        group: CommandGroup::Look,
        usage: "BLOCK",
        about: "all registers of a hardware block: dma_read, mac_rx, timer, ...",
        more: "",
        run: chip,
    },
    plain!(
        &["semaphore"],
        "who has the semaphore",
        show::chip::semaphore
    ),
    plain!(
        &["races"],
        "accesses before the present time that nothing orders, from another run",
        show::world::races
    ),
    plain!(
        &["hosts"],
        "what each host program waits for",
        show::world::hosts
    ),
    plain!(&["nodes"], "all nodes and switches", show::world::nodes),
    Command {
        names: &["events"],
        group: CommandGroup::Look,
        usage: "[COUNT] [DETAILS]",
        about: "what happened last on the node, as a trace has it",
        more: "events 20\nevents 20 registers,semaphore\nevents 20 all",
        run: events,
    },
    Command {
        names: &["frames"],
        group: CommandGroup::Look,
        usage: "[COUNT]",
        about: "the frames that the node sent and received last",
        more: "",
        run: frames,
    },
    Command {
        names: &["symbols"],
        group: CommandGroup::Look,
        usage: "PART",
        about: "functions and objects with this in their names",
        more: "",
        run: symbols,
    },
];

/// Number of source lines before and after the current one.
const CONTEXT: usize = 5;
/// Default number of instructions.
const INSTRUCTIONS: usize = 8;
/// Default number of bytes of memory.
const BYTES: u32 = 64;
/// Largest number of bytes of one command.
const MOST_BYTES: u32 = 1 << 16;
/// Default number of events.
const EVENTS: usize = 10;
/// Largest number of events of one command.
const MOST_EVENTS: usize = 10_000;

fn list(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(1)?;
    let context = count(words.first(), CONTEXT, 1000)?;
    *out += &show::code::source(session, context)?;
    Ok(SessionFlow::Next)
}

fn disassemble(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(2)?;
    let address = match words.first() {
        None => session.cpu().pc,
        Some(place) => {
            let code = session.code(place)?;
            let own = code.get(session.focus.cpu.index());
            match own.and_then(|own| own.first()) {
                Some(address) => *address,
                None => bail!("{place} is code of the other CPU"),
            }
        }
    };
    let count = count(words.get(1), INSTRUCTIONS, 1000)?;
    *out += &show::code::disassembly(session, address, count)?;
    Ok(SessionFlow::Next)
}

fn memory(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(2)?;
    let Some(place) = words.first() else {
        bail!("memory: expected a place, as 0x1f000 or $sp");
    };
    let data = session.data(place)?;
    let length = match words.get(1) {
        Some(word) => number(word)?,
        None => data.length.unwrap_or(BYTES).min(MOST_BYTES),
    };
    ensure!(
        (1..=MOST_BYTES).contains(&length),
        "{length} bytes: expected 1 to {MOST_BYTES}"
    );
    // Data in the other CPU's scratchpad is read with that CPU's view.
    let focus = session.focus;
    session.focus.cpu = data.cpu;
    let shown = show::memory::memory(session, data.address, length);
    session.focus = focus;
    *out += &shown?;
    Ok(SessionFlow::Next)
}

fn chip(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(1)?;
    let block = words.first().copied().unwrap_or_default();
    *out += &show::chip::chip(session, block)?;
    Ok(SessionFlow::Next)
}

fn events(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(2)?;
    let count = count(words.first(), EVENTS, MOST_EVENTS)?;
    let details = words.get(1).map(|list| record::details(list));
    let details = details.transpose().map_err(anyhow::Error::msg)?;
    *out += &show::past::events(session, count, details.unwrap_or(Details::empty()))?;
    Ok(SessionFlow::Next)
}

fn frames(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(1)?;
    let count = count(words.first(), EVENTS, MOST_EVENTS)?;
    *out += &show::past::frames(session, count)?;
    Ok(SessionFlow::Next)
}

fn symbols(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    *out += &show::symbols::symbols(session, words.text())?;
    Ok(SessionFlow::Next)
}

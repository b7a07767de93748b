//! Commands that change the world, select the CPU, or save a snapshot.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use emulator::observe::event::Place;

use super::{Command, CommandArguments, CommandGroup, SessionFlow};
use crate::debug::place::number;
use crate::debug::report;
use crate::debug::session::Session;
use lanigon_analysis::trace::filter::node;
use lanigon_worlds::files::output;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        names: &["node", "n"],
        group: CommandGroup::Session,
        usage: "NODE",
        about: "look at a CPU of this node",
        more: "node n1\nnode 1",
        run: choose_node,
    },
    Command {
        names: &["cpu"],
        group: CommandGroup::Session,
        usage: "a|b",
        about: "look at this CPU",
        more: "",
        run: choose_cpu,
    },
    Command {
        names: &["set"],
        group: CommandGroup::Change,
        usage: "$REGISTER|PLACE VALUE",
        about: "change a register, memory, or a register of the chip",
        more: "set $a0 16\nset $pc 0x4a10\nset free 8\nset 0x1f000 0x12345678\nset event_a 0x10000000\n\
               What was known of later times is forgotten: they come out anew.",
        run: set,
    },
    Command {
        names: &["save"],
        group: CommandGroup::Session,
        usage: "FILE",
        about: "keep this moment as a snapshot for `lanigon run --from`, `debug --from`",
        more: "",
        run: save,
    },
];

fn choose_node(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(1)?;
    let Some(name) = words.first() else {
        bail!("node: expected a node, as n1");
    };
    let Place::Node(node) = node(name, &session.header)? else {
        bail!("{name} is no node");
    };
    session.focus.node = node.into();
    *out += &report::here(session);
    Ok(SessionFlow::Next)
}

fn choose_cpu(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    session.focus.cpu = session.cpu_called(words.text())?;
    *out += &report::here(session);
    Ok(SessionFlow::Next)
}

fn set(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let words = words.at_most(3)?;
    let (what, value) = match words[..] {
        [what, value] | [what, "=", value] => (what, number(value)?),
        _ => bail!("set: expected what and its value, as set $a0 16"),
    };
    let focus = session.focus;
    let old = if what == "$pc" {
        ensure!(
            value % 4 == 0,
            "{value:#x}: instructions lie at multiples of 4"
        );
        let old = session.cpu().pc;
        session.change_node(|node| node.set_pc(focus.cpu, value))?;
        old
    } else if let Some(index) = session.general_register(what) {
        ensure!(index > 0, "$zero is always 0");
        let old = session.register(index);
        session.change_node(|node| {
            node.inspect_mut().set_register(focus.cpu, index, value);
        })?;
        old
    } else {
        let data = session.word_at(what)?;
        let old = session.word(data)?;
        let bytes = value.to_be_bytes();
        session.change_node(|node| node.poke(data.cpu, data.address, &bytes))??;
        old
    };
    writeln!(out, "{what}: {old:#x} -> {value:#x}")?;
    Ok(SessionFlow::Next)
}

fn save(
    session: &mut Session,
    words: CommandArguments<'_>,
    out: &mut String,
) -> anyhow::Result<SessionFlow> {
    let file = words.text();
    ensure!(!file.is_empty(), "save: expected a file");
    let bytes = session.snapshot()?;
    output::write(Path::new(file), &bytes).with_context(|| file.to_owned())?;
    let time = report::time(session, session.now());
    writeln!(out, "{file}: {} bytes, {time}", bytes.len())?;
    Ok(SessionFlow::Next)
}

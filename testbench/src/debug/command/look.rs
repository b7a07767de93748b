//! Commands that show something.

use super::{Command, Flow, Group, Words};
use crate::debug::report;
use crate::debug::session::Session;

pub(super) const COMMANDS: &[Command] = &[Command {
    names: &["here"],
    group: Group::Look,
    usage: "",
    about: "where the CPU stands",
    more: "",
    run: here,
}];

fn here(session: &mut Session, words: Words<'_>, out: &mut String) -> anyhow::Result<Flow> {
    words.none()?;
    *out += &report::here(session);
    Ok(Flow::Next)
}

//! Filters of trace events. An event must match all terms; it matches a term if it matches one of the
//! term's values.

use std::fmt;

use anyhow::{Context, anyhow};
use emulator::boards::BOARD_NAMES;
use emulator::observe::event::{Details, Place, TraceEvent, TraceKind};
use emulator::observe::file::{Chunk, Header, KIND_NAMES, kind_code};
use emulator::observe::names::details_of;
use emulator::sim::time::SimTime;

use super::message::{MessageName, named_by};
use super::names::unknown;
use super::rows::NodeSymbols;

/// Property of an event that a term tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKey {
    /// Nodes, by number or name.
    Node,
    /// Switches, by number.
    Switch,
    /// Blocks, or groups of blocks, that the event concerns.
    Block,
    /// Initiator of the event.
    By,
    /// Kinds of events, or groups of them.
    Kind,
    /// Event probes of the firmware, by name.
    Probe,
    /// Stages of the firmware, by name.
    Stage,
    /// Message that events belong to.
    Message,
    /// Functions.
    Symbol,
    /// Text in the event's line.
    Text,
}

impl FilterKey {
    /// All keys, with their names in expressions.
    pub const ALL: [(&str, Self); 10] = [
        ("node", Self::Node),
        ("switch", Self::Switch),
        ("block", Self::Block),
        ("by", Self::By),
        ("kind", Self::Kind),
        ("probe", Self::Probe),
        ("stage", Self::Stage),
        ("message", Self::Message),
        ("symbol", Self::Symbol),
        ("text", Self::Text),
    ];
}

/// A term as written: key and values, as in `probe=retransmit,frame dropped`.
pub type Term = (FilterKey, String);

/// Parses an expression: a sequence of terms. A word without `=` continues the previous value, because
/// names of probes contain spaces.
///
/// # Errors
/// If the expression is invalid.
pub fn parse(expression: &str) -> Result<Vec<Term>, String> {
    let mut terms: Vec<Term> = Vec::new();
    for word in expression.split_whitespace() {
        match (word.split_once('='), terms.last_mut()) {
            (Some((name, value)), _) => {
                let key = FilterKey::ALL.iter().find(|(known, _)| *known == name);
                let &(_, key) = key.ok_or_else(|| {
                    let names = FilterKey::ALL.map(|(name, _)| name).join(", ");
                    format!("\"{name}\" is nothing to filter by (there are: {names})")
                })?;
                terms.push((key, value.into()));
            }
            (None, Some((_, value))) => *value = format!("{value} {word}"),
            (None, None) => {
                return Err(format!(
                    "\"{word}\": expected NAME=VALUE, as probe=retransmit"
                ));
            }
        }
    }
    match terms.iter().find(|(_, value)| value.is_empty()) {
        Some(_) => Err(format!("\"{expression}\" has a name without a value")),
        None if terms.is_empty() => Err("an empty expression".into()),
        None => Ok(terms),
    }
}

/// Condition for events. The default matches all events.
#[derive(Debug, Default)]
pub struct Filter {
    places: Option<Vec<Place>>,
    blocks: Option<Vec<&'static str>>,
    /// Names of initiators.
    initiators: Option<Vec<&'static str>>,
    /// Bits of the wanted initiators in a chunk's head.
    initiator_bits: u16,
    /// Bit set of kinds.
    kinds: Option<u64>,
    probes: Option<Vec<String>>,
    stages: Option<Vec<String>>,
    messages: Option<Vec<MessageName>>,
    functions: Option<(NodeSymbols, Vec<String>)>,
    texts: Vec<Vec<u8>>,
    /// From this time on.
    pub from: Option<SimTime>,
    /// Before this time.
    pub until: Option<SimTime>,
    line: Vec<u8>,
}

impl Filter {
    /// The filter with these terms, for a trace with this header.
    ///
    /// # Errors
    /// If the trace has no such name.
    pub fn new(terms: &[Term], header: &Header) -> anyhow::Result<Self> {
        let mut filter = Self::default();
        for (key, value) in terms {
            filter.add(*key, value, header)?;
        }
        Ok(filter)
    }

    fn add(&mut self, key: FilterKey, value: &str, header: &Header) -> anyhow::Result<()> {
        let values = value.split(',').map(str::trim);
        match key {
            FilterKey::Node => {
                let nodes = values.map(|value| node(value, header));
                let nodes = nodes.collect::<anyhow::Result<Vec<_>>>()?;
                self.places.get_or_insert_default().extend(nodes);
            }
            FilterKey::Switch => {
                let switches = values.map(|value| switch(value, header));
                let switches = switches.collect::<anyhow::Result<Vec<_>>>()?;
                self.places.get_or_insert_default().extend(switches);
            }
            FilterKey::Block => {
                let blocks = header
                    .boards(BOARD_NAMES)
                    .into_iter()
                    .flat_map(|board| board.blocks);
                let names = unique(blocks.map(|block| block.name));
                let blocks = self.blocks.get_or_insert_default();
                for value in values {
                    blocks.extend(chosen("block", value, &names)?);
                }
            }
            FilterKey::By => {
                let boards = header.boards(BOARD_NAMES).into_iter();
                let known: Vec<_> = boards.flat_map(|board| board.initiators).collect();
                let names = unique(known.iter().map(|one| one.name));
                let initiators = self.initiators.get_or_insert_default();
                for value in values {
                    initiators.extend(chosen("initiator", value, &names)?);
                }
                let wanted = known.iter().filter(|one| initiators.contains(&one.name));
                let bits = wanted.map(|one| Chunk::initiator_bit(one.initiator));
                self.initiator_bits = bits.fold(0, |all, bit| all | bit);
            }
            FilterKey::Kind => {
                let mask = self.kinds.get_or_insert_default();
                for value in values {
                    *mask |= group("kind", value, KIND_NAMES)?;
                }
            }
            FilterKey::Probe => {
                let known = header.images.iter().flat_map(|image| &image.probes);
                let named = named("probe", values, known)?;
                self.probes.get_or_insert_default().extend(named);
            }
            FilterKey::Stage => {
                let known = header.images.iter().flat_map(|image| &image.stages);
                let named = named("stage", values, known)?;
                self.stages.get_or_insert_default().extend(named);
            }
            FilterKey::Message => {
                let messages =
                    values.map(|value| value.parse().map_err(|error| anyhow!("{error}")));
                let messages = messages.collect::<anyhow::Result<Vec<MessageName>>>()?;
                self.messages.get_or_insert_default().extend(messages);
            }
            FilterKey::Symbol => {
                let found = functions(values, header)?;
                let functions = self
                    .functions
                    .get_or_insert_with(|| (NodeSymbols::new(header), Vec::new()));
                functions.1.extend(found);
            }
            FilterKey::Text => self.texts.push(value.as_bytes().to_vec()),
        }
        Ok(())
    }

    /// The details that must be recorded for the kinds in the filter.
    #[must_use]
    pub fn details(&self) -> Details {
        let kinds = self.kinds.unwrap_or(0);
        let named = (0..KIND_NAMES.len()).filter(|code| kinds >> code & 1 != 0);
        let details = named.map(|code| details_of(KIND_NAMES[code]));
        details.fold(Details::empty(), |all, one| all | one)
    }

    /// Whether a chunk may contain a matching event.
    #[must_use]
    pub fn may_pass(&self, chunk: &Chunk) -> bool {
        let bits = |places: &Vec<Place>| {
            places
                .iter()
                .fold(0, |bits, place| bits | Chunk::place_bit(*place))
        };
        self.kinds.is_none_or(|kinds| kinds & chunk.kinds != 0)
            && (self.initiators.is_none() || self.initiator_bits & chunk.initiators != 0)
            && self
                .places
                .as_ref()
                .is_none_or(|places| bits(places) & chunk.places != 0)
            && self.from.is_none_or(|from| chunk.last >= from)
            && self.until.is_none_or(|until| chunk.first < until)
    }

    /// Whether an event matches.
    pub fn passes(&mut self, event: &TraceEvent) -> bool {
        self.from.is_none_or(|from| event.time >= from)
            && self.until.is_none_or(|until| event.time < until)
            && self
                .kinds
                .is_none_or(|kinds| kinds >> kind_code(&event.kind) & 1 != 0)
            && self
                .initiators
                .as_ref()
                .is_none_or(|names| names.contains(&event.initiator_name()))
            && self
                .places
                .as_ref()
                .is_none_or(|places| places.contains(&event.place))
            && self
                .blocks
                .as_ref()
                .is_none_or(|blocks| blocks.contains(&event.block()))
            && self.passes_names(event)
            && self.passes_text(event)
    }

    /// Whether an event matches the names of probes, stages, messages and functions.
    fn passes_names(&mut self, event: &TraceEvent) -> bool {
        if let Some(probes) = &self.probes
            && !matches!(&event.kind, TraceKind::Probe { name, .. } if has(probes, name))
        {
            return false;
        }
        if let Some(stages) = &self.stages
            && !matches!(&event.kind, TraceKind::StageEnter { stage } | TraceKind::StageExit { stage } if has(stages, stage))
        {
            return false;
        }
        if let Some(messages) = &self.messages
            && !named_by(event).is_some_and(|message| messages.contains(&message))
        {
            return false;
        }
        match &mut self.functions {
            Some((symbols, functions)) => symbols
                .function_of(event)
                .is_some_and(|function| has(functions, function)),
            None => true,
        }
    }

    fn passes_text(&mut self, event: &TraceEvent) -> bool {
        if self.texts.is_empty() {
            return true;
        }
        self.line.clear();
        event.write_to(&mut self.line);
        let holds = |text: &Vec<u8>| self.line.windows(text.len()).any(|part| part == text);
        self.texts.iter().all(holds)
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

/// The node with a name or number.
///
/// # Errors
/// If there is none.
pub fn node(value: &str, header: &Header) -> anyhow::Result<Place> {
    let nodes = &header.nodes;
    let number = value.strip_prefix('n').unwrap_or(value).parse().ok();
    let number = number.filter(|&number: &usize| number < nodes.len());
    let number = number.or_else(|| nodes.iter().position(|node| node.name == value));
    let names: Vec<_> = nodes.iter().map(|node| &node.name[..]).collect();
    let number = number.ok_or_else(|| unknown("node", value, &names))?;
    Ok(Place::Node(number as u16))
}

fn switch(value: &str, header: &Header) -> anyhow::Result<Place> {
    let number = value.strip_prefix('s').unwrap_or(value).parse().ok();
    let number = number.filter(|&number: &u16| number < header.switches);
    let names: Vec<_> = (0..header.switches)
        .map(|number| number.to_string())
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let number = number.ok_or_else(|| unknown("switch", value, &names))?;
    Ok(Place::Switch(number))
}

/// Bits of all names equal to `value`, or beginning with it and a dash.
fn group(what: &'static str, value: &str, names: &[&str]) -> anyhow::Result<u64> {
    let within = |name: &str| {
        name.strip_prefix(value)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    };
    let bits = (0..names.len()).filter(|&index| within(names[index]));
    match bits.fold(0, |mask, index| mask | 1 << index) {
        0 => Err(unknown(what, value, names).into()),
        mask => Ok(mask),
    }
}

/// The names in the group that a value stands for.
fn chosen(
    what: &'static str,
    value: &str,
    names: &[&'static str],
) -> anyhow::Result<Vec<&'static str>> {
    let mask = group(what, value, names)?;
    let bits = (0..names.len()).filter(|bit| mask >> bit & 1 != 0);
    Ok(bits.map(|bit| names[bit]).collect())
}

/// Each name once, in the order of the first ones.
fn unique(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut once = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// Splits and checks names against the known ones.
fn named<'a>(
    what: &'static str,
    values: impl Iterator<Item = &'a str>,
    known: impl Iterator<Item = &'a String>,
) -> anyhow::Result<Vec<String>> {
    let known: Vec<_> = known.map(String::as_str).collect();
    let check = |value: &str| match known.contains(&value) {
        true => Ok(value.to_owned()),
        false => Err(unknown(what, value, &known).into()),
    };
    values.map(check).collect()
}

/// Full names of functions that are equal to a value or whose path ends with it.
fn functions<'a>(
    values: impl Iterator<Item = &'a str>,
    header: &Header,
) -> anyhow::Result<Vec<String>> {
    let symbols = header
        .images
        .iter()
        .flat_map(|image| image.table.symbols.iter());
    let known: Vec<_> = symbols.map(|symbol| symbol.name.as_str()).collect();
    let mut found = Vec::new();
    for value in values {
        let is = |name: &&&str| {
            name.strip_suffix(value)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
        };
        let before = found.len();
        found.extend(known.iter().filter(is).map(|name| (*name).to_owned()));
        if found.len() == before {
            return Err(unknown("function", value, &known)).context("--symbol");
        }
    }
    Ok(found)
}

impl fmt::Display for FilterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, key)| key == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

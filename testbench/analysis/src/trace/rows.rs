//! Display of events: text in columns, or JSON.

use std::collections::HashMap;
use std::fmt::Write;

use emulator::image::Symbols;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::observe::file::{Header, fields_by_name};
use emulator::sim::initiator::Initiator;
use serde_json::json;

/// Start of the column of symbols.
const SYMBOL_COLUMN: usize = 80;

/// An address with its symbol.
#[derive(Debug)]
struct NamedAddress {
    /// `name+0x10`.
    text: String,
    /// Length of the symbol's name in the text.
    name_bytes: usize,
}

/// The symbols of the images in a trace.
#[derive(Debug, Default)]
pub struct NodeSymbols {
    images: Vec<Symbols>,
    /// Indices of the images on the CPUs of each node.
    nodes: Vec<Vec<Option<usize>>>,
    /// Cache of results: the search is slow, and few addresses occur.
    found: HashMap<(usize, Initiator, u32), NamedAddress>,
}

impl NodeSymbols {
    /// Symbols of a trace.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self {
            images: header
                .images
                .iter()
                .map(|image| image.table.symbols.clone())
                .collect(),
            nodes: header
                .nodes
                .iter()
                .map(|node| node.images.clone())
                .collect(),
            found: HashMap::new(),
        }
    }

    /// Function and offset of an event's code, if the event has code and its image is known.
    pub fn place_of(&mut self, event: &TraceEvent) -> Option<&str> {
        self.find(event).map(|named| &named.text[..])
    }

    /// Function of an event's code.
    pub fn function_of(&mut self, event: &TraceEvent) -> Option<&str> {
        self.find(event)
            .map(|named| &named.text[..named.name_bytes])
    }

    fn find(&mut self, event: &TraceEvent) -> Option<&NamedAddress> {
        let address = code_address(event)?;
        let Place::Node(node) = event.place else {
            return None;
        };
        let cpu = event.initiator.cpu().unwrap_or_default();
        let image = (*self.nodes.get(usize::from(node))?.get(cpu)?)?;
        let symbols = self.images.get(image)?;
        let name = || {
            let text = symbols.describe_for(event.initiator, address);
            let found = symbols.seen_by(event.initiator, address);
            let name_bytes = found.map_or(text.len(), |(symbol, _)| symbol.name.len());
            NamedAddress { text, name_bytes }
        };
        let key = (image, event.initiator, address);
        Some(self.found.entry(key).or_insert_with(name))
    }
}

/// The instruction that an event concerns.
const fn code_address(event: &TraceEvent) -> Option<u32> {
    match event.kind {
        TraceKind::CoreStarted { pc } | TraceKind::CoreStopped { pc, .. } => Some(pc),
        TraceKind::HandlerEnter { address, .. } => Some(address),
        _ => event.pc,
    }
}

/// Name of a place in a trace: `n0`, `s0`.
#[must_use]
pub fn place_name(place: Place) -> String {
    match place {
        Place::Node(node) => format!("n{node}"),
        Place::Switch(switch) => format!("s{switch}"),
    }
}

/// Formatting of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Limit of the line width, on a terminal.
    pub width: Option<usize>,
    /// Colours, on a terminal.
    pub colour: bool,
}

impl Style {
    /// The style for standard output: plain in a pipe, or if `NO_COLOR` is set.
    #[must_use]
    pub fn of_stdout() -> Self {
        let terminal = console::Term::stdout();
        if !terminal.is_term() {
            return Self::default();
        }
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var("TERM").is_ok_and(|terminal| terminal == "dumb");
        Self {
            width: terminal.size_checked().map(|(_, columns)| columns.into()),
            colour: !set("NO_COLOR") && !dumb,
        }
    }
}

/// Formats events as rows.
#[derive(Debug)]
pub struct Rows {
    symbols: NodeSymbols,
    style: Style,
}

impl Rows {
    /// Creates rows for events of this trace.
    #[must_use]
    pub fn new(header: &Header, style: Style) -> Self {
        Self {
            symbols: NodeSymbols::new(header),
            style,
        }
    }

    /// Appends an event's row, with a line end.
    pub fn text(&mut self, event: &TraceEvent, text: &mut Vec<u8>) {
        let start = text.len();
        event.write_to(text);
        if let Some(symbol) = self.symbols.place_of(event) {
            let column = (start + SYMBOL_COLUMN).max(text.len() + 2);
            text.resize(column, b' ');
            text.extend_from_slice(symbol.as_bytes());
        }
        if self.style != Style::default() {
            let row = String::from_utf8_lossy(&text[start..]).into_owned();
            text.truncate(start);
            text.extend_from_slice(self.style.apply(&row, event).as_bytes());
        }
        text.push(b'\n');
    }

    /// Appends an event as a JSON object, with a line end.
    pub fn json(&mut self, event: &TraceEvent, text: &mut Vec<u8>) {
        let mut line = String::new();
        let _ = write!(line, "{}", event.kind);
        let object = json!({
            "time_ps": event.time.ps(),
            "place": place_name(event.place),
            "block": event.block(),
            "by": event.initiator_name(),
            "kind": event.kind.name(),
            "text": line,
            "fields": fields_by_name(&event.kind),
            "pc": event.pc,
            "symbol": self.symbols.place_of(event),
        });
        // Writing to a vector cannot fail.
        let _ = serde_json::to_writer(&mut *text, &object);
        text.push(b'\n');
    }
}

/// Whether an event is shown as a problem.
const fn is_bad(kind: &TraceKind) -> bool {
    matches!(
        kind,
        TraceKind::FrameDropped { .. }
            | TraceKind::Fault { .. }
            | TraceKind::FrameLost { .. }
            | TraceKind::GuestMistake { .. }
            | TraceKind::DmaFailed { .. }
            | TraceKind::CoreStopped { .. }
            | TraceKind::Reset
    )
}

impl Style {
    fn apply(self, row: &str, event: &TraceEvent) -> String {
        let width = self.width.unwrap_or(usize::MAX);
        let mut row: String = row.chars().take(width).collect();
        if self.colour {
            let colour = match &event.kind {
                kind if is_bad(kind) => "31",
                TraceKind::Probe { .. } => "1",
                TraceKind::HostCall { .. } | TraceKind::HostReturn { .. } => "36",
                _ => return row,
            };
            row = format!("\x1b[{colour}m{row}\x1b[0m");
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::probe;
    use emulator::image::{Identity, Symbol, SymbolKind, SymbolTable, Symbols};
    use emulator::observe::file::{ImageInfo, NodeInfo};

    fn header() -> Header {
        let symbol = Symbol {
            name: "emp::send".into(),
            address: 0x4000,
            size_bytes: 0x100,
            kind: SymbolKind::Function,
            memory: None,
        };
        let image = ImageInfo {
            name: "test".into(),
            table: SymbolTable {
                identity: Identity(7),
                symbols: Symbols::new(vec![symbol]),
            },
            probes: vec!["frame sent".into()],
            stages: Vec::new(),
        };
        Header {
            nodes: vec![NodeInfo {
                name: "a".into(),
                board: String::new(),
                images: vec![Some(0), None],
            }],
            images: vec![image],
            ..Header::default()
        }
    }

    fn shown(style: Style) -> String {
        let mut rows = Rows::new(&header(), style);
        let mut text = Vec::new();
        let mut event = probe(20_000_123, 0, "frame sent", &[1, 7]);
        rows.text(&event, &mut text);
        event.pc = Some(0x4010);
        rows.text(&event, &mut text);
        rows.json(&event, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn rows_have_columns() {
        let column = format!(
            "{:SYMBOL_COLUMN$}",
            "     20000.123000 n0 cpu_a     frame sent 0x1 0x7"
        );
        let expected = [
            column.trim_end(),
            &format!("{column}emp::send+0x10"),
            r#"{"block":"cpu_a","by":"cpu_a","fields":{"arguments":[1,7],"name":"frame sent"},"kind":"probe","pc":16400,"place":"n0","symbol":"emp::send+0x10","text":"frame sent 0x1 0x7","time_ps":20000123000}"#,
        ];
        let shown = shown(Style::default());
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_terminal_gets_what_fits() {
        let style = Style {
            width: Some(40),
            colour: true,
        };
        let shown = shown(style);
        let first = shown.lines().next().unwrap();
        assert_eq!(
            first,
            "\x1b[1m     20000.123000 n0 cpu_a     frame sen\x1b[0m"
        );
    }
}

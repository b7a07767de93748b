//! CPUs that stopped by themselves: which, where, why, and their active functions. Every command shows them by this module.

use std::fmt;

use defs::probe::END_BREAK;
use emulator::board::{CpuId, FaultKind, Inspect, StopReason};
use emulator::cpu::architecture::Transfer;
pub use emulator::image::plain_name;
use emulator::image::{Frame, Image, Lines, SourceFrame, Standing, Symbol, SymbolKind, stack};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::{value_enum, value_struct};
use serde::{Serialize, Serializer};

pub use crate::panic_text::source_at;
use crate::panic_text::{complete, is_newer, is_told, merged, message, of_body, of_library};

/// Start of the name of the panic handler.
pub const HANDLER: &str = "__rustc::";
/// Starts of the names of functions that only lead from a mistake to the panic handler.
const TO_THE_HANDLER: [&str; 9] = [
    HANDLER,
    "__rust_",
    "__software_",
    "core::",
    "<core::",
    "<[",
    "<str",
    "alloc::",
    "<alloc::",
];
/// The function that LANai code calls for `core::intrinsics::abort`, and the text of its probe.
const ABORT: &str = "abort";
/// Number of the `break` of a division by zero, by the convention of MIPS.
const DIVISION_BY_ZERO: u32 = 7;
/// Starts of the paths of sources of the language.
const LIBRARY: [&str; 2] = ["core/src/", "alloc/src/"];
/// Frames of one function in succession that are shown; the others of a recursion are counted.
const MOST_ALIKE: usize = 3;

/// A function's name without path and type parameters.
#[must_use]
pub fn short_name(name: &str) -> String {
    let plain = plain_name(name);
    match plain.rsplit_once("::") {
        Some((_, last)) if !last.contains('>') => last.into(),
        _ => plain,
    }
}

/// Whether both names denote one function; line tables may lack the path.
fn same_function(a: &str, b: &str) -> bool {
    short_name(a) == short_name(b)
}

fn plain_frame(frame: SourceFrame) -> SourceFrame {
    let function = frame.function.as_deref().map(plain_name);
    SourceFrame { function, ..frame }
}

fn leads_to_handler(name: &str) -> bool {
    // The linker names moved code like this: `share.divu.0`.
    let is_moved = [".div.", ".divu."].iter().any(|part| name.contains(part));
    is_moved || name == ABORT || TO_THE_HANDLER.iter().any(|start| name.starts_with(start))
}

/// A board's code as one of its CPUs sees it.
#[derive(Clone, Copy)]
pub struct CpuCode<'a> {
    /// State of the board.
    pub board: &'a dyn Inspect,
    /// CPU whose code it is.
    pub cpu: CpuId,
    /// Image of the board, if there is one.
    pub image: Option<&'a Image>,
    /// Source lines of the image, if it has some.
    pub lines: Option<&'a Lines>,
    /// Time at which memory is read.
    pub now: SimTime,
}

impl<'a> CpuCode<'a> {
    /// The code of a CPU of a node.
    #[must_use]
    pub fn new(
        node: &'a Node,
        cpu: CpuId,
        image: Option<&'a Image>,
        lines: Option<&'a Lines>,
    ) -> Self {
        Self {
            board: node.inspect(),
            cpu,
            image,
            lines,
            now: node.now(),
        }
    }

    fn symbol(&self, address: u32) -> Option<(&'a Symbol, u32)> {
        let who = self.board.cpus().get(self.cpu.index())?.initiator;
        self.image?.symbols.seen_by(who, address)
    }

    /// The function that contains an address.
    #[must_use]
    pub fn function(&self, address: u32) -> Option<&'a Symbol> {
        let (symbol, _) = self.symbol(address)?;
        (symbol.kind == SymbolKind::Function).then_some(symbol)
    }

    /// `name+0x10`, or the bare address.
    fn described(&self, address: u32) -> String {
        match self.symbol(address) {
            Some((symbol, 0)) => plain_name(&symbol.name),
            Some((symbol, offset)) => format!("{}+{offset:#x}", plain_name(&symbol.name)),
            None => format!("{address:#x}"),
        }
    }

    /// Source positions of an instruction, innermost inlined function first; empty if unknown. The scratchpads have equal
    /// addresses: lines of other functions are ignored.
    #[must_use]
    pub fn source(&self, address: u32) -> Vec<SourceFrame> {
        let frames = self.lines.and_then(|lines| lines.at(address).ok());
        let frames = frames.unwrap_or_default();
        let frames: Vec<_> = frames.iter().cloned().map(plain_frame).collect();
        let outermost = frames.last().and_then(|frame| frame.function.as_deref());
        match (outermost, self.function(address)) {
            (Some(outermost), Some(symbol)) if !same_function(outermost, &symbol.name) => {
                Vec::new()
            }
            _ => frames,
        }
    }

    /// The active functions, innermost first, and the reason if the list is incomplete.
    #[must_use]
    pub fn frames(&self) -> (Vec<Frame>, Option<String>) {
        let mut frames = Vec::new();
        let error = self.each_frame(|frame, _| frames.push(frame));
        (frames, error)
    }

    /// Shows each active function with its registers, innermost first; returns the reason if the list is incomplete.
    fn each_frame(&self, mut show: impl FnMut(Frame, &[u32; 32])) -> Option<String> {
        let board = self.board;
        let info = board.cpus().get(self.cpu.index())?;
        let (image, view) = (self.image?, board.cpu(self.cpu)?);
        let mut registers = [0; 32];
        for (kept, value) in registers.iter_mut().zip(board.registers(self.cpu)) {
            *kept = *value;
        }
        let lost = board.lost_returns(self.cpu);
        if view.blamed != view.pc {
            // It came where no code is by the call to blame, which has changed the return address alone.
            let architecture = image.architecture;
            let sp = registers[architecture.stack_pointer() & 31];
            let address = view.pc;
            show(Frame { address, sp }, &registers);
            let word = board.peek(self.cpu, view.blamed, self.now);
            if word.and_then(|word| architecture.transfer(word)) == Some(Transfer::Return) {
                let address = view.blamed;
                show(Frame { address, sp }, &registers);
                return Some(
                    "its return address was overwritten: the callers are not known".into(),
                );
            }
            let at = (view.blamed, sp);
            if let Some(kept) = lost.iter().rev().find(|kept| (kept.call, kept.sp) == at) {
                registers[architecture.return_address() & 31] = kept.to;
            }
        }
        let standing = Standing {
            who: info.initiator,
            pc: view.blamed,
            registers: &registers,
            lost,
            word: |at: u32| match at & 3 {
                0 => board.peek(self.cpu, at, self.now),
                _ => None,
            },
        };
        let error = image.unwind_each(standing, show);
        error.map(|error| error.to_string())
    }

    /// The function in which a CPU panicked, at its call that does not return, with its registers: from there, a debugger that knows the
    /// stack alone finds the callers down to the outermost function of the program. For this it may have to be one further out.
    #[must_use]
    pub fn panicked(&self) -> Option<(Frame, [u32; 32])> {
        self.board.panic_at(self.cpu)?;
        let mut frames = Vec::new();
        self.each_frame(|frame, registers| frames.push((frame, *registers)));
        let lost = self.board.lost_returns(self.cpu);
        let is_lost = |(frame, _): &(Frame, _)| {
            lost.iter()
                .any(|lost| (lost.call, lost.sp) == (frame.address, frame.sp))
        };
        let leads = |(frame, _): &(Frame, _)| {
            let function = self.function(frame.address);
            function.is_some_and(|function| leads_to_handler(&function.name))
        };
        let first = frames.iter().position(|frame| !leads(frame))?;
        let is_program = |(frame, _): &(Frame, _)| !self.source(frame.address).is_empty();
        let mut last = frames.iter().rposition(is_program).unwrap_or(first);
        // Behind the program's outermost function nothing needs to be found.
        while last > first && is_lost(&frames[last]) {
            last -= 1;
        }
        let reaches = |&from: &usize| {
            let outer = frames.get(from + 1..last).unwrap_or_default();
            !outer.iter().any(is_lost)
        };
        let chosen = (first..=last).find(reaches).unwrap_or(first);
        frames.into_iter().nth(chosen)
    }

    /// Advice to double the stack, if it has overflowed and the image's linker script has an option for it.
    fn larger_stack(&self, reason: &StopReason) -> String {
        let StopReason::Fault(_, FaultKind::Stack) = reason else {
            return String::new();
        };
        let option = self.image.and_then(|image| {
            let now = stack::region(image)?;
            stack::option_for(image, now.end - now.start)
        });
        option.map_or_else(String::new, |option| format!(" ({option} doubles it)"))
    }

    /// The active functions as lines, innermost first, with inlined ones.
    #[must_use]
    pub fn backtrace(&self) -> Vec<String> {
        let (frames, error) = self.frames();
        let mut lines = Vec::new();
        let mut number = 0;
        for alike in frames.chunk_by(|one, other| one.address == other.address) {
            // Of a recursion the first frames and the last one.
            let shown = match alike.len() {
                count @ 0..=MOST_ALIKE => count,
                _ => MOST_ALIKE - 1,
            };
            for frame in &alike[..shown] {
                self.frame_lines(frame.address, &mut number, &mut lines);
            }
            if let [_, .., last] = alike[shown..] {
                let more = alike.len() - shown - 1;
                lines.push(format!("    ... {more} more calls here"));
                number += more;
                self.frame_lines(last.address, &mut number, &mut lines);
            }
        }
        lines.extend(error.map(|error| format!("({error})")));
        lines
    }

    fn frame_lines(&self, at: u32, number: &mut usize, lines: &mut Vec<String>) {
        let source = self.source(at);
        let inlined = source.len().saturating_sub(1);
        for inline in &source[..inlined] {
            lines.push(format!("#{number:<2} inlined   {inline}"));
            *number += 1;
        }
        let own = self.function(at).map(|symbol| plain_name(&symbol.name));
        let name = own.unwrap_or_else(|| self.described(at));
        let place = source.last().map_or(String::new(), |place| {
            format!(" at {}:{}", place.file, place.line)
        });
        lines.push(format!("#{number:<2} {at:08x}  {name}{place}"));
        *number += 1;
    }

    /// The message of a panic, from the sources of the functions between its place and the handler.
    fn panic_message(&self) -> Option<String> {
        let is_handler = |name: &str| name.starts_with(HANDLER);
        // The function that was called at the place: where its own lines name a macro of another file, its source is mostly that of its caller.
        let mut called: Option<String> = None;
        for frame in self.frames().0 {
            let function = self.function(frame.address)?;
            if is_handler(&function.name) {
                continue;
            }
            for place in self.source(frame.address) {
                let path = self.lines.and_then(|lines| lines.path(&place.file));
                let name = place.function.as_deref().unwrap_or(&function.name);
                let callee = called.replace(name.into());
                let found = path.and_then(|path| {
                    let source = source_at(&path)?;
                    let of_callee = || of_body(&source, &callee?);
                    let mut found =
                        message(&source, (place.line, place.column), name).or_else(of_callee)?;
                    let told = is_told(&found, &path);
                    found += merged(name, |other| {
                        let mut symbols = self.image.iter().flat_map(|image| image.symbols.iter());
                        symbols.any(|symbol| symbol.name.ends_with(other))
                    });
                    if self
                        .image
                        .and_then(|image| image.built)
                        .is_some_and(|built| is_newer(&path, built))
                    {
                        found += " (source is newer than the image)";
                    }
                    told.then_some(found)
                });
                if found.is_some() {
                    return found;
                }
            }
            if !leads_to_handler(&function.name) {
                break;
            }
        }
        None
    }

    /// The innermost active function that is no part of the way to the panic handler, with its line.
    #[must_use]
    pub fn guilty(&self) -> Option<SourceFrame> {
        let leads = leads_to_handler;
        let (mut frames, _) = self.frames();
        // A call that led where no code is counts, not where it led.
        if let (Some(first), Some(view)) = (frames.first_mut(), self.board.cpu(self.cpu)) {
            first.address = view.blamed;
        }
        for frame in frames {
            let own = self.function(frame.address);
            let Some(symbol) = own.filter(|symbol| !leads(&symbol.name)) else {
                continue;
            };
            let source = self.source(frame.address);
            // Inlined functions are named without their path.
            let library =
                |frame: &SourceFrame| LIBRARY.iter().any(|start| frame.file.starts_with(start));
            let own = |frame: &&SourceFrame| !library(frame);
            let inlined = source.iter().rev().skip(1).rev().find(own);
            let function = Some(plain_name(&symbol.name));
            return Some(match (inlined, source.last()) {
                (Some(inlined), _) => inlined.clone(),
                (None, Some(place)) => SourceFrame {
                    function,
                    ..place.clone()
                },
                (None, None) => SourceFrame {
                    function,
                    file: "".into(),
                    line: 0,
                    column: 0,
                },
            });
        }
        None
    }
}

/// Kind of the reason for which a CPU stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The regular end of a program.
    Break,
    /// Any other `break`: the compiler makes one of `core::intrinsics::abort`.
    Abort,
    /// A panic of the firmware, also by `fail!`.
    Panic,
    /// An instruction that cannot be executed.
    #[serde(untagged)]
    Fault(#[serde(serialize_with = "fault")] FaultKind),
}

fn fault<S: Serializer>(_: &FaultKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("fault")
}

value_enum!(Cause { Break {}, Panic {}, Fault { 0: kind }, Abort {} });

impl Cause {
    /// Reason for which a CPU stopped by itself; `None` if it did not. Machine code without an image ends by any `break`.
    #[must_use]
    pub fn find(board: &dyn Inspect, cpu: CpuId, has_image: bool) -> Option<Self> {
        let view = board.cpu(cpu)?;
        Some(match view.state.stopped()? {
            StopReason::Fault(_, kind) => Self::Fault(*kind),
            StopReason::Break { code } => match board.panic_at(cpu) {
                Some(panic) if panic != ABORT => Self::Panic,
                None if END_BREAK == *code || !has_image => Self::Break,
                _ => Self::Abort,
            },
        })
    }

    /// Whether the program went wrong.
    #[must_use]
    pub fn is_mistake(self) -> bool {
        self != Self::Break
    }
}

/// Description of a `break` that is no regular end.
fn aborted(reason: &StopReason) -> String {
    match reason {
        StopReason::Break { code: 0 } => "abort".into(),
        StopReason::Break {
            code: DIVISION_BY_ZERO,
        } => format!("division by zero ({reason})"),
        _ => reason.to_string(),
    }
}

/// A CPU that stopped by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// Display name of the CPU: `CPU A`.
    pub cpu: String,
    /// Name of the CPU in files: `cpu_a`.
    pub id: String,
    /// Description of the stop: the panic with its place, `break 7`, or the instruction that cannot be executed.
    pub what: String,
    /// Cause of the stop.
    pub cause: Cause,
    /// Address of the instruction, as text.
    pub pc: String,
    /// The function in which it happened; of a panic, the one that panicked. Empty if unknown.
    pub function: String,
    /// Source line of the stop: `src/main.rs:14`. Empty if unknown.
    pub line: String,
    /// The active functions as lines, innermost first.
    pub backtrace: Vec<String>,
}

value_struct!(Stopped {
    cpu: cpu,
    id: id,
    what: what,
    cause: cause,
    pc: pc,
    function: function,
    line: line,
    backtrace: backtrace
});

impl Stopped {
    /// The report on the CPU of `code`; `None` if it did not stop by itself.
    #[must_use]
    pub fn examine(code: &CpuCode) -> Option<Self> {
        let view = code.board.cpu(code.cpu)?;
        let info = code.board.cpus().get(code.cpu.index())?;
        let reason = view.state.stopped()?;
        let cause = Cause::find(code.board, code.cpu, code.image.is_some())?;
        let panic = (cause == Cause::Panic).then(|| code.board.panic_at(code.cpu));
        let guilty = code.guilty();
        let line = guilty.as_ref().filter(|frame| frame.line > 0);
        let function = match cause {
            Cause::Panic | Cause::Abort => guilty.as_ref().and_then(|frame| frame.function.clone()),
            _ => code
                .symbol(view.blamed)
                .map(|_| code.described(view.blamed)),
        };
        Some(Self {
            cpu: info.name.into(),
            id: info.id.into(),
            what: match panic.flatten() {
                // `fail!`, and firmware that formats messages, say more than the place.
                Some(panic) if !panic.contains(": ") => {
                    let (panic, known) = of_library(&panic).unwrap_or((panic, None));
                    let message = known.or_else(|| code.panic_message());
                    let message = message.map(|message| format!(": {message}"));
                    panic + &message.unwrap_or_default()
                }
                Some(panic) => complete(&panic),
                None if cause == Cause::Abort => aborted(reason),
                None => {
                    // The place is shown beside it.
                    let text = reason.to_string();
                    let at = format!(", at {:#010x}", view.blamed);
                    text.strip_suffix(&at).unwrap_or(&text).to_owned() + &code.larger_stack(reason)
                }
            },
            cause,
            pc: format!("{:#010x}", view.blamed),
            function: function.unwrap_or_default(),
            line: line.map_or(String::new(), |frame| {
                format!("{}:{}", frame.file, frame.line)
            }),
            backtrace: code.backtrace(),
        })
    }

    /// The reports on all CPUs of a node.
    #[must_use]
    pub fn all(node: &Node, image: Option<&Image>) -> Vec<Self> {
        let board = node.inspect();
        let cpus = || (0..board.cpus().len()).map(CpuId::new);
        let stopped = |cpu| {
            board
                .cpu(cpu)
                .is_some_and(|view| view.state.stopped().is_some())
        };
        if !cpus().any(stopped) {
            return Vec::new();
        }
        let lines = image.and_then(|image| image.lines().ok());
        let code = |cpu| CpuCode::new(node, cpu, image, lines.as_ref());
        cpus().filter_map(|cpu| Self::examine(&code(cpu))).collect()
    }
}

impl Stopped {
    /// Whether it was no regular end.
    #[must_use]
    pub fn is_mistake(&self) -> bool {
        self.cause.is_mistake()
    }

    /// Description in lines: CPU, cause, and the active functions.
    #[must_use]
    pub fn lines(&self) -> String {
        let calls = self.backtrace.iter().map(|line| format!("\n{line}"));
        format!("{} has stopped: {self}", self.cpu) + &calls.collect::<String>()
    }

    /// Place of the stop: `0x00004010 (main+0x10 at src/main.rs:3)`.
    #[must_use]
    pub fn place(&self) -> String {
        let Self {
            pc, function, line, ..
        } = self;
        match (function.as_str(), line.as_str()) {
            ("", _) => pc.clone(),
            (function, "") => format!("{pc} ({function})"),
            (function, line) => format!("{pc} ({function} at {line})"),
        }
    }
}

/// One line without the CPU: what happened, and where. A panic names its place itself.
impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            Cause::Panic => f.write_str(&self.what),
            _ => {
                let comma = if self.what.contains(',') { "," } else { "" };
                write!(f, "{}{comma} at pc {}", self.what, self.place())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_types() {
        let check = |name, plain: &str, short: &str| {
            assert_eq!(
                (plain_name(name).as_str(), short_name(name).as_str()),
                (plain, short)
            );
        };
        check("__dispatch_b", "__dispatch_b", "__dispatch_b");
        check(
            "emp::ack::take_ack+0x10",
            "emp::ack::take_ack+0x10",
            "take_ack+0x10",
        );
        check(
            "emp::covers::<emp::Chip<A, So>>+0x64",
            "emp::covers+0x64",
            "covers+0x64",
        );
        check("post<Chip<fn(u32) -> u32>>", "post", "post");
        check("emp::Nic::<A>::load::<B>", "emp::Nic::load", "load");
        check(
            "<emp::Line as fmt::Write>::write_str",
            "<emp::Line as fmt::Write>::write_str",
            "write_str",
        );
        check("a::{closure#0}::<B>", "a::{closure#0}", "{closure#0}");
    }
}

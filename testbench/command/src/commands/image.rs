//! `lanigon image`: contents of a firmware image.

use std::path::Path;

use anyhow::{Context, ensure};
use defs::probe::Kind;
use emulator::boards::BOARD_NAMES;
use emulator::image::{ELF_FORM, Image, Memory, MemoryLimits, Names, Probe, software, stack};
use emulator::observe::names::{BoardNames, NO_BOARD, names_of};
use emulator::sim::initiator::Initiator;
use host_lib::firmware::linux::{LinuxFirmware, Version};
use serde::Serialize;

use super::{Status, board};
use crate::cli::ImageArgs;
use crate::output;
use lanigon_worlds::boards::DEFAULT;
use lanigon_worlds::files::{self, own::DataLocation};
use lanigon_worlds::images;

/// Name of a CPU, by its index.
fn cpu_name(names: &BoardNames, index: usize) -> &'static str {
    names.initiator(Initiator::Cpu(index as u8))
}

/// Runs the command.
///
/// # Errors
/// If the file is no valid image for the board, or the result cannot be written.
pub fn run(args: &ImageArgs) -> anyhow::Result<Status> {
    let chosen = board::choose(&args.board, None, Some(&args.image))?;
    let (board, sram_bytes) = (chosen.board, chosen.sram_bytes);
    let symbols = args.symbols.as_deref();
    let image = board::read_image(board, &args.image, symbols, sram_bytes)?;
    let file = |path| match board.find(path) {
        DataLocation::File(path) => Some(path),
        DataLocation::Embedded(_) => None,
    };
    let read = [
        ("the image", file(&args.image)),
        ("--symbols", symbols.and_then(file)),
    ];
    let read = read.iter();
    let read: Vec<_> = read
        .filter_map(|(name, path)| Some((*name, path.as_deref()?)))
        .collect();
    output::one_file_each(&read, &[("--linux-form", args.linux_form.as_deref())])?;
    if let Some(path) = &args.linux_form {
        ensure!(
            board.name == DEFAULT.name,
            "--linux-form: the format is for the {}",
            DEFAULT.title
        );
        write_linux_form(&image, path, sram_bytes)?;
    }
    let limits = board.image_limits(sram_bytes);
    let document = ImageDocument::new(args.image.display().to_string(), &image, &limits);
    if args.json {
        output::print_json(&document)?;
    } else {
        output::print(&document.text())?;
    }
    Ok(Status::Done)
}

/// Writes the image in the Linux format, with this program's version.
fn write_linux_form(image: &Image, path: &Path, sram_bytes: u32) -> anyhow::Result<()> {
    const fn number(text: &str) -> u8 {
        match u8::from_str_radix(text, 10) {
            Ok(number) => number,
            Err(_) => u8::MAX,
        }
    }
    let file = LinuxFirmware {
        version: Version {
            major: const { number(env!("CARGO_PKG_VERSION_MAJOR")) },
            minor: const { number(env!("CARGO_PKG_VERSION_MINOR")) },
            fix: const { number(env!("CARGO_PKG_VERSION_PATCH")) },
        },
        firmware: images::firmware(image),
    };
    let bytes = file.to_file(sram_bytes)?;
    files::output::write(path, &bytes).with_context(|| path.display().to_string())
}

/// JSON document of an image.
#[derive(Serialize)]
struct ImageDocument {
    file: String,
    /// ELF, or another form with its version.
    form: String,
    entry: String,
    /// An image with forbidden instructions is refused with an error. `unchecked`: code without symbols looks like data.
    instruction_set: &'static str,
    /// The other file that names the code.
    names_from: Option<String>,
    memories: Vec<MemoryUse>,
    sections: Vec<SectionRow>,
    stacks: Vec<StackRow>,
    /// Operations that software carries out for want of instructions, by function.
    software: Vec<SoftwareRow>,
    handlers: Vec<HandlerRow>,
    probes: Vec<ProbeRow>,
    log_lines: Vec<ProbeRow>,
}

#[derive(Serialize)]
struct MemoryUse {
    memory: &'static str,
    used_bytes: u32,
    size_bytes: u32,
}

#[derive(Serialize)]
struct SectionRow {
    name: String,
    memory: &'static str,
    address: String,
    size_bytes: u32,
    /// Code, data, or cleared memory.
    content: &'static str,
    /// Address from which start code copies it.
    loaded_at: Option<String>,
}

#[derive(Serialize)]
struct StackRow {
    cpu: &'static str,
    available_bytes: Option<u32>,
    /// Depth of the deepest known chain of calls.
    deepest_bytes: u32,
    chain: Vec<String>,
    /// Functions with unknown callees.
    unknown: Vec<String>,
}

#[derive(Serialize)]
struct SoftwareRow {
    function: String,
    /// Instructions by name, and how often the function has each.
    instructions: software::Counts,
}

#[derive(Serialize)]
struct HandlerRow {
    cpu: &'static str,
    event: &'static str,
    bit: Option<u32>,
    address: String,
    name: String,
}

#[derive(Serialize)]
struct ProbeRow {
    address: String,
    function: String,
    kind: &'static str,
    text: String,
    arguments: usize,
}

const fn memory_name(memory: Memory) -> &'static str {
    match memory {
        Memory::Sram => "sram",
        Memory::ScratchpadA => "scratchpad_a",
        Memory::ScratchpadB => "scratchpad_b",
        Memory::Scratchpads => "scratchpads",
    }
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => "event",
        Kind::StageEnter => "stage enter",
        Kind::StageExit => "stage exit",
        Kind::WaitEnter => "wait enter",
        Kind::WaitExit => "wait exit",
        Kind::Log => "log",
        Kind::Panic => "panic",
        Kind::Boards => "boards",
        Kind::Published => "published words",
        Kind::Guarded => "guarded words",
        Kind::Sampled => "sampled words",
    }
}

fn hexadecimal(address: u32) -> String {
    format!("{address:#010x}")
}

impl ImageDocument {
    fn new(file: String, image: &Image, limits: &MemoryLimits) -> Self {
        let probes = |log: bool| {
            let chosen = move |probe: &&Probe| (probe.kind == Kind::Log) == log;
            image
                .probes
                .iter()
                .filter(chosen)
                .map(|probe| ProbeRow::new(image, probe))
                .collect()
        };
        let names = names_of(BOARD_NAMES, limits.board).unwrap_or(&NO_BOARD);
        let handlers = image.handlers.iter().map(|handler| HandlerRow {
            cpu: handler.cpu.map_or("cpus", |cpu| cpu_name(names, cpu)),
            event: handler
                .event
                .map_or("none", |bit| (names.event)(bit).unwrap_or("software")),
            bit: handler.event,
            address: hexadecimal(handler.address),
            name: handler.name.clone(),
        });
        Self {
            file,
            form: image.form.clone(),
            entry: hexadecimal(image.entry),
            instruction_set: match image.code_is_checked() {
                true => "ok",
                false => "unchecked",
            },
            names_from: match &image.names {
                Names::Own | Names::Linked(_) => None,
                Names::Other(file) => Some(file.clone()),
            },
            memories: memories(image, limits),
            sections: sections(image),
            stacks: (0..names.cpus.len())
                .map(|cpu| StackRow::new(image, cpu, cpu_name(names, cpu)))
                .collect(),
            software: software::users(image)
                .into_iter()
                .map(|(function, instructions)| SoftwareRow {
                    function,
                    instructions,
                })
                .collect(),
            handlers: handlers.collect(),
            probes: probes(false),
            log_lines: probes(true),
        }
    }

    fn text(&self) -> String {
        let Self { file, entry, .. } = self;
        let mut text = format!("{file}\n");
        if self.form != ELF_FORM {
            text += &format!("  {}\n", self.form);
        }
        let instruction_set = match self.instruction_set {
            "unchecked" => "not checked, since code and data look alike without symbols",
            checked => checked,
        };
        text += &format!("  entry {entry}\n  instruction set: {instruction_set}\n");
        if let Some(file) = &self.names_from {
            text += &format!("  names and lines of {file}\n");
        }
        text += "\nmemories\n";
        for memory in &self.memories {
            let MemoryUse {
                memory,
                used_bytes,
                size_bytes,
            } = memory;
            let percent = 100.0 * f64::from(*used_bytes) / f64::from(*size_bytes);
            text += &format!(
                "  {memory:<14}{used_bytes:>8} of {size_bytes:>8} bytes  {percent:>5.1} %\n"
            );
        }
        text += "\nsections\n";
        for row in &self.sections {
            text += &row.text();
        }
        text += "\nstacks\n";
        for row in &self.stacks {
            text += &row.text();
        }
        if !self.software.is_empty() {
            text += &list(
                "done in software: about 30 to 600 cycles each",
                self.software.iter().map(SoftwareRow::text),
            );
        }
        text += &list("handlers", self.handlers.iter().map(HandlerRow::text));
        text += &list("probes", self.probes.iter().map(ProbeRow::text));
        text + &list("log lines", self.log_lines.iter().map(ProbeRow::text))
    }
}

/// A heading with lines; a single line if there are none.
fn list(heading: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.collect();
    if lines.is_empty() {
        format!("\n{heading}: none\n")
    } else {
        format!("\n{heading}\n{lines}")
    }
}

/// Use of each memory. Data that start code copies into a scratchpad also occupies SRAM.
fn memories(image: &Image, limits: &MemoryLimits) -> Vec<MemoryUse> {
    let copies = image
        .segments
        .iter()
        .filter(|segment| segment.load_address != segment.run_address);
    let copies: u32 = copies.map(|segment| segment.bytes.len() as u32).sum();
    let used = |memory| -> u32 {
        let inside = image
            .sections
            .iter()
            .filter(|section| section.memory == memory);
        inside.map(|section| section.size_bytes).sum()
    };
    let shared = used(Memory::Scratchpads);
    let row = |memory, copies, size_bytes| MemoryUse {
        memory: memory_name(memory),
        used_bytes: used(memory) + copies,
        size_bytes,
    };
    let rows = [
        row(Memory::Sram, copies, limits.sram_bytes),
        row(Memory::ScratchpadA, shared, limits.scratchpad_a_bytes),
        row(Memory::ScratchpadB, shared, limits.scratchpad_b_bytes),
    ];
    rows.into_iter().filter(|row| row.size_bytes > 0).collect()
}

fn sections(image: &Image) -> Vec<SectionRow> {
    let loaded_at = |address: u32| {
        let segment = image.segments.iter().find(|segment| {
            let offset = address.wrapping_sub(segment.run_address);
            segment.load_address != segment.run_address && offset < segment.bytes.len() as u32
        })?;
        Some(hexadecimal(
            segment.load_address + (address - segment.run_address),
        ))
    };
    let rows = image.sections.iter().map(|section| SectionRow {
        name: section.name.clone(),
        memory: memory_name(section.memory),
        address: hexadecimal(section.run_address),
        size_bytes: section.size_bytes,
        content: match (section.executable, section.bytes.is_empty()) {
            (true, _) => "code",
            (false, false) => "data",
            (false, true) => "cleared",
        },
        loaded_at: loaded_at(section.run_address),
    });
    rows.collect()
}

impl SectionRow {
    fn text(&self) -> String {
        let mut text = format!(
            "  {:<17} {:<13} {}{:>8} bytes  {}",
            self.name, self.memory, self.address, self.size_bytes, self.content
        );
        if let Some(address) = &self.loaded_at {
            text += &format!(", copied from {address}");
        }
        text + "\n"
    }
}

impl StackRow {
    fn new(image: &Image, cpu: usize, name: &'static str) -> Self {
        let deepest = stack::worst_case(image, cpu);
        Self {
            cpu: name,
            available_bytes: stack::available_bytes(image),
            deepest_bytes: deepest.bytes,
            chain: deepest.chain,
            unknown: deepest.unknown,
        }
    }

    fn text(&self) -> String {
        if self.chain.is_empty() {
            return format!("  {}  not used\n", self.cpu);
        }
        let use_of = match self.available_bytes {
            Some(bytes) if bytes < self.deepest_bytes => format!(
                "{} bytes, more than the {bytes} of the stack: the rest goes to the overflow area",
                self.deepest_bytes
            ),
            Some(bytes) => format!("{} of {bytes} bytes", self.deepest_bytes),
            None => format!("{} bytes", self.deepest_bytes),
        };
        let mut text = format!(
            "  {}  deepest known use {use_of}: {}\n",
            self.cpu,
            self.chain.join(" > ")
        );
        if !self.unknown.is_empty() {
            text += &format!(
                "         more below, unknown: {}\n",
                self.unknown.join(", ")
            );
        }
        text
    }
}

impl SoftwareRow {
    fn text(&self) -> String {
        let counts = self.instructions.iter();
        let counts: Vec<_> = counts
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        format!("  {}: {}\n", self.function, counts.join(", "))
    }
}

impl HandlerRow {
    fn text(&self) -> String {
        let bit = self.bit.map_or_else(String::new, |bit| bit.to_string());
        format!(
            "  {}  {bit:>2} {:<19} {}  {}\n",
            self.cpu, self.event, self.address, self.name
        )
    }
}

impl ProbeRow {
    fn new(image: &Image, probe: &Probe) -> Self {
        Self {
            address: hexadecimal(probe.address),
            function: image.symbols.describe(probe.address),
            kind: kind_name(probe.kind),
            text: probe.text.to_string(),
            arguments: probe.registers.len(),
        }
    }

    fn text(&self) -> String {
        format!(
            "  {}  {:<12}{:?}  in {}\n",
            self.address, self.kind, self.text, self.function
        )
    }
}

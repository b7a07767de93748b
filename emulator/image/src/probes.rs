//! Probes of an image: the sections of `defs::probe`, and formatting of log lines.

use std::sync::Arc;

use defs::probe::{ENTRIES_SHIFT, ENTRY_BYTES, Kind, SECTION, TEXT_SECTION, placeholders};
use goblin::elf::Elf;

use super::Section;
use super::elf::section_named;
use super::error::ImageError;

/// A probe at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The marked address.
    pub address: u32,
    /// Kind of the probe.
    pub kind: Kind,
    /// Name of the probe, or format of its line.
    pub text: Arc<str>,
    /// Registers with the arguments.
    pub registers: Vec<u8>,
}

/// Encoding of two registers in the entry of a probe, by an instruction that only names them.
struct PairForm {
    /// The instruction without its registers.
    word: u32,
    /// Bits of the registers' numbers, from which on they stand.
    places: [u32; 2],
}

impl PairForm {
    /// The registers that a word names, if it has this form.
    fn read(&self, word: u32) -> Option<[u8; 2]> {
        let [first, second] = self.places;
        let fields = 31 << first | 31 << second;
        let registers = self.places.map(|place| (word >> place & 31) as u8);
        (word & !fields == self.word).then_some(registers)
    }
}

/// The forms of all processors.
const PAIR_FORMS: [PairForm; 2] = [
    // MIPS: addu $zero, rs, rt.
    PairForm {
        word: 0x0000_0021,
        places: [21, 16],
    },
    // LANai: add %rs1, %rs2, %r0.
    PairForm {
        word: 0xC000_0000,
        places: [18, 11],
    },
];
/// Most bytes from the first declared word of an entry to behind the last one: more than any board has.
const MOST_DECLARED_BYTES: u32 = 0x0080_0000;
/// Most declared words of an image.
const MOST_DECLARED_WORDS: u64 = MOST_DECLARED_BYTES as u64 / 4;
/// Longest displayed text argument. Its address and length come from the guest, so a wrong length must not fill a trace.
const MAX_TEXT_BYTES: u32 = 256;

/// Words of memory that the firmware declares: by them one side tells another that it has come so far ([`defs::probe::Published`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedWords {
    /// Name of the words.
    pub name: Arc<str>,
    /// Address of the first word.
    pub address: u32,
    /// Number of entries.
    pub entries: u32,
    /// Words of each entry, side by side.
    pub words: u32,
    /// Bytes from the beginning of one entry to that of the next.
    pub every_bytes: u32,
    /// Whether they order ([`Kind::Published`]), are guarded or sampled.
    pub kind: Kind,
}

impl PublishedWords {
    /// The addresses of the words.
    pub fn addresses(&self) -> impl Iterator<Item = u32> + use<> {
        let (address, every_bytes, words) = (self.address, self.every_bytes, self.words);
        let entries = (0..self.entries).map(move |index| address + index * every_bytes);
        entries.flat_map(move |entry| (0..words).map(move |word| entry + 4 * word))
    }
}

/// The entries of an image.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The probes.
    pub(super) probes: Vec<Probe>,
    /// The names of the types of boards for which parts of the code are.
    pub(super) boards: Vec<Arc<str>>,
    /// Declared words.
    pub(super) published: Vec<PublishedWords>,
}

/// Reads all entries. Skips those of functions that the linker has removed.
pub(super) fn read(elf: &Elf, file: &[u8], sections: &[Section]) -> Result<Entries, ImageError> {
    let entries = section_named(elf, file, SECTION)?.unwrap_or_default();
    let texts = section_named(elf, file, TEXT_SECTION)?.unwrap_or_default();
    if !entries.len().is_multiple_of(ENTRY_BYTES) {
        let index = entries.len() / ENTRY_BYTES;
        return Err(ImageError::BadProbe {
            index,
            reason: "half an entry",
        });
    }
    let mut read = Entries::default();
    for (index, entry) in entries.chunks_exact(ENTRY_BYTES).enumerate() {
        let added = read
            .add(entry, &texts, sections)
            .map_err(|reason| ImageError::BadProbe { index, reason });
        added?;
    }
    Ok(read)
}

impl Entries {
    fn add(
        &mut self,
        entry: &[u8],
        texts: &[u8],
        sections: &[Section],
    ) -> Result<(), &'static str> {
        let words = words_of(entry)?;
        let kind = Kind::from_word(words[1]).ok_or("an unknown kind")?;
        if matches!(kind, Kind::Published | Kind::Guarded | Kind::Sampled) {
            let published = read_published(words, kind, texts)?;
            let all = self.published.iter().chain([&published]);
            let counts =
                all.map(|declared| u64::from(declared.entries) * u64::from(declared.words));
            if counts.sum::<u64>() > MOST_DECLARED_WORDS {
                return Err("more declared words than a board has");
            }
            self.published.push(published);
            return Ok(());
        }
        let probe = read_probe(words, kind, texts)?;
        let is_code = |section: &Section| section.executable && section.holds(probe.address);
        match sections.iter().any(is_code) {
            true if kind == Kind::Boards => self.boards.push(probe.text),
            true => self.probes.push(probe),
            false => {}
        }
        Ok(())
    }
}

fn words_of(entry: &[u8]) -> Result<[u32; ENTRY_BYTES / 4], &'static str> {
    let mut words = [0; ENTRY_BYTES / 4];
    for (word, bytes) in words.iter_mut().zip(entry.chunks_exact(4)) {
        *word = bytes
            .try_into()
            .map(u32::from_be_bytes)
            .map_err(|_| "half a word")?;
    }
    Ok(words)
}

fn read_published(
    [address, _, text, counts, every_bytes]: [u32; ENTRY_BYTES / 4],
    kind: Kind,
    texts: &[u8],
) -> Result<PublishedWords, &'static str> {
    let entries = counts >> ENTRIES_SHIFT;
    let words = counts & ((1 << ENTRIES_SHIFT) - 1);
    let end = entries
        .checked_mul(every_bytes)
        .and_then(|bytes| address.checked_add(bytes));
    let are_words = address.is_multiple_of(4)
        && every_bytes.is_multiple_of(4)
        && (1..=every_bytes / 4).contains(&words);
    if !are_words || end.is_none_or(|end| end - address > MOST_DECLARED_BYTES) {
        return Err("declared words that lie nowhere");
    }
    Ok(PublishedWords {
        name: read_text(texts, text)?.into(),
        address,
        entries,
        words,
        every_bytes,
        kind,
    })
}

fn read_probe(
    [address, _, text, first, second]: [u32; ENTRY_BYTES / 4],
    kind: Kind,
    texts: &[u8],
) -> Result<Probe, &'static str> {
    let mut registers = Vec::new();
    for pair in [first, second] {
        let named = PAIR_FORMS.iter().find_map(|form| form.read(pair));
        registers.extend(named.ok_or("an argument that names no registers")?);
    }
    let text = read_text(texts, text)?;
    registers.truncate(arguments(kind, text, &registers));
    Ok(Probe {
        address,
        kind,
        text: text.into(),
        registers,
    })
}

/// The number of arguments. A constant 0 may be in register 0, which stands for "no argument" too: the text of a line tells how many there
/// are.
fn arguments(kind: Kind, text: &str, registers: &[u8]) -> usize {
    let last = registers.iter().rposition(|&register| register != 0);
    let named = last.map_or(0, |last| last + 1);
    match kind {
        Kind::Log | Kind::Panic => named.max(placeholders(text)).min(registers.len()),
        _ => named,
    }
}

fn read_text(texts: &[u8], offset: u32) -> Result<&str, &'static str> {
    let rest = texts
        .get(offset as usize..)
        .ok_or("a text that lies outside its section")?;
    let end = rest
        .iter()
        .position(|&byte| byte == 0)
        .ok_or("a text without an end")?;
    std::str::from_utf8(&rest[..end]).map_err(|_| "a text that is not UTF-8")
}

/// Formats a line: `{}` decimal, `{x}` hexadecimal, `{s}` a text whose address and length are the next two
/// values, read byte by byte. Placeholders without a value are kept.
#[must_use]
pub fn format(format: &str, values: &[u32], mut read_byte: impl FnMut(u32) -> u8) -> String {
    let mut values = values.iter().copied();
    let mut line = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('{') {
        line.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find('}').map_or(rest.len(), |end| end + 1);
        let (hole, after) = rest.split_at(end);
        let shown = match hole {
            "{}" => values.next().map(|value| value.to_string()),
            "{x}" => values.next().map(|value| format!("{value:#x}")),
            "{s}" => values.next().zip(values.next()).map(|(address, length)| {
                let addresses = (0..length.min(MAX_TEXT_BYTES)).map(|i| address.wrapping_add(i));
                let bytes: Vec<u8> = addresses.map(&mut read_byte).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }),
            _ => None,
        };
        line.push_str(shown.as_deref().unwrap_or(hole));
        rest = after;
    }
    line + rest
}

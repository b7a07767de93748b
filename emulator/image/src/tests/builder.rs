//! Builds small ELF files byte by byte.

/// Description of a section.
pub struct Part {
    pub name: &'static str,
    /// Type, flags.
    pub kind: (u32, u32),
    pub run_address: u32,
    /// Load address, if the section is loaded (in its own segment).
    pub load_address: Option<u32>,
    pub bytes: Vec<u8>,
    /// Size in memory.
    pub size_bytes: u32,
}

/// Description of a symbol: name, value, size, type, name of its section ("" = absolute).
pub type Name = (&'static str, u32, u32, u8, &'static str);

pub const PROGBITS: u32 = 1;
pub const NOBITS: u32 = 8;
pub const CODE: u32 = 6;
pub const DATA: u32 = 3;
pub const UNLOADED: u32 = 0;
pub const FUNC: u8 = 2;
pub const OBJECT: u8 = 1;
pub const NOTYPE: u8 = 0;

/// Positions in the file header that tests change.
pub const CLASS_AT: usize = 4;
pub const DATA_AT: usize = 5;
pub const TYPE_AT: usize = 16;
pub const MACHINE_AT: usize = 18;

const HEADER_BYTES: usize = 52;
const SEGMENT_BYTES: usize = 32;
const SECTION_BYTES: usize = 40;

pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A section whose size is that of its bytes.
pub fn part(
    name: &'static str,
    flags: u32,
    run_address: u32,
    load_address: Option<u32>,
    bytes: Vec<u8>,
) -> Part {
    let size_bytes = u32::try_from(bytes.len()).expect("small");
    Part {
        name,
        kind: (PROGBITS, flags),
        run_address,
        load_address,
        bytes,
        size_bytes,
    }
}

/// Concatenates strings; returns the offset of each.
fn strings<'a>(texts: impl Iterator<Item = &'a str>) -> (Vec<u8>, Vec<u32>) {
    let mut table = vec![0];
    let mut offsets = Vec::new();
    for text in texts {
        offsets.push(u32::try_from(table.len()).expect("small"));
        table.extend(text.as_bytes());
        table.push(0);
    }
    (table, offsets)
}

fn symbol_table(parts: &[Part], names: &[Name]) -> (Vec<u8>, Vec<u8>) {
    let (texts, offsets) = strings(names.iter().map(|name| name.0));
    let mut table = vec![0; 16];
    for ((_, value, size, kind, section), offset) in names.iter().zip(offsets) {
        let index = parts.iter().position(|part| part.name == *section);
        let index = index.map_or(0xFFF1, |index| u16::try_from(index + 1).expect("small"));
        table.extend(words(&[offset, *value, *size]));
        table.extend([*kind, 0]);
        table.extend(index.to_be_bytes());
    }
    (table, texts)
}

/// The file: header, program headers, contents, section headers.
pub fn elf(entry: u32, mut parts: Vec<Part>, names: &[Name]) -> Vec<u8> {
    let (symbols, symbol_texts) = symbol_table(&parts, names);
    let links = u32::try_from(parts.len() + 2).expect("small");
    let unloaded = |name, kind, bytes: Vec<u8>| Part {
        kind: (kind, 0),
        ..part(name, 0, 0, None, bytes)
    };
    parts.push(unloaded(".symtab", 2, symbols));
    parts.push(unloaded(".strtab", 3, symbol_texts));
    let section_names: Vec<_> = parts
        .iter()
        .map(|part| part.name)
        .chain([".shstrtab"])
        .collect();
    let (texts, name_offsets) = strings(section_names.into_iter());
    parts.push(unloaded(".shstrtab", 3, texts));

    let loaded = parts
        .iter()
        .filter(|part| part.load_address.is_some())
        .count();
    let mut at = HEADER_BYTES + SEGMENT_BYTES * loaded;
    let (mut segments, mut contents) = (Vec::new(), Vec::<u8>::new());
    let mut sections = vec![0; SECTION_BYTES];
    for (part, name) in parts.iter().zip(name_offsets) {
        let offset = u32::try_from(at).expect("small");
        segments.extend(program_header(part, offset));
        sections.extend(section_header(part, name, offset, links));
        contents.extend(&part.bytes);
        at += part.bytes.len();
    }
    let counts = (
        u16::try_from(loaded).expect("small"),
        u16::try_from(parts.len()).expect("small"),
    );
    let mut file = header(
        entry,
        u32::try_from(at).expect("small"),
        counts.0,
        counts.1 + 1,
    );
    file.extend(segments);
    file.extend(contents);
    file.extend(sections);
    file
}

/// Program header of a part at `offset` of the file; empty if the part is not loaded.
fn program_header(part: &Part, offset: u32) -> Vec<u8> {
    let in_file = u32::try_from(part.bytes.len()).expect("small");
    let header = part.load_address.map(|load| {
        let address = part.run_address;
        words(&[1, offset, address, load, in_file, part.size_bytes, 7, 4])
    });
    header.into_iter().flatten().collect()
}

/// Section header of a part at `offset` of the file; a symbol table refers to section `links`.
fn section_header(part: &Part, name: u32, offset: u32, links: u32) -> Vec<u8> {
    let (kind, flags) = part.kind;
    let (link, entry_bytes) = if kind == 2 { (links, 16) } else { (0, 0) };
    let (address, size) = (part.run_address, part.size_bytes);
    let fields = [
        name,
        kind,
        flags,
        address,
        offset,
        size,
        link,
        0,
        1,
        entry_bytes,
    ];
    words(&fields)
}

fn header(entry: u32, sections_at: u32, segments: u16, sections: u16) -> Vec<u8> {
    let mut file = vec![0x7F, b'E', b'L', b'F', 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([0, 2, 0, 8]);
    file.extend(words(&[1, entry, 52, sections_at, 0x1001]));
    for half in [52, 32, segments, 40, sections, sections - 1] {
        file.extend(half.to_be_bytes());
    }
    file
}

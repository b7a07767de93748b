//! Addresses: where each section of the image lies.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::LinkError;
use crate::input::{Input, Role};
use crate::symbols::Id;

/// A part of the image: all sections with one role, or kept sections with one name.
#[derive(Debug, Clone)]
pub(crate) struct ImagePart {
    /// Name of the part in the image.
    pub name: String,
    /// Role of the part's sections.
    pub role: Role,
    /// Kind and flags in ELF's numbers, of kept parts.
    pub elf: (u32, u32),
    /// First address; 0 for kept parts.
    pub address: u32,
    /// Length, in bytes.
    pub size: u32,
    /// Largest alignment of its sections.
    pub align: u32,
    /// Sections of the part, with their offsets in it.
    pub sections: Vec<(Id, u32)>,
}

/// Addresses of all parts and sections.
#[derive(Debug)]
pub(crate) struct ImageLayout {
    /// The parts, loaded ones first, in the order of their addresses.
    pub parts: Vec<ImagePart>,
    /// Part and offset in it, of each section of the image.
    pub places: BTreeMap<Id, (usize, u32)>,
}

/// Loaded parts in the order of their addresses.
const PARTS: [(Role, &str); 4] = [
    (Role::Code, ".text"),
    (Role::ReadOnly, ".rodata"),
    (Role::Data, ".data"),
    (Role::Zero, ".bss"),
];

/// Alignment of the start of each part: sections that are zeroed or copied are whole pairs of words.
const PART_ALIGN: u32 = 8;

impl ImageLayout {
    /// Lays `live` out from address 0: `entry` first, the rest in the order of objects and sections.
    pub fn new(
        inputs: &[Input],
        live: &BTreeSet<Id>,
        entry: Id,
        memory: u32,
    ) -> Result<ImageLayout, LinkError> {
        let mut parts = Vec::new();
        let mut at = 0_u64;
        for (role, name) in PARTS {
            let of_role = |id: &&Id| inputs[id.object].sections[id.index].role == role;
            let first = live.iter().filter(|id| **id == entry);
            let others = live.iter().filter(|id| **id != entry);
            let ids: Vec<Id> = first.chain(others).filter(of_role).copied().collect();
            let mut part = ImagePart {
                name: name.to_owned(),
                role,
                elf: (0, 0),
                address: 0,
                size: 0,
                align: PART_ALIGN,
                sections: Vec::new(),
            };
            let end = part.place(inputs, &ids, at)?;
            at = end;
            if at > u64::from(memory) {
                let mut end = at;
                for id in live {
                    let section = &inputs[id.object].sections[id.index];
                    let is_later = section.role > role && section.role <= Role::Zero;
                    end += if is_later { u64::from(section.size) } else { 0 };
                }
                return Err(LinkError::TooLarge { end, memory });
            }
            parts.push(part);
        }
        kept(inputs, &mut parts)?;
        let mut places = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            let sections = part.sections.iter();
            places.extend(sections.map(|(id, offset)| (*id, (number, *offset))));
        }
        Ok(ImageLayout { parts, places })
    }

    /// Address of a loaded section.
    pub fn address(&self, id: Id) -> Option<u32> {
        let (part, offset) = self.places.get(&id)?;
        Some(self.parts[*part].address + offset)
    }

    /// The loaded part with `role`.
    pub fn part(&self, role: Role) -> Option<&ImagePart> {
        self.parts.iter().find(|part| part.role == role)
    }
}

impl ImagePart {
    /// Appends sections from address `at`; returns the end.
    fn place(&mut self, inputs: &[Input], ids: &[Id], at: u64) -> Result<u64, LinkError> {
        let section = |id: &Id| &inputs[id.object].sections[id.index];
        let largest = ids.iter().map(|id| section(id).align).max().unwrap_or(1);
        self.align = self.align.max(largest);
        let start = at.next_multiple_of(u64::from(self.align));
        let mut end = start;
        for id in ids {
            end = end.next_multiple_of(u64::from(section(id).align));
            self.sections.push((*id, narrow(end - start)?));
            end += u64::from(section(id).size);
        }
        self.address = narrow(start)?;
        self.size = narrow(end - start)?;
        Ok(end)
    }
}

/// An address of 32 bits.
fn narrow(value: u64) -> Result<u32, LinkError> {
    let memory = u32::MAX;
    u32::try_from(value).map_err(|_| LinkError::TooLarge { end: value, memory })
}

/// Appends the parts that are kept and not loaded: sections with one name are joined.
fn kept(inputs: &[Input], parts: &mut Vec<ImagePart>) -> Result<(), LinkError> {
    let mut names: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
    for (object, input) in inputs.iter().enumerate() {
        for (index, section) in input.sections.iter().enumerate() {
            if section.role == Role::Kept {
                let ids = names.entry(&section.name).or_default();
                ids.push(Id { object, index });
            }
        }
    }
    for (name, ids) in names {
        let first = &inputs[ids[0].object].sections[ids[0].index];
        let mut part = ImagePart {
            name: name.to_owned(),
            role: Role::Kept,
            elf: first.elf,
            address: 0,
            size: 0,
            align: 1,
            sections: Vec::new(),
        };
        part.place(inputs, &ids, 0)?;
        parts.push(part);
    }
    Ok(())
}

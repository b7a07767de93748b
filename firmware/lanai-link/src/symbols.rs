//! Global symbols: which definition each use means, and which sections the image needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{LinkError, Undefined};
use crate::input::{Definition, Input, Role};

/// Symbols that the linker defines when it knows the layout.
pub(crate) const LINKER_SYMBOLS: [&str; 5] = [
    "__text_end",
    "__data_start",
    "__bss_start",
    "__bss_end",
    "__stack_top",
];

/// A section, or a symbol, of one of the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    /// Index of the object.
    pub object: usize,
    /// Index of the section or symbol in it.
    pub index: usize,
}

/// Meaning of a use of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// An offset in a section.
    Place(Id, u32),
    /// A number that is no address.
    Number(u32),
    /// A symbol of the linker, by its index in [`LINKER_SYMBOLS`].
    Linker(usize),
    /// The symbol is not defined.
    Nothing,
}

/// The definitions of global symbols.
pub(crate) struct Symbols<'a> {
    inputs: &'a [Input],
    globals: BTreeMap<&'a str, Id>,
}

impl<'a> Symbols<'a> {
    /// Collects the definitions of all objects; a strong one wins over weak ones, the first weak one over others.
    pub fn new(inputs: &'a [Input]) -> Result<Symbols<'a>, LinkError> {
        let mut globals: BTreeMap<&str, Id> = BTreeMap::new();
        for (object, input) in inputs.iter().enumerate() {
            for (index, symbol) in input.symbols.iter().enumerate() {
                if symbol.is_local() || symbol.definition == Definition::Elsewhere {
                    continue;
                }
                let new = Id { object, index };
                let Some(known) = globals.get_mut(symbol.name.as_str()) else {
                    globals.insert(&symbol.name, new);
                    continue;
                };
                let first = &inputs[known.object];
                match (first.symbols[known.index].is_weak(), symbol.is_weak()) {
                    (true, false) => *known = new,
                    (_, true) => {}
                    (false, false) => {
                        return Err(LinkError::DefinedTwice {
                            symbol: symbol.name.clone(),
                            first: first.file.clone(),
                            second: input.file.clone(),
                        });
                    }
                }
            }
        }
        Ok(Symbols { inputs, globals })
    }

    /// The definition of the global symbol `name`.
    pub fn global(&self, name: &str) -> Option<Id> {
        self.globals.get(name).copied()
    }

    /// Meaning of the symbol `id`: itself if it is local, the chosen definition otherwise.
    pub fn meaning(&self, id: Id) -> Meaning {
        let symbol = &self.inputs[id.object].symbols[id.index];
        let chosen = match symbol.is_local() {
            true => Some(id),
            false => self.global(&symbol.name),
        };
        let Some(Id { object, index }) = chosen else {
            let ours = LINKER_SYMBOLS.iter().position(|name| *name == symbol.name);
            return ours.map_or(Meaning::Nothing, Meaning::Linker);
        };
        match self.inputs[object].symbols[index].definition {
            Definition::Elsewhere => Meaning::Nothing,
            Definition::Absolute(value) => Meaning::Number(value),
            Definition::Section(index, offset) => Meaning::Place(Id { object, index }, offset),
        }
    }

    /// All loaded sections that `roots`, and sections that must stay, refer to.
    pub fn reachable(&self, roots: &[Id]) -> Result<BTreeSet<Id>, LinkError> {
        let mut open = roots.to_vec();
        for (object, input) in self.inputs.iter().enumerate() {
            let retained = input.sections.iter().enumerate();
            let retained = retained.filter(|(_, section)| section.is_root);
            open.extend(retained.map(|(index, _)| Id { object, index }));
        }
        let mut live = BTreeSet::new();
        let mut undefined = BTreeSet::new();
        while let Some(id) = open.pop() {
            let input = &self.inputs[id.object];
            let section = &input.sections[id.index];
            let is_loaded = !matches!(section.role, Role::Kept | Role::Dropped);
            if !is_loaded || !live.insert(id) {
                continue;
            }
            for relocation in &section.relocations {
                let object = id.object;
                let index = relocation.symbol;
                match self.meaning(Id { object, index }) {
                    Meaning::Place(place, _) => open.push(place),
                    Meaning::Nothing if !input.symbols[index].is_weak() => {
                        undefined.insert(Undefined {
                            symbol: input.symbols[index].name.clone(),
                            file: input.file.clone(),
                            section: section.name.clone(),
                        });
                    }
                    Meaning::Nothing | Meaning::Number(_) | Meaning::Linker(_) => {}
                }
            }
        }
        match undefined.is_empty() {
            true => Ok(live),
            false => Err(LinkError::Undefined(undefined.into_iter().collect())),
        }
    }
}

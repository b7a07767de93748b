//! Timing profiles: every cost of the model, each with unit, source and reason.
//!
//! A profile is a TOML file (`emulator/profiles/`) for one type of board; users can supply their own. A table's entry is
//! `{ value, unit, source, why }`; `before_results` gives the earlier value of a cost that was changed in
//! knowledge of results. `board = "NAME"` names the type of board, which says what entries there are. With `base = "NAME"`
//! a profile takes board and entries of another one and replaces or adds some; `board` beside it is then a type of board that can have
//! them, too. `[stages]` gives the durations to
//! which protocol stages are stretched (ARCHITECTURE.md, "Timing"). An *overlay* ([`Profile::with`]) replaces
//! entries of any profile: another host for the same board.
//!
//! A type of board describes its profiles ([`BoardProfiles`]); a [`Catalog`] of them finds and reads profiles.
#![deny(missing_docs)]

pub mod costs;
mod error;
mod reader;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::costs::HostCosts;

pub use error::ProfileError;
pub use reader::Reader;

/// A cost, with its unit and its source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The value in `unit`.
    pub value: f64,
    /// The unit.
    pub unit: String,
    /// A section of docs/, the id of a published number, or GUESS.
    pub source: String,
    /// The reason for the value.
    pub why: String,
    /// The value before it was changed in knowledge of an experiment's results, if it was.
    pub before_results: Option<String>,
}

/// A profile as its file has it.
#[derive(Debug, Deserialize)]
struct ProfileFile {
    name: String,
    description: String,
    board: Option<String>,
    base: Option<String>,
    #[serde(default)]
    stages: BTreeMap<String, Entry>,
    #[serde(flatten)]
    groups: BTreeMap<String, BTreeMap<String, Entry>>,
}

impl ProfileFile {
    /// The file's entries, by `group.name`.
    fn entries(&self) -> impl Iterator<Item = (String, Entry)> + '_ {
        self.groups.iter().flat_map(|(group, members)| {
            let full = move |name: &str| format!("{group}.{name}");
            members
                .iter()
                .map(move |(name, entry)| (full(name), entry.clone()))
        })
    }
}

impl BoardProfiles {
    /// The names of its built-in profiles.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.built_in.iter().map(|(name, _)| *name)
    }
}

/// The profiles of a type of board.
#[derive(Debug)]
pub struct BoardProfiles {
    /// Name of the type of board.
    pub board: &'static str,
    /// Other types of boards whose profiles can be a base of these: this type has all their entries.
    pub based_on: &'static [&'static str],
    /// Names and texts of the built-in profiles.
    pub built_in: &'static [(&'static str, &'static str)],
    /// Reads every entry that the board uses, except those of the host.
    pub check: fn(&mut Reader<'_>) -> Result<(), ProfileError>,
}

/// A named set of costs of a type of board and its host.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Name of the profile.
    pub name: String,
    /// Purpose of the profile.
    pub description: String,
    /// Every entry by `group.name`.
    pub entries: BTreeMap<String, Entry>,
    /// Durations to which stages are stretched, by stage name; empty for plain hardware.
    pub stages: BTreeMap<String, Entry>,
    /// The costs of the host.
    pub host: HostCosts,
    kind: &'static BoardProfiles,
}

impl Profile {
    /// The name of the type of board that it is for.
    #[must_use]
    pub const fn board(&self) -> &'static str {
        self.kind.board
    }

    /// Checks that it is for this type of board.
    ///
    /// # Errors
    /// [`ProfileError::OtherBoard`].
    pub fn for_board(&self, wanted: &str) -> Result<&Self, ProfileError> {
        if self.board() == wanted {
            return Ok(self);
        }
        Err(ProfileError::OtherBoard {
            profile: self.name.clone(),
            board: self.board(),
            wanted: wanted.into(),
        })
    }

    /// Reads typed values from its entries. A profile of the right board has all entries that the board reads.
    #[must_use]
    pub const fn reader(&self) -> Reader<'_> {
        Reader::new(self.name.as_str(), &self.entries)
    }

    /// A copy of the profile with entries replaced by those of an overlay, such as a host's.
    ///
    /// # Errors
    /// Whatever is wrong with the overlay; a base in it, or an entry that this profile has not.
    pub fn with(&self, overlay: &str) -> Result<Self, ProfileError> {
        let file: ProfileFile = toml::from_str(overlay)?;
        let mut entries = self.entries.clone();
        for (name, entry) in file.entries() {
            if entries.insert(name.clone(), entry).is_none() {
                return Err(ProfileError::Superfluous {
                    profile: file.name.clone(),
                    entry: name,
                });
            }
        }
        if file.base.is_some() || file.board.is_some() || !file.stages.is_empty() {
            return Err(ProfileError::NoOverlay(file.name));
        }
        let (name, description) = (self.name.clone(), self.description.clone());
        Self::build(self.kind, name, description, entries, self.stages.clone())
    }

    /// A copy of the profile with other values of entries, by `group.name`, or of durations of stages, by `stages.name`.
    ///
    /// # Errors
    /// [`ProfileError::Superfluous`] if it has no such entry; a value that is out of range.
    pub fn with_values<'v>(
        &self,
        values: impl IntoIterator<Item = (&'v str, f64)>,
    ) -> Result<Self, ProfileError> {
        let (mut entries, mut stages) = (self.entries.clone(), self.stages.clone());
        for (name, value) in values {
            let entry = match name.strip_prefix("stages.") {
                Some(stage) => stages.get_mut(stage),
                None => entries.get_mut(name),
            };
            let entry = entry.ok_or_else(|| ProfileError::Superfluous {
                profile: self.name.clone(),
                entry: name.into(),
            })?;
            entry.value = value;
        }
        let (name, description) = (self.name.clone(), self.description.clone());
        Self::build(self.kind, name, description, entries, stages)
    }

    /// The names of all entries, and of stages as `stages.name`.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        let stages = self.stages.keys().map(|name| format!("stages.{name}"));
        self.entries.keys().cloned().chain(stages)
    }

    fn build(
        kind: &'static BoardProfiles,
        name: String,
        description: String,
        entries: BTreeMap<String, Entry>,
        stages: BTreeMap<String, Entry>,
    ) -> Result<Self, ProfileError> {
        let mut reader = Reader::new(&name, &entries);
        (kind.check)(&mut reader)?;
        let host = reader.host()?;
        if let Some(entry) = reader.left() {
            return Err(ProfileError::Superfluous {
                profile: name.clone(),
                entry: entry.into(),
            });
        }
        check_stages(&name, &stages)?;
        Ok(Self {
            name,
            description,
            entries,
            stages,
            host,
            kind,
        })
    }
}

/// The profiles of several types of boards.
#[derive(Debug, Clone)]
pub struct Catalog(Vec<&'static BoardProfiles>);

impl Catalog {
    /// The profiles of these types of boards.
    #[must_use]
    pub fn new(boards: impl IntoIterator<Item = &'static BoardProfiles>) -> Self {
        Self(boards.into_iter().collect())
    }

    /// Names and texts of the built-in profiles.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().flat_map(|kind| kind.built_in.iter().copied())
    }

    /// The names of the built-in profiles.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.texts().map(|(name, _)| name)
    }

    /// A built-in profile.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`].
    pub fn built_in(&self, name: &str) -> Result<Profile, ProfileError> {
        self.load(self.text(name)?, 0)
    }

    /// A profile from a user's text.
    ///
    /// # Errors
    /// Whatever is wrong with it.
    pub fn parse(&self, text: &str) -> Result<Profile, ProfileError> {
        self.load(text, 0)
    }

    fn text(&self, name: &str) -> Result<&'static str, ProfileError> {
        let found = self.texts().find(|(known, _)| *known == name);
        let unknown = || ProfileError::Unknown {
            name: name.into(),
            known: self.names().collect::<Vec<_>>().join(", "),
        };
        found.map(|(_, text)| text).ok_or_else(unknown)
    }

    fn load(&self, text: &str, depth: usize) -> Result<Profile, ProfileError> {
        let file: ProfileFile = toml::from_str(text)?;
        let (kind, mut entries, mut stages) = match &file.base {
            None => (self.board(&file)?, BTreeMap::new(), BTreeMap::new()),
            Some(_) if depth > self.texts().count() => return Err(ProfileError::Cycle(file.name)),
            Some(base) => {
                let base = self.load(self.text(base)?, depth + 1)?;
                (self.kind_with(&file, &base)?, base.entries, base.stages)
            }
        };
        entries.extend(file.entries());
        stages.extend(file.stages);
        Profile::build(kind, file.name, file.description, entries, stages)
    }

    /// The type of board of a file with a base: that of the base, or the one that the file names if it can take the base's entries.
    fn kind_with(
        &self,
        file: &ProfileFile,
        base: &Profile,
    ) -> Result<&'static BoardProfiles, ProfileError> {
        let Some(board) = &file.board else {
            return Ok(base.kind);
        };
        let named = self.0.iter().find(|kind| kind.board == board);
        match named.filter(|kind| kind.based_on.contains(&base.board())) {
            Some(kind) => Ok(kind),
            None => Ok(base.for_board(board)?.kind),
        }
    }

    /// The type of board that a file names.
    fn board(&self, file: &ProfileFile) -> Result<&'static BoardProfiles, ProfileError> {
        let (profile, kinds) = (file.name.clone(), self.0.iter());
        let known = kinds.map(|kind| kind.board).collect::<Vec<_>>().join(", ");
        let Some(board) = file.board.clone() else {
            return Err(ProfileError::NoBoard { profile, known });
        };
        let found = self.0.iter().find(|kind| kind.board == board);
        found.copied().ok_or(ProfileError::UnknownBoard {
            profile,
            board,
            known,
        })
    }
}

fn check_stages(profile: &str, stages: &BTreeMap<String, Entry>) -> Result<(), ProfileError> {
    for (name, entry) in stages {
        if entry.unit != "us" || !(0.01..=1e4).contains(&entry.value) {
            return Err(ProfileError::Value {
                profile: profile.into(),
                entry: format!("stages.{name}"),
                value: entry.value,
                unit: entry.unit.clone(),
                reason: "a stage takes between 0.01 and 10000 us".into(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: BoardProfiles = BoardProfiles {
        board: "one",
        based_on: &[],
        built_in: &[("plain", include_str!("../../profiles/tigon2-88mhz.toml"))],
        check: |_| Ok(()),
    };
    static BOARDS: [BoardProfiles; 2] = [
        ONE,
        BoardProfiles {
            board: "other",
            based_on: &["one"],
            built_in: &[(
                "bare",
                "name = \"bare\"\ndescription = \"d\"\nboard = \"other\"",
            )],
            check: |_| Ok(()),
        },
    ];

    fn check(text: &str, expected: &str) {
        let error = Catalog::new(&BOARDS).parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_profile_is_for_one_board() {
        let head = "name = \"mine\"\ndescription = \"d\"\n";
        check(head, "\"board\" is missing (there are: one, other)");
        check(&format!("{head}board = \"two\""), "no board \"two\"");
        check(&format!("{head}board = \"one\""), "pci.clock");
        check(&format!("{head}base = \"bare\""), "pci.clock");
        let names: Vec<_> = Catalog::new(&BOARDS).names().collect();
        assert_eq!(names, ["plain", "bare"]);
    }
}

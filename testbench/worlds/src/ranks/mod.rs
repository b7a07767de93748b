//! Ranks that are processes of one or several machines: how they meet, and their connections.
//!
//! Rank 0 listens. Every other rank tells it who it is and what it is to run; rank 0 compares that with its own, and tells all ranks
//! where the others listen, or why the run cannot begin. Then each two ranks have a connection of their own.
//!
//! Ranks that are joined by something else, such as MPI, only compare what they are to run (`agreement.rs`).

mod agreement;
mod meeting;
mod tcp;

use std::fmt;
use std::io;
use std::str::FromStr;

use emulator::sim::ranks::RankError;
use emulator::state::{Reader, StateError, Value, Writer};
use emulator::value_struct;

pub use agreement::agree;
pub use meeting::{Meeting, join};
pub use tcp::Tcp;

/// Largest number of ranks.
pub const MOST_RANKS: usize = 1024;

/// Rank of a process and number of all ranks, written as `1/4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankOf {
    /// Number of the rank, from 0.
    pub rank: usize,
    /// Number of ranks.
    pub ranks: usize,
}

impl FromStr for RankOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rank, ranks) = text.split_once('/').unwrap_or((text, ""));
        match (rank.parse(), ranks.parse()) {
            (Ok(rank), Ok(ranks)) if rank < ranks && ranks <= MOST_RANKS => {
                Ok(Self { rank, ranks })
            }
            _ => Err(format!(
                "a rank is I/N: its number from 0, below N, and the number of ranks, at most {MOST_RANKS}"
            )),
        }
    }
}

impl fmt::Display for RankOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.rank, self.ranks)
    }
}

/// Inputs on which a run depends: names, each with a text that is equal for equal inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity(Vec<(String, String)>);

value_struct!(Identity { 0: parts });

/// Longest text that a message shows.
const SHOWN: usize = 60;

impl Identity {
    /// Adds an input.
    #[must_use]
    pub fn with(mut self, name: &str, text: impl Into<String>) -> Self {
        self.0.push((name.into(), text.into()));
        self
    }

    /// Adds an input that may be long, as a checksum.
    #[must_use]
    pub fn with_long(self, name: &str, text: &str) -> Self {
        let hash = crc32fast::hash(text.as_bytes());
        self.with(name, format!("{hash:08x} of {} bytes", text.len()))
    }

    /// The first input that differs: its name, and the texts of both.
    fn difference<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str, &'a str)> {
        if self.0.len() != other.0.len() {
            return Some(("version", "", ""));
        }
        let mut pairs = self.0.iter().zip(&other.0);
        let (own, theirs) = pairs.find(|(own, theirs)| own != theirs)?;
        Some((&own.0, &own.1, &theirs.1))
    }

    /// Compares the inputs of rank 0 with those of another rank.
    fn compare(&self, rank: usize, theirs: &Self) -> Result<(), String> {
        let Some((name, own, theirs)) = self.difference(theirs) else {
            return Ok(());
        };
        let short = |text: &str| text.chars().take(SHOWN).collect::<String>();
        Err(format!(
            "rank {rank} has another {name} than rank 0: {}, and rank 0 has {}",
            short(theirs),
            short(own)
        ))
    }
}

/// Reasons for which ranks do not meet.
#[derive(Debug, thiserror::Error)]
pub enum MeetingError {
    /// No address.
    #[error("{at} is no address to meet at (HOST:PORT): {error}")]
    Address {
        /// The address.
        at: String,
        /// The reason.
        error: io::Error,
    },
    /// Rank 0 cannot listen.
    #[error("rank 0 cannot listen at {at}: {error}")]
    Listen {
        /// The address.
        at: String,
        /// The reason.
        error: io::Error,
    },
    /// No process listens at the address.
    #[error("rank 0 does not answer at {at}: {error}")]
    NoAnswer {
        /// The address.
        at: String,
        /// The reason.
        error: io::Error,
    },
    /// A connection ended, or failed.
    #[error("the connection to {who} failed before the run: {error}")]
    Connection {
        /// The other end.
        who: String,
        /// The reason.
        error: io::Error,
    },
    /// Something else than a rank of this version.
    #[error("{who} is no rank of this version of lanigon")]
    Foreign {
        /// The other end.
        who: String,
    },
    /// The ranks do not fit.
    #[error("{0}")]
    Refused(String),
    /// A rank is gone.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// The user has interrupted it.
    #[error("interrupted")]
    Interrupted,
}

/// Greeting of a rank that comes to rank 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hello {
    rank: usize,
    ranks: usize,
    /// Port at which the rank listens for higher ranks.
    port: u16,
    identity: Identity,
}

value_struct!(Hello {
    rank: rank,
    ranks: ranks,
    port: port,
    identity: identity
});

/// The bytes of a value.
fn bytes_of(value: &impl Value) -> Vec<u8> {
    let mut out = Writer::default();
    value.write(&mut out);
    out.into_bytes()
}

fn value_of<T: Value>(bytes: &[u8]) -> Result<T, StateError> {
    T::read(&mut Reader::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read() {
        let read = |text: &str| text.parse::<RankOf>().ok();
        assert_eq!(read("0/1"), Some(RankOf { rank: 0, ranks: 1 }));
        assert_eq!(read("3/4"), Some(RankOf { rank: 3, ranks: 4 }));
        for wrong in ["", "1", "4/4", "-1/2", "0/0", "0/1025", "a/2", "1/2/3"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let identity = |seed: &str| Identity::default().with("version", "1").with("seed", seed);
        assert_eq!(identity("3").compare(1, &identity("3")), Ok(()));
        let error = identity("3").compare(1, &identity("4"));
        let expected = "rank 1 has another seed than rank 0: 4, and rank 0 has 3";
        assert_eq!(error, Err(expected.into()));
    }
}

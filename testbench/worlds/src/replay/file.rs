//! Files of recordings.
//!
//! | bytes | content |
//! |-------|------|
//! | 8 | [`MAGIC`] |
//! | 4 | [`VERSION`], as all numbers least significant byte first |
//! | 4 | checksum (CRC-32) of the content |
//! | 4 and the rest | length of the content, and the content, compressed with LZ4 |
//!
//! The content: name and actions of the host program ([`emulator::host::tape`]), frames from outside with their times, and what
//! each fault layer did ([`emulator::wire::strikes`]).

use std::sync::Arc;

use emulator::host::tape::{Actions, Recording};
use emulator::sim::time::SimTime;
use emulator::state::{Reader, Value, Writer};
use emulator::wire::strikes::Strike;

use super::{Replay, ReplayError};

/// Magic bytes of a recording.
pub const MAGIC: &[u8; 8] = b"LANINODE";
/// Version of the file format.
pub const VERSION: u32 = 1;
/// Largest content: two full tracks of actions, and frames.
const MOST_BYTES: usize = 512 << 20;
/// Largest ratio of LZ4: a byte repeats at most 255 bytes.
const LARGEST_RATIO: usize = 256;
/// Longest frame or packet.
const LONGEST_FRAME_BYTES: usize = 1 << 20;

/// Everything that was recorded of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedNode {
    /// Name and actions of the host program.
    pub program: Option<(String, Actions)>,
    /// Frames from outside: time of the first bit, and bytes.
    pub arrivals: Vec<(SimTime, Vec<u8>)>,
    /// Actions of each fault layer of the node's port.
    pub layers: Vec<Vec<Strike>>,
}

impl RecordedNode {
    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut content = Writer::default();
        let program = self.program.as_ref();
        let program = program.map(|(name, actions)| (Arc::<str>::from(&**name), actions.clone()));
        program.write(&mut content);
        self.arrivals.write(&mut content);
        self.layers.write(&mut content);
        let content = content.into_bytes();
        let mut file = MAGIC.to_vec();
        file.extend(VERSION.to_le_bytes());
        file.extend(crc32fast::hash(&content).to_le_bytes());
        file.extend(lz4_flex::compress_prepend_size(&content));
        file
    }

    fn read(content: &[u8]) -> Result<Self, ReplayError> {
        let mut from = Reader::new(content);
        let program: Option<(Arc<str>, Actions)> = Value::read(&mut from)?;
        let recorded = Self {
            program: program.map(|(name, actions)| (name.to_string(), actions)),
            arrivals: Value::read(&mut from)?,
            layers: Value::read(&mut from)?,
        };
        match from.is_empty() {
            true => Ok(recorded),
            false => Err(ReplayError::Damaged),
        }
    }

    /// Refuses frames of impossible lengths.
    fn check_frames(&self) -> Result<(), ReplayError> {
        let strikes = self.layers.iter().flatten();
        let left = strikes.flat_map(|strike| &strike.left);
        let damaged = left.filter_map(|left| Some(left.damaged.as_ref()?.0.len()));
        let arrivals = self.arrivals.iter().map(|(_, bytes)| bytes.len());
        match damaged
            .chain(arrivals)
            .find(|&length| length > LONGEST_FRAME_BYTES)
        {
            Some(length) => Err(ReplayError::Frame(length)),
            None => Ok(()),
        }
    }
}

impl Replay {
    /// Parses and checks a file.
    ///
    /// # Errors
    /// If the bytes are no valid recording.
    pub fn parse(file: &[u8]) -> Result<Self, ReplayError> {
        let rest = file.strip_prefix(MAGIC).ok_or(ReplayError::Foreign)?;
        let (version, rest) = number(rest)?;
        if version != VERSION {
            return Err(ReplayError::Version(version));
        }
        let (checksum, rest) = number(rest)?;
        // An impossible size must not cause an allocation.
        let (size, _) = number(rest)?;
        if size as usize > MOST_BYTES.min(rest.len().saturating_mul(LARGEST_RATIO)) {
            return Err(ReplayError::Damaged);
        }
        let content =
            lz4_flex::decompress_size_prepended(rest).map_err(|_| ReplayError::Damaged)?;
        if crc32fast::hash(&content) != checksum {
            return Err(ReplayError::Damaged);
        }
        let recorded = RecordedNode::read(&content)?;
        recorded.check_frames()?;
        let program = recorded.program.map(|(name, actions)| {
            let recording = Recording::new(actions)?;
            Ok::<_, ReplayError>((name, Arc::new(recording)))
        });
        Ok(Self {
            program: program.transpose()?,
            arrivals: recorded.arrivals,
            layers: recorded.layers,
            checksum,
        })
    }
}

fn number(bytes: &[u8]) -> Result<(u32, &[u8]), ReplayError> {
    let (number, rest) = bytes.split_first_chunk().ok_or(ReplayError::Damaged)?;
    Ok((u32::from_le_bytes(*number), rest))
}

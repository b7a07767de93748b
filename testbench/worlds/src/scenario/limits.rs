//! Limits of messages, by protocol.

use defs::emp::control;
use defs::emp::descriptor::MESSAGE_LIMIT_BYTES;
use defs::emp::frame::{FRAME_LIMIT, message_limit};
use defs::gm::packet::capacity;
use defs::gm::port::{RECEIVE_TOKENS, SEND_TOKENS};

use super::error::{Position, ScenarioError};
use super::nodes::Nodes;
use super::programs::{DEFAULT_WINDOW, Program, ProgramSpec};
use super::table::Item;
use crate::boards::Protocol;
use crate::programs::fm_traffic;
use crate::programs::plan::{most_receives, most_transmits};

/// Longest message of a program over GM: buffers of 16 MB.
const GM_LIMIT_BYTES: u32 = capacity(24);

/// Payload of EMP's frames, of the node among these with the shortest ones.
#[must_use]
pub fn shortest_frames(senders: &[usize], nodes: &Nodes) -> u32 {
    let frames = senders
        .iter()
        .map(|&node| nodes.all[node].settings.emp.frame_bytes);
    frames.min().unwrap_or(control::DEFAULT_FRAME_BYTES)
}

/// Checks the length of a message over EMP whose frames have up to this payload.
///
/// # Errors
/// If its frames are too many.
pub fn check_emp_length(
    length: u64,
    frame_bytes: u32,
    place: &Position,
) -> Result<(), ScenarioError> {
    let most = u64::from(message_limit(frame_bytes));
    if length > most {
        return Err(place.refuse(format!(
            "{length} bytes are more than a message over EMP has with frame_bytes = {frame_bytes}: at most {most}, in {FRAME_LIMIT} frames"
        )));
    }
    Ok(())
}

/// Limits of a program's messages: those of its nodes' protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    protocol: Protocol,
    /// Payload of EMP's frames, of the sender with the shortest ones.
    frame_bytes: u32,
}

impl Limits {
    pub(super) fn for_program(spec: &ProgramSpec, nodes: &Nodes) -> Self {
        let of = |protocol| {
            let mut all = spec.nodes().into_iter();
            all.any(|node| nodes.all[node].protocol == Some(protocol))
        };
        let senders = match spec.program {
            Program::Stream { from, .. } => vec![from],
            _ => spec.nodes(),
        };
        let found = [Protocol::Gm, Protocol::Fm]
            .into_iter()
            .find(|&protocol| of(protocol));
        Self {
            protocol: found.unwrap_or(Protocol::Emp),
            frame_bytes: shortest_frames(&senders, nodes),
        }
    }

    /// The length of a message.
    pub(super) fn length(self, item: &Item<'_>) -> Result<u32, ScenarioError> {
        let most = match self.protocol {
            Protocol::Emp | Protocol::Acenic => MESSAGE_LIMIT_BYTES,
            Protocol::Gm => GM_LIMIT_BYTES,
            Protocol::Fm => fm_traffic::LONGEST_BYTES,
        };
        let length: u32 = item.integer(0..=u64::from(most))?;
        if self.protocol == Protocol::Emp {
            check_emp_length(length.into(), self.frame_bytes, &item.place)?;
        }
        Ok(length)
    }

    /// Largest number of posted transmits of this length.
    pub(super) const fn transmits(self, length: u32) -> usize {
        match self.protocol {
            Protocol::Emp | Protocol::Acenic => most_transmits(length),
            Protocol::Gm => SEND_TOKENS as usize,
            // FM returns from a send when the board has it: one message at a time.
            Protocol::Fm => DEFAULT_WINDOW,
        }
    }

    /// Largest number of posted receives of this length.
    pub(super) const fn receives(self, length: u32) -> usize {
        match self.protocol {
            Protocol::Emp | Protocol::Acenic => most_receives(length),
            Protocol::Gm => RECEIVE_TOKENS as usize,
            // FM has no posted receives.
            Protocol::Fm => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    #[test]
    fn messages_fit_into_the_frames_of_emp() {
        let check = |settings: &str, bytes: u32, expected: Option<&str>| {
            let text = format!(
                "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\n\
                 bytes = [64, {bytes}]\n{settings}\n"
            );
            let found = Scenario::parse("file.toml", &text).err();
            let found = found.map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        let short = "[emp]\nframe_bytes = 46";
        let refused = "file.toml:7: program.bytes: 49145 bytes are more than a message over EMP has with frame_bytes = 46: at most 49144, in 1536 frames";
        check(short, 49145, Some(refused));
        check(short, 49144, None);
        check("", 2 << 20, None);
    }
}

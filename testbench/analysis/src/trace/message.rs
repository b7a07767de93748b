//! The EMP message of an event, as far as the event identifies it.

use emulator::observe::event::{Place, TraceEvent, TraceKind};

use crate::messages::said;
/// A message: sender and identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageName {
    /// Node of the sender.
    pub sender: u16,
    /// Identifier, which repeats after 65 536 messages.
    pub id: u16,
}

impl std::fmt::Display for MessageName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.sender, self.id)
    }
}

impl std::str::FromStr for MessageName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':');
        let parts = parts.and_then(|(sender, id)| Some((sender.parse().ok()?, id.parse().ok()?)));
        let (sender, id) = parts
            .ok_or_else(|| format!("\"{text}\" is no message: expected SENDER:NUMBER, as 0:17"))?;
        Ok(Self { sender, id })
    }
}

/// The message named by an event.
#[must_use]
pub fn named_by(event: &TraceEvent) -> Option<MessageName> {
    let (TraceKind::Probe { name, arguments }, Place::Node(node)) = (&event.kind, event.place)
    else {
        return None;
    };
    let named = said(node, name, arguments)?.message;
    Some(MessageName {
        sender: named.from,
        id: named.id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::probe;

    #[test]
    fn both_sides_name_the_sender() {
        let check = |node, name, arguments: &[u32], expected: Option<&str>| {
            let named = named_by(&probe(0, node, name, arguments));
            let expected = expected.map(|text| text.parse().unwrap());
            assert_eq!(named, expected, "{name}");
        };
        check(3, "frame sent", &[1, 17, 0], Some("3:17"));
        check(1, "frame matched", &[3, 17, 0], Some("3:17"));
        check(1, "receive complete", &[3, 17, 0], Some("3:17"));
        check(1, "some other", &[3, 17], None);
        check(1, "frame sent", &[], None);
        for wrong in ["", "3", "3:", ":4", "3:65536", "a:b"] {
            assert!(wrong.parse::<MessageName>().is_err(), "{wrong}");
        }
    }
}

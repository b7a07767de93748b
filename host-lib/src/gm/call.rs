//! Descriptions of library calls, for the host system's observers.

use std::fmt;

use super::send::Priority;

/// A call and its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A message is sent.
    Send {
        /// The port that sends it.
        port: u8,
        /// The target.
        node: u16,
        /// Port of the receiver.
        target: u8,
        /// Priority of the message.
        priority: Priority,
        /// Length in bytes.
        length_bytes: u32,
    },
    /// A receive buffer is provided to a port.
    Provide(u8),
    /// The next event of a port is waited for, or taken.
    Receive(u8),
    /// A barrier of a port is posted.
    Barrier(u8),
    /// A reduction of a port is posted.
    Reduction(u8),
    /// An all-to-all broadcast of a port is posted.
    AllToAll(u8),
    /// An atomic operation of a port is posted.
    Atomic(u8),
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send {
                port,
                node,
                target,
                priority,
                length_bytes,
            } => {
                let priority = match priority {
                    Priority::Low => "low",
                    Priority::High => "high",
                };
                write!(
                    f,
                    "send from port {port} to {node}, port {target}, {priority}, {length_bytes} bytes"
                )
            }
            Self::Provide(port) => write!(f, "provide a buffer to port {port}"),
            Self::Receive(port) => write!(f, "receive on port {port}"),
            Self::Barrier(port) => write!(f, "post a barrier of port {port}"),
            Self::Reduction(port) => write!(f, "post a reduction of port {port}"),
            Self::AllToAll(port) => write!(f, "post an all-to-all broadcast of port {port}"),
            Self::Atomic(port) => write!(f, "post an atomic operation of port {port}"),
        }
    }
}

impl Call {
    /// The call that a text describes, which may begin with the name of a program; `None` for other texts.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let number = |words: &str| words.split([' ', ',']).next()?.parse().ok();
        if let Some((_, rest)) = text.rsplit_once("receive on port ") {
            return Some(Self::Receive(number(rest)?));
        }
        if let Some((_, rest)) = text.rsplit_once("post a barrier of port ") {
            return Some(Self::Barrier(number(rest)?));
        }
        if let Some((_, rest)) = text.rsplit_once("post a reduction of port ") {
            return Some(Self::Reduction(number(rest)?));
        }
        if let Some((_, rest)) = text.rsplit_once("post an all-to-all broadcast of port ") {
            return Some(Self::AllToAll(number(rest)?));
        }
        if let Some((_, rest)) = text.rsplit_once("post an atomic operation of port ") {
            return Some(Self::Atomic(number(rest)?));
        }
        if let Some((_, rest)) = text.rsplit_once("provide a buffer to port ") {
            return Some(Self::Provide(number(rest)?));
        }
        let (_, rest) = text.rsplit_once("send from port ")?;
        let port = number(rest)?;
        let (_, rest) = rest.split_once(" to ")?;
        let mut parts = rest.split(", ");
        let node = parts.next()?.parse().ok()?;
        let target = parts.next()?.strip_prefix("port ")?.parse().ok()?;
        let priority = match parts.next()? {
            "low" => Priority::Low,
            "high" => Priority::High,
            _ => return None,
        };
        let length = parts.next()?.strip_suffix(" bytes")?;
        Some(Self::Send {
            port,
            node,
            target,
            priority,
            length_bytes: length.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_its_call() {
        let send = Call::Send {
            port: 2,
            node: 300,
            target: 5,
            priority: Priority::High,
            length_bytes: 4096,
        };
        for call in [
            send,
            Call::Provide(7),
            Call::Receive(2),
            Call::Barrier(1),
            Call::Reduction(6),
            Call::AllToAll(3),
            Call::Atomic(5),
        ] {
            assert_eq!(Call::read(&call.to_string()), Some(call));
            assert_eq!(Call::read(&format!("stream: {call}")), Some(call));
        }
        for other in [
            "",
            "post transmit to 1, tag 2, 8 bytes",
            "send from port 2",
            "receive on port x",
        ] {
            assert_eq!(Call::read(other), None, "{other}");
        }
    }
}

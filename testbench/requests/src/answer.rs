//! Answers of the world to a process.

use crate::call::CallOutcome;
use crate::frame::{Decoder, FIELDS, Frame, RequestError, limited};
use crate::request::{Envelope, Message};

/// The world greets a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Welcome {
    /// Simulated time in ns.
    pub time_ns: u64,
    /// Longest message that is complete for its sender at once, in bytes.
    pub eager_bytes: u32,
    /// Number of the process in the run, which names it in messages: of those that were not started by others, the rank.
    pub number: u32,
    /// Number of the process's node.
    pub node: u32,
}

/// The end of an answer: the process goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    /// Simulated time in ns.
    pub time_ns: u64,
    /// Nothing will happen in simulated time before something happens outside.
    pub stalled: bool,
}

/// An answer of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To a hello, when all processes of the job are there.
    Welcome(Welcome),
    /// A message has come, from this rank.
    Message(Message),
    /// A send or collective operation with this token is complete.
    Done {
        /// Name of the send or operation.
        token: u64,
        /// Whether a message has not arrived.
        failed: bool,
        /// Bits of the result of a reduction; else 0.
        value: u64,
    },
    /// A call has come to something.
    Outcome(u64, CallOutcome),
    /// The end of an answer.
    End(End),
}

/// Kinds of answers on the line: no number of a request.
const WELCOME: u64 = 0x101;
const MESSAGE: u64 = 0x102;
const DONE: u64 = 0x103;
const END: u64 = 0x104;
const OUTCOME: u64 = 0x105;

impl Answer {
    /// Appends it to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let head = |kind, first: &[u64], bytes, out: &mut Vec<u8>| {
            let mut fields = [0; FIELDS];
            fields[..first.len()].copy_from_slice(first);
            Frame::write_head(kind, fields, bytes, out);
        };
        match self {
            Self::Welcome(welcome) => {
                let number = welcome.number.into();
                let node = welcome.node.into();
                let fields = [welcome.time_ns, welcome.eager_bytes.into(), number, node];
                head(WELCOME, &fields, 0, out);
            }
            Self::Message(message) => {
                let [ends, tag, data] = message.envelope.words();
                let fields = [message.rank.into(), ends, tag, data];
                head(MESSAGE, &fields, message.bytes.len(), out);
                out.extend_from_slice(&message.bytes);
            }
            Self::Done {
                token,
                failed,
                value,
            } => head(DONE, &[*token, u64::from(*failed), *value], 0, out),
            Self::Outcome(ticket, outcome) => outcome.write(OUTCOME, *ticket, out),
            Self::End(end) => head(END, &[end.time_ns, end.stalled.into()], 0, out),
        }
    }

    /// The next answer, if it is complete.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn next(decoder: &mut Decoder) -> Result<Option<Self>, RequestError> {
        decoder.next_frame()?.map(Self::read).transpose()
    }

    fn read(frame: Frame) -> Result<Self, RequestError> {
        let [first, second, third, fourth, ..] = frame.fields;
        let number = |value| limited("a number", value, u32::MAX.into());
        if !matches!(frame.kind, MESSAGE | OUTCOME) {
            frame.without_bytes("an answer")?;
        }
        match frame.kind {
            WELCOME => Ok(Self::Welcome(Welcome {
                time_ns: first,
                eager_bytes: number(second)? as u32,
                number: number(third)? as u32,
                node: number(fourth)? as u32,
            })),
            MESSAGE => Ok(Self::Message(Message {
                rank: number(first)? as u32,
                envelope: Envelope::read([second, third, fourth])?,
                bytes: frame.bytes,
            })),
            DONE => Ok(Self::Done {
                token: first,
                failed: limited("a flag", second, 1)? == 1,
                value: third,
            }),
            OUTCOME => {
                let (ticket, outcome) = CallOutcome::read(frame)?;
                Ok(Self::Outcome(ticket, outcome))
            }
            END => Ok(Self::End(End {
                time_ns: first,
                stalled: limited("a flag", second, 1)? == 1,
            })),
            kind => Err(RequestError::Kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Item, Refusal, SocketAddress};
    use crate::request::Class;

    #[test]
    fn answers_are_read_as_written() {
        let answers = [
            Answer::Welcome(Welcome {
                time_ns: 1,
                eager_bytes: 16384,
                number: 3,
                node: 1,
            }),
            Answer::Message(Message {
                rank: 3,
                envelope: Envelope {
                    class: Class::Tagged,
                    tag: 9,
                    data: Some(7),
                    ..Envelope::default()
                },
                bytes: vec![1, 2, 3],
            }),
            Answer::Done {
                token: 5,
                failed: true,
                value: 6,
            },
            Answer::Outcome(
                7,
                CallOutcome {
                    port: 80,
                    peer: SocketAddress { rank: 1, port: 2 },
                    bytes: vec![1, 2, 3],
                    items: vec![Item {
                        socket: 4,
                        events: 5,
                        edge: true,
                        reads: 6,
                        writes: 7,
                    }],
                    ..CallOutcome::with_value(3)
                },
            ),
            Answer::Outcome(8, CallOutcome::refused(Refusal::Invalid)),
            Answer::End(End {
                time_ns: 2,
                stalled: true,
            }),
        ];
        let mut bytes = Vec::new();
        answers.iter().for_each(|answer| answer.write(&mut bytes));
        let mut decoder = Decoder::default();
        decoder.extend(&bytes);
        for answer in answers {
            assert_eq!(Answer::next(&mut decoder), Ok(Some(answer)));
        }
        assert_eq!(Answer::next(&mut decoder), Ok(None));
        assert_eq!(decoder.lacks(), 80);
    }
}

//! Requests of a process to the world.

use crate::call::{SocketCall, limit_word, read_limit};
use crate::frame::{Decoder, FIELDS, Frame, RequestError, limited};
use crate::operation::Region;

/// Most processor time of a request, in ns.
pub const LONGEST_NS: u64 = 1_000_000_000_000;
/// Longest name of a job.
const JOB_BYTES: usize = 1024;
/// Most processes of a job.
const MOST_RANKS: u64 = 1 << 16;
/// Largest number of a process of a run.
const MOST_NUMBER: u64 = (1 << 32) - 1;

/// A process says who it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// Version of the protocol.
    pub version: u64,
    /// Rank of the process.
    pub rank: u32,
    /// Number of processes of its job.
    pub size: u32,
    /// Number of the process in the operating system.
    pub process: u32,
    /// Name of its job.
    pub job: String,
}

/// Class of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Class {
    /// For a receive without a tag.
    #[default]
    Plain,
    /// For a receive with a tag.
    Tagged,
    /// An [`Operation`](crate::Operation), which the host of the receiver carries out.
    Operation,
    /// The reply to an operation.
    Reply,
}

/// Fields of a message that its receiver gets beside the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Endpoint of the sender, among those of its process.
    pub from_endpoint: u8,
    /// Endpoint of the receiver.
    pub to_endpoint: u8,
    /// Class of the message.
    pub class: Class,
    /// Tag of the message, if it has one.
    pub tag: u64,
    /// Data for the receiver's completion; of a reply: the number of an error.
    pub data: Option<u64>,
}

/// A message to another process, or from one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Number of the other process in the run: of those that were not started by others, the rank.
    pub rank: u32,
    /// Endpoints, tag and data of the message.
    pub envelope: Envelope,
    /// Content of the message.
    pub bytes: Vec<u8>,
}

/// The part of a process in a reduction of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueReduction {
    /// Operation on the values: its number in GM's descriptors (`firmware/defs/src/gm/collective.rs`), below [`OPERATIONS`](Self::OPERATIONS).
    pub operation: u8,
    /// Bits of the own value.
    pub value: u64,
}

impl ValueReduction {
    /// Number of operations.
    pub const OPERATIONS: u64 = 10;
}

/// A process has nothing to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Poll {
    /// Longest wait, in ns of simulated time; `None`: until something comes.
    pub limit_ns: Option<u64>,
    /// Receives that it has posted.
    pub receives: u32,
    /// Sends that are not complete.
    pub sends: u32,
}

/// Request of a process. Each has the processor time that the process has spent since the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// The first one.
    Hello(Hello),
    /// A message is sent. If `token` is not 0, an answer names it when the message has arrived; else nothing is said.
    Send {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
        /// Name of the send.
        token: u64,
        /// The message, with its receiver.
        message: Message,
    },
    /// The process has nothing to do: is answered when something has come.
    Poll {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
        /// The awaited events and the longest wait.
        poll: Poll,
    },
    /// Asks for the time: is answered at once.
    Time {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
    },
    /// The process begins a collective operation of all ranks, which the boards execute. An answer names it when it has ended.
    Collective {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
        /// Name of the operation, as of a send.
        token: u64,
        /// A reduction whose result all ranks get; `None`: a barrier.
        reduction: Option<ValueReduction>,
    },
    /// A call on a socket: is answered when it has come to something and the process polls.
    Call {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
        /// Number of the call.
        ticket: u64,
        /// Longest wait, in ns of simulated time; `None`: as long as it takes.
        limit_ns: Option<u64>,
        /// Call to carry out.
        call: SocketCall,
    },
    /// Memory is offered to other processes under this name, or offered no more.
    Region {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
        /// Name of the region.
        key: u64,
        /// The memory; `None`: the name is free again.
        region: Option<Region>,
    },
    /// The process will start others, as `MPI_Comm_spawn` does: is answered when it may, one after the other.
    Spawn {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
        /// Number of processes, which will be one job.
        count: u32,
    },
    /// The process has started others, or has failed to.
    Spawned {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
    },
    /// The process ends with the network, and waits only for others that do so too.
    Finalize {
        /// Processor time since the request before, in ns.
        spent_ns: u64,
    },
    /// The process ends all, as `MPI_Abort` does.
    Abort {
        /// Code of the call.
        code: i32,
    },
    /// The process has ended with the network.
    Bye,
}

/// Kinds of requests on the line.
const HELLO: u64 = 1;
const SEND: u64 = 2;
const POLL: u64 = 3;
const TIME: u64 = 4;
const BYE: u64 = 5;
const CALL: u64 = 6;
const REGION: u64 = 7;
const COLLECTIVE: u64 = 8;
const SPAWN: u64 = 9;
const SPAWNED: u64 = 10;
const FINALIZE: u64 = 11;
const ABORT: u64 = 12;

/// Description of a request that has no bytes; `None`: it may have some.
const fn bare(kind: u64) -> Option<&'static str> {
    match kind {
        TIME => Some("a question for the time"),
        COLLECTIVE => Some("a collective operation"),
        REGION => Some("a region"),
        SPAWN => Some("a start of processes"),
        SPAWNED => Some("an end of a start"),
        FINALIZE => Some("a begin of the end"),
        ABORT => Some("an end of all"),
        BYE => Some("a farewell"),
        _ => None,
    }
}

/// Fields of an envelope's word behind the endpoints.
const CLASS: u64 = 3;
const DATA: u64 = 4;

impl Hello {
    fn read(frame: &Frame) -> Result<Self, RequestError> {
        let [version, rank, size, process, ..] = frame.fields;
        let bytes = frame.bytes.len();
        let what = "a process's name";
        if bytes > JOB_BYTES {
            return Err(RequestError::Bytes { what, bytes });
        }
        let size = limited("a number of processes", size, MOST_RANKS)?;
        Ok(Self {
            version,
            rank: limited("a rank", rank, size.saturating_sub(1))? as u32,
            size: size as u32,
            process: limited("a process's number", process, u32::MAX.into())? as u32,
            job: String::from_utf8_lossy(&frame.bytes).into_owned(),
        })
    }
}

impl Poll {
    fn read(frame: &Frame) -> Result<Self, RequestError> {
        frame.without_bytes("a poll")?;
        let [_, has_limit, limit, receives, sends, ..] = frame.fields;
        let has_limit = limited("a flag", has_limit, 1)? == 1;
        let limit_ns = limited("a limit in ns", limit, LONGEST_NS)?;
        Ok(Self {
            limit_ns: has_limit.then_some(limit_ns),
            receives: limited("a number of receives", receives, u32::MAX.into())? as u32,
            sends: limited("a number of sends", sends, u32::MAX.into())? as u32,
        })
    }
}

impl Envelope {
    /// Envelope of the reply to this operation, with the number of an error.
    #[must_use]
    pub const fn reply(self, error: Option<u64>) -> Self {
        Self {
            from_endpoint: self.to_endpoint,
            to_endpoint: self.from_endpoint,
            class: Class::Reply,
            tag: self.tag,
            data: error,
        }
    }

    /// Three words: endpoints and flags, tag, data.
    #[must_use]
    pub fn words(&self) -> [u64; 3] {
        let data = self.data.map_or(0, |_| DATA);
        let ends = u64::from(self.from_endpoint) | u64::from(self.to_endpoint) << 8;
        let first = ends | (self.class as u64 | data) << 16;
        [first, self.tag, self.data.unwrap_or_default()]
    }

    /// Reads them.
    ///
    /// # Errors
    /// [`RequestError::Value`].
    pub fn read([first, tag, data]: [u64; 3]) -> Result<Self, RequestError> {
        let flags = limited("a word of flags", first, (CLASS | DATA) << 16 | 0xFFFF)? >> 16;
        Ok(Self {
            from_endpoint: first as u8,
            to_endpoint: (first >> 8) as u8,
            class: match flags & CLASS {
                0 => Class::Plain,
                1 => Class::Tagged,
                2 => Class::Operation,
                _ => Class::Reply,
            },
            tag,
            data: (flags & DATA != 0).then_some(data),
        })
    }
}

impl Request {
    /// Appends it to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let head = |kind, first: &[u64], out: &mut Vec<u8>| {
            let mut fields = [0; FIELDS];
            fields[..first.len()].copy_from_slice(first);
            Frame::write_head(kind, fields, 0, out);
        };
        match self {
            Self::Hello(hello) => {
                let (rank, size) = (hello.rank.into(), hello.size.into());
                let fields = [hello.version, rank, size, hello.process.into(), 0, 0, 0, 0];
                Frame::write_head(HELLO, fields, hello.job.len(), out);
                out.extend_from_slice(hello.job.as_bytes());
            }
            Self::Send {
                spent_ns,
                token,
                message,
            } => {
                Self::write_send_head(
                    *spent_ns,
                    *token,
                    message.rank,
                    &message.envelope,
                    message.bytes.len(),
                    out,
                );
                out.extend_from_slice(&message.bytes);
            }
            Self::Poll { spent_ns, poll } => {
                let (receives, sends) = (poll.receives.into(), poll.sends.into());
                let limit = poll.limit_ns.map_or([0, 0], |limit| [1, limit]);
                let fields = [*spent_ns, limit[0], limit[1], receives, sends];
                head(POLL, &fields, out);
            }
            Self::Time { spent_ns } => head(TIME, &[*spent_ns], out),
            Self::Collective {
                spent_ns,
                token,
                reduction,
            } => {
                let words =
                    reduction.map_or([0; 2], |own| [1 + u64::from(own.operation), own.value]);
                head(COLLECTIVE, &[*spent_ns, *token, words[0], words[1]], out);
            }
            Self::Call {
                spent_ns,
                ticket,
                limit_ns,
                call,
            } => call.write(CALL, [*spent_ns, *ticket, limit_word(*limit_ns)], out),
            Self::Region {
                spent_ns,
                key,
                region,
            } => {
                let words = region.map_or([0; 3], |region| [1, region.address, region.bytes]);
                let [is_there, address, bytes] = words;
                head(REGION, &[*spent_ns, *key, is_there, address, bytes], out);
            }
            Self::Spawn { spent_ns, count } => head(SPAWN, &[*spent_ns, (*count).into()], out),
            Self::Spawned { spent_ns } => head(SPAWNED, &[*spent_ns], out),
            Self::Finalize { spent_ns } => head(FINALIZE, &[*spent_ns], out),
            Self::Abort { code } => head(ABORT, &[code.cast_unsigned().into()], out),
            Self::Bye => head(BYE, &[], out),
        }
    }

    /// Appends the head of a [`Send`](Self::Send) whose `bytes` bytes follow, wherever they are.
    pub fn write_send_head(
        spent_ns: u64,
        token: u64,
        rank: u32,
        envelope: &Envelope,
        bytes: usize,
        out: &mut Vec<u8>,
    ) {
        let [ends, tag, data] = envelope.words();
        let fields = [spent_ns, token, rank.into(), ends, tag, data, 0, 0];
        Frame::write_head(SEND, fields, bytes, out);
    }

    /// The next request, if it is complete.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn next(decoder: &mut Decoder) -> Result<Option<Self>, RequestError> {
        decoder.next_frame()?.map(Self::read).transpose()
    }

    fn read(frame: Frame) -> Result<Self, RequestError> {
        let spent = |value| limited("processor time in ns", value, LONGEST_NS);
        let [first, second, third, fourth, fifth, sixth, ..] = frame.fields;
        if let Some(what) = bare(frame.kind) {
            frame.without_bytes(what)?;
        }
        match frame.kind {
            HELLO => Hello::read(&frame).map(Self::Hello),
            SEND => Ok(Self::Send {
                spent_ns: spent(first)?,
                token: second,
                message: Message {
                    rank: limited("a process's number", third, MOST_NUMBER)? as u32,
                    envelope: Envelope::read([fourth, fifth, sixth])?,
                    bytes: frame.bytes,
                },
            }),
            POLL => {
                let spent_ns = spent(first)?;
                let poll = Poll::read(&frame)?;
                Ok(Self::Poll { spent_ns, poll })
            }
            TIME => spent(first).map(|spent_ns| Self::Time { spent_ns }),
            COLLECTIVE => {
                let operation = limited("an operation", third, ValueReduction::OPERATIONS)?;
                let reduction = operation.checked_sub(1).map(|operation| ValueReduction {
                    operation: operation as u8,
                    value: fourth,
                });
                Ok(Self::Collective {
                    spent_ns: spent(first)?,
                    token: second,
                    reduction,
                })
            }
            CALL => Ok(Self::Call {
                spent_ns: spent(first)?,
                ticket: second,
                limit_ns: read_limit(third)?,
                call: SocketCall::read(frame)?,
            }),
            REGION => {
                let (address, bytes) = (fourth, fifth);
                let is_there = limited("a flag", third, 1)? == 1;
                Ok(Self::Region {
                    spent_ns: spent(first)?,
                    key: second,
                    region: is_there.then_some(Region { address, bytes }),
                })
            }
            SPAWN => Ok(Self::Spawn {
                spent_ns: spent(first)?,
                count: limited("a number of processes", second, MOST_RANKS)? as u32,
            }),
            SPAWNED => spent(first).map(|spent_ns| Self::Spawned { spent_ns }),
            FINALIZE => spent(first).map(|spent_ns| Self::Finalize { spent_ns }),
            ABORT => {
                let code = limited("a code", first, u32::MAX.into())? as u32;
                let code = code.cast_signed();
                Ok(Self::Abort { code })
            }
            BYE => Ok(Self::Bye),
            kind => Err(RequestError::Kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests;

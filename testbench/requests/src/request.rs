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
    /// The other process.
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

impl Envelope {
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
        match frame.kind {
            HELLO => Hello::read(&frame).map(Self::Hello),
            SEND => Ok(Self::Send {
                spent_ns: spent(first)?,
                token: second,
                message: Message {
                    rank: limited("a rank", third, MOST_RANKS)? as u32,
                    envelope: Envelope::read([fourth, fifth, sixth])?,
                    bytes: frame.bytes,
                },
            }),
            POLL => {
                frame.without_bytes("a poll")?;
                let has_limit = limited("a flag", second, 1)? == 1;
                let limit = limited("a limit in ns", third, LONGEST_NS)?;
                let poll = Poll {
                    limit_ns: has_limit.then_some(limit),
                    receives: limited("a number of receives", fourth, u32::MAX.into())? as u32,
                    sends: limited("a number of sends", fifth, u32::MAX.into())? as u32,
                };
                let spent_ns = spent(first)?;
                Ok(Self::Poll { spent_ns, poll })
            }
            TIME => {
                frame.without_bytes("a question for the time")?;
                let spent_ns = spent(first)?;
                Ok(Self::Time { spent_ns })
            }
            COLLECTIVE => {
                frame.without_bytes("a collective operation")?;
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
                frame.without_bytes("a region")?;
                let (address, bytes) = (fourth, fifth);
                let is_there = limited("a flag", third, 1)? == 1;
                Ok(Self::Region {
                    spent_ns: spent(first)?,
                    key: second,
                    region: is_there.then_some(Region { address, bytes }),
                })
            }
            BYE => {
                frame.without_bytes("a farewell")?;
                Ok(Self::Bye)
            }
            kind => Err(RequestError::Kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::call::{Item, SocketAddress};

    fn message() -> impl Strategy<Value = Message> {
        let envelope = (
            any::<[u8; 2]>(),
            0..4_u8,
            any::<u64>(),
            any::<Option<u64>>(),
        );
        let bytes = proptest::collection::vec(any::<u8>(), 0..300);
        (0..1000_u32, envelope, bytes).prop_map(|(rank, (ends, class, tag, data), bytes)| {
            let envelope = Envelope {
                from_endpoint: ends[0],
                to_endpoint: ends[1],
                class: match class {
                    0 => Class::Plain,
                    1 => Class::Tagged,
                    2 => Class::Operation,
                    _ => Class::Reply,
                },
                tag,
                data,
            };
            Message {
                rank,
                envelope,
                bytes,
            }
        })
    }

    fn call() -> impl Strategy<Value = SocketCall> {
        let item = any::<(u32, u32, bool, u32, u32)>();
        let item = item.prop_map(|(socket, events, edge, reads, writes)| Item {
            socket,
            events,
            edge,
            reads,
            writes,
        });
        let items = proptest::collection::vec(item, 0..5);
        let bytes = proptest::collection::vec(any::<u8>(), 0..50);
        let some = any::<(u32, u32, u16, bool, bool)>();
        (0..13, some, items, bytes).prop_map(
            |(kind, (socket, name, port, read, write), items, bytes)| match kind {
                0 => SocketCall::Bind { socket, port },
                1 => SocketCall::Listen {
                    socket,
                    backlog: name,
                },
                2 => SocketCall::Connect {
                    socket,
                    to: SocketAddress { rank: name, port },
                },
                3 => SocketCall::Accept { socket, name },
                4 => SocketCall::Read {
                    socket,
                    most: name,
                    peek: read,
                },
                5 => SocketCall::Write { socket, bytes },
                6 => SocketCall::Shutdown {
                    socket,
                    read,
                    write,
                },
                7 => SocketCall::Close { socket },
                8 => SocketCall::TakeError { socket },
                9 => SocketCall::Available { socket },
                10 => SocketCall::Wait {
                    items,
                    outside: read,
                },
                11 => SocketCall::Cancel {
                    ticket: u64::from(socket) << 20,
                },
                _ => SocketCall::CloseAll,
            },
        )
    }

    fn reduction() -> impl Strategy<Value = Option<ValueReduction>> {
        let own = (0..ValueReduction::OPERATIONS as u8, any::<u64>());
        proptest::option::of(own.prop_map(|(operation, value)| ValueReduction { operation, value }))
    }

    fn request() -> impl Strategy<Value = Request> {
        let spent = 0..LONGEST_NS;
        let poll = (proptest::option::of(0..LONGEST_NS), any::<(u32, u32)>());
        prop_oneof![
            (0..100_u32, any::<u32>(), "[a-z0-9.]{0,20}").prop_map(|(rank, process, job)| {
                let version = crate::VERSION;
                let size = 100;
                Request::Hello(Hello {
                    version,
                    rank,
                    size,
                    process,
                    job,
                })
            }),
            (spent.clone(), any::<u64>(), message()).prop_map(|(spent_ns, token, message)| {
                Request::Send {
                    spent_ns,
                    token,
                    message,
                }
            }),
            (spent.clone(), poll).prop_map(|(spent_ns, (limit_ns, (receives, sends)))| {
                let poll = Poll {
                    limit_ns,
                    receives,
                    sends,
                };
                Request::Poll { spent_ns, poll }
            }),
            (spent.clone(), any::<u64>(), reduction()).prop_map(|(spent_ns, token, reduction)| {
                Request::Collective {
                    spent_ns,
                    token,
                    reduction,
                }
            }),
            spent.prop_map(|spent_ns| Request::Time { spent_ns }),
            (any::<u64>(), proptest::option::of(0..LONGEST_NS), call()).prop_map(
                |(ticket, limit_ns, call)| Request::Call {
                    spent_ns: 5,
                    ticket,
                    limit_ns,
                    call,
                }
            ),
            any::<(u64, Option<(u64, u64)>)>().prop_map(|(key, region)| Request::Region {
                spent_ns: 5,
                key,
                region: region.map(|(address, bytes)| Region { address, bytes }),
            }),
            Just(Request::Bye),
        ]
    }

    proptest! {
        #![proptest_config(cases::cases(256))]

        /// Requests are read as they were written, however the bytes are cut.
        #[test]
        fn requests_are_read_as_written(
            requests in proptest::collection::vec(request(), 1..8),
            step in 1..200_usize,
        ) {
            let mut bytes = Vec::new();
            requests.iter().for_each(|request| request.write(&mut bytes));
            let mut decoder = Decoder::default();
            let mut read = Vec::new();
            for part in bytes.chunks(step) {
                decoder.extend(part);
                while let Some(request) = Request::next(&mut decoder).expect("a request") {
                    read.push(request);
                }
            }
            prop_assert_eq!(read, requests);
        }

        /// Any bytes are requests or an error; no more is kept than has come.
        #[test]
        fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            let mut decoder = Decoder::default();
            decoder.extend(&bytes);
            while let Ok(Some(_)) = Request::next(&mut decoder) {}
        }

        /// A request with a damaged byte is another request or an error.
        #[test]
        fn damage_is_no_panic(request in request(), place in any::<usize>(), value in any::<u8>()) {
            let mut bytes = Vec::new();
            request.write(&mut bytes);
            let place = place % bytes.len();
            bytes[place] = value;
            let mut decoder = Decoder::default();
            decoder.extend(&bytes);
            while let Ok(Some(_)) = Request::next(&mut decoder) {}
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let read = |kind, fields, bytes: &[u8]| {
            let mut all = Vec::new();
            Frame::write_head(kind, fields, bytes.len(), &mut all);
            all.extend_from_slice(bytes);
            let mut decoder = Decoder::default();
            decoder.extend(&all);
            Request::next(&mut decoder)
                .expect_err("an error")
                .to_string()
        };
        assert_eq!(read(9, [0; FIELDS], &[]), "a message of the unknown kind 9");
        assert_eq!(
            read(BYE, [0; FIELDS], &[1]),
            "1 bytes behind the head of a farewell"
        );
        let fields = [u64::MAX, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(
            read(TIME, fields, &[]),
            "processor time in ns is 18446744073709551615"
        );
        let mut decoder = Decoder::default();
        let mut head = Vec::new();
        Frame::write_head(SEND, [0; FIELDS], usize::MAX, &mut head);
        decoder.extend(&head);
        let error = Request::next(&mut decoder).expect_err("an error");
        assert_eq!(error, RequestError::TooLong(u64::MAX));
    }
}

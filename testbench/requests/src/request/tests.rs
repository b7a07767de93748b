//! Requests are read as they were written, and nothing else is one.

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
        spent
            .clone()
            .prop_map(|spent_ns| Request::Time { spent_ns }),
        (spent.clone(), 0..1000_u32)
            .prop_map(|(spent_ns, count)| Request::Spawn { spent_ns, count }),
        spent
            .clone()
            .prop_map(|spent_ns| Request::Spawned { spent_ns }),
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
        spent.prop_map(|spent_ns| Request::Finalize { spent_ns }),
        any::<i32>().prop_map(|code| Request::Abort { code }),
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
    assert_eq!(
        read(99, [0; FIELDS], &[]),
        "a message of the unknown kind 99"
    );
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

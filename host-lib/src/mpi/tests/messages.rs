//! Messages: matching, order, requests, errors.

use proptest::prelude::*;

use super::net::{self, Net, Process};
use super::{EAGER_BYTES, Node, check, mpi};
use crate::mpi::{
    Communicator, MpiError, Operation, Progress, ReceiveRequest, Source, Status, Tag,
};

/// Criteria of a rank's receives.
#[derive(Debug, Clone, Copy)]
enum Choice {
    Exact,
    AnySource,
    AnyTag,
    Anything,
}

/// A message of a random program.
#[derive(Debug, Clone)]
struct Planned {
    from: usize,
    to: usize,
    tag: i32,
    bytes: usize,
    synchronous: bool,
}

#[derive(Debug, Clone)]
struct Plan {
    size: usize,
    messages: Vec<Planned>,
    choices: Vec<Choice>,
    seed: u64,
    /// Whether the receives come before the own sends.
    first: Vec<bool>,
}

fn plans() -> impl Strategy<Value = Plan> {
    (2usize..6).prop_flat_map(|size| {
        let message = (0..size, 0..size, 0..3i32, 0..4 * EAGER_BYTES, any::<bool>());
        let message = message.prop_map(|(from, to, tag, bytes, synchronous)| Planned {
            from,
            to,
            tag,
            bytes,
            synchronous,
        });
        let choice = prop_oneof![
            Just(Choice::Exact),
            Just(Choice::AnySource),
            Just(Choice::AnyTag),
            Just(Choice::Anything)
        ];
        let choices = prop::collection::vec(choice, size);
        let first = prop::collection::vec(any::<bool>(), size);
        let messages = prop::collection::vec(message, 0..40);
        (messages, choices, first, any::<u64>()).prop_map(
            move |(messages, choices, first, seed)| Plan {
                size,
                messages,
                choices,
                seed,
                first,
            },
        )
    })
}

/// The content of the message with this number.
fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (number * 31 + at * 7) as u8).collect()
}

impl Plan {
    async fn post_receives(
        &self,
        mpi: &mut Node,
        world: &Communicator,
    ) -> Result<Vec<ReceiveRequest<u8>>, MpiError> {
        let mut requests = Vec::new();
        let own = world.rank();
        for message in self.messages.iter().filter(|message| message.to == own) {
            let (source, tag) = (message.from.into(), message.tag.into());
            let (source, tag) = match self.choices[own] {
                Choice::Exact => (source, tag),
                Choice::AnySource => (Source::Any, tag),
                Choice::AnyTag => (source, Tag::Any),
                Choice::Anything => (Source::Any, Tag::Any),
            };
            let request = mpi
                .immediate_receive::<u8>(world, source, tag, 4 * EAGER_BYTES)
                .await?;
            requests.push(request);
        }
        Ok(requests)
    }

    async fn run(&self, mut mpi: Node) -> Result<(Node, Vec<(Vec<u8>, Status)>), MpiError> {
        let world = mpi.world();
        let own = world.rank();
        let mut receives = Vec::new();
        if self.first[own] {
            receives = self.post_receives(&mut mpi, &world).await?;
        }
        let mut sends = Vec::new();
        for (number, message) in self.messages.iter().enumerate() {
            if message.from != own {
                continue;
            }
            let bytes = content(number, message.bytes);
            // A synchronous send could wait for a receive that comes behind it.
            if message.synchronous && self.first.iter().all(|first| *first) && message.to != own {
                mpi.synchronous_send(&world, message.to, message.tag, &bytes)
                    .await?;
            } else {
                let sent = mpi
                    .immediate_send(&world, message.to, message.tag, &bytes)
                    .await?;
                sends.push(sent);
            }
        }
        if !self.first[own] {
            receives = self.post_receives(&mut mpi, &world).await?;
        }
        let received = mpi.wait_all(receives).await?;
        mpi.wait_all(sends).await?;
        Ok((mpi, received))
    }

    /// Each message came once, and those that a receive could exchange came in order.
    fn check(&self, rank: usize, received: &[(Vec<u8>, Status)]) {
        let choice = self.choices[rank];
        let mut left: Vec<usize> = (0..self.messages.len())
            .filter(|number| self.messages[*number].to == rank)
            .collect();
        assert_eq!(left.len(), received.len());
        for (bytes, status) in received {
            let same = |number: &usize| {
                let message = &self.messages[*number];
                let order = match choice {
                    Choice::Exact | Choice::AnySource => message.tag == status.tag,
                    Choice::AnyTag | Choice::Anything => true,
                };
                message.from == status.source && order
            };
            let at = left
                .iter()
                .position(same)
                .expect("a message of this source");
            let number = left.remove(at);
            let message = &self.messages[number];
            assert_eq!((status.tag, status.bytes), (message.tag, message.bytes));
            assert_eq!(*bytes, content(number, message.bytes));
        }
    }
}

proptest! {
    #![proptest_config(cases::remembered(200))]

    #[test]
    fn messages_match_in_order(plan in plans()) {
        let received = check(plan.size, plan.seed, |mpi| plan.run(mpi));
        for (rank, received) in received.iter().enumerate() {
            plan.check(rank, received);
        }
    }
}

/// Two ranks, of which the second one answers.
fn pair<R>(
    program: impl AsyncFn(&mut Node, &Communicator) -> Result<R, MpiError>,
) -> Vec<Result<R, MpiError>> {
    net::run(2, 5, |process: Process| async {
        let mut mpi = mpi(process);
        let world = mpi.world();
        program(&mut mpi, &world).await
    })
}

#[test]
fn a_message_longer_than_its_receive_is_an_error() {
    for elements in [11, 1000] {
        let results = pair(async |mpi, world| {
            if world.rank() == 0 {
                mpi.send(world, 1, 3, &vec![1u32; elements]).await
            } else {
                let received = mpi.receive::<u32>(world, 0, 3, 10).await;
                received.map(|_| ())
            }
        });
        let truncated = MpiError::Truncated {
            bytes: elements * 4,
            room: 40,
        };
        assert_eq!(results, [Ok(()), Err(truncated)]);
    }
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_sent() {
    let results = pair(async |mpi, world| {
        let rank = MpiError::Rank { rank: 2, size: 2 };
        assert_eq!(mpi.send(world, 2, 0, &[1u8]).await, Err(rank.clone()));
        assert_eq!(mpi.send(world, 1, -1, &[1u8]).await, Err(MpiError::Tag(-1)));
        let receive = mpi.receive::<u8>(world, 2, 0, 1).await;
        assert_eq!(receive.map(|_| ()), Err(rank.clone()));
        let receive = mpi.receive::<u8>(world, 0, -7, 1).await;
        assert_eq!(receive.map(|_| ()), Err(MpiError::Tag(-7)));
        assert!(rank.is_refusal());
        let mut data = [0u8];
        assert_eq!(mpi.broadcast(world, 2, &mut data).await, Err(rank));
        mpi.finalize().await
    });
    assert_eq!(results, [Ok(0), Ok(0)]);
}

/// Both ranks wait for the other one.
#[test]
fn a_deadlock_names_call_rank_and_tag() {
    const LONG: [u8; 2 * EAGER_BYTES] = [0; 2 * EAGER_BYTES];
    let waits: [&str; 6] = [
        "receive for rank OTHER, tag 9",
        "receive for any rank",
        "send to rank OTHER, tag 3",
        "synchronous_send to rank OTHER, tag 4",
        "wait to rank OTHER, tag 5",
        "probe for rank OTHER",
    ];
    for (case, waits) in waits.into_iter().enumerate() {
        let results = pair(async |mpi, world| {
            let other = 1 - world.rank();
            match case {
                0 => mpi.receive::<u8>(world, other, 9, 1).await.map(|_| ()),
                1 => {
                    let any = mpi.receive::<u8>(world, Source::Any, Tag::Any, 1).await;
                    any.map(|_| ())
                }
                2 => mpi.send(world, other, 3, &LONG).await,
                3 => mpi.synchronous_send(world, other, 4, &[1u8]).await,
                4 => {
                    let sent = mpi.immediate_send(world, other, 5, &LONG).await?;
                    mpi.wait(sent).await
                }
                _ => mpi.probe(world, other, Tag::Any).await.map(|_| ()),
            }
        });
        for (rank, result) in results.into_iter().enumerate() {
            let waits = waits.replace("OTHER", &(1 - rank).to_string());
            let text = result.expect_err("a deadlock").to_string();
            assert_eq!(text, format!("rank {rank} waits for 1000000 us in {waits}"));
        }
    }
}

#[test]
fn a_process_without_memory_tells_the_other_one() {
    for full in [0, 1] {
        let net = Net::new(2, 3);
        net.lock().expect("no panic").full.push(full);
        let results = net::run_on(&net, |process| async {
            let mut mpi = mpi(process);
            let world = mpi.world();
            let long = [7u8; 4 * EAGER_BYTES];
            let outcome = match world.rank() {
                0 => mpi.send(&world, 1, 3, &long).await,
                _ => {
                    let received = mpi.receive::<u8>(&world, 0, 3, long.len()).await;
                    received.map(|_| ())
                }
            };
            // Short messages still pass.
            let other = 1 - world.rank();
            let sum = mpi.send(&world, other, 5, &[1u8]).await;
            sum.expect("a short message");
            let short = mpi.receive::<u8>(&world, other, 5, 1).await;
            assert_eq!(short.expect("a short message").0, [1]);
            mpi.finalize().await.expect("nothing is left");
            outcome
        });
        let text = |rank: usize| {
            let result: &Result<(), MpiError> = &results[rank];
            result.as_ref().expect_err("no memory").to_string()
        };
        let told = format!(
            "rank {full} has no memory for a message of {} bytes, or no place for it in its page table",
            4 * EAGER_BYTES
        );
        assert_eq!(text(1 - full), told);
        assert_ne!(text(full), told);
    }
}

/// Messages of no elements are messages.
#[test]
fn collective_operations_of_no_elements_end() {
    let results = pair(async |mpi, world| {
        let none: [f64; 0] = [];
        assert_eq!(mpi.all_reduce(world, Operation::Sum, &none).await?, none);
        let reduced = mpi.reduce(world, 1, Operation::Max, &none).await?;
        assert_eq!(reduced.is_some(), world.rank() == 1);
        mpi.broadcast(world, 0, &mut none.clone()).await?;
        assert_eq!(mpi.all_gather(world, &none).await?, none);
        assert_eq!(mpi.scan(world, Operation::Sum, &none).await?, none);
        mpi.finalize().await
    });
    assert_eq!(results, [Ok(0), Ok(0)]);
}

#[test]
fn a_process_that_cannot_be_reached_ends_the_waits() {
    let net = Net::new(2, 1);
    net.lock().expect("no panic").dead.push(1);
    let results = net::run_on(&net, |process| async {
        let mut mpi = mpi(process);
        let world = mpi.world();
        if world.rank() == 1 {
            return Ok(());
        }
        mpi.send(&world, 1, 0, &[1u8]).await?;
        mpi.receive::<u8>(&world, 1, 0, 1).await.map(|_| ())
    });
    let lost = MpiError::Lost {
        rank: 1,
        why: "closed".to_owned(),
    };
    assert_eq!(results, [Err(lost), Ok(())]);
}

#[test]
fn probes_tests_and_cancels_leave_messages_alone() {
    let results = pair(async |mpi, world| {
        if world.rank() == 0 {
            mpi.send(world, 1, 4, &[1.5f64, 2.5]).await?;
            return mpi.finalize().await;
        }
        let status = mpi.probe(world, Source::Any, Tag::Any).await?;
        assert_eq!((status.source, status.tag), (0, 4));
        assert_eq!(status.count::<f64>(), Some(2));
        let never = mpi.immediate_receive::<u8>(world, 0, 5, 1).await?;
        let never = match mpi.test(never).await? {
            Progress::Pending(request) => request,
            Progress::Complete(_) => panic!("nothing came"),
        };
        assert!(mpi.cancel(never).is_ok());
        let again = mpi.immediate_probe(world, 0, 4).await?;
        assert_eq!(again, Some(status));
        let request = mpi.immediate_receive::<f64>(world, 0, 4, 2).await?;
        let request = mpi.cancel(request).expect_err("it has its message");
        assert_eq!(mpi.wait(request).await?.0, [1.5, 2.5]);
        mpi.finalize().await
    });
    assert_eq!(results, [Ok(0), Ok(0)]);
}

#[test]
fn copies_are_charged_as_the_protocols_make_them() {
    let copies = |elements: usize, early: bool| {
        let net = Net::new(2, 3);
        let results = net::run_on(&net, |process| async {
            let mut mpi = mpi(process);
            let world = mpi.world();
            if world.rank() == 0 {
                if !early {
                    mpi.receive::<u8>(&world, 1, 1, 0).await?;
                }
                mpi.send(&world, 1, 0, &vec![7u8; elements]).await?;
                return Ok(());
            }
            if early {
                mpi.probe(&world, 0, 0).await?;
            }
            let request = mpi.immediate_receive::<u8>(&world, 0, 0, elements).await?;
            if !early {
                mpi.send::<u8>(&world, 0, 1, &[]).await?;
            }
            mpi.wait(request).await.map(|_| ())
        });
        assert_eq!(results, [Ok::<(), MpiError>(()), Ok(())]);
        net.lock().expect("no panic").copied
    };
    // This network copies nothing itself: what is left is the copy out of the list of unexpected messages.
    assert_eq!(copies(100, true), 100);
    assert_eq!(copies(100, false), 0);
    assert_eq!(copies(1000, true), 0);
}

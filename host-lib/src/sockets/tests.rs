//! The library over a network in one program, of random speeds.

use proptest::prelude::*;

use super::wire::{SocketHeader, SocketPacketKind};
use super::{Address, Settings, Shutdown, SocketError, Sockets, Stream};
use crate::mpi::tests::net::{self, Net, Process};
use crate::mpi::{Delivery, Transport};

type Node = Sockets<Process>;

const SERVER: Address = Address { rank: 0, port: 7 };

/// Small windows: writers wait often.
const NARROW: Settings = Settings {
    window_bytes: 1000,
    library_ns: 0,
    limit_ns: 1,
};

fn pattern(count: usize, salt: usize) -> Vec<u8> {
    (0..count)
        .map(|at| (at * 31 + at / 251 + salt) as u8)
        .collect()
}

/// Runs a server on rank 0 and a client on rank 1, or both on rank 0.
fn pair<R, S: Future<Output = Result<R, SocketError>>>(
    seed: u64,
    both: impl Fn(Node, Stream, bool) -> S,
) -> Vec<R> {
    let results = net::run(2, seed, |process| async {
        let mut node = Sockets::with(process, NARROW);
        if node.rank() == 0 {
            let listener = node.listen(SERVER.port, 1)?;
            let (stream, peer) = node.accept(listener).await?;
            assert_eq!(peer.rank, 1);
            both(node, stream, true).await
        } else {
            let stream = loop {
                match node.connect(SERVER).await {
                    Ok(stream) => break stream,
                    // It does not listen yet.
                    Err(SocketError::Refused(SERVER)) => {}
                    Err(error) => return Err(error),
                }
            };
            both(node, stream, false).await
        }
    });
    let results = results.into_iter();
    results.map(|result| result.expect("no error")).collect()
}

/// Takes what arrives until nothing does: a program that has ended takes nothing.
async fn settle(node: &mut Node) -> Result<(), SocketError> {
    node.flush().await?;
    while node.step(1).await? {}
    Ok(())
}

/// Reads to the end.
async fn rest(node: &mut Node, stream: Stream) -> Result<Vec<u8>, SocketError> {
    let mut all = Vec::new();
    loop {
        let bytes = node.read(stream, 333).await?;
        if bytes.is_empty() {
            return Ok(all);
        }
        all.extend(bytes);
    }
}

#[test]
fn a_direction_ends_and_the_other_goes_on() {
    pair(1, |mut node, stream, is_server| async move {
        if is_server {
            assert_eq!(rest(&mut node, stream).await?, pattern(5000, 0));
            node.write(stream, &pattern(6000, 1)).await?;
            assert!(matches!(node.shutdown(stream, Shutdown::Write), Ok(())));
            let after = node.write(stream, b"x").await;
            assert!(matches!(after, Err(SocketError::Broken(_))), "{after:?}");
        } else {
            node.write(stream, &pattern(5000, 0)).await?;
            node.shutdown(stream, Shutdown::Write)?;
            assert_eq!(rest(&mut node, stream).await?, pattern(6000, 1));
            let ready = node.readiness(stream)?;
            assert!(ready.readable && ready.hung_up && ready.finished && !ready.failed);
        }
        node.close(stream);
        assert_eq!(node.read(stream, 1).await, Err(SocketError::NoSocket));
        settle(&mut node).await
    });
}

/// Both sides write more than the window before they read the rest: who waits takes what comes.
#[test]
fn both_sides_write_at_once() {
    pair(2, |mut node, stream, is_server| async move {
        let own = pattern(20_000, usize::from(is_server));
        let (mut left, mut got) = (&own[..], Vec::new());
        while !left.is_empty() || got.len() < own.len() {
            let count = node.try_write(stream, left).await?;
            left = &left[count..];
            match node.try_read(stream, 4096).await? {
                Some(bytes) => got.extend(bytes),
                None if count == 0 => node.wait().await?,
                None => {}
            }
        }
        assert!(got == pattern(20_000, usize::from(!is_server)));
        node.close(stream);
        settle(&mut node).await
    });
}

/// As much as a window holds may be written before anything is read.
#[test]
fn both_sides_write_a_window_first() {
    pair(3, |mut node, stream, is_server| async move {
        node.write(stream, &pattern(1000, usize::from(is_server)))
            .await?;
        let got = node.read_exact(stream, 1000).await?;
        assert_eq!(got, pattern(1000, usize::from(!is_server)));
        settle(&mut node).await
    });
}

#[test]
fn a_connection_closed_with_bytes_unread_is_reset() {
    pair(4, |mut node, stream, is_server| async move {
        if is_server {
            node.read_exact(stream, 1).await?;
            node.close(stream);
            settle(&mut node).await?;
        } else {
            node.write(stream, b"two").await?;
            let end = node.read(stream, 9).await;
            assert!(matches!(end, Err(SocketError::Reset(_))), "{end:?}");
            // Once: then there is an end.
            assert_eq!(node.read(stream, 9).await?, b"");
            let after = node.write(stream, b"x").await;
            assert!(matches!(after, Err(SocketError::Broken(_))), "{after:?}");
        }
        Ok(())
    });
}

#[test]
fn writes_to_a_closed_connection_fail_at_last() {
    pair(5, |mut node, stream, is_server| async move {
        if is_server {
            node.close(stream);
            return settle(&mut node).await;
        }
        assert_eq!(node.read(stream, 1).await?, b"");
        loop {
            match node.write(stream, b"more").await {
                Ok(()) => node.step(1).await.map(|_| ())?,
                Err(SocketError::Broken(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    });
}

#[test]
fn what_cannot_be_is_refused() {
    net::run(2, 6, |process| async {
        let mut node = Sockets::with(process, NARROW);
        if node.rank() == 0 {
            let listener = node.listen(7, 1).expect("a port");
            assert_eq!(node.listen(7, 1), Err(SocketError::PortInUse(7)));
            assert_eq!(node.bind(7), Err(SocketError::PortInUse(7)));
            node.close_listener(listener);
            let port = node.bind(0).expect("a port");
            let listener = node.listen(port, 1).expect("the port");
            assert_eq!(node.listener_port(listener), port);
            // To itself.
            let to = Address { rank: 0, port };
            let own = node.connect(to).await.expect("a connection");
            let (other, peer) = node.accept(listener).await.expect("a connection");
            assert_eq!((peer.rank, node.stream_port(own)), (0, Ok(peer.port)));
            node.write(own, &pattern(900, 0)).await.expect("room");
            assert_eq!(node.read_exact(other, 900).await, Ok(pattern(900, 0)));
            // Until the other one is done.
            while node.step(1).await.expect("a network") {}
        } else {
            let nobody = Address { rank: 0, port: 9 };
            assert_eq!(
                node.connect(nobody).await,
                Err(SocketError::Refused(nobody))
            );
            let nowhere = Address { rank: 2, port: 9 };
            assert_eq!(node.connect(nowhere).await, Err(SocketError::NoRank(2)));
            let own = Address { rank: 1, port: 9 };
            assert_eq!(node.connect(own).await, Err(SocketError::Refused(own)));
        }
    });
}

#[test]
fn a_peer_that_vanishes_is_told() {
    pair(8, |mut node, stream, is_server| async move {
        if is_server {
            return Ok(());
        }
        let net = std::sync::Arc::clone(&node.transport().net);
        net.lock().expect("no panic").dead.push(0);
        let written = async {
            loop {
                node.write(stream, &[0; 300]).await?;
            }
        };
        let error: Result<(), SocketError> = written.await;
        assert!(
            matches!(error, Err(SocketError::Unreachable(..))),
            "{error:?}"
        );
        let again = node.connect(SERVER).await;
        assert!(
            matches!(again, Err(SocketError::Unreachable(..))),
            "{again:?}"
        );
        Ok(())
    });
}

#[test]
fn packets_of_strangers_do_no_harm() {
    pair(9, |mut node, stream, is_server| async move {
        if is_server {
            assert_eq!(node.read_exact(stream, 5).await?, b"right");
            // More than there is credit for resets the connection.
            while !node.readiness(stream)?.failed {
                node.wait().await?;
            }
            let end = rest(&mut node, stream).await;
            assert!(matches!(end, Err(SocketError::Reset(_))), "{end:?}");
            return settle(&mut node).await;
        }
        let peer_name = node.connection(stream)?.peer_name;
        let header = SocketHeader {
            kind: SocketPacketKind::Finish,
            to: peer_name,
            from: 77,
            to_port: 7,
            from_port: 1,
            credit: 0,
        };
        let unknown = SocketHeader {
            to: 99,
            kind: SocketPacketKind::Credit,
            ..header
        };
        for bytes in [
            &header.bytes()[..],
            &unknown.bytes(),
            &[1, 2, 3],
            &[255; 40],
        ] {
            while !node
                .transport_mut()
                .post(0, Delivery::Quiet, bytes, &[])
                .await?
            {
                node.step(1).await?;
            }
        }
        node.write(stream, b"right").await?;
        let own = node
            .connection(stream)?
            .header(SocketPacketKind::Data, stream.0);
        for _ in 0..10 {
            while !node
                .transport_mut()
                .post(0, Delivery::Quiet, &own.bytes(), &[9; 200])
                .await?
            {
                node.step(1).await?;
            }
        }
        let end = node.read(stream, 1).await;
        assert!(matches!(end, Err(SocketError::Reset(_))), "{end:?}");
        Ok(())
    });
}

proptest! {
    #![proptest_config(cases::cases(48))]

    /// Connections of three ranks carry what is written, however it is cut; requests beyond the backlog wait.
    #[test]
    fn streams_carry_all_bytes_in_order(
        seed in any::<u64>(),
        lengths in proptest::collection::vec((0..6000_usize, 1..900_usize), 1..6),
        most in 1..2000_usize,
    ) {
        let count = lengths.len();
        let lengths = &lengths;
        let results = net::run(3, seed, |process| async move {
            let mut node = Sockets::with(process, NARROW);
            if node.rank() != 0 {
                for (at, (length, step)) in lengths.iter().enumerate() {
                    if at % 2 + 1 != node.rank() {
                        continue;
                    }
                    let stream = loop {
                        match node.connect(SERVER).await {
                            Ok(stream) => break stream,
                            Err(SocketError::Refused(_)) => {}
                            Err(error) => return Err(error),
                        }
                    };
                    node.write(stream, &[at as u8]).await?;
                    for part in pattern(*length, at).chunks(*step) {
                        node.write(stream, part).await?;
                    }
                    node.shutdown(stream, Shutdown::Write)?;
                    let back = rest(&mut node, stream).await?;
                    assert!(back == pattern(*length, at));
                    node.close(stream);
                }
                return settle(&mut node).await;
            }
            let listener = node.listen(SERVER.port, 2)?;
            for _ in 0..count {
                let (stream, _) = node.accept(listener).await?;
                let at = node.read_exact(stream, 1).await?[0];
                let length = lengths[usize::from(at)].0;
                let mut got = Vec::new();
                loop {
                    let bytes = node.read(stream, most).await?;
                    if bytes.is_empty() {
                        break;
                    }
                    got.extend(bytes);
                }
                node.write(stream, &got).await?;
                assert!(got == pattern(length, at.into()));
                node.close(stream);
            }
            settle(&mut node).await
        });
        for result in results {
            prop_assert_eq!(result, Ok(()));
        }
    }

    /// Any packets leave a program without a panic.
    #[test]
    fn any_packets_are_taken(packets in proptest::collection::vec(
        (0..9_u32, 0..4_u32, 0..4_u32, any::<u32>(), any::<u32>(), 0..300_usize), 0..60)
    ) {
        let net = Net::new(2, 5);
        let packets = &packets;
        net::run_on(&net, |process| async move {
            let mut node = Sockets::with(process, NARROW);
            if node.rank() == 0 {
                let listener = node.listen(7, 3).expect("a port");
                let _ = node.begin_connect(Address { rank: 1, port: 1 }, None);
                while node.step(1).await.expect("a network") {
                    while let Some((stream, _)) = node.try_accept(listener).expect("a listener") {
                        let _ = node.try_write(stream, &[1; 600]).await;
                        let _ = node.try_read(stream, 500).await;
                    }
                }
                return;
            }
            for (kind, to, from, ports, credit, length) in packets.iter().copied() {
                let words = [kind, to, from, ports & 7 | 7 << 16, credit];
                let header: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
                let content = vec![0; length.min(net::EAGER_BYTES)];
                while !node.transport_mut().post(0, Delivery::Quiet, &header, &content).await.expect("a network") {
                    node.step(1).await.expect("a network");
                }
            }
            while node.step(1).await.expect("a network") {}
        });
    }
}

use lanigon_requests::Envelope;

use super::*;

fn message(rank: u32, tag: u64, bytes: &[u8]) -> Message {
    let envelope = Envelope {
        class: Class::Tagged,
        tag,
        ..Envelope::default()
    };
    Message {
        rank,
        envelope,
        bytes: bytes.to_vec(),
    }
}

fn receive(tag: u64, ignore: u64, buffer: &mut [u8]) -> PostedReceive {
    PostedReceive {
        tagged: true,
        buffers: vec![(buffer.as_mut_ptr() as usize, buffer.len())],
        tag,
        ignore,
        context: tag as usize,
        ..PostedReceive::default()
    }
}

fn posted(endpoint: &mut Endpoint, receive: PostedReceive) -> Completions {
    endpoint.post(receive).expect("a receive")
}

#[test]
fn receives_match_in_their_order() {
    let mut endpoint = Endpoint::default();
    let (mut first, mut second) = ([0; 4], [0; 4]);
    assert!(posted(&mut endpoint, receive(1, 0, &mut first)).is_empty());
    assert!(posted(&mut endpoint, receive(2, u64::MAX, &mut second)).is_empty());
    let any = endpoint.deliver(message(3, 7, &[7]));
    assert_eq!((any[0].entry.context, any[0].entry.tag), (2, 7));
    assert_eq!(any[0].source, Some(3 << 8));
    let exact = endpoint.deliver(message(3, 1, &[1, 2]));
    assert_eq!((exact[0].entry.context, exact[0].entry.length), (1, 2));
    assert_eq!((first, second), ([1, 2, 0, 0], [7, 0, 0, 0]));
}

#[test]
fn early_messages_wait_in_their_order() {
    let mut endpoint = Endpoint::default();
    for value in [5, 6] {
        assert!(endpoint.deliver(message(0, 9, &[value])).is_empty());
    }
    let mut buffer = [0; 1];
    let mut other = receive(9, 0, &mut buffer);
    other.source = Some(1 << 8);
    assert!(!endpoint.has(&other));
    assert_eq!(posted(&mut endpoint, receive(9, 0, &mut buffer)).len(), 1);
    assert_eq!(buffer, [5]);
}

#[test]
fn long_messages_are_cut() {
    let mut endpoint = Endpoint::default();
    let mut buffer = [0; 2];
    posted(&mut endpoint, receive(1, 0, &mut buffer));
    let cut = endpoint.deliver(message(0, 1, &[1, 2, 3]));
    assert_eq!(cut[0].error, Some((TRUNC, 1)));
    assert_eq!(buffer, [1, 2]);
}

#[test]
fn looks_find_claim_and_discard() {
    let mut endpoint = Endpoint::default();
    let mut buffer = [0; 2];
    let mut look = receive(1, 0, &mut []);
    look.flags = PEEK;
    let nothing = posted(&mut endpoint, look.clone());
    assert_eq!(nothing[0].error, Some((NOMSG, 0)));
    endpoint.deliver(message(0, 1, &[1, 2]));
    let found = posted(&mut endpoint, look.clone());
    assert_eq!((found[0].error, found[0].entry.length), (None, 2));
    look.flags = PEEK | CLAIM;
    posted(&mut endpoint, look.clone());
    // No other receive gets it.
    assert!(posted(&mut endpoint, receive(2, u64::MAX, &mut buffer)).is_empty());
    let mut claim = receive(1, 0, &mut buffer);
    claim.flags = CLAIM;
    assert_eq!(posted(&mut endpoint, claim.clone()).len(), 1);
    assert_eq!(endpoint.post(claim).map(|all| all.len()), Err(INVAL));
    assert_eq!(
        endpoint.cancel(2).map(|one| one.error),
        Ok(Some((CANCELED, 0)))
    );
    assert!(endpoint.cancel(2).is_err());
}

#[test]
fn one_receive_takes_many_messages() {
    let mut endpoint = Endpoint {
        least_room: 3,
        ..Endpoint::default()
    };
    let mut buffer = [0; 8];
    let mut many = receive(0, 0, &mut buffer);
    (many.tagged, many.flags) = (false, MULTI_RECV);
    posted(&mut endpoint, many);
    let untagged = |bytes: &[u8]| {
        let mut one = message(0, 0, bytes);
        one.envelope.class = Class::Plain;
        one
    };
    let first = endpoint.deliver(untagged(&[1, 2, 3]));
    assert_eq!(first[0].entry.flags & MULTI_RECV, 0);
    let last = endpoint.deliver(untagged(&[4, 5, 6]));
    assert_ne!(last[0].entry.flags & MULTI_RECV, 0);
    assert_eq!(last[0].entry.buffer - first[0].entry.buffer, 3);
    assert!(endpoint.deliver(untagged(&[7])).is_empty());
    assert_eq!(buffer, [1, 2, 3, 4, 5, 6, 0, 0]);
}

//! Every step of a message is decoded, from its post to both hosts' polls.

use defs::emp::frame::Kind;
use lanigon_analysis::messages::{Fate, FrameWay, Message, MessageEnd};

use super::{IMAGES, network, run};

/// The first missing step of a frame.
fn gaps(frame: &FrameWay) -> Vec<&'static str> {
    let payload = frame.sent.map_or(0, |sent| sent.length) > 36;
    let mut gaps = Vec::new();
    let mut check = |is: bool, gap| {
        if !is {
            gaps.push(gap);
        }
    };
    check(frame.built.is_some(), "built");
    check(frame.sent.is_some(), "sent");
    check(
        frame.works.iter().all(|work| work.from < work.to),
        "works in order",
    );
    check(!frame.works.is_empty(), "works");
    check(
        !frame.is_data() || !payload || !frame.reads.is_empty(),
        "reads",
    );
    let lost = !frame.mishaps.is_empty();
    check(lost || frame.arrivals.len() == 1, "one arrival");
    for arrival in &frame.arrivals {
        check(
            lost || arrival.fate != Fate::Unknown || frame.kind == Kind::Ack,
            "fate",
        );
        check(
            arrival.last_bit.is_some_and(|bit| bit <= arrival.received),
            "last bit",
        );
        if let Fate::Matched(_) = arrival.fate {
            check(arrival.works.len() >= 2, "receiver's works");
            check(!payload || !arrival.writes.is_empty(), "writes");
            let over = arrival.writes.iter().filter(|write| write.to.is_some());
            check(over.count() == arrival.writes.len(), "writes over");
            check(arrival.endings.len() == arrival.writes.len(), "endings");
        }
        if let Fate::Taken(_) = arrival.fate {
            check(!arrival.works.is_empty(), "ack's works");
        }
    }
    gaps
}

#[track_caller]
fn check_whole(text: &str, count: usize) -> Vec<Message> {
    let (messages, _) = run(text);
    assert_eq!(messages.len(), count, "{text}");
    for message in &messages {
        let id = message.id;
        if message.sent.is_none() && Some(id) == messages.last().map(|last| last.id) {
            // The run ends when the last message has arrived, possibly before its ack.
            assert!(message.received.is_some(), "{id} of {text}");
            continue;
        }
        assert_eq!(
            message.end(),
            MessageEnd::Completed,
            "{id} of {text}{message:#?}"
        );
        assert!(message.post.mailbox < message.post.taken, "{id}");
        assert_eq!(message.posting.len(), 1, "{id}");
        assert!(message.tag.is_some() && message.length.is_some(), "{id}");
        for side in [&message.sent, &message.received] {
            let side = side.as_ref().unwrap();
            if side.seen.is_none() && Some(id) == messages.last().map(|last| last.id) {
                // The run ends when the last message has arrived.
                continue;
            }
            assert!(side.seen >= Some(side.not_before), "{id} {side:?}");
            assert!(side.returned > side.seen, "{id}");
        }
        let frames: Vec<_> = message
            .data_frames()
            .filter(|frame| frame.again == 0)
            .collect();
        assert_eq!(
            frames.len(),
            usize::from(message.frame_count.unwrap()),
            "{id}"
        );
        let is_last = Some(id) == messages.last().map(|last| last.id);
        for frame in &message.frames {
            let mut gaps = gaps(frame);
            // The run ends when the last message is complete: the other CPU may still have to note the end of a transfer.
            gaps.retain(|gap| !(is_last && *gap == "endings"));
            assert!(gaps.is_empty(), "{text}{id}: {gaps:?} of {frame:#?}");
        }
        assert!(message.events.is_sorted(), "{id}");
    }
    messages
}

#[test]
fn nothing_is_missing_in_any_scheme() {
    for image in IMAGES {
        let stream = |bytes| {
            format!(
                "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 30\nbytes = {bytes}"
            )
        };
        for bytes in ["0", "4", "1479", "10000", "60000"] {
            check_whole(&network(image, 2, &stream(bytes)), 30);
        }
        let all = "[[program]]\nrun = \"all-to-all\"\nnodes = \"all\"\nmessages = 4\nbytes = [0, 3000, 300]";
        check_whole(&network(image, 5, all), 80);
    }
}

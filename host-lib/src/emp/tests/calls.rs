//! Waiting for any of several transfers, cancelling receives, changing settings.

use defs::emp::control::{
    ACK_GROUP, COMMAND_SET, DEFAULT_RETRY_LIMIT, FLOW_CONTROL, RECEIVE_TIMEOUT_US, RETRY_LIMIT,
    SENDER_QUEUE_US, TIMEOUT_US,
};

use super::*;

const PLACE: Buffer = buffer(0x5000, 100);

fn post_receive(emp: &mut Node) -> ReceiveHandle {
    block_on(emp.post_receive(Source::Any, Tag::Any, PLACE)).unwrap()
}

fn arrival(tag: u16) -> Script {
    Script::Arrive(Code::Done, 2, tag, 10)
}

#[test]
fn any_of_sends_and_receives_is_waited_for() {
    let (fake, mut emp) = start();
    let mut handles: Vec<AnyHandle> = Vec::new();
    let mut heads = Vec::new();
    for _ in 0..2 {
        handles.push(post_receive(&mut emp).into());
        heads.push(fake.lock().last().address);
        handles.push(block_on(emp.post_transmit(2, 5, PLACE)).unwrap().into());
        heads.push(fake.lock().last().address);
    }
    let mut end = |index: usize, script, expected: (usize, Direction, u16)| {
        fake.lock().complete(heads[index], script);
        let reads = fake.lock().reads;
        let direction = handles[expected.0].direction();
        let (at, result) = block_on(emp.wait_any(&mut handles)).unwrap();
        assert_eq!((at, direction, result.unwrap().tag), expected);
        let of_wildcards = usize::from(direction == Direction::Receive);
        assert_eq!(fake.lock().reads - reads, at + 1 + of_wildcards);
    };
    end(2, arrival(7), (2, Direction::Receive, 7));
    end(3, DONE, (2, Direction::Transmit, 5));
    end(0, arrival(8), (0, Direction::Receive, 8));
    end(1, DONE, (0, Direction::Transmit, 5));
    assert!(block_on(emp.wait_any(&mut handles)).is_none());
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
    assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
}

#[test]
fn a_failed_transfer_ends_a_wait_for_any() {
    let (fake, mut emp) = start();
    let mut handles: Vec<AnyHandle> = vec![post_receive(&mut emp).into()];
    let head = fake.lock().last().address;
    let failed = Script::Status(status_complete(Code::Timeout, 0));
    fake.lock().complete(head, failed);
    let (at, result) = block_on(emp.wait_any(&mut handles)).unwrap();
    assert_eq!((at, result.unwrap_err().failure), (0, Failure::Timeout));
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
}

#[test]
fn far_descriptors_are_seen_in_a_wait_for_any_too() {
    let (fake, mut emp) = start();
    // 440 receives: their descriptors need six positions of the view.
    let mut handles: Vec<AnyHandle> = (0..440).map(|_| post_receive(&mut emp).into()).collect();
    let heads: Vec<u32> = fake.lock().posted.iter().map(|post| post.address).collect();
    for index in [400, 20, 230] {
        fake.lock().complete(heads[index], arrival(index as u16));
    }
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (_, result) = block_on(emp.wait_any(&mut handles)).unwrap();
        seen.push(result.unwrap().tag);
        // The library knows the view's position.
        let handle = block_on(emp.post_transmit(2, 5, PLACE)).unwrap();
        let head = fake.lock().last().address;
        fake.lock().complete(head, DONE);
        assert!(block_on(emp.wait(handle)).is_ok());
    }
    assert_eq!(seen, [20, 230, 400]);
}

#[test]
fn a_receive_is_taken_back_unless_a_message_came_first() {
    let message = Completion {
        node: 2,
        tag: 7,
        length: 10,
    };
    let check = |before: Option<Script>, meanwhile: Script, expected: Cancellation| {
        let (fake, mut emp) = start();
        let handle = post_receive(&mut emp);
        let head = fake.lock().last().address;
        fake.lock().on_cancel = meanwhile;
        if let Some(script) = before {
            fake.lock().complete(head, script);
        }
        assert_eq!(block_on(emp.cancel(handle)), expected);
        assert_eq!(emp.free_descriptors(Direction::Receive), 440);
    };
    let cancelled = Script::Status(status_complete(Code::Cancelled, 0));
    check(None, cancelled, Cancellation::Cancelled);
    let came = Cancellation::Came(Ok(message));
    check(None, arrival(7), came.clone());
    check(Some(arrival(7)), cancelled, came);
    let failed = Script::Status(status_complete(Code::HostMemory, 0));
    let error = TransferError {
        direction: Direction::Receive,
        peer: Source::Any,
        tag: Tag::Any,
        failure: Failure::HostMemory,
    };
    check(None, failed, Cancellation::Came(Err(error)));
}

#[test]
fn a_persistent_receive_can_be_started_again_after_a_cancel() {
    let (fake, mut emp) = start();
    let mut receive = block_on(emp.prepare_receive(Source::Any, Tag::Any, &[PLACE])).unwrap();
    for _ in 0..2 {
        let started = block_on(emp.start_persistent(receive));
        let (back, cancellation) = block_on(emp.cancel_persistent(started));
        assert_eq!(cancellation, Cancellation::Cancelled);
        receive = back;
    }
    emp.release(receive);
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
    let transmit = block_on(emp.prepare_transmit(2, 5, &[PLACE])).unwrap();
    fake.lock().script.push_back(DONE);
    let started = block_on(emp.start_persistent(transmit));
    let (transmit, cancellation) = block_on(emp.cancel_persistent(started));
    assert!(matches!(cancellation, Cancellation::Came(Ok(_))));
    emp.release(transmit);
}

#[test]
fn settings_change_at_run_time() {
    let (fake, mut emp) = start();
    let words = |fake: &Fake| {
        let at = [
            ACK_GROUP,
            TIMEOUT_US,
            RETRY_LIMIT,
            FLOW_CONTROL,
            RECEIVE_TIMEOUT_US,
        ];
        at.map(|at| fake.lock().word(at))
    };
    // Early waits take less than four timeouts in all.
    let timeouts_us = 4000 * (4 + 1 + 2 + 4 + 8 + 16 * 7);
    let default = [
        3,
        4000,
        DEFAULT_RETRY_LIMIT,
        0,
        SENDER_QUEUE_US + timeouts_us,
    ];
    assert_eq!(words(&fake), default);
    let settings = Settings {
        ack_group: 16,
        timeout_us: 100,
        retry_limit: 0,
        flow_control: true,
        receive_timeout: ReceiveTimeout::Never,
    };
    assert_eq!(block_on(emp.set(settings)), Ok(()));
    assert_eq!(words(&fake), [16, 100, 0, 1, 0]);
    assert_eq!(fake.lock().commands, [COMMAND_SET]);
    assert_eq!(emp.settings(), settings);
    let senseless = Settings {
        ack_group: 17,
        ..settings
    };
    let refused = Err(ConfigError::AckGroup { ack_group: 17 });
    assert_eq!(block_on(emp.set(senseless)), refused);
    assert_eq!(fake.lock().commands.len(), 1);
    assert_eq!(emp.settings(), settings);
}

//! Atomic operations and locks.

use super::{Library, PAGE, VIRTUAL, pair, run};
use crate::gm::atomic::{
    AtomicError, AtomicOperation, Atomics, Executor, Lock, LockError, Member, Word,
};
use crate::gm::collective::{BoardOperation, PostError};
use crate::gm::{Buffer, Event, Status};
use crate::window::VirtualAddress;

const PORT: u8 = 2;

const fn word(node: u16, offset: u64) -> Word {
    Word {
        node,
        port: PORT,
        address: VirtualAddress(VIRTUAL + offset),
    }
}

/// Two nodes with an open port, whose programs' memory all may use.
fn ready() -> [Library; 2] {
    let mut nodes = pair();
    let memory = Buffer {
        address: VirtualAddress(VIRTUAL),
        length: 60 * PAGE as u32,
    };
    for gm in &mut nodes {
        run(gm.open(PORT)).expect("a port");
        run(gm.register(memory)).expect("mapped");
        run(gm.allow_remote_memory_access(PORT, true)).expect("open");
    }
    nodes
}

fn value(gm: &Library, at: Word) -> u32 {
    let mut bytes = [0; 4];
    gm.system()
        .read_memory(at.address, &mut bytes)
        .expect("mapped");
    u32::from_be_bytes(bytes)
}

#[test]
fn operations_give_the_word_before() {
    let [mut a, b] = ready();
    let at = word(1, 0x120);
    let mut atomics = Atomics::new(PORT);
    let swap = |expected, new| AtomicOperation::CompareSwap { expected, new };
    for (operation, before, after) in [
        (AtomicOperation::FetchAdd(5), 0, 5),
        (AtomicOperation::FetchWrite(9), 5, 9),
        (swap(8, 1), 9, 9),
        (swap(9, 1), 9, 1),
        (AtomicOperation::FetchAdd(u32::MAX), 1, 0),
    ] {
        let found = run(atomics.execute(&mut a, at, operation));
        assert_eq!(found, Ok(before), "{operation:?}");
        assert_eq!(value(&b, at), after, "{operation:?}");
        assert_eq!(operation.apply(before), after);
    }
    let own = word(0, 0x120);
    assert_eq!(
        run(atomics.execute(&mut a, own, AtomicOperation::FetchAdd(3))),
        Ok(0)
    );
    assert_eq!(value(&a, own), 3);
}

#[test]
fn what_is_not_allowed_is_refused() {
    let [mut a, mut b] = ready();
    let mut atomics = Atomics::new(PORT);
    let add = AtomicOperation::FetchAdd(1);
    let mut check = |a: &mut Library, word: Word, status| {
        let failed = AtomicError::Failed { word, status };
        assert_eq!(run(atomics.execute(a, word, add)), Err(failed));
        failed.to_string()
    };
    let outside = word(1, 61 * PAGE);
    let text = check(&mut a, outside, Status::PermissionDenied);
    assert_eq!(
        text,
        "an atomic operation on 0x7003d000 of node 1, port 2: no permission for the memory"
    );
    let other = Word {
        port: 5,
        ..word(1, 0)
    };
    check(&mut a, other, Status::TargetPortClosed);
    check(&mut a, Word { port: 9, ..other }, Status::InvalidParameter);
    check(&mut a, Word { node: 7, ..other }, Status::NodeUnreachable);
    run(b.allow_remote_memory_access(PORT, false)).expect("open");
    check(&mut a, word(1, 0), Status::PermissionDenied);
    let odd = word(1, 2);
    let posted = run(a.post_atomic(PORT, odd, add));
    assert_eq!(
        posted,
        Err(PostError::Misaligned {
            address: odd.address
        })
    );
}

#[test]
fn a_port_has_eight_operations_under_way() {
    let [mut a, b] = ready();
    let at = word(1, 0x80);
    for number in 0..8 {
        let posted = run(a.post_atomic(PORT, at, AtomicOperation::FetchAdd(1)));
        assert_eq!(posted, Ok(BoardOperation::Atomic(number)));
    }
    let more = run(a.post_atomic(PORT, at, AtomicOperation::FetchAdd(1)));
    assert_eq!(more, Err(PostError::Busy { port: PORT }));
    let mut done = 0;
    for _ in 0..8 {
        let Ok(Event::Completed(end)) = run(a.receive(PORT)) else {
            panic!("no end");
        };
        done += u32::from(end.status == Status::Success);
    }
    assert_eq!(value(&b, at), done);
}

#[test]
fn a_lock_is_acquired_and_released() {
    let [mut a, mut b] = ready();
    let members = vec![Member(word(0, 0x200)), Member(word(1, 0x200))];
    let home = word(0, 0x300);
    let mut atomics = [Atomics::new(PORT), Atomics::new(PORT)];
    let mut locks = [0, 1].map(|rank| Lock::new(home, members.clone(), rank).expect("a rank"));
    for round in 0..3 {
        for (rank, gm) in [&mut a, &mut b].into_iter().enumerate() {
            let (lock, atomics) = (&mut locks[rank], &mut atomics[rank]);
            assert_eq!(run(lock.release(gm, atomics)), Err(LockError::NotHeld));
            assert_eq!(run(lock.acquire(gm, atomics)), Ok(()), "{round} {rank}");
            assert_eq!(run(lock.acquire(gm, atomics)), Err(LockError::Held));
            assert_eq!(run(lock.release(gm, atomics)), Ok(()));
        }
        assert_eq!(value(&a, home), 0);
    }
    let outside = Lock::new(home, members, 2).err();
    assert_eq!(
        outside,
        Some(LockError::Rank {
            rank: 2,
            members: 2
        })
    );
}

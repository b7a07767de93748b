//! Atomic operations over GM, by boards and by servers on hosts: what is refused.

use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::gm::atomic::{
    AtomicOperation, Atomics, Executor, Guard, LockError, Requests, Server, Wait, Word,
};
use host_lib::gm::{Buffer, Gm};
use host_lib::window::{System, VirtualAddress};
use lanigon_worlds::boards;
use lanigon_worlds::emp::text;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;

use super::scenarios::gm::built;

const PORT: u8 = 2;
/// The words that node 0 gives to others.
const BYTES: u32 = 16;
/// Node 1 begins so long after the start.
const LEAD_NS: u64 = 500_000;

/// Words that node 1 asks for: some are node 0's, some cannot be used.
fn words(first: Buffer) -> [Word; 4] {
    let word = |port: u8, address: u64| Word {
        node: 0,
        port,
        address: VirtualAddress(address),
    };
    let at = first.address.0;
    let outside = at + 8 * 4096;
    [
        word(PORT, at + 4),
        word(PORT, at + 2),
        word(PORT, outside),
        word(PORT + 3, at),
    ]
}

/// Results of a fetch and add by node 1 on each of the words: the word before it, or the error.
async fn ask(
    gm: &mut Gm,
    executor: &mut impl Executor,
    place: &ResultSlot<Buffer>,
) -> Result<Vec<String>, String> {
    gm.system_mut().compute(LEAD_NS).await;
    let first = place.with(|first| *first).ok_or("no words")?;
    let mut found = Vec::new();
    for word in words(first) {
        let done = executor
            .execute(gm, word, AtomicOperation::FetchAdd(3))
            .await;
        found.push(match done {
            Ok(before) => format!("was {before}"),
            Err(error) => error.to_string(),
        });
    }
    Ok(found)
}

/// Results that node 1 gets from boards, or from a server at node 0 that executes two requests.
fn asked(of_host: bool) -> Vec<String> {
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.1-133").unwrap();
    let mut world = GmWorld::new(2, &image, &profile).unwrap();
    let place = ResultSlot::default();
    let given = place.clone();
    let home = world.spawn(0, "home", move |mut gm: Gm| async move {
        gm.open(PORT).await.map_err(text)?;
        let words = gm.allocate_dma(BYTES).map_err(text)?;
        given.set(words);
        if !of_host {
            let allowed = gm.allow_remote_memory_access(PORT, true).await;
            return allowed.map_err(text);
        }
        let server = Server::new(&mut gm, PORT, Wait::Poll, words).await;
        let mut server = server.map_err(text)?;
        // Two requests, and the ends of their answers.
        for _ in 0..4 {
            server.step(&mut gm).await.map_err(text)?;
        }
        Ok(())
    });
    let asker = world.spawn(1, "asker", move |mut gm| async move {
        gm.open(PORT).await.map_err(text)?;
        if of_host {
            let mut requests = Requests::new(&mut gm, PORT).await.map_err(text)?;
            ask(&mut gm, &mut requests, &place).await
        } else {
            ask(&mut gm, &mut Atomics::new(PORT), &place).await
        }
    });
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(1_000_000)),
        ..RunLimits::default()
    };
    let end = world.world.run(&limits);
    let found = asker.take().unwrap().unwrap();
    // The ends of answers may come together: then the server waits for more.
    assert!(home.take().is_none_or(|end| end == Ok(())), "{end:?}");
    assert!(
        matches!(end, RunEnd::Completed | RunEnd::Deadlock(_)),
        "{end:?}"
    );
    found
}

#[test]
fn words_that_cannot_be_used_are_refused_alike() {
    if !built() {
        return;
    }
    for of_host in [false, true] {
        let found = asked(of_host);
        let expected = [
            "was 0",
            "does not lie at a multiple of 4",
            "no permission for the memory",
            "the target port is closed",
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// The text of a lock's error names the word and the reason.
#[test]
fn a_lock_says_which_word_it_could_not_use() {
    let word = words(Buffer {
        address: VirtualAddress(0x7000_0000),
        length: BYTES,
    })[0];
    let error = host_lib::gm::atomic::AtomicError::Failed {
        word,
        status: host_lib::gm::Status::PermissionDenied,
    };
    assert_eq!(
        LockError::from(error).to_string(),
        "an atomic operation on 0x70000004 of node 0, port 2: no permission for the memory"
    );
}

/// Operations of each of the other nodes, and changes of the home's own processor.
const CHANGES: u32 = 200;

/// Changes a word by loads and stores, apart from the board if there is a guard.
async fn change(
    gm: &mut Gm,
    address: VirtualAddress,
    guard: &mut Option<Guard>,
) -> Result<(), String> {
    for change in 0..CHANGES {
        gm.system_mut().compute(u64::from(change % 7) * 900).await;
        let inside_ns = u64::from(change % 5) * 400;
        if let Some(guard) = guard {
            let add = AtomicOperation::FetchAdd(1);
            let changed = guard.change(gm, address, add, inside_ns).await;
            changed.map_err(text)?;
            continue;
        }
        let mut bytes = [0; 4];
        let read = gm.system().read_memory(address, &mut bytes);
        read.map_err(|_| "not mapped")?;
        gm.system_mut().compute(inside_ns).await;
        let after = (u32::from_be_bytes(bytes) + 1).to_be_bytes();
        let written = gm.system_mut().write_memory(address, &after);
        written.map_err(|_| "not mapped")?;
    }
    Ok(())
}

/// Node 0 changes a word by loads and stores, two other nodes by operations of its board; what the word is at the end.
fn counted(guarded: bool) -> u32 {
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.1-133").unwrap();
    let mut world = GmWorld::new(3, &image, &profile).unwrap();
    let place: ResultSlot<Buffer> = ResultSlot::default();
    let given = place.clone();
    let home = world.spawn(0, "home", move |mut gm: Gm| async move {
        gm.open(PORT).await.map_err(text)?;
        let words = gm.allocate_dma(BYTES).map_err(text)?;
        let allowed = gm.allow_remote_memory_access(PORT, true).await;
        allowed.map_err(text)?;
        let mut guard = match guarded {
            true => Some(Guard::new(&mut gm, PORT).await.map_err(text)?),
            false => None,
        };
        given.set(words);
        gm.system_mut().compute(LEAD_NS).await;
        change(&mut gm, words.address, &mut guard).await?;
        // The others are done then.
        gm.system_mut().compute(50_000_000).await;
        let mut bytes = [0; 4];
        let read = gm.system().read_memory(words.address, &mut bytes);
        read.map_err(|_| "not mapped")?;
        Ok(u32::from_be_bytes(bytes))
    });
    let others = [1, 2].map(|node| {
        let place = place.clone();
        world.spawn(node, "other", move |mut gm| async move {
            gm.open(PORT).await.map_err(text)?;
            gm.system_mut().compute(LEAD_NS).await;
            let first = place.with(|first| *first).ok_or("no words")?;
            let word = Word {
                node: 0,
                port: PORT,
                address: first.address,
            };
            let mut atomics = Atomics::new(PORT);
            for _ in 0..CHANGES {
                let add = AtomicOperation::FetchAdd(1);
                atomics.execute(&mut gm, word, add).await.map_err(text)?;
            }
            Ok(())
        })
    });
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(1_000_000)),
        ..RunLimits::default()
    };
    assert_eq!(world.world.run(&limits), RunEnd::Completed);
    for other in others {
        assert_eq!(other.take(), Some(Ok(())));
    }
    home.take().unwrap().unwrap()
}

#[test]
fn a_guard_keeps_a_processor_and_its_board_apart() {
    if !built() {
        return;
    }
    assert_eq!(counted(true), 3 * CHANGES);
    // Without it changes are lost.
    let lost = counted(false);
    assert!(lost < 3 * CHANGES, "{lost}");
}

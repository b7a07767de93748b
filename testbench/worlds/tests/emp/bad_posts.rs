//! Invalid posts through the raw window: each is refused with its code or counted, and exchanges before and
//! after it work.

use defs::emp::control::{Counter, DESCRIPTORS, MAILBOX_RECEIVE, MAILBOX_TRANSMIT};
use defs::emp::descriptor::{
    Code, DESCRIPTOR_BYTES, DESCRIPTOR_COUNT, Form, MESSAGE_LIMIT_BYTES, STATUS_NEXT_NONE,
    STATUS_NIC_OWNS, WORD_STATUS, node_tag, page_entry, status_posted,
};
use defs::tigon2::map::{WINDOW_BYTES, WINDOW_USED_BYTES, mailbox_low};
use emulator::observe::event::TraceKind;
use host_lib::emp::{Emp, Source, Tag};
use host_lib::window::{System, VirtualAddress};

use super::support::{buffer, compare, message, pair, run_well, text};

/// Descriptor of most posts: the library uses it last.
const SEND: u32 = 0;
/// Descriptor of most receives: the library uses it last.
const RECEIVE: u32 = DESCRIPTOR_COUNT - 1;
/// Tag of the posts' messages; the exchanges use [`TAG`].
const STRAY_TAG: u16 = 0x77;
const TAG: u16 = 1;
/// Length of the exchanged messages: two frames.
const LENGTH: u32 = 2000;
/// An unmapped host address.
const UNMAPPED: u64 = 0xFFFF_0000_0000;

/// Address of a post's first page entry.
#[derive(Debug, Clone, Copy)]
enum Memory {
    /// A page of valid memory, with this length.
    Good(u16),
    /// Unmapped memory, with this length.
    Nowhere(u16),
    /// A list of this many entries, each a valid page of this length.
    List(u16, u16),
    /// A list of unmapped entries.
    ListOfNowhere(u16, u16),
}

/// Expected result of a post.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// The status word contains the code.
    Code(Code),
    /// The status word contains the code after a message has arrived for it.
    CodeOnArrival(Code),
    /// The descriptor is unchanged, and the post is counted.
    Counted,
}
use Fate::{Code as Refused, CodeOnArrival, Counted};

/// A post: a descriptor, and the mailbox value.
#[derive(Debug, Clone, Copy)]
struct Post {
    mailbox: u32,
    /// Index of the descriptor.
    index: u32,
    memory: Memory,
    node: u16,
    length: u32,
    status: u32,
    /// Offset added to the descriptor's address.
    stray: u32,
    /// Continuations: index, page length of both entries, index of the next.
    links: &'static [(u32, u16, u32)],
}

const GOOD_STATUS: u32 = status_posted(Form::Short, STATUS_NEXT_NONE);

/// A valid transmit.
const TRANSMIT: Post = Post {
    mailbox: MAILBOX_TRANSMIT,
    index: SEND,
    memory: Memory::Good(100),
    node: 1,
    length: 100,
    status: GOOD_STATUS,
    stray: 0,
    links: &[],
};
/// A valid receive.
const POST_RECEIVE: Post = Post {
    mailbox: MAILBOX_RECEIVE,
    index: RECEIVE,
    ..TRANSMIT
};

const fn chained(next: u32) -> u32 {
    status_posted(Form::Chained, next)
}
const INDIRECT: u32 = status_posted(Form::Indirect, STATUS_NEXT_NONE);
const FORM_3: u32 = GOOD_STATUS | 3 << 20;

/// Links of a chain of five descriptors, and of a cyclic one.
const FIVE: &[(u32, u16, u32)] = &[(1, 4096, 2), (2, 4096, 3), (3, 4096, 4), (4, 4096, 0xFFFF)];
const LOOP: &[(u32, u16, u32)] = &[(1, 4096, 1)];

/// Invalid posts of both directions.
const COMMON: [(&str, Post, Fate); 14] = {
    const fn at(stray: u32) -> Post {
        Post { stray, ..TRANSMIT }
    }
    const fn with(status: u32, memory: Memory, length: u32) -> Post {
        Post {
            status,
            memory,
            length,
            ..TRANSMIT
        }
    }
    use Memory::{Good, List};
    let bad = Refused(Code::BadDescriptor);
    [
        ("off the grid by 4", at(4), Counted),
        ("unaligned", at(1), Counted),
        ("far beyond the array", at(0x10_0000), Counted),
        ("before the array", at(0u32.wrapping_sub(0x4000)), Counted),
        ("the end of memory", at(0u32.wrapping_sub(4)), Counted),
        (
            "not owned",
            with(GOOD_STATUS & !STATUS_NIC_OWNS, Good(100), 100),
            Counted,
        ),
        ("an unknown form", with(FORM_3, Good(100), 100), bad),
        (
            "a link out of the array",
            with(chained(DESCRIPTOR_COUNT), Good(100), 100),
            bad,
        ),
        (
            "a link that loops",
            Post {
                links: LOOP,
                ..with(chained(1), Good(4096), 5000)
            },
            bad,
        ),
        (
            "five descriptors",
            Post {
                links: FIVE,
                ..with(chained(1), Good(4096), 5000)
            },
            bad,
        ),
        (
            "no bytes in the entry",
            with(GOOD_STATUS, Good(0), 100),
            bad,
        ),
        ("one byte too few", with(GOOD_STATUS, Good(99), 100), bad),
        ("an empty list", with(INDIRECT, List(0, 0), 100), bad),
        (
            "over 2 MB",
            with(INDIRECT, List(512, 4096), MESSAGE_LIMIT_BYTES + 1),
            bad,
        ),
    ]
};

/// Invalid posts of one direction only.
const SPECIAL: [(&str, Post, Fate); 15] = {
    const fn transmit(status: u32, memory: Memory, length: u32) -> Post {
        Post {
            status,
            memory,
            length,
            ..TRANSMIT
        }
    }
    const fn receive(status: u32, memory: Memory, length: u32) -> Post {
        Post {
            status,
            memory,
            length,
            ..POST_RECEIVE
        }
    }
    use Code::{BadDescriptor, Done, HostMemory, UnknownNode};
    use Memory::{Good, List, ListOfNowhere, Nowhere};
    [
        (
            "a transmit at a receive's place",
            Post {
                index: RECEIVE,
                ..TRANSMIT
            },
            Counted,
        ),
        (
            "a receive at a transmit's place",
            Post {
                index: SEND,
                ..POST_RECEIVE
            },
            Counted,
        ),
        (
            "to a node that is not there",
            Post {
                node: 2,
                ..TRANSMIT
            },
            Refused(UnknownNode),
        ),
        (
            "to every node",
            Post {
                node: 0xFFFF,
                ..TRANSMIT
            },
            Refused(UnknownNode),
        ),
        (
            "from nowhere",
            transmit(GOOD_STATUS, Nowhere(100), 100),
            Refused(HostMemory),
        ),
        (
            "a list at nowhere",
            transmit(INDIRECT, Nowhere(4096), 100_000),
            Refused(HostMemory),
        ),
        (
            "a list of nowhere",
            transmit(INDIRECT, ListOfNowhere(2, 4096), 8192),
            Refused(HostMemory),
        ),
        (
            "a list too short",
            transmit(INDIRECT, List(20, 100), 5000),
            Refused(BadDescriptor),
        ),
        (
            "a list of nothing",
            transmit(INDIRECT, List(20, 0), 5000),
            Refused(BadDescriptor),
        ),
        (
            "a good receive",
            receive(GOOD_STATUS, Good(4000), 4000),
            CodeOnArrival(Done),
        ),
        (
            "into nowhere",
            receive(GOOD_STATUS, Nowhere(4000), 4000),
            CodeOnArrival(HostMemory),
        ),
        (
            "a list at nowhere",
            receive(INDIRECT, Nowhere(4096), 8192),
            CodeOnArrival(HostMemory),
        ),
        (
            "a list of nowhere",
            receive(INDIRECT, ListOfNowhere(2, 4096), 8192),
            CodeOnArrival(HostMemory),
        ),
        (
            "a list too short",
            receive(INDIRECT, List(4, 100), 8192),
            CodeOnArrival(BadDescriptor),
        ),
        (
            "a list of nothing",
            receive(INDIRECT, List(20, 0), 8192),
            CodeOnArrival(BadDescriptor),
        ),
    ]
};

/// All cases, the common ones in both directions.
fn cases() -> Vec<(&'static str, Post, Fate)> {
    let receives = COMMON.iter().map(|(name, post, fate)| {
        let mailbox = MAILBOX_RECEIVE;
        let index = RECEIVE;
        (
            *name,
            Post {
                mailbox,
                index,
                ..*post
            },
            *fate,
        )
    });
    COMMON
        .iter()
        .copied()
        .chain(receives)
        .chain(SPECIAL)
        .collect()
}

/// A driver without checks.
struct Driver {
    emp: Emp,
    array: u32,
}

impl Driver {
    async fn new(mut emp: Emp) -> Self {
        let array = emp.board_mut().read_sram(DESCRIPTORS).await;
        Self { emp, array }
    }

    async fn good_page(&mut self) -> Result<u64, String> {
        let address = self.emp.system_mut().allocate(4096).ok_or("memory")?;
        self.physical(address).await
    }

    async fn physical(&mut self, address: VirtualAddress) -> Result<u64, String> {
        let pages = self.emp.system_mut().translate(address, 1).await;
        Ok(pages.ok_or("not mapped")?[0].0)
    }

    /// The page entry for a post's memory.
    async fn entry(&mut self, memory: Memory) -> Result<[u32; 2], String> {
        let (entries, length, page) = match memory {
            Memory::Good(length) => return Ok(page_entry(self.good_page().await?, length)),
            Memory::Nowhere(length) => return Ok(page_entry(UNMAPPED, length)),
            Memory::List(entries, length) => (entries, length, self.good_page().await?),
            Memory::ListOfNowhere(entries, length) => (entries, length, UNMAPPED),
        };
        let list = self.emp.system_mut().allocate(4096).ok_or("memory")?;
        let entry = page_entry(page, length).map(u32::to_be_bytes).concat();
        let bytes = entry.repeat(usize::from(entries));
        self.emp
            .system_mut()
            .write_memory(list, &bytes)
            .map_err(|at| format!("{at:?}"))?;
        Ok(page_entry(self.physical(list).await?, entries * 8))
    }

    /// Address of descriptor `index`.
    const fn descriptor(&self, index: u32) -> u32 {
        self.array + index * DESCRIPTOR_BYTES
    }

    async fn status(&mut self, index: u32) -> u32 {
        let at = self.descriptor(index) + 4 * WORD_STATUS as u32;
        self.emp.board_mut().read_sram(at).await
    }

    /// Writes the descriptors and the mailbox, and waits until the firmware has taken them.
    async fn post(&mut self, post: &Post) -> Result<(), String> {
        let [high, low] = self.entry(post.memory).await?;
        for &(index, length, next) in post.links {
            let [high, low] = page_entry(self.good_page().await?, length);
            let at = self.descriptor(index);
            let words = [high, low, high, low, next];
            self.emp.board_mut().write_sram_burst(at, &words).await;
        }
        let words = [
            high,
            low,
            node_tag(post.node, STRAY_TAG),
            post.length,
            post.status,
        ];
        let at = self.descriptor(post.index);
        let board = self.emp.board_mut();
        board.write_sram_burst(at, &words).await;
        let mailbox = mailbox_low(post.mailbox);
        board.write_sram(mailbox, at.wrapping_add(post.stray)).await;
        board.poll_sram(mailbox, u32::MAX, 0, "the mailbox").await;
        Ok(())
    }

    /// Waits until the NIC returns a descriptor; returns its result.
    async fn outcome(&mut self, index: u32) -> Option<Code> {
        let at = self.descriptor(index) + 4 * WORD_STATUS as u32;
        let board = self.emp.board_mut();
        let status = board.poll_sram(at, STATUS_NIC_OWNS, 0, "a status").await;
        Code::from_status(status)
    }

    /// Executes a post and checks its result. Requests expected messages from the peer.
    async fn check(&mut self, post: &Post, fate: Fate) -> Result<(), String> {
        let before = self.emp.counter(Counter::BadPosts).await;
        self.post(post).await?;
        let code = match fate {
            Refused(code) => code,
            CodeOnArrival(code) => {
                exchange(&mut self.emp, 1).await?;
                code
            }
            Counted => {
                let status = self.status(post.index).await;
                let counted = self.emp.counter(Counter::BadPosts).await - before;
                return if (status, counted) == (post.status, 1) {
                    Ok(())
                } else {
                    Err(format!("status {status:#x}, {counted} bad posts"))
                };
            }
        };
        match self.outcome(post.index).await {
            Some(found) if found == code => Ok(()),
            found => Err(format!("{found:?}")),
        }
    }
}

/// Sends message `number` and receives the peer's answer.
async fn exchange(emp: &mut Emp, number: u32) -> Result<(), String> {
    let space = buffer(emp, LENGTH);
    let receive = emp
        .post_receive(Source::Node(1), Tag::Value(TAG), space)
        .await;
    let receive = receive.map_err(text)?;
    let out = message(emp, 0, number, LENGTH);
    let transmit = emp.post_transmit(1, TAG, out).await.map_err(text)?;
    emp.wait(transmit).await.map_err(text)?;
    emp.wait(receive).await.map_err(text)?;
    compare(emp, space, 1, number)
}

/// The peer's part of `exchange`. Message 1 requests an extra message before the answer.
async fn answer(emp: &mut Emp, asked: bool) -> Result<(), String> {
    let number = u32::from(asked);
    let space = buffer(emp, LENGTH);
    let receive = emp
        .post_receive(Source::Node(0), Tag::Value(TAG), space)
        .await;
    emp.wait(receive.map_err(text)?).await.map_err(text)?;
    compare(emp, space, 0, number)?;
    if asked {
        let stray = message(emp, 1, 2, 4000);
        let transmit = emp.post_transmit(0, STRAY_TAG, stray).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
    }
    let out = message(emp, 1, number, LENGTH);
    let transmit = emp.post_transmit(0, TAG, out).await.map_err(text)?;
    emp.wait(transmit).await.map(drop).map_err(text)
}

async fn answers(mut emp: Emp) -> Result<(), String> {
    for (name, _, fate) in cases() {
        let context = |error| format!("{name}: {error}");
        answer(&mut emp, false).await.map_err(context)?;
        if matches!(fate, CodeOnArrival(_)) {
            answer(&mut emp, true).await.map_err(context)?;
        }
    }
    answer(&mut emp, false).await
}

#[test]
pub fn nonsense_is_refused_and_nobody_else_notices() {
    run_well(
        &mut pair(),
        |emp| async move {
            let mut driver = Driver::new(emp).await;
            for (name, post, fate) in cases() {
                exchange(&mut driver.emp, 0).await?;
                let checked = driver.check(&post, fate).await;
                checked.map_err(|error| format!("{name}: {error}, not {fate:?} ({post:?})"))?;
            }
            exchange(&mut driver.emp, 0).await
        },
        answers,
    );
}

#[test]
pub fn a_receive_that_is_posted_again_is_counted() {
    run_well(
        &mut pair(),
        |emp| async move {
            let mut driver = Driver::new(emp).await;
            driver.post(&POST_RECEIVE).await?;
            driver.check(&POST_RECEIVE, Counted).await?;
            exchange(&mut driver.emp, 0).await
        },
        |mut emp| async move { answer(&mut emp, false).await },
    );
}

#[test]
pub fn where_nothing_answers_nothing_happens() {
    let offsets = [WINDOW_USED_BYTES, 0x1004, 0x2000, WINDOW_BYTES - 4];
    let mut pair = pair();
    pair.world.nodes[0].trace.keep(true);
    run_well(
        &mut pair,
        move |mut emp| async move {
            for offset in offsets {
                exchange(&mut emp, 0).await?;
                emp.board_mut().write_register(offset, 0xFFFF_FFFF).await;
                let value = emp.board_mut().read_register(offset).await;
                if value != 0 {
                    return Err(format!("{value:#x} at {offset:#x}"));
                }
            }
            exchange(&mut emp, 0).await
        },
        move |mut emp| async move {
            for _ in 0..=offsets.len() {
                answer(&mut emp, false).await?;
            }
            Ok(())
        },
    );
    let events = pair.world.nodes[0].trace.take().into_iter();
    let mistakes: Vec<_> = events
        .filter_map(|event| match event.kind {
            TraceKind::GuestMistake { text } => Some(text.to_string()),
            _ => None,
        })
        .collect();
    let expected: Vec<_> = offsets
        .iter()
        .flat_map(|offset| {
            ["write", "read"]
                .map(|what| format!("{what} of window offset {offset:#x}: nothing answers"))
        })
        .collect();
    assert_eq!(mistakes, expected);
}

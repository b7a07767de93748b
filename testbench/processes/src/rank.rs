//! State of one rank, as the world knows it.

use std::collections::VecDeque;
use std::fs;

use lanigon_requests::{Answer, Poll, Request, Welcome};

use crate::connection::ProcessConnection;

/// State of a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RankState {
    /// No process has connected.
    #[default]
    Absent,
    /// The process was greeted, and has not been read since.
    Unread,
    /// The process's request is awaited, or carried out.
    Running,
    /// The process polls for an event.
    Held(Poll),
    /// The process waits for its turn to start so many others, and for places.
    Queued(usize),
    /// The process sleeps outside a poll.
    Away,
    /// The process has sent a request while the world was stalled.
    Ready,
    /// The process has ended.
    Gone,
}

impl RankState {
    /// Whether it waits for an event, or for something outside.
    pub(crate) const fn is_idle(self) -> bool {
        match self {
            Self::Held(poll) => poll.limit_ns.is_none(),
            Self::Absent | Self::Queued(_) | Self::Away | Self::Gone => true,
            Self::Unread | Self::Running | Self::Ready => false,
        }
    }

    /// Whether there is no process, or none any more.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Absent | Self::Gone)
    }
}

/// Wait of a rank that polls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum RankWait {
    /// Messages, or anything.
    #[default]
    Polls,
    /// Calls on sockets.
    Sockets {
        /// Something outside may end the wait.
        outside: bool,
        /// The process waits for requests of others, as a server does.
        serves: bool,
        /// Description of the calls.
        what: String,
    },
}

impl RankWait {
    /// Whether only an event ends the wait.
    pub(crate) const fn is_held(&self) -> bool {
        matches!(self, Self::Sockets { .. })
    }

    /// Whether nothing outside ends the wait.
    pub(crate) const fn is_inside(&self) -> bool {
        matches!(self, Self::Sockets { outside: false, .. })
    }

    /// Whether it waits for what others want of it.
    pub(crate) const fn is_server(&self) -> bool {
        matches!(
            self,
            Self::Sockets {
                outside: false,
                serves: true,
                ..
            }
        )
    }
}

/// Record of one rank.
#[derive(Debug, Default)]
pub(crate) struct RankRecord {
    pub(crate) connection: Option<ProcessConnection>,
    /// Number of the node of the place.
    pub(crate) node: u16,
    /// Number of processes that had the place before this one.
    pub(crate) generation: usize,
    /// Number of processes that ranks had started with this one; 0 of one that began with the others.
    pub(crate) age: u64,
    /// The process was started by another one, and its host program does not know it yet.
    pub(crate) is_new: bool,
    pub(crate) state: RankState,
    /// Requests that the process has sent while the world was stalled.
    pub(crate) queued: VecDeque<Request>,
    /// Simulated time of its last poll or answer, in ns.
    pub(crate) time_ns: u64,
    /// The process has left the network: it may end.
    pub(crate) has_left: bool,
    /// The process is in `MPI_Finalize`: nothing outside but the end of the others ends its wait.
    pub(crate) is_finalizing: bool,
    /// Code with which the process has called `MPI_Abort`.
    pub(crate) aborts: Option<i32>,
    /// Something has come for the process that it does not know yet.
    pub(crate) has_answers: bool,
    /// Wait of the process, if it polls.
    pub(crate) waits: RankWait,
}

impl RankRecord {
    /// Greets the process, which gets this number in the run.
    pub(crate) fn welcome(&mut self, number: u32, welcome: Welcome) {
        let node = self.node.into();
        self.answer(&[Answer::Welcome(Welcome {
            number,
            node,
            ..welcome
        })]);
    }

    /// Answers. If the process has ended, the next read will tell: what it has said before is still to be read.
    pub(crate) fn answer(&mut self, answers: &[Answer]) {
        if let Some(connection) = &mut self.connection {
            let _ = connection.answer(answers);
        }
    }

    /// Begins a poll at this time.
    pub(crate) fn hold(&mut self, poll: Poll, time_ns: u64, waits: RankWait) {
        self.state = RankState::Held(poll);
        self.waits = waits;
        self.time_ns = time_ns;
    }

    /// Queues a poll that was read while the world was stalled.
    pub(crate) fn ask_again(&mut self, poll: Poll) {
        let request = Request::Poll { spent_ns: 0, poll };
        self.queued.push_back(request);
        self.state = RankState::Ready;
    }

    /// Leaves the network. Further actions of the process are no matter of the world.
    pub(crate) fn leave(&mut self) {
        self.has_left = true;
        self.state = RankState::Away;
    }

    /// Number of the process in the operating system.
    pub(crate) fn process(&self) -> Option<u32> {
        let connection = self.connection.as_ref();
        connection.map(|connection| connection.process)
    }

    /// Description of the rank's wait; `None` if it does not wait.
    pub(crate) fn describe(&self, rank: usize) -> Option<String> {
        let many = |count: u32, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        match (self.state, &self.waits) {
            (RankState::Held(_), RankWait::Sockets { what, .. }) => {
                Some(format!("rank {rank} waits for {what}"))
            }
            (RankState::Held(_) | RankState::Away, _) if self.is_finalizing => {
                Some(format!("rank {rank} has called MPI_Finalize"))
            }
            (RankState::Held(poll), RankWait::Polls) => Some(format!(
                "rank {rank} polls with {} and {}",
                many(poll.receives, "posted receive"),
                many(poll.sends, "unfinished send")
            )),
            (RankState::Queued(count), _) => Some(format!(
                "rank {rank} waits for places to start {count} processes (`--universe`, or more nodes of the program)"
            )),
            (RankState::Away, _) if self.has_left => None,
            (RankState::Away, _) => Some(format!("rank {rank} sleeps outside MPI")),
            _ => None,
        }
    }
}

/// Whether processes sleep, and how much processor time they have had.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Asleep(Option<Vec<String>>);

impl Asleep {
    /// Looks at processes, with their threads and children, but not at `others` and theirs; one that has ended does not count.
    pub(crate) fn look(processes: &[u32], others: &[u32]) -> Self {
        let mut times = Vec::new();
        let others: Vec<String> = others.iter().map(u32::to_string).collect();
        let mut open: Vec<String> = processes.iter().map(u32::to_string).collect();
        while let Some(process) = open.pop() {
            if others.contains(&process) {
                continue;
            }
            let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
                continue;
            };
            for thread in threads.flatten() {
                let Ok(text) = fs::read_to_string(thread.path().join("stat")) else {
                    continue;
                };
                // The name may contain anything; behind it stand the state, ten numbers, and the times of user and system.
                let behind = text.rsplit_once(')').map_or("", |(_, behind)| behind);
                let mut words = behind.split_whitespace();
                if !matches!(words.next(), Some("S" | "Z")) {
                    return Self(None);
                }
                times.push(words.skip(10).take(2).collect::<Vec<_>>().join(" "));
                let children = fs::read_to_string(thread.path().join("children"));
                let children = children.unwrap_or_default();
                open.extend(children.split_whitespace().map(str::to_owned));
            }
        }
        Self(Some(times))
    }

    /// Whether all sleep, and none has had processor time since the other look.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.0.is_some() && self == other
    }
}

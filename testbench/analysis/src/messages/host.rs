//! Actions of hosts: posts and polls.

use std::collections::VecDeque;

use defs::emp::control::MAILBOX_TRANSMIT;
use defs::emp::descriptor::{STATUS_CODE_SHIFT, STATUS_LENGTH_MASK};
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::time::SimTime;

use super::message::{Message, MessageCompletion, Post};
use super::tracker::Tracker;

/// One side of a finished message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MessageSide {
    message: usize,
    is_sender: bool,
}

/// A completion that no poll has read yet.
#[derive(Debug, Clone, Copy)]
struct UnreadCompletion {
    side: MessageSide,
    code: u32,
    length: Option<u32>,
}

/// A successful poll before the firmware's report.
#[derive(Debug, Clone, Copy)]
struct Poll {
    time: SimTime,
    value: u32,
    number: u64,
    /// Return of the poll's call: time and event number.
    returned: Option<(SimTime, u64)>,
}

/// A post that may still be in progress.
#[derive(Debug)]
struct Posting {
    post: Post,
    events: Vec<u64>,
    /// Index of the message, once known.
    message: Option<usize>,
}

/// State of a host's program.
#[derive(Debug, Default)]
pub(super) struct HostState {
    /// The current call.
    call: Option<(SimTime, u64)>,
    /// The last posts of transmits. The firmware acknowledges the mailbox before it opens the message's
    /// record, so the next post may have begun.
    posts: VecDeque<Posting>,
    /// The current call posts a transmit.
    posting: bool,
    /// The completion that the current call has read.
    seen: Option<MessageSide>,
    ended: VecDeque<UnreadCompletion>,
    polls: VecDeque<Poll>,
}

/// Largest number of posts kept.
const MOST_POSTS: usize = 4;
/// Description of the poll at the end of a post.
const POST_POLL: &str = "the NIC to take a transmit descriptor";
/// Largest number of polls kept: the firmware reports a completion soon after writing the status.
const MOST_POLLS: usize = 16;
/// Descriptions of polls for completions.
const STATUS_POLLS: [&str; 3] = [
    "a transmit to be acknowledged",
    "a posted receive to be filled",
    "any of several transfers to be over",
];

impl HostState {
    /// The post of the message that the firmware took in a stage which began at `since`, and the numbers of
    /// its events. Earlier posts were refused.
    pub(super) fn take_post(&mut self, message: usize, since: SimTime) -> (Post, Vec<u64>) {
        let fits = |posting: &&mut Posting| {
            posting.message.is_none() && posting.post.mailbox.is_some_and(|time| time <= since)
        };
        let Some(posting) = self.posts.iter_mut().rfind(fits) else {
            return (Post::default(), Vec::new());
        };
        posting.message = Some(message);
        (posting.post, std::mem::take(&mut posting.events))
    }

    /// Handles the return of the last post; returns its message, if known.
    fn post_returns(&mut self, time: SimTime) -> Option<usize> {
        let posting = self.posts.back_mut()?;
        posting.post.returned = Some(time);
        posting.message
    }
}

impl UnreadCompletion {
    fn has(&self, value: u32) -> bool {
        value >> STATUS_CODE_SHIFT == self.code
            && self
                .length
                .is_none_or(|length| length == value & STATUS_LENGTH_MASK)
    }
}

impl MessageSide {
    fn completion_of<'a>(&self, message: &'a mut Message) -> Option<&'a mut MessageCompletion> {
        if self.is_sender {
            message.sent.as_mut()
        } else {
            message.received.as_mut()
        }
    }
}

impl Tracker {
    pub(super) fn host_event(&mut self, node: u16, event: &TraceEvent) {
        let number = self.number;
        let host = &mut self.node(node).host;
        match &event.kind {
            TraceKind::HostCall { .. } => {
                host.call = Some((event.time, number));
                host.seen = None;
            }
            TraceKind::MailboxWrite { index, .. } if *index == MAILBOX_TRANSMIT => {
                let call = host.call;
                let post = Post {
                    call: call.map(|(time, _)| time),
                    mailbox: Some(event.time),
                    ..Post::default()
                };
                let events = call.map(|(_, number)| number).into_iter();
                host.posts.push_back(Posting {
                    post,
                    events: events.chain([number]).collect(),
                    message: None,
                });
                if host.posts.len() > MOST_POSTS {
                    host.posts.pop_front();
                }
                host.posting = true;
            }
            TraceKind::PollSatisfied { why, value } if STATUS_POLLS.contains(&&**why) => {
                let ended = host.ended.iter().position(|ended| ended.has(*value));
                match ended.and_then(|place| host.ended.remove(place)) {
                    Some(ended) => {
                        self.saw(ended.side, event.time, number);
                        self.node(node).host.seen = Some(ended.side);
                    }
                    None => {
                        host.polls.push_back(Poll {
                            time: event.time,
                            value: *value,
                            number,
                            returned: None,
                        });
                        if host.polls.len() > MOST_POLLS {
                            host.polls.pop_front();
                        }
                    }
                }
            }
            TraceKind::PollSatisfied { why, .. } if **why == *POST_POLL => {
                let back = self.costs.pio_read_return;
                self.post_returned(node, event.time.saturating_add(back));
            }
            TraceKind::HostReturn { .. } => {
                let (seen, posted) = (host.seen.take(), std::mem::take(&mut host.posting));
                host.call = None;
                if let Some(poll) = host.polls.back_mut() {
                    poll.returned.get_or_insert((event.time, number));
                }
                if posted {
                    self.post_returned(node, event.time);
                }
                if let Some(side) = seen {
                    self.own(side.message);
                    if let Some(end) = side.completion_of(self.message(side.message)) {
                        end.returned = Some(event.time);
                    }
                }
            }
            _ => {}
        }
    }

    /// Handles the return of a post.
    fn post_returned(&mut self, node: u16, time: SimTime) {
        if let Some(message) = self.node(node).host.post_returns(time) {
            self.own(message);
            self.message(message).post.returned = Some(time);
        }
    }

    /// Assigns a completion to the poll that reads it, before or after this report.
    pub(super) fn await_poll(
        &mut self,
        node: u16,
        message: usize,
        is_sender: bool,
        (code, length): (u32, Option<u32>),
    ) {
        let side = MessageSide { message, is_sender };
        let ended = UnreadCompletion { side, code, length };
        let not_before = side
            .completion_of(self.message(message))
            .map(|end| end.not_before);
        let host = &mut self.node(node).host;
        let saw =
            |poll: &Poll| not_before.is_some_and(|time| time <= poll.time) && ended.has(poll.value);
        let place = host.polls.iter().position(saw);
        match place.and_then(|place| host.polls.remove(place)) {
            Some(poll) => {
                // The call may have returned already.
                host.seen = poll.returned.is_none().then_some(side);
                self.saw(side, poll.time, poll.number);
                if let Some((time, number)) = poll.returned {
                    self.message(message).events.push(number);
                    if let Some(end) = side.completion_of(self.message(message)) {
                        end.returned = Some(time);
                    }
                }
            }
            None => host.ended.push_back(ended),
        }
    }

    /// Records the poll that read a completion.
    fn saw(&mut self, side: MessageSide, time: SimTime, number: u64) {
        let back = self.costs.pio_read_return;
        let message = self.message(side.message);
        message.events.push(number);
        if let Some(end) = side.completion_of(message) {
            end.seen = Some(time);
            end.returned = Some(time.saturating_add(back));
        }
    }
}

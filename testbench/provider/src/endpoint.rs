//! Endpoints: posted receives, messages that no receive waits for, and how they match.

use std::collections::VecDeque;

use lanigon_requests::{Class, Message};

use crate::ffi::error::{CANCELED, INVAL, NOENT, NOMSG, TRUNC};
use crate::ffi::{
    CLAIM, COMPLETION, CqEntry, DISCARD, MSG, MULTI_RECV, PEEK, RECV, REMOTE_CQ_DATA, TAGGED,
};
use crate::memory::{BufferList, scatter};
use crate::process::Sending;
use crate::queue::Completion;

/// A receive that the program has posted, until a message matches it.
#[derive(Debug, Clone, Default)]
pub struct PostedReceive {
    pub tagged: bool,
    pub buffers: BufferList,
    /// Address of the sender; `None`: any.
    pub source: Option<u64>,
    pub tag: u64,
    /// Bits of the tag that do not count.
    pub ignore: u64,
    pub flags: u64,
    pub context: usize,
    /// Bytes of the buffers that have messages: of a receive for many messages.
    pub used: usize,
}

impl PostedReceive {
    fn room(&self) -> usize {
        let all: usize = self.buffers.iter().map(|(_, length)| length).sum();
        all - self.used
    }

    fn is_for_many(&self) -> bool {
        self.flags & MULTI_RECV != 0
    }

    fn matches(&self, message: &Message) -> bool {
        let source = self.source.is_none_or(|source| source == address(message));
        let is_tagged = message.envelope.class == Class::Tagged;
        let tag = !self.tagged || (self.tag ^ message.envelope.tag) & !self.ignore == 0;
        let room = !self.is_for_many() || self.room() >= message.bytes.len();
        self.tagged == is_tagged && source && tag && room
    }
}

/// Address of the sender of a message.
pub fn address(message: &Message) -> u64 {
    u64::from(message.rank) << 8 | u64::from(message.envelope.from_endpoint)
}

/// A message that no receive waited for.
#[derive(Debug)]
struct Early {
    message: Message,
    /// The context of the look that has claimed it.
    claimed: Option<usize>,
}

/// Entries for the queue of receives that a call has brought.
pub type Completions = Vec<Completion>;

/// State of an endpoint.
#[derive(Debug, Default)]
pub struct Endpoint {
    posted: VecDeque<PostedReceive>,
    early: VecDeque<Early>,
    pub addresses: Option<usize>,
    pub sends: Option<usize>,
    pub receives: Option<usize>,
    /// Counters of operations that read, and that write.
    pub counters: [Option<usize>; 2],
    pub sends_selective: bool,
    pub receives_selective: bool,
    /// Flags of operations without flags of their own.
    pub send_flags: u64,
    pub receive_flags: u64,
    /// A receive for many messages ends when fewer bytes are left.
    pub least_room: usize,
}

impl Endpoint {
    /// Receives that wait, but for those for many messages.
    pub fn waiting(&self) -> usize {
        self.posted
            .iter()
            .filter(|receive| !receive.is_for_many())
            .count()
    }

    /// Whether the end of a send or operation is wanted in its queue.
    pub const fn wants(&self, sending: &Sending) -> bool {
        !sending.silent && (!self.sends_selective || sending.flags & COMPLETION != 0)
    }

    /// Posts a receive, or looks for a message.
    ///
    /// # Errors
    /// The number of the error.
    pub fn post(&mut self, mut receive: PostedReceive) -> Result<Completions, i32> {
        if receive.flags & PEEK != 0 {
            return Ok(vec![self.peek(&receive)]);
        }
        if receive.flags & CLAIM != 0 {
            let mine = |early: &Early| early.claimed == Some(receive.context);
            let place = self.early.iter().position(mine).ok_or(INVAL)?;
            let early = self.early.remove(place).ok_or(INVAL)?;
            if receive.flags & DISCARD != 0 {
                receive.buffers.clear();
                let entry = entry(&receive, &early.message, 0);
                return Ok(vec![completion(entry, &early.message, None)]);
            }
            return Ok(self
                .complete(&mut receive, &early.message)
                .into_iter()
                .collect());
        }
        let mut all = Vec::new();
        while let Some(place) = self.early(&receive) {
            let Some(early) = self.early.remove(place) else {
                break;
            };
            all.extend(self.complete(&mut receive, &early.message));
            if self.is_over(&receive) {
                return Ok(all);
            }
        }
        self.posted.push_back(receive);
        Ok(all)
    }

    /// A message that has come for a receive.
    fn early(&self, receive: &PostedReceive) -> Option<usize> {
        let is_for = |early: &Early| early.claimed.is_none() && receive.matches(&early.message);
        self.early.iter().position(is_for)
    }

    /// Whether a message that a look would find is there.
    pub fn has(&self, receive: &PostedReceive) -> bool {
        self.early(receive).is_some()
    }

    /// Looks for a message, and claims or discards it if it shall.
    fn peek(&mut self, receive: &PostedReceive) -> Completion {
        let Some(place) = self.early(receive) else {
            let entry = CqEntry {
                context: receive.context,
                flags: RECV | kind(receive.tagged),
                length: 0,
                buffer: 0,
                data: 0,
                tag: receive.tag,
            };
            let error = Some((NOMSG, 0));
            return Completion {
                entry,
                source: None,
                error,
            };
        };
        let early = &mut self.early[place];
        let mut entry = entry(receive, &early.message, early.message.bytes.len());
        entry.buffer = 0;
        let found = completion(entry, &early.message, None);
        if receive.flags & CLAIM != 0 {
            early.claimed = Some(receive.context);
        } else if receive.flags & DISCARD != 0 {
            self.early.remove(place);
        }
        found
    }

    /// Takes a message that has come.
    pub fn deliver(&mut self, message: Message) -> Completions {
        let mut posted = self.posted.iter();
        let Some(place) = posted.position(|receive| receive.matches(&message)) else {
            let claimed = None;
            self.early.push_back(Early { message, claimed });
            return Vec::new();
        };
        let Some(mut receive) = self.posted.remove(place) else {
            return Vec::new();
        };
        let completed = self.complete(&mut receive, &message);
        if !self.is_over(&receive) {
            self.posted.insert(place, receive);
        }
        completed.into_iter().collect()
    }

    /// Whether a receive takes no further message.
    fn is_over(&self, receive: &PostedReceive) -> bool {
        !receive.is_for_many() || receive.room() < self.least_room.max(1)
    }

    /// Puts a message into a receive.
    fn complete(&self, receive: &mut PostedReceive, message: &Message) -> Option<Completion> {
        let bytes = &message.bytes;
        let fitting = bytes.len().min(receive.room());
        let mut entry = entry(receive, message, bytes.len());
        // SAFETY: the process has given the buffers for a message when it posted the receive.
        unsafe { scatter(&receive.buffers, receive.used, &bytes[..fitting]) };
        if receive.is_for_many() {
            receive.used += fitting;
            if self.is_over(receive) {
                entry.flags |= MULTI_RECV;
            }
        }
        let over = bytes.len() - fitting;
        let error = (over > 0).then_some((TRUNC, over));
        let wanted = !self.receives_selective
            || receive.flags & COMPLETION != 0
            || entry.flags & MULTI_RECV != 0;
        (wanted || error.is_some()).then(|| completion(entry, message, error))
    }

    /// Takes a receive back.
    ///
    /// # Errors
    /// There is none with this context.
    pub fn cancel(&mut self, context: usize) -> Result<Completion, i32> {
        let mine = |receive: &PostedReceive| receive.context == context;
        let place = self.posted.iter().position(mine).ok_or(NOENT)?;
        let receive = self.posted.remove(place).ok_or(NOENT)?;
        let entry = CqEntry {
            context,
            flags: RECV | kind(receive.tagged),
            length: 0,
            buffer: 0,
            data: 0,
            tag: receive.tag,
        };
        Ok(Completion {
            entry,
            source: None,
            error: Some((CANCELED, 0)),
        })
    }
}

/// The flag of an operation with or without a tag.
pub const fn kind(tagged: bool) -> u64 {
    if tagged { TAGGED } else { MSG }
}

fn entry(receive: &PostedReceive, message: &Message, length: usize) -> CqEntry {
    let data = message.envelope.data;
    let first = receive.buffers.first();
    CqEntry {
        context: receive.context,
        flags: RECV | kind(receive.tagged) | data.map_or(0, |_| REMOTE_CQ_DATA),
        length,
        buffer: first.map_or(0, |(address, _)| address + receive.used),
        data: data.unwrap_or_default(),
        tag: message.envelope.tag,
    }
}

fn completion(entry: CqEntry, message: &Message, error: Option<(i32, usize)>) -> Completion {
    let source = Some(address(message));
    Completion {
        entry,
        source,
        error,
    }
}

#[cfg(test)]
mod tests;

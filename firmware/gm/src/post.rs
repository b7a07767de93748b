//! Send slots that a process has written.
//!
//! A process can write anything into its slots. So nothing of a slot is used before it is checked, a port has
//! [`SEND_TOKENS`] sends under way at most, and all addresses go through the process's part of the page table.
use defs::gm::atomic::ATOMIC;
use defs::gm::collective::{BARRIER, REDUCE};
use defs::gm::event::SLEEP;
use defs::gm::event::{SEND_TOKEN_VIOLATION, Status};
use defs::gm::gossip::{GOSSIP, GROUP};
use defs::gm::map::{ACK_PACKETS, Counter, RECORD_COUNT, ROUTE_VALID, WINDOW};
use defs::gm::packet::{DATA, SIZES, capacity, first_word};
use defs::gm::port::{
    ALARM, DROP, GET, PORT_COUNT, PUT, RESUME, SEND, SEND_SLOT_BYTES, SEND_TOKENS, SIGNALS, WAKE,
};

use crate::nic::{Event, Role};
use crate::slot::{SendSlot, slot_node, slot_subport, slot_type};
use crate::state::{
    ACTIVE_SHIFT, Connection, F_ACTIVE, F_HELD, F_READY, K_GET, K_PUT, P_STOPPED, Peer, PortBlock,
    Record, TOKEN_NUMBER, connection, connection_number, packets_between, peer, port_number,
    ready_list,
};
use crate::{Gm, Nic};

/// Bytes of a port's send slots, less 1.
const SEND_QUEUE_MASK: u32 = 0x7FF;

const _: () = assert!(ACK_PACKETS < 15 && WINDOW < 0x4000 && RECORD_COUNT > 0);

/// A send as its slot describes it.
pub struct Post {
    /// The port's control block.
    pub port: PortBlock,
    slot: SendSlot,
    /// The slot's last word.
    word: u32,
    /// The record's kind.
    kind: u32,
    length: u32,
}

impl<N: Nic> Gm<N> {
    /// Takes one post of the host: a command, a send or a receive token. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn posted(&mut self) -> bool {
        if !N::ROLE.sends() {
            return self.take_posted_token();
        }
        let first = self.open_port();
        if first.is_some() {
            let mut port = first;
            loop {
                let slot = port.send_slot(self);
                let word = slot.word(self);
                if word != 0 {
                    self.take_send(port, slot, word);
                    return true;
                }
                if N::ROLE.receives() && self.has_token(port) {
                    return self.take_token_early(port);
                }
                port = port.next(self);
                if port == first {
                    break;
                }
            }
        }
        (self.command_word() | self.outbox() | self.acked_due() | self.host_done()) != 0
            && self.take_words()
    }

    /// A tick: takes one post, if there is any.
    #[inline(never)]
    pub(crate) fn take_post(&mut self) {
        self.posted();
    }

    /// Takes a send slot.
    #[inline(always)]
    fn take_send(&mut self, port: PortBlock, slot: SendSlot, word: u32) {
        // The next port comes first the next time.
        let next_port = port.next(self);
        self.set_open_port(next_port);
        let at = slot.address();
        let next = at & !SEND_QUEUE_MASK | (at + SEND_SLOT_BYTES) & SEND_QUEUE_MASK;
        port.set_send_slot(self, SendSlot::at(next));
        slot.set_word(self, 0);
        let size = slot_type(word).wrapping_sub(SEND);
        let length = slot.length(self);
        let sends = port.sends(self);
        let kind = first_word(DATA).wrapping_add(size);
        let post = Post {
            port,
            slot,
            word,
            kind,
            length,
        };
        // What fits a size of 8 bytes and more; the smaller ones hold nothing and are rare.
        if size < SIZES && (length.wrapping_add(7) | length) >> size == 0 && sends < SEND_TOKENS {
            port.set_sends(self, sends + 1);
            self.add_send(&post);
        } else {
            self.take_other(&post, sends);
        }
    }

    /// Takes a slot that is no usual send: another type, a send of a port with stopped streams, or one that makes no
    /// sense.
    #[cold]
    #[inline(never)]
    fn take_other(&mut self, post: &Post, sends: u32) {
        let &Post {
            port,
            slot,
            word,
            length,
            ..
        } = post;
        let size = slot_type(word).wrapping_sub(SEND);
        let kind = match slot_type(word) {
            ALARM => return self.set_alarm(port, length),
            WAKE => return self.notice(port, SLEEP, 0, 0),
            SIGNALS => return self.wake_for_signals(),
            RESUME => return self.resume(port, stream(word), false),
            DROP => return self.resume(port, stream(word), true),
            BARRIER => return self.post_barrier(port, word),
            REDUCE => return self.post_reduction(port, slot_subport(word)),
            GROUP => return self.post_group(port, slot_subport(word)),
            GOSSIP => return self.post_gossip(port, word, length),
            ATOMIC => return self.post_atomic(port, slot, word),
            PUT => K_PUT,
            GET => K_GET,
            _ => first_word(DATA).wrapping_add(size),
        };
        let token = slot.token(self);
        if sends & !P_STOPPED >= SEND_TOKENS {
            return self.violation(port, SEND_TOKEN_VIOLATION, 0, token);
        }
        port.set_sends(self, sends + 1);
        // Puts and gets have no size, but less than 2^31 bytes.
        let fits = size < SIZES && length <= capacity(size);
        if !fits && (kind != K_PUT && kind != K_GET || length >> 31 != 0) {
            return self.refuse(
                port.address() | token & TOKEN_NUMBER,
                Status::InvalidParameter,
            );
        }
        let stopped = sends & P_STOPPED != 0 && self.is_stopped(port, stream(word));
        let post = Post { kind, ..*post };
        if stopped {
            self.add_waiting(&post);
        } else {
            self.add_send(&post);
        }
    }

    /// Makes a record of a send and appends it to its connection.
    #[inline(always)]
    fn add_send(&mut self, post: &Post) {
        let node = slot_node(post.word);
        let subport = slot_subport(post.word);
        let token = post.port.address() | post.slot.token(self) & TOKEN_NUMBER;
        if subport >= 2 * PORT_COUNT {
            return self.refuse(token, Status::InvalidParameter);
        }
        if node >= self.nodes() || Peer::at(peer::<N>(node)).route(self) & ROUTE_VALID == 0 {
            return self.refuse(token, Status::NodeUnreachable);
        }
        let record = self.new_record(post, token);
        if record.is_some() {
            let number = node << 1 | subport & 1;
            let to = connection::<N>(number);
            let sequence = to.send(self);
            self.nic.mark(Event::TokenTaken, number, sequence);
            self.add_record(to, record);
        }
    }

    /// A record of a send that waits in a stopped stream.
    #[cold]
    #[inline(never)]
    fn add_waiting(&mut self, post: &Post) {
        let token = post.port.address() | post.slot.token(self) & TOKEN_NUMBER;
        let record = self.new_record(post, token);
        if record.is_some() {
            let to = slot_connection::<N>(post.word);
            record.set_connection(self, to);
            self.append(post.port.waiting(), record.address(), Record::NEXT);
        }
    }

    /// A record with what the slot says; 0 if there is none, which is reported.
    #[inline(always)]
    fn new_record(&mut self, post: &Post, token: u32) -> Record {
        let record = self.free_records();
        if record.is_none() {
            self.refuse(token, Status::TryAgain);
            return Record::NONE;
        }
        let free = record.next(self);
        self.set_free_records(free);
        let high = post.slot.address_high(self);
        let low = post.slot.address_low(self);
        let key = post.port.key(self);
        let subport = slot_subport(post.word);
        // The own subport: a control block has 2^11 bytes, so this is twice the port's number, and the priority.
        let own = (post.port.address() - defs::gm::map::PORTS) >> 10 | subport & 1;
        record.set_kind(self, post.kind);
        record.set_high(self, high);
        record.set_low(self, low);
        record.set_length(self, post.length);
        record.set_sent(self, 0);
        record.set_acked(self, 0);
        record.set_ports(self, subport << 8 | own);
        record.set_token(self, token);
        record.set_key(self, key);
        if post.kind == K_PUT || post.kind == K_GET {
            self.remote_record(record, post);
        }
        record
    }

    /// The part of a record that only puts and gets have.
    #[cold]
    #[inline(never)]
    fn remote_record(&mut self, record: Record, post: &Post) {
        let high = post.slot.remote_high(self);
        let low = post.slot.remote_low(self);
        let from = slot_connection::<N>(post.word);
        record.set_remote_high(self, high);
        record.set_remote_low(self, low);
        record.set_connection(self, from);
        if post.kind == K_GET {
            self.number_get(record);
            // The request is one packet.
            record.set_asked(self, post.length);
            record.set_length(self, 0);
        }
    }

    /// A post is wrong: the send fails at once.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&mut self, token: u32, status: Status) {
        self.count(Counter::BadPosts);
        self.report(token, status as u32);
    }

    /// Appends a record to its connection, which becomes ready and active.
    #[inline(always)]
    pub(crate) fn add_record(&mut self, connection: Connection, record: Record) {
        let mut flags = connection.flags(self);
        record.set_next(self, Record::NONE);
        if connection.first(self).is_none() {
            connection.set_first(self, record);
            flags = self.begin_waiting(connection, flags);
        } else {
            let last = connection.last(self);
            last.set_next(self, record);
        }
        connection.set_last(self, record);
        if connection.cursor(self).is_none() {
            connection.set_cursor(self, record);
        }
        if flags & (F_READY | F_HELD) == 0 {
            flags |= F_READY;
            let priority = connection_number::<N>(connection) & 1;
            self.append(
                ready_list(priority),
                connection.address(),
                Connection::READY_NEXT,
            );
        }
        connection.set_flags(self, flags);
    }

    /// Appends a record whose packet is sent at once, if nothing of the connection waits. Returns whether it is so.
    #[inline(always)]
    pub(crate) fn add_sent(&mut self, connection: Connection, record: Record) -> bool {
        let mut flags = connection.flags(self);
        let window = connection.window(self);
        let sent = packets_between(window, connection.send(self));
        let waits = connection.cursor(self);
        if waits.is_some() || flags & F_HELD != 0 || sent >= WINDOW {
            return false;
        }
        record.set_next(self, Record::NONE);
        if connection.first(self).is_none() {
            connection.set_first(self, record);
            flags = self.begin_waiting(connection, flags);
            connection.set_flags(self, flags);
        } else {
            let last = connection.last(self);
            last.set_next(self, record);
        }
        connection.set_last(self, record);
        true
    }

    /// A connection has its first unacknowledged record: it is watched. Returns its flags.
    #[inline(always)]
    fn begin_waiting(&mut self, connection: Connection, flags: u32) -> u32 {
        let now = self.now();
        let resend = now.wrapping_add(self.resend_ticks());
        let fails_at = now.wrapping_add(self.fatal_ticks());
        connection.set_deadline(self, resend);
        connection.set_fails_at(self, fails_at);
        if flags & F_ACTIVE != 0 {
            return flags;
        }
        let active = self.first_active();
        self.set_first_active(connection_number::<N>(connection) + 1);
        self.start_timer();
        flags & 0xFFFF | F_ACTIVE | active << ACTIVE_SHIFT
    }

    /// Lets the timer run.
    #[inline(always)]
    pub(crate) fn start_timer(&mut self) {
        if self.timer_runs() == 0 {
            self.set_timer_runs(1);
            if matches!(N::ROLE, Role::Borrower) {
                return self.hand_timer();
            }
            self.nic.set_timer();
        }
    }

    /// Sets or cancels a port's alarm.
    fn set_alarm(&mut self, port: PortBlock, ticks: u32) {
        let bit = 1 << port_number(port);
        let alarms = self.alarms() & !bit;
        self.set_alarms(alarms);
        if ticks != 0 {
            let at = self.now().wrapping_add(ticks.min(1 << 30));
            port.set_alarm_tick(self, at);
            self.set_alarms(alarms | bit);
            self.start_timer();
        }
    }
}

/// The connection to the node of a slot, of its subport's priority.
#[inline(always)]
const fn slot_connection<N: Nic>(word: u32) -> Connection {
    connection::<N>(slot_node(word) << 1 | slot_subport(word) & 1)
}

/// The stream that a slot names: node and subport.
const fn stream(word: u32) -> u32 {
    word >> 8
}

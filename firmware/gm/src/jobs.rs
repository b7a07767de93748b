//! Jobs that SEND's half and RECV's half of the firmware give each other.
//!
//! On one CPU these are calls. On two CPUs each half writes entries of four words into a ring that the other one reads:
//! the first word is the job and is written last; the reader clears it. A ring has more entries than jobs can be under way, so it is not
//! looked whether an entry is free.
use defs::gm::collective::COLLECTIVE_RECORDS;
use defs::gm::map::{JOB_BYTES, JOB_COUNT, RECEIVER_JOBS, SENDER_JOBS};
use defs::record;

use crate::collective::Value;
use crate::gossip::{Group, News};
use crate::nic::Role;
use crate::state::{
    Connection, PortBlock, RECEIVER_JOB, RECEIVER_JOB_IN, Record, SENDER_JOB, SENDER_JOB_IN,
};
use crate::{Gm, Nic};

const RING_BYTES: u32 = JOB_COUNT * JOB_BYTES;

/// A job; the words behind it are its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Job {
    /// SEND: put an ack into the list. Connection and kind; sequence number.
    Answer = 1,
    /// SEND: an ack has come. Connection and subtype; sequence number; reason.
    AckCame = 2,
    /// SEND: send the answer to a get. Connection; record.
    Reply = 3,
    /// SEND: a get has ended. Record; its number; status.
    GetEnds = 4,
    /// SEND: all DMA to the host that a command waits for is complete.
    CommandDone = 5,
    /// RECV: report a send. Token; status.
    Report = 6,
    /// RECV: report a notice. Port and type; address.
    Notice = 7,
    /// RECV: the record of an answer is free. Record.
    FreeReply = 8,
    /// RECV: end a get that has taken too long. Record; its number.
    CancelGet = 9,
    /// RECV: events interrupt the host.
    Signals = 10,
    /// RECV: its half of a command. Command; arguments.
    Command = 11,
    /// SEND: a packet of a collective operation has come. Where it comes from; value.
    Arrival = 12,
    /// RECV: a collective operation has ended. [`end_word`](crate::collective::end_word); port; value.
    Result = 13,
    /// SEND: a packet of an all-to-all broadcast has come. What; its place; its operation and length.
    News = 14,
    /// RECV: staged bytes go to host memory. Group; operation; length of a block.
    Staged = 15,
    /// SEND: send the answer of an atomic operation. Connection; number.
    SendValue = 16,
    /// SEND: the answer of an atomic operation has come. Connection; number; word.
    ValueCame = 17,
    /// RECV: execute an atomic operation on the memory of an own process. Record.
    OwnAtomic = 18,
    /// SEND: an atomic operation on the memory of an own process is done. Record; status; word.
    OwnValue = 19,
    /// RECV: a packet of an all-to-all broadcast for this node. Subtype; its header words with sequence and lengths.
    Local = 20,
    /// RECV: the result of an atomic operation goes where its process wants it. [`end_word`](crate::collective::end_word); port; word.
    Direct = 21,
    /// SEND: the timer is to run. Only where SEND's half is lent.
    Timer = 22,
}

record! {
    /// Entry of a ring of jobs.
    struct Entry {
        /// The job, and an argument of 24 bits; 0 if the entry is empty. It is written last: the other CPU takes the entry then.
        word, set_word: u32 = 0;
        /// Further arguments.
        [argument, set_argument]: u32 = 4;
    }
}

/// Bits of the first word that hold the job.
const JOB_MASK: u32 = 0xFF;
/// Position of what else the first word holds.
const JOB_SHIFT: u32 = 8;

impl<N: Nic> Gm<N> {
    /// Gives the other CPU a job.
    fn put_job(&mut self, job: Job, first: u32, rest: [u32; 3]) {
        let (place, ring) = match N::ROLE {
            Role::Sender => (RECEIVER_JOB_IN, RECEIVER_JOBS),
            _ => (SENDER_JOB_IN, SENDER_JOBS),
        };
        let at = self.nic.load(place);
        let entry = Entry::at(at);
        entry.set_argument(self, 0, rest[0]);
        entry.set_argument(self, 1, rest[1]);
        entry.set_argument(self, 2, rest[2]);
        entry.set_word(self, first << JOB_SHIFT | job as u32);
        let next = at + JOB_BYTES;
        self.nic.store(
            place,
            if next == ring + RING_BYTES {
                ring
            } else {
                next
            },
        );
        self.nic.wake();
    }

    /// Carries out the jobs of the other CPU.
    #[inline(never)]
    pub(crate) fn on_jobs(&mut self) {
        let (place, ring) = match N::ROLE {
            Role::Sender | Role::Borrower => (SENDER_JOB, SENDER_JOBS),
            _ => (RECEIVER_JOB, RECEIVER_JOBS),
        };
        loop {
            let at = self.nic.load(place);
            let entry = Entry::at(at);
            let word = entry.word(self);
            if word == 0 {
                return;
            }
            let arguments = [
                entry.argument(self, 0),
                entry.argument(self, 1),
                entry.argument(self, 2),
            ];
            entry.set_word(self, 0);
            let next = at + JOB_BYTES;
            self.nic.store(
                place,
                if next == ring + RING_BYTES {
                    ring
                } else {
                    next
                },
            );
            if N::ROLE.sends() {
                self.sender_job(word & JOB_MASK, word >> JOB_SHIFT, arguments);
            } else {
                self.receiver_job(word & JOB_MASK, word >> JOB_SHIFT, arguments);
            }
        }
    }

    /// SEND: carries out a job. `first` is the argument in its first word.
    fn sender_job(&mut self, job: u32, first: u32, [one, two, three]: [u32; 3]) {
        if job == Job::Answer as u32 {
            self.queue_answer(Connection::at(one), first, two);
        } else if job == Job::AckCame as u32 {
            self.take_ack(Connection::at(one), first, two, three);
        } else if job == Job::Reply as u32 {
            self.add_record(Connection::at(one), Record::at(two));
        } else if job == Job::GetEnds as u32 {
            self.end_get(Record::at(one), two, three);
        } else if job == Job::CommandDone as u32 {
            self.sender_command_done();
        } else if job == Job::Arrival as u32 {
            let (tag, high, low) = (one, two, three);
            self.take_arrival(first, Value { tag, high, low });
        } else if job == Job::News as u32 {
            let (what, place, block) = (one, two, three);
            self.take_news(News { what, place, block });
        } else if job == Job::SendValue as u32 {
            self.queue_value(Connection::at(one), two);
        } else if job == Job::ValueCame as u32 {
            self.take_value(Connection::at(one), two, three);
        } else if job == Job::OwnValue as u32 {
            self.take_own_value(Record::at(one), two, three);
        } else if N::LENDS && job == Job::Timer as u32 {
            self.nic.set_timer();
        }
    }

    /// RECV: carries out a job. `first` is the argument in its first word.
    fn receiver_job(&mut self, job: u32, first: u32, [one, two, three]: [u32; 3]) {
        if job == Job::Report as u32 {
            self.add_report(one, two);
        } else if job == Job::Notice as u32 {
            self.add_notice(PortBlock::at(one), first, two, three);
        } else if job == Job::FreeReply as u32 {
            self.add_free_reply(Record::at(one));
        } else if job == Job::CancelGet as u32 {
            self.end_cancelled(Record::at(one), two);
        } else if job == Job::Signals as u32 {
            self.add_signals();
        } else if job == Job::Command as u32 {
            self.receiver_command(one, two, three);
        } else if job == Job::Result as u32 {
            self.add_result(PortBlock::at(one), first, two, three);
        } else if job == Job::Direct as u32 {
            self.write_direct(PortBlock::at(one), first, two);
        } else if job == Job::Staged as u32 {
            self.write_staged(Group::at(one), two, three);
        } else if job == Job::OwnAtomic as u32 {
            self.own_atomic(Record::at(one));
        } else if job == Job::Local as u32 {
            self.take_own_packet(one, two, three);
        }
    }

    /// RECV: a packet of a collective operation has come.
    #[inline(always)]
    pub(crate) fn hand_arrival(&mut self, from: u32, value: Value) {
        if N::ROLE.sends() {
            self.take_arrival(from, value);
        } else {
            self.put_job(Job::Arrival, from, [value.tag, value.high, value.low]);
        }
    }

    /// RECV: a packet of an all-to-all broadcast has come.
    pub(crate) fn hand_news(&mut self, news: News) {
        if N::ROLE.sends() {
            self.take_news(news);
        } else {
            self.put_job(Job::News, 0, [news.what, news.place, news.block]);
        }
    }

    /// RECV: the answer of an atomic operation is to be sent.
    pub(crate) fn hand_answer(&mut self, connection: Connection, number: u32) {
        if N::ROLE.sends() {
            self.queue_value(connection, number);
        } else {
            self.put_job(Job::SendValue, 0, [connection.address(), number, 0]);
        }
    }

    /// RECV: the answer of an atomic operation has come.
    pub(crate) fn hand_value(&mut self, connection: Connection, number: u32, value: u32) {
        if N::ROLE.sends() {
            self.take_value(connection, number, value);
        } else {
            self.put_job(Job::ValueCame, 0, [connection.address(), number, value]);
        }
    }

    /// SEND: an atomic operation on the memory of an own process is to be executed.
    pub(crate) fn hand_own_atomic(&mut self, record: Record) {
        if N::ROLE.receives() {
            self.own_atomic(record);
        } else {
            self.put_job(Job::OwnAtomic, 0, [record.address(), 0, 0]);
        }
    }

    /// RECV: an atomic operation on the memory of an own process is done.
    pub(crate) fn hand_own_value(&mut self, record: Record, status: u32, value: u32) {
        if N::ROLE.sends() {
            self.take_own_value(record, status, value);
        } else {
            self.put_job(Job::OwnValue, 0, [record.address(), status, value]);
        }
    }

    /// RECV: whether SEND's CPU has taken all jobs. It may still carry out the last one, with SEND's half locked.
    #[inline(always)]
    pub(crate) fn jobs_are_taken(&self) -> bool {
        let at = self.nic.load(SENDER_JOB_IN);
        let end = match at {
            SENDER_JOBS => SENDER_JOBS + RING_BYTES,
            at => at,
        };
        Entry::at(end - JOB_BYTES).word(self) == 0
    }

    /// The timer is to run: RECV's CPU cannot set it.
    #[cold]
    #[inline(never)]
    pub(crate) fn hand_timer(&mut self) {
        self.put_job(Job::Timer, 0, [0; 3]);
    }

    /// SEND: staged bytes go to host memory.
    pub(crate) fn hand_staged(&mut self, group: Group, operation: u32, block: u32) {
        if N::ROLE.receives() {
            self.write_staged(group, operation, block);
        } else {
            self.put_job(Job::Staged, 0, [group.address(), operation, block]);
        }
    }

    /// SEND: a packet of an all-to-all broadcast is for this node.
    pub(crate) fn hand_local(&mut self, subtype: u32, sequence: u32, lengths: u32) {
        if N::ROLE.receives() {
            self.take_own_packet(subtype, sequence, lengths);
        } else {
            self.put_job(Job::Local, 0, [subtype, sequence, lengths]);
        }
    }

    /// SEND: a collective operation has ended.
    #[inline(always)]
    pub(crate) fn hand_result(&mut self, port: PortBlock, end: u32, value: Value) {
        if N::ROLE.receives() {
            self.add_result(port, end, value.high, value.low);
        } else {
            self.put_job(Job::Result, end, [port.address(), value.high, value.low]);
        }
    }

    /// SEND: the result of an atomic operation goes where its process wants it.
    pub(crate) fn hand_direct(&mut self, port: PortBlock, end: u32, value: u32) {
        if N::ROLE.receives() {
            self.write_direct(port, end, value);
        } else {
            self.put_job(Job::Direct, end, [port.address(), value, 0]);
        }
    }

    /// RECV: an ack or nack is to be sent.
    #[inline(always)]
    pub(crate) fn answer(&mut self, connection: Connection, kind: u32, sequence: u32) {
        if N::ROLE.sends() {
            self.queue_answer(connection, kind, sequence);
        } else {
            self.put_job(Job::Answer, kind, [connection.address(), sequence, 0]);
        }
    }

    /// RECV: an ack or nack has come.
    #[inline(always)]
    pub(crate) fn ack_came(
        &mut self,
        connection: Connection,
        subtype: u32,
        sequence: u32,
        reason: u32,
    ) {
        if N::ROLE.sends() {
            self.take_ack(connection, subtype, sequence, reason);
        } else {
            self.put_job(
                Job::AckCame,
                subtype,
                [connection.address(), sequence, reason],
            );
        }
    }

    /// RECV: the answer to a get is to be sent.
    pub(crate) fn reply(&mut self, connection: Connection, record: Record) {
        if N::ROLE.sends() {
            self.add_record(connection, record);
        } else {
            self.put_job(Job::Reply, 0, [connection.address(), record.address(), 0]);
        }
    }

    /// RECV: a get has ended.
    pub(crate) fn get_ends(&mut self, record: Record, status: defs::gm::event::Status) {
        let number = record.number(self);
        if N::ROLE.sends() {
            self.end_get(record, number, status as u32);
        } else {
            self.put_job(Job::GetEnds, 0, [record.address(), number, status as u32]);
        }
    }

    /// SEND: a get has taken too long.
    pub(crate) fn cancel_get(&mut self, record: Record, number: u32) {
        if N::ROLE.receives() {
            self.end_cancelled(record, number);
        } else {
            self.put_job(Job::CancelGet, 0, [record.address(), number, 0]);
        }
    }

    /// RECV: from now on no bytes of the get are stored.
    fn end_cancelled(&mut self, record: Record, number: u32) {
        if record.number(self) == number {
            self.get_ends(record, defs::gm::event::Status::TimedOut);
        }
    }

    /// SEND: a send is to be reported.
    #[inline(always)]
    pub(crate) fn hand_report(&mut self, token: u32, status: u32) {
        if N::ROLE.receives() {
            self.add_report(token, status);
        } else {
            self.put_job(Job::Report, 0, [token, status, 0]);
        }
    }

    /// A notice is to be reported.
    pub(crate) fn notice(&mut self, port: PortBlock, kind: u32, high: u32, low: u32) {
        if N::ROLE.receives() {
            self.add_notice(port, kind, high, low);
        } else {
            self.put_job(Job::Notice, kind, [port.address(), high, low]);
        }
    }

    /// SEND: a record is free that is not of a send.
    #[inline(never)]
    pub(crate) fn free_other(&mut self, record: Record) {
        if record.address() >= COLLECTIVE_RECORDS {
            return self.free_packet(record);
        }
        self.free_reply(record);
    }

    /// SEND: the record of an answer to a get is free.
    fn free_reply(&mut self, record: Record) {
        if N::ROLE.receives() {
            self.add_free_reply(record);
        } else {
            self.put_job(Job::FreeReply, 0, [record.address(), 0, 0]);
        }
    }

    /// RECV: the record of an answer to a get is free.
    fn add_free_reply(&mut self, record: Record) {
        let free = self.free_replies();
        record.set_next(self, free);
        self.set_free_replies(record);
    }

    /// SEND: messages of high priority are signals from now on, for ports that want them.
    pub(crate) fn wake_for_signals(&mut self) {
        if N::ROLE.receives() {
            self.add_signals();
        } else {
            self.put_job(Job::Signals, 0, [0; 3]);
        }
    }

    /// SEND: RECV's half of a command.
    pub(crate) fn hand_command(&mut self, command: u32, high: u32, low: u32) {
        if N::ROLE.receives() {
            self.receiver_command(command, high, low);
        } else {
            self.put_job(Job::Command, 0, [command, high, low]);
        }
    }

    /// RECV: all DMA to the host that a command waits for is complete.
    pub(crate) fn command_done(&mut self) {
        if N::ROLE.sends() {
            self.sender_command_done();
        } else {
            self.put_job(Job::CommandDone, 0, [0; 3]);
        }
    }
}

//! Words of SRAM by which both CPUs and the host tell each other that they have come so far.
use defs::gm::gossip::{GROUP_BYTES, GROUP_COUNT, GROUPS};
use defs::gm::map::{
    COMMAND, CONNECTION_BYTES, JOB_BYTES, JOB_COUNT, NODE_LIMIT, PEERS, RECEIVE_QUEUE_BYTES,
    RECEIVER_JOBS, RECORD_BYTES, RECORD_COUNT, RECORDS, SENDER_JOBS,
};
use defs::gm::port::{
    PORT_COUNT, RECEIVE_READY_WORD, RECEIVE_SLOT_BYTES, SEND_SLOT_BYTES, SEND_SLOTS, SEND_TYPE,
    receive_slot, send_slot,
};
use defs::probe::Published;

use crate::collective::state::USED_PACKETS;
use crate::gossip::state::Group;
use crate::state::{Connection, NOW, Record};

/// Words of each group in which RECV counts what has come of two operations.
const RECEIVED_WORDS: u32 = (Group::COUNTED[1].1 - Group::COUNTED[1].0) / 4;

/// Words by which both CPUs and the host tell each other that they have come so far: the host's command, the words that make slots and jobs
/// valid, the sequence number that RECV expects, which SEND puts into acks, and the number of a group's operation that was posted last: RECV
/// takes packets of that one and of the next one, whichever number it finds.
///
/// Sampled: the time in ticks, by which RECV extends deadlines; whether the request of a get is acknowledged, and its deadline, which both
/// extend; what RECV has counted of all-to-all broadcasts, from which on SEND asks: by an old count it asks for nothing useful, and again at a
/// later tick.
pub const PUBLISHED: [Published; 12] = [
    Published::words("command", COMMAND, 1),
    Published::each(
        "send slots",
        send_slot(0, 0) + SEND_TYPE,
        PORT_COUNT * SEND_SLOTS,
        SEND_SLOT_BYTES,
    ),
    Published::each(
        "receive slots",
        receive_slot(0, 0) + RECEIVE_READY_WORD,
        PORT_COUNT * RECEIVE_QUEUE_BYTES / RECEIVE_SLOT_BYTES,
        RECEIVE_SLOT_BYTES,
    ),
    Published::each("jobs for RECV", RECEIVER_JOBS, JOB_COUNT, JOB_BYTES),
    Published::each("jobs for SEND", SENDER_JOBS, JOB_COUNT, JOB_BYTES),
    Published::each(
        "expected sequence numbers",
        PEERS + Connection::EXPECTED,
        2 * NODE_LIMIT,
        CONNECTION_BYTES,
    ),
    Published::each(
        "posted operations of groups",
        GROUPS + Group::POSTED,
        PORT_COUNT * GROUP_COUNT,
        GROUP_BYTES,
    ),
    Published::words("used packets of collective operations", USED_PACKETS, 1),
    Published::words("time", NOW, 1).sampled(),
    Published::each(
        "kinds of records",
        RECORDS + Record::KIND,
        RECORD_COUNT,
        RECORD_BYTES,
    )
    .sampled(),
    Published::each(
        "deadlines of records",
        RECORDS + Record::FAILS_AT,
        RECORD_COUNT,
        RECORD_BYTES,
    )
    .sampled(),
    Published::each(
        "counts of groups",
        GROUPS + Group::COUNTED[1].0,
        PORT_COUNT * GROUP_COUNT,
        GROUP_BYTES,
    )
    .of_words(RECEIVED_WORDS)
    .sampled(),
];

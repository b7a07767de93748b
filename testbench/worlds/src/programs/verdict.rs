//! Result of every message: comparison of sent and received messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::content::{Flow, NUMBER_BYTES, number_in};
use super::cut_off::Resets;
use super::deliveries::{Deliveries, LifeRecords, ReceivedEntry, Sending, SentEntry};

/// One incarnation of a node's program, from a start to the next one.
#[derive(Debug, Clone)]
pub struct ProgramLife {
    /// Number of the node.
    pub node: usize,
    /// Time of the reset that ended it, if any.
    pub ended_ps: Option<u64>,
    /// Records of the program.
    pub deliveries: Deliveries,
}

/// Counts of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct MessageCounts {
    /// Posted to a NIC.
    pub posted: u64,
    /// Received, without duplicates.
    pub delivered: u64,
    /// Acknowledged to their senders, but never received.
    pub lost: u64,
    /// Received again by one program.
    pub duplicated: u64,
    /// Received after a later message of their flow.
    pub reordered: u64,
    /// Received with other bytes or another length than sent.
    pub corrupted: u64,
    /// Reported to their senders as failed.
    pub failed_with_status: u64,
    /// Failed or without a report to their senders, but delivered.
    pub failed_yet_delivered: u64,
    /// Ended by a reset of sender or receiver.
    pub cut_off: u64,
    /// In progress at the end of the run.
    pub unfinished: u64,
    /// Lost frames of programs without a reliable protocol, as far as faults, switches and full boards account for them.
    pub dropped: u64,
}

impl MessageCounts {
    /// Whether all messages were handled correctly.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.lost == 0 && self.duplicated == 0 && self.reordered == 0 && self.corrupted == 0
    }
}

/// Results of all messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Counts.
    pub messages: MessageCounts,
    /// Total length of delivered messages.
    pub bytes: u64,
    /// Time from post to completion at the receiver of each delivered message, sorted, in ps.
    pub latencies_ps: Vec<u64>,
    /// Time of the first post.
    pub first_ps: Option<u64>,
    /// Time of the last delivery.
    pub last_ps: Option<u64>,
    /// Received with a header that fits no message: each is counted as corrupted, and its message may be missing.
    pub strays: u64,
}

/// Counts of an unreliable network's deeds with frames, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Frames that were dropped.
    pub dropped: u64,
    /// Frames that were duplicated.
    pub duplicated: u64,
    /// Frames may have overtaken others.
    pub reordered: bool,
    /// Frames that are in the rings of boards, or between boards.
    pub under_way: u64,
}

/// Time of the first reception of each message of a flow.
type Arrived = Vec<Option<u64>>;
/// Receptions of all flows.
type Arrivals = BTreeMap<Flow, Arrived>;

/// Computes the results. `over`: no more messages can arrive.
#[must_use]
pub fn judge(lives: &[ProgramLife], over: bool) -> Verdict {
    let mut verdict = Verdict::default();
    let mut sent: BTreeMap<Flow, Vec<SentEntry>> = BTreeMap::new();
    for life in lives {
        let records = life.deliveries.records();
        sent.extend(
            records
                .sent
                .iter()
                .map(|(flow, sent)| (*flow, sent.clone())),
        );
    }
    let mut arrivals = Arrivals::new();
    for life in lives {
        let records = life.deliveries.records();
        let strangers = records.frames.map_or(0, |frames| frames.strangers);
        verdict.strays += strangers;
        verdict.messages.corrupted += strangers;
        for (flow, got) in &records.got {
            let sent = sent.get(flow).map_or(&[][..], Vec::as_slice);
            verdict.count_received(sent, got, arrivals.entry(*flow).or_default());
        }
    }
    let closed = |life: &&ProgramLife| life.deliveries.records().receiving_over;
    let closed: BTreeSet<usize> = lives.iter().filter(closed).map(|life| life.node).collect();
    let resets = Resets::new(lives, &sent, &arrivals);
    for (flow, sent) in &sent {
        let over = over || closed.contains(&usize::from(flow.to));
        let arrivals = arrivals.get(flow).map_or(&[][..], Vec::as_slice);
        let cuts = resets.cuts_of(*flow, arrivals);
        for (sequence, sent) in sent.iter().enumerate() {
            let arrival = arrivals.get(sequence).copied().flatten();
            let cut_off = arrival.is_none() && cuts.ended(sequence, sent);
            verdict.count_sent(sent, arrival, cut_off, over);
        }
    }
    verdict.latencies_ps.sort_unstable();
    verdict
}

impl Verdict {
    /// Counts the received messages of a flow at one program.
    fn count_received(
        &mut self,
        sent: &[SentEntry],
        got: &[ReceivedEntry],
        arrivals: &mut Arrived,
    ) {
        let mut seen = vec![false; sent.len()];
        let mut next = 0;
        let failures = sent.iter().any(|sent| sent.end == Sending::Failed);
        let (unclear, clear) = got
            .iter()
            .partition(|got| failures && got.length < NUMBER_BYTES);
        self.count_unclear(sent, unclear, arrivals);
        for got in clear {
            let index = got.sequence as usize;
            let known = sent.get(index);
            let wrong = !got.intact || known.is_none_or(|sent| sent.length != got.length);
            self.messages.corrupted += u64::from(wrong);
            if known.is_none() {
                self.strays += 1;
                continue;
            }
            let again = std::mem::replace(&mut seen[index], true);
            self.messages.duplicated += u64::from(again);
            self.messages.reordered += u64::from(!again && index < next);
            next = next.max(index + 1);
            note_arrival(arrivals, index, got);
        }
    }

    /// Counts messages that are too short for an unambiguous number, if some may be missing. Each is
    /// assigned to the first message with equal bytes that has not arrived yet, failed ones last. Their
    /// order is not checked.
    fn count_unclear(
        &mut self,
        sent: &[SentEntry],
        got: Vec<&ReceivedEntry>,
        arrivals: &mut Arrived,
    ) {
        let mut alike: BTreeMap<(u32, u32), VecDeque<usize>> = BTreeMap::new();
        for failed in [false, true] {
            for (index, sent) in sent.iter().enumerate() {
                if (sent.end == Sending::Failed) == failed {
                    let bytes = (sent.length, number_in(index as u32, sent.length));
                    alike.entry(bytes).or_default().push_back(index);
                }
            }
        }
        for got in got {
            match alike.get_mut(&(got.length, got.number)) {
                None => self.messages.corrupted += 1,
                Some(rest) => match rest.pop_front() {
                    None => self.messages.duplicated += 1,
                    Some(index) => note_arrival(arrivals, index, got),
                },
            }
        }
    }

    fn count_sent(&mut self, sent: &SentEntry, arrival: Option<u64>, cut_off: bool, over: bool) {
        let messages = &mut self.messages;
        messages.posted += 1;
        messages.failed_with_status += u64::from(sent.end == Sending::Failed);
        self.first_ps = earliest(self.first_ps, Some(sent.posted_ps));
        if let Some(arrival) = arrival {
            messages.delivered += 1;
            messages.failed_yet_delivered += u64::from(sent.end == Sending::Failed);
            self.bytes += u64::from(sent.length);
            self.latencies_ps
                .push(arrival.saturating_sub(sent.posted_ps));
            self.last_ps = self.last_ps.max(Some(arrival));
            return;
        }
        match sent.end {
            Sending::Failed => {}
            _ if cut_off => messages.cut_off += 1,
            Sending::Done if over => messages.lost += 1,
            Sending::Done | Sending::Pending => messages.unfinished += 1,
        }
    }

    /// Explains missing and repeated frames by what an unreliable network is known to have done.
    pub fn explain(&mut self, known: NetworkCounts) {
        let messages = &mut self.messages;
        let mut take = |most: u64| {
            let explained = messages.lost.min(most);
            messages.lost -= explained;
            explained
        };
        // The message of a stray is there, and counted as corrupted.
        take(self.strays);
        messages.dropped = take(known.dropped);
        messages.unfinished += take(known.under_way);
        messages.duplicated = messages.duplicated.saturating_sub(known.duplicated);
        if known.reordered {
            messages.reordered = 0;
        }
    }

    /// Adds the results of other messages.
    pub fn add(&mut self, other: Self) {
        let (mine, more) = (&mut self.messages, other.messages);
        mine.posted += more.posted;
        mine.delivered += more.delivered;
        mine.lost += more.lost;
        mine.duplicated += more.duplicated;
        mine.reordered += more.reordered;
        mine.corrupted += more.corrupted;
        mine.failed_with_status += more.failed_with_status;
        mine.failed_yet_delivered += more.failed_yet_delivered;
        mine.cut_off += more.cut_off;
        mine.unfinished += more.unfinished;
        mine.dropped += more.dropped;
        self.strays += other.strays;
        self.bytes += other.bytes;
        self.latencies_ps.extend(other.latencies_ps);
        self.latencies_ps.sort_unstable();
        self.first_ps = earliest(self.first_ps, other.first_ps);
        self.last_ps = self.last_ps.max(other.last_ps);
    }

    /// The latency in us that `percent` of the messages do not exceed.
    #[must_use]
    pub fn latency_us(&self, percent: usize) -> Option<f64> {
        let count = self.latencies_ps.len();
        let place = (count * percent).div_ceil(100).max(1) - 1;
        self.latencies_ps.get(place).map(|&ps| ps as f64 / 1e6)
    }

    /// Delivered payload per time from the first post to the last delivery, in 10^6 bits per second.
    #[must_use]
    pub fn megabits_per_s(&self) -> Option<f64> {
        let (first, last) = (self.first_ps?, self.last_ps?);
        (last > first).then(|| self.bytes as f64 * 8e6 / (last - first) as f64)
    }
}

fn note_arrival(arrivals: &mut Arrived, index: usize, got: &ReceivedEntry) {
    if arrivals.len() <= index {
        arrivals.resize(index + 1, None);
    }
    arrivals[index].get_or_insert(got.time_ps);
}

fn earliest(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    [a, b].into_iter().flatten().min()
}

/// Whether all programs have finished sending and their operations, and each message has either arrived or failed; or one has failed
/// for which others may wait.
#[must_use]
pub fn is_settled(lives: &[ProgramLife]) -> bool {
    let ends_run = |life: &ProgramLife| life.deliveries.records().ends_run;
    lives.iter().any(ends_run) || are_over(lives) && judge(lives, false).messages.unfinished == 0
}

/// Whether these programs have finished sending and their operations.
#[must_use]
pub fn are_over(lives: &[ProgramLife]) -> bool {
    let over = |records: &LifeRecords| {
        records.sending_over && records.operations_left == 0 || records.problem.is_some()
    };
    let ended = |life: &ProgramLife| match life.deliveries.records().frames {
        Some(frames) => frames.is_cut,
        None => life.ended_ps.is_some(),
    };
    lives
        .iter()
        .all(|life| ended(life) || over(&life.deliveries.records()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Flow = Flow {
        from: 0,
        to: 1,
        tag: 1,
        life: 0,
    };

    /// Checks the counts for three messages of 100 bytes from node 0 to 1, with the results of sending and
    /// receiving.
    fn check(
        sent: [Sending; 3],
        came: &[(u32, bool)],
        reset: Option<u64>,
        expected: MessageCounts,
    ) {
        check_length(100, sent, came, reset, expected);
    }

    fn check_length(
        length: u32,
        sent: [Sending; 3],
        came: &[(u32, bool)],
        reset: Option<u64>,
        expected: MessageCounts,
    ) {
        let deliveries = [Deliveries::default(), Deliveries::default()];
        for end in sent {
            let mut records = deliveries[0].records();
            let sequence = records.post(FLOW, 1000, length);
            records.sent.get_mut(&FLOW).unwrap()[sequence as usize].end = end;
        }
        for &(sequence, intact) in came {
            let got = ReceivedEntry {
                sequence,
                number: number_in(sequence, length),
                time_ps: 5000,
                length,
                intact,
            };
            deliveries[1].records().receive(FLOW, got);
        }
        let life = |node: usize, ended_ps| ProgramLife {
            node,
            ended_ps,
            deliveries: deliveries[node].clone(),
        };
        let lives = [life(0, None), life(1, reset)];
        let messages = judge(&lives, true).messages;
        assert_eq!(messages, expected);
    }

    const ALL: MessageCounts = MessageCounts {
        posted: 3,
        delivered: 3,
        lost: 0,
        duplicated: 0,
        reordered: 0,
        corrupted: 0,
        failed_with_status: 0,
        failed_yet_delivered: 0,
        cut_off: 0,
        unfinished: 0,
        dropped: 0,
    };

    #[test]
    fn every_broken_promise_is_counted() {
        use Sending::{Done, Failed, Pending};
        let done = [Done; 3];
        let good = |sequence| (sequence, true);
        let in_order = [good(0), good(1), good(2)];
        check(done, &in_order, None, ALL);
        let [delivered, lost] = [2, 1];
        let two = MessageCounts { delivered, ..ALL };
        check(
            done,
            &[good(0), good(2)],
            None,
            MessageCounts { lost, ..two },
        );
        let duplicated = 1;
        let again = [good(0), good(1), good(1), good(2)];
        check(done, &again, None, MessageCounts { duplicated, ..ALL });
        let reordered = 1;
        let turned = [good(0), good(2), good(1)];
        check(done, &turned, None, MessageCounts { reordered, ..ALL });
        let corrupted = 1;
        let damaged = [good(0), (1, false), good(2)];
        check(done, &damaged, None, MessageCounts { corrupted, ..ALL });
        let invented = [good(0), good(1), good(2), good(7)];
        check(done, &invented, None, MessageCounts { corrupted, ..ALL });
        let failed_with_status = 1;
        let failed = MessageCounts {
            failed_with_status,
            ..two
        };
        check([Done, Failed, Done], &[good(0), good(2)], None, failed);
        let unfinished = 1;
        let pending = MessageCounts { unfinished, ..two };
        check([Done, Done, Pending], &[good(0), good(1)], None, pending);
        let cut_off = 1;
        let reset = MessageCounts { cut_off, ..two };
        check(done, &[good(0), good(1)], Some(2000), reset);
        check(
            done,
            &[good(0), good(1)],
            Some(500),
            MessageCounts { lost, ..two },
        );
    }

    #[test]
    fn messages_without_room_for_a_number_are_told_apart_by_what_failed() {
        use Sending::{Done, Failed};
        let failed_with_status = 1;
        // Empty messages are indistinguishable: the receiver takes the third one for the second.
        let two = MessageCounts {
            delivered: 2,
            failed_with_status,
            ..ALL
        };
        let ends = [Done, Failed, Done];
        check_length(0, ends, &[(0, true), (1, true)], None, two);
        let failed_yet_delivered = 1;
        let all = MessageCounts {
            failed_with_status,
            failed_yet_delivered,
            ..ALL
        };
        let three = [(0, true), (1, true), (2, true)];
        check_length(0, ends, &three, None, all);
        let one = MessageCounts {
            delivered: 1,
            lost: 1,
            ..two
        };
        check_length(0, ends, &[(0, true)], None, one);
        let four = [(0, true), (1, true), (2, true), (3, true)];
        let duplicated = 1;
        check_length(0, ends, &four, None, MessageCounts { duplicated, ..all });
        let corrupted = 1;
        let invented = [(0, true), (2, true), (9, true)];
        check_length(1, ends, &invented, None, MessageCounts { corrupted, ..two });
    }

    #[test]
    fn a_network_is_excused_for_what_it_did() {
        let messages = MessageCounts {
            posted: 9,
            lost: 4,
            duplicated: 2,
            reordered: 4,
            ..MessageCounts::default()
        };
        let check = |known: NetworkCounts, strays, expected: [u64; 5]| {
            let mut verdict = Verdict {
                messages,
                strays,
                ..Verdict::default()
            };
            verdict.explain(known);
            let MessageCounts {
                lost,
                dropped,
                unfinished,
                duplicated,
                reordered,
                ..
            } = verdict.messages;
            assert_eq!(
                [lost, dropped, unfinished, duplicated, reordered],
                expected,
                "{known:?}"
            );
        };
        let known = |dropped, under_way, duplicated, reordered| NetworkCounts {
            dropped,
            duplicated,
            reordered,
            under_way,
        };
        check(known(0, 0, 0, false), 0, [4, 0, 0, 2, 4]);
        check(known(2, 0, 1, false), 0, [2, 2, 0, 1, 4]);
        check(known(2, 1, 0, false), 1, [0, 2, 1, 2, 4]);
        check(known(3, 9, 0, false), 0, [0, 3, 1, 2, 4]);
        check(known(7, 9, 7, true), 9, [0, 0, 0, 0, 0]);
    }

    #[test]
    fn percentiles_are_messages_latencies() {
        let verdict = Verdict {
            latencies_ps: (1..=200).map(|us| us * 1_000_000).collect(),
            ..Verdict::default()
        };
        assert_eq!(verdict.latency_us(50), Some(100.0));
        assert_eq!(verdict.latency_us(99), Some(198.0));
        assert_eq!(verdict.latency_us(100), Some(200.0));
        assert_eq!(Verdict::default().latency_us(50), None);
    }
}

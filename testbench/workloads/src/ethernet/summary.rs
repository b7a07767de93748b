//! Results of an exchange of frames.

use lanigon_worlds::workload::{Outcome, grouped};

use super::{EthernetRecords, EthernetSettings};

/// Parts of all frames between which rates are measured, in percent: all CPUs work then, and both nodes send.
const MEASURED: [u64; 2] = [20, 80];

/// Frames of one sender.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct WayUse {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// Frames that the sender's board has sent.
    pub sent: u64,
    /// Frames that came, whole and in order.
    pub received: u64,
    /// Frames that did not come.
    pub lost: u64,
    /// Frames that came with an error of the MAC.
    pub damaged: u64,
    /// Frames a second, at the receiver.
    pub per_second: f64,
    /// Bits of frames a second, FCS included, in Mb/s.
    pub mbit: f64,
}

/// Results of a program.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct EthernetUse {
    /// Bytes of a frame with FCS.
    pub bytes: u32,
    /// Frames a second of all senders.
    pub per_second: f64,
    /// Bits a second of all senders, in Mb/s.
    pub mbit: f64,
    /// Frames of all senders that did not come.
    pub lost: u64,
    /// Results of each way, from a sender to its receiver.
    pub ways: Vec<WayUse>,
}

impl EthernetUse {
    /// The results, and what was wrong, from the records of the sender and of the receiver of each way.
    pub(super) fn from_records(
        settings: &EthernetSettings,
        ways: impl Iterator<Item = (usize, usize, EthernetRecords, EthernetRecords)>,
    ) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let way = |(from, to, sender, receiver): (_, _, EthernetRecords, EthernetRecords)| {
            if let (count @ 1.., first) = &receiver.wrong {
                problems.push(format!(
                    "frames from node {from} to {to}: {first} ({count} such defects)"
                ));
            }
            let per_second = rate(&receiver.marks, settings.frames);
            WayUse {
                from,
                to,
                sent: sender.sent,
                received: receiver.received,
                lost: receiver.lost,
                damaged: receiver.damaged,
                per_second,
                mbit: per_second * f64::from(settings.bytes) * 8.0 / 1e6,
            }
        };
        let ways: Vec<_> = ways.map(way).collect();
        let result = Self {
            bytes: settings.bytes,
            per_second: ways.iter().map(|way| way.per_second).sum(),
            mbit: ways.iter().map(|way| way.mbit).sum(),
            lost: ways.iter().map(|way| way.lost).sum(),
            ways,
        };
        (result, problems)
    }
}

/// Frames a second between the measured parts of `frames`, from times at which so many had come.
fn rate(marks: &[(u64, u64)], frames: u32) -> f64 {
    let [first, last] = MEASURED.map(|percent| u64::from(frames) * percent / 100);
    let first = marks.iter().find(|mark| mark.0 >= first);
    let last = marks.iter().find(|mark| mark.0 >= last).or(marks.last());
    match (first, last) {
        (Some(first), Some(last)) if last.1 > first.1 => {
            (last.0 - first.0) as f64 / ((last.1 - first.1) as f64 / 1e12)
        }
        _ => 0.0,
    }
}

impl Outcome for EthernetUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let line = |(place, way): (usize, &WayUse)| {
            let text = format!(
                "{} frames of {} bytes from node {} to {}: {} a second, {:.0} Mb/s; {} lost, {} damaged",
                grouped(way.received),
                grouped(self.bytes.into()),
                way.from,
                way.to,
                grouped(way.per_second.round() as u64),
                way.mbit,
                grouped(way.lost),
                grouped(way.damaged),
            );
            (if place == 0 { "ethernet" } else { "" }, text)
        };
        self.ways.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_middle() {
        let marks = [
            (0, 0),
            (30, 1_000_000),
            (60, 2_000_000),
            (90, 3_000_000),
            (100, 9_000_000),
        ];
        let check = |marks: &[(u64, u64)], expected: f64| {
            assert!((rate(marks, 100) - expected).abs() < 1e-3);
        };
        check(&marks, 30e6);
        check(&marks[..3], 30e6);
        check(&marks[..1], 0.0);
        check(&[], 0.0);
    }
}

//! Search for messages that a reset of their sender or receiver ended.
//!
//! A protocol that is reliable reports the end of each message, so a reset can only end those without a report. Frames have no such report: one that the
//! board has taken over may still be in its memory, and one may arrive at a board whose firmware does not run. Neither boards nor links change the order of
//! frames, so a frame that was passed by a later one was not ended by a reset.

use std::collections::BTreeMap;

use super::content::Flow;
use super::deliveries::{FrameLife, Sending, SentEntry};
use super::verdict::ProgramLife;

/// The end of a life that no reset has ended, in ps.
const NEVER: u64 = u64::MAX;

/// The resets of a run, and how far its frames came before them.
#[derive(Debug)]
pub(super) struct Resets<'a> {
    lives: &'a [ProgramLife],
    /// The lives of each node that exchanges frames, with their ends.
    frames: BTreeMap<u16, Vec<(FrameLife, u64)>>,
    /// For node and life of senders of frames: when the last frame was posted that arrived anywhere.
    left_ps: BTreeMap<(u16, u16), u64>,
}

/// The resets that concern the messages of a flow.
#[derive(Debug)]
pub(super) enum FlowResets<'a> {
    /// Resets that can end messages of a reliable protocol.
    Messages {
        lives: &'a [ProgramLife],
        flow: Flow,
    },
    /// Resets that can end frames.
    Frames {
        /// Frames posted later were not sent before the sender's reset.
        left_ps: Option<u64>,
        gaps: Vec<Gap>,
    },
}

/// A time in which a receiver of frames is away.
#[derive(Debug)]
pub(super) struct Gap {
    /// Time at which the receiver's interface is open again.
    until_ps: u64,
    /// Number of frames of the flow up to the last one that arrived before.
    passed: usize,
}

impl<'a> Resets<'a> {
    /// Collects the resets of a run, from the lives of its nodes, all messages, and the times of their arrivals.
    pub(super) fn new(
        lives: &'a [ProgramLife],
        sent: &BTreeMap<Flow, Vec<SentEntry>>,
        arrivals: &BTreeMap<Flow, Vec<Option<u64>>>,
    ) -> Self {
        let mut resets = Self {
            lives,
            frames: BTreeMap::new(),
            left_ps: BTreeMap::new(),
        };
        for life in lives {
            if let Some(frames) = life.deliveries.records().frames {
                let ended_ps = life.ended_ps.unwrap_or(NEVER);
                let of_node = resets.frames.entry(life.node as u16).or_default();
                of_node.push((frames, ended_ps));
            }
        }
        let of_cut = sent.iter().filter(|(flow, _)| resets.is_sender_cut(**flow));
        let mut left_ps = BTreeMap::new();
        for (flow, sent) in of_cut {
            let arrivals = arrivals.get(flow).into_iter().flatten();
            let arrived = sent.iter().zip(arrivals).filter(|(_, at)| at.is_some());
            let last = arrived.map(|(sent, _)| sent.posted_ps).max();
            let known: &mut u64 = left_ps.entry((flow.from, flow.life)).or_default();
            *known = last.unwrap_or_default().max(*known);
        }
        resets.left_ps = left_ps;
        resets
    }

    /// Whether a reset has ended the sender of a flow. Its program may have ended before: the frames that it has given to the board are
    /// lost with that.
    fn is_sender_cut(&self, flow: Flow) -> bool {
        let lives = self.frames.get(&flow.from);
        let life = lives.and_then(|lives| lives.get(usize::from(flow.life)));
        life.is_some_and(|(_, ended_ps)| *ended_ps != NEVER)
    }

    /// Resets that concern a flow.
    pub(super) fn cuts_of(&self, flow: Flow, arrivals: &[Option<u64>]) -> FlowResets<'a> {
        if !self.frames.contains_key(&flow.from) {
            let lives = self.lives;
            return FlowResets::Messages { lives, flow };
        }
        let lives = self.frames.get(&flow.to).map_or(&[][..], Vec::as_slice);
        let nexts = lives.iter().skip(1).map(|(next, _)| next.opened_ps);
        let ends = lives.iter().zip(nexts.chain([None]));
        let ends = ends.filter(|((life, _), _)| life.is_cut);
        let gaps = ends.map(|((_, ended_ps), opened_ps)| {
            let before = |at: &Option<u64>| at.is_some_and(|at| at <= *ended_ps);
            Gap {
                until_ps: opened_ps.unwrap_or(u64::MAX),
                passed: arrivals.iter().rposition(before).map_or(0, |last| last + 1),
            }
        });
        FlowResets::Frames {
            left_ps: self.left_ps.get(&(flow.from, flow.life)).copied(),
            gaps: gaps.collect(),
        }
    }
}

impl FlowResets<'_> {
    /// Whether a reset ended a message that did not arrive.
    pub(super) fn ended(&self, index: usize, sent: &SentEntry) -> bool {
        match self {
            Self::Messages { lives, flow } => is_cut_off(lives, *flow, sent),
            Self::Frames { left_ps, gaps } => {
                let stayed = |left_ps| sent.end == Sending::Pending || sent.posted_ps > left_ps;
                let missed = |gap: &Gap| sent.posted_ps <= gap.until_ps && index >= gap.passed;
                left_ps.is_some_and(stayed) || gaps.iter().any(missed)
            }
        }
    }
}

/// Whether a reset came between a message and the report of its end.
fn is_cut_off(lives: &[ProgramLife], flow: Flow, sent: &SentEntry) -> bool {
    lives.iter().any(|life| {
        let receiver = life.node == usize::from(flow.to);
        let sender = life.node == usize::from(flow.from) && sent.end == Sending::Pending;
        let after = |ended| sent.posted_ps <= ended;
        (receiver || sender) && life.ended_ps.is_some_and(after)
    })
}

#[cfg(test)]
mod tests {
    use super::super::deliveries::Deliveries;
    use super::*;

    const FLOW: Flow = Flow {
        from: 0,
        to: 1,
        tag: 1,
        life: 0,
    };

    fn life(node: usize, opened_ps: u64, ended_ps: Option<u64>) -> ProgramLife {
        let deliveries = Deliveries::default();
        deliveries.records().frames = Some(FrameLife {
            opened_ps: Some(opened_ps),
            is_cut: ended_ps.is_some(),
            strangers: 0,
        });
        ProgramLife {
            node,
            ended_ps,
            deliveries,
        }
    }

    /// Checks which of the frames, one in each ps from 10 on, count as ended by resets. A number is the time of an arrival.
    fn check(lives: &[ProgramLife], arrivals: &[Option<u64>], expected: &[bool]) {
        let sent = |index: usize| SentEntry {
            posted_ps: 10 + index as u64,
            length: 60,
            end: Sending::Done,
        };
        let sent: Vec<_> = (0..arrivals.len()).map(sent).collect();
        let all = BTreeMap::from([(FLOW, sent.clone())]);
        let came = BTreeMap::from([(FLOW, arrivals.to_vec())]);
        let cuts = Resets::new(lives, &all, &came).cuts_of(FLOW, arrivals);
        let ended =
            |(index, at): (usize, &Option<u64>)| at.is_none() && cuts.ended(index, &sent[index]);
        let found: Vec<_> = arrivals.iter().enumerate().map(ended).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_frame_that_a_later_one_passed_was_lost_before() {
        let here = |at| Some(at);
        // The receiver is away from 13 to 15.
        let away = [life(0, 0, None), life(1, 0, Some(13)), life(1, 15, None)];
        let gone = [life(0, 0, None), life(1, 0, Some(13))];
        let frames = [None, here(12), None, None, None, None, None];
        let behind = [false, false, true, true, true, true, false];
        check(&away, &frames, &behind);
        check(
            &gone,
            &frames,
            &[false, false, true, true, true, true, true],
        );
        // The sender is reset: what came last had left.
        let ended = [life(0, 0, Some(15)), life(1, 0, None)];
        let frames = [None, here(13), None, here(14), None, None];
        check(&ended, &frames, &[false, false, false, false, true, true]);
        let nobody = [life(0, 0, None), life(1, 0, None)];
        check(&nobody, &frames, &[false; 6]);
    }
}

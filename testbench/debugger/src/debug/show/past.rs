//! Display of the last events on the focused node. The session moves back in time and returns.

use std::collections::VecDeque;
use std::sync::Arc;

use emulator::debug::Search;
use emulator::observe::event::{Details, FrameHead, Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;

use super::standing::microseconds;
use super::{frame, text};
use crate::debug::session::Session;
use lanigon_analysis::trace::rows::{Rows, Style};

/// Largest number of events.
const MOST: usize = 10_000;

fn last(
    session: &mut Session,
    count: usize,
    details: Details,
    is: impl Fn(&TraceEvent) -> bool + Send + Sync + 'static,
) -> anyhow::Result<Vec<TraceEvent>> {
    let node = session.focus.node;
    let here = move |event: &TraceEvent| event.place == Place::Node(node as u16);
    let search = Search {
        details,
        is: Arc::new(move |event| here(event) && is(event)),
    };
    Ok(session.history.events_before(count.min(MOST), &search)?)
}

/// The last events before the current time, with these details, in the format of `lanigon trace show`.
///
/// # Errors
/// If the operation is interrupted, or a checkpoint cannot be loaded.
pub fn events(session: &mut Session, count: usize, details: Details) -> anyhow::Result<String> {
    let events = last(session, count, details, |_| true)?;
    let mut rows = Rows::new(&session.header, Style::default());
    let mut shown = Vec::new();
    for event in &events {
        rows.text(event, &mut shown);
    }
    if events.is_empty() {
        return Ok(text(["nothing happened before".into()]));
    }
    // Rows are as wide as those of a trace, with symbols at the end.
    Ok(String::from_utf8_lossy(&shown).into_owned())
}

/// The last frames that the node's MAC sent, received or dropped before the current time, with their heads.
///
/// # Errors
/// If the operation is interrupted, or a checkpoint cannot be loaded.
pub fn frames(session: &mut Session, count: usize) -> anyhow::Result<String> {
    let of_frames = |event: &TraceEvent| {
        matches!(
            event.kind,
            TraceKind::FrameHead { .. }
                | TraceKind::FrameSent { .. }
                | TraceKind::FrameReceived { .. }
                | TraceKind::FrameDropped { .. }
        )
    };
    // A head precedes each frame.
    let most = count.min(MOST).saturating_mul(2).saturating_add(4);
    let events = last(session, most, Details::FRAMES, of_frames)?;
    let lines = frame_lines(&events);
    if lines.is_empty() {
        return Ok(text(["no frame was sent or received before".into()]));
    }
    let first = lines.len().saturating_sub(count);
    Ok(text(lines.into_iter().skip(first)))
}

/// One line per frame. A head precedes its frame's event.
fn frame_lines(events: &[TraceEvent]) -> Vec<String> {
    let mut coming: VecDeque<FrameHead> = VecDeque::new();
    let mut leaving = None;
    let mut lines = Vec::new();
    for event in events {
        let (what, head) = match &event.kind {
            TraceKind::FrameHead { head, .. } => {
                match event.initiator {
                    Initiator::Receiver => coming.push_back(*head),
                    _ => leaving = Some(*head),
                }
                continue;
            }
            TraceKind::FrameSent { length, .. } => (format!("sent {length}"), leaving.take()),
            TraceKind::FrameReceived { length, .. } => {
                (format!("received {length}"), coming.pop_front())
            }
            TraceKind::FrameDropped { reason } => {
                (format!("dropped {}", reason.name()), coming.pop_back())
            }
            _ => continue,
        };
        let head = head.map_or("(its head is not known)".into(), |head| {
            frame::describe(|index| head.get(index).copied().unwrap_or_default())
        });
        let time = microseconds(event.time);
        lines.push(format!("{time:>16} {what:16} {head}"));
    }
    lines
}

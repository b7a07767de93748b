//! What happened last on the focused node. To see it the session looks back, and stands again where it stood.

use std::collections::VecDeque;
use std::sync::Arc;

use emulator::debug::Search;
use emulator::observe::event::{Details, FrameHead, Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;

use super::standing::microseconds;
use super::{frame, text};
use crate::debug::session::Session;
use lanigon_analysis::trace::rows::{Rows, Style};

/// Most events that are shown at once.
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

/// The last events before now, with these details, as `lanigon trace show` writes them.
///
/// # Errors
/// If somebody interrupts, or a state cannot be taken up.
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
    // A row is as wide as a trace's: what it says of code stands at its end.
    Ok(String::from_utf8_lossy(&shown).into_owned())
}

/// The last frames that the node's MAC sent, received or dropped before now, with their heads.
///
/// # Errors
/// If somebody interrupts, or a state cannot be taken up.
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
    // Each has a head before it.
    let most = count.min(MOST).saturating_mul(2).saturating_add(4);
    let events = last(session, most, Details::FRAMES, of_frames)?;
    let lines = frame_lines(&events);
    if lines.is_empty() {
        return Ok(text(["no frame was sent or received before".into()]));
    }
    let first = lines.len().saturating_sub(count);
    Ok(text(lines.into_iter().skip(first)))
}

/// A line for each frame. A head comes before what it is about.
fn frame_lines(events: &[TraceEvent]) -> Vec<String> {
    let mut coming: VecDeque<FrameHead> = VecDeque::new();
    let mut leaving = None;
    let mut lines = Vec::new();
    for event in events {
        let (what, head) = match &event.kind {
            TraceKind::FrameHead { head, .. } => {
                match event.initiator {
                    Initiator::MacReceive => coming.push_back(*head),
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

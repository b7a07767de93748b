//! A node or a switch in a timeline: its tracks, and the drawing of events.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use emulator::observe::event::{Details, FrameHead, TraceEvent, TraceKind};
use emulator::observe::file::Header;
use emulator::observe::gauges::{Gauge, GaugeUnit, KnownRegisters};
use emulator::observe::names::BoardNames;
use emulator::sim::initiator::Initiator;

use lanigon_analysis::messages::{self, DecodedHead, posts, said};

use super::flows::{Flows, shown};
use super::lane::Lane;
use super::packets::{AnnotationValue, Introduction, Packets, Slice, TrackEventKind};
use super::proto::{UNIT_BYTES, UNIT_COUNT};
use super::track::{Drawn, SliceLabel, Track};

/// Environment for drawing an event.
pub struct Canvas<'a> {
    /// Output.
    pub packets: &'a mut Packets,
    /// Flows of all messages.
    pub flows: &'a mut Flows,
    /// Description of the run, for names of handlers.
    pub header: &'a Header,
    /// Time in nanoseconds.
    pub now_ns: u64,
    /// Whether the event is drawn, or only tracked.
    pub is_drawn: bool,
}

/// Name of a handler.
fn handler_name(header: &Header, node: u16, who: Initiator, address: u32) -> String {
    let node = header.nodes.get(usize::from(node));
    let image = node.and_then(|node| header.images.get(node.image(who.cpu()?)?));
    match image.and_then(|image| image.table.symbols.seen_by(who, address)) {
        Some((symbol, _)) => {
            let name = symbol.name.rsplit("::").next().unwrap_or(&symbol.name);
            format!("handler {name}")
        }
        None => format!("handler {address:#x}"),
    }
}

/// A frame stored by the MAC.
#[derive(Debug)]
struct Stored {
    address: u32,
    length: u32,
    frame: DecodedHead,
    flow: Option<u64>,
}

/// Largest number of frames and transfers that are remembered for later events.
const MOST_REMEMBERED: usize = 512;
/// Largest number of concurrent calls shown.
const MOST_CALLS: u16 = 64;

/// State of one place.
#[derive(Debug)]
pub struct PlaceTracks {
    node: u16,
    /// Names of the board.
    names: &'static BoardNames,
    uuid: u64,
    tracks: BTreeMap<Lane, Track>,
    gauges: Vec<(u64, Option<u32>)>,
    registers: KnownRegisters,
    /// Heads of the frame being sent, and of those being received.
    heads: [VecDeque<(u64, FrameHead)>; 2],
    /// Transfers from the host whose frame has not been sent yet.
    fetched: VecDeque<(u32, Drawn)>,
    stored: VecDeque<Stored>,
    /// Calls that posted, or mailbox writes, whose messages are not known yet.
    posted: VecDeque<(Lane, Drawn)>,
    /// Ring details are recorded: they tell when a frame has been sent.
    ends_are_recorded: bool,
}

impl PlaceTracks {
    /// A place without tracks; `pid` is its process number.
    pub fn new(
        node: u16,
        name: String,
        names: &'static BoardNames,
        pid: i32,
        packets: &mut Packets,
    ) -> Self {
        let uuid = packets.add(Introduction {
            name,
            pid: Some(pid),
            ..Introduction::default()
        });
        let gauge = |(rank, gauge): (i32, &Gauge)| {
            let track = Introduction {
                name: gauge.name.into(),
                parent: Some((uuid, rank)),
                unit: Some(match gauge.unit {
                    GaugeUnit::Entries => UNIT_COUNT,
                    GaugeUnit::Bytes => UNIT_BYTES,
                }),
                ..Introduction::default()
            };
            (packets.add(track), None)
        };
        let gauges = (Lane::GAUGES..).zip(names.gauges).map(gauge).collect();
        Self {
            node,
            names,
            uuid,
            tracks: BTreeMap::new(),
            gauges,
            registers: KnownRegisters::default(),
            heads: Default::default(),
            fetched: VecDeque::new(),
            stored: VecDeque::new(),
            posted: VecDeque::new(),
            ends_are_recorded: false,
        }
    }

    /// A track; writes its entries that were held long enough.
    fn track(&mut self, lane: Lane, canvas: &mut Canvas<'_>) -> &mut Track {
        let (parent, names) = (Some((self.uuid, lane.rank())), self.names);
        let track = self.tracks.entry(lane).or_insert_with(|| {
            Track::new(canvas.packets.add(Introduction {
                name: lane.title(names),
                parent,
                ..Introduction::default()
            }))
        });
        track.write(canvas.now_ns, canvas.packets);
        track
    }

    /// All tracks, in order.
    pub fn tracks(&mut self) -> impl Iterator<Item = &mut Track> {
        self.tracks.values_mut()
    }

    fn instant(&mut self, lane: Lane, slice: Slice, canvas: &mut Canvas<'_>) -> Option<Drawn> {
        let (now, is_drawn) = (canvas.now_ns, canvas.is_drawn);
        self.track(lane, canvas).instant(now, slice, is_drawn)
    }

    fn begin(
        &mut self,
        lane: Lane,
        label: SliceLabel,
        slice: Slice,
        canvas: &mut Canvas<'_>,
    ) -> Option<Drawn> {
        let (now, is_drawn) = (canvas.now_ns, canvas.is_drawn);
        self.track(lane, canvas).begin(now, label, slice, is_drawn)
    }

    fn end(&mut self, lane: Lane, label: &SliceLabel, canvas: &mut Canvas<'_>) {
        let now = canvas.now_ns;
        self.track(lane, canvas).end(now, label);
    }

    /// Draws an event.
    pub fn event(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        use TraceKind as K;
        match &event.kind {
            K::HostCall { .. } | K::HostReturn { .. } | K::MailboxWrite { .. } => {
                self.host(event, canvas);
            }
            K::StageEnter { .. }
            | K::StageExit { .. }
            | K::WaitEnter { .. }
            | K::WaitExit { .. } => {
                self.stage(event, canvas);
            }
            K::HandlerEnter { .. } | K::HandlerExit | K::CoreStopped { .. } => {
                self.handler(event, canvas);
            }
            K::Probe { name, arguments } => self.probe(event.initiator, name, arguments, canvas),
            kind if kind.details() == Details::SEMAPHORE => self.semaphore(event, canvas),
            K::DmaStarted { .. } | K::DmaDone { .. } | K::DmaFailed { .. } | K::DmaRests { .. } => {
                self.dma(event, canvas);
            }
            K::FrameHead { head, .. } => self.head(event.initiator, *head, canvas.now_ns),
            K::FrameSent { address, length } => self.frame_sent(*address, *length, canvas),
            K::FrameReceived { .. } | K::FrameDropped { .. } => self.frame_came(event, canvas),
            K::RegisterWrite { address, value } => self.moved(*address, *value, canvas),
            K::RingIndex { address, value } => {
                self.moved(*address, *value, canvas);
                self.may_have_left(event.initiator, *address, canvas);
            }
            // Too many to be useful.
            K::RegisterRead { .. } | K::Breakpoint | K::MemoryWrite { .. } => {}
            // Their effects are drawn: handlers.
            K::EventRaised { .. } => {}
            K::Reset | K::PowerOn => self.power(event, canvas),
            K::Log { .. } => {
                // The firmware may have refused a post.
                self.posted.clear();
                self.other(event, canvas);
            }
            _ => self.other(event, canvas),
        }
    }

    /// Draws an event without special handling.
    fn other(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        let lane = Lane::for_event(event);
        let named = |name: String| Slice::new(lane.category(&event.kind), name);
        let of_frame = |slice: Slice, length: u32, fcs: u32| {
            let slice = slice.with("bytes", AnnotationValue::Number(length.into()));
            slice.with("fcs", AnnotationValue::Address(fcs.into()))
        };
        // Variable values are not part of a name.
        let slice = match &event.kind {
            TraceKind::PollSatisfied { why, value } => named(format!("polled {why}"))
                .with("value", AnnotationValue::Address((*value).into())),
            TraceKind::Fault {
                fault, length, fcs, ..
            } => of_frame(named(format!("fault: {}", fault.name())), *length, *fcs),
            TraceKind::FrameLost {
                reason,
                length,
                fcs,
                ..
            } => of_frame(named(format!("lost: {}", reason.name())), *length, *fcs),
            _ => named(event.text()),
        };
        self.instant(lane, slice, canvas);
    }

    fn host(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        match &event.kind {
            TraceKind::HostCall { what } => {
                // Calls of several programs overlap: each one has its own row.
                let is_free = |lane: &Lane| !self.tracks.get(lane).is_some_and(Track::is_busy);
                let lane = (0..MOST_CALLS).map(Lane::Host).find(is_free);
                let lane = lane.unwrap_or(Lane::Host(MOST_CALLS));
                let label = SliceLabel::Call(Arc::clone(what));
                let drawn = self.begin(lane, label, Slice::new("host", what.to_string()), canvas);
                if posts(what) {
                    remember(&mut self.posted, drawn.map(|drawn| (lane, drawn)));
                }
            }
            TraceKind::HostReturn { what } => {
                let label = SliceLabel::Call(Arc::clone(what));
                let mut lanes = (0..=MOST_CALLS).map(Lane::Host);
                let is_it = |lane: &Lane| {
                    let track = self.tracks.get(lane);
                    track.is_some_and(|track| track.is_within(&label))
                };
                if let Some(lane) = lanes.find(is_it) {
                    self.end(lane, &label, canvas);
                }
            }
            TraceKind::MailboxWrite { index, value } => {
                let name = format!("mailbox {index}");
                let slice = Slice::new("host", name)
                    .with("value", AnnotationValue::Address((*value).into()));
                let host = self.track(Lane::Host(0), canvas);
                let call = host.innermost();
                let drawn = self.instant(Lane::Host(0), slice, canvas);
                if *index == defs::emp::control::MAILBOX_TRANSMIT {
                    let drawn = call.or(drawn).map(|drawn| (Lane::Host(0), drawn));
                    remember(&mut self.posted, drawn);
                }
            }
            _ => {}
        }
    }

    fn stage(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        let lane = Lane::for_event(event);
        match &event.kind {
            TraceKind::StageEnter { stage } => {
                let label = SliceLabel::Stage(Arc::clone(stage));
                self.begin(lane, label, Slice::new("stage", stage.to_string()), canvas);
            }
            TraceKind::WaitEnter { what } => {
                let label = SliceLabel::Wait(Arc::clone(what));
                self.begin(
                    lane,
                    label,
                    Slice::new("wait", format!("wait: {what}")),
                    canvas,
                );
            }
            TraceKind::StageExit { stage } => {
                self.end(lane, &SliceLabel::Stage(Arc::clone(stage)), canvas);
            }
            TraceKind::WaitExit { what } => {
                self.end(lane, &SliceLabel::Wait(Arc::clone(what)), canvas);
            }
            _ => {}
        }
    }

    fn handler(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        let lane = Lane::for_event(event);
        match &event.kind {
            TraceKind::HandlerEnter {
                address,
                event: bit,
            } => {
                // Handlers do not nest: one without a recorded end is over.
                self.end(lane, &SliceLabel::Handler, canvas);
                let name = handler_name(canvas.header, self.node, event.initiator, *address);
                let slice = Slice::new("handler", name);
                let slice = slice.with("event", AnnotationValue::Number((*bit).into()));
                self.begin(lane, SliceLabel::Handler, slice, canvas);
            }
            TraceKind::CoreStopped { .. } => {
                let now = canvas.now_ns;
                self.track(lane, canvas).end_all(now);
                self.other(event, canvas);
            }
            _ => self.end(lane, &SliceLabel::Handler, canvas),
        }
    }

    /// Draws a probe as an instant. If it identifies a message, the enclosing slice belongs to that
    /// message.
    fn probe(&mut self, who: Initiator, name: &str, arguments: &[u32], canvas: &mut Canvas<'_>) {
        let mut slice = Slice::new("probe", name.to_owned());
        let Some(said) = said(self.node, name, arguments) else {
            for (&note, &argument) in ["a", "b", "c", "d"].iter().zip(arguments) {
                slice = slice.with(note, AnnotationValue::Address(argument.into()));
            }
            self.instant(Lane::for_initiator(who), slice, canvas);
            return;
        };
        if said.begins {
            canvas.flows.begin(said.message);
        }
        let flow = canvas.flows.number_of(said.message);
        slice.which = shown(said.message, said.frame);
        let which = slice.which.clone();
        let names = |around: &mut Slice| match around.flow {
            None => {
                around.flow = flow;
                around.which.clone_from(&which);
                true
            }
            Some(_) => around.flow == flow,
        };
        let track = self.track(Lane::for_initiator(who), canvas);
        let mut is_around = false;
        if let Some(around) = track.innermost() {
            track.amend(around, |around| is_around = names(around));
        }
        slice.flow = flow.filter(|_| !is_around);
        self.instant(Lane::for_initiator(who), slice, canvas);
        if said.begins
            && let Some((lane, post)) = self.posted.pop_front()
        {
            let host = self.track(lane, canvas);
            host.amend(post, |post| {
                names(post);
            });
        }
    }

    fn semaphore(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        let owner = Lane::for_event(event).title(self.names);
        let lane = match event.kind {
            TraceKind::FurtherSemaphore { number, .. } => Lane::FurtherSemaphore(number),
            _ => Lane::Semaphore,
        };
        match event.kind {
            TraceKind::SemaphoreTaken | TraceKind::FurtherSemaphore { effect: 0, .. } => {
                self.end(lane, &SliceLabel::Only, canvas);
                let slice = Slice::new("semaphore", owner);
                self.begin(lane, SliceLabel::Only, slice, canvas);
            }
            TraceKind::SemaphoreReleased | TraceKind::FurtherSemaphore { effect: 1, .. } => {
                self.end(lane, &SliceLabel::Only, canvas);
            }
            _ => {
                let slice = Slice::new("semaphore", format!("refused to {owner}"));
                self.instant(lane, slice, canvas);
            }
        }
    }

    fn dma(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        let lane = Lane::for_event(event);
        match event.kind {
            TraceKind::DmaStarted {
                host,
                local,
                length,
            } => {
                self.end(lane, &SliceLabel::Only, canvas);
                let mut slice = Slice::new("dma", lane.title(self.names))
                    .with("host", AnnotationValue::Address(host))
                    .with("local", AnnotationValue::Address(local.into()))
                    .with("bytes", AnnotationValue::Number(length.into()));
                slice.which = format!("{length} bytes");
                if lane == Lane::DmaWrite {
                    self.name_by_frame(local, &mut slice);
                }
                let drawn = self.begin(lane, SliceLabel::Only, slice, canvas);
                if lane == Lane::DmaRead
                    && let Some(drawn) = drawn
                {
                    remember(&mut self.fetched, Some((local, drawn)));
                }
            }
            TraceKind::DmaRests { until } => {
                let slice = Slice::new("fault", "rests");
                self.begin(lane, SliceLabel::Wait("rests".into()), slice, canvas);
                self.track(lane, canvas).until(until.ps() / 1000);
            }
            TraceKind::DmaFailed { .. } => {
                self.other(event, canvas);
                self.end(lane, &SliceLabel::Only, canvas);
            }
            _ => self.end(lane, &SliceLabel::Only, canvas),
        }
    }

    /// Names a transfer to the host by the last stored frame at its start address.
    fn name_by_frame(&self, local: u32, slice: &mut Slice) {
        let holds = |stored: &&Stored| {
            let offset = self.names.frame_buffers.receive_offset;
            offset(&self.registers, stored.address, local) < stored.length
        };
        if let Some(stored) = self.stored.iter().rev().find(holds) {
            slice.which = shown(stored.frame.message, stored.frame.frame);
            slice.flow = stored.flow;
        }
    }

    fn head(&mut self, who: Initiator, head: FrameHead, now_ns: u64) {
        let heads = &mut self.heads[usize::from(who == Initiator::Receiver)];
        remember(heads, Some((now_ns, head)));
    }

    /// The slice of a frame, with its head if known.
    fn frame(&self, head: Option<FrameHead>, canvas: &Canvas<'_>) -> (Slice, Option<DecodedHead>) {
        let mut slice = Slice::new("frame", "frame");
        let seen = head.as_ref().and_then(messages::seen);
        if let Some(seen) = seen {
            slice.name = Cow::Borrowed(seen.name);
            slice.which = shown(seen.message, seen.frame);
            slice.flow = canvas.flows.number_of(seen.message);
        }
        (slice, seen)
    }

    fn frame_sent(&mut self, address: u32, length: u32, canvas: &mut Canvas<'_>) {
        let head = self.heads[0].pop_front().map(|(_, head)| head);
        self.heads[0].clear();
        if let Some(seen) = head.as_ref().and_then(messages::seen)
            && !seen.posted
        {
            canvas.flows.begin_sent(seen.message);
        }
        let (slice, _) = self.frame(head, canvas);
        let (which, flow) = (slice.which.clone(), slice.flow);
        let slice = slice
            .with("at", AnnotationValue::Address(address.into()))
            .with("bytes", AnnotationValue::Number(length.into()));
        self.end(Lane::MacTx, &SliceLabel::Only, canvas);
        self.begin(Lane::MacTx, SliceLabel::Only, slice, canvas);
        if !self.ends_are_recorded {
            let until = canvas.now_ns + gigabit_ns(length + FCS_BYTES);
            self.track(Lane::MacTx, canvas).until(until);
        }
        let (registers, offset) = (&self.registers, self.names.frame_buffers.transmit_offset);
        let mut mine = Vec::new();
        self.fetched.retain(|&(local, drawn)| {
            let is_mine = offset(registers, address, local) < length;
            if is_mine {
                mine.push(drawn);
            }
            !is_mine
        });
        if !which.is_empty() {
            let track = self.track(Lane::DmaRead, canvas);
            for drawn in mine {
                track.amend(drawn, |slice| {
                    slice.which.clone_from(&which);
                    slice.flow = flow;
                });
            }
        }
    }

    /// Handles a moved index: the frame being sent may have left.
    fn may_have_left(&mut self, who: Initiator, address: u32, canvas: &mut Canvas<'_>) {
        let left = self.names.frame_buffers.frame_left == Some(address);
        if who == Initiator::Transmitter && left {
            self.ends_are_recorded = true;
            self.end(Lane::MacTx, &SliceLabel::Only, canvas);
        }
    }

    fn frame_came(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        let now = canvas.now_ns;
        let TraceKind::FrameReceived {
            address,
            length,
            status,
        } = event.kind
        else {
            let head = self.heads[1].pop_back().map(|(_, head)| head);
            let (mut slice, _) = self.frame(head, canvas);
            slice.name = Cow::Owned(format!("{}:", event.kind));
            slice.category = "drop";
            self.instant(Lane::MacRx, slice, canvas);
            return;
        };
        let head = self.heads[1].pop_front();
        let (slice, seen) = self.frame(head.map(|(_, head)| head), canvas);
        if let Some(frame) = seen {
            let flow = slice.flow;
            let stored = Stored {
                address,
                length,
                frame,
                flow,
            };
            remember(&mut self.stored, Some(stored));
        }
        let slice = slice
            .with("at", AnnotationValue::Address(address.into()))
            .with("bytes", AnnotationValue::Number(length.into()))
            .with("status", AnnotationValue::Address(status.into()));
        // Its reception began earlier.
        let end = head.map_or(now, |(in_ns, _)| in_ns);
        let begin = end.saturating_sub(gigabit_ns(length));
        let is_drawn = canvas.is_drawn;
        let track = self.track(Lane::MacRx, canvas);
        track.begin(begin, SliceLabel::Only, slice, is_drawn);
        track.end(now, &SliceLabel::Only);
    }

    /// Updates counters after a change of an index register.
    fn moved(&mut self, address: u32, value: u32, canvas: &mut Canvas<'_>) {
        let gauges = self.names.gauges;
        if !gauges
            .iter()
            .any(|gauge| gauge.registers.contains(&address))
        {
            return;
        }
        self.registers.set(address, value);
        if !canvas.is_drawn {
            return;
        }
        for (gauge, (uuid, shown)) in gauges.iter().zip(&mut self.gauges) {
            let value = (gauge.level)(&self.registers);
            if let Some(value) = value.filter(|_| *shown != value) {
                *shown = Some(value);
                let what = TrackEventKind::Count(value.into());
                canvas.packets.event(*uuid, canvas.now_ns, &what);
            }
        }
    }

    fn power(&mut self, event: &TraceEvent, canvas: &mut Canvas<'_>) {
        if event.kind == TraceKind::PowerOn {
            self.end(Lane::Board, &SliceLabel::Only, canvas);
            return;
        }
        let now = canvas.now_ns;
        self.tracks
            .values_mut()
            .for_each(|track| track.end_all(now));
        self.registers.clear();
        self.heads.iter_mut().for_each(VecDeque::clear);
        self.fetched.clear();
        self.stored.clear();
        self.posted.clear();
        let slice = Slice::new("fault", "off");
        self.begin(Lane::Board, SliceLabel::Only, slice, canvas);
    }
}

/// Size of the frame check sequence.
const FCS_BYTES: u32 = emulator::wire::ethernet::frame::FCS_BYTES as u32;

/// Duration of a frame with FCS at one gigabit per second.
const fn gigabit_ns(bytes: u32) -> u64 {
    const SHORTEST: u32 = defs::emp::frame::MINIMUM_FRAME_BYTES + FCS_BYTES;
    let bytes = if bytes < SHORTEST { SHORTEST } else { bytes };
    (bytes as u64 + emulator::wire::ethernet::frame::PREAMBLE_BYTES) * 8
}

/// Appends to a bounded queue.
fn remember<T>(queue: &mut VecDeque<T>, what: Option<T>) {
    queue.extend(what);
    if queue.len() > MOST_REMEMBERED {
        queue.pop_front();
    }
}

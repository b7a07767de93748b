//! The engine of host programs over the AceNIC driver: sends frames as planned, and checks each received frame.
//!
//! Ethernet promises nothing. A frame that was handed to the board and did not arrive is lost; the result of the run compares
//! losses with what faults, switches, full boards and resets dropped. A receiver ends when all frames of each sender's last life are here.
//! After a silence it takes the missing ones for lost, unless they come nonetheless before the run ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use emulator::host::machine::Machine;
use emulator::sim::time::SimTime;
use host_lib::acenic::{
    AceNic, Command, Config, Event, Fragment, LinkChange, ReceivedFrame, Reported,
};
use host_lib::acenic::{SendOptions, ServiceResults};
use host_lib::firmware::Firmware;
use host_lib::window::System;

use super::check::Identity;
use super::content::Flow;
use super::deliveries::{Deliveries, ReceivedEntry};
use super::frame::{self, ParsedFrame, ProgramFrameKind, SHORTEST_BYTES};
use super::outages::Outages;
use super::plan::{PlannedMessage, SendPlan};
use crate::emp::text;
use crate::nodes::START;
use crate::scenario::programs::{FrameSettings, Program, ProgramSpec};

/// A driver on an emulated machine.
pub type Nic = AceNic;

/// Longest wait for the link.
const LINK_NS: u64 = 5_000_000_000;
/// Pause between two greetings of a node.
const GREETING_NS: u64 = 1_000_000;
/// Longest wait for a node that was never heard.
const STRANGER_NS: u64 = 1_000_000_000;
/// Longest wait for an answer of a node that is reset during the run.
const ABSENT_NS: u64 = 100_000_000;
/// Longest wait between two looks at the CPU.
const LOOK_NS: u64 = 1_000_000;
/// A pause of so long is waited for as a whole, so that the run knows of its end and is not taken for one in which nothing happens any
/// more.
const PAUSE_NS: u64 = 100_000_000;

/// Plan of one node.
#[derive(Debug, Clone)]
pub struct FramePlan {
    /// Tag of its flows: different for each program.
    pub tag: u16,
    /// Start delay, in ns.
    pub start_ns: u64,
    /// Frames to send.
    pub sends: SendPlan,
    /// Largest number of frames in the send ring.
    pub window: usize,
    /// Settings of the frames.
    pub settings: FrameSettings,
    /// Number of frames from each node.
    pub expected: BTreeMap<u16, u64>,
}

/// Plans of the nodes of a program that sends frames, with this tag; none for other programs.
#[must_use]
pub fn plans(spec: &ProgramSpec, tag: u16) -> Vec<(usize, FramePlan)> {
    let Program::Frames { from, to } = &spec.program else {
        return Vec::new();
    };
    let peers = |me: usize| {
        // Each node begins with its neighbour, so that not all send to one node at once.
        let place = to.iter().position(|&node| node > me).unwrap_or(0);
        let others = to.iter().cycle().skip(place).take(to.len());
        let others = others.filter(move |&&node| node != me && from.contains(&me));
        others.map(|&node| node as u16)
    };
    let plan = |me: usize| FramePlan {
        tag,
        start_ns: spec.start_ns,
        sends: match peers(me).next() {
            Some(_) => SendPlan::Rounds {
                peers: peers(me).collect(),
                rounds: spec.messages,
                sizes: spec.sizes.clone(),
                gate: None,
                pause: None,
            },
            None => SendPlan::default(),
        },
        window: spec.window,
        settings: spec.frames,
        expected: match to.contains(&me) {
            true => {
                let senders = from.iter().filter(|&&node| node != me);
                senders.map(|&node| (node as u16, spec.messages)).collect()
            }
            false => BTreeMap::new(),
        },
    };
    spec.nodes().into_iter().map(|me| (me, plan(me))).collect()
}

/// Starts the board's firmware, waits until the interface is open, and then for [`START`].
///
/// # Errors
/// If the firmware does not start, or the link does not come up.
pub async fn boot(machine: Machine, firmware: &Firmware, config: Config) -> Result<Nic, String> {
    let nic = AceNic::start(machine.clone().into(), machine.into(), firmware, config).await;
    let mut nic = nic.map_err(text)?;
    nic.wait_running().await.map_err(text)?;
    nic.fill_rings().await.map_err(text)?;
    nic.command_taken(Command::StackUp).await.map_err(text)?;
    let up = Event::Link(LinkChange::Up);
    if !nic.history().iter().any(|reported| reported.event == up) {
        let link = nic.wait_for(up, "the link to come up", LINK_NS).await;
        link.map_err(text)?;
    }
    complaint(nic.history())?;
    let now = SimTime::from_ps(nic.system().now_ps());
    let rest = START.saturating_sub(now);
    nic.system_mut().compute(rest.ps() / 1000).await;
    Ok(nic)
}

/// Fails if the firmware has reported an error.
fn complaint(events: &[Reported]) -> Result<(), String> {
    let error = events.iter().find(|reported| reported.event.is_error());
    error.map_or(Ok(()), |error| {
        Err(format!("the firmware reports: {}", error.event))
    })
}

/// Executes the plans of a node's programs and records all frames in `deliveries`. The programs have the same checksums and VLAN tag.
///
/// # Errors
/// An error of the board or the program itself; lost frames are none.
pub async fn run(
    nic: Nic,
    who: Identity,
    plans: Vec<FramePlan>,
    outages: Outages,
    deliveries: Deliveries,
) -> Result<(), String> {
    let now_ps = nic.system().now_ps();
    if let Some(life) = &mut deliveries.records().frames {
        life.opened_ps = Some(now_ps);
    }
    let streams = plans.into_iter().map(|plan| FrameStream {
        next: 0,
        ready_ps: now_ps + plan.start_ns * 1000,
        in_ring: 0,
        plan,
    });
    let streams: Vec<_> = streams.collect();
    let starts = streams.iter().map(|stream| stream.ready_ps);
    let mut traffic = Traffic {
        nic,
        who,
        deliveries: deliveries.clone(),
        heard_ps: starts.max().unwrap_or(now_ps),
        streams,
        greeting_ps: 0,
        answered: BTreeSet::new(),
        greeted_ps: BTreeMap::new(),
        known: BTreeMap::new(),
        outages,
        under_way: VecDeque::new(),
        arrived: BTreeMap::new(),
    };
    let end = traffic.run().await;
    deliveries.records().receiving_over = true;
    end
}

/// A program of the node, and what it has sent.
struct FrameStream {
    plan: FramePlan,
    /// Number of the next frame to send.
    next: u64,
    /// Earliest time of the next frame.
    ready_ps: u64,
    /// Frames of the stream in the send ring.
    in_ring: usize,
}

impl FrameStream {
    fn step(&self) -> Option<PlannedMessage> {
        self.plan.sends.step(self.next)
    }

    const fn flow(&self, from: Identity, to: u16) -> Flow {
        Flow {
            from: from.node,
            to,
            tag: self.plan.tag,
            life: from.life,
        }
    }
}

/// Frames that a node has still to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expectation {
    /// Frames of its senders.
    Frames,
    /// No frame, after a long silence: missing frames are taken for lost until they come.
    Silence,
    /// No frame: all are here.
    Nothing,
}

/// A node that sends and receives frames.
struct Traffic {
    nic: Nic,
    who: Identity,
    deliveries: Deliveries,
    streams: Vec<FrameStream>,
    /// Time of the next greeting.
    greeting_ps: u64,
    /// Receivers that have answered a greeting.
    answered: BTreeSet<u16>,
    /// When each receiver was greeted first.
    greeted_ps: BTreeMap<u16, u64>,
    /// Nodes of which anything arrived, and the last life of each.
    known: BTreeMap<u16, u16>,
    outages: Outages,
    /// Frame that ends with each posted descriptor, oldest first: number of the stream, flow, number of the frame.
    under_way: VecDeque<Option<(usize, Flow, u32)>>,
    /// Numbers of the data frames that arrived, by flow.
    arrived: BTreeMap<Flow, BTreeSet<u32>>,
    /// Time at which the last frame arrived, or the last program began.
    heard_ps: u64,
}

impl Traffic {
    async fn run(&mut self) -> Result<(), String> {
        loop {
            // Programs take turns.
            while self.send_one_each().await? {}
            let planned = self.streams.iter().any(|stream| stream.step().is_some());
            let sent = !planned && self.under_way.is_empty();
            // A node that is reset sends again, so then the run lasts until receivers wait for nothing.
            self.deliveries.records().sending_over = sent && !self.outages.any();
            let expects = match sent {
                true => self.expects()?,
                false => Expectation::Frames,
            };
            self.deliveries.records().receiving_over = expects != Expectation::Frames;
            if expects != Expectation::Frames {
                self.check_reports()?;
            }
            // With resets the run lasts until every program has ended.
            if expects == Expectation::Nothing
                || expects == Expectation::Silence && self.outages.any()
            {
                return Ok(());
            }
            let wait_ns = self.longest_wait_ns();
            let work = self.nic.wait(wait_ns).await.map_err(text)?;
            if !work.interrupted
                && let Some(pc) = self.nic.board_mut().halted_at().await
            {
                return Err(format!("CPU A has halted at pc {pc:#x}"));
            }
            self.take_results(work).await?;
        }
    }

    /// Checks that all reports of the firmware were valid.
    fn check_reports(&self) -> Result<(), String> {
        match self.nic.mistakes() {
            (0, _) => Ok(()),
            (count, first) => Err(format!(
                "{count} invalid reports of the firmware, the first one: {}",
                first.first().map(ToString::to_string).unwrap_or_default()
            )),
        }
    }

    fn now_ps(&self) -> u64 {
        self.nic.system().now_ps()
    }

    /// Settings that all programs of the node have in common.
    fn settings(&self) -> FrameSettings {
        let first = self.streams.first();
        first.map_or_else(FrameSettings::default, |stream| stream.plan.settings)
    }

    /// Frames that are still to be received, when everything is sent.
    fn expects(&self) -> Result<Expectation, String> {
        let plans = self.streams.iter().map(|stream| &stream.plan);
        if plans.clone().all(|plan| self.has_all(plan)) {
            return Ok(Expectation::Nothing);
        }
        // The board reports what has arrived only after so long.
        let reported_ns = u64::from(self.nic.config().coalescing.rx_ticks) * 1000 + LOOK_NS;
        // A sender may wait for each node that is gone, one after the other.
        let least_ns = match self.outages.nodes() {
            0 => reported_ns,
            nodes => (nodes + 1) * ABSENT_NS + reported_ns,
        };
        let patience = plans
            .clone()
            .map(|plan| plan.settings.patience_ns.max(least_ns) + plan.settings.gap_ns);
        let mut senders = plans.clone().flat_map(|plan| plan.expected.keys());
        let begins = senders.clone().map(|&node| self.outages.begins_ps(node));
        let silence_ns = self.silence_ns(begins.max().unwrap_or_default());
        let life = |node| self.known.get(node);
        match senders.find(|node| life(*node) < Some(&self.outages.last_life(**node))) {
            None if silence_ns >= patience.max().unwrap_or_default() => Ok(Expectation::Silence),
            None => Ok(Expectation::Frames),
            Some(_) if silence_ns < STRANGER_NS => Ok(Expectation::Frames),
            Some(&node) if self.may_be_gone(node) => Ok(Expectation::Silence),
            Some(node) => Err(format!("nothing came from node {node}")),
        }
    }

    /// Whether all frames of the last life of each sender of a program are here.
    fn has_all(&self, plan: &FramePlan) -> bool {
        plan.expected.iter().all(|(&from, &count)| {
            let flow = Flow {
                from,
                to: self.who.node,
                tag: plan.tag,
                life: self.outages.last_life(from),
            };
            let here = self.arrived.get(&flow).map_or(0, BTreeSet::len);
            here as u64 >= count
        })
    }

    /// Time since something arrived, or since `begins_ps` if that is later.
    fn silence_ns(&self, begins_ps: u64) -> u64 {
        let since_ps = self.heard_ps.max(begins_ps);
        let since_ps = since_ps.max(self.outages.links_back_ps(self.now_ps()));
        self.now_ps().saturating_sub(since_ps) / 1000
    }

    /// Whether this node may never answer: it is reset during the run, or had its say in an earlier life of this one.
    fn may_be_gone(&self, node: u16) -> bool {
        self.outages.outage_of(node).is_some() || self.who.life > 0
    }

    fn longest_wait_ns(&self) -> u64 {
        let now_ps = self.now_ps();
        let next = self
            .streams
            .iter()
            .filter_map(|stream| match stream.step()? {
                _ if now_ps < stream.ready_ps => Some(stream.ready_ps),
                step if !self.answered.contains(&step.to) && self.nic.send_free() > 0 => {
                    Some(self.greeting_ps)
                }
                _ => None,
            });
        let next_ns = next.map(|ps| ps.saturating_sub(now_ps).div_ceil(1000));
        match next_ns.min() {
            Some(pause_ns) if pause_ns >= PAUSE_NS => pause_ns,
            next_ns => next_ns.unwrap_or(LOOK_NS).clamp(1, LOOK_NS),
        }
    }

    /// Sends the next frame of each program, if it may be sent now, or greets its receiver; returns whether a frame was sent.
    async fn send_one_each(&mut self) -> Result<bool, String> {
        let mut any = false;
        for index in 0..self.streams.len() {
            any |= self.send_one(index).await?;
        }
        Ok(any)
    }

    async fn send_one(&mut self, index: usize) -> Result<bool, String> {
        let now_ps = self.now_ps();
        let stream = &mut self.streams[index];
        let Some(step) = stream.step().filter(|_| now_ps >= stream.ready_ps) else {
            return Ok(false);
        };
        let flow = stream.flow(self.who, step.to);
        if !self.answered.contains(&step.to) {
            self.greet(flow).await?;
            return Ok(false);
        }
        let settings = stream.plan.settings;
        if self.nic.send_free() < settings.fragments || stream.in_ring >= stream.plan.window {
            return Ok(false);
        }
        stream.next += 1;
        stream.in_ring += 1;
        stream.ready_ps = now_ps + settings.gap_ns * 1000;
        let sequence = self.deliveries.records().post(flow, now_ps, step.length);
        let bytes = self.bytes(flow, ProgramFrameKind::Data, sequence, step.length);
        self.post(&bytes, settings.fragments).await?;
        if let Some(last) = self.under_way.back_mut() {
            *last = Some((index, flow, sequence));
        }
        Ok(true)
    }

    async fn greet(&mut self, flow: Flow) -> Result<(), String> {
        let now_ps = self.now_ps();
        let begins_ps = self.outages.begins_ps(flow.to);
        let greeted_ps = *self.greeted_ps.entry(flow.to).or_insert(now_ps);
        // What others send meanwhile does not count: of nodes that wait for the same one, each would wait for the one before it.
        let unanswered_ns = now_ps.saturating_sub(greeted_ps.max(begins_ps)) / 1000;
        if self.may_be_gone(flow.to) && unanswered_ns >= ABSENT_NS {
            // What is sent to it from now on is lost.
            self.answered.insert(flow.to);
            return Ok(());
        }
        if self.silence_ns(begins_ps) >= STRANGER_NS {
            return Err(format!("node {} does not answer", flow.to));
        }
        if now_ps < self.greeting_ps || self.nic.send_free() == 0 {
            return Ok(());
        }
        self.greeting_ps = now_ps + GREETING_NS * 1000;
        let bytes = self.bytes(flow, ProgramFrameKind::Greeting, 0, SHORTEST_BYTES);
        self.post(&bytes, 1).await
    }

    /// A frame as the board is to get it.
    fn bytes(&self, flow: Flow, kind: ProgramFrameKind, sequence: u32, length: u32) -> Vec<u8> {
        let udp = self.settings().checksum;
        let mut bytes = frame::build(self.who.seed, flow, kind, sequence, length, udp);
        if udp {
            frame::without_sum(&mut bytes);
        }
        bytes
    }

    /// Hands a frame to the board, in this many parts.
    async fn post(&mut self, bytes: &[u8], parts: u32) -> Result<(), String> {
        let settings = self.settings();
        let options = SendOptions {
            checksum: settings.checksum,
            vlan: settings.vlan,
            coalesce_now: false,
        };
        let each = bytes.len().div_ceil(parts as usize).max(1);
        let fragments = bytes
            .chunks(each)
            .map(|bytes| Fragment { bytes, offset: 0 });
        let fragments: Vec<_> = fragments.collect();
        let sent = self.nic.send_fragments(&fragments, options).await;
        sent.map_err(text)?;
        let nothing = std::iter::repeat_n(None, fragments.len());
        self.under_way.extend(nothing);
        Ok(())
    }

    /// Handles what the firmware has reported.
    async fn take_results(&mut self, work: ServiceResults) -> Result<(), String> {
        for _ in 0..work.sent {
            if let Some(Some((index, flow, sequence))) = self.under_way.pop_front() {
                self.streams[index].in_ring -= 1;
                self.deliveries.records().sent(flow, sequence, Ok(()));
            }
        }
        complaint(&work.events)?;
        for received in &work.received {
            self.receive(received).await?;
        }
        Ok(())
    }

    async fn receive(&mut self, received: &ReceivedFrame) -> Result<(), String> {
        self.heard_ps = self.heard_ps.max(self.now_ps());
        if !received.errors.is_empty() {
            // The board has found the damage: the frame is lost.
            let text = format!("a frame with errors {:?}", received.errors);
            self.deliveries.records().failed_receives.push(text);
            return Ok(());
        }
        let parsed = frame::check(&received.bytes, self.who, self.settings().checksum);
        let Some(parsed) = parsed else {
            self.record_stranger(&received.bytes);
            return Ok(());
        };
        let life = self.known.entry(parsed.from).or_default();
        *life = parsed.life.max(*life);
        let right = parsed.intact && self.is_offloaded(received);
        match parsed.kind {
            ProgramFrameKind::Data => self.record(parsed, right, received.bytes.len() as u32),
            ProgramFrameKind::Answer if right => {
                self.answered.insert(parsed.from);
            }
            ProgramFrameKind::Greeting if right && self.nic.send_free() > 0 => {
                let flow = Flow {
                    from: self.who.node,
                    to: parsed.from,
                    tag: parsed.tag,
                    life: self.who.life,
                };
                let bytes = self.bytes(flow, ProgramFrameKind::Answer, 0, SHORTEST_BYTES);
                self.post(&bytes, 1).await?;
            }
            ProgramFrameKind::Answer | ProgramFrameKind::Greeting => {}
        }
        Ok(())
    }

    /// Whether the board has taken out the tag, and summed the packet.
    fn is_offloaded(&self, received: &ReceivedFrame) -> bool {
        let settings = self.settings();
        let sum = received.bytes.get(34..).map(frame::ones_sum);
        received.vlan == settings.vlan && (!settings.checksum || received.tcp_udp_sum == sum)
    }

    /// Records a frame whose header no program has written: a fault may have changed it.
    fn record_stranger(&self, bytes: &[u8]) {
        let mut records = self.deliveries.records();
        if let Some(life) = &mut records.frames {
            life.strangers += 1;
        }
        let header = bytes.iter().take(frame::HEADER_BYTES);
        let header: Vec<_> = header.map(|byte| format!("{byte:02x}")).collect();
        let text = format!(
            "a frame of {} bytes that no program has sent: its header is {}",
            bytes.len(),
            header.join(" ")
        );
        records.failed_receives.push(text);
    }

    fn record(&mut self, parsed: ParsedFrame, intact: bool, length: u32) {
        let flow = Flow {
            from: parsed.from,
            to: self.who.node,
            tag: parsed.tag,
            life: parsed.life,
        };
        let time_ps = self.now_ps();
        let mut records = self.deliveries.records();
        let expected = records.expected(flow);
        let sequence = if intact { parsed.sequence } else { expected };
        self.arrived.entry(flow).or_default().insert(sequence);
        records.receive(
            flow,
            ReceivedEntry {
                sequence,
                number: sequence,
                time_ps,
                length,
                intact,
            },
        );
    }
}

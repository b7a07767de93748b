//! Stages and probes of the firmware.

use std::collections::VecDeque;
use std::sync::Arc;

use defs::emp::descriptor::Code;
use defs::emp::frame::Kind;
use defs::emp::probe::Event;
use defs::probe::{NOTHING_TO_DO, stage};
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::time::SimTime;

use super::frames::RxFrame;
use super::message::{Cpu, Fate, FrameWay, MessageCompletion, MessageWork, MishapKind};
use super::names::MessageName;
use super::names::emp::{DecodedEmpProbe, said};
use super::tracker::{ArrivalRef, FinishedStage, FrameRef, Tracker};
use lanigon_worlds::faults::EmpFrame;

/// Subject of a CPU's current stage.
#[derive(Debug, Clone, Copy)]
enum StageSubject {
    /// The stage opened a message's record.
    Post(usize),
    /// The stage built a frame.
    Frame(FrameRef),
    /// The stage took a frame.
    Arrival(ArrivalRef),
}

/// The current stage of a CPU.
#[derive(Debug)]
struct OpenStage {
    stage: Arc<str>,
    from: SimTime,
    number: u64,
    claims: Vec<StageSubject>,
    /// The firmware says that there was nothing to do.
    is_idle: bool,
}

/// State of a CPU.
#[derive(Debug, Default)]
pub(super) struct CpuState {
    open: Option<OpenStage>,
    /// Last stages of the CPU without a known subject.
    recent: VecDeque<FinishedStage>,
    /// The ack being processed: the sender's part comes between two parts of the matcher.
    ack: Option<ArrivalRef>,
    /// The last write that it completed, with its arrival: the record is closed within that stage.
    ending: Option<(SimTime, Option<ArrivalRef>)>,
    /// The last stage cut a frame. A second part follows if the transmitter is on the other CPU.
    has_cut: bool,
}

/// Largest number of stages kept until a probe identifies their subject.
const MOST_RECENT: usize = 16;

/// Whether a frame is cut in this stage.
fn cuts_a_frame(stint: &FinishedStage) -> bool {
    *stint.work.stage == *stage::SEND_FRAME
}

impl CpuState {
    /// Start of the current stage.
    fn since(&self) -> Option<SimTime> {
        self.open.as_ref().map(|open| open.from)
    }

    fn claim(&mut self, claim: StageSubject) {
        if let Some(open) = &mut self.open {
            open.claims.push(claim);
        }
    }

    fn remember(&mut self, stint: FinishedStage) {
        self.recent.push_back(stint);
        if self.recent.len() > MOST_RECENT {
            self.recent.pop_front();
        }
    }

    /// Takes the consecutive recent stages that led to the one which began at `from`.
    fn take_run(&mut self, from: SimTime, names: &[&str]) -> Vec<FinishedStage> {
        let mut run = Vec::new();
        let mut next = from;
        while let Some(last) = self.recent.back()
            && last.work.to == next
            && names.contains(&&*last.work.stage)
        {
            next = last.work.from;
            run.extend(self.recent.pop_back());
        }
        run.reverse();
        run
    }

    /// Takes the stages of these names that began at or after `from`.
    fn take_since(&mut self, from: SimTime, names: &[&str]) -> Vec<FinishedStage> {
        let fits =
            |stint: &FinishedStage| stint.work.from >= from && names.contains(&&*stint.work.stage);
        let (taken, left): (VecDeque<_>, VecDeque<_>) = self.recent.drain(..).partition(fits);
        self.recent = left;
        taken.into()
    }
}

impl Tracker {
    pub(super) fn cpu_event(&mut self, node: u16, event: &TraceEvent) {
        let Some(cpu) = Cpu::from_initiator(event.initiator) else {
            return;
        };
        let number = self.number;
        match &event.kind {
            TraceKind::StageEnter { stage } => {
                let state = self.node(node);
                if **stage == *stage::RECEIVE_BOOKKEEPING {
                    state.cpus[cpu.index()].ack = None;
                }
                state.cpus[cpu.index()].open = Some(OpenStage {
                    stage: Arc::clone(stage),
                    from: event.time,
                    number,
                    claims: Vec::new(),
                    is_idle: false,
                });
            }
            TraceKind::StageExit { .. } => {
                let open = self.node(node).cpus[cpu.index()].open.take();
                if let Some(open) = open {
                    self.stage_over(node, cpu, open, event.time);
                }
            }
            TraceKind::Probe { name, .. } if **name == *NOTHING_TO_DO => {
                if let Some(open) = &mut self.node(node).cpus[cpu.index()].open {
                    open.is_idle = true;
                }
            }
            TraceKind::Probe { name, arguments } => {
                if let Some(said) = said(node, name, arguments) {
                    self.probe((node, cpu), said, event);
                }
            }
            _ => {}
        }
    }

    /// Handles the end of a stage.
    fn stage_over(&mut self, node: u16, cpu: Cpu, open: OpenStage, to: SimTime) {
        let stint = FinishedStage {
            work: MessageWork {
                node,
                cpu,
                stage: open.stage,
                from: open.from,
                to,
            },
            events: [open.number, self.number],
        };
        self.works.push(stint.work.clone());
        let (claimed, is_idle) = (!open.claims.is_empty(), open.is_idle);
        for claim in open.claims {
            self.settle_claim(node, claim, stint.clone());
        }
        let has_cut = std::mem::take(&mut self.node(node).cpus[cpu.index()].has_cut);
        if claimed || self.ends_a_receive(node, cpu, &stint, is_idle) {
            return;
        }
        if *stint.work.stage == *stage::RECEIVE_FRAME && !self.is_within_matching(node, &stint) {
            self.node(node).delivered.push_back(stint);
            return self.pair_deliveries(node);
        }
        let takes_ack = *stint.work.stage == *stage::TAKE_ACK;
        if takes_ack || *stint.work.stage == *stage::RECEIVE_ACK {
            match self.node(node).cpus[cpu.index()].ack {
                Some(arrival) => return self.add_works(arrival, vec![stint]),
                None if takes_ack => return self.take_ack(node, cpu, stint),
                None => {}
            }
        }
        let state = self.node(node);
        // What a transmitter on this CPU makes of it begins at once, and takes it back.
        if cuts_a_frame(&stint) && !is_idle && !has_cut {
            state.cuts.push_back(stint.clone());
            state.cpus[cpu.index()].has_cut = true;
        }
        state.cpus[cpu.index()].remember(stint);
    }

    /// Assigns a stage to its subject.
    fn settle_claim(&mut self, node: u16, claim: StageSubject, stint: FinishedStage) {
        let cpu = stint.work.cpu.index();
        let from = stint.work.from;
        match claim {
            StageSubject::Post(message) => {
                self.own_stint(message, &stint);
                self.message(message).posting.push(stint.work);
            }
            StageSubject::Frame(frame) => {
                let names = [stage::SEND_FRAME, stage::TRANSMISSION];
                let mut stints = self.node(node).cpus[cpu].take_run(from, &names);
                stints.push(stint);
                if stints.iter().any(cuts_a_frame) {
                    self.node(node).cuts.pop_back();
                } else if self.frame(frame).is_data() {
                    // The sender on the other CPU has cut the frame; frames reach the transmitter in that
                    // order.
                    let cut = self.node(node).cuts.pop_front();
                    stints.splice(..0, cut);
                }
                for stint in stints {
                    self.own_stint(frame.message, &stint);
                    self.frame(frame).works.push(stint.work);
                }
            }
            StageSubject::Arrival(arrival) => {
                let received = self.arrival(arrival).received;
                let names = [stage::RECEIVE_BOOKKEEPING, stage::RECEIVE_FRAME];
                let mut stints = self.node(node).cpus[cpu].take_since(received, &names);
                stints.push(stint);
                self.add_works(arrival, stints);
                let matched = matches!(self.arrival(arrival).fate, Fate::Matched(_));
                let works = &self.arrival(arrival).works;
                let delivers = |work: &MessageWork| *work.stage == *stage::RECEIVE_FRAME;
                if matched && !works.iter().any(delivers) {
                    self.node(node).matched.push_back(arrival);
                    self.pair_deliveries(node);
                }
            }
        }
    }

    fn add_works(&mut self, arrival: ArrivalRef, stints: Vec<FinishedStage>) {
        for stint in stints {
            self.own_stint(arrival.frame.message, &stint);
            self.arrival(arrival).works.push(stint.work);
        }
    }

    /// Whether a matcher delivers its frame itself: its bookkeeping ends where the stage begins.
    fn is_within_matching(&mut self, node: u16, stint: &FinishedStage) -> bool {
        let recent = &self.node(node).cpus[stint.work.cpu.index()].recent;
        recent.back().is_some_and(|last| {
            *last.work.stage == *stage::RECEIVE_BOOKKEEPING && last.work.to == stint.work.from
        })
    }

    /// Assigns deliveries of a deliverer by itself: it gets frames in the order of matching.
    fn pair_deliveries(&mut self, node: u16) {
        loop {
            let state = self.node(node);
            if state.matched.is_empty() || state.delivered.is_empty() {
                return;
            }
            if let (Some(arrival), Some(stint)) =
                (state.matched.pop_front(), state.delivered.pop_front())
            {
                self.add_works(arrival, vec![stint]);
            }
        }
    }

    /// Whether the stage finished a write, or closed the record that the write completed.
    fn ends_a_receive(
        &mut self,
        node: u16,
        cpu: Cpu,
        stint: &FinishedStage,
        is_idle: bool,
    ) -> bool {
        let names = [stage::RECEIVING, stage::RECEIVE_BOOKKEEPING];
        let ending = self.node(node).cpus[cpu.index()].ending.take();
        if let Some((until, arrival)) = ending
            && until == stint.work.from
            && names.contains(&&*stint.work.stage)
        {
            if let Some(arrival) = arrival {
                // The host has been notified already.
                self.own_stint(arrival.frame.message, stint);
            }
            self.node(node).cpus[cpu.index()].ending = Some((stint.work.to, arrival));
            return true;
        }
        if *stint.work.stage != *stage::RECEIVING || is_idle {
            return false;
        }
        self.end_oldest_write(node, cpu, stint);
        true
    }

    fn end_oldest_write(&mut self, node: u16, cpu: Cpu, stint: &FinishedStage) {
        let ended = &mut self.node(node).write.ended;
        let arrival = ended.pop_front().and_then(|(_, arrival)| arrival);
        if let Some(arrival) = arrival {
            self.own_stint(arrival.frame.message, stint);
            self.arrival(arrival).endings.push(stint.work.clone());
        }
        self.node(node).cpus[cpu.index()].ending = Some((stint.work.to, arrival));
    }

    /// Handles an ack taken from the MAC. The sender reports it, on either CPU, if it brings progress.
    fn take_ack(&mut self, node: u16, cpu: Cpu, stint: FinishedStage) {
        let is_ack = |frame: &RxFrame| frame.says.is_none_or(|says| says.kind == Kind::Ack);
        let Some(arrival) = self.take_stored(node, is_ack) else {
            return;
        };
        self.node(node).answers.push_back(arrival);
        self.node(node).cpus[cpu.index()].ack = Some(arrival);
        let received = self.arrival(arrival).received;
        let names = [stage::RECEIVE_BOOKKEEPING];
        let mut stints = self.node(node).cpus[cpu.index()].take_since(received, &names);
        stints.push(stint);
        self.add_works(arrival, stints);
    }

    /// Takes the first stored frame for which `is` is true; earlier ones were dropped without a probe.
    fn take_stored(&mut self, node: u16, is: impl Fn(&RxFrame) -> bool) -> Option<ArrivalRef> {
        let stored = &mut self.node(node).stored;
        let place = stored.iter().position(is)?;
        stored.drain(..=place).next_back()?.arrival
    }

    fn probe(&mut self, (node, cpu): (u16, Cpu), said: DecodedEmpProbe, event: &TraceEvent) {
        let now = event.time;
        let (name, number) = (said.message, said.third as u16);
        let at = (node, cpu);
        match said.event {
            Event::PostTransmit => self.posted(at, name, said.third, now),
            Event::FrameSent => {
                let kind = match number {
                    0 => Kind::Header,
                    _ => Kind::Data,
                };
                self.built(at, name, (kind, number), now);
            }
            Event::AckSent => self.built(at, name, (Kind::Ack, number), now),
            Event::NackSent => self.built(at, name, (Kind::Nack, number), now),
            Event::GapSent => self.built(at, name, (Kind::Gap, number), now),
            Event::FrameMatched => {
                self.taken(at, name, number, Fate::Matched(now));
            }
            Event::FrameDropped => {
                if let Some(arrival) = self.taken(at, name, number, Fate::Refused(now)) {
                    self.befall(arrival.frame, event, MishapKind::Refused);
                }
            }
            Event::AckReceived | Event::NackReceived | Event::GapReceived => {
                self.answered(at, name, number, now);
            }
            Event::Retransmit => {
                let message = self.find(name);
                self.own(message);
                self.message(message).retransmits.push(now);
            }
            Event::TransmitComplete => self.completed(at, name, true, said.third, now),
            Event::ReceiveComplete => self.completed(at, name, false, said.third, now),
            Event::PostReceive | Event::ReceiveCancelled => {}
        }
    }

    /// Handles the opening of a message's record.
    fn posted(&mut self, (node, cpu): (u16, Cpu), name: MessageName, length: u32, now: SimTime) {
        let message = self.open(name);
        self.own(message);
        let state = self.node(node);
        let since = state.cpus[cpu.index()].since().unwrap_or(now);
        let (mut post, events) = state.host.take_post(message, since);
        post.taken = Some(now);
        let known = self.message(message);
        known.length = Some(length);
        known.post = post;
        known.events.extend(events);
        self.node(node).cpus[cpu.index()].claim(StageSubject::Post(message));
    }

    /// Handles the completion of a frame's header.
    fn built(
        &mut self,
        (node, cpu): (u16, Cpu),
        name: MessageName,
        (kind, number): (Kind, u16),
        now: SimTime,
    ) {
        let message = self.find(name);
        self.own(message);
        let is = |frame: &FrameWay| {
            frame.built.is_none() && frame.kind == kind && frame.number == number
        };
        let frame = match self.find_frame(message, is) {
            Some(frame) => frame,
            None => {
                let frame = self.add_frame(message, kind, number);
                self.node(node).built.push_back(frame);
                frame
            }
        };
        self.frame(frame).built = Some(now);
        self.node(node).cpus[cpu.index()].claim(StageSubject::Frame(frame));
    }

    /// Handles a matched frame.
    fn taken(
        &mut self,
        (node, cpu): (u16, Cpu),
        name: MessageName,
        number: u16,
        fate: Fate,
    ) -> Option<ArrivalRef> {
        let is = |says: &EmpFrame| {
            matches!(says.kind, Kind::Header | Kind::Data)
                && (says.from, says.message, says.frame) == (name.from, name.id, number)
        };
        let arrival = self.take_stored(node, |frame| frame.says.is_none_or(|says| is(&says)))?;
        self.own(arrival.frame.message);
        self.arrival(arrival).fate = fate;
        self.node(node).cpus[cpu.index()].claim(StageSubject::Arrival(arrival));
        Some(arrival)
    }

    /// Handles a processed ack or nack.
    fn answered(&mut self, (node, cpu): (u16, Cpu), name: MessageName, number: u16, now: SimTime) {
        let message = self.find(name);
        self.own(message);
        let waiting = self.node(node).answers.clone();
        let passed = waiting.iter().position(|arrival| {
            arrival.frame.message == message && self.frame(arrival.frame).number == number
        });
        let arrival = match passed {
            Some(place) => self.node(node).answers.drain(..=place).next_back(),
            None => {
                let is = |says: &EmpFrame| {
                    says.kind.is_answer()
                        && (says.from, says.message, says.frame) == (name.to, name.id, number)
                };
                self.take_stored(node, |frame| frame.says.is_none_or(|says| is(&says)))
            }
        };
        if let Some(arrival) = arrival {
            self.arrival(arrival).fate = Fate::Taken(now);
            self.node(node).cpus[cpu.index()].claim(StageSubject::Arrival(arrival));
        }
    }

    /// Handles the report of a message's end to a host.
    fn completed(
        &mut self,
        (node, cpu): (u16, Cpu),
        name: MessageName,
        is_sender: bool,
        code: u32,
        now: SimTime,
    ) {
        let message = self.find(name);
        self.own(message);
        let not_before = self.node(node).cpus[cpu.index()].since().unwrap_or(now);
        let completion = MessageCompletion {
            code: Code::from_status(code << defs::emp::descriptor::STATUS_CODE_SHIFT),
            not_before,
            told: now,
            seen: None,
            returned: None,
        };
        let known = self.message(message);
        let side = if is_sender {
            &mut known.sent
        } else {
            &mut known.received
        };
        *side = Some(completion);
        let length = if is_sender { Some(0) } else { known.length };
        self.await_poll(node, message, is_sender, (code, length));
    }
}

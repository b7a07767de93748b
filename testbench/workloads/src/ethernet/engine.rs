//! The host of a node: sends its frames and checks those that come.

use emulator::sim::time::SimTime;
use emulator::value_struct;
use host_lib::ethernet::{Config, Ethernet, Received};
use host_lib::window::System;
use lanigon_worlds::emp::text;
use lanigon_worlds::nodes::{START, mac_address};
use lanigon_worlds::programs::deliveries::Deliveries;
use lanigon_worlds::workload::HostProcess;

use super::{EthernetSettings, Way, sequence_of};

/// Time between two looks at the board's indices.
const LOOK_NS: u64 = 250;
/// After a silence of so long the missing frames are lost.
const PATIENCE_PS: u64 = 1_000_000_000;

/// The part of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct EthernetPlan {
    pub(super) settings: EthernetSettings,
    /// The way of the frames that the node would send.
    pub(super) way: Way,
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// No fault of the scenario loses or changes frames.
    pub(super) faultless: bool,
    pub(super) start_ns: u64,
    pub(super) seed: u64,
}

/// Records of a node.
#[derive(Debug, Clone, Default)]
pub struct EthernetRecords {
    /// Frames that the board has sent.
    pub sent: u64,
    /// Times at which so many frames had come, in ps.
    pub marks: Vec<(u64, u64)>,
    /// Frames that came, whole and in order.
    pub received: u64,
    /// Frames that came with an error of the MAC.
    pub damaged: u64,
    /// Frames that did not come.
    pub lost: u64,
    /// Frames that the board dropped for lack of space.
    pub dropped: u64,
    /// Wrong frames: their number, and the first one.
    pub wrong: (u64, String),
}

value_struct!(EthernetRecords {
    sent: sent,
    marks: marks,
    received: received,
    damaged: damaged,
    lost: lost,
    dropped: dropped,
    wrong: wrong
});

impl EthernetRecords {
    fn wrong(&mut self, text: String) {
        if self.wrong.0 == 0 {
            self.wrong.1 = text;
        }
        self.wrong.0 += 1;
    }
}

/// A node at work.
struct Exchange<'a> {
    nic: Ethernet,
    plan: &'a EthernetPlan,
    records: EthernetRecords,
    /// Frames that are in the send ring or gone.
    queued: u32,
    /// Number of the next frame to come.
    next: u32,
    heard_ps: u64,
}

/// Boots the firmware and does the part of a node.
///
/// # Errors
/// The board fails.
pub(super) async fn run(plan: &EthernetPlan, process: HostProcess<'_>) -> Result<(), String> {
    let machine = process.machine();
    let config = Config {
        address: mac_address(plan.way.from),
        ordering: plan.settings.ordering,
        batch: plan.settings.batch,
    };
    let nic = Ethernet::start(
        machine.clone().into(),
        machine.into(),
        process.firmware(),
        config,
    );
    let mut nic = nic.await.map_err(text)?;
    let system = nic.system_mut();
    let rest = START.saturating_sub(SimTime::from_ps(system.now_ps()));
    let start_ns = rest.ps() / 1000 + plan.start_ns;
    system.compute(start_ns).await;
    let heard_ps = system.now_ps();
    let exchange = Exchange {
        nic,
        plan,
        records: EthernetRecords::default(),
        queued: 0,
        next: 0,
        heard_ps,
    };
    exchange.run(heard_ps, &process.deliveries).await
}

impl Exchange<'_> {
    async fn run(mut self, began_ps: u64, deliveries: &Deliveries) -> Result<(), String> {
        let end = loop {
            let now_ps = self.nic.system_mut().now_ps();
            if let Err(error) = self.receive(now_ps) {
                break Err(error);
            }
            if let Err(error) = self.send(now_ps - began_ps) {
                break Err(error);
            }
            self.nic.ring_bells().await;
            self.records.sent = u64::from(self.nic.sent());
            let silence_ps = now_ps.saturating_sub(self.heard_ps);
            let patient = silence_ps < PATIENCE_PS + self.plan.settings.interval_ns * 1000;
            if self.has_sent() && (self.has_received() || !patient) {
                break Ok(());
            }
            if !patient && let Some(pc) = self.nic.halted_at().await {
                break Err(format!("CPU A has halted at pc {pc:#x}"));
            }
            self.nic.system_mut().compute(LOOK_NS).await;
        };
        self.end().await;
        deliveries.record(|own: &mut EthernetRecords| *own = self.records);
        end
    }

    const fn has_sent(&self) -> bool {
        !self.plan.sends || self.nic.sent() == self.plan.settings.frames
    }

    const fn has_received(&self) -> bool {
        !self.plan.receives || self.next == self.plan.settings.frames
    }

    /// Puts frames into the send ring that are due by now.
    fn send(&mut self, since_ps: u64) -> Result<(), String> {
        let settings = &self.plan.settings;
        let due = match settings.interval_ns {
            0 => u64::MAX,
            interval_ns => since_ps / 1000 / interval_ns + 1,
        };
        let due = due.min(u64::from(settings.frames));
        while self.plan.sends && u64::from(self.queued) < due && self.nic.send_free() > 0 {
            let frame = self.plan.way.frame(self.plan.seed, self.queued, settings);
            self.nic.send(&frame).map_err(text)?;
            self.queued += 1;
        }
        Ok(())
    }

    /// Takes and checks frames that came.
    fn receive(&mut self, now_ps: u64) -> Result<(), String> {
        let sent = self.nic.sent();
        let frames = self.nic.poll().map_err(text)?;
        if !frames.is_empty() || self.nic.sent() != sent {
            self.heard_ps = now_ps;
        }
        for frame in &frames {
            self.check(frame);
        }
        if !frames.is_empty() {
            self.records.marks.push((self.records.received, now_ps));
        }
        Ok(())
    }

    fn check(&mut self, frame: &Received) {
        if frame.status != 0 {
            self.records.damaged += 1;
            return;
        }
        let way = Way {
            from: self.plan.way.to,
            to: self.plan.way.from,
        };
        let right = |sequence| way.frame(self.plan.seed, sequence, &self.plan.settings);
        let sequence = sequence_of(&frame.bytes).unwrap_or(u32::MAX);
        if sequence >= self.plan.settings.frames || frame.bytes != right(sequence) {
            let length = frame.bytes.len();
            let text = format!(
                "a frame of {length} bytes behind frame {} is none that was sent",
                self.next
            );
            self.records.wrong(text);
        } else if sequence < self.next {
            let next = self.next;
            self.records
                .wrong(format!("frame {sequence} came where {next} was to come"));
        } else {
            self.records.lost += u64::from(sequence - self.next);
            self.records.received += 1;
            self.next = sequence + 1;
        }
    }

    /// Notes what did not come, and whether the board knows of it.
    async fn end(&mut self) {
        self.records.dropped = u64::from(self.nic.dropped().await);
        if !self.plan.receives {
            return;
        }
        self.records.lost += u64::from(self.plan.settings.frames - self.next);
        let EthernetRecords { lost, dropped, .. } = self.records;
        if self.plan.faultless && lost != dropped {
            let text = format!("{lost} frames did not come, of which the board dropped {dropped}");
            self.records.wrong(text);
        }
    }
}

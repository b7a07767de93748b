//! Guests as a workload.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use emulator::host::outside::{Act, Outside, WakeCause};
use emulator::profile::costs::HostCosts;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::value_struct;
use lanigon_guests::{Guest, GuestError, Settings};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::nodes;
use lanigon_worlds::programs::deliveries::Deliveries;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::workload::{
    HostProcess, Job, JobContext, Outcome, ProgramRecords, ReadRecords, Running, Workload,
    WorkloadType, read_records,
};

use super::console::SharedTerminal;
use super::files::Files;
use super::keys;
use super::summary::GuestsUse;

/// Guests.
pub const KIND: WorkloadType = WorkloadType {
    names: &["linux"],
    about: "Linux with a driver of its own, on AceNIC firmware (docs/linux.md).",
    keys: keys::KEYS,
    results: "guests",
    read: |_, table, nodes| Ok(Arc::new(keys::read(table, nodes)?)),
};

/// Memory of a guest that can boot, in bytes.
const LEAST_MEMORY_BYTES: u64 = 24 << 20;

/// A program of a scenario.
#[derive(Debug, Clone)]
pub(super) struct Linux {
    pub(super) nodes: Vec<usize>,
    pub(super) script: String,
    pub(super) files: Vec<PathBuf>,
    /// Words for the kernel's command line.
    pub(super) options: Vec<String>,
    pub(super) kernel: Option<PathBuf>,
    /// Whether its processor's work takes time.
    pub(super) processor: bool,
    pub(super) silence_s: u64,
    /// The node whose console a person has, if any.
    pub(super) console: Option<(usize, SharedTerminal)>,
}

/// Records of a guest.
#[derive(Debug, Clone, Default)]
pub(super) struct GuestRecords {
    /// Lines of its console, with their times in ps.
    pub(super) lines: Vec<(u64, String)>,
    /// The exit code of its script.
    pub(super) exit_code: Option<u32>,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) interrupts: u64,
}

value_struct!(GuestRecords {
    lines: lines,
    exit_code: exit_code,
    reads: reads,
    writes: writes,
    interrupts: interrupts
});

impl Linux {
    fn files(&self, scenario: &Scenario) -> Files {
        Files::find(self.kernel.as_deref(), &self.files, &scenario.folder)
    }
}

impl Workload for Linux {
    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone()
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Acenic]
    }

    fn memory_bytes(&self) -> u64 {
        LEAST_MEMORY_BYTES
    }

    fn check_inputs(&self, scenario: &Scenario) -> Result<(), String> {
        self.files(scenario).check()
    }

    fn files(&self, scenario: &Scenario) -> Vec<PathBuf> {
        self.files(scenario).own
    }

    /// A kernel wakes for its own timers while its programs sleep.
    fn may_be_quiet_for_long(&self) -> bool {
        true
    }

    fn has_driver(&self) -> bool {
        true
    }

    fn cannot_be_saved(&self) -> Option<&'static str> {
        Some(
            "a guest's state is that of another process; a run from the beginning repeats it exactly",
        )
    }

    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)> {
        let JobContext { scenario, start_ns } = context;
        let job = |node: &usize| {
            let console = self.console.as_ref().filter(|console| console.0 == *node);
            let job = LinuxJob {
                settings: Settings {
                    kernel: self.files(scenario).kernel,
                    node: *node,
                    seed: scenario.seed,
                    memory_megabytes: scenario.nodes[*node].memory_mb,
                    arguments: self.options.clone(),
                    patience: Duration::from_secs(self.silence_s),
                    takes_input: console.is_some(),
                },
                files: self.files(scenario),
                script: match console {
                    Some(_) => SharedTerminal::script(&self.script),
                    None => self.script.clone(),
                },
                processor: self.processor,
                console: console.map(|console| console.1.clone()),
                sram_bytes: scenario.nodes[*node].sram_bytes(),
                start_ns,
            };
            (*node, Box::new(job) as Box<dyn Job>)
        };
        self.nodes.iter().map(job).collect()
    }

    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>) {
        let records = self
            .nodes
            .iter()
            .map(|node| (*node, records.deliveries_of(*node)));
        let guests = records.map(|(node, records)| (node, records.records().own_copy()));
        (
            Some(Arc::new(GuestsUse::from_records(self.processor, guests))),
            Vec::new(),
        )
    }
}

/// One guest.
struct LinuxJob {
    settings: Settings,
    files: Files,
    script: String,
    processor: bool,
    console: Option<SharedTerminal>,
    sram_bytes: u32,
    start_ns: u64,
}

impl LinuxJob {
    async fn boot(&self, process: &HostProcess<'_>) -> Result<(), String> {
        let archive = self
            .files
            .archive(&self.script, process.firmware(), self.sram_bytes)?;
        process.start_after(self.start_ns).await;
        let mut settings = self.settings.clone();
        if self.processor {
            settings.arguments.push(processor(process.costs()));
        }
        let guest = Guest::start(&settings, &archive).map_err(|error| error.to_string())?;
        let mut guest = Recorded {
            guest,
            console: self.console.clone(),
            deliveries: process.deliveries.clone(),
        };
        let ended = process.run_outside(&mut guest).await;
        ended.map_err(|error| error.to_string())?;
        match guest.guest.exit_code() {
            Some(0) => Ok(()),
            Some(code) => Err(format!("its script has ended with exit code {code}")),
            None => Err("the guest has ended before its script".into()),
        }
    }
}

/// The option of the kernel (`testbench/guests/kernel/processor_time.c`) with these costs.
fn processor(costs: &HostCosts) -> String {
    let kernel = &costs.kernel;
    let times = [
        kernel.interrupt,
        costs.system_call,
        costs.context_switch,
        kernel.send,
        kernel.receive,
        kernel.copy_byte,
        kernel.sum_byte,
    ];
    format!(
        "processor={}",
        times.map(|time| time.ps().to_string()).join(",")
    )
}

impl Job for LinuxJob {
    fn prepare(&self, node: &mut Node, index: u16) {
        lanigon_worlds::acenic::equip(node, nodes::mac_address(index));
    }

    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a> {
        Box::pin(async move {
            let done = self.boot(&process).await;
            // Other guests may wait for this one for ever.
            process.deliveries.records().ends_run |= done.is_err() || self.console.is_some();
            done
        })
    }

    fn read_records(&self) -> ReadRecords {
        read_records::<GuestRecords>
    }
}

/// A guest whose console is recorded.
struct Recorded {
    guest: Guest,
    console: Option<SharedTerminal>,
    deliveries: Deliveries,
}

impl Recorded {
    fn record(&self, now: SimTime, lines: &[String]) {
        let statistics = self.guest.statistics();
        let exit_code = self.guest.exit_code();
        self.deliveries.record(|own: &mut GuestRecords| {
            own.lines
                .extend(lines.iter().map(|line| (now.ps(), line.clone())));
            own.exit_code = exit_code.and_then(|code| u32::try_from(code).ok());
            own.reads = statistics.reads;
            own.writes = statistics.writes;
            own.interrupts = statistics.interrupts;
        });
    }
}

impl Outside for Recorded {
    type Error = GuestError;

    fn next_act(&mut self, now: SimTime, cause: WakeCause) -> Result<Act, GuestError> {
        if let Some(console) = &self.console {
            console.look(&mut self.guest)?;
        }
        let mut act = self.guest.next_act(now, cause);
        if let (Some(console), Ok(Act::Say(lines))) = (&self.console, &mut act) {
            *lines = console.serve(&mut self.guest, std::mem::take(lines))?;
        }
        match &act {
            Ok(Act::Say(lines)) => self.record(now, lines),
            Ok(Act::End) => self.record(now, &[]),
            Err(_) => {
                let lines = self.guest.last_lines().unwrap_or_default();
                self.record(now, &lines);
            }
            Ok(_) => {}
        }
        act
    }
}

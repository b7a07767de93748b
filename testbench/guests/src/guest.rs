//! A guest as the host of a node.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use emulator::host::outside::{Act, Outside, WakeCause};
use emulator::sim::time::SimTime;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::calendar::{Link, TimeMessage, TimeOperation};
use crate::console::GuestConsole;
use crate::pci::{self, Configuration, DriverAccess};
use crate::process::{Listeners, Process};
use crate::ring::RingRequest;
use crate::vhost::{DeviceEvent, VhostDevice};
use crate::{GuestError, Violation};

/// The queue of accesses, and that of interrupts.
const ACCESSES: usize = 0;
const INTERRUPTS: usize = 1;
/// Time that a guest's clock may go by itself after a wait, in ns: many reads of the clock, and no transfer.
const LEAST_AHEAD_NS: u64 = 100;
/// Time that the clock of a guest that waits busily may go by itself, in ns. It learns of an interrupt so much too late at most.
const MOST_AHEAD_NS: u64 = 4000;
/// A guest that asks for no more than this beyond what it was allowed has not slept.
const STEP_NS: u64 = 16;
/// Requests from here on mean never.
const NEVER_NS: u64 = i64::MAX as u64;
/// The time of day at the start of a guest's clock, in ns: 9 September 2001.
const TIME_OF_DAY_NS: u64 = 1_000_000_000_000_000_000;
/// Pause between two looks at a silent process.
const LOOK: Duration = Duration::from_millis(100);
/// Text of the first process before the exit code of its script.
const EXIT: &str = "lanigon: exit ";

/// Settings of a guest.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Path of the kernel.
    pub kernel: PathBuf,
    /// Number of the guest's node.
    pub node: usize,
    /// Seed of the guest's random numbers, together with the node's number.
    pub seed: u64,
    /// Size of the guest's memory.
    pub memory_megabytes: u32,
    /// More words of its command line.
    pub arguments: Vec<String>,
    /// Longest silence of the guest, of the wall clock.
    pub patience: Duration,
    /// Whether its console takes [input](Guest::input).
    pub takes_input: bool,
}

/// Counts of a guest's accesses, interrupts and waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Words of the window that it has read.
    pub reads: u64,
    /// Words of the window that it has written.
    pub writes: u64,
    /// Interrupts that it has taken.
    pub interrupts: u64,
    /// Number of waits.
    pub waits: u64,
}

/// State of a guest.
#[derive(Debug)]
enum Stage {
    /// The guest runs, and its access to the window is carried out, if there is one.
    Running(Option<(DriverAccess, RingRequest)>),
    /// The guest waits; the node does not know yet.
    Stopped,
    /// The guest waits, and the node knows.
    Waiting,
    /// The guest's process has ended.
    Ended,
}

/// Event at one of a guest's sockets.
enum GuestEvent {
    Time(TimeMessage),
    Device(DeviceEvent),
    /// The guest has closed a socket.
    Closed,
}

/// A guest with its process, its sockets and its clock.
#[derive(Debug)]
pub struct Guest {
    // The first to be dropped: it ends the process.
    process: Process,
    console: GuestConsole,
    listeners: Option<Listeners>,
    time: Option<Link>,
    device: Option<VhostDevice>,
    configuration: Configuration,
    stage: Stage,
    /// Time of the guest's clock.
    clock_ns: u64,
    /// Time at which the guest wants to go on.
    request_ns: u64,
    /// Up to here it may move its clock.
    free_until_ns: u64,
    /// Time that the clock could go by itself after the last wait.
    ahead_ns: u64,
    /// The guest has notified the queue of accesses, and whether it waits for the acknowledgment.
    notified: Option<bool>,
    /// The guest has used the window since the last interrupt. One that it does not answer is not repeated.
    heeds: bool,
    exit_code: Option<i32>,
    statistics: Statistics,
    patience: Duration,
}

impl Guest {
    /// Starts a guest with these files, an [archive](crate::initramfs).
    ///
    /// # Errors
    /// If its process cannot be started.
    pub fn start(settings: &Settings, archive: &[u8]) -> Result<Self, GuestError> {
        let console = GuestConsole::new()?;
        let (process, listeners) = Process::start(settings, archive, &console)?;
        Ok(Self {
            process,
            console,
            listeners: Some(listeners),
            time: None,
            device: None,
            configuration: Configuration::default(),
            stage: Stage::Running(None),
            clock_ns: 0,
            request_ns: NEVER_NS,
            free_until_ns: 0,
            ahead_ns: LEAST_AHEAD_NS,
            notified: None,
            heeds: true,
            exit_code: None,
            statistics: Statistics::default(),
            patience: settings.patience,
        })
    }

    /// The exit code of its script, once it has said it.
    #[must_use]
    pub const fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    /// Counts of accesses, interrupts and waits so far.
    #[must_use]
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Types at its console. It takes notice of it when it next runs.
    ///
    /// # Errors
    /// If it takes no input.
    pub fn input(&mut self, text: &str) -> Result<(), GuestError> {
        self.process.input(text)
    }

    /// New lines of the console, with the begin of a line: the last words of a guest that has failed.
    ///
    /// # Errors
    /// If its console cannot be read.
    pub fn last_lines(&mut self) -> Result<Vec<String>, GuestError> {
        let mut lines = self.lines()?;
        let rest = self.console.take_line();
        lines.extend((!rest.is_empty()).then_some(rest));
        Ok(lines)
    }

    fn lines(&mut self) -> Result<Vec<String>, GuestError> {
        let lines = self.console.lines()?;
        let mut codes = lines
            .iter()
            .filter_map(|line| line.strip_prefix(EXIT)?.parse().ok());
        self.exit_code = codes.next_back().or(self.exit_code);
        Ok(lines)
    }

    /// Runs the guest up to its next act.
    fn next_act(&mut self) -> Result<Act, GuestError> {
        loop {
            if let Some(act) = self.serve()? {
                return Ok(act);
            }
            match self.receive()? {
                GuestEvent::Time(message) => {
                    if self.heed(message)? {
                        return self.stop(Stage::Stopped);
                    }
                }
                GuestEvent::Device(DeviceEvent::Kick {
                    ring: ACCESSES,
                    needs_reply,
                }) => {
                    self.notified = Some(needs_reply);
                }
                GuestEvent::Device(DeviceEvent::Kick { needs_reply, .. }) => {
                    if needs_reply {
                        self.acknowledge_kick()?;
                    }
                }
                GuestEvent::Device(DeviceEvent::Memory) => {
                    let memory = self.device.as_ref().map(|device| device.memory.clone());
                    return Ok(Act::Lend(Box::new(memory.unwrap_or_default())));
                }
                GuestEvent::Device(DeviceEvent::Nothing) => {}
                GuestEvent::Device(DeviceEvent::Closed) | GuestEvent::Closed => {
                    let status = self.process.wait()?;
                    return match status.success() {
                        true => self.stop(Stage::Ended),
                        false => Err(GuestError::Ended(status)),
                    };
                }
            }
        }
    }

    /// The guest does not go on: tells what it has said, then that it waits, or has ended.
    fn stop(&mut self, stage: Stage) -> Result<Act, GuestError> {
        self.stage = stage;
        let lines = self.lines()?;
        match lines.is_empty() {
            true => Ok(self.stopped()),
            false => Ok(Act::Say(lines)),
        }
    }

    fn stopped(&mut self) -> Act {
        if matches!(self.stage, Stage::Ended) {
            return Act::End;
        }
        self.stage = Stage::Waiting;
        self.statistics.waits += 1;
        let is_busy = self.request_ns <= self.free_until_ns.saturating_add(STEP_NS);
        self.ahead_ns = match is_busy {
            true => (2 * self.ahead_ns).min(MOST_AHEAD_NS),
            false => LEAST_AHEAD_NS,
        };
        self.wait()
    }

    const fn wait(&self) -> Act {
        let until = match self.request_ns {
            NEVER_NS.. => SimTime::MAX,
            time => SimTime::from_ps(time.saturating_mul(1000)),
        };
        Act::Wait {
            until,
            interrupt: self.heeds,
        }
    }

    /// Carries out the requests in the queue of accesses, up to one of the window.
    fn serve(&mut self) -> Result<Option<Act>, GuestError> {
        let (Some(needs_reply), Some(device)) = (self.notified, &mut self.device) else {
            return Ok(None);
        };
        let at = SimTime::from_ps(self.clock_ns.saturating_mul(1000));
        while let Some(request) = device.rings[ACCESSES].take_request(&device.memory)? {
            let access = DriverAccess::parse(&request.bytes)?;
            let read = match access {
                DriverAccess::ReadConfiguration { address, size } => {
                    self.configuration.read(address, size).to_le_bytes()
                }
                DriverAccess::WriteConfiguration {
                    address,
                    size,
                    value,
                } => {
                    self.configuration.write(address, size, value);
                    [0; 8]
                }
                DriverAccess::Read { offset } => {
                    self.statistics.reads += 1;
                    self.stage = Stage::Running(Some((access, request)));
                    return Ok(Some(Act::Read { at, offset }));
                }
                DriverAccess::Write { offset, value } => {
                    self.statistics.writes += 1;
                    self.stage = Stage::Running(Some((access, request)));
                    return Ok(Some(Act::Write { at, offset, value }));
                }
            };
            device.rings[ACCESSES].answer(&device.memory, &request, &read)?;
        }
        self.notified = None;
        if needs_reply {
            self.acknowledge_kick()?;
        }
        Ok(None)
    }

    /// The node has carried out an access.
    fn accessed(&mut self, request: &RingRequest, cause: WakeCause) -> Result<(), GuestError> {
        let word = match cause {
            WakeCause::Word(word) => word.to_le_bytes(),
            _ => [0; 4],
        };
        self.heeds = true;
        self.ahead_ns = LEAST_AHEAD_NS;
        if let Some(device) = &mut self.device {
            device.rings[ACCESSES].answer(&device.memory, request, &word)?;
        }
        Ok(())
    }

    fn acknowledge_kick(&mut self) -> Result<(), GuestError> {
        self.device
            .as_mut()
            .map_or(Ok(()), VhostDevice::acknowledge_kick)
    }

    /// Lets a guest run that waits; tells whether it does. It runs at the time for which it has asked and at no other: its clock stays
    /// behind while it has something to do there.
    fn run(&mut self, now: SimTime, cause: WakeCause) -> Result<bool, GuestError> {
        if cause == WakeCause::Interrupt {
            let now_ns = now.ps().div_ceil(1000);
            // It may have moved its clock up to there.
            self.clock_ns = self.free_until_ns.max(now_ns).min(self.request_ns);
            self.heeds = false;
            self.interrupt()?;
            // It has no driver that takes it.
            if self.request_ns > self.clock_ns {
                return Ok(false);
            }
        }
        self.clock_ns = self.clock_ns.max(self.request_ns);
        self.process.come_here();
        self.stage = Stage::Running(None);
        self.request_ns = NEVER_NS;
        self.free_until_ns = self.clock_ns.saturating_add(self.ahead_ns);
        let free = (TimeOperation::FreeUntil, self.free_until_ns);
        if let Some(time) = &mut self.time {
            // A guest that has ended is found to have closed its socket.
            time.command(&[free, (TimeOperation::Run, self.clock_ns)])?;
        }
        Ok(true)
    }

    /// Tells a guest that waits of an interrupt: it asks to run at once then. A guest without a driver for the bus does not.
    fn interrupt(&mut self) -> Result<(), GuestError> {
        let Some(device) = &mut self.device else {
            return Ok(());
        };
        let Some(request) = device.rings[INTERRUPTS].take_request(&device.memory)? else {
            return Ok(());
        };
        device.rings[INTERRUPTS].answer(&device.memory, &request, &pci::interrupt())?;
        if !device.call(INTERRUPTS)? {
            return Ok(());
        }
        self.statistics.interrupts += 1;
        // It asks for the time, and to run at once, before it acknowledges.
        let begin = Instant::now();
        loop {
            let (Some(time), Some(device)) = (&mut self.time, &mut self.device) else {
                return Ok(());
            };
            let Some(channel) = device.channel() else {
                return Ok(());
            };
            let [asks, done] = readable([
                PollFd::new(time.socket(), PollFlags::IN),
                PollFd::new(channel, PollFlags::IN),
            ])?;
            if asks {
                let Some(message) = time.receive()? else {
                    return Ok(());
                };
                self.heed(message)?;
            } else if done {
                return device.call_acknowledged();
            } else {
                self.look(begin)?;
            }
        }
    }

    /// Does what a message about time says; tells whether the guest waits from now on.
    fn heed(&mut self, message: TimeMessage) -> Result<bool, GuestError> {
        let mut answer = 0;
        match message.operation {
            TimeOperation::Start => {}
            TimeOperation::Request => self.request_ns = message.time_ns,
            TimeOperation::Wait => {}
            TimeOperation::Get => answer = self.clock_ns,
            TimeOperation::TimeOfDay => answer = TIME_OF_DAY_NS,
            TimeOperation::Update => {
                let (from, to) = (self.clock_ns, message.time_ns);
                if to < from || to > self.free_until_ns.max(from) {
                    return Err(Violation::Clock { from, to }.into());
                }
                self.clock_ns = to;
            }
            other => return Err(Violation::Time(other as u32).into()),
        }
        if let Some(time) = &mut self.time {
            time.acknowledge(message, answer)?;
        }
        Ok(message.operation == TimeOperation::Wait)
    }

    /// Waits for what comes next from the guest.
    fn receive(&mut self) -> Result<GuestEvent, GuestError> {
        let begin = Instant::now();
        loop {
            if let Some(listeners) = &self.listeners {
                let waits = PollFlags::IN;
                let first = match &self.time {
                    Some(time) => PollFd::new(time.socket(), waits),
                    None => PollFd::new(&listeners.time, waits),
                };
                let second = match &self.device {
                    Some(device) => PollFd::new(device.socket(), waits),
                    None => PollFd::new(&listeners.device, waits),
                };
                let [asks, acts] = readable([first, second])?;
                if self.connect(asks, acts)? {
                    continue;
                }
                if asks || acts {
                    return self.receive_from(asks);
                }
            } else if let (Some(time), Some(device)) = (&self.time, &self.device) {
                let waits = PollFlags::IN;
                let [asks, acts] = readable([
                    PollFd::new(time.socket(), waits),
                    PollFd::new(device.socket(), waits),
                ])?;
                if asks || acts {
                    return self.receive_from(asks);
                }
            }
            self.look(begin)?;
        }
    }

    /// Takes a connection that has come; tells whether one has.
    fn connect(&mut self, asks: bool, acts: bool) -> Result<bool, GuestError> {
        let Some(listeners) = &self.listeners else {
            return Ok(false);
        };
        let (time, device) = (asks && self.time.is_none(), acts && self.device.is_none());
        if time {
            let (socket, _) = listeners.time.accept()?;
            socket.set_read_timeout(Some(self.patience))?;
            self.time = Some(Link::new(socket));
        }
        if device {
            let (socket, _) = listeners.device.accept()?;
            self.device = Some(VhostDevice::new(socket, self.patience)?);
        }
        if self.time.is_some() && self.device.is_some() {
            self.listeners = None;
            self.process.settled();
        }
        Ok(time || device)
    }

    fn receive_from(&mut self, asks: bool) -> Result<GuestEvent, GuestError> {
        match (asks, &mut self.time, &mut self.device) {
            (true, Some(time), _) => {
                Ok(time.receive()?.map_or(GuestEvent::Closed, GuestEvent::Time))
            }
            (false, _, Some(device)) => Ok(GuestEvent::Device(device.receive()?)),
            _ => Ok(GuestEvent::Closed),
        }
    }

    /// Looks after a guest that has been silent since `begin`: it may have crashed, or it hangs.
    fn look(&mut self, begin: Instant) -> Result<(), GuestError> {
        if let Some(status) = self.process.ended()? {
            return Err(GuestError::Ended(status));
        }
        match begin.elapsed() > self.patience {
            true => Err(GuestError::Hangs(self.patience.as_secs())),
            false => Ok(()),
        }
    }
}

impl Outside for Guest {
    type Error = GuestError;

    fn next_act(&mut self, now: SimTime, cause: WakeCause) -> Result<Act, GuestError> {
        match &mut self.stage {
            Stage::Running(access) => {
                if let Some((_, request)) = access.take() {
                    self.accessed(&request, cause)?;
                }
            }
            Stage::Stopped | Stage::Ended => return Ok(self.stopped()),
            Stage::Waiting => {
                if !self.run(now, cause)? {
                    return Ok(self.wait());
                }
            }
        }
        self.next_act()
    }
}

/// Waits a while for what can be read, or is closed.
fn readable<const N: usize>(mut sockets: [PollFd<'_>; N]) -> Result<[bool; N], GuestError> {
    let while_ = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(LOOK.subsec_nanos()),
    };
    match poll(&mut sockets, Some(&while_)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {
            Ok(sockets.map(|socket| !socket.revents().is_empty()))
        }
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

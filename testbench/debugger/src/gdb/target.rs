//! The target interface for gdb: registers, memory, threads, breakpoints.

use emulator::board::{CpuId, Inspect, NothingThere};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use emulator::debug::DebugError;
use emulator::image::{Frame, Memory};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use gdbstub::common::{Pid, Tid};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{MultiThreadBase, MultiThreadResumeOps};
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps,
    SwBreakpoint, SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::exec_file::{ExecFile, ExecFileOps};
use gdbstub::target::ext::monitor_cmd::MonitorCmdOps;
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};

use super::arch::{BigEndianMips, CoreRegisters, GdbRegister, IN_DELAY_SLOT};
use super::chosen::GdbSelection;
use super::news::News;
use super::points::{GdbPoint, PointKind};
use super::resume::Motion;
use super::slots;
use crate::debug::{Focus, Session};

/// Error code for unmapped memory: EFAULT.
const BAD_ADDRESS: u8 = 14;
/// Largest number of breakpoints and watchpoints.
const MOST_POINTS: usize = 4096;

/// The CPUs of a node as gdb's threads.
#[derive(Debug)]
pub struct Cpus {
    /// Session that gdb debugs.
    pub session: Session,
    /// Number of the node.
    pub node: usize,
    /// ELF file that names the code of the node's image, if there is one.
    pub image: Option<PathBuf>,
    /// Breakpoints and watchpoints of gdb.
    pub(super) points: Vec<GdbPoint>,
    /// The pending resume request.
    pub(super) motion: Motion,
    /// The CPU of the last reported stop.
    pub(super) cpu: CpuId,
    /// The CPU that gdb has selected for resuming.
    pub(super) chosen: GdbSelection,
    /// The CPU that gdb read last.
    looked_at: CpuId,
    /// The CPU meant by addresses that exist in both scratchpads.
    meant: BTreeMap<(u32, u32), CpuId>,
    /// Time and CPU of the last reported breakpoint in the slot of a taken branch.
    pub(super) in_slot: Option<(SimTime, CpuId)>,
    /// Time of the last reported write, on the way back.
    pub(super) told: Option<SimTime>,
    /// Changes that gdb does not know yet.
    pub(super) news: News,
}

/// The CPU of a thread.
pub(super) fn cpu_of(thread: Tid) -> Option<CpuId> {
    match thread.get() {
        number @ 1..=2 => Some(CpuId::new(number - 1)),
        _ => None,
    }
}

/// The thread of a CPU.
pub(super) fn thread_of(cpu: CpuId) -> Tid {
    Tid::MIN.saturating_add(cpu.index())
}

impl Cpus {
    /// Creates the target of a node.
    #[must_use]
    pub fn new(mut session: Session, node: usize, image: Option<PathBuf>) -> Self {
        session.focus = Focus {
            node,
            ..Focus::default()
        };
        Self {
            session,
            node,
            image,
            points: Vec::new(),
            motion: Motion::Continue,
            cpu: CpuId::default(),
            chosen: GdbSelection::default(),
            looked_at: CpuId::default(),
            meant: BTreeMap::new(),
            in_slot: None,
            told: None,
            news: News::default(),
        }
    }

    /// Resets the state for a new debugger.
    pub fn forget(&mut self) {
        self.points.clear();
        self.meant.clear();
        self.chosen = GdbSelection::default();
        self.in_slot = None;
        self.told = None;
        self.news = News::default();
    }

    /// Board of the node.
    pub(super) fn board(&self) -> &dyn Inspect {
        self.session.history.world().nodes[self.node].inspect()
    }

    /// All CPUs of the node.
    pub(super) fn cpus(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.board().cpus().len()).map(CpuId::new)
    }

    /// Current time.
    pub(super) fn now(&self) -> SimTime {
        self.session.now()
    }

    /// Whether a core is in a slot that is hidden from gdb.
    pub(super) fn in_hidden_slot(&self, cpu: CpuId) -> bool {
        let now = self.now();
        self.in_slot != Some((now, cpu)) && slots::in_taken_slot(self.board(), cpu, now)
    }

    /// Program counter reported to gdb.
    pub(super) fn shown_pc(&self, cpu: CpuId) -> u32 {
        slots::shown_pc(self.board(), cpu, self.in_hidden_slot(cpu))
    }

    fn registers(&self, cpu: CpuId) -> CoreRegisters {
        if let Some((frame, general)) = self.panicked(cpu) {
            return CoreRegisters {
                general,
                cause: 0,
                pc: frame.address,
            };
        }
        let board = self.board();
        CoreRegisters {
            general: std::array::from_fn(|index| {
                let registers = board.registers(cpu);
                registers.get(index).copied().unwrap_or_default()
            }),
            cause: match self.in_hidden_slot(cpu) {
                true => IN_DELAY_SLOT,
                false => 0,
            },
            pc: self.shown_pc(cpu),
        }
    }

    /// Frame and registers that are shown for a CPU that panicked: gdb finds no callers behind functions that keep no return address.
    fn panicked(&self, cpu: CpuId) -> Option<(Frame, [u32; 32])> {
        let focus = Focus {
            node: self.node,
            cpu,
        };
        let stopped = self.board().cpu(cpu)?.state.stopped().is_some();
        stopped.then(|| self.session.code_of(focus).panicked())?
    }

    /// Lets a CPU that panicked stand where it is shown, because it is changed.
    fn take_shown(&mut self, cpu: CpuId) -> Result<(), DebugError> {
        let Some((frame, general)) = self.panicked(cpu) else {
            return Ok(());
        };
        self.change(|node| {
            for (index, value) in general.into_iter().enumerate() {
                node.inspect_mut().set_register(cpu, index, value);
            }
            node.set_pc(cpu, frame.address);
        })
    }

    /// Changes the node.
    fn change<T>(&mut self, change: impl FnOnce(&mut Node) -> T) -> Result<T, DebugError> {
        let node = self.node;
        let history = &mut self.session.history;
        history.change(|world| change(&mut world.nodes[node]))
    }

    /// Sets the registers that differ. Where a core stands is left alone unless gdb wants it elsewhere: it may be in a slot.
    fn set_registers(&mut self, cpu: CpuId, new: &CoreRegisters) -> Result<(), DebugError> {
        let old = self.registers(cpu);
        if old == *new {
            return Ok(());
        }
        self.take_shown(cpu)?;
        self.change(|node| {
            let values = old.general.iter().zip(&new.general).enumerate();
            for (index, (_, new)) in values.filter(|(_, (old, new))| old != new) {
                node.inspect_mut().set_register(cpu, index, *new);
            }
            if old.pc != new.pc {
                node.set_pc(cpu, new.pc);
            }
        })
    }

    fn add(&mut self, kind: PointKind, address: u32, length: u32) -> bool {
        let called = |point: &GdbPoint| point.is_called(kind, address, length);
        if self.points.iter().any(called) {
            return true;
        }
        let cpu = self.whose(address, length);
        let point = GdbPoint {
            kind,
            address,
            length,
            cpu,
            cpus: self.board().cpus().len(),
            area: self.board().area(cpu, address),
        };
        let room = self.points.len() < MOST_POINTS && !point.stops(self.node).is_empty();
        if room {
            self.points.push(point);
        }
        room
    }

    fn remove(&mut self, kind: PointKind, address: u32, length: u32) {
        self.points
            .retain(|point| !point.is_called(kind, address, length));
    }

    /// CPU of the scratchpad meant by an address: that of the image's section. For addresses in both, such
    /// as the stack: the CPU that gdb read last when it first used the address.
    fn whose(&mut self, address: u32, length: u32) -> CpuId {
        let sections = self.session.image().sections.iter();
        let mut owners = sections.filter_map(|section| {
            let cpu = match section.memory {
                Memory::Sram | Memory::Scratchpads => return None,
                Memory::ScratchpadA => CpuId::new(0),
                Memory::ScratchpadB => CpuId::new(1),
            };
            let offset = address.wrapping_sub(section.run_address);
            (offset < section.size_bytes && !section.name.contains("stack")).then_some(cpu)
        });
        let last = self.looked_at;
        match owners.next() {
            Some(owner) => owner,
            None => *self.meant.entry((address, length)).or_insert(last),
        }
    }

    /// State of a CPU in a few words.
    fn describe(&self, cpu: CpuId) -> String {
        let node = self.session.node_name(self.node);
        let name = self.board().cpus()[cpu.index()].name;
        let state = self.board().cpu(cpu).map(|view| view.state.to_string());
        format!("{name} of {node}, {}", state.unwrap_or_default())
    }
}

/// The CPU of a thread, if it exists.
fn cpu(thread: Tid) -> Result<CpuId, TargetError<DebugError>> {
    cpu_of(thread).ok_or(TargetError::NonFatal)
}

impl Target for Cpus {
    type Arch = BigEndianMips;
    type Error = DebugError;

    fn base_ops(&mut self) -> BaseOps<'_, BigEndianMips, DebugError> {
        BaseOps::MultiThread(self)
    }

    /// All input is text then, and an interrupt byte is unambiguous.
    fn use_x_upcase_packet(&self) -> bool {
        false
    }

    fn use_fork_stop_reason(&self) -> bool {
        false
    }

    fn use_vfork_stop_reason(&self) -> bool {
        false
    }

    fn use_vforkdone_stop_reason(&self) -> bool {
        false
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_exec_file(&mut self) -> Option<ExecFileOps<'_, Self>> {
        self.image.is_some().then_some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for Cpus {
    fn read_registers(
        &mut self,
        registers: &mut CoreRegisters,
        thread: Tid,
    ) -> TargetResult<(), Self> {
        let cpu = cpu(thread)?;
        *registers = self.registers(cpu);
        self.looked_at = cpu;
        self.news.registers_read(cpu, self.cpu);
        Ok(())
    }

    fn write_registers(
        &mut self,
        registers: &CoreRegisters,
        thread: Tid,
    ) -> TargetResult<(), Self> {
        let cpu = cpu(thread)?;
        self.set_registers(cpu, registers)
            .map_err(TargetError::Fatal)
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(
        &mut self,
        address: u32,
        data: &mut [u8],
        thread: Tid,
    ) -> TargetResult<usize, Self> {
        let cpu = cpu(thread)?;
        self.looked_at = cpu;
        let bytes = self
            .board()
            .peek_bytes(cpu, address, data.len(), self.now());
        match bytes.len() {
            0 if !data.is_empty() => Err(TargetError::Errno(BAD_ADDRESS)),
            length => {
                data[..length].copy_from_slice(&bytes);
                Ok(length)
            }
        }
    }

    fn write_addrs(&mut self, address: u32, data: &[u8], thread: Tid) -> TargetResult<(), Self> {
        let (cpu, node) = (cpu(thread)?, self.node);
        let (board, now) = (self.board(), self.now());
        if board.peek_bytes(cpu, address, data.len(), now).len() < data.len() {
            return Err(TargetError::Errno(BAD_ADDRESS));
        }
        let history = &mut self.session.history;
        let change = history.change(|world| world.nodes[node].poke(cpu, address, data));
        match change {
            Ok(Ok(())) => Ok(()),
            Ok(Err(NothingThere { .. })) => Err(TargetError::Errno(BAD_ADDRESS)),
            Err(error) => Err(TargetError::Fatal(error)),
        }
    }

    fn list_active_threads(&mut self, is_active: &mut dyn FnMut(Tid)) -> Result<(), DebugError> {
        self.cpus().map(thread_of).for_each(is_active);
        Ok(())
    }

    fn is_thread_alive(&mut self, thread: Tid) -> Result<bool, DebugError> {
        Ok(cpu_of(thread).is_some())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl SingleRegisterAccess<Tid> for Cpus {
    fn read_register(
        &mut self,
        thread: Tid,
        register: GdbRegister,
        out: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let value = self.registers(cpu(thread)?).value(register);
        let Some((value, out)) = value.zip(out.first_chunk_mut()) else {
            return Ok(0);
        };
        *out = value.to_be_bytes();
        Ok(out.len())
    }

    fn write_register(
        &mut self,
        thread: Tid,
        register: GdbRegister,
        value: &[u8],
    ) -> TargetResult<(), Self> {
        let cpu = cpu(thread)?;
        let value = value.try_into().map_err(|_| TargetError::NonFatal)?;
        let value = u32::from_be_bytes(value);
        let mut registers = self.registers(cpu);
        match register.general() {
            Some(index) => registers.general[index] = value,
            // Also to where it stands: a CPU that stopped by itself goes on.
            None if register.is_pc() => {
                let taken = self.take_shown(cpu);
                let sent = taken.and_then(|()| self.change(|node| node.set_pc(cpu, value)));
                return sent.map_err(TargetError::Fatal);
            }
            None => return Err(TargetError::NonFatal),
        }
        self.set_registers(cpu, &registers)
            .map_err(TargetError::Fatal)
    }
}

impl ThreadExtraInfo for Cpus {
    fn thread_extra_info(&self, thread: Tid, out: &mut [u8]) -> Result<usize, DebugError> {
        let text = cpu_of(thread).map_or(String::new(), |cpu| self.describe(cpu));
        let length = text.len().min(out.len());
        out[..length].copy_from_slice(&text.as_bytes()[..length]);
        Ok(length)
    }
}

impl Breakpoints for Cpus {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Cpus {
    fn add_sw_breakpoint(&mut self, address: u32, _bytes: usize) -> TargetResult<bool, Self> {
        Ok(self.add(PointKind::Software, address, 4))
    }

    fn remove_sw_breakpoint(&mut self, address: u32, _bytes: usize) -> TargetResult<bool, Self> {
        self.remove(PointKind::Software, address, 4);
        Ok(true)
    }
}

impl HwBreakpoint for Cpus {
    fn add_hw_breakpoint(&mut self, address: u32, _bytes: usize) -> TargetResult<bool, Self> {
        Ok(self.add(PointKind::Hardware, address, 4))
    }

    fn remove_hw_breakpoint(&mut self, address: u32, _bytes: usize) -> TargetResult<bool, Self> {
        self.remove(PointKind::Hardware, address, 4);
        Ok(true)
    }
}

impl HwWatchpoint for Cpus {
    fn add_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        Ok(self.add(PointKind::Watch(kind), address, length))
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        self.remove(PointKind::Watch(kind), address, length);
        Ok(true)
    }
}

impl ExecFile for Cpus {
    fn get_exec_file(
        &self,
        _process: Option<Pid>,
        offset: u64,
        length: usize,
        out: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let image = self.image.as_deref().map(Path::as_os_str);
        let name = image.unwrap_or_default().as_encoded_bytes();
        let start = usize::try_from(offset).map_or(name.len(), |start| start.min(name.len()));
        let part = &name[start..];
        let length = part.len().min(length).min(out.len());
        out[..length].copy_from_slice(&part[..length]);
        Ok(length)
    }
}

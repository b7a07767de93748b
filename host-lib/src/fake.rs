//! A machine for the tests: a chip that stores words, memory with scattered pages, and a NIC that decodes
//! posted descriptors and completes them as the test says.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use defs::acenic::{COMMAND_CONSUMER, MAILBOX_COMMAND, MAILBOX_INTERRUPT};
use defs::emp::control::{
    COMMAND, COMMAND_START, DESCRIPTORS, MAILBOX_CANCEL, MAILBOX_COMMAND as EMP_MAILBOX_COMMAND,
    MAILBOX_RECEIVE, MAILBOX_TRANSMIT, READY, READY_MAGIC, ROUTE_CAPACITY, ROUTES,
};
use defs::emp::descriptor::{
    Code, DESCRIPTOR_BYTES, Form, STATUS_NEXT_MASK, STATUS_NEXT_NONE, STATUS_NIC_OWNS, node_tag,
    status_complete,
};
use defs::tigon2::map::{WINDOW_LOW_SRAM, WINDOW_VIEW, mailbox_low};
use defs::tigon2::regs::{
    CPU_STATE, HOST_CONTROL, HostControl, LOCAL_CONTROL, LocalControl, WINDOW_BASE,
};

use crate::at_once::{AnswersAtOnce, port_at_once};
use crate::window::{PhysicalAddress, SystemPort, VirtualAddress};

/// Tables of the fake firmware: the two descriptor pools meet at 0x1000 + 4000, and descriptor 614 crosses
/// a view's end.
pub const DESCRIPTOR_BASE: u32 = 0x1000;
pub const ROUTE_BASE: u32 = 0x47F8;
pub const PAGE: u64 = 4096;

/// Reaction of the NIC to the next posted descriptor.
#[derive(Debug, Clone, Copy)]
pub enum Script {
    /// Keeps the descriptor.
    Keep,
    /// Sets the status to this word and leaves the rest.
    Status(u32),
    /// A message of this node, tag and length arrives.
    Arrive(Code, u16, u16, u32),
}

/// A descriptor as the NIC has decoded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub mailbox: u32,
    pub address: u32,
    pub form: Form,
    pub node_tag: u32,
    pub length: u32,
    /// Physical address and length of each page entry.
    pub entries: Vec<(u64, u16)>,
}

/// State of chip, NIC and host memory.
pub struct Machine {
    pub registers: BTreeMap<u32, u32>,
    pub sram: BTreeMap<u32, u32>,
    pub posted: Vec<Posted>,
    pub script: VecDeque<Script>,
    /// Every write to the window: offset and words.
    pub writes: Vec<(u32, Vec<u32>)>,
    pub reads: usize,
    /// Descriptor address that the firmware reports.
    pub descriptor_base: u32,
    /// Whether the firmware is an EMP firmware; otherwise it is passive.
    pub speaks_emp: bool,
    /// Whether the firmware boots when CPU A starts.
    pub boots: bool,
    /// Whether the firmware takes commands.
    pub takes_commands: bool,
    /// Start commands taken.
    pub starts: usize,
    /// Values of the command mailbox.
    pub commands: Vec<u32>,
    /// Reaction to a cancelled receive that the NIC owns.
    pub on_cancel: Script,
    /// Whether the CPUs halt when requested.
    pub halts: bool,
    /// Physical memory.
    pub memory: BTreeMap<u64, u8>,
    /// Number of mapped pages.
    pub mapped_pages: u64,
    /// Number of pages that the library has allocated, from `LIST_PAGES` on.
    pub list_pages: u64,
    pub list_page_limit: u64,
    pub translations: usize,
    pub time_ns: u64,
    /// Number of allocated contiguous pages, from `CONTIGUOUS_PAGES` on.
    pub contiguous_pages: u64,
    /// The interrupts to come, in order; after them waits time out.
    pub interrupts: VecDeque<Interrupt>,
    /// Actions of the NIC at the end of an interrupt handler, in order.
    pub handler_ends: VecDeque<Interrupt>,
    /// Every access in order, as `R offset` or `W offset value` (hexadecimal; a burst: `W offset words`).
    pub accesses: Vec<String>,
    /// The EEPROM does not pull its data wire.
    pub eeprom_silent: bool,
}

/// First page of the library's own memory.
const LIST_PAGES: u64 = 1 << 20;
/// First page of contiguous memory, above 4 GB.
const CONTIGUOUS_PAGES: u64 = 1 << 21;

/// Bits of the fake chip's registers.
const INTERRUPT: u32 = HostControl::INTERRUPT.bits();
const EEPROM_IN: u32 = LocalControl::EEPROM_IN.bits();

/// Actions of the NIC before it interrupts.
pub type Interrupt = Box<dyn FnOnce(&mut Machine) + Send>;

/// The machine, shared between window, system and test.
#[derive(Clone)]
pub struct Fake(Arc<Mutex<Machine>>);

impl Fake {
    /// An idle Tigon2 with an answering firmware, and 4096 mapped pages.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Machine {
            registers: BTreeMap::from([(HOST_CONTROL, 6 << 28)]),
            sram: BTreeMap::new(),
            posted: Vec::new(),
            script: VecDeque::new(),
            writes: Vec::new(),
            reads: 0,
            descriptor_base: DESCRIPTOR_BASE,
            speaks_emp: true,
            boots: true,
            takes_commands: true,
            starts: 0,
            commands: Vec::new(),
            on_cancel: Script::Status(status_complete(Code::Cancelled, 0)),
            halts: true,
            memory: BTreeMap::new(),
            mapped_pages: 4096,
            list_pages: 0,
            list_page_limit: 1000,
            translations: 0,
            time_ns: 0,
            contiguous_pages: 0,
            interrupts: VecDeque::new(),
            handler_ends: VecDeque::new(),
            accesses: Vec::new(),
            eeprom_silent: false,
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, Machine> {
        self.0
            .lock()
            .expect("no test thread panics while it holds the machine")
    }
}

/// The physical address of a virtual one: adjacent pages are not adjacent, except in contiguous memory.
pub fn physical(address: u64) -> u64 {
    let page = address / PAGE;
    if page >= CONTIGUOUS_PAGES {
        return address;
    }
    (page ^ 0x5_A5A5) * PAGE + address % PAGE
}

impl Machine {
    /// Number of writes to `WINDOW_BASE` so far.
    pub fn base_writes(&self) -> usize {
        self.writes
            .iter()
            .filter(|(offset, _)| *offset == WINDOW_BASE)
            .count()
    }

    /// The last posted descriptor.
    pub fn last(&self) -> &Posted {
        self.posted.last().expect("something is posted")
    }

    pub fn word(&self, address: u32) -> u32 {
        self.sram.get(&address).copied().unwrap_or(0)
    }

    fn sram_address(&self, offset: u32) -> Option<u32> {
        match offset {
            0..WINDOW_LOW_SRAM => None,
            WINDOW_LOW_SRAM..WINDOW_VIEW => Some(offset - WINDOW_LOW_SRAM),
            _ => {
                let base = self.registers.get(&WINDOW_BASE).copied().unwrap_or(0);
                Some((base & !0x7FF) + offset - WINDOW_VIEW)
            }
        }
    }

    fn read(&mut self, offset: u32) -> u32 {
        self.reads += 1;
        self.accesses.push(format!("R {offset:03x}"));
        match self.sram_address(offset) {
            Some(address) => self.word(address),
            None if offset == LOCAL_CONTROL && self.eeprom_silent => EEPROM_IN,
            None => self.registers.get(&offset).copied().unwrap_or(0),
        }
    }

    fn write(&mut self, offset: u32, value: u32) {
        match self.sram_address(offset) {
            Some(address) => self.write_sram(address, value),
            None => self.write_register(offset, value),
        }
    }

    fn write_register(&mut self, offset: u32, value: u32) {
        let starts = offset == CPU_STATE && value & (1 << 16) == 0;
        let value = match offset {
            HOST_CONTROL => self.registers[&HOST_CONTROL],
            CPU_STATE if !self.halts => 0,
            _ => value,
        };
        self.registers.insert(offset, value);
        if starts && self.boots && self.speaks_emp {
            self.boot();
        }
    }

    /// Writes the words of a starting firmware.
    pub fn boot(&mut self) {
        for (address, value) in [
            (DESCRIPTORS, self.descriptor_base),
            (ROUTES, ROUTE_BASE),
            (ROUTE_CAPACITY, 256),
            (READY, READY_MAGIC),
        ] {
            self.sram
                .entry(address)
                .and_modify(|word| *word = value)
                .or_insert(value);
        }
    }

    fn write_sram(&mut self, address: u32, value: u32) {
        self.sram.insert(address, value);
        if !self.speaks_emp {
            return self.write_mailbox(address, value);
        }
        for mailbox in [MAILBOX_TRANSMIT, MAILBOX_RECEIVE] {
            if address == mailbox_low(mailbox) {
                self.sram.insert(address, 0);
                self.complete_post(mailbox, value);
            }
        }
        if address == mailbox_low(MAILBOX_CANCEL) {
            self.sram.insert(address, 0);
            if self.word(value + 16) & STATUS_NIC_OWNS != 0 {
                self.complete(value, self.on_cancel);
            }
        }
        if address == mailbox_low(EMP_MAILBOX_COMMAND) {
            self.sram.insert(address, 0);
            self.commands.push(value);
        }
        if (address, value) == (COMMAND, COMMAND_START) && self.takes_commands {
            self.sram.insert(address, 0);
            self.starts += 1;
        }
    }

    /// Immediate reactions of an adapter's firmware.
    fn write_mailbox(&mut self, address: u32, value: u32) {
        if address == mailbox_low(MAILBOX_INTERRUPT) {
            self.end_interrupt(value);
        } else if address == mailbox_low(MAILBOX_COMMAND) && self.takes_commands {
            self.sram.insert(COMMAND_CONSUMER, value);
        }
    }

    /// Handles the driver's write to mailbox 0: 1 at the start of its handler, 0 at the end.
    fn end_interrupt(&mut self, value: u32) {
        let handled = self.registers[&HOST_CONTROL] & INTERRUPT != 0 || value == 1;
        *self.registers.entry(HOST_CONTROL).or_default() &= !INTERRUPT;
        if value == 0
            && !handled
            && let Some(act) = self.handler_ends.pop_front()
        {
            act(self);
        }
    }

    fn descriptor(&self, address: u32) -> [u32; 5] {
        [0, 4, 8, 12, 16].map(|offset| self.word(address + offset))
    }

    /// The NIC takes a posted descriptor and completes it as the script says.
    fn complete_post(&mut self, mailbox: u32, address: u32) {
        let words = self.descriptor(address);
        assert_ne!(
            words[4] & STATUS_NIC_OWNS,
            0,
            "posted without its owner bit"
        );
        let form = Form::from_status(words[4]).expect("posted with a form");
        let entries = match form {
            Form::Short => vec![entry(words[0], words[1])],
            Form::Chained => self.chain_entries(words),
            Form::Indirect => self.list_entries(words),
        };
        self.posted.push(Posted {
            mailbox,
            address,
            form,
            node_tag: words[2],
            length: words[3],
            entries,
        });
        let script = self.script.pop_front().unwrap_or(Script::Keep);
        self.complete(address, script);
    }

    pub fn complete(&mut self, address: u32, script: Script) {
        match script {
            Script::Keep => {}
            Script::Status(status) => {
                self.sram.insert(address + 16, status);
            }
            Script::Arrive(code, node, tag, length) => {
                self.sram.insert(address + 8, node_tag(node, tag));
                self.sram
                    .insert(address + 16, status_complete(code, length));
            }
        }
    }

    /// Follows a chain until its entries hold the whole message.
    fn chain_entries(&self, head: [u32; 5]) -> Vec<(u64, u16)> {
        let mut entries = vec![entry(head[0], head[1])];
        let mut next = head[4] & STATUS_NEXT_MASK;
        while next != STATUS_NEXT_NONE {
            let words = self.descriptor(DESCRIPTOR_BASE + next * DESCRIPTOR_BYTES);
            entries.push(entry(words[0], words[1]));
            entries.push(entry(words[2], words[3]));
            assert!(entries.len() <= 7, "a chain has four descriptors at most");
            next = words[4] & STATUS_NEXT_MASK;
        }
        if entries.last().is_some_and(|last| last.1 == 0) {
            entries.pop();
        }
        entries
    }

    /// Reads a page list from host memory, as bytes.
    fn list_entries(&self, head: [u32; 5]) -> Vec<(u64, u16)> {
        let (list, length) = entry(head[0], head[1]);
        let word =
            |at: u64| u32::from_be_bytes([0, 1, 2, 3].map(|byte| self.memory[&(list + at + byte)]));
        (0..u64::from(length))
            .step_by(8)
            .map(|at| entry(word(at), word(at + 4)))
            .collect()
    }
}

fn entry(high: u32, low: u32) -> (u64, u16) {
    let address = (u64::from(high & 0xFFFF) << 32) | u64::from(low);
    (address, (high >> 16) as u16)
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fake")
    }
}

impl AnswersAtOnce for Fake {
    fn read(&self, offset: u32) -> u32 {
        self.lock().read(offset)
    }

    fn write_burst(&self, offset: u32, values: &[u32]) {
        let mut machine = self.lock();
        machine.writes.push((offset, values.to_vec()));
        let written = match values {
            [value] => format!("{value:x}"),
            words => format!("{} words", words.len()),
        };
        machine.accesses.push(format!("W {offset:03x} {written}"));
        for (offset, value) in (offset..).step_by(4).zip(values) {
            machine.write(offset, *value);
        }
    }

    fn memory_word(&self, address: VirtualAddress) -> Result<u32, VirtualAddress> {
        let mut bytes = [0; 4];
        self.read_memory(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn translate(&self, address: VirtualAddress, length: u64) -> Option<Vec<PhysicalAddress>> {
        let mut machine = self.lock();
        machine.translations += 1;
        let last = (address.0 + length - 1) / PAGE;
        let first = address.0 / PAGE;
        let own = LIST_PAGES..LIST_PAGES + machine.list_pages;
        if last >= machine.mapped_pages && !own.contains(&last) {
            return None;
        }
        Some(
            (first..=last)
                .map(|page| PhysicalAddress(physical(address.0.max(page * PAGE))))
                .collect(),
        )
    }

    fn pass(&self, nanoseconds: u64) {
        self.lock().time_ns += nanoseconds;
    }

    fn wait_interrupt(&self, timeout_ns: Option<u64>) -> bool {
        let mut machine = self.lock();
        match machine.interrupts.pop_front() {
            Some(act) => {
                act(&mut machine);
                *machine.registers.entry(HOST_CONTROL).or_default() |= INTERRUPT;
                true
            }
            None => {
                machine.time_ns += timeout_ns.expect("nothing would ever happen");
                false
            }
        }
    }
}

port_at_once!(Fake);

impl SystemPort for Fake {
    fn allocate(&mut self, length: u64) -> Option<VirtualAddress> {
        let mut machine = self.lock();
        assert_eq!(length, PAGE);
        if machine.list_pages == machine.list_page_limit {
            return None;
        }
        let page = LIST_PAGES + machine.list_pages;
        machine.list_pages += 1;
        Some(VirtualAddress(page * PAGE))
    }

    fn write_memory(
        &mut self,
        address: VirtualAddress,
        bytes: &[u8],
    ) -> Result<(), VirtualAddress> {
        let start = physical(address.0);
        self.lock()
            .memory
            .extend((start..).zip(bytes.iter().copied()));
        Ok(())
    }

    fn read_memory(&self, address: VirtualAddress, bytes: &mut [u8]) -> Result<(), VirtualAddress> {
        let machine = self.lock();
        for (at, byte) in (address.0..).zip(bytes) {
            *byte = match machine.memory.get(&physical(at)) {
                Some(byte) => *byte,
                None if at / PAGE >= CONTIGUOUS_PAGES => 0,
                None => return Err(VirtualAddress(at)),
            };
        }
        Ok(())
    }

    fn allocate_contiguous(&mut self, length: u64) -> Option<(VirtualAddress, PhysicalAddress)> {
        let mut machine = self.lock();
        let page = CONTIGUOUS_PAGES + machine.contiguous_pages;
        machine.contiguous_pages += length.div_ceil(PAGE);
        let address = page * PAGE;
        Some((VirtualAddress(address), PhysicalAddress(physical(address))))
    }

    fn now_ps(&self) -> u64 {
        self.lock().time_ns * 1000
    }
}

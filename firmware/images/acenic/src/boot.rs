//! Start-up, from power-on to the firmware-running event: memory, configuration, DMA assist, link.

use acenic_protocol::config::{self, Board, ConfigError, Info};
use acenic_protocol::memory;
use acenic_protocol::multicast::Multicast;
use defs::acenic::info::{INFO_BYTES, RingFlags};
use defs::acenic::{INFO_HIGH, INFO_LOW, MAC_HIGH, MAC_LOW, MODE, Mode, TX_BUFFER_RATIO, message};
use tigon2_hal::cpu::{self, A};
use tigon2_hal::dma::DmaState;
use tigon2_hal::layout::{self, Layout};
use tigon2_hal::regs::{self, AssistState, MacRxState, MiscConfig, PciState};
use tigon2_hal::{Singleton, event, log, mac, sram, timer};

use crate::dma::{ASSIST_EVENTS, DmaControl, EVENTS, push_word, write};
use crate::receive::Receive;
use crate::send::Send;
use crate::{Firmware, run, statistics, tables, trace};

const LEAST_MEMORY: u32 = 256 * 1024;
const MOST_MEMORY: u32 = 2 * 1024 * 1024;
/// VLAN tag protocol in the high half of `VLAN_TAG_TYPE`.
const TAG_PROTOCOL: u32 = 0x8100 << 16;
/// Gaps and slot length as set by 12.4.11.
const GAPS: u32 = 0x241F;
/// Values as set by 12.4.11; their meaning is unknown.
const THRESHOLDS: u32 = 0x100B_07E3;
const RING_CONFIG: u32 = 3;
/// Timeout of CPU B's start.
const B_PATIENCE_US: u32 = 1_000;

static MULTICAST: Singleton<Multicast> = Singleton::new(Multicast::new());

pub fn main(cpu: A) -> ! {
    trace::initialise();
    let memory_bytes = memory_bytes();
    trace!("probeMem", memory_bytes, tables::end());
    regs::write(regs::TIMER, 0);
    trace!("**DAWN_A", regs::read(regs::HOST_CONTROL));
    let mode = Mode::from_bits_retain(sram::read(MODE));
    let control = DmaControl::for_mode(mode);
    let layout = lay_out(memory_bytes);
    layout::initialise(&layout);
    read_info(control.read);
    let info = Info::read(|offset| sram::read(tables::info() + offset));
    trace!(
        "genConf",
        mode.bits(),
        info.send.flags.bits(),
        info.standard.flags.bits()
    );
    start_assist(&cpu, mode);
    run(cpu, |firmware| {
        firmware.mode = mode;
        firmware.control = control;
        firmware.info = info;
        firmware.begin(&layout);
    })
}

/// Finds the size of SRAM by its aliases: an address and the address plus the SRAM size are the same word
/// (docs/tigon2.md, section 1).
fn memory_bytes() -> u32 {
    const PATTERN: u32 = 0xABBA_BABE;
    let mut size = LEAST_MEMORY;
    while size < MOST_MEMORY {
        let (once, twice) = (sram::read(size), sram::read(2 * size));
        sram::write(2 * size, 0);
        sram::write(size, PATTERN);
        let same = sram::read(2 * size) == PATTERN;
        sram::write(2 * size, twice);
        sram::write(size, once);
        if same {
            break;
        }
        size *= 2;
    }
    size
}

fn lay_out(memory_bytes: u32) -> Layout {
    let share = sram::read(TX_BUFFER_RATIO);
    match memory::buffers(memory_bytes, tables::end(), share) {
        Some(buffers) => {
            trace!("memSize", memory_bytes, buffers.tx, buffers.rx, share);
            Layout {
                tx_buffer: buffers.tx,
                rx_buffer: buffers.rx,
            }
        }
        None => panic!("no room for frame buffers"),
    }
}

/// Reads the host's information block by a direct transfer on the channel: no ring runs yet.
fn read_info(state: DmaState) {
    regs::write(regs::READ_HOST_HIGH, sram::read(INFO_HIGH));
    regs::write(regs::READ_HOST_LOW, sram::read(INFO_LOW));
    regs::write(regs::READ_LOCAL, tables::info());
    regs::write(regs::READ_LENGTH, INFO_BYTES);
    regs::write(regs::READ_STATE, state.bits());
    let ended = loop {
        let now = DmaState::from_bits_retain(regs::read(regs::READ_STATE));
        if !now.contains(DmaState::START) {
            break now;
        }
    };
    assert!(
        !ended.intersects(DmaState::ERRORS),
        "no information block in host memory"
    );
}

/// Starts the hardware assist, or CPU B in its place.
fn start_assist(cpu: &A, mode: Mode) {
    if mode.contains(Mode::ONE_DMA) {
        let state = AssistState::ENABLE | AssistState::ONE_DMA | AssistState::ALWAYS;
        trace!("hwDmaOn", state.bits());
        regs::write(regs::ASSIST_STATE, state.bits());
        return;
    }
    trace!("swDmaOn", regs::read(regs::ASSIST_STATE));
    cpu::start_b(cpu);
    let patience = timer::now_us().wrapping_add(B_PATIENCE_US);
    while !cpu::b_has_started() {
        assert!(!timer::is_past(patience), "CPU B does not start");
    }
    trace!("**DAWN_B", regs::read(regs::CPU_PC + regs::CPU_B));
}

/// Panic hook: leaves a trace record for the host and stops the chip's activity.
pub fn on_panic(line: u32) {
    trace!("*PANIC*", line);
    regs::set(regs::ASSIST_STATE, AssistState::PAUSE.bits());
    let receiver = MacRxState::from_bits_retain(regs::read(regs::MAC_RX_STATE));
    let stopped = receiver.difference(MacRxState::ATTENTIONS) | MacRxState::STOP;
    regs::write(regs::MAC_RX_STATE, stopped.bits());
}

impl Firmware {
    /// Tells the host that the firmware runs, and starts operation.
    #[inline(never)]
    fn begin(&mut self, layout: &Layout) {
        statistics::clear();
        self.multicast = Some(MULTICAST.take());
        self.prepare_mac();
        let checked = self.check();
        self.usable = checked.is_ok();
        if self.usable {
            self.send = Send::start(&self.info, layout.tx_region());
            self.receive = Receive::start(&self.info, layout.rx_region());
        }
        let assist = if self.mode.contains(Mode::ONE_DMA) {
            ASSIST_EVENTS
        } else {
            0
        };
        event::set_mask(EVENTS | assist);
        event::disable(event::SOFT_SEND);
        self.take_tuning();
        for word in [self.info.return_producer, self.info.send_consumer] {
            // The rings are empty: there is room.
            let _ = push_word(word, 0, write::QUIET, self.control.write);
        }
        self.send_event(message::FIRMWARE_RUNNING, 0, 0);
        if let Err(error) = checked {
            if let ConfigError::OlderHost = error {
                log!(
                    "the host speaks the protocol of firmware 12.1: its information block has no mini ring"
                );
                trace!("oldHost", 12, 1);
            }
            trace!("fwOpFail", error as u32);
            self.send_event(message::ERROR, message::BAD_CONFIGURATION, 0);
        }
        self.start_link();
    }

    fn prepare_mac(&self) {
        regs::write(regs::RX_RING_CONFIG, RING_CONFIG);
        regs::write(regs::MAC_THRESHOLDS, THRESHOLDS);
        let tags = self.info.send.flags.contains(RingFlags::VLAN_ASSIST);
        let protocol = if tags { TAG_PROTOCOL } else { 0 };
        regs::write(regs::VLAN_TAG_TYPE, protocol | GAPS);
        mac::set_address(sram::read(MAC_HIGH), sram::read(MAC_LOW));
        mac::set_multicast_hash([0; 4]);
    }

    fn check(&self) -> Result<(), ConfigError> {
        let misc = MiscConfig::from_bits_retain(regs::read(regs::MISC_CONFIG));
        let pci = PciState::from_bits_retain(regs::read(regs::PCI_STATE));
        let board = Board {
            revision: regs::read(regs::HOST_CONTROL) >> regs::REVISION_SHIFT,
            mode: self.mode,
            synchronous_sram: misc.contains(MiscConfig::SYNCHRONOUS_SRAM),
            write_all_align: pci.contains(PciState::WRITE_ALL_ALIGN),
        };
        config::check(&self.info, &board)
    }
}

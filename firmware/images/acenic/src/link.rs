//! The link: polled periodically, and on each receiver attention.

use acenic_protocol::link::{Change, Drive, Negotiation, Signals};
use defs::acenic::{GIGABIT_LINK, GIGABIT_STATE, Link, message};
use tigon2_hal::regs::{self, MacRxState};
use tigon2_hal::{event, mac, sram, timer};

use crate::statistics::count;
use crate::{Alarm, Firmware, trace};

/// Poll period while the link comes up.
const SEARCH_US: u32 = 1_000;
/// Poll period while the link is up.
const WATCH_US: u32 = 10_000;

/// State of the gigabit link: negotiation and transmitter.
pub struct GigabitLink {
    negotiation: Negotiation,
    /// State of the transmitter.
    drive: Drive,
}

impl GigabitLink {
    pub const fn new() -> Self {
        Self {
            negotiation: Negotiation::OFF,
            drive: Drive {
                frames: false,
                word: 0,
            },
        }
    }

    pub fn is_up(&self) -> bool {
        self.negotiation.is_up()
    }
}

fn signals() -> Signals {
    let state = MacRxState::from_bits_retain(regs::read(regs::MAC_RX_STATE));
    Signals {
        signal: state.contains(MacRxState::SIGNAL),
        partner_config: state.contains(MacRxState::PARTNER_CONFIG),
        word: regs::read(regs::RX_CONFIG_WORD),
    }
}

impl Firmware {
    /// Starts to bring up the link that the host has enabled.
    #[inline(never)]
    pub fn start_link(&mut self) {
        let wishes = Link::from_bits_retain(sram::read(GIGABIT_LINK));
        trace!("linkGO", wishes.bits());
        let change = self.link.negotiation.start(wishes, timer::now_us());
        self.link_changed(change);
        self.look_at_link();
    }

    /// Steps the link's state machine.
    #[inline(never)]
    pub fn look_at_link(&mut self) {
        let change = self.link.negotiation.step(timer::now_us(), signals());
        let drive = self.link.negotiation.drive();
        if drive != self.link.drive {
            self.link.drive = drive;
            mac::drive(drive.frames, drive.word);
        }
        self.link_changed(change);
        let pause = if self.link.is_up() {
            WATCH_US
        } else {
            SEARCH_US
        };
        self.set_alarm(Alarm::Link, pause);
        self.make_up_for_interrupt();
    }

    fn link_changed(&mut self, change: Option<Change>) {
        match change {
            None => {}
            Some(Change::Up(link)) => {
                trace!("linkUP", link.bits(), regs::read(regs::RX_CONFIG_WORD));
                sram::write(GIGABIT_STATE, link.bits());
                mac::enable_rx(true);
                // Frames waited for the link.
                event::enable(event::SOFT_SEND);
                self.send_event(message::LINK_STATE, message::LINK_UP, 0);
            }
            Some(Change::Down) => {
                trace!("linkDOWN", regs::read(regs::MAC_RX_STATE));
                sram::write(GIGABIT_STATE, 0);
                mac::enable_rx(false);
                event::disable(event::SOFT_SEND);
                self.send_event(message::LINK_STATE, message::LINK_DOWN, 0);
            }
        }
    }

    pub fn on_link_attention(&mut self) {
        let attentions = mac::take_rx_attentions();
        count!("nic_mac_rx_total_attns");
        if attentions.contains(MacRxState::ATTENTION_LINK) {
            count!("nic_mac_rx_link_attns");
        }
        if attentions.contains(MacRxState::ATTENTION_SYNC) {
            count!("nic_mac_rx_sync_attns");
        }
        if attentions.contains(MacRxState::ATTENTION_CONFIG) {
            count!("nic_mac_rx_config_attns");
        }
        if attentions.contains(MacRxState::ATTENTION_BUFFER) {
            count!("nic_mac_rx_buf_attns");
        }
        self.look_at_link();
    }
}

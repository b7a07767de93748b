//! Mailboxes, and the command ring in SRAM (docs/tigon2-driver.md, section 8).

use defs::acenic::message::{self, CODE_OFF, CODE_ON, COMMAND_BYTES};
use defs::acenic::{
    COMMAND_CONSUMER, COMMAND_ENTRIES, MAC_HIGH, MAC_LOW, MAILBOX_COMMAND, MAILBOX_INTERRUPT,
    MAILBOX_JUMBO, MAILBOX_MINI, MAILBOX_SEND, MAILBOX_STANDARD, MULTICAST_HIGH, MULTICAST_LOW,
};
use defs::tigon2::map::COMMAND_RING_BASE;
use tigon2_hal::cpu::A;
use tigon2_hal::{mac, mailbox, sram};

use crate::receive::{JUMBO, MINI, STANDARD};
use crate::statistics::{self, count};
use crate::{Firmware, Tuning, trace};

const MASK: u32 = COMMAND_ENTRIES - 1;
const SHIFT: u32 = COMMAND_BYTES.trailing_zeros();
/// Entries of an extended command: the command and an address.
const EXTENDED_ENTRIES: u32 = 3;
/// Multicast filter that accepts everything.
const ALL_MULTICAST: [u32; 4] = [u32::MAX; 4];

fn entry(index: u32) -> u32 {
    sram::read(COMMAND_RING_BASE + ((index & MASK) << SHIFT))
}

const fn is_extended(what: u32) -> bool {
    matches!(
        what,
        message::EXTENDED_ADD_MULTICAST | message::EXTENDED_DELETE_MULTICAST
    )
}

impl Firmware {
    pub fn on_mailbox(&mut self) {
        while let Some(mailbox) = mailbox::next::<A>() {
            let value = mailbox::take::<A>(mailbox);
            match mailbox {
                MAILBOX_SEND => self.send_produced(value),
                MAILBOX_STANDARD => self.buffers_produced(STANDARD, value),
                MAILBOX_MINI => self.buffers_produced(MINI, value),
                MAILBOX_JUMBO => self.buffers_produced(JUMBO, value),
                MAILBOX_INTERRUPT => self.make_up_for_interrupt(),
                MAILBOX_COMMAND => self.run_commands(value),
                _ => trace!("hcmdMbx?", mailbox, value),
            }
        }
    }

    #[inline(never)]
    fn run_commands(&mut self, producer: u32) {
        let producer = producer & MASK;
        let mut consumer = sram::read(COMMAND_CONSUMER) & MASK;
        while consumer != producer {
            let command = entry(consumer);
            let entries = if is_extended(message::what(command)) {
                EXTENDED_ENTRIES
            } else {
                1
            };
            if producer.wrapping_sub(consumer) & MASK < entries {
                // The rest of the command has not been written yet.
                return;
            }
            self.run_command(command, entry(consumer + 1), entry(consumer + 2));
            consumer = (consumer + entries) & MASK;
            sram::write(COMMAND_CONSUMER, consumer);
        }
    }

    /// Executes a command; `high` and `low` are the address of an extended one.
    fn run_command(&mut self, command: u32, high: u32, low: u32) {
        let (what, code) = (message::what(command), message::code(command));
        let index = message::index(command);
        trace!("command", what, code, index);
        match what {
            message::HOST_STATE => self.set_host_state(code),
            message::SET_STANDARD_PRODUCER => {
                count!("nic_cmds_set_recv_prod_index");
                self.buffers_produced(STANDARD, index);
            }
            message::SET_JUMBO_PRODUCER => {
                count!("nic_cmds_set_recv_jumbo_prod_index");
                self.buffers_produced(JUMBO, index);
            }
            message::UPDATE_GENERAL => {
                count!("nic_cmds_update_gencomm_stats");
                self.take_tuning();
            }
            message::RESET_JUMBO => {
                count!("nic_cmds_reset_jumbo_ring");
                self.reset_jumbo();
                self.send_event(message::JUMBO_RESET, 0, 0);
            }
            message::ADD_MULTICAST => {
                self.add_multicast(sram::read(MULTICAST_HIGH), sram::read(MULTICAST_LOW));
            }
            message::DELETE_MULTICAST => {
                self.delete_multicast(sram::read(MULTICAST_HIGH), sram::read(MULTICAST_LOW));
            }
            message::EXTENDED_ADD_MULTICAST => self.add_multicast(high, low),
            message::EXTENDED_DELETE_MULTICAST => self.delete_multicast(high, low),
            message::SET_PROMISCUOUS => {
                count!("nic_cmds_set_promisc_mode");
                self.switch(what, code, mac::set_promiscuous);
            }
            message::SET_ALL_MULTICAST => {
                count!("nic_cmds_set_multicast_mode");
                let listed = self.listed_multicast();
                let filter = |on| mac::set_multicast_hash(if on { ALL_MULTICAST } else { listed });
                self.all_multicast = code == CODE_ON;
                self.switch(what, code, filter);
            }
            message::NEGOTIATE_LINK => {
                count!("nic_cmds_link_negotiate");
                self.start_link();
            }
            message::SET_MAC_ADDRESS => {
                count!("nic_cmds_set_mac_addr");
                mac::set_address(sram::read(MAC_HIGH), sram::read(MAC_LOW));
            }
            message::CLEAR_STATISTICS => {
                statistics::clear();
                count!("nic_cmds_clear_stats");
            }
            message::LOAD_STATISTICS => {
                count!("nic_cmds_refresh_stats");
                self.load_statistics();
            }
            // 0: frames are reported as a whole, which is always the case.
            message::PARTIAL_RECEIVE if index == 0 => {}
            message::PARTIAL_RECEIVE => {
                self.send_event(message::ERROR, message::UNIMPLEMENTED_COMMAND, what);
            }
            _ => {
                count!("nic_cmds_unknown");
                self.refuse(what);
            }
        }
    }

    /// Reports an unknown command, or an unknown code.
    fn refuse(&mut self, what: u32) {
        self.send_event(message::ERROR, message::INVALID_COMMAND, what);
    }

    /// Executes a command that enables or disables something.
    fn switch(&mut self, what: u32, code: u32, turn: impl FnOnce(bool)) {
        match code {
            CODE_ON => turn(true),
            CODE_OFF => turn(false),
            _ => self.refuse(what),
        }
    }

    fn set_host_state(&mut self, code: u32) {
        count!("nic_cmds_host_state");
        match code {
            CODE_ON if self.usable => self.open = true,
            CODE_ON => trace!("fwOpFail", code),
            CODE_OFF => self.open = false,
            _ => self.refuse(message::HOST_STATE),
        }
        self.look_at_receiver();
    }

    /// Reads the general words that the host may change.
    pub fn take_tuning(&mut self) {
        self.tuning = Tuning::read();
        let ticks = self.tuning.statistics_ticks;
        if ticks == 0 {
            self.clear_alarm(crate::Alarm::Statistics);
        } else {
            self.set_alarm(crate::Alarm::Statistics, ticks);
        }
    }

    fn listed_multicast(&self) -> [u32; 4] {
        self.multicast.as_ref().map_or([0; 4], |list| list.hash())
    }

    fn add_multicast(&mut self, high: u32, low: u32) {
        count!("nic_cmds_add_mcast_addr");
        if let Some(list) = &mut self.multicast {
            list.add(high, low);
        }
        self.multicast_changed(CODE_ON);
    }

    fn delete_multicast(&mut self, high: u32, low: u32) {
        count!("nic_cmds_del_mcast_addr");
        if let Some(list) = &mut self.multicast {
            list.remove(high, low);
        }
        self.multicast_changed(CODE_OFF);
    }

    fn multicast_changed(&mut self, code: u32) {
        if !self.all_multicast {
            mac::set_multicast_hash(self.listed_multicast());
        }
        self.send_event(message::MULTICAST_CHANGED, code, 0);
    }
}

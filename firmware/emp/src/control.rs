//! Host requests other than messages: cancelling a receive, and changing settings while the protocol runs.
//!
//! Handlers run one at a time. So a receive is either still in the list of posted receives, and no frame
//! has touched its memory, or it belongs to a message. The mailbox is acknowledged last: a host that reads
//! 0 there finds the status of a cancelled receive already written.
//!
//! Both CPUs get the event of every mailbox. Sender and matcher each process their mailboxes. Both apply
//! the settings, and the matcher acknowledges. The sender applies them before any message posted after the
//! acknowledgement, because its event for that mailbox was set earlier.

use crate::Emp;
use crate::nic::{Event, Nic};
use crate::roles::Roles;
use crate::tables::Posting;
use defs::emp::control::{COMMAND_SET, MAILBOX_CANCEL, MAILBOX_COMMAND};
use defs::emp::descriptor::{Code, SEND_DESCRIPTORS, WORD_NODE_TAG};
use defs::tigon2::map::mailbox_low;

use crate::descriptor::descriptor_at;

impl<N: Nic> Emp<'_, N> {
    /// Processes written mailboxes other than those for posts: `written` has one bit per mailbox.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_control_mailboxes(&mut self, written: u32) {
        if N::Roles::MATCHER && written & (1 << MAILBOX_CANCEL) != 0 {
            let word = mailbox_low(MAILBOX_CANCEL);
            self.cancel_receive(self.nic.load(word));
            self.nic.store(word, 0);
        }
        if written & (1 << MAILBOX_COMMAND) != 0 {
            let word = mailbox_low(MAILBOX_COMMAND);
            self.obey(self.nic.load(word));
            if N::Roles::MATCHER {
                self.nic.store(word, 0);
            }
        }
        if N::Roles::SENDER && written & !((1 << MAILBOX_CANCEL) | (1 << MAILBOX_COMMAND)) != 0 {
            // These mailboxes have no function.
            self.bad_post(0);
        }
    }

    /// Cancels the receive with the descriptor at `address`, if no message has begun to fill it.
    fn cancel_receive(&mut self, address: u32) {
        let index = match descriptor_at(address.wrapping_sub(self.memory.descriptors())) {
            Some(index) if index >= SEND_DESCRIPTORS => index,
            _ => return self.bad_post(address),
        };
        let place = (index - SEND_DESCRIPTORS) as u16;
        if self.tables.posted(place).state != Posting::Waiting {
            return;
        }
        self.tables.unlink_posted(place, Posting::Free);
        let node_tag = self.nic.load(self.descriptor_word(index, WORD_NODE_TAG));
        self.write_status(index, Code::Cancelled, 0);
        self.nic.event(
            Event::ReceiveCancelled,
            node_tag >> 16,
            0,
            node_tag & 0xFFFF,
        );
    }

    /// Executes a command.
    fn obey(&mut self, command: u32) {
        // A sender without the matcher may read the mailbox after its acknowledgement: the command is gone then.
        if N::Roles::MATCHER && command != COMMAND_SET {
            return self.bad_post(command);
        }
        self.take_settings();
        // Messages in progress get new deadlines.
        if N::Roles::MATCHER {
            self.watch_anew();
        }
        self.on_timer();
    }
}

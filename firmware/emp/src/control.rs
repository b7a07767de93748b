//! What a host asks for beside messages: taking a receive back, and other settings while messages are
//! under way.
//!
//! Handlers run one at a time, so a receive is either still in the list of those that wait, and then no
//! frame has touched its memory, or it belongs to a message. The mailbox is answered last: a host that
//! reads 0 there finds the status written if the receive came back.
//!
//! Both CPUs hear of every mailbox. Sender and matcher take what is theirs; the settings are both's, and the
//! matcher answers. The sender takes them before any message that is posted after the answer, since its event
//! for that mailbox stood first.

use crate::Emp;
use crate::nic::{Event, Nic};
use crate::roles::Roles;
use crate::tables::Posting;
use defs::emp::control::{COMMAND_SET, MAILBOX_CANCEL, MAILBOX_COMMAND};
use defs::emp::descriptor::{Code, SEND_DESCRIPTORS, WORD_NODE_TAG};
use defs::tigon2::map::mailbox_low;

use crate::descriptor::descriptor_at;

impl<N: Nic> Emp<'_, N> {
    /// Mailboxes were written that no message is posted with: `written` has a bit for each.
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
            // Nobody listens at these.
            self.bad_post(0);
        }
    }

    /// The host takes back the receive whose descriptor is at `address`, if no message has begun to
    /// fill it.
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

    /// Carries out a command.
    fn obey(&mut self, command: u32) {
        // A sender without the matcher may come too late to read the command: it is answered already.
        if N::Roles::MATCHER && command != COMMAND_SET {
            return self.bad_post(command);
        }
        self.take_settings();
        // What is under way has other deadlines now.
        if N::Roles::MATCHER {
            self.watch_anew();
        }
        self.on_timer();
    }
}

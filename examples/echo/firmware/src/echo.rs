//! The protocol: a node sends a request with a number and a value, its peer returns the value. A request
//! without an answer is retransmitted after a timeout, so the peer must recognise requests already served.

use tigon2_hal::cpu::A;
use tigon2_hal::layout::{self, Layout};
use tigon2_hal::mac::{self, RxRing, TxRing};
use tigon2_hal::rings::{Region, TxSpace};
use tigon2_hal::{dispatch, entry_a, event, mailbox, sram, timer};

use crate::CHECKS_NUMBERS;
use crate::layout::*;

const RX: Region = Layout::DEFAULT.rx_region();
/// A node's address is 02:4c:61:6e and its number.
const ADDRESS: [u16; 2] = [0x024C, 0x616E];

/// The frame: both addresses, type and kind (two halfwords), number, value (words).
const ETHERTYPE: u16 = 0x88B6;
const REQUEST: u16 = 1;
const REPLY: u16 = 2;
const NUMBER_OFFSET: u32 = 16;
const VALUE_OFFSET: u32 = 20;
const FRAME_BYTES: u32 = 60;

/// Timeout of a request, and the largest number of its transmissions.
const TIMEOUT_US: u32 = 100;
const MOST_TRIES: u32 = 4;

struct Echo {
    space: TxSpace,
    node: u32,
    /// Transmissions of the request; 0 if none is pending.
    tries: u32,
    peer: u32,
    number: u32,
    value: u32,
    /// Number of the last request served for the peer.
    served: u32,
}

dispatch! {
    fn run(cpu: A, state: Echo = Echo {
        space: TxSpace::new(Layout::DEFAULT.tx_region()),
        node: 0, tries: 0, peer: 0, number: 0, value: 0, served: 0,
    });
    MAILBOX => Echo::on_mailbox,
    RX_COMPLETE => Echo::on_frame,
    TIMER => Echo::on_timeout,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    layout::initialise(&Layout::DEFAULT);
    event::enable(event::MAILBOX);
    event::enable(event::RX_COMPLETE);
    run(cpu, |_| {})
}

impl Echo {
    fn on_mailbox(&mut self) {
        while let Some(index) = mailbox::next::<A>() {
            let value = mailbox::take::<A>(index);
            match index {
                MAILBOX_NODE => {
                    self.node = value;
                    mac::set_address(ADDRESS[0].into(), u32::from(ADDRESS[1]) << 16 | value);
                    mac::enable_fixed_link();
                }
                MAILBOX_REQUEST => {
                    self.number = value;
                    self.peer = sram::read(PEER);
                    self.value = sram::read(VALUE);
                    self.tries = 0;
                    self.request();
                }
                _ => event!("unknown mailbox", index),
            }
        }
    }

    /// Sends the request and starts its timeout.
    fn request(&mut self) {
        self.tries += 1;
        event!("request", self.number, self.tries);
        self.send(REQUEST, self.peer, self.number, self.value);
        timer::set_after::<A>(TIMEOUT_US);
        event::enable(event::TIMER);
    }

    fn on_timeout(&mut self) {
        event!("timeout", self.number);
        if self.tries < MOST_TRIES {
            return self.request();
        }
        event!("gave up", self.number);
        self.end(FAILED);
    }

    /// Ends the request and reports its status to the host.
    fn end(&mut self, status: u32) {
        event::disable(event::TIMER);
        self.tries = 0;
        sram::write(STATUS, status);
    }

    fn on_frame(&mut self) {
        while let Some(frame) = RxRing::next() {
            frame.advance();
            let at = frame.address;
            if frame.status() != 0 {
                event!("damaged", frame.length());
            } else if sram::read_half(at + 12) == ETHERTYPE {
                let sender = u32::from(sram::read_half(at + 10));
                let number = sram::read(at + NUMBER_OFFSET);
                let value = sram::read(at + VALUE_OFFSET);
                match sram::read_half(at + 14) {
                    REQUEST => self.serve(sender, number, value),
                    REPLY => self.answered(number, value),
                    kind => event!("unknown kind", kind.into()),
                }
            }
            frame.free_descriptor();
            mac::free_rx(RX.advance(frame.end(), 0));
        }
    }

    fn serve(&mut self, sender: u32, number: u32, value: u32) {
        if number == self.served {
            event!("again", number);
        } else {
            self.served = number;
            event!("served", number);
        }
        self.send(REPLY, sender, number, value);
    }

    fn answered(&mut self, number: u32, value: u32) {
        if self.tries == 0 || (CHECKS_NUMBERS && number != self.number) {
            event!("stale", number);
            return;
        }
        event!("answer", number);
        sram::write(ANSWER, value);
        self.end(DONE);
    }

    /// Passes a frame to the MAC. Without space the frame is lost, as on a wire: the timeout recovers it.
    fn send(&mut self, kind: u16, to: u32, number: u32, value: u32) {
        let consumer = mac::tx_consumer();
        let place = self.space.reserve(FRAME_BYTES, FRAME_BYTES, consumer);
        let Some(at) = place.filter(|_| TxRing::has_room()) else {
            return event!("no room", number);
        };
        let [high, middle] = ADDRESS;
        let mut half = at;
        let (to, from) = (to as u16, self.node as u16);
        for part in [high, middle, to, high, middle, from, ETHERTYPE, kind] {
            sram::write_half(half, part);
            half += 2;
        }
        sram::write(at + NUMBER_OFFSET, number);
        sram::write(at + VALUE_OFFSET, value);
        sram::clear(at + VALUE_OFFSET + 4, FRAME_BYTES - VALUE_OFFSET - 4);
        if TxRing::push(at, FRAME_BYTES).is_ok() {
            mac::release_tx(self.space.region().advance(at, FRAME_BYTES));
        }
    }
}

//! The NIC's part: sends the host's value to the other node, whose NIC returns it, plus one.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use lanai_hal::{entry, l9, probe, sram};

// Memory above the stack (firmware/.cargo/config.toml). The host knows the first three words.

/// Word: state of the host's request.
const STATUS: u32 = 0x4_0000;
/// Word: the host's value.
const VALUE: u32 = 0x4_0004;
/// Word: the answer.
const ANSWER: u32 = 0x4_0008;
/// Word: a packet was too long for the buffer.
const LONG: u32 = 0x4_000C;
/// Buffer of packets to the network.
const OUT: u32 = 0x4_0100;
/// Buffer of packets from the network, and its length in bytes.
const IN: u32 = 0x4_0200;
const IN_BYTES: u32 = 0x40;

/// Status: the host has written a value.
const ASKED: u32 = 1;
/// Status: the request is on its way.
const WAITING: u32 = 2;
/// Status: the answer is there.
const DONE: u32 = 3;

/// First word of a packet with a value: the packet's type, and its meaning.
const REQUEST: u32 = 0x0700_0001;
/// First word of a packet with an answer.
const REPLY: u32 = 0x0700_0002;
/// Bytes of a packet.
const PACKET_BYTES: u32 = 8;

struct Echo {
    /// Whether a packet is leaving.
    sending: bool,
    /// An answer that waits for the packet before it.
    reply: Option<u32>,
    /// Number of requests of the host.
    asked: u32,
    /// Number of requests of the other node.
    served: u32,
}

entry!(main);

fn main() -> ! {
    let mut echo = Echo {
        sending: false,
        reply: None,
        asked: 0,
        served: 0,
    };
    for word in [STATUS, LONG] {
        sram::store(word, 0);
    }
    l9::initialise();
    l9::arm(IN, IN_BYTES);
    loop {
        echo.step();
    }
}

impl Echo {
    fn step(&mut self) {
        let events = l9::take_status(LONG);
        if events & l9::SENT != 0 {
            self.sending = false;
        }
        if events & l9::RECEIVED != 0 {
            self.receive();
            l9::arm(IN, IN_BYTES);
        }
        if self.sending {
            return;
        }
        if let Some(value) = self.reply.take() {
            self.send(REPLY, value);
        } else if sram::load(STATUS) == ASKED {
            sram::store(STATUS, WAITING);
            let value = sram::load(VALUE);
            self.asked += 1;
            probe!("request", self.asked, value);
            self.send(REQUEST, value);
        }
    }

    fn receive(&mut self) {
        let length = l9::received(IN);
        if length != PACKET_BYTES {
            probe!("dropped", length, 0);
            return;
        }
        let value = sram::load(IN + 4);
        match sram::load(IN) {
            REQUEST => {
                self.served += 1;
                probe!("served", self.served, value);
                self.reply = Some(value.wrapping_add(1));
            }
            REPLY => {
                probe!("answer", self.asked, value);
                sram::store(ANSWER, value);
                sram::store(STATUS, DONE);
            }
            kind => probe!("dropped", length, kind),
        }
    }

    fn send(&mut self, kind: u32, value: u32) {
        sram::store(OUT, kind);
        sram::store(OUT + 4, value);
        l9::send(OUT, OUT, OUT + PACKET_BYTES);
        self.sending = true;
    }
}

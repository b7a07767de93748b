//! GM's control program for the LANai 4: the protocol of `firmware/gm` on the chip's engines.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![forbid(unsafe_code)]

use defs::gm::map::{
    BUFFER_BYTES, COLLECTIVE_TICKS, HARDWARE, MORE_RECEIVE_BUFFER_COUNT, MORE_RECEIVE_BUFFERS,
    RECEIVE_BUFFER_COUNT, RECEIVE_BUFFERS, RECEIVE_WORDS, TICK_HALF_US,
};
use gm::Gm;
use gm::nic::{Event, HostAddress, Nic};
use lanai_hal::receive::Buffers;
use lanai_hal::{entry, l4, probe, sram};

entry!(main);

/// The queues of the DMA engine.
type Dma = l4::Dma<HARDWARE>;

/// The receive buffers.
type Receive = Buffers<l4::Port, RECEIVE_WORDS, BUFFER_BYTES, MORE_RECEIVE_BUFFER_COUNT>;

struct Chip;

impl Nic for Chip {
    const RECEIVED: u32 = l4::RECEIVED;
    const SENT: u32 = l4::SENT;
    const DMA: u32 = l4::DMA;
    const PASSES_RECEIVED: bool = true;
    const TICK: u32 = l4::TICK;

    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        sram::load(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        sram::store(address, value);
    }

    #[inline(always)]
    fn events(&mut self) -> u32 {
        let status = Receive::take_events();
        if status & l4::DMA != 0 {
            Dma::completed();
        }
        status
    }

    #[inline(always)]
    fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        Dma::start_read(host.low, local, length, cookie);
    }

    #[inline(always)]
    fn read_done(&mut self) -> u32 {
        Dma::read_done()
    }

    #[inline(always)]
    fn fetch(&mut self, host: HostAddress, local: u32, length: u32) {
        Dma::fetch(host.low, local, length);
    }

    #[inline(always)]
    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        Dma::start_write(host.low, local, length, cookie);
    }

    #[inline(always)]
    fn write_done(&mut self) -> u32 {
        Dma::write_done()
    }

    #[inline(always)]
    fn await_writes(&mut self) {
        Dma::await_writes();
    }

    #[inline(always)]
    fn send(&mut self, start: u32, _header: u32, end: u32) {
        l4::send(start, end);
    }

    #[inline(always)]
    fn receive(&mut self) -> Option<(u32, u32)> {
        Receive::receive()
    }

    #[inline(always)]
    fn release(&mut self, packet: u32) {
        Receive::release(packet);
    }

    #[inline(always)]
    fn set_timer(&mut self) {
        l4::set_timer(TICK_HALF_US);
    }

    #[inline(always)]
    fn interrupt(&mut self) {
        l4::interrupt();
    }

    #[inline(always)]
    fn mark(&mut self, event: Event, number: u32, sequence: u32) {
        match event {
            Event::TokenTaken => probe!("gm token taken", number, sequence),
            Event::ReadStarted => probe!("gm read started", number, sequence),
            Event::PacketSent => probe!("gm packet sent", number, sequence),
            Event::PacketReceived => probe!("gm packet received", number, sequence),
            Event::AckSent => probe!("gm ack sent", number, sequence),
            Event::AckReceived => probe!("gm ack received", number, sequence),
            Event::Resend => probe!("gm resend", number, sequence),
            Event::PacketDropped => probe!("gm packet dropped", number, sequence),
        }
    }
}

/// Without packets until the host has started the protocol: they wait in the network.
#[cold]
fn start(gm: &mut Gm<Chip>) {
    while !gm.is_started() {
        gm.step();
    }
    match sram::load(COLLECTIVE_TICKS) {
        0 => Receive::begin(RECEIVE_BUFFERS, RECEIVE_BUFFER_COUNT),
        _ => Receive::begin(MORE_RECEIVE_BUFFERS, MORE_RECEIVE_BUFFER_COUNT),
    }
}

fn main() -> ! {
    l4::initialise();
    Dma::initialise();
    let mut gm = Gm::new(Chip);
    start(&mut gm);
    loop {
        gm.step();
    }
}

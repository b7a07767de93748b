//! The protocol of `firmware/fm` on the chip's engines.

use defs::fm::map::{
    HARDWARE, RECEIVE_BUFFER_BYTES, RECEIVE_BUFFER_COUNT, RECEIVE_BUFFERS, RECEIVE_WORDS,
};
use fm::Fm;
use fm::nic::{Event, Nic};
use lanai_hal::receive::Buffers;
use lanai_hal::{l4, probe, sram};

/// The queues of the DMA engine.
type Dma = l4::Dma<HARDWARE>;

/// The receive buffers.
type Receive = Buffers<l4::Port, RECEIVE_WORDS, RECEIVE_BUFFER_BYTES, RECEIVE_BUFFER_COUNT>;

/// The chip; with or without multi-sends.
pub struct Chip<const MULTI_SEND: bool>;

impl<const MULTI_SEND: bool> Nic for Chip<MULTI_SEND> {
    const MULTI_SEND: bool = MULTI_SEND;
    const RECEIVED: u32 = l4::RECEIVED;
    const SENT: u32 = l4::SENT;
    const DMA: u32 = l4::DMA;

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
    fn send(&mut self, start: u32, end: u32) {
        l4::send(start, end);
    }

    #[inline(always)]
    fn has_read(&self, address: u32) -> bool {
        l4::has_read(address)
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
    fn start_write(&mut self, host: u32, local: u32, length: u32, cookie: u32) {
        Dma::start_write(host, local, length, cookie);
    }

    #[inline(always)]
    fn write_done(&mut self) -> u32 {
        Dma::write_done()
    }

    #[inline(always)]
    fn mark(&mut self, event: Event, first: u32, second: u32) {
        match event {
            Event::PacketSent => probe!("fm packet sent", first, second),
            Event::CopySent => probe!("fm copy sent", first, second),
            Event::PacketReceived => probe!("fm packet received", first, second),
            Event::CreditReceived => probe!("fm credit received", first, second),
            Event::PacketDropped => probe!("fm packet dropped", first, second),
        }
    }
}

/// Runs the control program.
pub fn run<const MULTI_SEND: bool>() -> ! {
    l4::initialise();
    Dma::initialise();
    let mut fm = Fm::new(Chip::<MULTI_SEND>);
    // Packets wait in the network until the host has started FM.
    while !fm.begin() {}
    Receive::begin(RECEIVE_BUFFERS, RECEIVE_BUFFER_COUNT);
    loop {
        fm.step();
    }
}

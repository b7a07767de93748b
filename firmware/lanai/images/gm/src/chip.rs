//! GM's control programs for LANai 7 and 9: the protocol of `firmware/gm` on the chip's engines. A module of each image, which says how it
//! differs from the others.

use defs::gm::layout::Layout;
use defs::gm::map::{
    ACK_HALF_US, BUFFER_BYTES, COLLECTIVE_TICKS, HARDWARE, MORE_RECEIVE_BUFFER_COUNT,
    MORE_RECEIVE_BUFFERS, READ_BLOCKS, RECEIVE_BUFFER_COUNT, RECEIVE_BUFFERS, RECEIVE_WORDS,
    TICK_HALF_US, WRITE_BLOCKS,
};
use gm::Gm;
use gm::nic::{Event, HostAddress, Nic};
use lanai_hal::receive::Buffers;
use lanai_hal::{l9, probe, sram};

/// The rings of DMA blocks.
type Dma = l9::Dma<HARDWARE>;

const _: () = assert!(Dma::WRITES == WRITE_BLOCKS && Dma::READS == READ_BLOCKS);

/// The receive buffers.
type Receive = Buffers<l9::Port, RECEIVE_WORDS, BUFFER_BYTES, MORE_RECEIVE_BUFFER_COUNT>;

struct Chip;

impl Nic for Chip {
    const RECEIVED: u32 = l9::RECEIVED;
    const SENT: u32 = l9::SENT;
    const DMA: u32 = l9::DMA;
    const PASSES_RECEIVED: bool = true;
    const TICK: u32 = l9::TICK;
    const ACK_TICK: u32 = l9::ACK_TICK;
    const SHORT_READ_POLLS: u32 = 16;
    const VECTORS: bool = super::VECTORS;
    const LAYOUT: Layout = super::LAYOUT;

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
        Receive::take_events()
    }

    #[inline(always)]
    fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        Dma::start_read(host.high, host.low, local, length, cookie);
    }

    #[inline(always)]
    fn read_done(&mut self) -> u32 {
        Dma::read_done()
    }

    #[inline(always)]
    fn fetch(&mut self, host: HostAddress, local: u32, length: u32) {
        Dma::fetch(host.high, host.low, local, length);
    }

    #[inline(always)]
    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        Dma::start_write(host.high, host.low, local, length, cookie);
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
    fn send(&mut self, start: u32, header: u32, end: u32) {
        l9::send(start, header, end);
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
        l9::set_timer(TICK_HALF_US);
    }

    #[inline(always)]
    fn set_ack_timer(&mut self) {
        l9::set_second_timer(ACK_HALF_US);
    }

    #[inline(always)]
    fn interrupt(&mut self) {
        l9::interrupt();
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
        _ => Receive::begin(MORE_RECEIVE_BUFFERS, super::RECEIVE_COUNT),
    }
}

/// The program of the image.
#[inline(always)]
pub fn run() -> ! {
    l9::initialise();
    Dma::initialise();
    let mut gm = Gm::new(Chip);
    start(&mut gm);
    loop {
        gm.step();
    }
}

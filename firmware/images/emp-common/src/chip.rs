//! Implementation of [`emp::Nic`] on the Tigon2, for one CPU of a scheme.

use core::marker::PhantomData;
use defs::tigon2::rings::RX_STATUS_RUNT;

use emp::Nic;
use emp::jobs::Queue;
use emp::nic::{Arrival, Completion, Event, HostAddress, RxFrame, Stage, pressure};
use emp::roles::{Roles, Scheme};
use tigon2_hal::dma::{self, Descriptor, DmaState, ReadRing, RingFull, Transfer, WriteRing};
use tigon2_hal::layout::Layout;
use tigon2_hal::mac::{self, RxRing, TxRing};
use tigon2_hal::queue::{Consumer, Inbox, Producer, Sram};
use tigon2_hal::rings::{Region, ReleaseOrder, TxSpace};
use tigon2_hal::{
    event, fail, log, regs, semaphore, sram, stage_enter, stage_exit, stage_idle, timer,
    wait_enter, wait_exit,
};

use crate::{SchemeCpu, queues};

const TX: Region = Layout::DEFAULT.tx_region();
const RX: Region = Layout::DEFAULT.rx_region();
/// Length of a frame's beginning that does not wrap: its headers are written with plain addresses.
const CONTIGUOUS_BYTES: u32 = 64;
/// Flag in a DMA's `kind`: the DMA ends a frame and releases or frees it.
const RELEASES: u32 = 1;

/// The chip as CPU `Me` sees it in scheme `S`.
pub struct Chip<Me, S> {
    /// Number of jobs put into each queue, or taken from it.
    counts: [u32; Queue::ALL.len()],
    space: TxSpace,
    tx_order: ReleaseOrder,
    rx_order: ReleaseOrder,
    /// The next completed read has failed.
    read_failed: bool,
    /// The next completed write has failed.
    write_failed: bool,
    side: PhantomData<(Me, S)>,
}

impl<Me, S> Default for Chip<Me, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Me, S> Chip<Me, S> {
    /// State after [`tigon2_hal::layout::initialise`] with the default layout.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counts: [0; Queue::ALL.len()],
            space: TxSpace::new(TX),
            tx_order: ReleaseOrder::new(),
            rx_order: ReleaseOrder::new(),
            read_failed: false,
            write_failed: false,
            side: PhantomData,
        }
    }

    #[inline(always)]
    fn producer(&self, queue: Queue) -> Producer {
        Producer::at(queues::place(queue), self.counts[queue as usize])
    }

    #[inline(always)]
    fn consumer(&self, queue: Queue) -> Consumer {
        Consumer::at(queues::place(queue), self.counts[queue as usize])
    }
}

impl<Me: SchemeCpu, S: Scheme> Chip<Me, S> {
    /// Raises or clears the send event; under the semaphore if the other CPU writes the register too.
    #[inline(always)]
    fn change_own_event(&self, change: fn(u32)) {
        if <Me::Roles<S> as Roles>::ALONE {
            change(event::SOFT_SEND);
        } else {
            semaphore::locked::<Me, _>(|| change(event::SOFT_SEND));
        }
    }
}

/// A data DMA for the rings. `release`: the direction's bit that moves the buffer's pointer.
#[inline(always)]
fn transfer(
    host: HostAddress,
    local: u32,
    length: u32,
    release: Option<DmaState>,
    cookie: u32,
) -> Transfer {
    Transfer {
        host_high: host.high,
        host_low: host.low,
        local,
        length,
        state: match release {
            Some(bit) => dma::COPY_BYTES.union(bit),
            None => dma::COPY_BYTES,
        },
        kind: if release.is_some() { RELEASES } else { 0 },
        index: cookie,
    }
}

/// Returns a completed descriptor to its ring; the result is the address that its frame releases.
#[inline(always)]
fn retire<D: dma::Direction>(
    done: Descriptor<D>,
    failed: bool,
    order: &mut ReleaseOrder,
    region: &Region,
) -> Option<u32> {
    let owed = if done.kind() != RELEASES {
        None
    } else if failed {
        order.dma_failed(region.advance(done.local(), done.length()))
    } else {
        order.dma_completed()
    };
    done.consume();
    owed
}

impl<Me: SchemeCpu, S: Scheme> Nic for Chip<Me, S> {
    type Roles = Me::Roles<S>;

    #[inline(always)]
    fn room(&self, queue: Queue) -> u32 {
        self.producer(queue).room(&Sram)
    }

    #[inline(always)]
    fn put<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]) {
        let mut producer = self.producer(queue);
        let mut inbox = Inbox::<Me, Me::Other>::new(queues::event(queue));
        producer.put(&mut inbox, job);
        self.counts[queue as usize] = producer.index();
    }

    #[inline(always)]
    fn leave<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]) {
        let mut producer = self.producer(queue);
        producer.leave(&mut Sram, job);
        self.counts[queue as usize] = producer.index();
    }

    #[inline(always)]
    fn ring(&mut self, queue: Queue) {
        let mut inbox = Inbox::<Me, Me::Other>::new(queues::event(queue));
        self.producer(queue).ring(&mut inbox);
    }

    #[inline(always)]
    fn front(&self, queue: Queue) -> Option<u32> {
        self.consumer(queue).front(&Sram)
    }

    #[inline(always)]
    fn remove(&mut self, queue: Queue) {
        let mut consumer = self.consumer(queue);
        consumer.remove(&mut Inbox::<Me, Me>::new(queues::event(queue)));
        self.counts[queue as usize] = consumer.index();
    }

    // The queue is empty, so there is time for it.
    #[cold]
    fn rest(&mut self, queue: Queue) {
        let mut inbox = Inbox::<Me, Me>::new(queues::event(queue));
        self.consumer(queue).rest(&mut inbox);
    }

    #[inline(always)]
    fn lock(&mut self) {
        semaphore::spin_lock::<Me>();
    }

    #[inline(always)]
    fn unlock(&mut self) {
        semaphore::spin_unlock::<Me>();
    }

    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        sram::read(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        sram::write(address, value);
    }

    fn own_mac(&self) -> (u32, u32) {
        mac::address()
    }

    #[inline(always)]
    fn now_us(&self) -> u32 {
        timer::now_us()
    }

    #[inline(always)]
    fn arm_timer(&mut self, at_us: u32) {
        timer::set_at::<Me>(at_us);
        event::enable(event::TIMER);
    }

    #[inline(always)]
    fn disarm_timer(&mut self) {
        event::disable(event::TIMER);
    }

    #[inline(always)]
    fn take_mailboxes(&mut self) -> u32 {
        let written = regs::read(Me::MAILBOX_EVENT);
        regs::write(Me::MAILBOX_EVENT, written);
        written
    }

    #[inline(always)]
    fn raise_send(&mut self) {
        self.change_own_event(event::raise::<Me>);
    }

    #[inline(always)]
    fn clear_send(&mut self) {
        self.change_own_event(event::clear::<Me>);
    }

    #[inline(always)]
    fn read_slots(&self) -> u32 {
        ReadRing::room()
    }

    #[inline(always)]
    fn push_read(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        release_tx: bool,
        cookie: u32,
    ) {
        let release = release_tx.then_some(DmaState::RELEASE_TX);
        match ReadRing::push(&transfer(host, local, length, release, cookie)) {
            Ok(()) if release_tx => self.tx_order.dma_queued(),
            Ok(()) => {}
            Err(RingFull) => fail!("no free descriptor in the read DMA ring"),
        }
    }

    #[inline(always)]
    fn take_read(&mut self) -> Option<Completion> {
        let done = ReadRing::completed()?;
        let cookie = done.index();
        let failed = self.read_failed;
        self.read_failed = false;
        if let Some(end) = retire(done, failed, &mut self.tx_order, &TX) {
            mac::release_tx(end);
        }
        Some(Completion { cookie, failed })
    }

    fn failed_read(&self) -> Option<u32> {
        ReadRing::failed().map(|failed| failed.index())
    }

    fn skip_failed_read(&mut self) {
        log!("DMA read failed: no host memory");
        self.read_failed = true;
        ReadRing::skip_failed();
    }

    #[inline(always)]
    fn write_slots(&self) -> u32 {
        WriteRing::room()
    }

    #[inline(always)]
    fn push_write(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        free_rx: bool,
        cookie: u32,
    ) {
        let release = free_rx.then_some(DmaState::FREE_RX);
        match WriteRing::push(&transfer(host, local, length, release, cookie)) {
            Ok(()) if free_rx => self.rx_order.dma_queued(),
            Ok(()) => {}
            Err(RingFull) => fail!("no free descriptor in the write DMA ring"),
        }
    }

    #[inline(always)]
    fn next_write(&mut self) -> Option<Completion> {
        WriteRing::completed().map(|done| Completion {
            cookie: done.index(),
            failed: self.write_failed,
        })
    }

    #[inline(always)]
    fn retire_write(&mut self) {
        let Some(done) = WriteRing::completed() else {
            return;
        };
        let failed = self.write_failed;
        self.write_failed = false;
        if let Some(end) = retire(done, failed, &mut self.rx_order, &RX) {
            mac::free_rx(end);
        }
    }

    fn write_failed(&self) -> bool {
        WriteRing::failed().is_some()
    }

    fn skip_failed_write(&mut self) {
        log!("DMA write failed: no host memory");
        self.write_failed = true;
        WriteRing::skip_failed();
    }

    #[inline(always)]
    fn tx_consumer(&self) -> u32 {
        mac::tx_consumer()
    }

    #[inline(always)]
    fn tx_backlog(&self, consumer: u32) -> u32 {
        self.space.backlog(consumer)
    }

    #[inline(always)]
    fn reserve_tx(&mut self, length: u32, consumer: u32) -> Option<u32> {
        if !TxRing::has_room() {
            return None;
        }
        self.space.reserve(length, CONTIGUOUS_BYTES, consumer)
    }

    #[inline(always)]
    fn tx_advance(&self, address: u32, bytes: u32) -> u32 {
        TX.advance(address, bytes)
    }

    #[inline(always)]
    fn push_tx(&mut self, start: u32, length: u32) {
        if TxRing::push(start, length).is_err() {
            log!("no MAC descriptor for the frame at {x}", start);
        }
    }

    #[inline(always)]
    fn release_cpu_frame(&mut self, end: u32) {
        if let Some(end) = self.tx_order.cpu_release(end) {
            mac::release_tx(end);
        }
    }

    #[inline(always)]
    fn next_rx(&self) -> Option<Arrival> {
        RxRing::arrival().map(|arrival| Arrival {
            start: arrival.address(),
            descriptor: arrival.descriptor,
        })
    }

    #[inline(always)]
    fn take_rx(&mut self, arrival: Arrival) -> RxFrame {
        let descriptor = arrival.descriptor;
        let frame = mac::Arrival { descriptor }.frame(arrival.start);
        frame.advance();
        frame.free_descriptor();
        RxFrame {
            start: frame.address,
            length: frame.length(),
            intact: frame.status() & !RX_STATUS_RUNT == 0,
        }
    }

    #[inline(always)]
    fn rx_advance(&self, address: u32, bytes: u32) -> u32 {
        RX.advance(address, bytes)
    }

    #[inline(always)]
    fn free_rx(&mut self, end: u32) {
        if let Some(end) = self.rx_order.cpu_release(end) {
            mac::free_rx(end);
        }
    }

    fn rx_pressure(&self) -> u32 {
        let (from, to) = mac::rx_in_use();
        pressure(RX.distance(from, to), RX.bytes())
    }

    #[inline(always)]
    fn stage_enter(&self, stage: Stage) {
        match stage {
            Stage::SendBookkeeping => stage_enter!(SEND_BOOKKEEPING),
            Stage::SendFrame => stage_enter!(SEND_FRAME),
            Stage::Transmission => stage_enter!(TRANSMISSION),
            Stage::TakeAck => stage_enter!(TAKE_ACK),
            Stage::ReceiveAck => stage_enter!(RECEIVE_ACK),
            Stage::ReceiveBookkeeping => stage_enter!(RECEIVE_BOOKKEEPING),
            Stage::ReceiveFrame => stage_enter!(RECEIVE_FRAME),
            Stage::Receiving => stage_enter!(RECEIVING),
            Stage::SendAck => stage_enter!(SEND_ACK),
        }
    }

    #[inline(always)]
    fn stage_exit(&self, stage: Stage) {
        match stage {
            Stage::SendBookkeeping => stage_exit!(SEND_BOOKKEEPING),
            Stage::SendFrame => stage_exit!(SEND_FRAME),
            Stage::Transmission => stage_exit!(TRANSMISSION),
            Stage::TakeAck => stage_exit!(TAKE_ACK),
            Stage::ReceiveAck => stage_exit!(RECEIVE_ACK),
            Stage::ReceiveBookkeeping => stage_exit!(RECEIVE_BOOKKEEPING),
            Stage::ReceiveFrame => stage_exit!(RECEIVE_FRAME),
            Stage::Receiving => stage_exit!(RECEIVING),
            Stage::SendAck => stage_exit!(SEND_ACK),
        }
    }

    #[inline(always)]
    fn stage_idle(&self, stage: Stage) {
        match stage {
            Stage::SendFrame => stage_idle!(SEND_FRAME),
            Stage::Receiving => stage_idle!(RECEIVING),
            other => self.stage_exit(other),
        }
    }

    #[inline(always)]
    fn wait_enter(&self) {
        wait_enter!("dma");
    }

    #[inline(always)]
    fn wait_exit(&self) {
        wait_exit!("dma");
    }

    #[inline(always)]
    fn bad_post(&self, address: u32) {
        log!(
            "mailbox names no descriptor that can be taken: {x}",
            address
        );
    }

    #[inline(always)]
    fn event(&self, event: Event, node: u32, message: u32, third: u32) {
        use Event as E;
        match event {
            E::PostTransmit => event!(E::PostTransmit.name(), node, message, third),
            E::PostReceive => event!(E::PostReceive.name(), node, message, third),
            E::FrameSent => event!(E::FrameSent.name(), node, message, third),
            E::FrameMatched => event!(E::FrameMatched.name(), node, message, third),
            E::FrameDropped => event!(E::FrameDropped.name(), node, message, third),
            E::AckSent => event!(E::AckSent.name(), node, message, third),
            E::AckReceived => event!(E::AckReceived.name(), node, message, third),
            E::Retransmit => event!(E::Retransmit.name(), node, message, third),
            E::TransmitComplete => event!(E::TransmitComplete.name(), node, message, third),
            E::ReceiveComplete => event!(E::ReceiveComplete.name(), node, message, third),
            E::NackSent => event!(E::NackSent.name(), node, message, third),
            E::NackReceived => event!(E::NackReceived.name(), node, message, third),
            E::ReceiveCancelled => event!(E::ReceiveCancelled.name(), node, message, third),
            E::GapSent => event!(E::GapSent.name(), node, message, third),
            E::GapReceived => event!(E::GapReceived.name(), node, message, third),
        }
    }
}

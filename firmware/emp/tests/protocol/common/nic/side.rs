//! [`emp::Nic`] on [`Chip`], for one CPU's part of the protocol.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use emp::Nic;
use emp::jobs::Queue;
use emp::nic::{Arrival, Completion, Event, HostAddress, RxFrame, Stage, pressure};
use emp::roles::Roles;
use rings::{Consumer, Producer};

use super::*;

const QUEUES_BASE: u32 = 0x7_0000;
const QUEUE_BYTES: u32 = 0x2000;

/// One CPU's access to the chip. Only one CPU has the chip at a time: [`give`](Self::give).
pub struct Side<R> {
    chip: Option<Box<Chip>>,
    cpu: usize,
    counts: [u32; Queue::ALL.len()],
    roles: PhantomData<R>,
}

impl<R> Side<R> {
    pub fn new(chip: Option<Box<Chip>>, cpu: usize) -> Self {
        Self {
            chip,
            cpu,
            counts: [0; Queue::ALL.len()],
            roles: PhantomData,
        }
    }

    /// Gives the chip away.
    pub fn give(&mut self) -> Option<Box<Chip>> {
        self.chip.take()
    }

    /// Gets the chip.
    pub fn get(&mut self, chip: Option<Box<Chip>>) {
        self.chip = chip;
    }
}

impl<R> Deref for Side<R> {
    type Target = Chip;

    fn deref(&self) -> &Chip {
        self.chip.as_ref().expect("this CPU has the chip")
    }
}

impl<R> DerefMut for Side<R> {
    fn deref_mut(&mut self) -> &mut Chip {
        self.chip.as_mut().expect("this CPU has the chip")
    }
}

impl rings::Memory for Chip {
    fn load(&self, address: u32) -> u32 {
        Self::load(self, address)
    }

    fn store(&mut self, address: u32, value: u32) {
        Self::store(self, address, value);
    }
}

/// A queue's event bit.
struct QueueBell<'a>(&'a mut Chip, Queue);

impl rings::Memory for QueueBell<'_> {
    fn load(&self, address: u32) -> u32 {
        self.0.load(address)
    }

    fn store(&mut self, address: u32, value: u32) {
        self.0.store(address, value);
    }
}

impl rings::Bell for QueueBell<'_> {
    fn lock(&mut self) {
        assert!(!self.0.locked, "locked twice");
        self.0.locked = true;
    }

    fn unlock(&mut self) {
        self.0.locked = false;
    }

    fn is_rung(&self) -> bool {
        self.0.bells[self.1 as usize]
    }

    fn ring(&mut self) {
        self.0.bells[self.1 as usize] = true;
    }

    fn quieten(&mut self) {
        self.0.bells[self.1 as usize] = false;
    }
}

/// Layout of a queue.
fn place(queue: Queue) -> rings::Queue {
    let base = QUEUES_BASE + QUEUE_BYTES * queue as u32;
    let place = rings::Queue::new(base, queue.entries(), queue.words());
    assert!(place.bytes() <= QUEUE_BYTES);
    place
}

impl<R: Roles> Nic for Side<R> {
    type Roles = R;

    fn room(&self, queue: Queue) -> u32 {
        Producer::at(place(queue), self.counts[queue as usize]).room(&**self)
    }

    fn put<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]) {
        assert!(self.room(queue) > 0, "a job too many in {queue:?}");
        let mut producer = Producer::at(place(queue), self.counts[queue as usize]);
        producer.put(&mut QueueBell(self, queue), job);
        self.counts[queue as usize] = producer.index();
    }

    fn leave<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]) {
        assert!(self.room(queue) > 0, "a job too many in {queue:?}");
        let mut producer = Producer::at(place(queue), self.counts[queue as usize]);
        producer.leave(&mut QueueBell(self, queue), job);
        self.counts[queue as usize] = producer.index();
    }

    fn ring(&mut self, queue: Queue) {
        let producer = Producer::at(place(queue), self.counts[queue as usize]);
        producer.ring(&mut QueueBell(self, queue));
    }

    fn front(&self, queue: Queue) -> Option<u32> {
        Consumer::at(place(queue), self.counts[queue as usize]).front(&**self)
    }

    fn remove(&mut self, queue: Queue) {
        let mut consumer = Consumer::at(place(queue), self.counts[queue as usize]);
        consumer.remove(&mut QueueBell(self, queue));
        self.counts[queue as usize] = consumer.index();
    }

    fn rest(&mut self, queue: Queue) {
        let consumer = Consumer::at(place(queue), self.counts[queue as usize]);
        consumer.rest(&mut QueueBell(self, queue));
    }

    fn lock(&mut self) {
        assert!(!self.locked, "locked twice");
        self.locked = true;
    }

    fn unlock(&mut self) {
        assert!(self.locked, "not locked");
        self.locked = false;
    }

    fn load(&self, address: u32) -> u32 {
        Chip::load(self, address)
    }

    fn store(&mut self, address: u32, value: u32) {
        Chip::store(self, address, value);
    }

    fn own_mac(&self) -> (u32, u32) {
        ((self.mac >> 32) as u32, self.mac as u32)
    }

    fn now_us(&self) -> u32 {
        self.now_us
    }

    fn arm_timer(&mut self, at_us: u32) {
        let cpu = self.cpu;
        self.timer_at[cpu] = Some(at_us);
    }

    fn disarm_timer(&mut self) {
        let cpu = self.cpu;
        self.timer_at[cpu] = None;
    }

    fn take_mailboxes(&mut self) -> u32 {
        let cpu = self.cpu;
        std::mem::take(&mut self.mailboxes[cpu])
    }

    fn raise_send(&mut self) {
        let cpu = self.cpu;
        self.send_event[cpu] = true;
    }

    fn clear_send(&mut self) {
        let cpu = self.cpu;
        self.send_event[cpu] = false;
    }

    fn read_slots(&self) -> u32 {
        self.reads.room()
    }

    fn push_read(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        release_tx: bool,
        cookie: u32,
    ) {
        self.reads.push(Dma {
            host: joined(host),
            local,
            length,
            releases: release_tx,
            cookie,
            failed: false,
        });
    }

    fn take_read(&mut self) -> Option<Completion> {
        if self.waiting.get() {
            self.step_read();
        }
        let dma = self.reads.done.pop_front()?;
        let end = wrapped(TX, dma.local, dma.length);
        if dma.failed && dma.cookie >> 30 == 0 {
            self.tx_failed.push((dma.local, dma.length));
        }
        if dma.releases {
            let owed = if dma.failed {
                self.reads.order.dma_failed(end)
            } else {
                self.reads.order.dma_completed()
            };
            if let Some(end) = owed {
                self.move_tx_producer(end);
            }
        }
        Some(Completion {
            cookie: dma.cookie,
            failed: dma.failed,
        })
    }

    fn failed_read(&self) -> Option<u32> {
        let failed = self.reads.queued.front()?;
        self.reads.stopped.then_some(failed.cookie)
    }

    fn skip_failed_read(&mut self) {
        self.reads.skip_failed();
    }

    fn write_slots(&self) -> u32 {
        self.writes.room()
    }

    fn push_write(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        free_rx: bool,
        cookie: u32,
    ) {
        self.writes.push(Dma {
            host: joined(host),
            local,
            length,
            releases: free_rx,
            cookie,
            failed: false,
        });
    }

    fn next_write(&mut self) -> Option<Completion> {
        if self.waiting.get() {
            self.step_write();
        }
        self.writes.done.front().map(|dma| Completion {
            cookie: dma.cookie,
            failed: dma.failed,
        })
    }

    fn retire_write(&mut self) {
        let dma = self.writes.done.pop_front().expect("a write that is over");
        if dma.releases {
            let owed = if dma.failed {
                self.writes
                    .order
                    .dma_failed(wrapped(RX, dma.local, dma.length))
            } else {
                self.writes.order.dma_completed()
            };
            if let Some(end) = owed {
                self.move_rx_consumer(end);
            }
        }
    }

    fn write_failed(&self) -> bool {
        self.writes.stopped
    }

    fn skip_failed_write(&mut self) {
        self.writes.skip_failed();
    }

    fn tx_consumer(&self) -> u32 {
        self.tx_consumer
    }

    fn reserve_tx(&mut self, length: u32, consumer: u32) -> Option<u32> {
        assert_eq!(self.reserved, 0, "a reserved frame was not pushed");
        if self.tx_frames.len() >= MAC_SLOTS {
            return None;
        }
        let start = self.tx_space.reserve(length, 64, consumer)?;
        self.reserved = length;
        Some(start)
    }

    fn tx_backlog(&self, consumer: u32) -> u32 {
        self.tx_space.backlog(consumer)
    }

    fn tx_advance(&self, address: u32, bytes: u32) -> u32 {
        TX.advance(address, bytes)
    }

    fn push_tx(&mut self, start: u32, length: u32) {
        assert_eq!(self.reserved, length, "pushed what was not reserved");
        self.reserved = 0;
        self.tx_frames.push_back(TxFrame { start, length });
    }

    fn release_cpu_frame(&mut self, end: u32) {
        if let Some(end) = self.reads.order.cpu_release(end) {
            self.move_tx_producer(end);
        }
    }

    fn next_rx(&self) -> Option<Arrival> {
        self.rx_frames.front().map(|slot| Arrival {
            start: slot.start,
            descriptor: 0,
        })
    }

    fn take_rx(&mut self, arrival: Arrival) -> RxFrame {
        let slot = self.rx_frames.pop_front().expect("a received frame");
        assert_eq!(slot.start, arrival.start);
        self.rx_taken.push_back((slot.start, slot.length));
        self.rx_epoch = Chip::load(self, slot.start + 4 * WORD_FRAME_EPOCH as u32) as u16;
        RxFrame {
            start: slot.start,
            length: slot.length,
            intact: slot.intact,
        }
    }

    fn rx_advance(&self, address: u32, bytes: u32) -> u32 {
        RX.advance(address, bytes)
    }

    fn free_rx(&mut self, end: u32) {
        if let Some(end) = self.writes.order.cpu_release(end) {
            self.move_rx_consumer(end);
        }
    }

    fn rx_pressure(&self) -> u32 {
        pressure(RX.distance(self.rx_consumer, self.rx_producer), RX.bytes())
    }

    fn stage_enter(&self, _: Stage) {}

    fn stage_exit(&self, _: Stage) {}

    fn wait_enter(&self) {
        assert!(!self.waiting.replace(true), "a wait within a wait");
    }

    fn wait_exit(&self) {
        self.waiting.set(false);
    }

    fn stage_idle(&self, _: Stage) {}

    fn bad_post(&self, _: u32) {}

    fn event(&self, event: Event, peer: u32, id: u32, third: u32) {
        if let Some(log) = &self.log {
            log.borrow_mut().push(Entry {
                event,
                peer,
                id,
                third,
                epoch: self.rx_epoch,
            });
        }
        let mut events = self.events.get();
        events[event as usize] += 1;
        self.events.set(events);
    }
}

//! Reductions: values go up a tree; the result goes down if all processes want it.
//!
//! | state | what happens | next |
//! |-------|--------------|------|
//! | `COLLECTING` | values of children are awaited and combined | `COLLECTED` with a parent, else `SPREADING`; first the next two if the host computes |
//! | `HOST_AWAITED` | the host computes for another reduction | `AT_HOST` |
//! | `AT_HOST` | the host computes | `COLLECTED` with a parent, else `SPREADING` |
//! | `COLLECTED` | the value goes to the parent | the host is told, or `AWAITING_RESULT` |
//! | `AWAITING_RESULT` | the parent's result is awaited | `SPREADING` |
//! | `SPREADING` | the result goes to the children, if all get it, one after the other | the host is told, whose descriptor is free then |
//!
//! A value belongs to the reduction with its tag that waits for its sender.
use defs::gm::collective::{
    CHILD_LIMIT, DESCRIPTOR_COUNT, PARTIAL, REDUCE_ALL, REDUCE_PARENT, RESULT,
};
use defs::gm::combine::combine;
use defs::gm::event::Status;
use defs::gm::map::Counter;

use super::depart::{NO_VALUE, Value};
use super::origin;
use super::state::{
    AWAITING_RESULT, COLLECTED, COLLECTING, Descriptor, Reduction, SPREADING, ValueBuffer, block,
};
use super::vector::early_vector;
use crate::state::PortBlock;
use crate::timer::is_reached;
use crate::{Gm, Nic};

/// A reduction of a port.
#[derive(Clone, Copy)]
pub(super) struct Instance {
    pub(super) port: PortBlock,
    pub(super) number: u32,
}

impl Instance {
    /// Words of the reduction.
    pub(super) const fn words(self) -> Reduction {
        block(self.port).reduction(self.number)
    }

    /// Descriptor of the reduction.
    pub(super) const fn descriptor(self) -> Descriptor {
        block(self.port).descriptor(self.number)
    }
}

/// Flags of a reduction's kind.
const fn flags(kind: u32) -> u32 {
    kind >> 8 & 0xFF
}

impl<N: Nic> Gm<N> {
    /// A process has posted a reduction: the number of its descriptor.
    #[inline(never)]
    pub(crate) fn post_reduction(&mut self, port: PortBlock, number: u32) {
        let block = block(port);
        if number >= DESCRIPTOR_COUNT
            || block.reductions(self) >> number & 1 != 0
            || !self.has_operations()
        {
            // No descriptor, or one that is in use: a mistake of the process.
            return self.count(Counter::BadPosts);
        }
        let instance = Instance { port, number };
        let broken = block.broken(self);
        let kind = instance.descriptor().kind(self);
        if broken != 0 {
            return self.finish(port, number + 1, broken - 1, NO_VALUE);
        }
        if kind >> 16 > CHILD_LIMIT {
            let status = Status::InvalidParameter as u32;
            return self.finish(port, number + 1, status, NO_VALUE);
        }
        self.begin_reduction(instance, kind);
        self.settle();
    }

    /// Begins a reduction, with the values of children that have come early.
    fn begin_reduction(&mut self, instance: Instance, kind: u32) {
        let descriptor = instance.descriptor();
        let block = block(instance.port);
        let tag = descriptor.tag(self);
        let (high, low) = if N::VECTORS {
            match self.own_vector(instance, kind) {
                Some(vector) => vector,
                None => return self.refuse_reduction(instance),
            }
        } else {
            (descriptor.high(self), descriptor.low(self))
        };
        let deadline = self.deadline();
        let reduction = instance.words();
        reduction.write(
            self,
            [
                (Reduction::STATE, COLLECTING),
                (Reduction::CHILDREN, 0),
                (Reduction::DEADLINE, deadline),
                (Reduction::TAG, tag),
                (Reduction::KIND, kind),
                (Reduction::HIGH, high),
                (Reduction::LOW, low),
            ],
        );
        let instances = block.reductions(self) | 1 << instance.number;
        block.set_reductions(self, instances);
        self.watch(instance.port);
        if block.values().first(self) != 0 {
            self.take_early(instance, tag);
        }
        self.collect(instance);
    }

    /// Combines the values that have come early.
    fn take_early(&mut self, instance: Instance, tag: u32) {
        let values = block(instance.port).values();
        let mut value = ValueBuffer::at(values.first(self));
        values.set_first(self, 0);
        while value.is_some() {
            let next = value.next(self);
            let from = value.origin(self);
            let fits = value.tag(self) == tag && !value.is_closed(self);
            if fits && self.take(instance, origin::endpoint::<N>(from), self.value_of(value)) {
                self.free_value(value);
            } else {
                self.append(values, value.address(), ValueBuffer::NEXT);
            }
            value = next;
        }
    }

    /// Combines the value or the vector of a child, if the reduction waits for it.
    #[inline(always)]
    fn take(&mut self, instance: Instance, sender: u32, value: Value) -> bool {
        if N::VECTORS {
            self.take_vector(instance, sender, value)
        } else {
            self.take_child(instance, sender, value)
        }
    }

    /// The value in a buffer.
    fn value_of(&self, buffer: ValueBuffer) -> Value {
        Value {
            tag: buffer.tag(self),
            high: buffer.high(self),
            low: buffer.low(self),
        }
    }

    /// Combines a value with the reduction that waits for it; `None`: none waits.
    #[inline(always)]
    pub(super) fn combine_partial(
        &mut self,
        port: PortBlock,
        sender: u32,
        value: Value,
    ) -> Option<Instance> {
        let mut left = block(port).reductions(self);
        let mut number = 0;
        while left != 0 {
            let instance = Instance { port, number };
            if left & 1 != 0
                && instance.words().tag(self) == value.tag
                && instance.words().state(self) == COLLECTING
                && self.take(instance, sender, value)
            {
                return Some(instance);
            }
            left >>= 1;
            number += 1;
        }
        None
    }

    /// Whether a reduction waits for the value of a sender.
    pub(super) fn awaiting(&self, port: PortBlock, sender: u32, tag: u32) -> bool {
        let mut left = block(port).reductions(self);
        let mut number = 0;
        let mut found = false;
        while left != 0 {
            let instance = Instance { port, number };
            let reduction = instance.words();
            found |= left & 1 != 0
                && reduction.tag(self) == tag
                && reduction.state(self) == COLLECTING
                && self.child_of(instance, sender) < CHILD_LIMIT;
            left >>= 1;
            number += 1;
        }
        found
    }

    /// The place of a sender among the children whose values have not come; [`CHILD_LIMIT`] if it has none.
    pub(super) fn child_of(&self, instance: Instance, sender: u32) -> u32 {
        let reduction = instance.words();
        let count = reduction.kind(self) >> 16;
        let come = reduction.children(self);
        let mut index = 0;
        while index < count {
            let child = instance.descriptor().child(self, index);
            if child & !0xFF == sender && come >> index & 1 == 0 {
                return index;
            }
            index += 1;
        }
        CHILD_LIMIT
    }

    /// A value of another process: it is combined, or kept.
    #[inline(never)]
    pub(super) fn partial_came(&mut self, port: PortBlock, from: u32, value: Value) {
        if let Some(instance) = self.combine_partial(port, origin::endpoint::<N>(from), value) {
            self.used_value(from);
            return self.collect(instance);
        }
        self.count(Counter::Unexpected);
        let buffer = self.free_values();
        if buffer.is_none() {
            // There are as many buffers as values that are taken and not used.
            return self.used_value(from);
        }
        let free = buffer.next(self);
        self.set_free_values(free);
        let closed = u32::from(!port.is_open(self));
        let low = if N::VECTORS {
            self.keep_at(early_vector(buffer), value)
        } else {
            value.low
        };
        buffer.write(
            self,
            [
                (ValueBuffer::ORIGIN, from),
                (ValueBuffer::TAG, value.tag),
                (ValueBuffer::HIGH, value.high),
                (ValueBuffer::LOW, low),
                (ValueBuffer::CLOSED, closed),
            ],
        );
        self.append(block(port).values(), buffer.address(), ValueBuffer::NEXT);
    }

    /// A value is used: its buffer is free, and so is its place among those that may be under way.
    pub(super) fn free_value(&mut self, buffer: ValueBuffer) {
        let from = buffer.origin(self);
        let free = self.free_values();
        buffer.set_next(self, free);
        self.set_free_values(buffer);
        self.used_value(from);
    }

    /// A kept value was used: its sender may send more.
    fn used_value(&mut self, from: u32) {
        self.used(from);
        if from & origin::OWN_BOARD != 0 {
            let used = self.local_values();
            self.set_local_values(used - 1);
        }
    }

    /// Combines the value of a child, if the reduction waits for it.
    fn take_child(&mut self, instance: Instance, sender: u32, value: Value) -> bool {
        let reduction = instance.words();
        let index = self.child_of(instance, sender);
        if index == CHILD_LIMIT {
            return false;
        }
        let kind = reduction.kind(self);
        let come = reduction.children(self);
        reduction.set_children(self, come | 1 << index);
        let own = join(reduction.high(self), reduction.low(self));
        let result = combine(kind & 0xFF, own, join(value.high, value.low));
        reduction.set_high(self, (result >> 32) as u32);
        reduction.set_low(self, result as u32);
        true
    }

    /// Goes on if the values of all children are there.
    pub(super) fn collect(&mut self, instance: Instance) {
        let reduction = instance.words();
        let kind = reduction.kind(self);
        if reduction.children(self) != (1 << (kind >> 16)) - 1 {
            return;
        }
        if N::VECTORS && self.ask_host(instance) {
            return;
        }
        if flags(kind) & REDUCE_PARENT == 0 {
            return self.spread(instance);
        }
        reduction.set_state(self, COLLECTED);
        self.send_up(instance);
    }

    /// Sends the value to the parent.
    fn send_up(&mut self, instance: Instance) {
        let reduction = instance.words();
        let parent = instance.descriptor().parent(self);
        let value = self.result_of(instance);
        if !self.depart(instance.port, parent, PARTIAL, value) {
            return;
        }
        if flags(reduction.kind(self)) & REDUCE_ALL != 0 {
            reduction.set_state(self, AWAITING_RESULT);
        } else {
            self.end_reduction(instance);
            let number = instance.number + 1;
            self.finish(instance.port, number, Status::Success as u32, NO_VALUE);
        }
    }

    /// The value of a reduction so far.
    fn result_of(&self, instance: Instance) -> Value {
        let reduction = instance.words();
        Value {
            tag: reduction.tag(self),
            high: reduction.high(self),
            low: reduction.low(self),
        }
    }

    /// The result is known.
    fn spread(&mut self, instance: Instance) {
        let reduction = instance.words();
        reduction.set_state(self, SPREADING);
        reduction.set_children(self, 0);
        self.send_down(instance);
    }

    /// Sends the result to the children that are left, then tells the host.
    fn send_down(&mut self, instance: Instance) {
        let reduction = instance.words();
        let kind = reduction.kind(self);
        let value = self.result_of(instance);
        let mut index = reduction.children(self);
        while flags(kind) & REDUCE_ALL != 0 && index < kind >> 16 {
            let child = instance.descriptor().child(self, index);
            if !self.depart(instance.port, child, RESULT, value) {
                return;
            }
            self.pump();
            index += 1;
            reduction.set_children(self, index);
        }
        self.end_reduction(instance);
        let number = instance.number + 1;
        if N::VECTORS {
            let first = self.give_vector(instance, value);
            return self.finish(instance.port, number, Status::Success as u32, first);
        }
        self.finish(instance.port, number, Status::Success as u32, value);
    }

    /// The instance is free for another reduction.
    fn end_reduction(&mut self, instance: Instance) {
        let block = block(instance.port);
        instance.words().set_state(self, 0);
        let instances = block.reductions(self) & !(1 << instance.number);
        block.set_reductions(self, instances);
    }

    /// The result has come from the parent.
    #[inline(never)]
    pub(super) fn result_came(&mut self, port: PortBlock, from: u32, value: Value) {
        let mut left = block(port).reductions(self);
        let mut number = 0;
        while left != 0 {
            let instance = Instance { port, number };
            let reduction = instance.words();
            let parent = instance.descriptor().parent(self);
            if left & 1 != 0
                && reduction.tag(self) == value.tag
                && reduction.state(self) == AWAITING_RESULT
                && parent & !0xFF == origin::endpoint::<N>(from)
            {
                if N::VECTORS {
                    self.take_result(reduction, value);
                } else {
                    reduction.set_high(self, value.high);
                    reduction.set_low(self, value.low);
                }
                return self.spread(instance);
            }
            left >>= 1;
            number += 1;
        }
    }

    /// Reductions whose packets could not leave go on, the oldest first: a receiver that has no place takes only what it waits for,
    /// and a younger value in front would hold that up.
    pub(super) fn reductions_go_on(&mut self, port: PortBlock) {
        let mut left = block(port).reductions(self);
        while left != 0 {
            let instance = self.oldest(port, left);
            left &= !(1 << instance.number);
            let state = instance.words().state(self);
            if state == COLLECTED {
                self.send_up(instance);
            } else if state == SPREADING {
                self.send_down(instance);
            }
        }
    }

    /// The reduction with the oldest tag among some of a port, a bit for each, at least one.
    pub(super) fn oldest(&self, port: PortBlock, among: u32) -> Instance {
        let mut oldest = Instance { port, number: 0 };
        let (mut left, mut number, mut tag) = (among, 0, None);
        while left != 0 {
            let instance = Instance { port, number };
            if left & 1 != 0 {
                let own = instance.words().tag(self);
                if tag.is_none_or(|tag| own.wrapping_sub(tag).cast_signed() < 0) {
                    (oldest, tag) = (instance, Some(own));
                }
            }
            left >>= 1;
            number += 1;
        }
        oldest
    }

    /// Whether a reduction of a port has been under way for too long.
    pub(super) fn is_reduction_late(&self, port: PortBlock, now: u32) -> bool {
        let mut left = block(port).reductions(self);
        let mut number = 0;
        let mut late = false;
        while left != 0 {
            let instance = Instance { port, number };
            let deadline = instance.words().deadline(self);
            late |= left & 1 != 0 && is_reached(deadline, now);
            left >>= 1;
            number += 1;
        }
        late
    }
}

/// A value of 64 bits from its halves.
const fn join(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

const _: () = assert!(defs::gm::collective::CHILD_LIMIT < 32);

//! Reductions: values go up a tree; the result goes down if all processes want it.
//!
//! | state | what happens | next |
//! |-------|--------------|------|
//! | `COLLECTING` | values of children are awaited and combined | `COLLECTED` with a parent, else `SPREADING` |
//! | `COLLECTED` | the value goes to the parent | the host is told, or `AWAITING_RESULT` |
//! | `AWAITING_RESULT` | the parent's result is awaited | `SPREADING` |
//! | `SPREADING` | the result goes to the children, if all get it, one after the other | the host is told, whose descriptor is free then |
//!
//! A value belongs to the reduction with its tag that waits for its sender.

use defs::gm::collective::{
    CHILD_LIMIT, DESCRIPTOR_BYTES, DESCRIPTOR_CHILDREN, DESCRIPTOR_COUNT, DESCRIPTOR_KIND,
    DESCRIPTOR_PARENT, DESCRIPTOR_TAG, DESCRIPTOR_VALUE, PARTIAL, REDUCE_ALL, REDUCE_PARENT,
    RESULT,
};
use defs::gm::combine::combine;
use defs::gm::event::Status;
use defs::gm::map::{COLLECTIVE_TICKS, Counter};

use super::depart::{NO_VALUE, Value};
use super::origin;
use super::state::{
    AWAITING_RESULT, COLLECTED, COLLECTING, FREE_VALUE, I_CHILDREN, I_DEADLINE, I_HIGH, I_KIND,
    I_LOW, I_STATE, I_TAG, INSTANCE_BYTES, INSTANCES, LOCAL_USED, SPREADING, V_CLOSED, V_HIGH,
    V_LOW, V_NEXT, V_ORIGIN, V_TAG, X_BROKEN, X_INSTANCES, X_VALUES, block,
};
use crate::state::P_OPEN;
use crate::{Gm, Nic};

/// A reduction of a port.
#[derive(Clone, Copy)]
pub(super) struct Instance {
    port: u32,
    number: u32,
}

impl Instance {
    /// Its words.
    const fn at(self) -> u32 {
        block(self.port) + INSTANCES + (self.number << 5)
    }

    /// Its descriptor.
    const fn descriptor(self) -> u32 {
        block(self.port) + (self.number << 6)
    }

    /// The word of a child.
    const fn child(self, index: u32) -> u32 {
        self.descriptor() + DESCRIPTOR_CHILDREN + (index << 2)
    }
}

const _: () = assert!(INSTANCE_BYTES == 1 << 5 && DESCRIPTOR_BYTES == 1 << 6);

/// Flags of a reduction's kind.
const fn flags(kind: u32) -> u32 {
    kind >> 8 & 0xFF
}

impl<N: Nic> Gm<N> {
    /// A process has posted a reduction: the number of its descriptor.
    #[inline(never)]
    pub(crate) fn post_reduction(&mut self, port: u32, number: u32) {
        let block = block(port);
        if number >= DESCRIPTOR_COUNT
            || self.nic.load(block + X_INSTANCES) >> number & 1 != 0
            || self.nic.load(COLLECTIVE_TICKS) == 0
        {
            // No descriptor, or one that is in use: a mistake of the process.
            return self.count(Counter::BadPosts);
        }
        let instance = Instance { port, number };
        let broken = self.nic.load(block + X_BROKEN);
        let kind = self.nic.load(instance.descriptor() + DESCRIPTOR_KIND);
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

    fn begin_reduction(&mut self, instance: Instance, kind: u32) {
        let descriptor = instance.descriptor();
        let block = block(instance.port);
        let tag = self.nic.load(descriptor + DESCRIPTOR_TAG);
        let high = self.nic.load(descriptor + DESCRIPTOR_VALUE);
        let low = self.nic.load(descriptor + DESCRIPTOR_VALUE + 4);
        let deadline = self.deadline();
        let at = instance.at();
        for (word, value) in [
            (I_STATE, COLLECTING),
            (I_CHILDREN, 0),
            (I_DEADLINE, deadline),
            (I_TAG, tag),
            (I_KIND, kind),
            (I_HIGH, high),
            (I_LOW, low),
        ] {
            self.nic.store(at + word, value);
        }
        let instances = self.nic.load(block + X_INSTANCES) | 1 << instance.number;
        self.nic.store(block + X_INSTANCES, instances);
        self.watch(instance.port);
        if self.nic.load(block + X_VALUES) != 0 {
            self.take_early(instance, tag);
        }
        self.collect(instance);
    }

    /// Combines the values that have come early.
    fn take_early(&mut self, instance: Instance, tag: u32) {
        let values = block(instance.port) + X_VALUES;
        let mut value = self.nic.load(values);
        self.nic.store(values, 0);
        while value != 0 {
            let next = self.nic.load(value + V_NEXT);
            let from = self.nic.load(value + V_ORIGIN);
            let fits = self.nic.load(value + V_TAG) == tag && self.nic.load(value + V_CLOSED) == 0;
            if fits && self.take_child(instance, origin::endpoint(from), self.value_of(value)) {
                self.free_value(value);
            } else {
                self.append(values, value, V_NEXT);
            }
            value = next;
        }
    }

    fn value_of(&self, buffer: u32) -> Value {
        Value {
            tag: self.nic.load(buffer + V_TAG),
            high: self.nic.load(buffer + V_HIGH),
            low: self.nic.load(buffer + V_LOW),
        }
    }

    /// Combines a value with the reduction that waits for it; `None`: none waits.
    #[inline(always)]
    pub(super) fn combine_partial(
        &mut self,
        port: u32,
        sender: u32,
        value: Value,
    ) -> Option<Instance> {
        let mut left = self.nic.load(block(port) + X_INSTANCES);
        let mut number = 0;
        while left != 0 {
            let instance = Instance { port, number };
            if left & 1 != 0
                && self.nic.load(instance.at() + I_TAG) == value.tag
                && self.nic.load(instance.at() + I_STATE) == COLLECTING
                && self.take_child(instance, sender, value)
            {
                return Some(instance);
            }
            left >>= 1;
            number += 1;
        }
        None
    }

    /// Whether a reduction waits for the value of a sender.
    pub(super) fn awaiting(&self, port: u32, sender: u32, tag: u32) -> bool {
        let mut left = self.nic.load(block(port) + X_INSTANCES);
        let mut number = 0;
        let mut found = false;
        while left != 0 {
            let instance = Instance { port, number };
            let at = instance.at();
            found |= left & 1 != 0
                && self.nic.load(at + I_TAG) == tag
                && self.nic.load(at + I_STATE) == COLLECTING
                && self.child_of(instance, sender) < CHILD_LIMIT;
            left >>= 1;
            number += 1;
        }
        found
    }

    /// The place of a sender among the children whose values have not come; [`CHILD_LIMIT`] if it has none.
    fn child_of(&self, instance: Instance, sender: u32) -> u32 {
        let at = instance.at();
        let count = self.nic.load(at + I_KIND) >> 16;
        let come = self.nic.load(at + I_CHILDREN);
        let mut index = 0;
        while index < count {
            let child = self.nic.load(instance.child(index));
            if child & !0xFF == sender && come >> index & 1 == 0 {
                return index;
            }
            index += 1;
        }
        CHILD_LIMIT
    }

    /// A value of another process: it is combined, or kept.
    #[inline(never)]
    pub(super) fn partial_came(&mut self, port: u32, from: u32, value: Value) {
        if let Some(instance) = self.combine_partial(port, origin::endpoint(from), value) {
            self.used_value(from);
            return self.collect(instance);
        }
        self.count(Counter::Unexpected);
        let buffer = self.nic.load(FREE_VALUE);
        if buffer == 0 {
            // There are as many buffers as values that are taken and not used.
            return self.used_value(from);
        }
        let free = self.nic.load(buffer + V_NEXT);
        self.nic.store(FREE_VALUE, free);
        let closed = u32::from(self.nic.load(port + P_OPEN) == 0);
        for (word, value) in [
            (V_ORIGIN, from),
            (V_TAG, value.tag),
            (V_HIGH, value.high),
            (V_LOW, value.low),
            (V_CLOSED, closed),
        ] {
            self.nic.store(buffer + word, value);
        }
        self.append(block(port) + X_VALUES, buffer, V_NEXT);
    }

    /// A value is used: its buffer is free, and so is its place among those that may be under way.
    pub(super) fn free_value(&mut self, buffer: u32) {
        let from = self.nic.load(buffer + V_ORIGIN);
        let free = self.nic.load(FREE_VALUE);
        self.nic.store(buffer + V_NEXT, free);
        self.nic.store(FREE_VALUE, buffer);
        self.used_value(from);
    }

    fn used_value(&mut self, from: u32) {
        self.used(from);
        if from & origin::OWN_BOARD != 0 {
            let used = self.nic.load(LOCAL_USED);
            self.nic.store(LOCAL_USED, used - 1);
        }
    }

    /// Combines the value of a child, if the reduction waits for it.
    fn take_child(&mut self, instance: Instance, sender: u32, value: Value) -> bool {
        let at = instance.at();
        let index = self.child_of(instance, sender);
        if index == CHILD_LIMIT {
            return false;
        }
        let kind = self.nic.load(at + I_KIND);
        let come = self.nic.load(at + I_CHILDREN);
        self.nic.store(at + I_CHILDREN, come | 1 << index);
        let own = join(self.nic.load(at + I_HIGH), self.nic.load(at + I_LOW));
        let result = combine(kind & 0xFF, own, join(value.high, value.low));
        self.nic.store(at + I_HIGH, (result >> 32) as u32);
        self.nic.store(at + I_LOW, result as u32);
        true
    }

    /// Goes on if the values of all children are there.
    pub(super) fn collect(&mut self, instance: Instance) {
        let at = instance.at();
        let kind = self.nic.load(at + I_KIND);
        if self.nic.load(at + I_CHILDREN) != (1 << (kind >> 16)) - 1 {
            return;
        }
        if flags(kind) & REDUCE_PARENT == 0 {
            return self.spread(instance);
        }
        self.nic.store(at + I_STATE, COLLECTED);
        self.send_up(instance);
    }

    /// Sends the value to the parent.
    fn send_up(&mut self, instance: Instance) {
        let at = instance.at();
        let parent = self.nic.load(instance.descriptor() + DESCRIPTOR_PARENT);
        let value = self.result_of(instance);
        if !self.depart(instance.port, parent, PARTIAL, value) {
            return;
        }
        if flags(self.nic.load(at + I_KIND)) & REDUCE_ALL != 0 {
            self.nic.store(at + I_STATE, AWAITING_RESULT);
        } else {
            self.end_reduction(instance);
            let number = instance.number + 1;
            self.finish(instance.port, number, Status::Success as u32, NO_VALUE);
        }
    }

    fn result_of(&self, instance: Instance) -> Value {
        let at = instance.at();
        Value {
            tag: self.nic.load(at + I_TAG),
            high: self.nic.load(at + I_HIGH),
            low: self.nic.load(at + I_LOW),
        }
    }

    /// The result is known.
    fn spread(&mut self, instance: Instance) {
        let at = instance.at();
        self.nic.store(at + I_STATE, SPREADING);
        self.nic.store(at + I_CHILDREN, 0);
        self.send_down(instance);
    }

    /// Sends the result to the children that are left, then tells the host.
    fn send_down(&mut self, instance: Instance) {
        let at = instance.at();
        let kind = self.nic.load(at + I_KIND);
        let value = self.result_of(instance);
        let mut index = self.nic.load(at + I_CHILDREN);
        while flags(kind) & REDUCE_ALL != 0 && index < kind >> 16 {
            let child = self.nic.load(instance.child(index));
            if !self.depart(instance.port, child, RESULT, value) {
                return;
            }
            self.pump();
            index += 1;
            self.nic.store(at + I_CHILDREN, index);
        }
        self.end_reduction(instance);
        let number = instance.number + 1;
        self.finish(instance.port, number, Status::Success as u32, value);
    }

    fn end_reduction(&mut self, instance: Instance) {
        let block = block(instance.port);
        self.nic.store(instance.at() + I_STATE, 0);
        let instances = self.nic.load(block + X_INSTANCES) & !(1 << instance.number);
        self.nic.store(block + X_INSTANCES, instances);
    }

    /// The result has come from the parent.
    #[inline(never)]
    pub(super) fn result_came(&mut self, port: u32, from: u32, value: Value) {
        let mut left = self.nic.load(block(port) + X_INSTANCES);
        let mut number = 0;
        while left != 0 {
            let instance = Instance { port, number };
            let at = instance.at();
            let parent = self.nic.load(instance.descriptor() + DESCRIPTOR_PARENT);
            if left & 1 != 0
                && self.nic.load(at + I_TAG) == value.tag
                && self.nic.load(at + I_STATE) == AWAITING_RESULT
                && parent & !0xFF == origin::endpoint(from)
            {
                self.nic.store(at + I_HIGH, value.high);
                self.nic.store(at + I_LOW, value.low);
                return self.spread(instance);
            }
            left >>= 1;
            number += 1;
        }
    }

    /// Reductions whose packets could not leave go on.
    pub(super) fn reductions_go_on(&mut self, port: u32) {
        let mut left = self.nic.load(block(port) + X_INSTANCES);
        let mut number = 0;
        while left != 0 {
            let instance = Instance { port, number };
            let state = self.nic.load(instance.at() + I_STATE);
            if left & 1 != 0 && state == COLLECTED {
                self.send_up(instance);
            } else if left & 1 != 0 && state == SPREADING {
                self.send_down(instance);
            }
            left >>= 1;
            number += 1;
        }
    }

    /// Whether a reduction of a port has been under way for too long.
    pub(super) fn is_reduction_late(&self, port: u32, now: u32) -> bool {
        let mut left = self.nic.load(block(port) + X_INSTANCES);
        let mut number = 0;
        let mut late = false;
        while left != 0 {
            let instance = Instance { port, number };
            let deadline = self.nic.load(instance.at() + I_DEADLINE);
            late |= left & 1 != 0 && now.wrapping_sub(deadline) < 1 << 31;
            left >>= 1;
            number += 1;
        }
        late
    }
}

const fn join(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

const _: () = assert!(defs::gm::collective::CHILD_LIMIT < 32);

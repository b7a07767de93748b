//! Reads, writes and atomic operations of the process on the memory of others (one-sided operations), and the memory that it offers to them.

use lanigon_requests::{Class, Envelope, Message, Operation, Region, Request};

use super::{Process, Sending, Unfinished};
use crate::ffi::WRITE;
use crate::ffi::error::{INVAL, NOKEY};
use crate::memory::{BufferList, scatter};

impl Process {
    /// Begins a one-sided operation: READ or WRITE, of RMA or ATOMIC.
    ///
    /// # Errors
    /// The number of the error.
    pub fn operate(
        &mut self,
        number: usize,
        sending: Sending,
        kind: u64,
        operation: &Operation,
        results: BufferList,
    ) -> Result<(), i32> {
        let endpoint = self
            .endpoints
            .get(number)
            .and_then(Option::as_ref)
            .ok_or(INVAL)?;
        let to = self.receiver(endpoint, sending.to)?;
        let begun = Unfinished {
            endpoint: number,
            context: sending.context,
            flags: kind,
            wanted: endpoint.wants(&sending),
            bytes: operation.length(),
            results,
            counter: endpoint.counters[usize::from(kind & WRITE != 0)],
        };
        let token = self.next_token;
        let envelope = Envelope {
            from_endpoint: number as u8,
            to_endpoint: to as u8,
            class: Class::Operation,
            tag: token,
            data: None,
        };
        self.is_active();
        self.emit(0, (to >> 8) as u32, &envelope, &operation.bytes());
        self.keep(token, begun);
        Ok(())
    }

    /// Offers a region of memory under a key. Gives the key.
    ///
    /// # Errors
    /// The number of the error.
    pub fn offer(&mut self, key: u64, region: Region) -> Result<u64, i32> {
        if !self.keys.insert(key) {
            return Err(NOKEY);
        }
        self.tell_withdrawn();
        self.tell_region(key, Some(region));
        Ok(key)
    }

    /// A region is offered no more. The world learns of it with the next request that sends or offers something: alone, it would be a sign that the process
    /// goes on, and when processes end depends on the machine.
    pub fn withdraw(&mut self, key: u64) {
        self.keys.remove(&key);
        self.withdrawn.push(key);
    }

    /// Tells the world which regions are offered no more.
    pub(super) fn tell_withdrawn(&mut self) {
        for key in std::mem::take(&mut self.withdrawn) {
            self.tell_region(key, None);
        }
    }

    fn tell_region(&mut self, key: u64, region: Option<Region>) {
        let spent_ns = self.take_spent();
        self.has_asked = true;
        self.request(&Request::Region {
            spent_ns,
            key,
            region,
        });
    }

    /// A one-sided operation is complete.
    pub(super) fn replied(&mut self, reply: &Message) {
        let Some(operation) = self.unfinished.remove(&reply.envelope.tag) else {
            return;
        };
        self.unfinished_bytes -= operation.bytes;
        // SAFETY: the process has given the buffers for the results when it began the operation.
        unsafe { scatter(&operation.results, 0, &reply.bytes) };
        let error = reply.envelope.data.map(|error| (error as i32, 0));
        if let Some(count) = operation
            .counter
            .and_then(|place| self.counts.get_mut(place))
        {
            count.done += u64::from(error.is_none());
            count.failed += u64::from(error.is_some());
        }
        self.sent(&operation, error);
    }
}

//! The machine that a host program runs on: window, memory and time, as the host library sees them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{MutexGuard, PoisonError};
use std::task::{Context, Poll};

use host_lib::window::{PhysicalAddress, System, VirtualAddress, Watch, Window};

use super::log::MemoryAct;
use super::log::MemoryAnswer::{self, Allocated, Compared, Contiguous, Read, Written};
use super::memory::HostMemory;
use super::request::{Call, PollRequest, Request, Response, SharedPort, lock};
use crate::board::SharedMemory;
use crate::sim::time::SimTime;

/// A program's hold on its host. Clones act for the same program.
#[derive(Debug, Clone)]
pub struct Machine {
    port: SharedPort,
    memory: SharedMemory,
}

/// Waits for the answer to a request.
struct Answer<'a> {
    port: &'a SharedPort,
    request: Option<Request>,
}

impl Future for Answer<'_> {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Response> {
        let request = self.request.take();
        let mut port = lock(self.port);
        if request.is_some() {
            port.request = request;
            return Poll::Pending;
        }
        port.response.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Machine {
    pub(super) const fn new(port: SharedPort, memory: SharedMemory) -> Self {
        Self { port, memory }
    }

    const fn ask(&self, request: Request) -> Answer<'_> {
        Answer {
            port: &self.port,
            request: Some(request),
        }
    }

    async fn ask_word(&self, request: Request) -> u32 {
        match self.ask(request).await {
            Response::Word(word) => word,
            _ => 0,
        }
    }

    fn note_call(&self, what: &dyn fmt::Display, returned: bool) {
        if let Some(calls) = &mut lock(&self.port).calls {
            let what = what.to_string();
            calls.push(Call { what, returned });
        }
    }

    /// What memory says, or said at another time; `None` if the program asks what it did not ask then.
    fn ask_memory(
        &self,
        ask: impl FnOnce(&mut HostMemory) -> MemoryAnswer,
    ) -> Option<MemoryAnswer> {
        lock(&self.port).answers.answer(&self.memory, ask)
    }

    /// The same while memory is changed.
    fn change_memory(
        &self,
        act: impl FnOnce() -> MemoryAct,
        change: impl FnOnce(&mut HostMemory) -> MemoryAnswer,
    ) -> Option<MemoryAnswer> {
        let mut port = lock(&self.port);
        port.answers.note(act);
        port.answers.answer(&self.memory, change)
    }

    /// The machine's memory.
    pub(super) fn lock(memory: &SharedMemory) -> MutexGuard<'_, HostMemory> {
        memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        lock(&self.port).now
    }
}

impl Window for Machine {
    async fn read(&mut self, offset: u32) -> u32 {
        self.ask_word(Request::Read { offset }).await
    }

    async fn write(&mut self, offset: u32, value: u32) {
        self.write_burst(offset, &[value]).await;
    }

    async fn write_burst(&mut self, offset: u32, values: &[u32]) {
        let values = values.to_vec();
        self.ask(Request::Write { offset, values }).await;
    }

    async fn poll_until(
        &mut self,
        offset: u32,
        mask: u32,
        expected: u32,
        why: &'static str,
    ) -> u32 {
        let poll = PollRequest {
            offset,
            mask,
            expected,
            why,
        };
        self.ask_word(Request::Poll(poll)).await
    }

    async fn poll_any(&mut self, watches: &[Watch], why: &'static str) -> Option<(usize, u32)> {
        if watches.is_empty() {
            return None;
        }
        let watches = watches.to_vec();
        match self.ask(Request::PollAny { watches, why }).await {
            Response::Found(index, value) => Some((index, value)),
            _ => None,
        }
    }
}

impl System for Machine {
    async fn translate(
        &mut self,
        address: VirtualAddress,
        length: u64,
    ) -> Option<Vec<PhysicalAddress>> {
        let address = address.0;
        match self.ask(Request::Translate { address, length }).await {
            Response::Pages(pages) => {
                pages.map(|pages| pages.into_iter().map(PhysicalAddress).collect())
            }
            _ => None,
        }
    }

    fn allocate(&mut self, length: u64) -> Option<VirtualAddress> {
        let act = || MemoryAct::Allocate(length);
        match self.change_memory(act, |memory| Allocated(memory.allocate(length))) {
            Some(Allocated(address)) => address.map(VirtualAddress),
            _ => None,
        }
    }

    fn allocate_contiguous(&mut self, length: u64) -> Option<(VirtualAddress, PhysicalAddress)> {
        let act = || MemoryAct::AllocateContiguous(length);
        match self.change_memory(act, |memory| Contiguous(memory.allocate_contiguous(length))) {
            Some(Contiguous(found)) => {
                found.map(|(address, at)| (VirtualAddress(address), PhysicalAddress(at)))
            }
            _ => None,
        }
    }

    fn write_memory(
        &mut self,
        address: VirtualAddress,
        bytes: &[u8],
    ) -> Result<(), VirtualAddress> {
        let act = || MemoryAct::Write(address.0, bytes.into());
        let write = |memory: &mut HostMemory| Written(memory.write_virtual(address.0, bytes));
        match self.change_memory(act, write) {
            Some(Written(done)) => done.map_err(VirtualAddress),
            _ => Err(address),
        }
    }

    fn read_memory(&self, address: VirtualAddress, bytes: &mut [u8]) -> Result<(), VirtualAddress> {
        if !lock(&self.port).answers.matter() {
            let memory = Self::lock(&self.memory);
            let read = memory.read_virtual(address.0, bytes);
            return read.map_err(VirtualAddress);
        }
        let mut read = vec![0; bytes.len()];
        let answer = self.ask_memory(|memory| {
            let done = memory.read_virtual(address.0, &mut read);
            Read(done.map(|()| std::mem::take(&mut read)))
        });
        match answer {
            Some(Read(Ok(read))) if read.len() == bytes.len() => bytes.copy_from_slice(&read),
            Some(Read(Err(at))) => return Err(VirtualAddress(at)),
            _ => return Err(address),
        }
        Ok(())
    }

    fn memory_is(&self, address: VirtualAddress, bytes: &[u8]) -> Result<bool, VirtualAddress> {
        let answer = self.ask_memory(|memory| {
            let mut found = vec![0; bytes.len()];
            let read = memory.read_virtual(address.0, &mut found);
            Compared(read.map(|()| found == bytes))
        });
        match answer {
            Some(Compared(equal)) => equal.map_err(VirtualAddress),
            _ => Err(address),
        }
    }

    async fn compute(&mut self, nanoseconds: u64) {
        self.ask(Request::Compute(SimTime::from_ns(nanoseconds)))
            .await;
    }

    async fn wait_interrupt(&mut self, timeout_ns: Option<u64>) -> bool {
        let timeout = timeout_ns.map(|ns| SimTime::from_ps(ns.saturating_mul(1000)));
        match self.ask(Request::Interrupt { timeout }).await {
            Response::Interrupt(came) => came,
            _ => false,
        }
    }

    fn call_begins(&mut self, what: &(dyn fmt::Display + Sync)) {
        self.note_call(what, false);
    }

    fn call_returns(&mut self, what: &(dyn fmt::Display + Sync)) {
        self.note_call(what, true);
    }

    fn now_ps(&self) -> u64 {
        self.now().ps()
    }
}

//! The machine that a host program runs on, as the host library sees it: window, memory, CPU and time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{MutexGuard, PoisonError};
use std::task::{Context, Poll};

use lanigon_window::window::{
    Computation, FoundWord, PhysicalAddress, PollError, PolledWord, SignalHandler, System,
    TimedOut, VirtualAddress, Window, WindowWatch,
};

use super::log::MemoryAct;
use super::log::MemoryAnswer::{self, Allocated, Compared, Contiguous, Read, Written};
use super::request::{CallEvent, Handler, Request, SharedPort, lock};
use emulator_base::time::SimTime;
use emulator_board::SharedMemory;
use emulator_board::events::{PollRequest, Response, Words};
use emulator_board::memory::{HostMemory, Lent};
use emulator_profile::costs::{CopyCosts, HostCosts};

/// A program's hold on its host. Clones act for the same program.
#[derive(Debug, Clone)]
pub struct Machine {
    port: SharedPort,
    memory: SharedMemory,
    copy: CopyCosts,
    system_call: SimTime,
}

/// The answer to a request, once the program is resumed with it.
struct PendingAnswer<'a, T> {
    port: &'a SharedPort,
    request: Option<Request>,
    /// The answer in a response; `None` if the response is one to another kind of request.
    accept: fn(Response) -> Option<T>,
}

impl<T> Future for PendingAnswer<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let request = self.request.take();
        let mut port = lock(self.port);
        if request.is_some() {
            port.request = request;
            return Poll::Pending;
        }
        let Some(response) = port.response.take() else {
            return Poll::Pending;
        };
        match (self.accept)(response) {
            Some(answer) => Poll::Ready(answer),
            None => {
                port.mismatch = true;
                Poll::Pending
            }
        }
    }
}

impl Machine {
    pub(super) const fn new(port: SharedPort, memory: SharedMemory, costs: &HostCosts) -> Self {
        Self {
            port,
            memory,
            copy: costs.copy,
            system_call: costs.system_call,
        }
    }

    /// Asks the node for something; `accept` takes the answer out of the response, or says that it is none.
    const fn ask<T>(
        &self,
        request: Request,
        accept: fn(Response) -> Option<T>,
    ) -> PendingAnswer<'_, T> {
        PendingAnswer {
            port: &self.port,
            request: Some(request),
            accept,
        }
    }

    /// Issues a request and waits for its answer, whatever that is.
    pub(super) async fn perform(&self, request: Request) {
        self.ask(request, |_| Some(())).await;
    }

    /// Makes each interrupt of the board a signal to this program: `handler` begins, and the program stands still until it has
    /// ended. The handler must not replace itself.
    pub async fn handle_interrupts<F>(
        &mut self,
        mut handler: impl FnMut(Self) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        lock(&self.port).handler =
            Some(Handler(Box::new(move |machine| Box::pin(handler(machine)))));
        let enabled = true;
        self.ask(Request::Signals { enabled }, done).await;
    }

    /// Ends the delivery of interrupts as signals to this program. A running handler continues.
    pub async fn ignore_interrupts(&mut self) {
        let enabled = false;
        self.ask(Request::Signals { enabled }, done).await;
    }

    /// Whether an observer wants calls of host programs.
    #[must_use]
    pub fn notes_calls(&self) -> bool {
        lock(&self.port).calls.is_some()
    }

    /// Notes the begin or the return of a call, if an observer wants calls.
    fn note_call(&self, what: &dyn fmt::Display, returned: bool) {
        if let Some(calls) = &mut lock(&self.port).calls {
            let what = what.to_string();
            calls.push(CallEvent { what, returned });
        }
    }

    /// Memory's answer, or that of the log; `None` if the log has none.
    fn ask_memory(
        &self,
        ask: impl FnOnce(&mut HostMemory) -> MemoryAnswer,
    ) -> Option<MemoryAnswer> {
        lock(&self.port).answers.answer(&self.memory, ask)
    }

    /// [`ask_memory`](Self::ask_memory) with a change of memory.
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

    /// Spends CPU time until then.
    pub(super) async fn work_until(&self, time: SimTime) {
        let span = time.saturating_sub(self.now());
        if span > SimTime::ZERO {
            self.ask(Request::Compute(span), done).await;
        }
    }

    /// Says lines, which become events of the trace.
    pub(super) fn say(&self, lines: Vec<String>) {
        lock(&self.port).said.extend(lines);
    }

    /// Replaces the machine's memory from now on.
    pub(super) fn lend(&self, memory: Box<dyn Lent>) {
        Self::lock(&self.memory).lend(memory);
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        lock(&self.port).now
    }
}

impl Window for Machine {
    async fn read(&mut self, offset: u32) -> u32 {
        self.ask(Request::Read { offset }, word).await
    }

    async fn write(&mut self, offset: u32, value: u32) {
        self.write_burst(offset, &[value]).await;
    }

    async fn write_burst(&mut self, offset: u32, values: &[u32]) {
        let values = Words::new(values);
        self.ask(Request::Write { offset, values }, done).await;
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
            at: 0,
            why,
        };
        let timeout = None;
        self.ask(Request::Poll { poll, timeout }, word).await
    }

    async fn poll_any(
        &mut self,
        watches: &[WindowWatch],
        why: &'static str,
    ) -> Option<(usize, u32)> {
        if watches.is_empty() {
            return None;
        }
        let request = Request::PollAny {
            words: watches.iter().copied().map(PolledWord::Window).collect(),
            timeout: None,
            why,
        };
        let found = self.ask(request, |response| match response {
            Response::Found(index, value) => Some((index, value)),
            _ => None,
        });
        Some(found.await)
    }
}

impl System for Machine {
    async fn translate(
        &mut self,
        address: VirtualAddress,
        length: u64,
    ) -> Option<Vec<PhysicalAddress>> {
        let address = address.0;
        let pages = self.ask(
            Request::Translate { address, length },
            |response| match response {
                Response::Pages(pages) => Some(pages),
                _ => None,
            },
        );
        let pages = pages.await?;
        Some(pages.into_iter().map(PhysicalAddress).collect())
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
        if !lock(&self.port).answers.use_log() {
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
        let answer = self.ask_memory(|memory| Compared(memory.virtual_is(address.0, bytes)));
        match answer {
            Some(Compared(equal)) => equal.map_err(VirtualAddress),
            _ => Err(address),
        }
    }

    async fn poll_words(
        &mut self,
        words: &[PolledWord],
        timeout_ns: Option<u64>,
        why: &'static str,
    ) -> Result<FoundWord, PollError> {
        if words.is_empty() {
            return Err(PollError::NoWords);
        }
        let timeout = timeout_ns.map(SimTime::from_ns);
        self.ask(poll_request(words, timeout, why), |response| {
            Some(match response {
                Response::Word(value) => Ok(FoundWord { index: 0, value }),
                Response::Found(index, value) => Ok(FoundWord { index, value }),
                Response::TimedOut => Err(TimedOut.into()),
                Response::BadAddress(address) => {
                    Err(PollError::BadAddress(VirtualAddress(address)))
                }
                _ => return None,
            })
        })
        .await
    }

    async fn compute(&mut self, nanoseconds: u64) {
        let span = SimTime::from_ns(nanoseconds);
        self.ask(Request::Compute(span), done).await;
    }

    async fn charge_copy(&mut self, bytes: usize) {
        let span = self.copy.copy_time(bytes);
        if span > SimTime::ZERO {
            self.ask(Request::Compute(span), done).await;
        }
    }

    async fn system_call(&mut self) {
        let span = self.system_call;
        if span > SimTime::ZERO {
            self.ask(Request::Compute(span), done).await;
        }
    }

    async fn sleep(&mut self, nanoseconds: u64) {
        let span = SimTime::from_ns(nanoseconds);
        self.ask(Request::Sleep(span), done).await;
    }

    async fn wait_interrupt(&mut self, timeout_ns: Option<u64>) -> Result<(), TimedOut> {
        let timeout = timeout_ns.map(SimTime::from_ns);
        let came = self.ask(Request::Interrupt { timeout }, |response| match response {
            Response::Interrupt(came) => Some(came),
            _ => None,
        });
        came.await.then_some(()).ok_or(TimedOut)
    }

    async fn on_signal(&mut self, mut handler: SignalHandler) -> Option<Computation> {
        self.handle_interrupts(move |_| handler()).await;
        let machine = self.clone();
        Some(Box::new(move |nanoseconds| {
            let mut machine = machine.clone();
            Box::pin(async move { machine.compute(nanoseconds).await })
        }))
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

/// The answer to a read.
fn word(response: Response) -> Option<u32> {
    match response {
        Response::Word(word) => Some(word),
        _ => None,
    }
}

/// The answer to a request without a result.
fn done(response: Response) -> Option<()> {
    match response {
        Response::Done => Some(()),
        _ => None,
    }
}

/// The request that polls these words. One word of the window, or words of memory alone, need not be polled one by one.
fn poll_request(words: &[PolledWord], timeout: Option<SimTime>, why: &'static str) -> Request {
    if let [PolledWord::Window(watch)] = *words
        && watch.before.is_none()
    {
        let poll = PollRequest {
            offset: watch.offset,
            mask: watch.mask,
            expected: watch.expected,
            at: 0,
            why,
        };
        return Request::Poll { poll, timeout };
    }
    let of_memory = |word: &PolledWord| match word {
        PolledWord::Memory(watch) => Some(*watch),
        PolledWord::Window(_) => None,
    };
    match words.iter().map(of_memory).collect() {
        Some(words) => Request::PollMemory {
            words,
            timeout,
            why,
        },
        None => Request::PollAny {
            words: words.to_vec(),
            timeout,
            why,
        },
    }
}

//! The machine that a host program runs on, as the host library sees it: window, memory, CPU and time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{MutexGuard, PoisonError};
use std::task::{Context, Poll};

use lanigon_window::window::{
    Computation, FoundWord, MachineAnswer, MachinePort, MachineRequest, PhysicalAddress,
    PolledWord, PolledWords, SignalHandler, System, SystemPort, VirtualAddress,
};

use super::log::MemoryAct;
use super::log::MemoryAnswer::{self, Allocated, Compared, Contiguous, Read, Written};
use super::request::{CallEvent, Handler, Request, SharedPort, lock};
use emulator_base::time::SimTime;
use emulator_board::SharedMemory;
use emulator_board::events::{PollRequest, Response, Words};
use emulator_board::memory::{HostMemory, Lent};
use emulator_profile::costs::{CopyCosts, HostCosts};

/// A program's hold on its host: the port, in which the program leaves a request and the node the response, and the memory. Clones act for the same program.
#[derive(Debug, Clone)]
pub struct Machine {
    port: SharedPort,
    memory: SharedMemory,
    copy: CopyCosts,
    system_call: SimTime,
}

/// A request that the node carries out.
struct Performed<'a> {
    port: &'a SharedPort,
    request: Option<Request>,
    /// Whether a response is one to the request.
    accepts: fn(&Response) -> bool,
}

impl Future for Performed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let request = self.request.take();
        let mut port = lock(self.port);
        if request.is_some() {
            port.request = request;
            return Poll::Pending;
        }
        let Some(response) = port.response.take() else {
            return Poll::Pending;
        };
        if (self.accepts)(&response) {
            return Poll::Ready(());
        }
        port.mismatch = true;
        Poll::Pending
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

    /// Issues a request and waits for its answer, whatever that is.
    pub(super) fn perform(&self, request: Request) -> impl Future<Output = ()> + Send {
        Performed {
            port: &self.port,
            request: Some(request),
            accepts: |_| true,
        }
    }

    /// Issues a request without a result and waits until it is carried out.
    fn carry_out(&self, request: Request) -> impl Future<Output = ()> + Send {
        Performed {
            port: &self.port,
            request: Some(request),
            accepts: |response| matches!(response, Response::Done),
        }
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
        self.carry_out(Request::Signals { enabled }).await;
    }

    /// Ends the delivery of interrupts as signals to this program. A running handler continues.
    pub async fn ignore_interrupts(&mut self) {
        let enabled = false;
        self.carry_out(Request::Signals { enabled }).await;
    }

    /// Whether an observer records library calls of host programs.
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

    /// Memory's answer, or that of the log, if a state is being loaded: the program runs again up to it, with the answers that it had, and memory
    /// stays as it was saved. `None` if the log has none: it is another program's.
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

    /// Spends CPU time until `time`.
    pub(super) async fn work_until(&self, time: SimTime) {
        let span = time.saturating_sub(self.now());
        if span > SimTime::ZERO {
            self.carry_out(Request::Compute(span)).await;
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

    /// The node's form of a program's request; `None` for a charge that costs nothing.
    fn request(&self, request: MachineRequest<'_>) -> Option<Request> {
        Some(match request {
            MachineRequest::Read { offset } => Request::Read { offset },
            MachineRequest::Write { offset, values } => {
                let values = Words::new(values);
                Request::Write { offset, values }
            }
            MachineRequest::Poll {
                words,
                timeout_ns,
                why,
            } => poll_request(words, timeout_ns.map(SimTime::from_ns), why),
            MachineRequest::Translate { address, length } => {
                let address = address.0;
                Request::Translate { address, length }
            }
            MachineRequest::Compute { nanoseconds } => {
                Request::Compute(SimTime::from_ns(nanoseconds))
            }
            MachineRequest::ChargeCopy { bytes } => return computing(self.copy.copy_time(bytes)),
            MachineRequest::SystemCall => return computing(self.system_call),
            MachineRequest::Sleep { nanoseconds } => Request::Sleep(SimTime::from_ns(nanoseconds)),
            MachineRequest::WaitInterrupt { timeout_ns } => {
                let timeout = timeout_ns.map(SimTime::from_ns);
                Request::Interrupt { timeout }
            }
            MachineRequest::EnableSignals => Request::Signals { enabled: true },
        })
    }
}

/// The request to compute for this time; `None` for no time.
fn computing(span: SimTime) -> Option<Request> {
    (span > SimTime::ZERO).then_some(Request::Compute(span))
}

/// No waker is kept: the node polls a program when it has left a response in the program's port.
impl MachinePort for Machine {
    fn start(&mut self, request: MachineRequest<'_>, _: &mut Context<'_>) -> Poll<MachineAnswer> {
        let Some(request) = self.request(request) else {
            return Poll::Ready(MachineAnswer::Done);
        };
        lock(&self.port).request = Some(request);
        Poll::Pending
    }

    fn proceed(&mut self, _: &mut Context<'_>) -> Poll<MachineAnswer> {
        let mut port = lock(&self.port);
        let Some(response) = port.response.take() else {
            return Poll::Pending;
        };
        match answer(response) {
            Some(answer) => Poll::Ready(answer),
            None => {
                port.mismatch = true;
                Poll::Pending
            }
        }
    }

    fn refuse_answer(&mut self) {
        lock(&self.port).mismatch = true;
    }
}

/// The answer in a response; `None` if it is none.
fn answer(response: Response) -> Option<MachineAnswer> {
    Some(match response {
        Response::Done => MachineAnswer::Done,
        Response::Word(word) => MachineAnswer::Word(word),
        Response::Found(index, value) => MachineAnswer::Found(FoundWord { index, value }),
        Response::Pages(pages) => {
            let pages = pages.map(|pages| pages.into_iter().map(PhysicalAddress).collect());
            MachineAnswer::Pages(pages)
        }
        Response::Interrupt(came) => MachineAnswer::Interrupt(came),
        Response::TimedOut => MachineAnswer::TimedOut,
        Response::BadAddress(address) => MachineAnswer::BadAddress(VirtualAddress(address)),
        // It begins a handler and answers no request.
        Response::Signal => return None,
    })
}

impl SystemPort for Machine {
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

    fn set_handler(&mut self, mut handler: SignalHandler) -> Option<Computation> {
        lock(&self.port).handler = Some(Handler(Box::new(move |_| handler())));
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

/// The request that polls these words. One word of the window, or words of memory alone, need not be polled one by one.
fn poll_request(words: PolledWords<'_>, timeout: Option<SimTime>, why: &'static str) -> Request {
    let single = match words {
        PolledWords::Window([watch]) | PolledWords::Words([PolledWord::Window(watch)]) => {
            Some(watch)
        }
        PolledWords::Window(_) | PolledWords::Words(_) => None,
    };
    if let Some(watch) = single
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
    if let PolledWords::Words(words) = words
        && let Some(words) = words.iter().map(of_memory).collect()
    {
        return Request::PollMemory {
            words,
            timeout,
            why,
        };
    }
    Request::PollAny {
        words: words.to_vec(),
        timeout,
        why,
    }
}

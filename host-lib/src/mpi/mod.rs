//! Message passing between processes in the terms of the MPI standard, over GM or EMP (docs/mpi.md).
//!
//! A program has an [`Mpi`] for its process. Names are those of the `rsmpi` crate where it has them, the standard's names are
//! aliases for searches.
//!
//! * [`Mpi::world`], [`Mpi::duplicate`], [`Mpi::split`]: communicators;
//! * [`Mpi::send`], [`Mpi::synchronous_send`], [`Mpi::receive`], [`Mpi::send_receive`], [`Mpi::probe`]: blocking calls;
//! * [`Mpi::immediate_send`], [`Mpi::immediate_receive`], [`Mpi::wait`], [`Mpi::test`]: requests;
//! * [`Mpi::send_init`], [`Mpi::receive_init`], [`Mpi::start_send`], [`Mpi::start_receive`]: persistent ones;
//! * [`Layout`], [`Mpi::pack`], [`Mpi::unpack`], [`Mpi::send_layout`], [`Mpi::receive_layout`]: messages out of parts of an array;
//! * [`Mpi::barrier`], [`Mpi::broadcast`], [`Mpi::reduce`], [`Mpi::all_reduce`], [`Mpi::gather`], [`Mpi::scatter`], [`Mpi::all_gather`],
//!   [`Mpi::all_to_all`], [`Mpi::scan`], [`Mpi::exclusive_scan`], [`Mpi::reduce_scatter`]: collective operations, and with blocks of
//!   different lengths [`Mpi::gather_varying`], [`Mpi::scatter_varying`], [`Mpi::all_gather_varying`], [`Mpi::all_to_all_varying`];
//! * [`Mpi::immediate_all_reduce`], [`Mpi::immediate_all_gather`], [`Mpi::immediate_broadcast`], [`Mpi::immediate_barrier`]: collective
//!   operations that return at once, on hosts or on boards ([`Config::collectives`]);
//! * [`Mpi::finalize`] ends.
//!
//! The program is the same over any [`Transport`]: [`GmTransport`], [`EmpTransport`].
//!
//! ```
//! use host_lib::mpi::{Mpi, MpiError, Operation, Transport};
//!
//! /// The sum of the squares of all ranks, which each of them learns.
//! async fn squares<T: Transport>(transport: T) -> Result<f64, MpiError> {
//!     let mut mpi = Mpi::new(transport)?;
//!     let world = mpi.world();
//!     let own = (world.rank() as f64).powi(2);
//!     let sum = mpi.all_reduce(&world, Operation::Sum, &[own]).await?;
//!     // To the next one, from the one before.
//!     let next = (world.rank() + 1) % world.size();
//!     let sent = mpi.immediate_send(&world, next, 7, &sum).await?;
//!     let (again, status) = mpi.receive::<f64>(&world, host_lib::mpi::Source::Any, 7, 1).await?;
//!     mpi.wait(sent).await?;
//!     assert!(again == sum && status.bytes == 8);
//!     mpi.finalize().await?;
//!     Ok(sum[0])
//! }
//! ```

mod bypass;
mod collective;
mod communicator;
mod datatype;
mod emp;
mod engine;
mod envelope;
mod error;
mod gm;
mod group;
mod held;
mod immediate;
mod layout;
mod matching;
mod persistent;
mod point;
mod prefix;
mod request;
mod script;
#[cfg(test)]
pub(crate) mod tests;
mod times;
mod transport;
mod varying;

use std::fmt;
use std::sync::Arc;

use crate::window::{ActionFuture, Computation};

pub use bypass::Bypass;
pub use communicator::Communicator;
pub use datatype::{Datatype, Located, Operation};
pub use emp::EmpTransport;
pub use error::{MpiError, Partner, Wait};
pub use gm::{GmSettings, GmTransport};
pub use layout::{Layout, LayoutError};
pub use persistent::{PersistentReceive, PersistentSend};
pub use request::{
    BarrierRequest, Collected, CollectiveRequest, Entered, Outcome, Progress, ReceiveRequest,
    Received, Request, SendRequest, Sent, Source, Status, Tag,
};
pub use times::Times;
pub use transport::{Arrival, BoardCollective, BoardResult, Delivery, Transport, TransportError};

use engine::Engine;
use held::LentState;
use times::Begin;

/// Longest message that is sent at once, unless a transport is made for another length, in bytes.
pub const EAGER_BYTES: usize = 16 << 10;
/// Bytes of the header of a packet.
pub const HEADER_BYTES: usize = envelope::ENVELOPE_BYTES;

/// Executor of collective operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// The hosts, with messages.
    Host,
    /// The boards, where the transport has that.
    Nic,
}

/// Values that boards reduce for one call at most: a board has so many reductions of a process under way.
pub const MOST_BOARD_VALUES: usize = defs::gm::collective::DESCRIPTOR_COUNT as usize;

/// Settings, equal for all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Processor time of the library itself for each send and each receive, in ns.
    pub library_ns: u64,
    /// A wait fails after so long without any arrival, in ns.
    pub limit_ns: u64,
    /// Executor of barriers.
    pub barrier: Executor,
    /// Executor of reductions and all-gathers of all processes, and of the operations that return at once. Boards reduce up to
    /// [`MOST_BOARD_VALUES`] integers or floating-point numbers of 64 bits, and gather blocks up to [`Transport::board_block_bytes`]; the rest is done by hosts.
    pub collectives: Executor,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            library_ns: 0,
            limit_ns: 1_000_000_000,
            barrier: Executor::Host,
            collectives: Executor::Host,
        }
    }
}

/// The library's state in a process.
pub struct Mpi<T> {
    engine: LentState<Engine<T>>,
    /// Computes while a handler of signals may have the engine.
    computation: Option<Computation>,
    /// The context of the next communicator.
    next_context: u32,
}

impl<T: fmt::Debug> fmt::Debug for Mpi<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpi")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> Mpi<T> {
    /// A process with the usual settings.
    ///
    /// # Errors
    /// [`MpiError::Rank`]: the transport has not its own rank.
    #[doc(alias = "MPI_Init")]
    pub fn new(transport: T) -> Result<Self, MpiError> {
        Self::with(transport, Config::default())
    }

    /// A process.
    ///
    /// # Errors
    /// [`MpiError::Rank`]: the transport has not its own rank.
    pub fn with(transport: T, config: Config) -> Result<Self, MpiError> {
        let (rank, size) = (transport.rank(), transport.size());
        if rank >= size {
            return Err(MpiError::Rank { rank, size });
        }
        let mut engine = Engine::new(transport, config);
        engine.clocks.start(&engine.transport);
        let mut mpi = Self {
            engine: LentState::new(engine),
            computation: None,
            next_context: 1,
        };
        let world = mpi.world();
        mpi.engine.bypassing.add(&world);
        Ok(mpi)
    }

    /// From now on these collective operations go on while the program computes. All processes call it.
    ///
    /// # Errors
    /// [`TransportError::NoSignals`] over a transport without signals.
    pub async fn bypass(&mut self, settings: Bypass) -> Result<(), MpiError>
    where
        T: 'static,
    {
        if self.computation.is_none() {
            let place = self.engine.place();
            let handler = move || -> ActionFuture {
                let place = Arc::clone(&place);
                Box::pin(async move {
                    if let Some(mut engine) = place.take_state() {
                        engine.on_signal().await;
                        place.put_back(engine);
                    }
                })
            };
            let computation = self.engine.transport.on_signal(Box::new(handler)).await?;
            self.computation = Some(computation);
        }
        self.engine.bypassing.settings = settings;
        Ok(())
    }

    /// The communicator of all processes.
    #[doc(alias = "MPI_COMM_WORLD")]
    pub fn world(&self) -> Communicator {
        Communicator {
            context: 0,
            members: (0..self.engine.transport.size()).collect(),
            rank: self.engine.transport.rank(),
        }
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.engine.config
    }

    /// Computes for so long. Signals are enabled meanwhile, if an operation needs them ([`Mpi::bypass`]).
    ///
    /// # Errors
    /// [`MpiError`]: of an operation that goes on meanwhile.
    pub async fn compute(&mut self, nanoseconds: u64) -> Result<(), MpiError> {
        let needed = self.engine.needs_signals();
        if self.computation.is_none() || !needed {
            let begin = self.engine.clocks.begin(&self.engine.transport);
            self.engine.transport.compute(nanoseconds).await;
            self.computed(begin, nanoseconds);
            return Ok(());
        }
        self.engine.signals(true).await?;
        loop {
            self.engine.poll().await?;
            if !self.engine.place().has_missed() {
                break;
            }
            self.engine.transport.end_signal().await;
        }
        let begin = self.engine.clocks.begin(&self.engine.transport);
        // From the last look on no time has passed.
        if let Some(computation) = &self.computation {
            let loan = self.engine.lend();
            computation(nanoseconds).await;
            drop(loan);
        }
        self.computed(begin, nanoseconds);
        self.engine.signals(false).await
    }

    fn computed(&mut self, begin: Begin, nanoseconds: u64) {
        let engine = &mut *self.engine;
        let own_ps = nanoseconds.saturating_mul(1000);
        engine.clocks.computed(begin, &engine.transport, own_ps);
    }

    /// Times of this process by activity, since it began.
    pub fn times(&self) -> Times {
        self.engine.clocks.times(&self.engine.transport)
    }

    /// The time in seconds, as the process's clock tells it.
    #[doc(alias = "MPI_Wtime")]
    pub fn time(&self) -> f64 {
        self.engine.transport.now_ps() as f64 * 1e-12
    }

    /// The time in picoseconds.
    pub fn now_ps(&self) -> u64 {
        self.engine.transport.now_ps()
    }

    /// The network below this library.
    pub fn transport(&self) -> &T {
        &self.engine.transport
    }

    /// The transport, for what does not concern messages: processor time, memory.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.engine.transport
    }

    /// Waits for all processes, and until everything has left. Messages that no receive has taken are lost; returns their number, 0 in a
    /// correct program.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Finalize")]
    pub async fn finalize(&mut self) -> Result<usize, MpiError> {
        let world = self.world();
        self.engine.flush().await?;
        self.host_barrier(&world, "finalize").await?;
        self.engine.flush().await?;
        Ok(self.engine.unexpected())
    }
}

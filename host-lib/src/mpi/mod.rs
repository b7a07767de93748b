//! Message passing between processes in the terms of the MPI standard, over GM or EMP (docs/mpi.md).
//!
//! A program has an [`Mpi`] for its process. Names are those of the `rsmpi` crate where it has them, the standard's names are
//! aliases for searches.
//!
//! * [`Mpi::world`], [`Mpi::duplicate`], [`Mpi::split`]: communicators;
//! * [`Mpi::send`], [`Mpi::synchronous_send`], [`Mpi::receive`], [`Mpi::send_receive`], [`Mpi::probe`]: blocking calls;
//! * [`Mpi::immediate_send`], [`Mpi::immediate_receive`], [`Mpi::wait`], [`Mpi::test`]: requests;
//! * [`Mpi::barrier`], [`Mpi::broadcast`], [`Mpi::reduce`], [`Mpi::all_reduce`], [`Mpi::gather`], [`Mpi::scatter`], [`Mpi::all_gather`],
//!   [`Mpi::all_to_all`]: collective operations;
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

mod collective;
mod communicator;
mod datatype;
mod emp;
mod engine;
mod envelope;
mod error;
mod gm;
mod group;
mod matching;
mod point;
mod request;
#[cfg(test)]
mod tests;
mod transport;

pub use communicator::Communicator;
pub use datatype::{Datatype, Operation};
pub use emp::EmpTransport;
pub use error::{MpiError, Wait};
pub use gm::{GmSettings, GmTransport};
pub use request::{
    Outcome, Progress, ReceiveRequest, Received, Request, SendRequest, Sent, Source, Status, Tag,
};
pub use transport::{Arrival, Transport, TransportError};

use engine::Engine;

/// Longest message that is sent at once, unless a transport is made for another length, in bytes.
pub const EAGER_BYTES: usize = 16 << 10;
/// Bytes of the header of a packet.
pub const HEADER_BYTES: usize = envelope::ENVELOPE_BYTES;

/// Where barriers are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierOn {
    /// By the hosts, with messages.
    Host,
    /// By the boards, where the transport has that.
    Nic,
}

/// Settings, equal for all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Processor time of the library itself for each send and each receive, in ns.
    pub library_ns: u64,
    /// A wait fails after so long without any arrival, in ns.
    pub limit_ns: u64,
    /// Where barriers are executed.
    pub barrier: BarrierOn,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            library_ns: 0,
            limit_ns: 1_000_000_000,
            barrier: BarrierOn::Host,
        }
    }
}

/// The library's state in a process.
#[derive(Debug)]
pub struct Mpi<T> {
    engine: Engine<T>,
    /// The context of the next communicator.
    next_context: u32,
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
        Ok(Self {
            engine: Engine::new(transport, config),
            next_context: 1,
        })
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
    pub const fn config(&self) -> &Config {
        &self.engine.config
    }

    /// Computes for so long.
    pub async fn compute(&mut self, nanoseconds: u64) {
        self.engine.transport.compute(nanoseconds).await;
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

    /// The transport.
    pub const fn transport(&self) -> &T {
        &self.engine.transport
    }

    /// The transport, for what does not concern messages: processor time, memory.
    pub const fn transport_mut(&mut self) -> &mut T {
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

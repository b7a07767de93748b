//! The library over a network in one program: random speeds, messages in order between two ranks.

mod collectives;
mod immediate;
mod layouts;
mod messages;
pub(crate) mod net;

use std::future::Future;

use super::{Mpi, MpiError};
use net::{EAGER_BYTES, Process};

type Node = Mpi<Process>;

fn mpi(process: Process) -> Node {
    Mpi::new(process).expect("a rank")
}

/// Runs a program on all ranks, which has to succeed everywhere and leave no message.
fn check<R, F: Future<Output = Result<(Node, R), MpiError>>>(
    size: usize,
    seed: u64,
    program: impl Fn(Node) -> F,
) -> Vec<R> {
    let results = net::run(size, seed, |process| async {
        let (mut mpi, result) = program(mpi(process)).await?;
        assert_eq!(mpi.finalize().await?, 0, "messages without a receive");
        Ok::<R, MpiError>(result)
    });
    let results = results.into_iter().enumerate();
    results
        .map(|(rank, result)| result.unwrap_or_else(|error| panic!("rank {rank}: {error}")))
        .collect()
}

//! Solvers whose ranks need sums or maxima of all in each iteration (docs/split-phase.md): Jacobi's method with a test of
//! convergence, and conjugate gradients.

use host_lib::mpi::{CollectiveRequest, Communicator, Mpi, MpiError, Operation, Transport};

use super::grid::Block;
use super::{MeasuredValue, MpiSettings, gradients, jacobi};

/// Reductions whose time alone is measured before the iterations.
const ALONE_ROUNDS: u64 = 10;

/// A problem of a solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Points of the plate in each direction.
    pub points: usize,
    /// Iterations at most.
    pub steps: usize,
    /// The solver ends when its measure of the error is so many powers of ten less than at the beginning.
    pub digits: u32,
    /// Whether reductions go on while ranks compute.
    pub overlap: bool,
}

impl Grid {
    /// The usual problem.
    pub(super) const USUAL: Self = Self {
        points: 64,
        steps: 20,
        digits: 6,
        overlap: false,
    };

    /// Part of the first error at which the solver ends.
    pub(super) fn part(&self) -> f64 {
        0.1f64.powi(self.digits.cast_signed())
    }
}

/// Means over the ranks of a solver, for an iteration.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Solved {
    /// Number of iterations.
    pub iterations: u64,
    /// Whether the error has become as small as wanted.
    pub converged: bool,
    /// Time in calls of reductions, in us.
    pub calls_us: f64,
    /// Time of the same reductions one after the other, in us.
    pub alone_us: f64,
    /// Time of reductions that ranks do not spend in calls, in us: the difference; 0 without overlap.
    pub hidden_us: f64,
}

/// Header of the results.
pub(super) const HEADER: &str =
    "# Points       Iteration (us)  In calls (us)  Alone (us)  Hidden (us)  Iterations";

impl Solved {
    /// The line of a result.
    pub(super) fn line(&self, size: usize, value: f64) -> String {
        format!(
            "{size:<10}{value:>20.2}{:>15.2}{:>12.2}{:>13.2}{:>12}",
            self.calls_us, self.alone_us, self.hidden_us, self.iterations
        )
    }
}

/// A rank in a solver, with the time in its calls of reductions.
pub(super) struct Ranks<'a, T> {
    pub(super) mpi: &'a mut Mpi<T>,
    pub(super) world: Communicator,
    pub(super) block: Block,
    pub(super) grid: Grid,
    operation_ns: u64,
    calls_ps: u64,
}

/// A reduction under way.
pub(super) struct Reducing(CollectiveRequest<f64>);

impl<T: Transport> Ranks<'_, T> {
    /// Reduces values of all ranks.
    pub(super) async fn reduce(
        &mut self,
        operation: Operation,
        values: &[f64],
    ) -> Result<Vec<f64>, MpiError> {
        let began = self.mpi.now_ps();
        let all = self.mpi.all_reduce(&self.world, operation, values).await;
        self.calls_ps += self.mpi.now_ps() - began;
        all
    }

    /// Begins to reduce values of all ranks.
    pub(super) async fn begin(
        &mut self,
        operation: Operation,
        values: &[f64],
    ) -> Result<Reducing, MpiError> {
        let began = self.mpi.now_ps();
        let request = self
            .mpi
            .immediate_all_reduce(&self.world, operation, values);
        let request = request.await;
        self.calls_ps += self.mpi.now_ps() - began;
        request.map(Reducing)
    }

    /// The reduced values.
    pub(super) async fn end(&mut self, reducing: Reducing) -> Result<Vec<f64>, MpiError> {
        let began = self.mpi.now_ps();
        let all = self.mpi.wait(reducing.0).await;
        self.calls_ps += self.mpi.now_ps() - began;
        all
    }

    /// Exchanges the edges of the blocks.
    pub(super) async fn exchange(&mut self, values: &mut [f64]) -> Result<(), MpiError> {
        self.block.exchange(self.mpi, &self.world, values).await
    }

    /// Spends the time of so many floating-point operations for each point; a step of the stencil has [`POINT_OPERATIONS`].
    pub(super) async fn compute(&mut self, operations: u64) -> Result<(), MpiError> {
        let all = self.block.count() as u64 * operations * self.operation_ns;
        self.mpi.compute(all / POINT_OPERATIONS).await
    }
}

/// Floating-point operations of a point in a step of the stencil, which take `operation_ns` together.
pub(super) const POINT_OPERATIONS: u64 = 5;

/// Result of a rank: its values with one more point on each side.
pub(super) struct Solution {
    pub(super) values: Vec<f64>,
    pub(super) iterations: u64,
    pub(super) converged: bool,
}

/// A solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// Jacobi's method on a plate whose edges keep their temperatures.
    Jacobi,
    /// Conjugate gradients, pipelined if reductions go on while ranks compute.
    ConjugateGradients,
}

impl Solver {
    /// Operation of the reductions.
    const fn operation(self) -> Operation {
        match self {
            Self::Jacobi => Operation::Max,
            Self::ConjugateGradients => Operation::Sum,
        }
    }

    /// Values of a reduction.
    const fn reduced(self, grid: Grid) -> usize {
        match (self, grid.overlap) {
            (Self::ConjugateGradients, true) => 2,
            _ => 1,
        }
    }

    /// Reductions of an iteration.
    const fn reductions(self, grid: Grid) -> u64 {
        match (self, grid.overlap) {
            (Self::ConjugateGradients, false) => 2,
            _ => 1,
        }
    }
}

/// Mean time of a reduction, one after the other, in ps.
async fn alone<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    (operation, count): (Operation, usize),
) -> Result<u64, MpiError> {
    let values = vec![1.0; count];
    mpi.all_reduce(world, operation, &values).await?;
    let began = mpi.now_ps();
    for _ in 0..ALONE_ROUNDS {
        mpi.all_reduce(world, operation, &values).await?;
    }
    Ok((mpi.now_ps() - began) / ALONE_ROUNDS)
}

/// Solves a problem, and compares the result with that of one process; the mean time of an iteration in us.
pub(super) async fn run<T: Transport>(
    mpi: &mut Mpi<T>,
    solver: Solver,
    grid: Grid,
    settings: &MpiSettings,
) -> Result<Vec<MeasuredValue>, String> {
    let text = |error: MpiError| error.to_string();
    let world = mpi.world();
    let alone_ps = alone(mpi, &world, (solver.operation(), solver.reduced(grid)))
        .await
        .map_err(text)?;
    mpi.barrier(&world).await.map_err(text)?;
    let (size, rank) = (world.size(), world.rank());
    let mut ranks = Ranks {
        block: Block::new(grid.points, size, rank),
        mpi,
        world,
        grid,
        operation_ns: settings.operation_ns,
        calls_ps: 0,
    };
    let began = ranks.mpi.now_ps();
    let solved = match solver {
        Solver::Jacobi => jacobi::solve(&mut ranks).await,
        Solver::ConjugateGradients => gradients::solve(&mut ranks).await,
    };
    let solution = solved.map_err(text)?;
    let took = ranks.mpi.now_ps() - began;
    let right = match solver {
        Solver::Jacobi => jacobi::is_right(grid, &ranks.block, &solution),
        Solver::ConjugateGradients => gradients::is_right(grid, &ranks.block, &solution),
    };
    right.map_err(|reason| format!("rank {rank}: {reason}"))?;
    let own = [took, ranks.calls_ps, alone_ps];
    let Ranks { mpi, world, .. } = ranks;
    let sums = mpi.all_reduce(&world, Operation::Sum, &own).await;
    let sums = sums.map_err(text)?;
    let iterations = solution.iterations.max(1) as f64;
    let mean = |at: usize| sums[at] as f64 / 1e6 / size as f64;
    let (calls_us, reductions) = (mean(1) / iterations, solver.reductions(grid));
    let alone_us = mean(2) * reductions as f64;
    Ok(vec![MeasuredValue {
        size: grid.points * grid.points,
        value: mean(0) / iterations,
        skewed: None,
        solved: Some(Solved {
            iterations: solution.iterations,
            converged: solution.converged,
            calls_us,
            alone_us,
            hidden_us: match grid.overlap {
                true => (alone_us - calls_us).max(0.0),
                false => 0.0,
            },
        }),
    }])
}

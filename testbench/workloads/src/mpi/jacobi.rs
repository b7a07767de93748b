//! Jacobi's method with a test of convergence: after each step, the largest change of any point.
//!
//! With overlap the test is one step late: the reduction of a step goes on during the next one, whose result counts too.

use host_lib::mpi::{MpiError, Operation, Transport};

use super::grid::Block;
use super::solver::{Grid, POINT_OPERATIONS, Ranks, Solution};
use super::stencil::initial;

/// A step of a block; the outer points of the plate stay. Returns the largest change.
fn step(block: &Block, points: usize, values: &mut [f64]) -> f64 {
    let width = block.width();
    let (old, mut change) = (values.to_owned(), 0.0f64);
    let inner = 1..points - 1;
    for (at, (row, column)) in block.places() {
        if inner.contains(&row) && inner.contains(&column) {
            let sum = old[at - width] + old[at + width] + old[at - 1] + old[at + 1];
            values[at] = sum / 4.0;
            change = change.max((values[at] - old[at]).abs());
        }
    }
    change
}

/// The rule by which a run ends: it learns the largest changes of the steps in their order.
struct Test {
    limit: Option<f64>,
    part: f64,
}

impl Test {
    fn new(grid: Grid) -> Self {
        let part = grid.part();
        Self { limit: None, part }
    }

    fn ends(&mut self, change: f64) -> bool {
        let limit = *self.limit.get_or_insert(change * self.part);
        change <= limit
    }
}

/// Solves with all ranks.
pub(super) async fn solve<T: Transport>(ranks: &mut Ranks<'_, T>) -> Result<Solution, MpiError> {
    let grid = ranks.grid;
    let block = ranks.block.clone();
    let mut values = block.values(initial);
    let (mut iterations, mut converged) = (0, false);
    let (mut test, mut before) = (Test::new(grid), None);
    while !converged && iterations < grid.steps as u64 {
        ranks.exchange(&mut values).await?;
        let change = step(&block, grid.points, &mut values);
        // The change of a point is a subtraction and a comparison.
        ranks.compute(POINT_OPERATIONS + 2).await?;
        iterations += 1;
        let known = match grid.overlap {
            false => Some(ranks.reduce(Operation::Max, &[change]).await?),
            true => {
                let known = match before.take() {
                    Some(before) => Some(ranks.end(before).await?),
                    None => None,
                };
                before = Some(ranks.begin(Operation::Max, &[change]).await?);
                known
            }
        };
        converged = known.is_some_and(|known| test.ends(known[0]));
    }
    if let Some(before) = before {
        ranks.end(before).await?;
    }
    Ok(Solution {
        values,
        iterations,
        converged,
    })
}

/// Compares with one process, to the bit: the largest change is the same in any order.
pub(super) fn is_right(grid: Grid, block: &Block, solution: &Solution) -> Result<(), String> {
    let all = Block::new(grid.points, 1, 0);
    let mut values = all.values(initial);
    let (mut iterations, mut converged) = (0, false);
    let (mut test, mut before) = (Test::new(grid), None);
    while !converged && iterations < grid.steps as u64 {
        let change = step(&all, grid.points, &mut values);
        iterations += 1;
        let tested = match grid.overlap {
            true => before.replace(change),
            false => Some(change),
        };
        converged = tested.is_some_and(|change| test.ends(change));
    }
    if (solution.iterations, solution.converged) != (iterations, converged) {
        let own = solution.iterations;
        return Err(format!("{own} steps, and {iterations} of one process"));
    }
    let width = all.width();
    let same = |(at, (row, column)): (usize, (usize, usize))| {
        solution.values[at] == values[(row + 1) * width + column + 1]
    };
    match block.places().all(same) {
        true => Ok(()),
        false => Err("the plate is not that of one process".to_owned()),
    }
}

//! Conjugate gradients for the equation of Poisson on a square, a stencil of five points; the values around the square are 0.
//!
//! Without overlap it is the usual method, with two reductions one after the other in each iteration. With overlap it is that of P. Ghysels
//! and W. Vanroose ("Hiding global synchronization latency in the preconditioned conjugate gradient algorithm", 2014) without preconditioner: one
//! reduction of two values, during which ranks multiply with the matrix. It has three more vectors.

use host_lib::mpi::{MpiError, Operation, Transport};

use super::grid::Block;
use super::solver::{Grid, Ranks, Solution};

/// Floating-point operations of a point: the product with the matrix, a scalar product, and the sum of a vector and a multiple of another one.
const PRODUCT: u64 = 6;
const SCALAR: u64 = 2;
const SUM: u64 = 2;

/// Largest difference from one process, as a part of the largest value.
const MOST_DIFFERENCE: f64 = 1e-6;

/// The right side at a point.
fn right_side(row: usize, column: usize) -> f64 {
    ((row * 7 + column * 13) % 11) as f64 / 11.0
}

/// The product of the matrix with a vector, whose points outside have come.
fn product(block: &Block, vector: &[f64]) -> Vec<f64> {
    let width = block.width();
    let mut result = vec![0.0; vector.len()];
    for (at, _) in block.places() {
        let around = vector[at - width] + vector[at + width] + vector[at - 1] + vector[at + 1];
        result[at] = 4.0 * vector[at] - around;
    }
    result
}

/// The scalar product of the own points.
fn scalar(block: &Block, a: &[f64], b: &[f64]) -> f64 {
    block.places().map(|(at, _)| a[at] * b[at]).sum()
}

/// Adds a multiple of `other`.
fn add(to: &mut [f64], factor: f64, other: &[f64]) {
    for (value, other) in to.iter_mut().zip(other) {
        *value += factor * other;
    }
}

/// Becomes a multiple of itself and `other`.
fn turn(this: &mut [f64], factor: f64, other: &[f64]) {
    for (value, other) in this.iter_mut().zip(other) {
        *value = other + factor * *value;
    }
}

/// Solves with all ranks.
pub(super) async fn solve<T: Transport>(ranks: &mut Ranks<'_, T>) -> Result<Solution, MpiError> {
    match ranks.grid.overlap {
        true => pipelined(ranks).await,
        false => usual(ranks).await,
    }
}

/// The method with two reductions one after the other.
async fn usual<T: Transport>(ranks: &mut Ranks<'_, T>) -> Result<Solution, MpiError> {
    let (grid, block) = (ranks.grid, ranks.block.clone());
    let mut residual = block.values(right_side);
    let mut direction = residual.clone();
    let mut values = vec![0.0; residual.len()];
    let own = scalar(&block, &residual, &residual);
    let mut square = ranks.reduce(Operation::Sum, &[own]).await?[0];
    let limit = square * grid.part().powi(2);
    let mut iterations = 0;
    while square > limit && iterations < grid.steps as u64 {
        ranks.exchange(&mut direction).await?;
        let multiplied = product(&block, &direction);
        let own = scalar(&block, &direction, &multiplied);
        ranks.compute(PRODUCT + SCALAR).await?;
        let step = square / ranks.reduce(Operation::Sum, &[own]).await?[0];
        add(&mut values, step, &direction);
        add(&mut residual, -step, &multiplied);
        let own = scalar(&block, &residual, &residual);
        ranks.compute(2 * SUM + SCALAR).await?;
        let next = ranks.reduce(Operation::Sum, &[own]).await?[0];
        turn(&mut direction, next / square, &residual);
        ranks.compute(SUM).await?;
        square = next;
        iterations += 1;
    }
    Ok(Solution {
        values,
        iterations,
        converged: square <= limit,
    })
}

/// Vectors of the pipelined method, by the letters of the publication.
struct Vectors {
    x: Vec<f64>,
    r: Vec<f64>,
    w: Vec<f64>,
    z: Vec<f64>,
    s: Vec<f64>,
    p: Vec<f64>,
}

/// The method whose reduction goes on during the product with the matrix.
async fn pipelined<T: Transport>(ranks: &mut Ranks<'_, T>) -> Result<Solution, MpiError> {
    let (grid, block) = (ranks.grid, ranks.block.clone());
    let mut r = block.values(right_side);
    ranks.exchange(&mut r).await?;
    let w = product(&block, &r);
    let empty = || vec![0.0; r.len()];
    let (x, z, s, p) = (empty(), empty(), empty(), empty());
    let mut all = Vectors { x, r, w, z, s, p };
    let (mut limit, mut before, mut step) = (None, None, 0.0);
    let (mut iterations, mut converged) = (0, false);
    loop {
        let own = [
            scalar(&block, &all.r, &all.r),
            scalar(&block, &all.w, &all.r),
        ];
        ranks.compute(2 * SCALAR).await?;
        let sums = ranks.begin(Operation::Sum, &own).await?;
        ranks.exchange(&mut all.w).await?;
        let multiplied = product(&block, &all.w);
        ranks.compute(PRODUCT).await?;
        let sums = ranks.end(sums).await?;
        let (square, along) = (sums[0], sums[1]);
        let limit = *limit.get_or_insert(square * grid.part().powi(2));
        converged |= square <= limit;
        if converged || iterations == grid.steps as u64 {
            break;
        }
        let turned = before.map_or(0.0, |before| square / before);
        step = match before {
            None => square / along,
            Some(_) => square / (along - turned * square / step),
        };
        turn(&mut all.z, turned, &multiplied);
        turn(&mut all.s, turned, &all.w);
        turn(&mut all.p, turned, &all.r);
        add(&mut all.x, step, &all.p);
        add(&mut all.r, -step, &all.s);
        add(&mut all.w, -step, &all.z);
        ranks.compute(6 * SUM).await?;
        before = Some(square);
        iterations += 1;
    }
    Ok(Solution {
        values: all.x,
        iterations,
        converged,
    })
}

/// Result of so many iterations of the usual method in one process, and its residual's square as a part of the first one.
fn alone(grid: Grid, iterations: u64) -> (Vec<f64>, f64) {
    let block = Block::new(grid.points, 1, 0);
    let right = block.values(right_side);
    let (mut residual, mut direction) = (right.clone(), right.clone());
    let mut values = vec![0.0; right.len()];
    let first = scalar(&block, &right, &right);
    let mut square = first;
    for _ in 0..iterations {
        let multiplied = product(&block, &direction);
        let step = square / scalar(&block, &direction, &multiplied);
        add(&mut values, step, &direction);
        add(&mut residual, -step, &multiplied);
        let next = scalar(&block, &residual, &residual);
        turn(&mut direction, next / square, &residual);
        square = next;
    }
    // Not the method's own residual, but that of its result.
    let mut residual = right;
    add(&mut residual, -1.0, &product(&block, &values));
    let square = scalar(&block, &residual, &residual);
    (values, square / first)
}

/// Compares with as many iterations of the usual method in one process. Sums in another order differ in their last bits.
pub(super) fn is_right(grid: Grid, block: &Block, solution: &Solution) -> Result<(), String> {
    let (values, square) = alone(grid, solution.iterations);
    let error = square.sqrt() / grid.part();
    if solution.converged && error > 1.01 {
        return Err(format!("the residual is {error} times the wanted one"));
    }
    if !solution.converged && error < 0.99 {
        return Err(format!(
            "the end after {} iterations was missed",
            solution.iterations
        ));
    }
    let width = grid.points + 2;
    let most = values
        .iter()
        .fold(0.0f64, |most, value| most.max(value.abs()));
    let differs = |(at, (row, column)): &(usize, (usize, usize))| {
        let right = values[(row + 1) * width + column + 1];
        let difference = (solution.values[*at] - right).abs();
        difference.is_nan() || difference > MOST_DIFFERENCE * most
    };
    match block.places().find(differs) {
        None => Ok(()),
        Some((_, place)) => Err(format!("{place:?} is not what one process computes")),
    }
}

//! Heat on a plate: each step replaces a point by the mean of its four neighbours, Jacobi's method.
//!
//! A rank has some rows, and exchanges its outer ones with its neighbours before each step. The result is that of one
//! process to the bit, since each point is computed in the same way.

use host_lib::mpi::{Communicator, Mpi, MpiError, Operation, Transport};

use super::MeasuredValue;

/// Tags of rows: to the rank above, and to that below.
const UP: i32 = 1;
const DOWN: i32 = 2;

/// The rows of a rank: the first one, and how many.
fn rows(points: usize, ranks: usize, rank: usize) -> (usize, usize) {
    let first = |rank: usize| rank * points / ranks;
    (first(rank), first(rank + 1) - first(rank))
}

/// Temperature of a point at the beginning: the upper edge is hot, the left one warm.
pub(super) fn initial(row: usize, column: usize) -> f64 {
    match (row, column) {
        (0, _) => 100.0,
        (_, 0) => 25.0 + row as f64 / 16.0,
        _ => 0.0,
    }
}

/// A step on rows that have a further one above and below; the outer points of the plate stay.
fn step(plate: &[f64], first: usize, points: usize) -> Vec<f64> {
    let mut next = plate.to_vec();
    let count = plate.len() / points;
    for local in 1..count - 1 {
        let row = first + local - 1;
        if row == 0 || row + 1 == points {
            continue;
        }
        for column in 1..points - 1 {
            let at = local * points + column;
            let sum = plate[at - points] + plate[at + points] + plate[at - 1] + plate[at + 1];
            next[at] = sum / 4.0;
        }
    }
    next
}

/// The rows from `first` on with one more above and below, at the beginning.
fn plate(points: usize, first: usize, count: usize) -> Vec<f64> {
    let row = |local: usize| (first + local).checked_sub(1).filter(|row| *row < points);
    let value = |at: usize| row(at / points).map_or(0.0, |row| initial(row, at % points));
    (0..(count + 2) * points).map(value).collect()
}

/// Result of one process.
fn alone(points: usize, steps: usize) -> Vec<f64> {
    let mut all = plate(points, 0, points);
    for _ in 0..steps {
        all = step(&all, 0, points);
    }
    all[points..all.len() - points].to_vec()
}

/// Exchanges the outer rows with the ranks above and below.
async fn exchange<T: Transport>(
    mpi: &mut Mpi<T>,
    world: &Communicator,
    own: &mut [f64],
    points: usize,
) -> Result<(), MpiError> {
    let above = world.rank().checked_sub(1);
    let below = Some(world.rank() + 1).filter(|rank| *rank < world.size());
    let last = own.len() - points;
    let (mut receives, mut sends) = (Vec::new(), Vec::new());
    for (other, tag, place) in [(above, DOWN, 0), (below, UP, last)] {
        if let Some(other) = other {
            let receive = mpi.immediate_receive::<f64>(world, other, tag, points);
            receives.push((receive.await?, place));
        }
    }
    for (other, tag, place) in [(above, UP, points), (below, DOWN, last - points)] {
        if let Some(other) = other {
            let row = own[place..place + points].to_vec();
            sends.push(mpi.immediate_send(world, other, tag, &row).await?);
        }
    }
    for (receive, place) in receives {
        let (row, _) = mpi.wait(receive).await?;
        own[place..place + points].copy_from_slice(&row);
    }
    mpi.wait_all(sends).await?;
    Ok(())
}

/// Computes the steps and compares with one process; the mean time of a step in us.
pub(super) async fn run<T: Transport>(
    mpi: &mut Mpi<T>,
    points: usize,
    steps: usize,
    operation_ns: u64,
) -> Result<Vec<MeasuredValue>, String> {
    let text = |error: MpiError| error.to_string();
    let world = mpi.world();
    let (first, count) = rows(points, world.size(), world.rank());
    let mut own = plate(points, first, count);
    mpi.barrier(&world).await.map_err(text)?;
    let began = mpi.now_ps();
    for _ in 0..steps {
        exchange(mpi, &world, &mut own, points)
            .await
            .map_err(text)?;
        own = step(&own, first, points);
        mpi.compute(count as u64 * points as u64 * operation_ns)
            .await
            .map_err(text)?;
    }
    let took = [mpi.now_ps() - began];
    let longest = mpi.all_reduce(&world, Operation::Max, &took).await;
    let longest = longest.map_err(text)?[0];
    let expected = alone(points, steps);
    let own = &own[points..own.len() - points];
    if own != &expected[first * points..(first + count) * points] {
        return Err(format!(
            "rank {}: the plate is not that of one process",
            world.rank()
        ));
    }
    Ok(vec![MeasuredValue {
        size: points * points,
        value: longest as f64 / 1e6 / steps.max(1) as f64,
        skewed: None,
        solved: None,
    }])
}

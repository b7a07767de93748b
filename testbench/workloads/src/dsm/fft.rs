//! Fast Fourier transform in three dimensions: each node transforms its slab in two of them, all exchange, and each transforms the third.
//! The result is that of one process to the bit: each line is transformed in the same way.

use std::f64::consts::TAU;
use std::ops::Range;

use host_lib::dsm::Shared;

use super::random::Keys;
use super::{Verified, Worker, part, text};

/// Cycles of the host for a butterfly: ten operations on doubles, loads and stores.
const BUTTERFLY_CYCLES: u64 = 24;
/// A complex number is moved.
const MOVE_CYCLES: u64 = 8;

/// Doubles of a complex number.
const PARTS: usize = 2;

/// Elements of each of the two regions of shared memory.
pub(super) const fn doubles(grid: usize) -> usize {
    PARTS * grid * grid * grid
}

type Complex = (f64, f64);

/// Transforms a line in place; its length is a power of two.
fn transform(line: &mut [Complex]) {
    let length = line.len();
    let bits = length.trailing_zeros();
    for at in 0..length {
        let other = at.reverse_bits() >> (usize::BITS - bits.max(1));
        if bits > 0 && other > at {
            line.swap(at, other);
        }
    }
    let mut half = 1;
    while half < length {
        for first in (0..length).step_by(2 * half) {
            for step in 0..half {
                let angle = -TAU * step as f64 / (2 * half) as f64;
                let (sin, cos) = angle.sin_cos();
                let (low, high) = (line[first + step], line[first + step + half]);
                let turned = (high.0 * cos - high.1 * sin, high.0 * sin + high.1 * cos);
                line[first + step] = (low.0 + turned.0, low.1 + turned.1);
                line[first + step + half] = (low.0 - turned.0, low.1 - turned.1);
            }
        }
        half *= 2;
    }
    // So that repeated transforms keep their size.
    let scale = (length as f64).sqrt().recip();
    for (real, imaginary) in line {
        (*real, *imaginary) = (*real * scale, *imaginary * scale);
    }
}

/// Butterflies of `lines` transforms.
const fn butterflies(grid: usize, lines: usize) -> u64 {
    (lines * grid / 2) as u64 * grid.ilog2() as u64
}

fn complex(doubles: &[f64]) -> Vec<Complex> {
    let pairs = doubles.as_chunks::<PARTS>().0.iter();
    pairs.map(|[real, imaginary]| (*real, *imaginary)).collect()
}

fn flat(numbers: &[Complex]) -> Vec<f64> {
    numbers
        .iter()
        .flat_map(|number| [number.0, number.1])
        .collect()
}

/// Transforms planes in both of their dimensions.
fn transform_planes(planes: &mut [Complex], grid: usize) {
    for plane in planes.chunks_exact_mut(grid * grid) {
        plane.chunks_exact_mut(grid).for_each(transform);
        for column in 0..grid {
            let mut line: Vec<_> = plane.iter().skip(column).step_by(grid).copied().collect();
            transform(&mut line);
            let places = plane.iter_mut().skip(column).step_by(grid);
            places.zip(line).for_each(|(place, value)| *place = value);
        }
    }
}

/// The numbers of some planes at the begin.
fn initial(grid: usize, planes: Range<usize>) -> Vec<Complex> {
    let mut keys = Keys::new(3);
    keys.skip(planes.start * grid * grid * PARTS);
    let mut number = || f64::from(keys.below(1 << 20)) / f64::from(1 << 20) - 0.5;
    (0..planes.len() * grid * grid)
        .map(|_| (number(), number()))
        .collect()
}

/// Result of one process.
fn alone(grid: usize, rounds: u32) -> Vec<Complex> {
    let mut from = initial(grid, 0..grid);
    for _ in 0..rounds {
        transform_planes(&mut from, grid);
        let mut to = vec![(0.0, 0.0); from.len()];
        for (at, number) in from.iter().enumerate() {
            let (z, y, x) = (at / (grid * grid), at / grid % grid, at % grid);
            to[(y * grid + x) * grid + z] = *number;
        }
        to.chunks_exact_mut(grid).for_each(transform);
        from = to;
    }
    from
}

/// Transforms `rounds` times; the first node compares the result with that of one process.
pub(super) async fn run(worker: &mut Worker, grid: usize, rounds: u32) -> Result<Verified, String> {
    let mut from: Shared<f64> = worker.dsm.allocate(doubles(grid)).map_err(text)?;
    let mut to: Shared<f64> = worker.dsm.allocate(doubles(grid)).map_err(text)?;
    let own = part(grid, worker.nodes(), worker.rank());
    let first = own.start * grid * grid * PARTS;
    let numbers = flat(&initial(grid, own.clone()));
    worker
        .dsm
        .write(from, first, &numbers)
        .await
        .map_err(text)?;
    // The first touch of the other array.
    let zeros = vec![0.0; numbers.len()];
    worker.dsm.write(to, first, &zeros).await.map_err(text)?;
    worker.begin().await?;
    for _ in 0..rounds {
        let end = own.end * grid * grid * PARTS;
        let slab = worker.dsm.read(from, first..end).await.map_err(text)?;
        let mut slab = complex(&slab);
        transform_planes(&mut slab, grid);
        let butterflies_of_slab = butterflies(grid, 2 * grid * own.len());
        worker.work(butterflies_of_slab * BUTTERFLY_CYCLES).await?;
        worker
            .dsm
            .write(from, first, &flat(&slab))
            .await
            .map_err(text)?;
        worker.barrier().await?;
        let mut lines = collect(worker, from, grid, &own).await?;
        lines.chunks_exact_mut(grid).for_each(transform);
        let butterflies_of_lines = butterflies(grid, grid * own.len());
        worker.work(butterflies_of_lines * BUTTERFLY_CYCLES).await?;
        worker
            .dsm
            .write(to, first, &flat(&lines))
            .await
            .map_err(text)?;
        worker.barrier().await?;
        std::mem::swap(&mut from, &mut to);
    }
    worker
        .end(async |worker: &mut Worker| {
            let all = worker.dsm.read(from, 0..doubles(grid)).await;
            Ok(complex(&all.map_err(text)?) == alone(grid, rounds))
        })
        .await
}

/// The lines along the third dimension of the node's part of the second one: some whole rows of each plane, in the order of the planes.
async fn collect(
    worker: &mut Worker,
    from: Shared<f64>,
    grid: usize,
    own: &Range<usize>,
) -> Result<Vec<Complex>, String> {
    let mut lines = vec![(0.0, 0.0); own.len() * grid * grid];
    for z in 0..grid {
        let rows = own.start + z * grid..own.end + z * grid;
        let range = PARTS * grid * rows.start..PARTS * grid * rows.end;
        let numbers = worker.dsm.read(from, range).await.map_err(text)?;
        for (at, number) in complex(&numbers).into_iter().enumerate() {
            lines[at * grid + z] = number;
        }
        worker.work((own.len() * grid) as u64 * MOVE_CYCLES).await?;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::{Complex, TAU, transform};

    #[test]
    fn a_transform_is_the_sum_of_its_definition() {
        let numbers: Vec<Complex> = (0..16)
            .map(|n| (f64::from(n % 5), f64::from(n % 3)))
            .collect();
        let mut line = numbers.clone();
        transform(&mut line);
        for (k, found) in line.iter().enumerate() {
            let mut sum = (0.0, 0.0);
            for (n, (real, imaginary)) in numbers.iter().enumerate() {
                let (sin, cos) = (-TAU * (k * n) as f64 / 16.0).sin_cos();
                sum.0 += real * cos - imaginary * sin;
                sum.1 += real * sin + imaginary * cos;
            }
            assert!((found.0 - sum.0 / 4.0).abs() < 1e-9 && (found.1 - sum.1 / 4.0).abs() < 1e-9);
        }
    }
}

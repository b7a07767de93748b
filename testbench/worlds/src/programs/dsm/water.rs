//! Molecules of water, after the n-squared version of SPLASH-2: each node computes the forces between its molecules and the half of all others
//! that follows them, and adds them to the shared forces, node by node under locks. Then each moves its molecules.
//!
//! The order of additions depends on who gets a lock first, so results agree with those of one process within [`BOUND`].

use std::ops::Range;

use host_lib::dsm::Shared;

use super::random::Keys;
use super::{Verified, Worker, part, text};

/// Relative difference of a coordinate that the order of additions may make.
const BOUND: f64 = 1e-9;
/// Atoms of a molecule: O, H, H.
const ATOMS: usize = 3;
/// Coordinates of a molecule.
const COORDINATES: usize = 3 * ATOMS;
/// Charges of the atoms.
const CHARGES: [f64; ATOMS] = [-0.8, 0.4, 0.4];
/// Distances between the atoms of a molecule at rest.
const REST: [(usize, usize, f64); 3] = [(0, 1, 0.1), (0, 2, 0.1), (1, 2, 0.16)];
/// Strength of the springs between them.
const SPRING: f64 = 50.0;
/// Distance between molecules at the begin.
const SPACING: f64 = 0.31;
/// Molecules further apart have no forces, in spacings.
const CUTOFF: f64 = 3.0;
/// Length of a step.
const STEP: f64 = 1e-4;
/// Cycles of the host: the distance of two molecules.
const PAIR_CYCLES: u64 = 30;
/// The forces between two molecules: nine pairs of atoms with a root and a division.
const FORCE_CYCLES: u64 = 9 * 90;
/// A coordinate is moved.
const MOVE_CYCLES: u64 = 12;
/// A force is added.
const ADD_CYCLES: u64 = 6;

/// Elements of each of the three regions of shared memory.
pub(super) const fn doubles(molecules: usize) -> usize {
    COORDINATES * molecules
}

fn initial(molecules: usize) -> Vec<f64> {
    let mut keys = Keys::new(5);
    let mut jitter = || (f64::from(keys.below(1 << 16)) / 65536.0 - 0.5) * 0.02;
    let side = (1..)
        .find(|side| side * side * side >= molecules)
        .unwrap_or(1);
    let mut all = Vec::with_capacity(doubles(molecules));
    for molecule in 0..molecules {
        let place = [
            molecule % side,
            molecule / side % side,
            molecule / side / side,
        ];
        for atom in [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [-0.03, 0.095, 0.0]] {
            let coordinates = place.iter().zip(atom);
            all.extend(coordinates.map(|(at, offset)| *at as f64 * SPACING + offset + jitter()));
        }
    }
    all
}

/// Adds the forces between two molecules; whether they are near enough.
fn pair(positions: &[f64], forces: &mut [f64], a: usize, b: usize) -> bool {
    let at = |molecule: usize, atom: usize, axis: usize| COORDINATES * molecule + 3 * atom + axis;
    let apart = |first: usize, second: usize| -> [f64; 3] {
        std::array::from_fn(|axis| positions[at(a, first, axis)] - positions[at(b, second, axis)])
    };
    let square = |way: [f64; 3]| way.iter().map(|part| part * part).sum::<f64>();
    if square(apart(0, 0)) > (CUTOFF * SPACING).powi(2) {
        return false;
    }
    for first in 0..ATOMS {
        for second in 0..ATOMS {
            let way = apart(first, second);
            let square = square(way) + 1e-3;
            let mut strength = CHARGES[first] * CHARGES[second] / (square * square.sqrt());
            if first == 0 && second == 0 {
                let sixth = (0.09 / square).powi(3);
                strength += 24.0 * sixth * (2.0 * sixth - 1.0) / square;
            }
            for (axis, way) in way.iter().enumerate() {
                forces[at(a, first, axis)] += strength * way;
                forces[at(b, second, axis)] -= strength * way;
            }
        }
    }
    true
}

/// The molecules that follow one and are its partners: half of all others.
fn partners(molecule: usize, molecules: usize) -> impl Iterator<Item = usize> {
    let half = molecules / 2;
    let even = molecules.is_multiple_of(2);
    let last = if even && molecule >= half {
        half.saturating_sub(1)
    } else {
        half
    };
    let last = if even { last } else { (molecules - 1) / 2 };
    (1..=last).map(move |distance| (molecule + distance) % molecules)
}

/// Springs within a molecule, then a step of its atoms.
fn advance(positions: &mut [f64], velocities: &mut [f64], forces: &mut [f64]) {
    for (first, second, rest) in REST {
        let way: [f64; 3] =
            std::array::from_fn(|axis| positions[3 * first + axis] - positions[3 * second + axis]);
        let length = way.iter().map(|part| part * part).sum::<f64>().sqrt();
        for (axis, way) in way.iter().enumerate() {
            let pull = SPRING * (rest - length) * way / length;
            forces[3 * first + axis] += pull;
            forces[3 * second + axis] -= pull;
        }
    }
    for ((position, velocity), force) in positions.iter_mut().zip(velocities).zip(forces) {
        *velocity += *force * STEP;
        *position += *velocity * STEP;
    }
}

fn advance_all(positions: &mut [f64], velocities: &mut [f64], forces: &mut [f64]) {
    let molecules = positions.chunks_exact_mut(COORDINATES);
    let others = velocities
        .chunks_exact_mut(COORDINATES)
        .zip(forces.chunks_exact_mut(COORDINATES));
    for (positions, (velocities, forces)) in molecules.zip(others) {
        advance(positions, velocities, forces);
    }
}

/// Whether the positions are those of one process.
fn agrees(found: &[f64], molecules: usize, rounds: u32) -> bool {
    let mut positions = initial(molecules);
    let mut velocities = vec![0.0; positions.len()];
    for _ in 0..rounds {
        let mut forces = vec![0.0; positions.len()];
        for molecule in 0..molecules {
            for partner in partners(molecule, molecules) {
                pair(&positions, &mut forces, molecule, partner);
            }
        }
        advance_all(&mut positions, &mut velocities, &mut forces);
    }
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= BOUND * b.abs().max(1.0);
    found.len() == positions.len() && found.iter().zip(&positions).all(near)
}

struct Molecules {
    positions: Shared<f64>,
    velocities: Shared<f64>,
    forces: Shared<f64>,
    count: usize,
}

/// Moves molecules for `rounds` steps; the first node compares their positions with those of one process.
pub(super) async fn run(
    worker: &mut Worker,
    molecules: usize,
    rounds: u32,
) -> Result<Verified, String> {
    let mut region = || worker.dsm.allocate(doubles(molecules)).map_err(text);
    let all = Molecules {
        positions: region()?,
        velocities: region()?,
        forces: region()?,
        count: molecules,
    };
    if worker.rank() == 0 {
        // As in SPLASH-2 the first process makes the molecules.
        let zeros = vec![0.0; doubles(molecules)];
        let dsm = &mut worker.dsm;
        dsm.write(all.positions, 0, &initial(molecules))
            .await
            .map_err(text)?;
        dsm.write(all.velocities, 0, &zeros).await.map_err(text)?;
        dsm.write(all.forces, 0, &zeros).await.map_err(text)?;
    }
    worker.begin().await?;
    for _ in 0..rounds {
        all.interact(worker).await?;
        worker.barrier().await?;
        all.advance(worker).await?;
        worker.barrier().await?;
    }
    worker
        .end(async |worker: &mut Worker| {
            let found = worker.dsm.read(all.positions, 0..doubles(molecules)).await;
            Ok(agrees(&found.map_err(text)?, molecules, rounds))
        })
        .await
}

const fn span(molecules: &Range<usize>) -> Range<usize> {
    COORDINATES * molecules.start..COORDINATES * molecules.end
}

impl Molecules {
    /// Computes the forces of the node's pairs and adds them to the shared ones.
    async fn interact(&self, worker: &mut Worker) -> Result<(), String> {
        let own = part(self.count, worker.nodes(), worker.rank());
        let mut positions = vec![0.0; doubles(self.count)];
        for node in 0..worker.nodes() {
            // Only of molecules that are partners of own ones.
            let theirs = part(self.count, worker.nodes(), node);
            let distance = (theirs.start + self.count - own.start) % self.count;
            if node != worker.rank() && distance > self.count / 2 + own.len() {
                continue;
            }
            let read = worker.dsm.read(self.positions, span(&theirs)).await;
            positions[span(&theirs)].copy_from_slice(&read.map_err(text)?);
        }
        let mut forces = vec![0.0; positions.len()];
        for molecule in own {
            let (mut pairs, mut near) = (0, 0);
            for partner in partners(molecule, self.count) {
                pairs += 1;
                near += u64::from(pair(&positions, &mut forces, molecule, partner));
            }
            worker
                .work(pairs * PAIR_CYCLES + near * FORCE_CYCLES)
                .await?;
        }
        self.add(worker, &forces).await
    }

    async fn add(&self, worker: &mut Worker, forces: &[f64]) -> Result<(), String> {
        let nodes = worker.nodes();
        for step in 0..nodes {
            let node = (worker.rank() + step) % nodes;
            let theirs = span(&part(self.count, nodes, node));
            let mine = &forces[theirs.clone()];
            if mine.iter().all(|force| *force == 0.0) {
                continue;
            }
            let lock = node as u32;
            worker.dsm.acquire(lock).await.map_err(text)?;
            let sums = worker.dsm.read(self.forces, theirs.clone()).await;
            let mut sums = sums.map_err(text)?;
            sums.iter_mut()
                .zip(mine)
                .for_each(|(sum, force)| *sum += force);
            worker.work(sums.len() as u64 * ADD_CYCLES).await?;
            let written = worker.dsm.write(self.forces, theirs.start, &sums).await;
            written.map_err(text)?;
            worker.dsm.release(lock).await.map_err(text)?;
        }
        Ok(())
    }

    /// Moves the node's molecules and clears their forces.
    async fn advance(&self, worker: &mut Worker) -> Result<(), String> {
        let own = span(&part(self.count, worker.nodes(), worker.rank()));
        let dsm = &mut worker.dsm;
        let mut positions = dsm.read(self.positions, own.clone()).await.map_err(text)?;
        let mut velocities = dsm.read(self.velocities, own.clone()).await.map_err(text)?;
        let mut forces = dsm.read(self.forces, own.clone()).await.map_err(text)?;
        advance_all(&mut positions, &mut velocities, &mut forces);
        worker.work(own.len() as u64 * MOVE_CYCLES).await?;
        let zeros = vec![0.0; own.len()];
        let dsm = &mut worker.dsm;
        dsm.write(self.positions, own.start, &positions)
            .await
            .map_err(text)?;
        dsm.write(self.velocities, own.start, &velocities)
            .await
            .map_err(text)?;
        dsm.write(self.forces, own.start, &zeros)
            .await
            .map_err(text)
    }
}

#[cfg(test)]
mod tests {
    use super::partners;

    #[test]
    fn each_pair_comes_once() {
        for molecules in 1..12 {
            let pairs = (0..molecules).flat_map(|one| {
                let pair = move |other: usize| (one.min(other), one.max(other));
                partners(one, molecules).map(pair)
            });
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_unstable();
            let count = pairs.len();
            pairs.dedup();
            assert_eq!(
                (count, pairs.len()),
                (molecules * (molecules - 1) / 2, count)
            );
        }
    }
}

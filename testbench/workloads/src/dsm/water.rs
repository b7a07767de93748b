//! Molecules of water, after the n-squared version of SPLASH-2: each node computes the forces between its molecules and the half of all
//! others that follows them, and adds them to the shared forces, node by node under locks. Then each moves its molecules.
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
/// Atoms further apart have no forces, in spacings; at most half the box.
const CUTOFF: f64 = 3.0;
/// Length of a step.
const STEP: f64 = 1e-4;
/// Cycles of the host: the squared distances of the atoms of two molecules, each of three differences to the nearest image (a subtraction,
/// two comparisons, an addition), their squares, sum and comparison.
const PAIR_CYCLES: u64 = (ATOMS * ATOMS) as u64 * (3 * 4 + 6);
/// The force between two atoms, with a root and a division.
const FORCE_CYCLES: u64 = 90;
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
    let side = side(molecules);
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

/// Edge of the cube that molecules fill at the begin.
fn side(molecules: usize) -> usize {
    let fits = |side: &usize| side * side * side >= molecules;
    (1..).find(fits).unwrap_or(1)
}

/// A periodic box.
#[derive(Clone, Copy)]
struct Space {
    edge: f64,
    /// Square of the distance from which on there are no forces.
    cutoff: f64,
}

impl Space {
    fn for_molecules(molecules: usize) -> Self {
        let edge = side(molecules) as f64 * SPACING;
        Self {
            edge,
            cutoff: (CUTOFF * SPACING).min(edge / 2.0).powi(2),
        }
    }

    /// The difference of two coordinates, to the nearest image.
    fn nearest(self, difference: f64) -> f64 {
        match difference {
            far if far > self.edge / 2.0 => far - self.edge,
            far if far < -self.edge / 2.0 => far + self.edge,
            near => near,
        }
    }

    /// Adds the forces between two molecules. Number of pairs of atoms that are near enough.
    fn pair(self, positions: &[f64], forces: &mut [f64], a: usize, b: usize) -> u64 {
        let at = |molecule: usize, atom: usize| COORDINATES * molecule + 3 * atom;
        let mut near = 0;
        for first in 0..ATOMS {
            for second in 0..ATOMS {
                let (one, other) = (at(a, first), at(b, second));
                let way: [f64; 3] = std::array::from_fn(|axis| {
                    self.nearest(positions[one + axis] - positions[other + axis])
                });
                let square = way.iter().map(|part| part * part).sum::<f64>();
                if square > self.cutoff {
                    continue;
                }
                near += 1;
                let strength = strength(first, second, square);
                for (axis, way) in way.iter().enumerate() {
                    forces[one + axis] += strength * way;
                    forces[other + axis] -= strength * way;
                }
            }
        }
        near
    }
}

/// Force between two atoms at this squared distance, divided by the distance.
fn strength(first: usize, second: usize, square: f64) -> f64 {
    let square = square + 1e-3;
    let charges = CHARGES[first] * CHARGES[second] / (square * square.sqrt());
    match (first, second) {
        (0, 0) => {
            let sixth = (0.09 / square).powi(3);
            charges + 24.0 * sixth * (2.0 * sixth - 1.0) / square
        }
        _ => charges,
    }
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
    let space = Space::for_molecules(molecules);
    for _ in 0..rounds {
        let mut forces = vec![0.0; positions.len()];
        for molecule in 0..molecules {
            for partner in partners(molecule, molecules) {
                space.pair(&positions, &mut forces, molecule, partner);
            }
        }
        advance_all(&mut positions, &mut velocities, &mut forces);
    }
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= BOUND * b.abs().max(1.0);
    found.len() == positions.len() && found.iter().zip(&positions).all(near)
}

/// The shared memory of the molecules: three numbers for each.
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
        let space = Space::for_molecules(self.count);
        for molecule in own {
            let (mut pairs, mut near) = (0, 0);
            for partner in partners(molecule, self.count) {
                pairs += 1;
                near += space.pair(&positions, &mut forces, molecule, partner);
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

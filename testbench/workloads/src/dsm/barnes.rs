//! Gravitation of many bodies after Barnes and Hut. In each step the nodes build the tree of cells, each for some regions of space, compute the
//! forces on their bodies, and move these. The result is that of one process to the bit: the tree does not depend on who builds it.
//!
//! As in SPLASH-2 the first process makes the bodies. Regions are given out by number, not by the work that they cost.

use std::ops::Range;

use host_lib::dsm::Shared;

use super::random::Keys;
use super::tree::{CHILDREN, Cell, Cube, Mass, Missing, Point, Tree, acceleration, build};
use super::{Verified, Worker, part, text};

/// Regions of space, the octants of two levels.
const REGIONS: usize = CHILDREN * CHILDREN;
/// Doubles of a body: position, velocity, mass, and one that is not used, so that bodies do not straddle pages.
const BODY: usize = 8;
/// Doubles of a cell: mass and its centre.
const CELL: usize = 4;
/// Most rounds of a program.
pub const MOST_ROUNDS: usize = 64;
/// Length of a step.
const STEP: f64 = 0.01;
/// The lock of what all nodes share: the size of space, and the cells that are used.
const LOCK: u32 = 0;
/// Cycles of the host: a body is put into its region.
const SORT_CYCLES: u64 = 20;
/// A cell is built.
const CELL_CYCLES: u64 = 400;
/// An interaction: a root, a division, 20 other operations, the visit of the cell.
const FORCE_CYCLES: u64 = 110;
/// A body is moved.
const MOVE_CYCLES: u64 = 40;

/// Cells for so many bodies.
const fn cells(bodies: usize) -> usize {
    2 * bodies + 64
}

/// Bytes of the regions of shared memory.
pub(super) const fn bytes(bodies: usize) -> [usize; 6] {
    let cells = cells(bodies);
    [
        8 * BODY * bodies,
        8 * CELL * cells,
        4 * CHILDREN * cells,
        4 * REGIONS * MOST_ROUNDS,
        8 * MOST_ROUNDS,
        4 * MOST_ROUNDS,
    ]
}

/// The shared memory.
#[derive(Clone, Copy)]
struct Space {
    bodies: Shared<f64>,
    masses: Shared<f64>,
    children: Shared<i32>,
    /// The root of each region, for each round.
    roots: Shared<i32>,
    /// Half of the side of space, for each round.
    half: Shared<f64>,
    /// Cells that are used, for each round.
    used: Shared<u32>,
    count: usize,
}

/// A body: position, velocity, mass.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Body {
    at: Point,
    velocity: Point,
    mass: f64,
}

impl Body {
    fn from_doubles(doubles: &[f64]) -> Self {
        let part = |first: usize| std::array::from_fn(|axis| doubles[first + axis]);
        Self {
            at: part(0),
            velocity: part(3),
            mass: doubles[6],
        }
    }

    fn doubles(&self) -> [f64; BODY] {
        let ([x, y, z], [u, v, w]) = (self.at, self.velocity);
        [x, y, z, u, v, w, self.mass, 0.0]
    }

    const fn mass(&self) -> Mass {
        Mass {
            mass: self.mass,
            at: self.at,
        }
    }

    fn advance(&mut self, pull: Point) {
        for (axis, pull) in pull.iter().enumerate() {
            self.velocity[axis] += pull * STEP;
            self.at[axis] += self.velocity[axis] * STEP;
        }
    }
}

/// Bodies in a ball, denser towards its centre.
fn initial(count: usize) -> Vec<Body> {
    let mut keys = Keys::new(7);
    let mut number = || f64::from(keys.below(1 << 24)) / f64::from(1 << 23) - 1.0;
    let mut ball = || loop {
        let at: Point = std::array::from_fn(|_| number());
        let square: f64 = at.iter().map(|part| part * part).sum();
        if square < 1.0 {
            break at.map(|part| part * square);
        }
    };
    let mass = 1.0 / count as f64;
    let body = |_| Body {
        at: ball(),
        velocity: ball().map(|part| part * 0.1),
        mass,
    };
    (0..count).map(body).collect()
}

fn widest(bodies: &[Body]) -> f64 {
    let coordinates = bodies.iter().flat_map(|body| body.at);
    coordinates.fold(0.0, |widest: f64, one| widest.max(one.abs()))
}

/// The bodies of each region.
fn regions(masses: &[Mass], cube: Cube) -> Vec<Vec<usize>> {
    let mut regions = vec![Vec::new(); REGIONS];
    for (index, mass) in masses.iter().enumerate() {
        regions[cube.region(mass.at)].push(index);
    }
    regions
}

fn cube_of(cube: Cube, region: usize) -> Cube {
    cube.child(region / CHILDREN).child(region % CHILDREN)
}

/// A tree of which all is known.
struct Whole {
    cells: Vec<Cell>,
    masses: Vec<Mass>,
    roots: Vec<i32>,
    cube: Cube,
}

impl Tree for Whole {
    fn cell(&self, index: usize) -> Result<Cell, Missing> {
        let cell = self.cells.get(index).cloned();
        cell.ok_or(Missing::Cell(index))
    }

    fn body(&self, index: usize) -> Result<Mass, Missing> {
        let mass = self.masses.get(index).copied();
        mass.ok_or(Missing::Body(index))
    }

    fn roots(&self) -> &[i32] {
        &self.roots
    }

    fn cube(&self) -> Cube {
        self.cube
    }
}

/// Result of one process.
fn alone(count: usize, rounds: u32) -> Vec<Body> {
    let mut bodies = initial(count);
    for _ in 0..rounds {
        let masses: Vec<_> = bodies.iter().map(Body::mass).collect();
        let cube = Cube::around_origin(widest(&bodies));
        let mut tree = Whole {
            cells: Vec::new(),
            roots: Vec::new(),
            masses,
            cube,
        };
        for (region, members) in regions(&tree.masses, cube).iter().enumerate() {
            let inner = cube_of(cube, region);
            let root = build(&tree.masses, members, inner, 0, &mut tree.cells);
            tree.roots.push(root);
        }
        for (index, body) in bodies.iter_mut().enumerate() {
            if let Ok((pull, _)) = acceleration(&tree, index, body.at) {
                body.advance(pull);
            }
        }
    }
    bodies
}

/// Moves bodies for `rounds` steps; the first node compares them with those of one process.
pub(super) async fn run(
    worker: &mut Worker,
    count: usize,
    rounds: u32,
) -> Result<Verified, String> {
    let dsm = &mut worker.dsm;
    let space = Space {
        bodies: dsm.allocate(BODY * count).map_err(text)?,
        masses: dsm.allocate(CELL * cells(count)).map_err(text)?,
        children: dsm.allocate(CHILDREN * cells(count)).map_err(text)?,
        roots: dsm.allocate(REGIONS * MOST_ROUNDS).map_err(text)?,
        half: dsm.allocate(MOST_ROUNDS).map_err(text)?,
        used: dsm.allocate(MOST_ROUNDS).map_err(text)?,
        count,
    };
    if worker.rank() == 0 {
        let bodies: Vec<_> = initial(count).iter().flat_map(Body::doubles).collect();
        let written = worker.dsm.write(space.bodies, 0, &bodies).await;
        written.map_err(text)?;
    }
    worker.begin().await?;
    for round in 0..rounds as usize {
        space.step(worker, round).await?;
    }
    worker
        .end(async |worker: &mut Worker| {
            let found = space.read(worker, 0..count).await?;
            Ok(found == alone(count, rounds))
        })
        .await
}

impl Space {
    async fn read(&self, worker: &mut Worker, range: Range<usize>) -> Result<Vec<Body>, String> {
        let doubles = BODY * range.start..BODY * range.end;
        let found = worker.dsm.read(self.bodies, doubles).await.map_err(text)?;
        Ok(found.chunks_exact(BODY).map(Body::from_doubles).collect())
    }

    async fn step(&self, worker: &mut Worker, round: usize) -> Result<(), String> {
        let own = part(self.count, worker.nodes(), worker.rank());
        let cube = self.measure(worker, round, &own).await?;
        self.build(worker, round, cube).await?;
        worker.barrier().await?;
        let mut tree = Partial::new(self, worker, round, cube).await?;
        let mut bodies = self.read(worker, own.clone()).await?;
        for (index, body) in own.clone().zip(&mut bodies) {
            let (pull, interactions) = loop {
                match acceleration(&tree, index, body.at) {
                    Ok(found) => break found,
                    Err(missing) => tree.load(self, worker, missing).await?,
                }
            };
            worker
                .work(interactions * FORCE_CYCLES + MOVE_CYCLES)
                .await?;
            body.advance(pull);
        }
        // All have read the old places.
        worker.barrier().await?;
        let doubles: Vec<_> = bodies.iter().flat_map(Body::doubles).collect();
        let written = worker
            .dsm
            .write(self.bodies, BODY * own.start, &doubles)
            .await;
        written.map_err(text)?;
        worker.barrier().await
    }

    /// Finds out how large space is.
    async fn measure(
        &self,
        worker: &mut Worker,
        round: usize,
        own: &Range<usize>,
    ) -> Result<Cube, String> {
        let widest = widest(&self.read(worker, own.clone()).await?);
        worker.work(own.len() as u64 * MOVE_CYCLES).await?;
        worker.dsm.acquire(LOCK).await.map_err(text)?;
        let before = worker.dsm.get(self.half, round).await.map_err(text)?;
        let set = worker.dsm.set(self.half, round, widest.max(before)).await;
        set.map_err(text)?;
        worker.dsm.release(LOCK).await.map_err(text)?;
        worker.barrier().await?;
        let half = worker.dsm.get(self.half, round).await.map_err(text)?;
        Ok(Cube::around_origin(half))
    }

    /// Builds the trees of the node's regions.
    async fn build(&self, worker: &mut Worker, round: usize, cube: Cube) -> Result<(), String> {
        let bodies = self.read(worker, 0..self.count).await?;
        let masses: Vec<_> = bodies.iter().map(Body::mass).collect();
        worker.work(self.count as u64 * SORT_CYCLES).await?;
        let regions = regions(&masses, cube);
        for region in (worker.rank()..REGIONS).step_by(worker.nodes()) {
            let (members, inner) = (&regions[region], cube_of(cube, region));
            let mut cells = Vec::new();
            build(&masses, members, inner, 0, &mut cells);
            worker.work(cells.len() as u64 * CELL_CYCLES).await?;
            let first = self.reserve(worker, round, cells.len()).await?;
            cells.clear();
            let root = build(&masses, members, inner, first, &mut cells);
            self.write(worker, first, &cells).await?;
            let place = round * REGIONS + region;
            let written = worker.dsm.set(self.roots, place, root).await;
            written.map_err(text)?;
        }
        Ok(())
    }

    /// Places for cells.
    async fn reserve(
        &self,
        worker: &mut Worker,
        round: usize,
        count: usize,
    ) -> Result<usize, String> {
        if count == 0 {
            return Ok(0);
        }
        worker.dsm.acquire(LOCK).await.map_err(text)?;
        let first = worker.dsm.get(self.used, round).await.map_err(text)?;
        let used = first + count as u32;
        worker.dsm.set(self.used, round, used).await.map_err(text)?;
        worker.dsm.release(LOCK).await.map_err(text)?;
        match used as usize <= cells(self.count) {
            true => Ok(first as usize),
            false => Err(format!("{used} cells are more than {}", cells(self.count))),
        }
    }

    async fn write(&self, worker: &mut Worker, first: usize, cells: &[Cell]) -> Result<(), String> {
        let mass = |cell: &Cell| {
            let [x, y, z] = cell.mass.at;
            [cell.mass.mass, x, y, z]
        };
        let masses: Vec<_> = cells.iter().flat_map(mass).collect();
        let children: Vec<_> = cells.iter().flat_map(|cell| cell.children).collect();
        let dsm = &mut worker.dsm;
        dsm.write(self.masses, CELL * first, &masses)
            .await
            .map_err(text)?;
        let written = dsm.write(self.children, CHILDREN * first, &children).await;
        written.map_err(text)
    }
}

/// Cells and bodies that are read together: those of a page.
const TOGETHER: usize = 64;

/// A tree of which a node has read what it needed so far.
struct Partial {
    cells: Vec<Option<Box<[Cell]>>>,
    masses: Vec<Option<Box<[Mass]>>>,
    roots: Vec<i32>,
    cube: Cube,
}

impl Tree for Partial {
    fn cell(&self, index: usize) -> Result<Cell, Missing> {
        let cells = self.cells.get(index / TOGETHER).and_then(Option::as_ref);
        let cell = cells.and_then(|cells| cells.get(index % TOGETHER));
        cell.cloned().ok_or(Missing::Cell(index))
    }

    fn body(&self, index: usize) -> Result<Mass, Missing> {
        let masses = self.masses.get(index / TOGETHER).and_then(Option::as_ref);
        let mass = masses.and_then(|masses| masses.get(index % TOGETHER));
        mass.copied().ok_or(Missing::Body(index))
    }

    fn roots(&self) -> &[i32] {
        &self.roots
    }

    fn cube(&self) -> Cube {
        self.cube
    }
}

impl Partial {
    async fn new(
        space: &Space,
        worker: &mut Worker,
        round: usize,
        cube: Cube,
    ) -> Result<Self, String> {
        let roots = round * REGIONS..(round + 1) * REGIONS;
        let roots = worker.dsm.read(space.roots, roots).await.map_err(text)?;
        Ok(Self {
            cells: vec![None; cells(space.count).div_ceil(TOGETHER)],
            masses: vec![None; space.count.div_ceil(TOGETHER)],
            roots,
            cube,
        })
    }

    /// Reads what is missing, with its neighbours.
    async fn load(
        &mut self,
        space: &Space,
        worker: &mut Worker,
        missing: Missing,
    ) -> Result<(), String> {
        let around = |index: usize, count: usize| {
            let first = index / TOGETHER * TOGETHER;
            match index < count {
                true => Ok(first..(first + TOGETHER).min(count)),
                false => Err(format!("the tree names {index} of {count}")),
            }
        };
        match missing {
            Missing::Body(index) => {
                let bodies = space.read(worker, around(index, space.count)?).await?;
                let masses: Vec<_> = bodies.iter().map(Body::mass).collect();
                self.masses[index / TOGETHER] = Some(masses.into());
            }
            Missing::Cell(index) => {
                let range = around(index, cells(space.count))?;
                let masses = CELL * range.start..CELL * range.end;
                let masses = worker.dsm.read(space.masses, masses).await.map_err(text)?;
                let children = CHILDREN * range.start..CHILDREN * range.end;
                let children = worker.dsm.read(space.children, children).await;
                let children = children.map_err(text)?;
                let cell = |(mass, children): (&[f64; CELL], &[i32; CHILDREN])| Cell {
                    mass: Mass {
                        mass: mass[0],
                        at: [mass[1], mass[2], mass[3]],
                    },
                    children: *children,
                };
                let (masses, _) = masses.as_chunks::<CELL>();
                let (children, _) = children.as_chunks::<CHILDREN>();
                let cells = masses.iter().zip(children).map(cell);
                self.cells[index / TOGETHER] = Some(cells.collect());
            }
        }
        Ok(())
    }
}

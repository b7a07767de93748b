//! Trees of cells, and forces, of the method of Barnes and Hut.

/// A point in space.
pub(super) type Point = [f64; 3];

/// No body and no cell.
pub(super) const EMPTY: i32 = -1;
/// Children of a cell.
pub(super) const CHILDREN: usize = 8;
/// Deepest cell: bodies at one point would be divided for ever.
const DEEPEST: u32 = 40;
/// A cell that is smaller than its distance times this acts as one body.
const TOLERANCE: f64 = 1.0;
/// Softens the force of near bodies.
const SOFTENING: f64 = 0.05;

/// A body's or a cell's mass and centre of mass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mass {
    pub(super) mass: f64,
    pub(super) at: Point,
}

/// A child in a cell: a cell's index, or a body's.
pub(super) const fn body(index: usize) -> i32 {
    -2 - (index as u32).cast_signed()
}

/// A cell: its mass, and its children.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) mass: Mass,
    pub(super) children: [i32; CHILDREN],
}

/// A cube: centre and half of its side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cube {
    centre: Point,
    half: f64,
}

impl Cube {
    pub(super) const fn around_origin(half: f64) -> Self {
        Self {
            centre: [0.0; 3],
            half,
        }
    }

    /// The octant in which a point lies.
    fn octant(&self, at: Point) -> usize {
        let bit = |axis: usize| usize::from(at[axis] >= self.centre[axis]) << axis;
        bit(0) | bit(1) | bit(2)
    }

    pub(super) fn child(&self, octant: usize) -> Self {
        let half = self.half / 2.0;
        let side = |axis: usize| if octant >> axis & 1 == 1 { half } else { -half };
        Self {
            centre: std::array::from_fn(|axis| self.centre[axis] + side(axis)),
            half,
        }
    }

    /// The octants of the first two levels in which a point lies, as one number.
    pub(super) fn region(&self, at: Point) -> usize {
        let first = self.octant(at);
        first * CHILDREN + self.child(first).octant(at)
    }
}

/// Builds the cells of a region from its bodies; `first` is the index of the first cell. Its root: a cell, a body or nothing.
pub(super) fn build(
    bodies: &[Mass],
    members: &[usize],
    cube: Cube,
    first: usize,
    cells: &mut Vec<Cell>,
) -> i32 {
    node(bodies, members, cube, 0, first, cells).0
}

fn node(
    bodies: &[Mass],
    members: &[usize],
    cube: Cube,
    depth: u32,
    first: usize,
    cells: &mut Vec<Cell>,
) -> (i32, Option<Mass>) {
    match members {
        [] => return (EMPTY, None),
        [one] => return (body(*one), Some(bodies[*one])),
        _ => {}
    }
    let place = cells.len();
    let mut cell = Cell {
        mass: Mass {
            mass: 0.0,
            at: cube.centre,
        },
        children: [EMPTY; CHILDREN],
    };
    cells.push(cell.clone());
    let mut masses = [None; CHILDREN];
    for (octant, place_of_mass) in masses.iter_mut().enumerate() {
        // Bodies that are too near to each other are spread over the octants.
        let is_in = |(at, member): &(usize, &usize)| match depth < DEEPEST {
            true => cube.octant(bodies[**member].at) == octant,
            false => at % CHILDREN == octant,
        };
        let inner = members.iter().enumerate().filter(is_in);
        let inner: Vec<usize> = inner.map(|(_, member)| *member).collect();
        let (child, mass) = node(bodies, &inner, cube.child(octant), depth + 1, first, cells);
        cell.children[octant] = child;
        *place_of_mass = mass;
    }
    cell.mass = sum(&masses, cube.centre);
    let mass = cell.mass;
    cells[place] = cell;
    (((first + place) as u32).cast_signed(), Some(mass))
}

/// The sum of masses, and their centre; `centre` if there are none.
pub(super) fn sum(masses: &[Option<Mass>], centre: Point) -> Mass {
    let all = || masses.iter().flatten();
    let mass: f64 = all().map(|one| one.mass).sum();
    if mass == 0.0 {
        return Mass { mass, at: centre };
    }
    let at = |axis: usize| all().map(|one| one.mass * one.at[axis]).sum::<f64>() / mass;
    Mass {
        mass,
        at: std::array::from_fn(at),
    }
}

/// Something of the tree that the node has not read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Cell(usize),
    Body(usize),
}

/// A tree whose first two levels every node has, and whose other parts may be missing.
pub(super) trait Tree {
    fn cell(&self, index: usize) -> Result<Cell, Missing>;
    fn body(&self, index: usize) -> Result<Mass, Missing>;
    /// The roots of the regions.
    fn roots(&self) -> &[i32];
    fn cube(&self) -> Cube;
}

/// The acceleration of a body, and the number of interactions.
pub(super) fn acceleration(
    tree: &impl Tree,
    own: usize,
    at: Point,
) -> Result<(Point, u64), Missing> {
    let (mut sum, mut count) = ([0.0; 3], 0);
    let side = tree.cube().half / 2.0;
    let mut open: Vec<_> = tree
        .roots()
        .iter()
        .rev()
        .map(|root| (*root, side))
        .collect();
    while let Some((child, side)) = open.pop() {
        if child == EMPTY || child == body(own) {
            continue;
        }
        let mass = match usize::try_from(child) {
            Err(_) => tree.body((-2 - child).unsigned_abs() as usize)?,
            Ok(cell) => {
                let cell = tree.cell(cell)?;
                let distance = square(distance(at, cell.mass.at));
                if side * side >= TOLERANCE * TOLERANCE * distance {
                    open.extend(cell.children.iter().rev().map(|child| (*child, side / 2.0)));
                    continue;
                }
                cell.mass
            }
        };
        let way = distance(at, mass.at);
        let distance = square(way) + SOFTENING * SOFTENING;
        let pull = mass.mass / (distance * distance.sqrt());
        for axis in 0..3 {
            sum[axis] += pull * way[axis];
        }
        count += 1;
    }
    Ok((sum, count))
}

fn distance(from: Point, to: Point) -> Point {
    std::array::from_fn(|axis| to[axis] - from[axis])
}

fn square(way: Point) -> f64 {
    way.iter().map(|part| part * part).sum()
}

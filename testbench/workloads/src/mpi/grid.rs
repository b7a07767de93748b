//! A plate of points in blocks, one for each rank, and their edges.

use std::ops::Range;

use host_lib::mpi::{Communicator, Mpi, MpiError, Transport};

/// Rows and columns of blocks: as many rows as columns, or fewer.
fn layout(ranks: usize) -> (usize, usize) {
    let rows = (1..=ranks).take_while(|rows| rows * rows <= ranks);
    let rows = rows.filter(|rows| ranks.is_multiple_of(*rows)).last();
    let rows = rows.unwrap_or(1);
    (rows, ranks / rows)
}

/// Least points in each direction that give each rank some.
pub(super) fn least_points(ranks: usize) -> usize {
    layout(ranks).1
}

/// The block of a rank.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Rows of the plate.
    pub(super) rows: Range<usize>,
    /// Columns of the plate.
    pub(super) columns: Range<usize>,
    /// The ranks above, below, to the left and to the right.
    neighbours: [Option<usize>; 4],
}

impl Block {
    /// The block of a rank of a plate with so many points in each direction.
    pub(super) fn new(points: usize, ranks: usize, rank: usize) -> Self {
        let (rows, columns) = layout(ranks);
        let (row, column) = (rank / columns, rank % columns);
        let part = |at: usize, of: usize| at * points / of..(at + 1) * points / of;
        let there = |there: bool, rank: usize| there.then_some(rank);
        Self {
            rows: part(row, rows),
            columns: part(column, columns),
            neighbours: [
                there(row > 0, rank.wrapping_sub(columns)),
                there(row + 1 < rows, rank + columns),
                there(column > 0, rank.wrapping_sub(1)),
                there(column + 1 < columns, rank + 1),
            ],
        }
    }

    /// Number of points.
    pub(super) fn count(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// Values of a row of the block with one more point on each side.
    pub(super) fn width(&self) -> usize {
        self.columns.len() + 2
    }

    /// Values of the points, with those of one more point on each side.
    pub(super) fn values(&self, of: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let width = self.width();
        let mut values = vec![0.0; width * (self.rows.len() + 2)];
        for (at, value) in self.places() {
            values[at] = of(value.0, value.1);
        }
        values
    }

    /// Places of the own points among the values, with row and column of the plate.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, (usize, usize))> + use<> {
        let (rows, columns, width) = (self.rows.clone(), self.columns.clone(), self.width());
        let row = move |(local, row): (usize, usize)| {
            let first = (local + 1) * width + 1;
            let columns = columns.clone().enumerate();
            columns.map(move |(at, column)| (first + at, (row, column)))
        };
        rows.enumerate().flat_map(row)
    }

    /// Places of the edge that a neighbour gets, or of the points outside that it gives.
    fn edge(&self, side: u8, outside: bool) -> Vec<usize> {
        let (height, width) = (self.rows.len(), self.width());
        let inner = usize::from(!outside);
        let row = |row: usize| (1..=width - 2).map(move |at| row * width + at).collect();
        let column = |column: usize| (1..=height).map(|row| row * width + column).collect();
        match side {
            0 => row(inner),
            1 => row(height + 1 - inner),
            2 => column(inner),
            _ => column(width - 1 - inner),
        }
    }

    /// Exchanges the edges with the neighbours.
    pub(super) async fn exchange<T: Transport>(
        &self,
        mpi: &mut Mpi<T>,
        world: &Communicator,
        values: &mut [f64],
    ) -> Result<(), MpiError> {
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for (side, neighbour) in (0u8..).zip(&self.neighbours) {
            if let Some(from) = *neighbour {
                let places = self.edge(side, true);
                // The neighbour's side of it is the opposite one.
                let tag = i32::from(side ^ 1);
                let receive = mpi.immediate_receive::<f64>(world, from, tag, places.len());
                receives.push((receive.await?, places));
            }
        }
        for (side, neighbour) in (0u8..).zip(&self.neighbours) {
            if let Some(to) = *neighbour {
                let places = self.edge(side, false);
                let edge: Vec<f64> = places.iter().map(|at| values[*at]).collect();
                sends.push(mpi.immediate_send(world, to, side.into(), &edge).await?);
            }
        }
        for (receive, places) in receives {
            let (edge, _) = mpi.wait(receive).await?;
            for (at, value) in places.into_iter().zip(edge) {
                values[at] = value;
            }
        }
        mpi.wait_all(sends).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_plate_and_neighbours_agree() {
        for ranks in [1, 2, 3, 4, 6, 7, 8, 12, 16] {
            let points = 19;
            let blocks: Vec<_> = (0..ranks)
                .map(|rank| Block::new(points, ranks, rank))
                .collect();
            let mut seen = vec![0; points * points];
            for block in &blocks {
                for (_, (row, column)) in block.places() {
                    seen[row * points + column] += 1;
                }
            }
            assert!(seen.iter().all(|times| *times == 1), "{ranks}");
            for (rank, block) in blocks.iter().enumerate() {
                for (side, other) in (0u8..).zip(&block.neighbours) {
                    let Some(other) = *other else { continue };
                    assert_eq!(blocks[other].neighbours[usize::from(side ^ 1)], Some(rank));
                    let (own, theirs) =
                        (block.edge(side, true), blocks[other].edge(side ^ 1, false));
                    assert_eq!(own.len(), theirs.len(), "{ranks} ranks, {rank} {side}");
                }
            }
        }
    }
}

//! Layouts: the elements of an array of which a message consists.

use std::ops::Range;

use thiserror::Error;

use super::Mpi;
use super::communicator::Communicator;
use super::datatype::Datatype;
use super::error::MpiError;
use super::request::{Source, Status, Tag};
use super::transport::Transport;

/// A layout that is not possible, or an array that it does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Offsets or lengths exceed what can be addressed.
    #[error("a layout ends behind the last address")]
    TooLong,
    /// A part reaches out of the array that it is a part of.
    #[error("dimension {dimension}: elements {start} to {end} of an array of {size}")]
    Outside {
        /// The dimension, counted from 0.
        dimension: usize,
        /// The first element.
        start: usize,
        /// The element behind the last one.
        end: usize,
        /// Elements of the array.
        size: usize,
    },
    /// Sizes, parts and starts of a subarray have different numbers of dimensions.
    #[error("sizes, parts and starts have {sizes}, {parts} and {starts} dimensions")]
    Dimensions {
        /// Number of sizes.
        sizes: usize,
        /// Number of parts.
        parts: usize,
        /// Number of starts.
        starts: usize,
    },
    /// The array ends before the last element of the layout.
    #[error("a layout of {span} elements does not fit an array of {elements}")]
    Short {
        /// Elements of the array.
        elements: usize,
        /// Elements from the array's first to the layout's last one.
        span: usize,
    },
    /// An element would receive two values.
    #[error("element {0} stands twice in a layout into which a message is received")]
    Twice(usize),
    /// More values than the layout has elements.
    #[error("{values} values for a layout of {elements} elements")]
    Values {
        /// Number of values.
        values: usize,
        /// Elements of the layout.
        elements: usize,
    },
}

/// Elements of an array of which a message consists, in their order: runs of elements that follow each other. The array's element type is that
/// of the calls.
///
/// ```
/// use host_lib::mpi::Layout;
///
/// // The second column of a matrix of three rows and four columns.
/// let column = Layout::vector(3, 1, 4)?.shifted(1)?;
/// let matrix: Vec<u32> = (0..12).collect();
/// assert_eq!(column.pack(&matrix)?, [1, 5, 9]);
/// # Ok::<(), host_lib::mpi::LayoutError>(())
/// ```
#[doc(alias = "UserDatatype")]
#[doc(alias = "MPI_Type_create_struct")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    runs: Vec<Range<usize>>,
    /// Number of elements.
    count: usize,
    /// The element behind the last one in the array.
    span: usize,
}

impl Layout {
    /// The first `count` elements.
    #[doc(alias = "MPI_Type_contiguous")]
    #[must_use]
    pub fn contiguous(count: usize) -> Self {
        let mut layout = Self::default();
        layout.append(0..count);
        layout
    }

    /// `count` blocks of `length` elements; `stride` elements lie between the beginnings of two blocks.
    ///
    /// # Errors
    /// [`LayoutError::TooLong`].
    #[doc(alias = "MPI_Type_vector")]
    pub fn vector(count: usize, length: usize, stride: usize) -> Result<Self, LayoutError> {
        Self::contiguous(length).repeated(count, stride)
    }

    /// Blocks with their first elements and lengths.
    ///
    /// # Errors
    /// [`LayoutError::TooLong`].
    #[doc(alias = "MPI_Type_indexed")]
    pub fn indexed(blocks: &[(usize, usize)]) -> Result<Self, LayoutError> {
        let mut layout = Self::default();
        for &(first, length) in blocks {
            let end = first.checked_add(length).ok_or(LayoutError::TooLong)?;
            layout.append(first..end);
            layout.check_count()?;
        }
        Ok(layout)
    }

    /// A part of an array of several dimensions, the last of which runs fastest.
    ///
    /// # Errors
    /// [`LayoutError::Dimensions`], [`LayoutError::Outside`], [`LayoutError::TooLong`].
    #[doc(alias = "MPI_Type_create_subarray")]
    pub fn subarray(
        sizes: &[usize],
        parts: &[usize],
        starts: &[usize],
    ) -> Result<Self, LayoutError> {
        if sizes.len() != parts.len() || sizes.len() != starts.len() {
            return Err(LayoutError::Dimensions {
                sizes: sizes.len(),
                parts: parts.len(),
                starts: starts.len(),
            });
        }
        let mut layout = Self::contiguous(1);
        let mut stride = 1usize;
        for (dimension, &size) in sizes.iter().enumerate().rev() {
            let (start, part) = (starts[dimension], parts[dimension]);
            let end = start.checked_add(part).ok_or(LayoutError::TooLong)?;
            if end > size {
                return Err(LayoutError::Outside {
                    dimension,
                    start,
                    end,
                    size,
                });
            }
            let offset = start.checked_mul(stride).ok_or(LayoutError::TooLong)?;
            layout = layout.repeated(part, stride)?.shifted(offset)?;
            stride = stride.checked_mul(size).ok_or(LayoutError::TooLong)?;
        }
        Ok(layout)
    }

    /// This layout `count` times, each time `stride` elements further.
    ///
    /// # Errors
    /// [`LayoutError::TooLong`].
    #[doc(alias = "MPI_Type_create_hvector")]
    pub fn repeated(&self, count: usize, stride: usize) -> Result<Self, LayoutError> {
        let mut all = Self::default();
        for number in 0..count {
            let offset = number.checked_mul(stride).ok_or(LayoutError::TooLong)?;
            let copy = self.shifted(offset)?;
            for run in copy.runs {
                all.append(run);
            }
            all.check_count()?;
        }
        Ok(all)
    }

    /// This layout `offset` elements further.
    ///
    /// # Errors
    /// [`LayoutError::TooLong`].
    pub fn shifted(&self, offset: usize) -> Result<Self, LayoutError> {
        let further = |run: &Range<usize>| {
            let end = run.end.checked_add(offset)?;
            Some(run.start + offset..end)
        };
        let runs: Option<Vec<_>> = self.runs.iter().map(further).collect();
        let runs = runs.ok_or(LayoutError::TooLong)?;
        let span = runs.iter().map(|run| run.end).max().unwrap_or(0);
        let count = self.count;
        Ok(Self { runs, count, span })
    }

    fn append(&mut self, run: Range<usize>) {
        if run.is_empty() {
            return;
        }
        self.count = self.count.saturating_add(run.len());
        self.span = self.span.max(run.end);
        match self.runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.runs.push(run),
        }
    }

    const fn check_count(&self) -> Result<(), LayoutError> {
        match self.count {
            usize::MAX => Err(LayoutError::TooLong),
            _ => Ok(()),
        }
    }

    /// Number of elements.
    #[doc(alias = "MPI_Type_size")]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no element.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Elements that an array has at least: from its first to the layout's last one.
    #[doc(alias = "MPI_Type_get_extent")]
    #[must_use]
    pub const fn span(&self) -> usize {
        self.span
    }

    /// Whether the elements follow each other, so that no copy is needed.
    #[must_use]
    pub const fn is_contiguous(&self) -> bool {
        self.runs.len() <= 1
    }

    /// The elements of `array`, in the layout's order.
    ///
    /// # Errors
    /// [`LayoutError::Short`].
    pub fn pack<D: Copy>(&self, array: &[D]) -> Result<Vec<D>, LayoutError> {
        self.check_span(array.len())?;
        let mut values = Vec::with_capacity(self.count);
        for run in &self.runs {
            values.extend_from_slice(&array[run.clone()]);
        }
        Ok(values)
    }

    /// Writes values into the elements of `array`, in the layout's order. With fewer values than the layout has, the rest of the array is left as it is.
    ///
    /// # Errors
    /// [`LayoutError::Short`], [`LayoutError::Values`], [`LayoutError::Twice`]; `array` is unchanged then.
    pub fn unpack<D: Copy>(&self, values: &[D], array: &mut [D]) -> Result<(), LayoutError> {
        self.check_target(array.len())?;
        if values.len() > self.count {
            return Err(LayoutError::Values {
                values: values.len(),
                elements: self.count,
            });
        }
        let mut rest = values;
        for run in &self.runs {
            let (part, behind) = rest.split_at(run.len().min(rest.len()));
            array[run.start..run.start + part.len()].copy_from_slice(part);
            rest = behind;
        }
        Ok(())
    }

    const fn check_span(&self, elements: usize) -> Result<(), LayoutError> {
        let span = self.span;
        match elements < span {
            true => Err(LayoutError::Short { elements, span }),
            false => Ok(()),
        }
    }

    /// Whether a message can be received into an array of so many elements.
    fn check_target(&self, elements: usize) -> Result<(), LayoutError> {
        self.check_span(elements)?;
        let mut runs: Vec<_> = self.runs.iter().collect();
        runs.sort_by_key(|run| run.start);
        let overlap = runs.windows(2).find(|pair| pair[1].start < pair[0].end);
        overlap.map_or(Ok(()), |pair| Err(LayoutError::Twice(pair[1].start)))
    }
}

impl<T: Transport> Mpi<T> {
    /// The elements of `array` in a layout, in one piece. Takes the time of a copy, unless they lie in one piece already.
    ///
    /// # Errors
    /// [`MpiError::Layout`].
    #[doc(alias = "MPI_Pack")]
    pub async fn pack<D: Datatype>(
        &mut self,
        array: &[D],
        layout: &Layout,
    ) -> Result<Vec<D>, MpiError> {
        let values = layout.pack(array)?;
        if !layout.is_contiguous() {
            self.engine.charge_copy(values.len() * D::BYTES).await;
        }
        Ok(values)
    }

    /// Writes values into the elements of `array` in a layout. Takes the time of a copy, unless they lie in one piece.
    ///
    /// # Errors
    /// [`MpiError::Layout`].
    #[doc(alias = "MPI_Unpack")]
    pub async fn unpack<D: Datatype>(
        &mut self,
        values: &[D],
        array: &mut [D],
        layout: &Layout,
    ) -> Result<(), MpiError> {
        layout.unpack(values, array)?;
        if !layout.is_contiguous() {
            self.engine.charge_copy(values.len() * D::BYTES).await;
        }
        Ok(())
    }

    /// Sends the elements of `array` in a layout as one message ([`Mpi::send`]).
    ///
    /// # Errors
    /// [`MpiError`].
    pub async fn send_layout<D: Datatype>(
        &mut self,
        world: &Communicator,
        to: usize,
        tag: i32,
        (array, layout): (&[D], &Layout),
    ) -> Result<(), MpiError> {
        let values = self.pack(array, layout).await?;
        self.send(world, to, tag, &values).await
    }

    /// Receives a message into the elements of `array` in a layout ([`Mpi::receive_into`]).
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Layout`] before anything is received.
    pub async fn receive_layout<D: Datatype>(
        &mut self,
        world: &Communicator,
        source: impl Into<Source> + Send,
        tag: impl Into<Tag> + Send,
        (array, layout): (&mut [D], &Layout),
    ) -> Result<Status, MpiError> {
        layout.check_target(array.len())?;
        let (values, status) = self.receive(world, source, tag, layout.len()).await?;
        self.unpack(&values, array, layout).await?;
        Ok(status)
    }
}

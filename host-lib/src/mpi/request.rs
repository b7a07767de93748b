//! Requests, and what they end with.

use std::marker::PhantomData;

use super::MpiError;
use super::datatype::{Datatype, from_bytes};

/// Ranks of which a receive takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Any rank.
    #[doc(alias = "MPI_ANY_SOURCE")]
    Any,
    /// The rank with this number.
    Rank(usize),
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

/// Messages of which tags a receive takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// Any tag.
    #[doc(alias = "MPI_ANY_TAG")]
    Any,
    /// The given tag; it is not negative.
    Value(i32),
}

impl From<i32> for Tag {
    fn from(tag: i32) -> Self {
        Self::Value(tag)
    }
}

/// Description of a message.
#[doc(alias = "MPI_Status")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Rank of its sender.
    pub source: usize,
    /// Tag of the message.
    pub tag: i32,
    /// Length of the message in bytes.
    pub bytes: usize,
}

impl Status {
    /// Number of its elements; `None` if it is no whole number of them.
    #[doc(alias = "MPI_Get_count")]
    #[must_use]
    pub const fn count<T: Datatype>(&self) -> Option<usize> {
        match self.bytes.is_multiple_of(T::BYTES) {
            true => Some(self.bytes / T::BYTES),
            false => None,
        }
    }
}

/// Result of a request, by type.
pub trait Outcome: Sized {
    /// The result.
    type Output;

    /// The result, from the message's bytes.
    ///
    /// # Errors
    /// [`MpiError::Partial`].
    fn outcome(status: Status, bytes: Vec<u8>) -> Result<Self::Output, MpiError>;
}

/// Marks requests of sends.
#[derive(Debug)]
pub enum Sent {}

impl Outcome for Sent {
    type Output = ();

    fn outcome(_: Status, _: Vec<u8>) -> Result<(), MpiError> {
        Ok(())
    }
}

/// Marks requests of receives.
#[derive(Debug)]
pub struct Received<T>(PhantomData<T>);

impl<T: Datatype> Outcome for Received<T> {
    type Output = (Vec<T>, Status);

    fn outcome(status: Status, bytes: Vec<u8>) -> Result<(Vec<T>, Status), MpiError> {
        Ok((from_bytes(&bytes)?, status))
    }
}

/// Marks requests of collective operations that give elements to all members.
#[derive(Debug)]
pub struct Collected<T>(PhantomData<T>);

impl<T: Datatype> Outcome for Collected<T> {
    type Output = Vec<T>;

    fn outcome(_: Status, bytes: Vec<u8>) -> Result<Vec<T>, MpiError> {
        from_bytes(&bytes)
    }
}

/// Marks requests of barriers.
#[derive(Debug)]
pub enum Entered {}

impl Outcome for Entered {
    type Output = ();

    fn outcome(_: Status, _: Vec<u8>) -> Result<(), MpiError> {
        Ok(())
    }
}

/// An operation under way. It has to be waited for.
#[doc(alias = "MPI_Request")]
#[derive(Debug)]
#[must_use = "a dropped request is never complete"]
pub struct Request<R> {
    pub(super) id: u32,
    outcome: PhantomData<R>,
}

impl<R> Request<R> {
    pub(super) const fn new(id: u32) -> Self {
        Self {
            id,
            outcome: PhantomData,
        }
    }
}

/// A send under way.
pub type SendRequest = Request<Sent>;
/// A receive under way.
pub type ReceiveRequest<T> = Request<Received<T>>;
/// A collective operation under way.
pub type CollectiveRequest<T> = Request<Collected<T>>;
/// A barrier under way.
pub type BarrierRequest = Request<Entered>;

/// Result of a test of a request.
#[derive(Debug)]
pub enum Progress<R: Outcome> {
    /// The request is under way.
    Pending(Request<R>),
    /// The request has ended.
    Complete(R::Output),
}

//! Reductions of vectors, and the handler of light interrupts that computes for the board (docs/fast-trap.md).

use std::sync::{Arc, Mutex, PoisonError};

use defs::gm::collective::DESCRIPTOR_COUNT;
use defs::gm::combine::combine;
use defs::gm::vector::{
    DONE, ELEMENT_LIMIT, HOST_AREA_BYTES, HOST_AREA_HIGH, REQUEST_BYTES, TRAP, VECTOR,
    result_offset,
};
use thiserror::Error;

use super::board::{BoardOperation, Completed, DESCRIPTOR_WORDS, PostError, Reduction};
use super::value::Value;
use crate::gm::board::Board;
use crate::gm::call::Call;
use crate::gm::{Gm, MemoryError};
use crate::window::{ActionFuture, AnySystem, AnyWindow, MemoryWatch, System, VirtualAddress};

/// The processor that computes for a reduction on boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Arithmetic {
    /// The board's.
    #[default]
    Nic,
    /// The host's, in a light interrupt.
    FastTrap,
}

/// The vector of a member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vector<'a> {
    /// The elements.
    pub values: &'a [Value],
    /// The processor that computes.
    pub arithmetic: Arithmetic,
}

/// Results of vectors cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VectorError {
    /// Memory for them.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Vectors are not enabled, or the operation is no reduction.
    #[error("there is no result of a vector")]
    None,
    /// The machine has no interrupts for programs.
    #[error("the machine has no light interrupts")]
    NoTraps,
}

/// Use of the host by light interrupts.
#[derive(Debug, Clone, Default)]
pub struct TrapUse(Arc<Mutex<(u64, u64)>>);

impl TrapUse {
    /// Number of light interrupts, and the time inside their handler in ps.
    #[must_use]
    pub fn so_far(&self) -> (u64, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, inside_ps: u64) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sums.0 += 1;
        sums.1 += inside_ps;
    }
}

impl Vector<'_> {
    /// The number of elements and the flags in a descriptor.
    pub(super) fn describe(&self, words: &mut [u32; DESCRIPTOR_WORDS]) {
        let flags = match self.arithmetic {
            Arithmetic::Nic => VECTOR,
            Arithmetic::FastTrap => VECTOR | TRAP,
        };
        words[0] = self.values.len() as u32;
        words[1] = 0;
        words[3] |= flags << 8;
    }

    /// The elements as words.
    pub(super) fn words(&self) -> Vec<u32> {
        let halves = |value: &Value| halves(value.bits());
        self.values.iter().flat_map(halves).collect()
    }
}

const fn halves(bits: u64) -> [u32; 2] {
    [(bits >> 32) as u32, bits as u32]
}

impl Gm {
    /// Gives the board memory for the results of vectors. Its firmware has reductions of vectors.
    ///
    /// # Errors
    /// [`MemoryError::NoMemory`].
    pub async fn enable_vectors(&mut self) -> Result<(), MemoryError> {
        let memory = self.system.allocate_contiguous(HOST_AREA_BYTES.into());
        let (address, physical) = memory.ok_or(MemoryError::NoMemory)?;
        self.vectors = Some(address);
        let words = halves(physical.0);
        self.board.write_sram_burst(HOST_AREA_HIGH, &words).await;
        Ok(())
    }

    /// Enables vectors, and computes for the board in each of its interrupts from now on: with `window` and `system`, which act for this
    /// program too. An operand takes `operand_ns` of the processor.
    ///
    /// # Errors
    /// [`VectorError`].
    pub async fn compute_in_traps(
        &mut self,
        (window, system): (AnyWindow, AnySystem),
        operand_ns: u64,
    ) -> Result<TrapUse, VectorError> {
        self.enable_vectors().await?;
        let area = self.vectors.ok_or(VectorError::None)?;
        let traps = TrapUse::default();
        let handler = Handler {
            board: self.board.process(window, self.process),
            system,
            area,
            operand_ns,
            handled: 0,
            traps: traps.clone(),
        };
        let handler = Arc::new(Mutex::new(Some(handler)));
        let begin = move || -> ActionFuture {
            let place = Arc::clone(&handler);
            Box::pin(async move {
                let taken = place.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(mut handler) = taken {
                    handler.serve().await;
                    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(handler);
                }
            })
        };
        let computation = self.system.on_signal(Box::new(begin)).await;
        computation.map(|_| traps).ok_or(VectorError::NoTraps)
    }

    /// Gives a vector to a reduction, in place of `reduction.value`.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    pub async fn post_vector(
        &mut self,
        reduction: &Reduction<'_>,
        vector: Vector<'_>,
    ) -> Result<BoardOperation, PostError> {
        let own = self.check_own(reduction.group)?;
        let elements = vector.values.len();
        if elements == 0 || elements > ELEMENT_LIMIT as usize {
            return Err(PostError::Elements { elements });
        }
        if self.vectors.is_none() {
            return Err(PostError::NoVectors);
        }
        let call = Call::Reduction(own);
        self.system.call_begins(&call);
        let posted = self.write_reduction(own, reduction, Some(vector)).await;
        self.system.call_returns(&call);
        posted
    }

    /// The bits of the result of a vector of so many elements, at the member that gets it, once the operation is complete.
    ///
    /// # Errors
    /// [`VectorError`].
    pub fn vector_result(
        &self,
        port: u8,
        completed: &Completed,
        elements: usize,
    ) -> Result<Vec<u64>, VectorError> {
        if elements == 1 {
            return Ok(vec![completed.value]);
        }
        let area = self.vectors.ok_or(VectorError::None)?;
        let BoardOperation::Reduction(number) = completed.operation else {
            return Err(VectorError::None);
        };
        let offset = result_offset(port.into(), number.into());
        let at = VirtualAddress(area.0 + u64::from(offset));
        let mut bytes = vec![0; 8 * elements];
        let read = self.system.read_memory(at, &mut bytes);
        read.map_err(MemoryError::NotMapped)?;
        Ok(bytes.chunks_exact(8).map(bits).collect())
    }
}

fn bits(bytes: &[u8]) -> u64 {
    let join = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
    bytes.iter().fold(0, join)
}

/// Longest wait for the operands of a request after its interrupt, which the board raises when they are on their way.
const OPERANDS_NS: u64 = 50_000;

/// The handler of light interrupts, with its own hold on board and host.
struct Handler {
    board: Board,
    system: AnySystem,
    /// Memory into which the board writes operands.
    area: VirtualAddress,
    operand_ns: u64,
    /// The last request that was carried out.
    handled: u32,
    traps: TrapUse,
}

/// Operands of a request.
struct Request {
    number: u32,
    operation: u32,
    /// The own vector, then those of the children in the order of the tree.
    vectors: Vec<Vec<u64>>,
}

impl Handler {
    /// Carries out the request of an interrupt, if there is one.
    async fn serve(&mut self) {
        let begin = self.system.now_ps();
        // Before the answer: behind it the board may interrupt again.
        self.board.end_interrupt().await;
        let next = self.handled.wrapping_add(1).max(1);
        let watch = MemoryWatch {
            address: VirtualAddress(self.area.0 + u64::from(HOST_AREA_BYTES) - 4),
            mask: u32::MAX,
            expected: next.swap_bytes(),
        };
        // A number that is not the next one is read below.
        let why = "the operands of a reduction";
        let polled = self.system.poll_memory(watch, Some(OPERANDS_NS), why);
        let _ = polled.await;
        if let Some(request) = self.request() {
            self.answer(&request).await;
        }
        self.traps.add(self.system.now_ps() - begin);
    }

    /// The request that was not carried out yet.
    fn request(&self) -> Option<Request> {
        let end = self.area.0 + u64::from(HOST_AREA_BYTES);
        let words = self.read(end - u64::from(REQUEST_BYTES), REQUEST_BYTES as usize)?;
        let word = |at: usize| bits(&words[4 * at..4 * at + 4]) as u32;
        let (elements, kind, number) = (word(0) as usize, word(1), word(3));
        let vectors = 1 + (kind >> 16) as usize;
        let bytes = 8 * elements * vectors;
        let fits = elements > 0 && bytes + REQUEST_BYTES as usize <= HOST_AREA_BYTES as usize;
        if number == 0 || number == self.handled || !fits {
            return None;
        }
        let all = self.read(end - u64::from(REQUEST_BYTES) - bytes as u64, bytes)?;
        let vector = |bytes: &[u8]| bytes.chunks_exact(8).map(bits).collect();
        Some(Request {
            number,
            operation: kind & 0xFF,
            vectors: all.chunks_exact(8 * elements).map(vector).collect(),
        })
    }

    fn read(&self, at: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut read = vec![0; bytes];
        let done = self.system.read_memory(VirtualAddress(at), &mut read);
        done.ok().map(|()| read)
    }

    /// Computes, and writes the result into the board's memory.
    async fn answer(&mut self, request: &Request) {
        let mut vectors = request.vectors.iter();
        let mut result = vectors.next().cloned().unwrap_or_default();
        for other in vectors {
            for (own, other) in result.iter_mut().zip(other) {
                *own = combine(request.operation, *own, *other);
            }
        }
        let operands = result.len() * request.vectors.len();
        let span = self.operand_ns * operands as u64;
        self.system.compute(span).await;
        let mut words: Vec<u32> = result.iter().flat_map(|bits| halves(*bits)).collect();
        let at = DONE - 4 * words.len() as u32;
        words.push(request.number);
        self.board.write_sram_burst(at, &words).await;
        self.handled = request.number;
    }
}

const _: () = assert!(DESCRIPTOR_COUNT == 8);

//! Reductions that boards execute: of one integer of 32 or 64 bits, or of one double.

use std::ffi::c_void;

use lanigon_requests::{Function, Number};

use super::library::MpiLibrary;

/// Room for a name of a type: `MPI_MAX_OBJECT_NAME` of all libraries is below that.
const NAME_BYTES: usize = 512;

/// Type of the numbers that a name of MPI says, if boards reduce them. Fortran's integers are those of C here.
fn number(name: &[u8]) -> Option<Number> {
    Some(match name {
        b"MPI_INT" | b"MPI_INT32_T" | b"MPI_INTEGER" | b"MPI_INTEGER4" => Number::I32,
        b"MPI_LONG" | b"MPI_LONG_LONG" | b"MPI_LONG_LONG_INT" | b"MPI_INT64_T"
        | b"MPI_INTEGER8" => Number::I64,
        b"MPI_UNSIGNED" | b"MPI_UINT32_T" => Number::U32,
        b"MPI_UNSIGNED_LONG" | b"MPI_UNSIGNED_LONG_LONG" | b"MPI_UINT64_T" => Number::U64,
        b"MPI_DOUBLE" | b"MPI_DOUBLE_PRECISION" | b"MPI_REAL8" => Number::F64,
        _ => return None,
    })
}

/// Number of an operation in GM's descriptors, if there is one (`firmware/defs/src/gm/collective.rs`).
const fn operation(function: Function, number: Number) -> Option<u8> {
    let is_float = matches!(number, Number::F64);
    let is_signed = matches!(number, Number::I32 | Number::I64);
    Some(match (function, is_float, is_signed) {
        (Function::BitAnd, false, _) => 0,
        (Function::BitOr, false, _) => 1,
        (Function::Sum, false, _) => 2,
        (Function::Least, false, false) => 3,
        (Function::Most, false, false) => 4,
        (Function::Sum, true, _) => 5,
        (Function::Least, true, _) => 6,
        (Function::Most, true, _) => 7,
        (Function::Least, false, true) => 8,
        (Function::Most, false, true) => 9,
        _ => return None,
    })
}

/// Type of the numbers, and number of the operation, of handles of the MPI library; `None` if boards do not execute it.
pub(super) fn find(library: &MpiLibrary, datatype: usize, handle: usize) -> Option<(Number, u8)> {
    let function = library.function(handle)?;
    let type_name = library.type_name?;
    let (mut name, mut length) = ([0_u8; NAME_BYTES], 0);
    // SAFETY: there is room for the longest name and its length.
    let done = unsafe { type_name(datatype, name.as_mut_ptr().cast(), &raw mut length) };
    let name = name.get(..usize::try_from(length).ok()?)?;
    let number = number(name).filter(|_| done == 0)?;
    Some((number, operation(function, number)?))
}

/// Bits of a number, as boards reduce it.
///
/// # Safety
/// There is a number of this type.
pub(super) unsafe fn read(number: Number, at: *const c_void) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match number {
            Number::I32 => i64::from(at.cast::<i32>().read_unaligned()).cast_unsigned(),
            Number::U32 => at.cast::<u32>().read_unaligned().into(),
            _ => at.cast::<u64>().read_unaligned(),
        }
    }
}

/// Writes the bits of a result.
///
/// # Safety
/// There is room for a number of this type.
pub(super) unsafe fn write(number: Number, bits: u64, at: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        match number {
            Number::I32 | Number::U32 => at.cast::<u32>().write_unaligned(bits as u32),
            _ => at.cast::<u64>().write_unaligned(bits),
        }
    }
}

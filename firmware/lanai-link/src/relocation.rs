//! Relocations of the LANai: how a value enters an instruction or a data word.

use thiserror::Error;

/// Kinds of relocations, by their numbers in objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationKind {
    /// 1: the 21-bit constant or address of SLI and SLS instructions.
    Constant21,
    /// 2: the same for an address of a word.
    Word21,
    /// 3: the target of a branch.
    Branch25,
    /// 4: a data word.
    Data32,
    /// 5: the upper half of a value, in an immediate.
    High16,
    /// 6: the lower half of a value, in an immediate.
    Low16,
}

/// Reasons for which a relocation cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RelocationError {
    /// A number that the LANai does not define.
    #[error("unknown relocation {0}")]
    Unknown(u32),
    /// The value does not fit into the field.
    #[error("{value:#x} does not fit into the {bits} bits of relocation {kind:?}")]
    OutOfRange {
        /// Kind of the relocation.
        kind: RelocationKind,
        /// The value of symbol and addend.
        value: i64,
        /// Width of the field.
        bits: u32,
    },
    /// The field holds addresses of words, and the value is none.
    #[error("{value:#x} is not the address of a word, as relocation {kind:?} needs")]
    Unaligned {
        /// Kind of the relocation.
        kind: RelocationKind,
        /// The value of symbol and addend.
        value: i64,
    },
    /// The relocation changes bytes after the end of its section.
    #[error("it lies outside of its section")]
    Outside,
}

impl RelocationKind {
    /// Decodes the number of an object. `None`: a relocation that changes nothing.
    pub fn new(number: u32) -> Result<Option<RelocationKind>, RelocationError> {
        Ok(Some(match number {
            0 => return Ok(None),
            1 => RelocationKind::Constant21,
            2 => RelocationKind::Word21,
            3 => RelocationKind::Branch25,
            4 => RelocationKind::Data32,
            5 => RelocationKind::High16,
            6 => RelocationKind::Low16,
            _ => return Err(RelocationError::Unknown(number)),
        }))
    }

    /// Width of the values that the relocation can express, and whether they are addresses of words.
    fn limits(self) -> (u32, bool) {
        match self {
            RelocationKind::Constant21 => (21, false),
            RelocationKind::Word21 => (21, true),
            RelocationKind::Branch25 => (25, true),
            RelocationKind::Data32 | RelocationKind::High16 | RelocationKind::Low16 => (32, false),
        }
    }

    /// `word` with `value` in the field of this relocation.
    pub fn apply(self, word: u32, value: i64) -> Result<u32, RelocationError> {
        let (bits, of_words) = self.limits();
        // A full word may also be a negative number, such as the address of a register.
        let least = if bits == 32 { i64::from(i32::MIN) } else { 0 };
        if !(least..1 << bits).contains(&value) {
            let kind = self;
            return Err(RelocationError::OutOfRange { kind, value, bits });
        }
        if of_words && value & 3 != 0 {
            return Err(RelocationError::Unaligned { kind: self, value });
        }
        // The bits of a negative number too: the range is checked.
        let value = (value & 0xFFFF_FFFF) as u32;
        Ok(match self {
            RelocationKind::Constant21 | RelocationKind::Word21 => {
                word & !0x007C_FFFF | value & 0xFFFF | (value >> 16) << 18
            }
            RelocationKind::Branch25 => word & !0x01FF_FFFC | value,
            RelocationKind::Data32 => value,
            RelocationKind::High16 => word & !0xFFFF | value >> 16,
            RelocationKind::Low16 => word & !0xFFFF | value & 0xFFFF,
        })
    }

    /// Changes the word at `offset` of `bytes`.
    pub fn patch(self, bytes: &mut [u8], offset: u32, value: i64) -> Result<(), RelocationError> {
        let start = offset as usize;
        let field = start
            .checked_add(4)
            .and_then(|end| bytes.get_mut(start..end))
            .and_then(|field| <&mut [u8; 4]>::try_from(field).ok())
            .ok_or(RelocationError::Outside)?;
        *field = self.apply(u32::from_be_bytes(*field), value)?.to_be_bytes();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: RelocationKind, word: u32, value: i64, expected: Result<u32, RelocationError>) {
        assert_eq!(kind.apply(word, value), expected, "{kind:?} {value:#x}");
    }

    fn too_wide(kind: RelocationKind, value: i64, bits: u32) -> Result<u32, RelocationError> {
        Err(RelocationError::OutOfRange { kind, value, bits })
    }

    #[test]
    fn values_enter_their_fields() {
        // mov 0, %r3 as SLI.
        check(
            RelocationKind::Constant21,
            0xF182_0000,
            0x1F_1234,
            Ok(0xF1FE_1234),
        );
        check(RelocationKind::Constant21, 0xF1FE_FFFF, 0, Ok(0xF182_0000));
        check(
            RelocationKind::Word21,
            0xF180_0000,
            0x10_0004,
            Ok(0xF1C0_0004),
        );
        // bne.
        check(
            RelocationKind::Branch25,
            0xEC00_0000,
            0x1FF_FFFC,
            Ok(0xEDFF_FFFC),
        );
        check(RelocationKind::Branch25, 0xEC00_0001, 0x40, Ok(0xEC00_0041));
        check(
            RelocationKind::Data32,
            0xFFFF_FFFF,
            0x1234_5678,
            Ok(0x1234_5678),
        );
        check(RelocationKind::Data32, 0, -4, Ok(0xFFFF_FFFC));
        check(
            RelocationKind::High16,
            0x0181_FFFF,
            0x1234_8765,
            Ok(0x0181_1234),
        );
        check(
            RelocationKind::Low16,
            0x518C_0000,
            0x1234_8765,
            Ok(0x518C_8765),
        );
    }

    #[test]
    fn values_outside_of_their_fields_are_refused() {
        for (kind, bits) in [
            (RelocationKind::Constant21, 21),
            (RelocationKind::Word21, 21),
            (RelocationKind::Branch25, 25),
            (RelocationKind::Data32, 32),
            (RelocationKind::High16, 32),
        ] {
            check(kind, 0, 1 << bits, too_wide(kind, 1 << bits, bits));
            let least = if bits == 32 { -(1 << 31) } else { 0 };
            check(kind, 0, least - 4, too_wide(kind, least - 4, bits));
        }
        for kind in [RelocationKind::Word21, RelocationKind::Branch25] {
            let value = 0x1002;
            check(
                kind,
                0,
                value,
                Err(RelocationError::Unaligned { kind, value }),
            );
        }
        assert_eq!(RelocationKind::new(7), Err(RelocationError::Unknown(7)));
        assert_eq!(RelocationKind::new(0), Ok(None));
    }

    #[test]
    fn a_word_outside_of_the_section_is_refused() {
        for offset in [1, 4, u32::MAX] {
            let patched = RelocationKind::Data32.patch(&mut [0; 4], offset, 1);
            assert_eq!(patched, Err(RelocationError::Outside), "{offset}");
        }
        let mut bytes = [0; 6];
        assert_eq!(
            RelocationKind::Data32.patch(&mut bytes, 1, 0x0102_0304),
            Ok(())
        );
        assert_eq!(bytes, [0, 1, 2, 3, 4, 0]);
    }
}

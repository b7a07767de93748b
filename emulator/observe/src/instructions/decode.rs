//! Decoder of instruction records.

use super::encode::{
    AGAIN, BOARD, CLOCK, IDLE, JUMP, LogMemory, PACE, PROBE, ROUNDS, RUN, SPENT, WORD,
};
use super::{Cause, Record};

/// The bytes are not valid records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end within a record.
    #[error("the instructions end within a record")]
    Truncated,
    /// An unknown record code.
    #[error("the instructions hold a record of an unknown kind: {0:#04x}")]
    Code(u8),
    /// An unknown cause.
    #[error("the instructions hold a time spent for an unknown cause: {0}")]
    Cause(u8),
    /// A number is out of range.
    #[error("the instructions hold a number that is too large: {0:#x}")]
    Number(u64),
}

/// Decodes the records of one core, piece by piece in the order of writing.
#[derive(Debug, Default)]
pub struct Decoder(LogMemory);

impl Decoder {
    /// Decodes the next piece and passes its records on.
    ///
    /// # Errors
    /// If the bytes are not valid records.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(Record),
    ) -> Result<(), DecodeError> {
        let mut rest = Rest(bytes);
        while let Some(code) = rest.next() {
            if code & RUN != 0 {
                for _ in 0..=code & !RUN {
                    let (pc, ticks) = (self.0.pc, self.0.pace);
                    self.0.pc = pc.wrapping_add(4);
                    take(Record::Executed { pc, ticks });
                }
            } else if code & AGAIN != 0 {
                let (cause, ticks) = self.0.at(code & !AGAIN);
                take(Record::Spent { cause, ticks });
            } else if let Some(record) = self.other(code, &mut rest)? {
                take(record);
            }
        }
        Ok(())
    }

    /// The record for a code with operands; `None` if the code only changes the decoder's state.
    fn other(&mut self, code: u8, rest: &mut Rest<'_>) -> Result<Option<Record>, DecodeError> {
        Ok(Some(match code {
            BOARD => Record::Board {
                ticks_per_second: rest.number()?,
                sram_bytes: rest.word()?,
            },
            CLOCK => Record::Clock {
                tick: rest.number()?,
            },
            WORD => Record::Word {
                address: rest.word()?,
                word: rest.four_bytes()?,
            },
            SPENT => {
                let number = rest.byte()?;
                let cause = *Cause::ALL
                    .get(usize::from(number))
                    .ok_or(DecodeError::Cause(number))?;
                let ticks = rest.number()?;
                self.0.spent(cause, ticks);
                Record::Spent { cause, ticks }
            }
            PACE => {
                self.0.pace = rest.word()?;
                return Ok(None);
            }
            JUMP => {
                self.0.pc = self.place(rest)?;
                return Ok(None);
            }
            PROBE => Record::Probe {
                pc: self.place(rest)?,
            },
            IDLE => Record::Idle {
                instructions: rest.word()?,
            },
            ROUNDS => Record::Rounds {
                instructions: rest.word()?,
                rounds: rest.number()?,
            },
            code => return Err(DecodeError::Code(code)),
        }))
    }

    fn place(&self, rest: &mut Rest<'_>) -> Result<u32, DecodeError> {
        let number = rest.word()?;
        let words = (number >> 1) ^ (number & 1).wrapping_neg();
        Ok(self.0.pc.wrapping_add(words.wrapping_mul(4)))
    }
}

/// The remaining bytes.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.next().ok_or(DecodeError::Truncated)
    }

    fn number(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7F);
            if part << shift >> shift != part {
                return Err(DecodeError::Number(part));
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::Number(number))
    }

    fn word(&mut self) -> Result<u32, DecodeError> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| DecodeError::Number(number))
    }

    fn four_bytes(&mut self) -> Result<u32, DecodeError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*first))
    }
}

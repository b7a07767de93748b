//! Actions as bytes: a tag, and its numbers with 7 bits a byte, least significant first.

use std::sync::Arc;

use lanigon_window::window::{MemoryWatch, PolledWord, VirtualAddress, WindowWatch};

use super::super::log::MemoryAct;
use super::super::request::Request;
use emulator_base::time::SimTime;
use emulator_board::events::{PollRequest, Words};

/// Most texts of a tape: bounds the memory that texts take for the rest of the process when a tape is replayed.
pub const MOST_TEXTS: usize = 256;
/// Longest text of a tape, in bytes.
pub const LONGEST_TEXT_BYTES: usize = 400;

// Tags of actions. Files of replays hold them: their numbers stay.
const END: u8 = 0;
const STUCK: u8 = 1;
const ALLOCATE: u8 = 2;
const ALLOCATE_CONTIGUOUS: u8 = 3;
const WRITE_MEMORY: u8 = 4;
const READ: u8 = 5;
const WRITE: u8 = 6;
const POLL: u8 = 7;
const POLL_ANY: u8 = 8;
const POLL_MEMORY: u8 = 9;
const TRANSLATE: u8 = 10;
const COMPUTE: u8 = 11;
const SLEEP: u8 = 12;
const SIGNALS: u8 = 13;
const INTERRUPT: u8 = 14;

// Tags of words to be polled; their numbers stay, too.
const WINDOW_WORD: u8 = 0;
const WINDOW_WORD_PREPARED: u8 = 1;
const MEMORY_WORD: u8 = 2;

/// Reason why bytes are no tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// The bytes end within an action.
    #[error("the recorded actions end within an action")]
    Truncated,
    /// A number or a tag has no meaning.
    #[error("the recorded actions have an invalid {0}")]
    Invalid(&'static str),
}

/// An action.
#[derive(Debug)]
pub(super) enum TapeAction {
    /// A change of memory.
    Memory(MemoryAct),
    /// A request; the program waits for the answer.
    Request(Request),
    /// The program, or its signal handler, has ended.
    End,
    /// The program awaits something outside the simulation.
    Stuck,
}

/// Appends a number: seven bits in a byte, the lowest first; the highest bit says that more follow.
fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the tag of an action, and its numbers.
fn write_action<const N: usize>(tag: u8, numbers: [u64; N], out: &mut Vec<u8>) {
    out.push(tag);
    numbers
        .into_iter()
        .for_each(|number| write_number(number, out));
}

pub(super) fn write_end(out: &mut Vec<u8>) {
    out.push(END);
}

pub(super) fn write_stuck(out: &mut Vec<u8>) {
    out.push(STUCK);
}

pub(super) fn write_act(act: &MemoryAct, out: &mut Vec<u8>) {
    match act {
        MemoryAct::Allocate(length) => write_action(ALLOCATE, [*length], out),
        MemoryAct::AllocateContiguous(length) => write_action(ALLOCATE_CONTIGUOUS, [*length], out),
        MemoryAct::Write(address, bytes) => {
            write_action(WRITE_MEMORY, [*address, bytes.len() as u64], out);
            out.extend_from_slice(bytes);
        }
    }
}

/// The code of a timeout: 0 is none.
fn timeout(span: Option<SimTime>) -> u64 {
    span.map_or(0, |span| span.ps().saturating_add(1))
}

/// The index of a text, which is added if it is new. A text that does not fit is index [`MOST_TEXTS`], which is none.
fn text(why: &str, texts: &mut Vec<Arc<str>>) -> u64 {
    let known = texts.iter().position(|known| **known == *why);
    let index = known.unwrap_or_else(|| match texts.len() {
        MOST_TEXTS.. => MOST_TEXTS,
        _ if why.len() > LONGEST_TEXT_BYTES => MOST_TEXTS,
        count => {
            texts.push(why.into());
            count
        }
    });
    index as u64
}

/// Appends the words of a poll.
fn write_words(words: impl ExactSizeIterator<Item = PolledWord>, out: &mut Vec<u8>) {
    write_number(words.len() as u64, out);
    for word in words {
        let (mask, expected) = match word {
            PolledWord::Window(watch) => {
                match watch.before {
                    None => write_action(WINDOW_WORD, [watch.offset.into()], out),
                    Some((offset, value)) => {
                        let numbers = [watch.offset, offset, value].map(u64::from);
                        write_action(WINDOW_WORD_PREPARED, numbers, out);
                    }
                }
                (watch.mask, watch.expected)
            }
            PolledWord::Memory(watch) => {
                write_action(MEMORY_WORD, [watch.address.0], out);
                (watch.mask, watch.expected)
            }
        };
        write_number(mask.into(), out);
        write_number(expected.into(), out);
    }
}

pub(super) fn write_request(request: &Request, texts: &mut Vec<Arc<str>>, out: &mut Vec<u8>) {
    match request {
        Request::Read { offset } => write_action(READ, [(*offset).into()], out),
        Request::Write { offset, values } => {
            write_action(WRITE, [(*offset).into(), values.len() as u64], out);
            for value in values.iter() {
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        Request::Poll {
            poll,
            timeout: span,
        } => {
            let [offset, mask, expected] = [poll.offset, poll.mask, poll.expected].map(u64::from);
            let why = text(poll.why, texts);
            write_action(POLL, [offset, mask, expected, timeout(*span), why], out);
        }
        Request::PollAny {
            words,
            timeout: span,
            why,
        } => {
            write_action(POLL_ANY, [timeout(*span), text(why, texts)], out);
            write_words(words.iter().copied(), out);
        }
        Request::PollMemory {
            words,
            timeout: span,
            why,
        } => {
            write_action(POLL_MEMORY, [timeout(*span), text(why, texts)], out);
            write_words(words.iter().copied().map(PolledWord::Memory), out);
        }
        Request::Translate { address, length } => write_action(TRANSLATE, [*address, *length], out),
        Request::Compute(span) => write_action(COMPUTE, [span.ps()], out),
        Request::Sleep(span) => write_action(SLEEP, [span.ps()], out),
        Request::Signals { enabled } => write_action(SIGNALS, [(*enabled).into()], out),
        Request::Interrupt { timeout: span } => write_action(INTERRUPT, [timeout(*span)], out),
    }
}

/// Reads actions. `texts` are those of the tape.
#[derive(Debug)]
pub(super) struct TapeReader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) texts: &'a [&'static str],
}

impl TapeReader<'_> {
    /// The next action; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<TapeAction>, TapeError> {
        let Some((&tag, rest)) = self.bytes.split_first() else {
            return Ok(None);
        };
        self.bytes = rest;
        Ok(Some(match tag {
            END => TapeAction::End,
            STUCK => TapeAction::Stuck,
            ALLOCATE => TapeAction::Memory(MemoryAct::Allocate(self.number()?)),
            ALLOCATE_CONTIGUOUS => {
                TapeAction::Memory(MemoryAct::AllocateContiguous(self.number()?))
            }
            WRITE_MEMORY => {
                let (address, length) = (self.number()?, self.number()?);
                TapeAction::Memory(MemoryAct::Write(address, self.read_bytes(length)?.into()))
            }
            _ => TapeAction::Request(self.request(tag)?),
        }))
    }

    fn request(&mut self, tag: u8) -> Result<Request, TapeError> {
        Ok(match tag {
            READ => Request::Read {
                offset: self.small()?,
            },
            WRITE => self.write()?,
            POLL => {
                let (offset, mask, expected) = (self.small()?, self.small()?, self.small()?);
                let (timeout, why) = (self.timeout()?, self.text()?);
                let poll = PollRequest {
                    offset,
                    mask,
                    expected,
                    at: 0,
                    why,
                };
                Request::Poll { poll, timeout }
            }
            POLL_ANY => Request::PollAny {
                timeout: self.timeout()?,
                why: self.text()?,
                words: self.words()?,
            },
            POLL_MEMORY => {
                let (timeout, why) = (self.timeout()?, self.text()?);
                let of_memory = |word| match word {
                    PolledWord::Memory(watch) => Ok(watch),
                    PolledWord::Window(_) => Err(TapeError::Invalid("poll of memory")),
                };
                let words = self.words()?.into_iter().map(of_memory);
                Request::PollMemory {
                    words: words.collect::<Result<_, _>>()?,
                    timeout,
                    why,
                }
            }
            TRANSLATE => Request::Translate {
                address: self.number()?,
                length: self.number()?,
            },
            COMPUTE => Request::Compute(SimTime::from_ps(self.number()?)),
            SLEEP => Request::Sleep(SimTime::from_ps(self.number()?)),
            SIGNALS => Request::Signals {
                enabled: self.number()? != 0,
            },
            INTERRUPT => Request::Interrupt {
                timeout: self.timeout()?,
            },
            _ => return Err(TapeError::Invalid("tag")),
        })
    }

    /// A write of consecutive words, which all have an offset.
    fn write(&mut self) -> Result<Request, TapeError> {
        let (offset, count): (u32, u64) = (self.small()?, self.number()?);
        let length = count.checked_mul(4).ok_or(TapeError::Truncated)?;
        let bytes = self.read_bytes(length)?;
        let end = u64::from(offset) + length;
        if end > u64::from(u32::MAX) {
            return Err(TapeError::Invalid("offset"));
        }
        let words = bytes.chunks_exact(4);
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
        Ok(Request::Write {
            offset,
            values: Words::new(&words.map(word).collect::<Vec<_>>()),
        })
    }

    /// Words to be polled, at least one.
    fn words(&mut self) -> Result<Vec<PolledWord>, TapeError> {
        let count = self.number()?;
        // A word has at least four bytes.
        if count == 0 || count > self.bytes.len() as u64 {
            return Err(TapeError::Invalid("number of words"));
        }
        (0..count).map(|_| self.word()).collect()
    }

    fn word(&mut self) -> Result<PolledWord, TapeError> {
        let tag = self.read_bytes(1)?[0];
        if tag == MEMORY_WORD {
            return Ok(PolledWord::Memory(MemoryWatch {
                address: VirtualAddress(self.number()?),
                mask: self.small()?,
                expected: self.small()?,
            }));
        }
        let offset = self.small()?;
        let before = match tag {
            WINDOW_WORD => None,
            WINDOW_WORD_PREPARED => Some((self.small()?, self.small()?)),
            _ => return Err(TapeError::Invalid("word")),
        };
        Ok(PolledWord::Window(WindowWatch {
            before,
            offset,
            mask: self.small()?,
            expected: self.small()?,
        }))
    }

    fn read_bytes(&mut self, length: u64) -> Result<&[u8], TapeError> {
        let length = usize::try_from(length).map_err(|_| TapeError::Truncated)?;
        let cut = self.bytes.split_at_checked(length);
        let (bytes, rest) = cut.ok_or(TapeError::Truncated)?;
        self.bytes = rest;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u64, TapeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.read_bytes(1)?[0];
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                return Err(TapeError::Invalid("number"));
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(TapeError::Invalid("number"))
    }

    fn small(&mut self) -> Result<u32, TapeError> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| TapeError::Invalid("number"))
    }

    fn timeout(&mut self) -> Result<Option<SimTime>, TapeError> {
        Ok(self.number()?.checked_sub(1).map(SimTime::from_ps))
    }

    fn text(&mut self) -> Result<&'static str, TapeError> {
        let index = self.number()?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        match self.texts.get(index) {
            Some(text) => Ok(text),
            None if index == MOST_TEXTS => Ok(""),
            None => Err(TapeError::Invalid("text")),
        }
    }
}

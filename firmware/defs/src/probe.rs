//! Probes: marks in the firmware.
//!
//! A probe is an entry in the ELF section [`SECTION`], which is never loaded. The emulator reads
//! the section and, when a CPU is about to execute the marked address, emits a trace event with
//! the values of up to four registers.
//!
//! The marked instruction is the probe's own: a `nop` (a panic's on MIPS is the `break` that it ends in; a LANai has none, so the
//! emulator stops its CPU at the `nop`). An instruction of the code around it could be reached by a path that does not pass the
//! probe.
//!
//! An entry is five big-endian words: the marked address; the [`Kind`]; the offset of a
//! NUL-terminated text in the section [`TEXT_SECTION`]; two words that name registers. The latter
//! are instructions (MIPS: `addu $zero, rs, rt`; LANai: `add %rs1, %rs2, %r0`), since the assembler can place a register's number
//! only inside an instruction; a register number of 0 means "no argument", unless
//! a later argument or a placeholder of the text (log, panic) needs one: then it is the 0 that this register holds.
//!
//! The text is the probe's name (event), the stage's name (stage, wait) or a format in which each
//! `{}` (decimal) or `{x}` (hexadecimal) stands for the next argument, and `{s}` for a text in the
//! CPU's memory whose address and length in bytes are the next two (log, panic).

/// Name of the section with the entries.
pub const SECTION: &str = ".probes";
/// Name of the section with the texts.
pub const TEXT_SECTION: &str = ".probetext";
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 20;
/// Most arguments of a probe.
pub const MAX_ARGUMENTS: usize = 4;

/// Number of the `break` by which MIPS firmware ends on purpose. The compiler's own, for `core::intrinsics::abort`, has 0.
pub const END_BREAK: u32 = 1023;

/// Kind of the mark that a probe is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A named event with arguments.
    Event = 0,
    /// A protocol stage begins on this CPU.
    StageEnter = 1,
    /// The stage ends.
    StageExit = 2,
    /// Within a stage, a wait begins (semaphore, signalling): its time is not the stage's own.
    WaitEnter = 3,
    /// The wait ends.
    WaitExit = 4,
    /// A log line.
    Log = 5,
    /// A panic: the text is the format of its place; the CPU stops there.
    Panic = 6,
    /// No probe of its own: the code is for the types of boards that the text names, with blanks between them.
    Boards = 7,
    /// No mark either: [`Published`] words. The address is that of the first one; behind the text's offset stand the number of entries
    /// (from bit [`ENTRIES_SHIFT`] on) with that of words in each, and the bytes from one entry to the next.
    Published = 8,
    /// Likewise [guarded](Published::guarded) words.
    Guarded = 9,
    /// Likewise [sampled](Published::sampled) words.
    Sampled = 10,
}

/// First bit of the number of entries in the declaration of [`Published`] words.
pub const ENTRIES_SHIFT: u32 = 8;

/// Words of memory by which one side tells another that it has come so far: the indices of a queue, or the words that make its entries
/// valid. What a CPU has done before it stores such a word comes before what another one does after it has loaded it. Of registers: those
/// that several write whole, in any order.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// Name of the words.
    pub name: &'static str,
    /// Address of the first word.
    pub address: u32,
    /// Number of entries.
    pub entries: u32,
    /// Words of each entry, side by side.
    pub words: u32,
    /// Bytes from the beginning of one entry to that of the next.
    pub every_bytes: u32,
    /// [`Kind::Published`], or another kind of declared words.
    pub kind: Kind,
}

impl Published {
    /// Words side by side.
    #[must_use]
    pub const fn words(name: &'static str, address: u32, words: u32) -> Self {
        Self::each(name, address, words, 4)
    }

    /// Words in the same place of each of `count` entries of a table; `address` is that of the first one.
    #[must_use]
    pub const fn each(name: &'static str, address: u32, count: u32, entry_bytes: u32) -> Self {
        Self {
            name,
            address,
            entries: count,
            words: 1,
            every_bytes: entry_bytes,
            kind: Kind::Published,
        }
    }

    /// Words of which each CPU has a part, which it reads at any time and changes under the semaphore.
    #[must_use]
    pub const fn guarded(self) -> Self {
        Self {
            kind: Kind::Guarded,
            ..self
        }
    }

    /// Entries with this many words each.
    #[must_use]
    pub const fn of_words(self, words: u32) -> Self {
        Self { words, ..self }
    }

    /// Number of entries and of words in each, as in the image.
    #[must_use]
    pub const fn counts(&self) -> u32 {
        assert!(
            self.words >> ENTRIES_SHIFT == 0,
            "more words in an entry than fit"
        );
        self.entries << ENTRIES_SHIFT | self.words
    }

    /// Words that order nothing: whatever value a reader finds is right, an old one or a new one, and so is the last of several writes.
    #[must_use]
    pub const fn sampled(self) -> Self {
        Self {
            kind: Kind::Sampled,
            ..self
        }
    }
}

impl Kind {
    /// Whether an entry of this kind marks no instruction.
    #[must_use]
    pub const fn is_note(self) -> bool {
        matches!(
            self,
            Self::Boards | Self::Published | Self::Guarded | Self::Sampled
        )
    }

    /// Decodes an entry's kind; `None` for an unused value.
    #[must_use]
    pub const fn from_word(word: u32) -> Option<Self> {
        Some(match word {
            0 => Self::Event,
            1 => Self::StageEnter,
            2 => Self::StageExit,
            3 => Self::WaitEnter,
            4 => Self::WaitExit,
            5 => Self::Log,
            6 => Self::Panic,
            7 => Self::Boards,
            8 => Self::Published,
            9 => Self::Guarded,
            10 => Self::Sampled,
            _ => return None,
        })
    }
}

/// The probe's text with the terminating NUL.
#[must_use]
pub const fn terminated<const BYTES: usize>(text: &str) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    let text = text.as_bytes();
    assert!(text.len() + 1 == BYTES);
    let mut at = 0;
    while at < text.len() {
        assert!(text[at] != 0, "a probe's text holds no NUL");
        out[at] = text[at];
        at += 1;
    }
    out
}

/// Number of arguments for a text's placeholders: one for `{}` and `{x}`, two for `{s}`.
#[must_use]
pub const fn placeholders(text: &str) -> usize {
    let text = text.as_bytes();
    let mut count = 0;
    let mut at = 0;
    while at + 1 < text.len() {
        if text[at] == b'{' {
            count += match text[at + 1] {
                b's' => 2,
                _ => 1,
            };
        }
        at += 1;
    }
    count
}

/// Event probe without arguments, at the end of a stage: the stage found nothing to do.
/// [`SEND_FRAME`](stage::SEND_FRAME) found no frame to cut, [`RECEIVING`](stage::RECEIVING) no finished DMA write.
pub const NOTHING_TO_DO: &str = "nothing to do";

/// Names of the stages of Table 3.1 of the thesis, as the probes spell them. Receive bookkeeping is in two parts, as
/// in its two-CPU tables (3.2 and 3.3).
pub mod stage {
    /// emp-080, but for its frames: handle a posted transmit, set up the record.
    pub const SEND_BOOKKEEPING: &str = "send bookkeeping";
    /// The part of emp-080 that grows with the frames: cut one from its message.
    pub const SEND_FRAME: &str = "send frame";
    /// emp-081: queue the frame's DMA and its MAC descriptor.
    pub const TRANSMISSION: &str = "transmission";
    /// emp-104, the matcher's part of emp-082: take an ack from the MAC, check it, free it.
    pub const TAKE_ACK: &str = "take ack";
    /// emp-103, the sender's part of emp-082: release resources, report completion.
    pub const RECEIVE_ACK: &str = "receive ack";
    /// A part of emp-083: take a frame from the MAC, check its CRC, classify and match it.
    pub const RECEIVE_BOOKKEEPING: &str = "receive bookkeeping";
    /// The other part of emp-083: store what the frame brings, start its DMA.
    pub const RECEIVE_FRAME: &str = "receive frame";
    /// emp-084: finish a frame's DMA.
    pub const RECEIVING: &str = "receiving";
    /// emp-085: build and queue an ack.
    pub const SEND_ACK: &str = "send ack";
}

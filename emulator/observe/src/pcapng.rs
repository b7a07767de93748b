//! Writer of capture files (pcapng) for Wireshark and similar tools.
//!
//! Frames have their FCS, nanoseconds since power-on as time, and their notes as comments.

use std::io::{self, Write};

use super::capture::{CapturedFrame, FrameObserver, Interface};
use emulator_base::unit::Defects;

/// Types of blocks.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// First word of a section header: its byte order tells the one of the file.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Version of the format: major 1, minor 0.
const VERSION: u32 = 1;
/// Length of a section that is not known in advance.
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// Codes of options; those of an interface and of a packet overlap.
const COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION_TEXT: u16 = 3;
const INTERFACE_SPEED: u16 = 8;
const INTERFACE_RESOLUTION: u16 = 9;
const INTERFACE_FCS_LENGTH: u16 = 13;
const PACKET_FLAGS: u16 = 2;

/// Timestamp resolution: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Position of the FCS's length in a packet's flags.
const FLAG_FCS_SHIFT: u32 = 5;
/// Flag: wrong FCS.
const FLAG_CRC_ERROR: u32 = 1 << 24;
/// Flag: the frame is too long.
const FLAG_TOO_LONG: u32 = 1 << 25;
/// Flag: the frame is too short.
const FLAG_TOO_SHORT: u32 = 1 << 26;

/// Observer that writes frames into a capture file. It writes whole blocks, so that other programs can read
/// the file during the run.
pub struct PcapNg {
    out: Box<dyn Write + Send>,
    /// Whether the section header is written.
    is_begun: bool,
    /// For each interface, the length of the check sequence that follows a frame.
    check_bytes: Vec<u8>,
    error: Option<io::Error>,
}

impl PcapNg {
    /// Writes to `out`; it need not be buffered.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out,
            is_begun: false,
            check_bytes: Vec::new(),
            error: None,
        }
    }

    /// Writes blocks. The first error is reported at the end; nothing is written after it.
    fn add(&mut self, blocks: impl Iterator<Item = CaptureBlock>) {
        if self.error.is_some() {
            return;
        }
        let header = (!std::mem::replace(&mut self.is_begun, true)).then(header);
        let bytes: Vec<u8> = header
            .into_iter()
            .chain(blocks)
            .flat_map(CaptureBlock::bytes)
            .collect();
        let written = self.out.write_all(&bytes).and_then(|()| self.out.flush());
        self.error = written.err();
    }
}

impl FrameObserver for PcapNg {
    fn begin(&mut self, interfaces: &[Interface]) {
        let check_bytes = interfaces.iter().map(|interface| interface.check_bytes);
        self.check_bytes = check_bytes.collect();
        self.add(interfaces.iter().map(interface_block));
    }

    fn frames(&mut self, frames: &[CapturedFrame]) {
        let check_bytes = std::mem::take(&mut self.check_bytes);
        let check = |frame: &CapturedFrame| check_bytes.get(frame.interface).copied();
        let blocks = frames
            .iter()
            .map(|frame| frame_block(frame, check(frame).unwrap_or(0)));
        self.add(blocks);
        self.check_bytes = check_bytes;
    }

    fn finish(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }
}

/// A block of a capture file, with lowest bytes first.
struct CaptureBlock {
    kind: u32,
    body: Vec<u8>,
}

impl CaptureBlock {
    fn new(kind: u32, words: &[u32]) -> Self {
        let body = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Self { kind, body }
    }

    /// Adds data, and zeros up to a whole word.
    fn with_data(mut self, data: &[u8]) -> Self {
        self.body.extend(data);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        self
    }

    /// Adds an option: its code, the length of its value in bytes, and the value. Longer values are cut off.
    fn with_option(mut self, code: u16, value: &[u8]) -> Self {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.body.extend(code.to_le_bytes());
        self.body.extend(length.to_le_bytes());
        self.with_data(&value[..length.into()])
    }

    /// The whole block, after the end of its options: type, length of the block, body, and the length again.
    fn bytes(self) -> Vec<u8> {
        let block = self.with_option(0, &[]);
        let length = (block.body.len() as u32 + 12).to_le_bytes();
        let kind = block.kind.to_le_bytes();
        [&kind, &length, &block.body[..], &length].concat()
    }
}

fn header() -> CaptureBlock {
    let about = concat!("Lanigon ", env!("CARGO_PKG_VERSION"));
    CaptureBlock::new(SECTION_HEADER, &[BYTE_ORDER, VERSION])
        .with_data(&UNKNOWN_LENGTH.to_le_bytes())
        .with_option(SECTION_APPLICATION, about.as_bytes())
        .with_option(COMMENT, b"times count from power-on")
}

fn interface_block(interface: &Interface) -> CaptureBlock {
    let snap_length = 0;
    let block = CaptureBlock::new(
        INTERFACE_DESCRIPTION,
        &[interface.link_type.0.into(), snap_length],
    )
    .with_option(INTERFACE_NAME, interface.name.as_bytes())
    .with_option(INTERFACE_DESCRIPTION_TEXT, interface.description.as_bytes())
    .with_option(INTERFACE_RESOLUTION, &[NANOSECONDS])
    .with_option(INTERFACE_FCS_LENGTH, &[interface.check_bytes]);
    match interface.bits_per_s {
        Some(speed) => block.with_option(INTERFACE_SPEED, &speed.to_le_bytes()),
        None => block,
    }
}

/// A frame with its check sequence, which goes on the wire with its lowest byte first.
fn frame_block(captured: &CapturedFrame, check_bytes: u8) -> CaptureBlock {
    let mut data = captured.bytes.to_vec();
    let check = captured.check.to_le_bytes();
    data.extend(check.iter().take(check_bytes.into()));
    let (ns, length) = (captured.time.ps() / 1000, data.len() as u32);
    let [high, low] = [(ns >> 32) as u32, ns as u32];
    let interface = captured.interface as u32;
    let block = CaptureBlock::new(ENHANCED_PACKET, &[interface, high, low, length, length]);
    let notes = captured.notes.iter().map(ToString::to_string);
    let block = notes.fold(block.with_data(&data), |block, note| {
        block.with_option(COMMENT, note.as_bytes())
    });
    let flags = flags(captured.defects, check_bytes);
    block.with_option(PACKET_FLAGS, &flags.to_le_bytes())
}

/// A packet's flags: the length of its check sequence, and its defects.
fn flags(defects: Defects, check_bytes: u8) -> u32 {
    [
        (defects.check, FLAG_CRC_ERROR),
        (defects.too_short, FLAG_TOO_SHORT),
        (defects.too_long, FLAG_TOO_LONG),
    ]
    .into_iter()
    .filter(|(wrong, _)| *wrong)
    .fold(
        u32::from(check_bytes) << FLAG_FCS_SHIFT,
        |flags, (_, flag)| flags | flag,
    )
}

//! Writer of capture files (pcapng) for Wireshark and similar tools.
//!
//! Frames have their FCS, nanoseconds since power-on as time, and their notes as comments.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};

use super::capture::{CapturedFrame, FrameObserver, Interface};
use emulator_base::unit::Defects;

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
    /// Pending blocks.
    blocks: Option<PcapNgWriter<Vec<u8>>>,
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
            blocks: None,
            check_bytes: Vec::new(),
            error: None,
        }
    }

    /// Writes blocks.
    fn write<'a, B: PcapNgBlock<'a>>(&mut self, blocks: impl Iterator<Item = B>) -> io::Result<()> {
        let writer = match &mut self.blocks {
            Some(writer) => writer,
            none => none
                .insert(PcapNgWriter::with_section_header(Vec::new(), header()).map_err(io_error)?),
        };
        for block in blocks {
            writer.write_pcapng_block(block).map_err(io_error)?;
        }
        self.out.write_all(writer.get_ref())?;
        writer.get_mut().clear();
        self.out.flush()
    }

    /// Writes blocks. The first error is reported at the end; nothing is written after it.
    fn add<'a, B: PcapNgBlock<'a>>(&mut self, blocks: impl Iterator<Item = B>) {
        if self.error.is_none() {
            self.error = self.write(blocks).err();
        }
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

fn header() -> SectionHeaderBlock<'static> {
    let about = concat!("Lanigon ", env!("CARGO_PKG_VERSION"));
    SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::UserApplication(about.into()),
            SectionHeaderOption::Comment("times count from power-on".into()),
        ],
        ..SectionHeaderBlock::default()
    }
}

fn interface_block(interface: &Interface) -> InterfaceDescriptionBlock<'_> {
    use InterfaceDescriptionOption as Opt;
    let speed = interface.bits_per_s.map(Opt::IfSpeed);
    let options = [
        Opt::IfName(Cow::Borrowed(&interface.name)),
        Opt::IfDescription(Cow::Borrowed(&interface.description)),
        Opt::IfTsResol(NANOSECONDS),
        Opt::IfFcsLen(interface.check_bytes),
    ];
    InterfaceDescriptionBlock {
        linktype: DataLink::from(u32::from(interface.link_type.0)),
        snaplen: 0,
        options: options.into_iter().chain(speed).collect(),
    }
}

/// A frame with its check sequence, which goes on the wire with its lowest byte first.
fn frame_block(captured: &CapturedFrame, check_bytes: u8) -> EnhancedPacketBlock<'_> {
    let mut data = captured.bytes.to_vec();
    let check = captured.check.to_le_bytes();
    data.extend(check.iter().take(check_bytes.into()));
    let notes = captured.notes.iter();
    let comments = notes.map(|note| EnhancedPacketOption::Comment(note.to_string().into()));
    EnhancedPacketBlock {
        interface_id: captured.interface as u32,
        timestamp: Duration::from_nanos(captured.time.ps() / 1000),
        original_len: data.len() as u32,
        data: data.into(),
        options: comments
            .chain([EnhancedPacketOption::Flags(flags(
                captured.defects,
                check_bytes,
            ))])
            .collect(),
    }
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

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

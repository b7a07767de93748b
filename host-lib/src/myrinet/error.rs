//! Failures of hosts of Myrinet adapters.

use thiserror::Error;

use crate::address::MacAddress;

/// A host cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// The control program did not do what the host waits for.
    #[error("{what} did not come within {timeout_us} us")]
    TimedOut {
        /// The awaited event.
        what: &'static str,
        /// The timeout, in microseconds.
        timeout_us: u64,
    },
    /// Host memory is missing.
    #[error("the host has no {length_bytes} bytes of contiguous memory left")]
    NoMemory {
        /// Requested length.
        length_bytes: u64,
    },
    /// A part of the image lies outside of the board's memory.
    #[error("the image needs memory up to {end:#x}; the board has {sram_bytes:#x} bytes")]
    DoesNotFit {
        /// End of the part.
        end: u64,
        /// Installed memory.
        sram_bytes: u32,
    },
    /// The published pointer does not lead to the shared structure.
    #[error(
        "no shared structure: register SMP holds {register:#x}, the word at address 16 {word:#x}, \
         identification {found:#x} instead of {expected:#x}"
    )]
    NoStructure {
        /// Value of SMP.
        register: u32,
        /// Word at SRAM address 16.
        word: u32,
        /// Identification at the place where it should stand.
        found: u32,
        /// The right one.
        expected: u32,
    },
    /// The shared structure has another version.
    #[error("the shared structure has version {found}, the host knows {expected}")]
    Version {
        /// Version of the control program.
        found: u32,
        /// Version of the host.
        expected: u32,
    },
    /// A DMA test has a length that no test can have.
    #[error("a DMA test of {length_bytes} bytes: words up to 16384 bytes can be tested")]
    TestLength {
        /// The length.
        length_bytes: u32,
    },
    /// The control program says that DMA from the host delivered wrong data.
    #[error("DMA from the host: the control program received wrong data, {length_bytes} bytes")]
    WrongFromHost {
        /// Length of the test.
        length_bytes: u32,
    },
    /// A DMA test delivered wrong data.
    #[error(
        "DMA to the host: word {index} of {length_bytes} bytes is {found:#x}, expected {expected:#x}"
    )]
    TestData {
        /// Length of the test.
        length_bytes: u32,
        /// Index of the first wrong word.
        index: u32,
        /// Word in host memory.
        found: u32,
        /// The right one.
        expected: u32,
    },
    /// A frame came back with other contents.
    #[error(
        "the frame of {sent_bytes} bytes came back with {received_bytes}, first difference at byte {offset}"
    )]
    FrameData {
        /// Length of the sent frame.
        sent_bytes: u32,
        /// Length that the control program reports.
        received_bytes: u32,
        /// Offset of the first difference.
        offset: usize,
    },
    /// A frame is longer than its buffer.
    #[error(
        "the control program reports a frame of {length_bytes} bytes, more than its buffer has"
    )]
    FrameLength {
        /// Length that the control program reports.
        length_bytes: u32,
    },
    /// Frames of another host come in another order than sent.
    #[error("frame {found} of {address} came instead of frame {expected}")]
    FrameOrder {
        /// The other adapter.
        address: MacAddress,
        /// Number of the frame.
        found: u32,
        /// Number of the next frame.
        expected: u32,
    },
    /// Frames of another host stopped coming before the last one.
    #[error("{received} of {frames} frames of {address} came, and nothing for {silence_us} us")]
    Silent {
        /// The other adapter.
        address: MacAddress,
        /// Frames that came from the other adapter.
        received: u32,
        /// Frames that it sends.
        frames: u32,
        /// Length of the wait, in microseconds.
        silence_us: u64,
    },
    /// A ring entry names a buffer that the host did not post.
    #[error("the control program reports buffer {index}, which was not posted")]
    UnknownBuffer {
        /// Index in the entry.
        index: u32,
    },
}

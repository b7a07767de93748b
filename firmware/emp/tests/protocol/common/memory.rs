//! A host's memory, and random numbers.

/// Physical memory from [`HostMemory::BASE`] on; no other address answers.
pub struct HostMemory {
    bytes: Vec<u8>,
    next: usize,
}

impl HostMemory {
    /// Above 4 GB, and so placed that buffers cross a 4 GB boundary.
    pub const BASE: u64 = 0x2_FFF0_0000;
    /// An address at which no memory answers.
    pub const NOWHERE: u64 = 0x7_0000_0000;

    pub fn new(bytes: usize) -> Self {
        Self {
            bytes: vec![0; bytes],
            next: 0,
        }
    }

    /// Allocates memory, `gap` bytes after the previous allocation.
    pub fn allocate(&mut self, length: usize, gap: usize) -> u64 {
        let at = self.next + gap;
        self.next = at + length;
        assert!(self.next <= self.bytes.len(), "the test needs more memory");
        Self::BASE + at as u64
    }

    fn place(&self, address: u64, length: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(address.checked_sub(Self::BASE)?).ok()?;
        let end = start.checked_add(length)?;
        (end <= self.bytes.len()).then_some(start..end)
    }

    pub fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        Some(self.bytes[self.place(address, length)?].to_vec())
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(place) = self.place(address, bytes.len()) else {
            return false;
        };
        self.bytes[place].copy_from_slice(bytes);
        true
    }
}

/// A seeded sequence of numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..length.div_ceil(8))
            .flat_map(|_| self.next().to_le_bytes())
            .collect();
        bytes.truncate(length);
        bytes
    }
}

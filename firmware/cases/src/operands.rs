//! Arithmetic on random operands, one sum for each kind: the same code on a board and on the host must give the same.

/// Names of the kinds, in the order of [`sums`].
pub const KINDS: [&str; 8] = [
    "u32",
    "i32",
    "u64",
    "i64",
    "u128",
    "f32",
    "f64",
    "unaligned",
];

/// Operands that are often wrong.
const SPECIAL: [u32; 8] = [
    0,
    1,
    2,
    10,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// Marsaglia's generator of 32 bits.
struct Random(u32);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// A number of any length, or a special one.
    fn operand(&mut self) -> u32 {
        let choice = self.bits();
        match choice & 3 {
            0 => SPECIAL[(choice >> 8 & 7) as usize],
            1 => self.bits() >> (choice >> 8 & 31),
            _ => self.bits(),
        }
    }

    fn wide(&mut self) -> u64 {
        u64::from(self.operand()) << 32 | u64::from(self.operand())
    }
}

struct Sum(u32);

impl Sum {
    fn add(&mut self, value: u32) {
        self.0 = self.0.rotate_left(5) ^ value;
    }

    fn add_wide(&mut self, value: u64) {
        self.add((value >> 32) as u32);
        self.add(value as u32);
    }
}

macro_rules! integers {
    ($sum:expr, $a:expr, $b:expr, $type:ty) => {{
        let (sum, a, b): (&mut Sum, $type, $type) = ($sum, $a, $b);
        sum.add_wide(a.wrapping_mul(b) as u64);
        sum.add(u32::from(a.checked_mul(b).is_some()));
        sum.add_wide(a.checked_div(b).map_or(1, |value| value as u64));
        sum.add_wide(a.checked_rem(b).map_or(1, |value| value as u64));
        if b != 0 {
            sum.add_wide(a.wrapping_div(b) as u64);
            sum.add_wide(a.wrapping_rem(b) as u64);
        }
        sum.add_wide((a / 10) as u64);
        sum.add_wide((a % 1000) as u64);
    }};
}

macro_rules! floats {
    ($sum:expr, $a:expr, $b:expr, $type:ty) => {{
        let (sum, a, b): (&mut Sum, $type, $type) = ($sum, $a, $b);
        for value in [a + b, a - b, a * b, a / b, a * 3.0] {
            // The bits of a "not a number" depend on the machine.
            sum.add_wide(if value.is_nan() {
                1
            } else {
                value.to_bits().into()
            });
        }
        sum.add(u32::from(a < b) + u32::from(a == b) * 2);
        sum.add(a as i32 as u32);
        sum.add_wide(b as u64);
    }};
}

/// Bytes that are read and written in words at every distance.
fn unaligned(sum: &mut Sum, a: u32, b: u32) {
    let mut bytes = [0u8; 24];
    for place in 0..4 {
        let (at, to) = (place, 8 + (place ^ b as usize & 3));
        let word = |bytes: &[u8; 24], at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        bytes[at..at + 4].copy_from_slice(&a.to_be_bytes());
        let read = word(&bytes, at);
        bytes[to..to + 4].copy_from_slice(&read.wrapping_add(b).to_le_bytes());
        bytes.copy_within(at..at + 9, to + 1);
        sum.add(word(&bytes, to));
    }
    let (left, right) = bytes.split_at(12);
    sum.add(u32::from(left < right));
    let pair: [u8; 7] = [
        bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    ];
    let copy = core::hint::black_box(pair);
    sum.add(u32::from(copy == core::hint::black_box(pair)));
}

/// The sums of this many rounds.
pub fn sums(seed: u32, rounds: u32) -> [u32; KINDS.len()] {
    let mut random = Random(seed);
    let mut sums = [const { Sum(0) }; KINDS.len()];
    for _ in 0..rounds {
        let [u32s, i32s, u64s, i64s, u128s, f32s, f64s, bytes] = &mut sums;
        let (a, b) = (random.operand(), random.operand());
        let (c, d) = (random.wide(), random.wide());
        integers!(u32s, a, b, u32);
        integers!(i32s, a.cast_signed(), b.cast_signed(), i32);
        integers!(u64s, c, d, u64);
        integers!(i64s, c.cast_signed(), d.cast_signed(), i64);
        let (e, f) = (u128::from(c) << 64 | u128::from(d), u128::from(b) << 40 | 1);
        integers!(u128s, e, f, u128);
        floats!(f32s, f32::from_bits(a), f32::from_bits(b), f32);
        floats!(f64s, f64::from_bits(c), f64::from_bits(d), f64);
        unaligned(bytes, a, b);
    }
    sums.map(|sum| sum.0)
}

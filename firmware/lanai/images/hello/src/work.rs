//! A computation that uses what compiled code needs the linker and the run-time functions for.

/// Number of results.
pub const RESULTS: usize = 16;

/// Changed by each call: it must be zero at the start.
#[derive(Default)]
struct Counter {
    calls: u32,
}

trait Step {
    fn step(&mut self, value: u64) -> u64;
}

struct Add(u32);
struct Multiply(u32, Counter);

impl Step for Add {
    fn step(&mut self, value: u64) -> u64 {
        value.wrapping_add(self.0.into())
    }
}

impl Step for Multiply {
    fn step(&mut self, value: u64) -> u64 {
        self.1.calls += 1;
        let product = value.wrapping_mul(u64::from(self.0) << 7 | 3);
        product.rotate_left(self.0 & 63) ^ u64::from(self.1.calls)
    }
}

static FUNCTIONS: [fn(u32, u32) -> u32; 4] = [quotient, remainder, product, distance];

fn quotient(a: u32, b: u32) -> u32 {
    a / b.max(1)
}

fn remainder(a: u32, b: u32) -> u32 {
    a % b.max(1)
}

fn product(a: u32, b: u32) -> u32 {
    a.wrapping_mul(b)
}

fn distance(a: u32, b: u32) -> u32 {
    let (a, b) = (a as i32, (b as i32) | 1);
    (a.wrapping_div(b) as u32).rotate_left(16) ^ a.wrapping_rem(b) as u32
}

/// The largest element above `floor` and its place.
#[inline(never)] // Stays a call, whose result the back end returns in memory.
fn largest<T: Copy + PartialOrd>(values: &[T], floor: T) -> Option<(usize, T)> {
    let above = values.iter().copied().enumerate();
    above
        .filter(|(_, value)| *value > floor)
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// The results for two words.
pub fn results(a: u32, b: u32) -> [u32; RESULTS] {
    let mut table: [u16; 32] = core::array::from_fn(|at| (a >> (at & 15)) as u16 ^ at as u16);
    table.copy_within(..20, (b & 7) as usize);
    table[(a & 31) as usize] = b as u16;
    let (place, value) = largest(&table, 3).unwrap_or_default();
    let steps: [&mut dyn Step; 3] = [
        &mut Add(a),
        &mut Multiply(b, Counter::default()),
        &mut Add(b),
    ];
    let mut long = 0x1234_5678_9ABC_DEF0_u64;
    for step in steps {
        long = step.step(long);
    }
    let signed = long as i64;
    let mut results = [0; RESULTS];
    for (result, function) in results.iter_mut().zip(FUNCTIONS) {
        *result = function(a, b);
    }
    let more = [
        place as u32,
        u32::from(value),
        (long >> 32) as u32,
        long as u32,
        (long / (u64::from(b) | 1)) as u32,
        (long % 1_000_003) as u32,
        (signed >> (a & 63)) as u32,
        (long << (b & 63) >> 32) as u32,
        a.checked_add(b).map_or(7, u32::leading_zeros),
        a.count_ones() << 8 | b.trailing_zeros(),
        table
            .iter()
            .fold(1, |sum, one| (sum * 31 + u32::from(*one)) & 0xFFFF),
        a.saturating_sub(b),
    ];
    results[4..].copy_from_slice(&more);
    results
}

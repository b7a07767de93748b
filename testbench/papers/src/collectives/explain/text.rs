//! Explanations as text.

use std::fmt::{self, Write};

use super::Explanation;

/// Writes an explanation.
pub fn write(text: &mut String, of: &Explanation) -> fmt::Result {
    let us = |ps: u64| ps as f64 / 1e6;
    writeln!(
        text,
        "{}\non {}, {} members, profile {}: {:.2} us along the critical path,\n{} packets or messages on it",
        of.operation,
        of.on,
        of.members,
        of.profile,
        us(of.whole_ps),
        of.hops
    )?;
    writeln!(
        text,
        "Rank {} called last, at {:.2} us; rank {} returns.\n\n  from us  took us  rank place  what",
        of.last_caller,
        of.last_call_ps as f64 / 1e6,
        of.last_rank
    )?;
    for leg in &of.legs {
        let (from, took) = (us(leg.from_ps), us(leg.to_ps - leg.from_ps));
        let (rank, place) = (leg.rank, leg.place);
        writeln!(
            text,
            "{from:>9.2}{took:>9.2} {rank:>5} {place:<5}  {}",
            leg.what
        )?;
    }
    writeln!(text, "\n  took us  place")?;
    for place in ["host", "NIC", "wire"] {
        let legs = of.legs.iter().filter(|leg| leg.place == place);
        let sum: u64 = legs.map(|leg| leg.to_ps - leg.from_ps).sum();
        writeln!(text, "{:>9.2}  {place}", us(sum))?;
    }
    writeln!(text)
}

//! Claims about other systems, and those that cannot be judged, with reasons.

use super::super::key::{Experiment, Key};
use super::super::{LARGE_LATENCY, OTHER_SIZES, absent};
use super::{ThesisClaim, Verdict, View};
use crate::emp::measure::passing::System;
use crate::emp::measure::scheme::Scheme::Base;

/// From this length on a byte of a message costs alike everywhere, in bytes.
const FROM: u32 = 256;

pub const CLAIMS: &[ThesisClaim] = &[
    ThesisClaim("emp-016", "", |_| {
        Err("the thesis announces numbers and gives none".into())
    }),
    ThesisClaim(
        "emp-066",
        "GM on the LANai 7.2, 256 bytes to 14 KB: one at most 1.5 times the other",
        alike_per_byte,
    ),
    ThesisClaim(
        "emp-075",
        "GM on the LANai 7.2, 4 bytes to 4 KB: more than twice the latency of both",
        tcp_is_slower,
    ),
    ThesisClaim("emp-180", "", |_| Err(absent::second_process())),
    ThesisClaim(
        "emp-187",
        "MPI over GM on the LANai 7.2, 4 bytes to 14 KB: latencies at most twice as long",
        passing_compares,
    ),
    ThesisClaim("emp-188", "", |_| Err(absent::SOCKETS.into())),
];

fn alike_per_byte(view: &View<'_>) -> Verdict {
    let base = |size| view.value(Key::new(Experiment::Latency, Base, size));
    let gm = |size| view.other(System::Gm, size);
    let bytes = f64::from(LARGE_LATENCY - FROM);
    let emp_ns = 1e3 * (base(LARGE_LATENCY)? - base(FROM)?) / bytes;
    let gm_ns = 1e3 * (gm(LARGE_LATENCY)? - gm(FROM)?) / bytes;
    let ratio = (emp_ns / gm_ns).max(gm_ns / emp_ns);
    let evidence = format!("EMP {emp_ns:.2} ns a byte, GM {gm_ns:.2}");
    Ok(((1.0..=1.5).contains(&ratio), evidence))
}

fn tcp_is_slower(view: &View<'_>) -> Verdict {
    let mut holds = true;
    let mut words = Vec::new();
    for size in [4, 256, 4096] {
        let emp = view.latency(Base, size)?;
        let gm = view.other(System::Gm, size)?;
        let tcp = view.tcp_latency(size)?;
        holds &= tcp > 2.0 * emp.max(gm);
        words.push(format!("{size} bytes {tcp:.0}, {emp:.1} and {gm:.1}"));
    }
    Ok((
        holds,
        format!("latency of TCP, EMP and GM: {} us", words.join("; ")),
    ))
}

fn passing_compares(view: &View<'_>) -> Verdict {
    let mut holds = true;
    let mut words = Vec::new();
    for size in OTHER_SIZES {
        let (emp, gm) = (
            view.other(System::MpiOverEmp, size)?,
            view.other(System::MpiOverGm, size)?,
        );
        holds &= emp <= 2.0 * gm;
        words.push(format!("{size} bytes {emp:.1} and {gm:.1}"));
    }
    Ok((
        holds,
        format!("latency over EMP and over GM: {} us", words.join(", ")),
    ))
}

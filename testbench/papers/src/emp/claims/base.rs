//! Claims about the protocol on one CPU.

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::descriptor::PAGE_BYTES;
use defs::emp::frame::data_frame_capacity;

use super::super::key::{Experiment, Key};
use super::super::{FRAME, LARGE, MEDIUM, SMALL};
use super::{ThesisClaim, Verdict, View, above, switched};
use crate::emp::measure::scheme::Scheme::Base;
use crate::emp::measure::testbed::Testbed;
use crate::emp::measure::usage::Directions;

const LATENCY: Experiment = Experiment::Latency;
const ONE_WAY: Experiment = Experiment::OneWay;

pub const CLAIMS: &[ThesisClaim] = &[
    ThesisClaim("emp-008", "within 2 %", switch_keeps_bandwidth),
    ThesisClaim(
        "emp-048",
        "two-way and one-way, large messages",
        only_the_buffer_overflows,
    ),
    ThesisClaim(
        "emp-067",
        "16 KB and 10 bytes; twice",
        switch_costs_large_messages_more,
    ),
    ThesisClaim("emp-068", "within 2 %", switch_keeps_bandwidth),
    ThesisClaim(
        "emp-076",
        "1478 to 1479 bytes: more than 100 bytes would cost",
        frame_step,
    ),
    ThesisClaim(
        "emp-077",
        "4096 to 4097 bytes: more than 10 bytes would cost",
        page_step,
    ),
    ThesisClaim("emp-078", "8 and 64 KB; not lower", |view| {
        flow_control_loses(view, Testbed::Direct933)
    }),
    ThesisClaim("emp-079", "8 and 64 KB; not lower", |view| {
        flow_control_loses(view, Testbed::Switch700)
    }),
    ThesisClaim(
        "emp-189",
        "one-way, large messages: no gain above 1 %",
        flow_control_is_useless,
    ),
];

fn switch_keeps_bandwidth(view: &View<'_>) -> Verdict {
    let direct = view.value(Key::new(ONE_WAY, Base, LARGE))?;
    let behind = view.value(switched(ONE_WAY, Base, LARGE))?;
    let change = above(behind, direct);
    let evidence =
        format!("{direct:.1} Mb/s direct, {behind:.1} Mb/s with the switch: {change:+.2} %");
    Ok((change.abs() <= 2.0, evidence))
}

fn only_the_buffer_overflows(view: &View<'_>) -> Verdict {
    let mut buffer = 0;
    let mut others = 0;
    for flow in [Directions::OneWay, Directions::TwoWay] {
        for node in &view.usage(Base, flow)?.nodes {
            buffer += node.dropped_no_space;
            others += u64::from(node.dropped_resources);
        }
    }
    let evidence = format!(
        "frames dropped for want of buffer space: {buffer}; for want of records or DMA descriptors: {others}"
    );
    // Without a shortage the first exhausted resource is unknown.
    if buffer + others == 0 {
        return Err(format!("nothing ran out: {evidence}"));
    }
    Ok((others == 0, evidence))
}

fn switch_costs_large_messages_more(view: &View<'_>) -> Verdict {
    let added = |size| {
        Ok::<_, String>(view.value(switched(LATENCY, Base, size))? - view.latency(Base, size)?)
    };
    let (small, large) = (added(SMALL)?, added(14_336)?);
    let evidence = format!(
        "the switch and the hosts add {small:.2} us to 10 bytes and {large:.2} us to 14 KB"
    );
    Ok((large >= 2.0 * small, evidence))
}

/// Cost of one more byte within a frame and a page, in us.
fn per_byte(view: &View<'_>) -> Result<f64, String> {
    Ok((view.latency(Base, FRAME)? - view.latency(Base, 256)?) / f64::from(FRAME - 256))
}

fn frame_step(view: &View<'_>) -> Verdict {
    step(view, FRAME, 100.0)
}

fn page_step(view: &View<'_>) -> Verdict {
    // No frame ends there: the step is that of the page alone.
    debug_assert!(!(PAGE_BYTES - FRAME).is_multiple_of(data_frame_capacity(DEFAULT_FRAME_BYTES)));
    step(view, PAGE_BYTES, 10.0)
}

fn step(view: &View<'_>, size: u32, bytes: f64) -> Verdict {
    let step = view.latency(Base, size + 1)? - view.latency(Base, size)?;
    let slope = per_byte(view)?;
    let evidence = format!(
        "{size} to {} bytes: {step:+.2} us; a byte within a frame and a page: {slope:.4} us",
        size + 1
    );
    Ok((step > bytes * slope, evidence))
}

fn flow_control_loses(view: &View<'_>, testbed: Testbed) -> Verdict {
    let mut holds = true;
    let mut same = true;
    let mut words = Vec::new();
    for size in [MEDIUM, LARGE] {
        let key = Key::new(ONE_WAY, Base, size).with_testbed(testbed);
        let (without, with) = (view.value(key)?, view.value(key.with_flow_control())?);
        holds &= without >= with;
        same &= without == with;
        words.push(format!(
            "{size} bytes: {without:.1} Mb/s without, {with:.1} with"
        ));
    }
    if same {
        return Err(format!(
            "flow control changed nothing: {}",
            words.join("; ")
        ));
    }
    Ok((holds, words.join("; ")))
}

fn flow_control_is_useless(view: &View<'_>) -> Verdict {
    let mut holds = true;
    let mut words = Vec::new();
    for testbed in [Testbed::Direct933, Testbed::Switch700] {
        let key = Key::new(ONE_WAY, Base, LARGE).with_testbed(testbed);
        let gain = above(view.value(key.with_flow_control())?, view.value(key)?);
        holds &= gain <= 1.0;
        words.push(format!("{}: {gain:+.2} % with it", testbed.name()));
    }
    Ok((holds, words.join("; ")))
}

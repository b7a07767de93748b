//! Claims about the schemes with traffic in both directions.

use super::super::key::{Experiment, Key};
use super::super::{LARGE, MEDIUM};
use super::{ThesisClaim, Verdict, View, above, best_but, list, switched, value_of, worst_but};
use crate::emp::measure::scheme::Scheme::{self, Base, Dsr, Ro, So, Sr};
use crate::emp::measure::testbed::Testbed;

const TWO_WAY: Experiment = Experiment::TwoWay;

pub const CLAIMS: &[ThesisClaim] = &[
    ThesisClaim(
        "emp-171",
        "64 KB; at least 1 % less",
        switch_costs_bandwidth,
    ),
    ThesisClaim("emp-172", "64 KB; within 1 %", hosts_do_not_matter),
    ThesisClaim("emp-173", "64 KB; at least 5 %", all_gain),
    ThesisClaim("emp-176", "8 and 64 KB", ro_crosses_so),
    ThesisClaim("emp-177", "8 KB", dsr_below_ro),
    ThesisClaim("emp-178", "64 KB", so_is_best),
    ThesisClaim("emp-179", "8 KB", sr_is_best_at_first),
    ThesisClaim("emp-179a", "64 KB", sr_is_worst_at_last),
    ThesisClaim("emp-186", "64 KB; within 3 % of the best", dsr_is_very_good),
];

fn direct(view: &View<'_>, size: u32) -> Result<Vec<(Scheme, f64)>, String> {
    view.values(Key::new(TWO_WAY, Base, size), &Scheme::ALL)
}

/// Changes of all schemes between the first testbed and another one.
fn changes(view: &View<'_>, other: impl Fn(Scheme) -> Key) -> Result<Vec<(Scheme, f64)>, String> {
    let direct = direct(view, LARGE)?;
    let changes = direct
        .iter()
        .map(|(scheme, value)| Ok((*scheme, above(view.value(other(*scheme))?, *value))));
    changes.collect()
}

fn switch_costs_bandwidth(view: &View<'_>) -> Verdict {
    let changes = changes(view, |scheme| switched(TWO_WAY, scheme, LARGE))?;
    let holds = changes.iter().all(|(_, change)| *change <= -1.0);
    Ok((holds, list(&changes, "%")))
}

fn hosts_do_not_matter(view: &View<'_>) -> Verdict {
    let slower = |scheme| Key::new(TWO_WAY, scheme, LARGE).with_testbed(Testbed::Direct700);
    let changes = changes(view, slower)?;
    let holds = changes.iter().all(|(_, change)| change.abs() <= 1.0);
    Ok((holds, list(&changes, "%")))
}

fn all_gain(view: &View<'_>) -> Verdict {
    let values = direct(view, LARGE)?;
    let gain = |scheme| above(value_of(&values, scheme), value_of(&values, Base));
    let holds = Scheme::SPLIT.into_iter().all(|scheme| gain(scheme) >= 5.0);
    Ok((holds, list(&values, "Mb/s")))
}

fn medium_and_large(view: &View<'_>, schemes: [Scheme; 2]) -> Result<([f64; 4], String), String> {
    let key = Key::new(TWO_WAY, Base, MEDIUM);
    let medium = view.values(key, &schemes)?;
    let large = view.values(key.sized(LARGE), &schemes)?;
    let evidence = format!(
        "8 KB: {}; 64 KB: {}",
        list(&medium, "Mb/s"),
        list(&large, "Mb/s")
    );
    Ok(([medium[0].1, medium[1].1, large[0].1, large[1].1], evidence))
}

fn ro_crosses_so(view: &View<'_>) -> Verdict {
    let ([ro_medium, so_medium, ro_large, so_large], evidence) = medium_and_large(view, [Ro, So])?;
    Ok((ro_medium > so_medium && ro_large < so_large, evidence))
}

fn dsr_below_ro(view: &View<'_>) -> Verdict {
    let ([dsr, ro, ..], evidence) = medium_and_large(view, [Dsr, Ro])?;
    Ok((dsr < ro, evidence))
}

fn so_is_best(view: &View<'_>) -> Verdict {
    let values = direct(view, LARGE)?;
    Ok((
        value_of(&values, So) > best_but(&values, So),
        list(&values, "Mb/s"),
    ))
}

fn sr_is_best_at_first(view: &View<'_>) -> Verdict {
    let values = direct(view, MEDIUM)?;
    Ok((
        value_of(&values, Sr) > best_but(&values, Sr),
        list(&values, "Mb/s"),
    ))
}

fn sr_is_worst_at_last(view: &View<'_>) -> Verdict {
    let mut values = direct(view, LARGE)?;
    values.retain(|(scheme, _)| *scheme != Base);
    Ok((
        value_of(&values, Sr) < worst_but(&values, Sr),
        list(&values, "Mb/s"),
    ))
}

fn dsr_is_very_good(view: &View<'_>) -> Verdict {
    let values = direct(view, LARGE)?;
    let behind = above(value_of(&values, Dsr), best_but(&values, Dsr));
    Ok((behind >= -3.0, list(&values, "Mb/s")))
}

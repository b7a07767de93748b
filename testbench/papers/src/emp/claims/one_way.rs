//! Claims about the schemes with traffic in one direction.

use super::super::key::{Experiment, Key};
use super::super::{LARGE, LARGE_LATENCY, MEDIUM, SMALL};
use super::{ThesisClaim, Verdict, View, above, best_but, list, switched, value_of};
use crate::emp::measure::scheme::Scheme::{self, Base, Dsr, Ro, So, Sr};
use crate::emp::measure::usage::Directions;

const LATENCY: Experiment = Experiment::Latency;
const ONE_WAY: Experiment = Experiment::OneWay;

pub const CLAIMS: &[ThesisClaim] = &[
    ThesisClaim("emp-009a", "10 bytes", ro_is_quickest),
    ThesisClaim("emp-015", "within 3 points", gains_are_alike),
    ThesisClaim("emp-154", "64 KB; within 2 %", |view| {
        compared_with_base(view, So, -2.0, 2.0)
    }),
    ThesisClaim(
        "emp-154a",
        "its CPU A is the busiest resource",
        receiver_limits,
    ),
    ThesisClaim("emp-158", "14 KB; at most 3 %", so_latency),
    ThesisClaim("emp-160", "64 KB; at least 8 %", |view| {
        compared_with_base(view, Ro, 8.0, f64::INFINITY)
    }),
    ThesisClaim("emp-163", "64 KB; 0 to 7 %", |view| {
        compared_with_base(view, Dsr, 0.0, 7.0)
    }),
    ThesisClaim("emp-167", "64 KB; within 0.5 % of the best", |view| {
        best(view, Sr)
    }),
    ThesisClaim("emp-167a", "64 KB; within 0.5 % of the best", |view| {
        best(view, Ro)
    }),
    ThesisClaim("emp-168", "10 bytes, 14 KB", sr_latency),
    ThesisClaim("emp-169", "64 KB; within 2 %", switch_keeps_bandwidth),
    ThesisClaim(
        "emp-170",
        "10 bytes; differences below 0.1 us are ties",
        same_order_behind_the_switch,
    ),
];

fn compared_with_base(view: &View<'_>, scheme: Scheme, least: f64, most: f64) -> Verdict {
    let values = view.values(Key::new(ONE_WAY, Base, LARGE), &[Base, scheme])?;
    let gain = above(value_of(&values, scheme), value_of(&values, Base));
    let holds = (least..=most).contains(&gain);
    Ok((holds, format!("{}: {gain:+.2} %", list(&values, "Mb/s"))))
}

fn best(view: &View<'_>, scheme: Scheme) -> Verdict {
    let values = view.values(Key::new(ONE_WAY, Base, LARGE), &Scheme::ALL)?;
    let behind = above(value_of(&values, scheme), best_but(&values, scheme));
    Ok((behind >= -0.5, list(&values, "Mb/s")))
}

fn ro_is_quickest(view: &View<'_>) -> Verdict {
    let values = view.values(Key::new(LATENCY, Base, SMALL), &Scheme::ALL)?;
    let lowest = values
        .iter()
        .all(|(_, value)| value_of(&values, Ro) <= *value);
    Ok((lowest, list(&values, "us")))
}

fn receiver_limits(view: &View<'_>) -> Verdict {
    let mut holds = true;
    let mut words = Vec::new();
    for scheme in [Base, So] {
        let usage = view.usage(scheme, Directions::OneWay)?;
        let (node, resource) = usage.bottleneck().ok_or("nothing was busy")?;
        holds &= node == 1 && resource.name == "CPU A";
        let name = usage.bottleneck_name().unwrap_or_default();
        words.push(format!("{}: {name}", scheme.title()));
    }
    Ok((holds, words.join("; ")))
}

fn so_latency(view: &View<'_>) -> Verdict {
    let (base, so) = (
        view.latency(Base, LARGE_LATENCY)?,
        view.latency(So, LARGE_LATENCY)?,
    );
    let more = above(so, base);
    Ok((
        more <= 3.0,
        format!("base {base:.2} us, SO {so:.2} us: {more:+.2} %"),
    ))
}

/// Reduction of a scheme's latency against base, in percent.
fn latency_gain(view: &View<'_>, scheme: Scheme, size: u32) -> Result<f64, String> {
    Ok(-above(
        view.latency(scheme, size)?,
        view.latency(Base, size)?,
    ))
}

fn sr_latency(view: &View<'_>) -> Verdict {
    let gains = |scheme| {
        Ok::<_, String>([
            latency_gain(view, scheme, SMALL)?,
            latency_gain(view, scheme, LARGE_LATENCY)?,
        ])
    };
    let (sr, ro) = (gains(Sr)?, gains(Ro)?);
    let evidence = format!(
        "gain at 10 bytes and 14 KB: SR {:.2} and {:.2} %, RO {:.2} and {:.2} %",
        sr[0], sr[1], ro[0], ro[1]
    );
    Ok((sr[1] > 0.0 && sr[1] > sr[0] && sr[1] < ro[1], evidence))
}

fn switch_keeps_bandwidth(view: &View<'_>) -> Verdict {
    let mut worst: f64 = 0.0;
    let mut words = Vec::new();
    for scheme in Scheme::ALL {
        let direct = view.value(Key::new(ONE_WAY, scheme, LARGE))?;
        let change = above(view.value(switched(ONE_WAY, scheme, LARGE))?, direct);
        worst = worst.max(change.abs());
        words.push(format!("{} {change:+.2} %", scheme.title()));
    }
    Ok((worst <= 2.0, words.join(", ")))
}

fn same_order_behind_the_switch(view: &View<'_>) -> Verdict {
    let direct = view.values(Key::new(LATENCY, Base, SMALL), &Scheme::ALL)?;
    let behind = view.values(switched(LATENCY, Base, SMALL), &Scheme::ALL)?;
    let pairs = Scheme::ALL
        .into_iter()
        .flat_map(|a| Scheme::ALL.map(|b| (a, b)));
    let swapped = |(a, b): (Scheme, Scheme)| {
        let differences =
            [&direct, &behind].map(|values| value_of(values, a) - value_of(values, b));
        differences[0] > 0.1 && differences[1] < -0.1
    };
    let same = !pairs.into_iter().any(swapped);
    let higher = Scheme::ALL
        .into_iter()
        .all(|scheme| value_of(&behind, scheme) > value_of(&direct, scheme));
    let evidence = format!(
        "direct: {}; with the switch: {}",
        list(&direct, "us"),
        list(&behind, "us")
    );
    Ok((same && higher, evidence))
}

fn gains_are_alike(view: &View<'_>) -> Verdict {
    let gains = |key: Key, sign: f64| {
        let gain = |key: Key| {
            Ok::<_, String>(sign * above(view.value(key)?, view.value(key.with_scheme(Base))?))
        };
        Ok::<_, String>((
            gain(key)?,
            gain(switched(key.experiment, key.scheme, key.size))?,
        ))
    };
    let mut holds = true;
    let mut words = Vec::new();
    for (what, key, sign) in [
        ("RO latency", Key::new(LATENCY, Ro, SMALL), -1.0),
        ("RO one-way", Key::new(ONE_WAY, Ro, LARGE), 1.0),
        ("SO two-way", Key::new(Experiment::TwoWay, So, LARGE), 1.0),
        (
            "SO two-way 8 KB",
            Key::new(Experiment::TwoWay, So, MEDIUM),
            1.0,
        ),
    ] {
        let (direct, behind) = gains(key, sign)?;
        holds &= (direct - behind).abs() <= 3.0;
        words.push(format!(
            "{what} {direct:.1} % direct, {behind:.1} % with the switch"
        ));
    }
    Ok((holds, words.join("; ")))
}

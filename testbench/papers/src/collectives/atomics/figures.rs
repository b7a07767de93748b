//! The figures of section 5.4.

use lanigon_figures::{Curve, Point as Place, Scale};

use super::super::On;
use super::super::chapter::Chapter;
use super::super::results::Results;
use super::judge::{gain, load, lock};
use super::{How, Kernel, LOCKERS, Load, OPERATIONS, PAUSES_US, Point, key};
use lanigon_experiments::drawing::{Named, curve, marked, named, panel};

const TIME: (&str, Scale) = ("time, us", Scale::Linear);
const KERNELS: [(Kernel, &str); 2] = [(Kernel::Smp, "SMP"), (Kernel::Up, "UP")];
const PLACES: [(On, &str); 2] = [(On::Host, "host"), (On::Nic, "NIC")];

/// All figures.
pub(in super::super) fn figures(results: &Results) -> Vec<Named> {
    vec![
        latencies(results),
        locks(results),
        counts(results),
        utilisation(results),
    ]
}

fn latencies(results: &Results) -> Named {
    let curves = How::ALL.map(|(how, name)| {
        curve(name, 1..=OPERATIONS.len(), |number| {
            let operation = number - 1;
            results.of(key(how.on(), 2, Point::Latency { operation, how }))
        })
    });
    let names: Vec<_> = OPERATIONS.iter().map(|(_, name)| *name).collect();
    let x = ("operation", Scale::Linear);
    let hit = 3.0;
    let panel = marked(
        panel(&names.join(", "), x, TIME, curves.into()),
        Chapter::Atomics.table(),
        &[
            ("dissertation-186", hit),
            ("dissertation-187", hit),
            ("dissertation-188", hit),
            ("dissertation-189", hit),
        ],
    );
    named(
        "atomics-5.6",
        "Latencies of atomic operations (figure 5.6)",
        vec![panel],
    )
}

fn locks(results: &Results) -> Named {
    let x = ("nodes that use the lock", Scale::Linear);
    let times = PLACES.into_iter().flat_map(|(on, place)| {
        KERNELS.map(|(kernel, name)| {
            let time = |count| lock(results, on, kernel, count);
            curve(format!("{place}, {name}"), LOCKERS, time)
        })
    });
    let gains =
        KERNELS.map(|(kernel, name)| curve(name, LOCKERS, |count| gain(results, kernel, count)));
    let gains = marked(
        panel("gain", x, ("host / NIC", Scale::Linear), gains.into()),
        Chapter::Atomics.table(),
        &[("dissertation-194", 4.0), ("dissertation-195", 4.0)],
    );
    named(
        "atomics-5.7",
        "Acquiring and releasing a lock (figure 5.7)",
        vec![panel("latency", x, TIME, times.collect()), gains],
    )
}

/// A quantity over the rate at which the lock is used.
fn over_rate(results: &Results, what: Load) -> Vec<Curve> {
    let of = |(on, name): (On, &str)| {
        let points = PAUSES_US.into_iter().filter_map(|pause_us| {
            Some(Place {
                x: load(results, on, Load::Uses, pause_us)?,
                y: load(results, on, what, pause_us)?,
                error: None,
            })
        });
        Curve {
            name: name.into(),
            points: points.collect(),
        }
    };
    PLACES.map(of).into()
}

const RATE: (&str, Scale) = ("uses of the lock in a second", Scale::Linear);

fn counts(results: &Results) -> Named {
    let y = ("iterations in 1,000 us", Scale::Linear);
    let panel = panel("UP", RATE, y, over_rate(results, Load::Iterations));
    named(
        "atomics-5.8",
        "A process that counts at the home of a lock (figure 5.8)",
        vec![panel],
    )
}

fn utilisation(results: &Results) -> Named {
    let y = ("busy share of the home's board", Scale::Linear);
    let panel = panel("UP", RATE, y, over_rate(results, Load::Busy));
    named(
        "atomics-5.9",
        "Load of the home's board (figure 5.9)",
        vec![panel],
    )
}

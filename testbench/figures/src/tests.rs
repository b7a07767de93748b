//! Any data gives a picture; pictures are those that were reviewed.

use proptest::prelude::*;

use crate::model::{Axis, Curve, Figure, Mark, Panel, Point, Scale};
use crate::ticks::Range;

/// A panel like those of papers: two curves over sizes, one with error bars, and published points.
fn example() -> Figure {
    let curve = |name: &str, factor: f64, error| Curve {
        name: name.into(),
        points: (2..=16)
            .map(|exponent| {
                let x = f64::from(1 << exponent);
                let y = factor * x / (x + 1200.0);
                Point { x, y, error }
            })
            .collect(),
    };
    let mark = |x, y, id: &str| Mark {
        x,
        y,
        id: id.into(),
        what: "bandwidth".into(),
    };
    let panel = |scale| Panel {
        title: "one-way bandwidth".into(),
        x: Axis {
            label: "message size, bytes".into(),
            scale,
        },
        y: Axis {
            label: "bandwidth, Mb/s".into(),
            scale: Scale::Linear,
        },
        curves: vec![curve("base", 880.0, None), curve("RO", 964.0, Some(25.0))],
        marks: vec![
            mark(65536.0, 880.0, "emp-002"),
            mark(65536.0, 964.0, "emp-003"),
        ],
    };
    Figure {
        title: "Bandwidth of EMP".into(),
        panels: vec![panel(Scale::Log2), panel(Scale::Linear)],
    }
}

#[test]
fn writes_files_to_look_at() {
    // `LANIGON_FIGURES=DIR` keeps them.
    let Ok(folder) = std::env::var("LANIGON_FIGURES") else {
        return;
    };
    let folder = std::path::Path::new(&folder);
    std::fs::write(folder.join("example.svg"), crate::svg(&example())).unwrap();
    std::fs::write(folder.join("example.pdf"), crate::pdf(&example())).unwrap();
}

fn any_number() -> impl Strategy<Value = f64> {
    let odd = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        0.0,
        -0.0,
        1e250,
        -1e250,
    ];
    prop_oneof![
        2 => any::<f64>(),
        4 => -1e6..1e6_f64,
        4 => 0.0..70_000.0_f64,
        1 => (0_u32..20).prop_map(|exponent| f64::from(1 << exponent)),
        1 => proptest::sample::select(odd.to_vec()),
    ]
}

fn any_scale() -> impl Strategy<Value = Scale> {
    proptest::sample::select(vec![Scale::Linear, Scale::Log2, Scale::Log10])
}

fn any_panel() -> impl Strategy<Value = Panel> {
    let error = prop_oneof![Just(None), any_number().prop_map(Some)];
    let point = (any_number(), any_number(), error).prop_map(|(x, y, error)| Point { x, y, error });
    let curve = (any::<String>(), prop::collection::vec(point, 0..6))
        .prop_map(|(name, points)| Curve { name, points });
    let mark = (any_number(), any_number(), any::<String>(), any::<String>())
        .prop_map(|(x, y, id, what)| Mark { x, y, id, what });
    let axis = || (any::<String>(), any_scale()).prop_map(|(label, scale)| Axis { label, scale });
    let parts = (
        any::<String>(),
        axis(),
        axis(),
        prop::collection::vec(curve, 0..4),
        prop::collection::vec(mark, 0..4),
    );
    parts.prop_map(|(title, x, y, curves, marks)| Panel {
        title,
        x,
        y,
        curves,
        marks,
    })
}

/// Numbers in a text with spaces and letters between.
fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|letter: char| !(letter.is_ascii_digit() || "-.".contains(letter)));
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().expect("a number"))
        .collect()
}

proptest! {
    #[test]
    fn any_data_gives_a_picture(title: String, panels in prop::collection::vec(any_panel(), 0..4)) {
        let figure = Figure { title, panels };
        let svg = crate::svg(&figure);
        prop_assert_eq!(&svg, &crate::svg(&figure));
        // Every coordinate is a number.
        for data in svg.split(" d=\"").skip(1) {
            let data = data.split('"').next().unwrap();
            prop_assert!(numbers(data).iter().all(|number| number.abs() < 5000.0), "{}", data);
        }
        let pdf = crate::pdf(&figure);
        prop_assert!(pdf.starts_with(b"%PDF-") && pdf.trim_ascii_end().ends_with(b"%%EOF"));
    }

    #[test]
    fn ticks_are_even_and_in_range(scale in any_scale(), values in prop::collection::vec(any_number(), 0..8), most in 2_u32..12) {
        let range = Range::for_values(scale, values.iter().copied(), most);
        prop_assert!(range.low < range.high, "{range:?}");
        prop_assert!(range.ticks.len() >= 2 && range.ticks.len() <= most as usize + 2, "{range:?}");
        let parts: Vec<f64> = range.ticks.iter().map(|tick| range.part(tick.at).expect("a place")).collect();
        let step = parts[1] - parts[0];
        prop_assert!(step > 0.0);
        for pair in parts.windows(2) {
            prop_assert!((pair[1] - pair[0] - step).abs() < 1e-5, "{range:?}");
        }
        for (tick, part) in range.ticks.iter().zip(&parts) {
            prop_assert!((range.low..=range.high).contains(&tick.at) && (0.0..=1.0).contains(part), "{range:?}");
        }
        let labels: std::collections::BTreeSet<_> = range.ticks.iter().map(|tick| &tick.label).collect();
        prop_assert_eq!(labels.len(), range.ticks.len(), "{:?}", range);
        // Every value that has a place is in the range.
        for value in values.into_iter().filter(|&value| crate::ticks::drawable(scale, value)) {
            // Beside a large value, a small one is zero.
            let largest = range.low.abs().max(range.high.abs());
            let size = if scale == Scale::Linear { largest } else { value };
            let tolerance = 1e-9 * size;
            prop_assert!(value >= range.low - tolerance && value <= range.high + tolerance, "{value} {range:?}");
        }
    }
}

#[track_caller]
fn check(scale: Scale, values: &[f64], most: u32, expected: &str) {
    let range = Range::for_values(scale, values.iter().copied(), most);
    let labels: Vec<_> = range.ticks.iter().map(|tick| tick.label.as_str()).collect();
    assert_eq!(labels.join(" "), expected);
}

#[test]
fn ticks_are_round_numbers() {
    check(Scale::Linear, &[0.0, 937.8], 6, "0 200 400 600 800 1000");
    check(Scale::Linear, &[26.77, 32.1], 6, "26 28 30 32 34");
    check(Scale::Linear, &[9.16, 302.2], 6, "0 100 200 300 400");
    check(
        Scale::Linear,
        &[-0.12, 0.31],
        6,
        "-0.2 -0.1 0 0.1 0.2 0.3 0.4",
    );
    check(Scale::Linear, &[5.0], 6, "0 1 2 3 4 5");
    check(Scale::Linear, &[], 6, "0 0.2 0.4 0.6 0.8 1.0");
    check(
        Scale::Linear,
        &[2e9, 3e9],
        6,
        "2.0e9 2.2e9 2.4e9 2.6e9 2.8e9 3.0e9",
    );
    check(
        Scale::Log2,
        &[4.0, 65_536.0],
        8,
        "4 16 64 256 1K 4K 16K 64K",
    );
    check(
        Scale::Log2,
        &[1.0, 65_536.0],
        8,
        "1 4 16 64 256 1K 4K 16K 64K",
    );
    check(Scale::Log2, &[0.3, 3.0], 8, "0.25 0.5 1 2 4");
    check(Scale::Log2, &[], 8, "1 2 4 8 16");
    check(
        Scale::Log10,
        &[0.02, 7e5],
        8,
        "0.01 0.1 1 10 100 1000 10000 1e5 1e6",
    );
}

#[test]
fn labels_are_text() {
    let mut figure = example();
    figure.title = "a < b & \"c\" \u{1}".into();
    figure.panels[0].curves[0].name = "</title><script>".into();
    let svg = crate::svg(&figure);
    assert!(svg.contains("a &lt; b &amp; &quot;c&quot; "));
    assert!(svg.contains("&lt;/title&gt;&lt;script&gt;") && !svg.contains("<script"));
}

/// Two points, one with an interval, and a published one; letters are left out.
#[test]
fn a_small_figure() {
    let point = |x, y, error| Point { x, y, error };
    let figure = Figure {
        title: String::new(),
        panels: vec![Panel {
            title: String::new(),
            x: Axis {
                label: "size, bytes".into(),
                scale: Scale::Log2,
            },
            y: Axis {
                label: "latency, us".into(),
                scale: Scale::Linear,
            },
            curves: vec![Curve {
                name: "base".into(),
                points: vec![point(64.0, 20.0, Some(2.0)), point(4.0, 10.0, None)],
            }],
            marks: vec![Mark {
                x: 4.0,
                y: 12.0,
                id: "p-1".into(),
                what: "latency".into(),
            }],
        }],
    };
    let parts = crate::inline([&figure]);
    insta::assert_snapshot!(parts.figures[0]);
    // The letters of the page are those that the figure uses.
    for used in parts.figures[0].split("href=\"#").skip(1) {
        let name = used.split('"').next().unwrap();
        assert!(parts.letters.contains(&format!("id=\"{name}\"")), "{name}");
    }
}

#[test]
fn hover_shows_values() {
    let svg = crate::svg(&example());
    assert!(
        svg.contains("<title>RO: 65536 bytes, 946.67 Mb/s ± 25</title>"),
        "{svg}"
    );
    assert!(svg.contains("<title>emp-002, published: bandwidth: 65536 bytes, 880 Mb/s</title>"));
}

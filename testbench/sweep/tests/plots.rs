//! Plots of sweeps.

use std::fs;

use lanigon_sweep::store::Shard;

use super::{AXES, folder, options, planned, run, sweep};

/// A plot with these lines behind its name, after the axes.
fn plot(lines: &str) -> String {
    format!("{AXES}[[plot]]\nname = \"p\"\n{lines}\n")
}

#[test]
fn curves_have_the_means_and_intervals_of_their_points() {
    let head =
        plot("title = \"t\"\nx = \"size\"\ny = \"latency\"\ncurves = \"loss\"\nx_scale = \"log2\"");
    let folder = folder("plots");
    let report = run(&head, &folder, &options(2, Shard::ALL));
    let (_, plan, _) = planned(&head);
    let figure = plan.plots[0].figure(&plan, &report.rows);
    assert_eq!((figure.title.as_str(), figure.panels.len()), ("t", 1));
    let panel = &figure.panels[0];
    assert_eq!(
        (panel.x.label.as_str(), panel.y.label.as_str()),
        ("size, bytes", "latency, us")
    );
    let names: Vec<_> = panel
        .curves
        .iter()
        .map(|curve| curve.name.as_str())
        .collect();
    assert_eq!(names, ["0", "0.2"]);
    let points = lanigon_sweep::table::points(&plan, &report.rows);
    for (curve, found) in panel.curves.iter().enumerate() {
        assert_eq!(found.points.len(), 3);
        for (size, point) in found.points.iter().enumerate() {
            // Sizes change slower than rates of loss.
            let sample = points[size * 2 + curve].samples[0].unwrap();
            assert_eq!(point.x, [10.0, 1000.0, 3000.0][size]);
            assert_eq!((point.y, point.error), (sample.mean, sample.interval));
        }
    }
    assert!(
        panel.curves[0].points[0].error == Some(0.0),
        "nothing is random without loss"
    );
    let svg = fs::read_to_string(folder.join("p.svg")).unwrap();
    assert!(svg.contains("<svg"), "{svg}");
    assert!(fs::read(folder.join("p.pdf")).unwrap().starts_with(b"%PDF"));
}

#[test]
fn one_value_of_an_axis_can_be_shown() {
    let check = |fixed: &str, lines: &str| {
        let (_, plan, _) = planned(&plot(&format!("x = \"size\"\ny = \"latency\"\n{lines}")));
        let figure = plan.plots[0].figure(&plan, &lanigon_sweep::store::Rows::new());
        let curves = figure.panels.iter().map(|panel| panel.curves.len());
        let titles: Vec<_> = figure
            .panels
            .iter()
            .map(|panel| panel.title.clone())
            .collect();
        assert_eq!(
            format!("{:?} {titles:?}", curves.collect::<Vec<_>>()),
            fixed
        );
    };
    check("[1] [\"\"]", "where = { loss = 0.2 }");
    check("[1] [\"\"]", "where = { loss = \"0.2\" }");
    check("[1, 1] [\"loss 0\", \"loss 0.2\"]", "panels = \"loss\"");
}

#[test]
fn mistakes_are_named() {
    let check = |lines: &str, expected: &str| {
        let error = sweep(&plot(lines)).unwrap_err().to_string();
        assert_eq!(error, expected, "{lines}");
    };
    let head = "x = \"size\"\ny = \"latency\"\n";
    check(
        "x = \"siz\"",
        "s.toml:17: plot.x: no axis \"siz\"; did you mean \"size\"?",
    );
    check("x = \"size\"", "s.toml:15: plot: \"y\" is missing");
    check(
        "x = \"size\"\ny = \"late\"",
        "s.toml:18: plot.y: no measure \"late\"; there are latency, bandwidth, delivered, time",
    );
    check(
        head,
        "s.toml:15: plot: axis \"loss\" has no role: it is to be x, curves or panels, or to have one value in \"where\"",
    );
    check(
        &format!("{head}curves = \"size\""),
        "s.toml:15: plot: axis \"size\" has two roles in this plot",
    );
    check(
        &format!("{head}curves = \"loss\"\nwhere = {{ loss = 0 }}"),
        "s.toml:15: plot: axis \"loss\" has two roles in this plot",
    );
    check(
        &format!("{head}where = {{ loss = 0.3 }}"),
        "s.toml:19: plot.where.loss: no value of axis loss \"0.3\"; did you mean \"0.2\"?",
    );
    check(
        &format!("{head}curves = \"loss\"\ny_scale = \"log\""),
        "s.toml:20: plot.y_scale: no scale \"log\"; did you mean \"log2\"?",
    );
    check(
        &format!("{head}curves = \"loss\"\n[[plot]]\nname = \"p\"\n{head}curves = \"loss\""),
        "s.toml:20: plot: there is a plot \"p\" already",
    );
    let text = "[[axis]]\nname = \"a\"\nkey = \"image\"\nvalues = [\"emp-base\"]\n[[plot]]\nname = \"p\"\nx = \"a\"\ny = \"time\"\n";
    let error = sweep(text).unwrap_err().to_string();
    assert_eq!(
        error,
        "s.toml:7: plot.x: the values of axis \"a\" are no numbers"
    );
}

//! Tests of a report as HTML and as Markdown.

use lanigon_figures::{Axis, Curve, Figure, Panel, Point, Scale};

use super::*;

fn figure() -> Figure {
    let points = [(4.0, 10.0), (1024.0, 20.5)];
    Figure {
        title: "Latency".into(),
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
                points: points.map(|(x, y)| Point { x, y, error: None }).into(),
            }],
            marks: Vec::new(),
        }],
    }
}

/// A report with every kind of block, and text that looks like markup.
fn example() -> Report {
    let claim = |id: &str, holds| Claim {
        id: id.into(),
        text: "a | b".into(),
        holds,
        evidence: "1 < 2".into(),
    };
    Report {
        title: "Run & <script>alert(1)</script>".into(),
        sections: vec![
            Section {
                title: "First".into(),
                blocks: vec![
                    Block::Text("*text* with </p>".into()),
                    Block::Text("1. is no list".into()),
                    Block::Text("- neither".into()),
                    Block::Lines("a  b\n</pre>".into()),
                    Block::Facts(vec![("image".into(), "0123 \"x\"".into())]),
                    Block::Links(vec![("a & b".into(), "a/report.html".into())]),
                    Block::Figure(Picture {
                        figure: figure(),
                        caption: "the latency".into(),
                        file: "figure (1)".into(),
                    }),
                ],
            },
            Section {
                title: "Second".into(),
                blocks: vec![
                    Block::Claims(vec![
                        claim("c-1", Some(true)),
                        claim("c-2", Some(false)),
                        claim("c-3", None),
                    ]),
                    Block::Table(Table {
                        title: "numbers".into(),
                        columns: vec!["id".into(), "value".into()],
                        rows: vec![
                            vec![Cell::text("x_1"), Cell::optional_number(Some(9.5))],
                            vec![Cell::text("x_2"), Cell::optional_number(None)],
                            vec![
                                Cell::text("x_3"),
                                Cell::number(-1.0, "-1 %").news(Some(false)),
                            ],
                        ],
                    }),
                ],
            },
        ],
    }
}

#[test]
fn markdown_is_plain() {
    insta::assert_snapshot!(markdown(&example()));
}

#[test]
fn a_page_needs_nothing_else() {
    let page = html(&example());
    assert_eq!(page, html(&example()));
    let foreign = page
        .replace("http://www.w3.org/2000/svg", "")
        .replace("http-equiv", "");
    for outside in ["http", "src=", "url(", "@import", "<link"] {
        assert!(!foreign.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<svg ").count(), 2, "letters and one figure");
}

#[test]
fn text_is_no_markup() {
    let page = html(&example());
    assert_eq!(page.matches("<script>").count(), 1);
    for text in [
        "Run &amp; &lt;script&gt;alert(1)&lt;/script&gt;",
        "<p>*text* with &lt;/p&gt;</p>",
        "<pre>a  b\n&lt;/pre&gt;</pre>",
        "<dt>image</dt><dd>0123 &quot;x&quot;</dd>",
        "<td>1 &lt; 2</td>",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn cells_carry_numbers_and_news() {
    let page = html(&example());
    assert!(
        page.contains("<td class=\"number\" data-number=\"9.5\">9.5</td>"),
        "{page}"
    );
    assert!(page.contains("<td class=\"number bad\" data-number=\"-1\">-1 %</td>"));
    assert!(page.contains("<td class=\"bad\">fails</td>"));
    assert!(page.contains("3 claims: 1 hold, 1 fail, 1 are open."));
}

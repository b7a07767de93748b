//! The engine with an experiment that needs no board.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::conditions::Conditions;
use crate::execute::MeasuredPoints;
use crate::experiment::Experiment;
use crate::formula::{FormulaError, FormulaValue, Measurements};
use crate::paper::{Amount, Choice, ExplainEffect, Paper, ResultRequest, check, start};
use crate::published::PublishedTable;
use crate::statements::{PaperFile, Statements};
use crate::summary;
use crate::verdict::Sample;

static TABLE: PublishedTable = PublishedTable::new(
    "published-test",
    "id,section,profile,nodes,experiment,scheme,quantity,value,unit,kind\n\
     test-1,1,fast,2,square,of,number,4,us,measured\ntest-2,1,fast,3,square,of,number,10,us,derived\n",
);

static PAPER: Paper = Paper {
    name: "squares",
    about: "Squares of numbers",
    subject: "Squares",
    manual: "squares",
    accepts: &[Choice::Size],
    explains: ExplainEffect::Nothing("a square has no parts"),
    table: &TABLE,
    calibrated: &["test-1"],
    start: start::<Squares>,
};

static MEASURED: AtomicUsize = AtomicUsize::new(0);

struct Squares {
    most: u64,
    statements: Statements,
}

const STATEMENTS: PaperFile = PaperFile {
    name: "squares/statements.toml",
    text: r#"
[[numbers]]
experiment = "square"
value = 'square[nodes]'
[claims.test-3]
says = "squares grow"
values = '[square[number]? for number in range(1, 5)]'
holds = 'rises(values)'
[[figure]]
file = "squares-1"
title = "Squares"
[[figure.panel]]
title = "all"
x = ["x", "linear"]
y = ["y", "linear"]
curves = '[["squares", [[x, square[x]]? for x in range(1, 5)]]]'
marks = '[["test-1", 2]]'
"#,
};

#[derive(Clone)]
struct Results(BTreeMap<u64, f64>);

impl Sample for Results {}

impl Measurements for Results {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        match (measure, at) {
            ("square", [number]) => {
                let square = self.0.get(&(number.number()? as u64));
                Ok((*square.ok_or_else(FormulaError::missing)?).into())
            }
            _ => Err(FormulaError::unknown(measure)),
        }
    }
}

impl Experiment for Squares {
    type Key = u64;
    type Point = f64;
    type Results = Results;

    fn new(_: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        Ok(Self {
            most: request.amount.choose([3, 4, 5]),
            statements: Statements::read(&STATEMENTS, &TABLE, &Results(BTreeMap::new()))?,
        })
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        Ok(Conditions::new(Vec::new(), Vec::new(), "once".into()))
    }

    fn keys(&self) -> Vec<u64> {
        (1..=self.most).collect()
    }

    fn measure(&self, key: &u64) -> Result<f64, Error> {
        MEASURED.fetch_add(1, Ordering::Relaxed);
        Ok((key * key) as f64)
    }

    fn results(&self, found: MeasuredPoints<u64, f64>) -> Results {
        Results(found.points.into_iter().collect())
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    fn points(&self, results: &Results) -> impl Serialize {
        Vec::from_iter(results.0.clone())
    }
}

fn all(folder: Option<&PathBuf>, amount: Amount) -> Result<(usize, Value, String), Error> {
    let before = MEASURED.load(Ordering::Relaxed);
    let request = ResultRequest {
        amount,
        out: folder.cloned(),
        ..ResultRequest::default()
    };
    let all = summary::run(&[&PAPER], &request, |_, _| |_| ())?;
    let document = serde_json::from_str(&all.document()?);
    let document = document.map_err(|error| Error::Request(error.to_string()))?;
    let count = MEASURED.load(Ordering::Relaxed) - before;
    Ok((count, document, all.text()))
}

#[test]
fn results_in_a_folder_are_not_measured_again() -> Result<(), Error> {
    let folder = std::env::temp_dir().join(format!("lanigon-squares-{}", std::process::id()));
    let (count, first, text) = all(Some(&folder), Amount::Quick)?;
    assert_eq!(count, 3);
    for file in [
        "all.json",
        "all.txt",
        "report.html",
        "squares/squares.csv",
        "squares/squares.txt",
        "squares/squares-1.pdf",
        "squares/report.md",
    ] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    assert_eq!(all(Some(&folder), Amount::Quick)?, (0, first.clone(), text));
    let (count, ..) = all(Some(&folder), Amount::Usual)?;
    assert_eq!(count, 4, "another amount");
    std::fs::write(folder.join("program.txt"), "another").unwrap_or_default();
    let (count, ..) = all(Some(&folder), Amount::Usual)?;
    assert_eq!(count, 4, "another program");
    std::fs::remove_dir_all(folder).unwrap_or_default();
    let paper = &first["papers"][0];
    for (key, expected) in [("experiment", "squares"), ("amount", "quick")] {
        assert_eq!(paper[key], expected);
    }
    assert_eq!(paper["rows"][0]["role"], "calibrated");
    assert_eq!(paper["rows"][1]["error"], 9.0 / 10.0 - 1.0);
    assert_eq!(paper["claims"][0]["verdict"], "holds");
    assert_eq!(paper["claims"][0]["claim"], "squares grow");
    let summary = &first["summary"][0];
    let median = summary["predicted"]["median"].as_f64().unwrap_or_default();
    assert!((median - 0.1).abs() < 1e-9, "{summary}");
    assert_eq!(
        (&summary["calibrated"], &summary["claims"]["hold"]),
        (&1.into(), &1.into())
    );
    Ok(())
}

#[test]
fn options_are_for_the_papers_that_accept_them() {
    let refused = |request: ResultRequest| {
        let refused = check(&[&PAPER], &PAPER, &request);
        refused.err().map(|error| error.to_string())
    };
    let sizes = ResultRequest {
        sizes: vec![4],
        ..ResultRequest::default()
    };
    assert_eq!(refused(sizes), None);
    let explain = ResultRequest {
        explain: Some(String::new()),
        ..ResultRequest::default()
    };
    let why = Some("--explain: a square has no parts".to_owned());
    assert_eq!(refused(explain), why);
}

#[test]
fn numbers_under_several_profiles_are_summed_up_apart() {
    let row = |id: &str, profile: &str, error: f64| serde_json::json!({"id": id, "profile": profile, "role": "predicted", "error": error});
    let document = serde_json::json!({
        "experiment": "two",
        "rows": [row("a", "x", 0.1), row("a", "y", 0.3), row("b", "x", -0.2), row("b", "y", 0.3)],
        "verdicts": {"hold": 2, "fail": 1, "open": 0},
        "extra": {"judged_under": "y"},
    });
    let found = summary::Summary::from_document(&document);
    let medians: Vec<_> = found.iter().map(|one| one.predicted.median).collect();
    assert!((medians[0].unwrap_or_default() - 0.15).abs() < 1e-9);
    assert_eq!(medians[1], Some(0.3));
    let held: Vec<_> = found.iter().map(|one| one.claims.hold).collect();
    assert_eq!(held, [0, 2]);
}

#[test]
fn statements_that_mean_nothing_are_refused_at_once() {
    for (from, to, reason) in [
        (
            "square[nodes]",
            "squares[nodes]",
            "numbers: test-1: nothing has the name squares",
        ),
        (
            "rises(values)",
            "values + holds",
            "claims.test-3: nothing has the name holds",
        ),
        (
            "[[x, square[x]]?",
            "[square[x]?",
            "figure: a point is two numbers",
        ),
        (
            "rises(values)",
            "rises(values",
            "TOML parse error at line 8",
        ),
        (
            "experiment = \"square\"",
            "role = \"inputs\"",
            "TOML parse error at line 3",
        ),
    ] {
        let file = PaperFile {
            text: STATEMENTS.text.replace(from, to).leak(),
            ..STATEMENTS
        };
        let found = Statements::read(&file, &TABLE, &Results(BTreeMap::new()));
        let error = found.map(drop).map_err(|error| error.to_string());
        let expected = format!("squares/statements.toml: {reason}");
        assert!(
            error
                .as_ref()
                .is_err_and(|error| error.starts_with(&expected)),
            "{error:?}"
        );
    }
}

#[test]
fn a_stated_role_counts() -> Result<(), Error> {
    let text = STATEMENTS.text;
    let text = text.replace("[[numbers]]", "[[numbers]]\nrole = \"input\"");
    let file = PaperFile {
        text: text.leak(),
        ..STATEMENTS
    };
    let results = Results(BTreeMap::from([(2, 4.0), (3, 9.0)]));
    let squares = Squares {
        most: 3,
        statements: Statements::read(&file, &TABLE, &results)?,
    };
    let roles: Vec<_> = squares
        .rows(&PAPER, &results)
        .iter()
        .map(|row| row.role)
        .collect();
    assert_eq!(roles, ["input", "input"]);
    Ok(())
}

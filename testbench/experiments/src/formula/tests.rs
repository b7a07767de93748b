//! Values of formulas.

use super::*;

/// `us` is the number of nodes, twice as much on hosts; with a third node it was not measured.
struct Made;

impl Measurements for Made {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        match (measure, at) {
            ("us", [FormulaValue::Text(on), nodes]) => match (on.as_str(), nodes.number()?) {
                (_, 3.0) => Err(FormulaError::missing()),
                ("host", nodes) => Ok((2.0 * nodes).into()),
                (_, nodes) => Ok(nodes.into()),
            },
            ("sizes", []) => Ok(vec![4.0, 8.0].into()),
            _ => Err(FormulaError::unknown(measure)),
        }
    }
}

fn value(text: &str) -> Result<String, String> {
    let definitions = "gain(nodes) = 'us[\"host\", nodes] / us[\"nic\", nodes]'\nNODES = '[2, 4]'";
    let definitions = definitions.replace("gain(nodes)", "\"gain(nodes)\"");
    let definitions: Definitions = toml::from_str(&definitions).map_err(|e| e.to_string())?;
    let formula = Formula::try_from(text.to_owned())?;
    let found = Scope::new(&definitions, &Made).value(&formula);
    found
        .map(|found| found.to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn formulas_have_values() {
    for (text, expected) in [
        ("1 + 2 * 3 - -4", "11"),
        ("(1 + 2) * 3 / 2", "4.5"),
        ("1_000 == 1e3", "e3 is not expected"),
        ("gain(2)", "2"),
        ("[us[\"nic\", n] for n in NODES]", "2.00, 4.00"),
        ("[us[\"nic\", n]? for n in [2, 3, 4]]", "2.00, 4.00"),
        (
            "[us[\"nic\", n] for n in [2, 3, 4]]",
            "points are missing in this run",
        ),
        (
            "[[a + b for b in [1, 2]] for a in sizes]",
            "5.00, 6.00; 9.00, 10.00",
        ),
        ("[a * b for [a, b] in zip(sizes, [1, 2]) if a > 4]", "16.00"),
        ("sizes / sizes > 0 and 2 > 1", "true"),
        ("sizes > 4 or false", "false"),
        ("sizes[-1] - sizes[0]", "4"),
        ("sizes[2]", "points are missing in this run"),
        ("low = min(sizes); high = max(sizes); high / low", "2"),
        (
            "\"{sizes}; {sizes[0]:.1} of {count(sizes)}; {1 - 2:+.0}\"",
            "4.00, 8.00; 4.0 of 2; -1",
        ),
        (
            "\"{sizes[0]:>5.1}|{1:<3}|{sizes:>12}\"",
            "  4.0|1  |  4.00, 8.00",
        ),
        ("known(us[\"nic\", 3], \"-\")", "-"),
        ("measure(\"us\", \"host\", 1)", "2"),
        ("open(\"no clock\")", "no clock"),
        ("join([\"a\", 1], \"; \")", "a; 1"),
        ("choose(true, 1, us[\"nic\", 3])", "1"),
        ("line([0, 10, 100], [2, 7, 52])", "2.00, 0.50"),
        ("crossing([1, 2, 4], [5, 5, 9], 7)", "3"),
        ("word(\"pe host\", -1) == \"host\"", "true"),
        ("abs([1, 2] - 3)", "2.00, 1.00"),
        (
            "flat([range(1, 2), take(skip(reverse(sizes), 1), 1)])",
            "1.00, 2.00, 4.00",
        ),
        ("place(sizes, 8)", "1"),
        ("rises(sizes) and not falls(sizes)", "true"),
        ("nothing", "nothing has the name nothing"),
        ("nothing(1)", "there is no function nothing of 1 values"),
        ("gain(1, 2)", "gain takes 1 values, not 2"),
        ("1 + \"a\"", "\"a\" is no number"),
        ("[1, 2] + [1]", "lists of different lengths"),
        ("1 +", "the end is not expected"),
        ("(1", "\")\" is missing before the end"),
        ("1 2", "2 is not expected"),
        ("\"{1", "a quote is missing"),
        ("\"{1\"", "\"}\" is missing"),
    ] {
        let found = value(text).unwrap_or_else(|reason| reason);
        assert_eq!(found, expected, "{text}");
    }
}

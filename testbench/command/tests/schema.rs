//! The reference of scenarios in docs/ is what the program prints, and examples fit the schema.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command_output;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file with what a command prints; with `LANIGON_UPDATE_TUTORIAL` writes it.
fn check(file: &str, arguments: &[&str]) {
    let printed = command_output(arguments);
    let path = root().join(file);
    if std::env::var_os("LANIGON_UPDATE_TUTORIAL").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == printed,
        "{file} is not what lanigon {arguments:?} prints"
    );
}

#[test]
fn the_documents_are_what_the_program_prints() {
    check("docs/scenarios.md", &["schema", "--reference"]);
    check("docs/scenario.schema.json", &["schema"]);
}

/// Part of a value that the schema does not allow. Only words of schemas that ours has are understood.
fn misfit(schema: &Value, value: &Value, place: &str) -> Option<String> {
    let wrong = |what: &str| Some(format!("{place}: {what}"));
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = |choice: &Value| misfit(choice, value, place).is_none();
        return if choices.iter().any(fits) {
            None
        } else {
            wrong("no choice fits")
        };
    }
    let name = match value {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        _ => "object",
    };
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        one => vec![one.clone()],
    };
    if !types
        .iter()
        .any(|known| known == name || known == "number" && name == "integer")
    {
        return wrong(&format!("{name} instead of {types:?}"));
    }
    if let Some(number) = value.as_f64() {
        let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
            return wrong("out of range");
        }
    }
    if schema["enum"]
        .as_array()
        .is_some_and(|names| !names.contains(value))
    {
        return wrong("no such name");
    }
    if let Some(items) = value.as_array() {
        return items
            .iter()
            .find_map(|item| misfit(&schema["items"], item, place));
    }
    let object = value.as_object()?;
    let needed = schema["required"].as_array().into_iter().flatten();
    if let Some(key) = needed
        .map(|key| key.as_str().unwrap())
        .find(|key| !object.contains_key(*key))
    {
        return wrong(&format!("{key} is missing"));
    }
    object.iter().find_map(|(key, member)| {
        let place = format!("{place}.{key}");
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => Some(format!("{place}: no such key")),
            (Value::Null, other) => misfit(other, member, &place),
            (known, _) => misfit(known, member, &place),
        }
    })
}

#[test]
fn examples_fit_the_schema() {
    let schema: Value = serde_json::from_str(&command_output(&["schema"])).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let value: Value = toml::from_str(&text).unwrap();
        assert_eq!(
            misfit(&schema, &value, "scenario"),
            None,
            "{}",
            path.display()
        );
        count += 1;
    }
    assert!(count > 10);
    for wrong in [
        "[network]\ntopology = \"ring\"\n[[program]]\nrun = \"idle\"",
        "[network]\ntopology = \"pair\"",
        "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"idle\"\nnods = 1",
        "seed = \"1\"\n[network]\ntopology = \"pair\"\n[[program]]\nrun = \"idle\"",
        "host_memory_mb = 1\n[network]\ntopology = \"pair\"\n[[program]]\nrun = \"idle\"",
    ] {
        let value: Value = toml::from_str(wrong).unwrap();
        assert!(misfit(&schema, &value, "scenario").is_some(), "{wrong}");
    }
}

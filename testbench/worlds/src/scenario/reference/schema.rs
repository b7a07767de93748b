//! The reference as a JSON schema, for editors.

use serde_json::{Map, Value, json};

use super::{Key, TableDoc, Values, keys};
use crate::workload::Workloads;

/// The schema (draft 7), with the keys of these workloads.
#[must_use]
pub fn schema(workloads: Workloads) -> Value {
    let root = keys::table("");
    let mut schema = root.map_or_else(Map::new, |root| object(root, workloads));
    schema.insert(
        "$schema".into(),
        "http://json-schema.org/draft-07/schema#".into(),
    );
    schema.insert("title".into(), "Scenario of lanigon".into());
    Value::Object(schema)
}

fn object(table: &TableDoc, workloads: Workloads) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in table.all(workloads) {
        let property = property(key, workloads);
        match properties.get_mut(key.name) {
            None => {
                properties.insert(key.name.into(), property);
            }
            Some(known) => *known = either(known.take(), property),
        }
    }
    let names = workloads.0.iter().flat_map(|kind| kind.names);
    let runs = properties
        .get_mut("run")
        .and_then(|run| run.get_mut("enum"));
    if let Some(Value::Array(known)) = runs {
        known.extend(names.map(|name| Value::from(*name)));
    }
    let needed = table.keys.iter().filter(|key| key.default.is_none());
    let needed: Vec<_> = needed.map(|key| key.name).collect();
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("description".into(), table.what.into());
    if table.name == "costs" {
        let entry = json!({ "type": ["number", "object"] });
        object.insert("additionalProperties".into(), entry);
        return object;
    }
    object.insert("properties".into(), properties.into());
    object.insert("additionalProperties".into(), false.into());
    if !needed.is_empty() {
        object.insert("required".into(), needed.into());
    }
    object
}

/// A key of several programs: its values in one or the other.
fn either(known: Value, other: Value) -> Value {
    if known == other {
        return known;
    }
    let mut all = match known {
        Value::Object(mut known) if known.len() == 1 && known.contains_key("anyOf") => {
            match known.remove("anyOf") {
                Some(Value::Array(all)) => all,
                _ => Vec::new(),
            }
        }
        known => vec![known],
    };
    all.push(other);
    json!({ "anyOf": all })
}

fn property(key: &Key, workloads: Workloads) -> Value {
    let mut value = values(key.values, workloads);
    if let Value::Object(value) = &mut value {
        let unit = key.unit().map(|unit| format!(" ({unit})"));
        let default = key.default.map(|text| format!(" Default: {text}."));
        let text = format!(
            "{}{}.{}",
            key.what,
            unit.unwrap_or_default(),
            default.unwrap_or_default()
        );
        value.insert("description".into(), text.into());
    }
    value
}

fn values(values: Values, workloads: Workloads) -> Value {
    let text = json!({ "type": "string" });
    let node = json!({ "type": ["integer", "string"] });
    let table = |name: &str| {
        let found = keys::table(name);
        found.map_or_else(Map::new, |table| object(table, workloads))
    };
    match values {
        Values::Text => text,
        Values::Texts => json!({ "anyOf": [text, { "type": "array", "items": text }] }),
        Values::Flag => json!({ "type": "boolean" }),
        Values::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Values::Number(least, most) => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        Values::Choice(names) => json!({ "type": "string", "enum": names }),
        Values::Node => node,
        Values::Nodes => {
            json!({ "anyOf": [node, { "type": "array", "items": node, "minItems": 1 }] })
        }
        Values::Ends => json!({ "type": "array", "items": node, "minItems": 2, "maxItems": 2 }),
        Values::Lengths(most) => {
            let length = json!({ "type": "integer", "minimum": 0, "maximum": most });
            json!({ "anyOf": [length, { "type": "array", "items": length, "minItems": 1 }] })
        }
        Values::Table("link") => Value::Object(table("link-keys")),
        Values::Table(name) => Value::Object(table(name)),
        Values::Tables(name) => json!({ "type": "array", "items": table(name) }),
        Values::Entries => {
            json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 } })
        }
    }
}

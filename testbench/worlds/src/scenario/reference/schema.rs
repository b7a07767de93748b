//! The reference as a JSON schema, for editors.

use serde_json::{Map, Value, json};

use super::{Key, TableDoc, Values, keys};

/// The schema (draft 7).
#[must_use]
pub fn schema() -> Value {
    let mut schema = keys::table("").map_or_else(Map::new, object);
    schema.insert(
        "$schema".into(),
        "http://json-schema.org/draft-07/schema#".into(),
    );
    schema.insert("title".into(), "Scenario of lanigon".into());
    Value::Object(schema)
}

fn object(table: &TableDoc) -> Map<String, Value> {
    let properties: Map<_, _> = table
        .all()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let needed = table.all().filter(|key| key.default.is_none());
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

fn property(key: &Key) -> Value {
    let mut value = values(key.values);
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

fn values(values: Values) -> Value {
    let node = json!({ "type": ["integer", "string"] });
    let table = |name: &str| keys::table(name).map_or_else(Map::new, object);
    match values {
        Values::Text => json!({ "type": "string" }),
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

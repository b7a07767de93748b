//! `lanigon dissector`: the Wireshark dissector for EMP frames.
//!
//! The layout in it is a Lua table generated from the field table beside the firmware's definitions
//! (`defs::emp::fields`); the rest of the script only reads that table.

use std::fmt::Write;

use defs::emp::fields::{FIELDS, Field};
use defs::emp::frame::{DATA_PAYLOAD, ETHERNET_BYTES, ETHERTYPE, HEADER_PAYLOAD, Kind};

use lanigon_worlds::nodes::mac_address;

/// The script's code.
const BEHAVIOUR: &str = include_str!("dissector.lua");

const HEAD: &str = "\
-- EMP frames for Wireshark and tshark. Written by `lanigon dissector` from the layouts that the firmware uses:
-- write it anew when they change.
--   tshark -X lua_script:emp.lua -r FILE
";

/// Lua functions that read fields by name.
const ACCESS: &str = "
local field_of = {}
for _, field in ipairs(fields) do
    field_of[field.name] = field
    field.range = function(buffer) return buffer(field.first, field.bytes) end
    field.read = function(buffer) return buffer(field.first, field.bytes):bitfield(field.bit, field.bits) end
end
";

/// The complete script.
#[must_use]
pub fn script() -> String {
    let mut text = HEAD.to_owned();
    let [a, b, c, d, ..] = mac_address(0).0;
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\nlocal ethertype = {ETHERTYPE:#06X}");
    let _ = writeln!(text, "local node_prefix = \"{a:02x}{b:02x}{c:02x}{d:02x}\"");
    for (name, payload) in [("data", DATA_PAYLOAD), ("header", HEADER_PAYLOAD)] {
        let behind_ethernet = payload - ETHERNET_BYTES;
        let _ = writeln!(text, "local {name}_payload = {behind_ethernet}");
    }
    let kinds = Kind::ALL.map(|kind| format!("{} = {}", kind.name(), kind as u32));
    let _ = writeln!(text, "local kinds = {{ {} }}\n", kinds.join(", "));
    text += "-- Bytes count from the end of the Ethernet header, bits from the highest one.\nlocal fields = {\n";
    for field in &FIELDS {
        let _ = writeln!(text, "    {{ {} }},", entry(field));
    }
    text += "}\n";
    text + ACCESS + BEHAVIOUR
}

/// A field as an entry of the table: bits of its halfword or word.
fn entry(field: &Field) -> String {
    let at = 4 * field.word as u32;
    let bits = field.mask.count_ones();
    let (first, bytes, mask) = match field.bits() {
        low if low <= 0xFFFF => (at + 2, 2, low),
        high if high & 0xFFFF == 0 => (at, 2, high >> 16),
        whole => (at, 4, whole),
    };
    let first = first - ETHERNET_BYTES;
    let bit = mask.leading_zeros() - (32 - 8 * bytes);
    let masked = match mask.count_ones() == 8 * bytes {
        true => String::new(),
        false => format!(", mask = {mask:#x}"),
    };
    let list = |items: Vec<String>| items.join(", ");
    let kinds = field.kinds.iter().map(|&kind| (kind as u32).to_string());
    let values = field.values.iter();
    let values: Vec<_> = values
        .map(|(value, name)| format!("[{value}] = {name:?}"))
        .collect();
    let values = match values.is_empty() {
        true => String::new(),
        false => format!(", values = {{ {} }}", list(values)),
    };
    let (name, title, kinds) = (field.name, field.title, list(kinds.collect()));
    format!(
        "name = {name:?}, title = {title:?}, first = {first}, bytes = {bytes}, bit = {bit}, bits = {bits}{masked}, \
         kinds = {{ {kinds} }}{values}"
    )
}

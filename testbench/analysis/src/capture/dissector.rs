//! `lanigon dissector`: the Wireshark dissector for EMP frames, and for Myrinet packets with GM or FM.
//!
//! The layouts in it are Lua tables generated from the field tables beside the firmware's definitions
//! (`defs::emp::fields`, `defs::gm::fields`, `defs::fm::fields`); the rest of the script only reads those tables.

use std::fmt::Write;

use defs::emp::fields::{FIELDS, Field};
use defs::emp::frame::{DATA_PAYLOAD, ETHERNET_BYTES, ETHERTYPE, HEADER_PAYLOAD, Kind};
use defs::fm;
use defs::gm;
use defs::gm::fields::{DATA_SUBTYPES, HEAD_SUBTYPES, Packets, SUBTYPES};
use defs::gm::packet;
use emulator::wire::myrinet;

use lanigon_worlds::nodes::mac_address;

/// The script's code for EMP.
const BEHAVIOUR: &str = include_str!("dissector.lua");

/// The script's code for Myrinet and GM.
const GM_BEHAVIOUR: &str = include_str!("gm.lua");

/// The script's code for FM.
const FM_BEHAVIOUR: &str = include_str!("fm.lua");

/// The first link type for private use; captures of Myrinet have one of 16.
const FIRST_USER_LINK_TYPE: u16 = 147;

const HEAD: &str = "\
-- EMP frames, GM on Myrinet and Ethernet, and FM on Myrinet, for Wireshark and tshark. Written by `lanigon dissector` from the layouts that the firmware uses:
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
    format!("{HEAD}{}\ndo\n{}{}end\n", emp_part(), fm_part(), gm_part())
}

fn fm_part() -> String {
    let kinds = fm::fields::KINDS.map(|(word, name)| format!("[{}] = {name:?}", word & 0xFFFF));
    let mut text = format!(
        "local fm_type = {}\nlocal fm_header_bytes = {}\nlocal fm_kinds = {{ {} }}\n\n\
         -- Bytes count from the end of the route, bits from the highest one.\nlocal fm_fields = {{\n",
        fm::packet::DATA >> 16,
        fm::packet::HEADER_BYTES,
        kinds.join(", ")
    );
    for field in &fm::fields::FIELDS {
        let place = place(field.word, 0, field.mask << field.shift);
        let (name, title) = (field.name, field.title);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "    {{ name = {name:?}, title = {title:?}, {place} }},"
        );
    }
    text + "}\n" + FM_BEHAVIOUR
}

fn emp_part() -> String {
    let mut text = String::new();
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

fn gm_part() -> String {
    let link = myrinet::LINK_TYPE.0.saturating_sub(FIRST_USER_LINK_TYPE);
    let [first, last] = DATA_SUBTYPES;
    let [head, last_head] = HEAD_SUBTYPES;
    let names = SUBTYPES.map(|(subtype, name)| format!("[{subtype}] = {name:?}"));
    // Bytes between header and payload.
    let extra = [
        (packet::PUT, packet::PUT_BYTES),
        (packet::PUT_BODY, packet::PUT_BYTES),
        (packet::GET, packet::GET_BYTES),
        (packet::GOT, packet::GOT_BYTES),
    ]
    .map(|(subtype, bytes)| format!("[{subtype}] = {bytes}"));
    let mut text = format!(
        "local link = \"USER{link}\"\nlocal gm_type = {}\nlocal gm_ethertype = {:#06X}\nlocal header_bytes = {}\n\
         local data_subtypes = {{ {first}, {last} }}\nlocal head_subtypes = {{ {head}, {last_head} }}\nlocal subtypes = {{ {} }}\n\
         local extra_bytes = {{ {} }}\n\n\
         -- Bytes count from the end of the route, bits from the highest one.\nlocal fields = {{\n",
        gm::packet::TYPE,
        gm::mac::ETHERTYPE,
        gm::packet::HEADER_BYTES,
        names.join(", "),
        extra.join(", ")
    );
    for field in &gm::fields::FIELDS {
        let place = place(field.word, 0, field.mask << field.shift);
        let packets = match field.packets {
            Packets::All => "all",
            Packets::Sequenced => "sequenced",
            Packets::Answers => "answers",
        };
        let (name, title) = (field.name, field.title);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "    {{ name = {name:?}, title = {title:?}, {place}, packets = {packets:?} }},"
        );
    }
    text + "}\n" + GM_BEHAVIOUR
}

/// The place of a field as entries of the table: bits of a halfword or word. Its word is `at` bytes from a beginning, the table
/// counts from `base` on.
fn place(at: u32, base: u32, bits: u32) -> String {
    let (first, bytes, mask) = match bits {
        low if low <= 0xFFFF => (at + 2, 2, low),
        high if high & 0xFFFF == 0 => (at, 2, high >> 16),
        whole => (at, 4, whole),
    };
    let first = first - base;
    let bit = mask.leading_zeros() - (32 - 8 * bytes);
    let bits = mask.count_ones();
    let masked = match bits == 8 * bytes {
        true => String::new(),
        false => format!(", mask = {mask:#x}"),
    };
    format!("first = {first}, bytes = {bytes}, bit = {bit}, bits = {bits}{masked}")
}

/// A field as an entry of the table.
fn entry(field: &Field) -> String {
    let place = place(4 * field.word as u32, ETHERNET_BYTES, field.bits());
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
    format!("name = {name:?}, title = {title:?}, {place}, kinds = {{ {kinds} }}{values}")
}

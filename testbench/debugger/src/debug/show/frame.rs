//! Display of frame heads.

use defs::emp::fields::{FIELDS, FRAME, Field, MESSAGE, SOURCE};
use defs::emp::frame::{ETHERTYPE, Kind, WORD_TYPE_KIND};

/// Description of a frame from its first words: EMP fields by name, or the frame's type.
pub(in crate::debug) fn describe(word: impl Fn(usize) -> u32) -> String {
    let type_kind = word(WORD_TYPE_KIND);
    let ethertype = (type_kind >> 16) as u16;
    let kind = Kind::from_word(type_kind).filter(|_| ethertype == ETHERTYPE);
    let Some(kind) = kind else {
        return format!("no EMP frame: type {ethertype:04x}");
    };
    // First the identification.
    let is_name = |field: &&Field| [SOURCE, MESSAGE, FRAME].contains(*field);
    let (names, others): (Vec<&Field>, Vec<&Field>) = FIELDS.iter().skip(1).partition(is_name);
    let fields = names.into_iter().chain(others);
    let fields = fields.filter(|field| field.is_in(kind)).map(|field| {
        let value = field.of(&word);
        let names = field.values.iter();
        let name = names.filter(|named| named.0 == value).map(|named| named.1);
        let value = name
            .map(str::to_owned)
            .next()
            .unwrap_or_else(|| value.to_string());
        format!("{}={value}", field.name)
    });
    let fields: Vec<_> = fields.collect();
    format!("{} {}", kind.name(), fields.join(" "))
}

//! Functions that LLVM calls on its own.

/// Families of compiler-rt's names, `__` and types' letters left out: each stem with the endings it exists with.
const FAMILIES: [(&[&str], &[&str]); 8] = [
    (
        &["mul", "div", "udiv", "mod", "umod", "ashl", "ashr", "lshr"],
        &["si3", "di3", "ti3"],
    ),
    (&["mulo"], &["si4", "di4", "ti4"]),
    (&["clz", "ctz", "popcount", "bswap"], &["si2", "di2"]),
    (&["add", "sub", "mul", "div"], &["sf3", "df3"]),
    (
        &["eq", "ne", "lt", "le", "gt", "ge", "unord"],
        &["sf2", "df2"],
    ),
    (&["fix", "fixuns"], &["sfsi", "sfdi", "dfsi", "dfdi"]),
    (&["float", "floatun"], &["sisf", "sidf", "disf", "didf"]),
    (&["extendsf", "truncdf"], &["df2", "sf2"]),
];

/// Names that do not follow the pattern.
const OTHERS: [&str; 4] = ["memcpy", "memmove", "memset", "__multi3"];

/// Library functions that only source code calls, so they keep the convention of C. They stay visible all the same.
pub const C_FUNCTIONS: [&str; 3] = ["memcmp", "bcmp", "strlen"];

/// Whether the back end calls this function for an operation without an instruction, and so with the fast convention.
pub fn is_called_by_llvm(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("__") else {
        return OTHERS.contains(&name);
    };
    let is_member = |(stems, endings): &(&[&str], &[&str])| {
        let endings = endings
            .iter()
            .filter_map(|ending| rest.strip_suffix(ending));
        endings.into_iter().any(|stem| stems.contains(&stem))
    };
    FAMILIES.iter().any(is_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        for name in [
            "__mulsi3",
            "__muldi3",
            "__multi3",
            "__udivti3",
            "__ashrdi3",
            "__mulodi4",
            "__fixunsdfdi",
            "__floatundisf",
            "__extendsfdf2",
            "__truncdfsf2",
            "__unordsf2",
            "memcpy",
            "memset",
            "memmove",
            "__bswapsi2",
        ] {
            assert!(is_called_by_llvm(name), "{name}");
        }
        for name in [
            "memcmp",
            "main",
            "__addsi3",
            "mulsi3",
            "__udivmodsi4",
            "__rust_alloc",
            "__",
        ] {
            assert!(!is_called_by_llvm(name), "{name}");
        }
    }
}

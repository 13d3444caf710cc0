//! Names of parameters as identifiers of Rust and C.

use std::collections::BTreeSet;

/// A constant's name for each parameter: its letters large, and never two the same. One that would
/// begin with a digit, or be no name at all, begins with a P; one that is taken ends with its
/// place.
pub(super) fn constants<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<String> = names.map(constant).collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut out = Vec::with_capacity(names.len());
    for (place, name) in names.iter().enumerate() {
        let mut free = name.clone();
        // Also not what another parameter is called.
        while taken.contains(&free) || (free != *name && names.contains(&free)) {
            free = format!("{free}_{place}");
        }
        taken.insert(free.clone());
        out.push(free);
    }
    out
}

/// A letter of a constant's name.
fn letter(c: char) -> char {
    if c.is_ascii_alphanumeric() {
        c.to_ascii_uppercase()
    } else {
        '_'
    }
}

fn constant(name: &str) -> String {
    let name: String = name.chars().map(letter).collect();
    let named = name.chars().any(|c| c != '_');
    if named && !name.starts_with(|c: char| c.is_ascii_digit()) {
        name
    } else {
        format!("P{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_constant_of_its_own() {
        let of = |names: &[&str]| constants(names.iter().copied());
        assert_eq!(
            of(&["dead_time_ms", "kp", "Kp", "2nd", "_", "kp_2", "self"]),
            ["DEAD_TIME_MS", "KP", "KP_2_2", "P2ND", "P_", "KP_2", "SELF"]
        );
        assert_eq!(
            of(&["a", "A", "a_1", "A_1"]),
            ["A", "A_1_1", "A_1", "A_1_3"]
        );
    }
}

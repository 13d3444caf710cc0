//! How much a line asks of a reader: several names bound in one `let`, and closures that have a
//! name. Programs that are a pleasure to read have 3 to 6 of the first in 1,000 lines of code, and
//! less than one of the second.

use std::collections::BTreeMap;

use super::source::{shipped, sources};

/// In 1,000 lines of code of a package, at most so many tuple-lets and named closures: what it had
/// when they were last counted, rounded up. The aim is 6 and 3, and whoever lowers a figure lowers
/// its ceiling.
const CEILINGS: &[(&str, u64, u64)] = &[
    ("bench", 36, 2),
    ("capi", 10, 3),
    ("cluster", 3, 2),
    ("core", 12, 3),
    ("figures", 0, 0),
    ("firmware-example", 10, 3),
    ("firmware-networked", 15, 2),
    ("host", 5, 1),
    ("net", 7, 1),
    ("python", 7, 3),
    ("sim", 5, 1),
    ("sim/engine", 6, 1),
    ("sim/experiment", 3, 1),
    ("sim/lab", 4, 2),
    ("sim/papers", 6, 1),
    ("sim/report", 5, 1),
    ("tests", 3, 1),
    ("web", 4, 3),
    ("xtask", 5, 2),
];

/// `let (a, b) = …`, of a line.
fn is_tuple_let(line: &str) -> bool {
    line.trim_start().starts_with("let (")
}

/// `let f = |x| …`, of a line.
fn is_named_closure(line: &str) -> bool {
    let Some((name, value)) = line
        .trim_start()
        .strip_prefix("let ")
        .and_then(|rest| rest.split_once(" = "))
    else {
        return false;
    };
    let name = name.strip_prefix("mut ").unwrap_or(name);
    let word = name.split(':').next().unwrap_or_default();
    let value = value.strip_prefix("move ").unwrap_or(value);
    !word.is_empty()
        && word.chars().all(|c| c.is_alphanumeric() || c == '_')
        && value.starts_with('|')
}

/// Lines of code, tuple-lets and named closures of a package, without its comments, blank lines and
/// tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    lines: u64,
    tuple_lets: u64,
    closures: u64,
}

impl Counts {
    fn add(&mut self, code: &str) {
        for line in code.lines().filter(|line| !line.trim().is_empty()) {
            self.lines += 1;
            self.tuple_lets += u64::from(is_tuple_let(line));
            self.closures += u64::from(is_named_closure(line));
        }
    }

    /// In 1,000 lines, rounded up.
    fn rate(self, count: u64) -> u64 {
        (1000 * count).div_ceil(self.lines.max(1))
    }
}

/// The counts of the sources of every package.
fn counts(files: &[(String, String)]) -> BTreeMap<&str, Counts> {
    let mut found: BTreeMap<&str, Counts> = BTreeMap::new();
    for (path, text) in files {
        if let Some(end) = path.find("/src/") {
            found
                .entry(&path[..end])
                .or_default()
                .add(&shipped(path, text));
        }
    }
    found
}

#[test]
fn a_line_binds_few_names() {
    let files = sources();
    let found = counts(&files);
    let rates: Vec<_> = found
        .iter()
        .map(|(package, counts)| {
            (
                *package,
                counts.rate(counts.tuple_lets),
                counts.rate(counts.closures),
            )
        })
        .collect();
    assert!(
        rates
            .iter()
            .map(|rate| rate.0)
            .eq(CEILINGS.iter().map(|ceiling| ceiling.0)),
        "{rates:?}"
    );
    for ((package, tuples, closures), (_, tuples_max, closures_max)) in rates.iter().zip(CEILINGS) {
        assert!(
            tuples <= tuples_max && closures <= closures_max,
            "{package}: {tuples} tuple-lets and {closures} named closures in 1,000 lines of code; {tuples_max} and \
             {closures_max} are allowed: one name a `let`, and a function for what deserves a name"
        );
    }
}

/// Negative control, line by line.
#[test]
fn tuple_lets_and_named_closures_are_counted() {
    let text = "//! let (a, b) = c;\nfn f() {\n    let (a, mut b) = (1, 2);\n    let g = |x: u32| x + a;\n\n    \
                let mut h = move |x| b += x;\n    let k: &dyn Fn(u32) = &|x| h(x);\n    let sum = a | b;\n    \
                let n = v.iter().map(|x| x + 1);\n    if let (Some(x), y) = z {}\n}\n\
                #[cfg(test)]\nmod tests {\n    let (c, d) = e;\n}\n";
    let mut found = Counts::default();
    found.add(&shipped("x/src/y.rs", text));
    assert_eq!(
        found,
        Counts {
            lines: 9,
            tuple_lets: 1,
            closures: 2
        }
    );
    assert_eq!(
        (found.rate(1), found.rate(0), Counts::default().rate(0)),
        (112, 0, 0)
    );
}

//! The rules of the house as a test. Each rule is a function from text to complaints, with a
//! negative control below: a snippet that breaks the rule must be reported.

use sordino_tests::houses::{HOUSES, House};
use source::{code, forbidden, occurrences, over_sources, root, shipped};

mod bounds;
mod dependencies;
mod errors;
mod examples;
mod houses;
mod legible;
mod shape;
mod source;

/// Files of sim whose results nobody folds into a digest: clocks and hash maps are allowed there.
const CLOCKS_ALLOWED: &[(&str, &str)] = &[
    ("sim/src/main.rs", "the command line"),
    ("sim/src/cli", "the command line"),
    ("sim/experiment/src/progress", "shows time to a person"),
    ("sim/report/src", "shows time to a person"),
    (
        "sim/lab/src/driver/sweep.rs",
        "decides when the index is refreshed, never what it holds",
    ),
    (
        "sim/experiment/src/journal/mod.rs",
        "decides when a checkpoint is due, never what it holds",
    ),
];

/// The only files with `unsafe`.
const UNSAFE_ALLOWED: &[(&str, &str)] = &[
    (
        "firmware-example/src/device/hardware.rs",
        "registers, stack paint, statics of the device",
    ),
    (
        "firmware-networked/src/hardware.rs",
        "registers, flash, stack paint, statics of the device on the wire",
    ),
    (
        "firmware-example/examples/digests_wasm.rs",
        "names of exported functions",
    ),
    ("web/src/lib.rs", "names of exported functions"),
    (
        "firmware-example/examples/resets.rs",
        "memory that keeps its content over a reset",
    ),
    (
        "capi/src/memory.rs",
        "pointers of C, and objects in its memory",
    ),
    ("capi/src/callback.rs", "functions of C that are called"),
    ("capi/src/status.rs", "functions that C calls"),
    ("capi/src/agreement.rs", "functions that C calls"),
    ("capi/src/gp.rs", "functions that C calls"),
    ("capi/src/member.rs", "functions that C calls"),
    ("capi/src/member/terms.rs", "functions that C calls"),
    ("capi/src/optimizer.rs", "functions that C calls"),
    ("capi/src/optimizer/settings.rs", "functions that C calls"),
    ("capi/src/prior.rs", "functions that C calls"),
    ("capi/src/newcomer.rs", "functions that C calls"),
    ("capi/src/reporter.rs", "functions that C calls"),
    ("capi/src/agent.rs", "functions that C calls"),
    ("capi/src/frame.rs", "functions that C calls"),
    ("capi/src/site.rs", "functions that C calls"),
    ("capi/src/version.rs", "functions that C calls"),
    ("capi/tests/refusals.rs", "calls these as C does"),
    ("capi/tests/optimizer.rs", "calls these as C does"),
    ("capi/tests/frames.rs", "calls these as C does"),
    ("capi/tests/prior.rs", "calls these as C does"),
    ("capi/tests/site.rs", "calls these as C does"),
    ("capi/tests/member/main.rs", "calls these as C does"),
    ("capi/tests/member/device.rs", "calls these as C does"),
];

/// What must stand before `extern crate std`: hosts' vector instructions are found out by it, and a
/// square root is one of them. Devices never switch it on, and no path of std is ever written.
const STD_GUARD: &str = "#[cfg(all(feature = \"dispatch\", target_arch = \"x86_64\"))]";

/// No std; alloc only behind the feature of that name.
fn check_no_std(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("core/src/") {
        return Vec::new();
    }
    let code = shipped(path, text);
    let guarded = format!("{STD_GUARD}\nextern crate std;");
    let admitted = if path == "core/src/lib.rs" {
        code.replace(&guarded, "\n")
    } else {
        code.clone()
    };
    let words = ["std::", "extern crate std"];
    let mut complaints = forbidden(path, &admitted, &words, "core runs without a system");
    if code.contains("#![cfg(feature = \"alloc\")]") {
        return complaints;
    }
    let lines: Vec<&str> = code.lines().collect();
    for what in ["alloc::", "extern crate alloc"] {
        for line in occurrences(&code, what) {
            let guard = lines[..line - 1]
                .iter()
                .rev()
                .find(|line| !line.trim().is_empty());
            if guard.is_none_or(|guard| guard.trim() != "#[cfg(feature = \"alloc\")]") {
                complaints.push(format!(
                    "{path}:{line}: `{what}` outside the feature `alloc`"
                ));
            }
        }
    }
    complaints
}

/// Nothing whose order or value depends on the moment.
fn check_deterministic(path: &str, text: &str) -> Vec<String> {
    // Of each package of the simulator, not its tests and examples.
    let simulator = path
        .strip_prefix("sim/")
        .is_some_and(|rest| rest.split('/').take(2).any(|folder| folder == "src"));
    let simulated = simulator
        && !CLOCKS_ALLOWED
            .iter()
            .any(|(allowed, _)| path.starts_with(allowed));
    if !path.starts_with("core/src/") && !simulated {
        return Vec::new();
    }
    let mut words = vec!["HashMap", "HashSet", "SystemTime", "thread_rng"];
    if path.starts_with("core/src/") {
        words.extend([
            "Instant",
            "num_traits",
            "rand_distr",
            "mul_add",
            "DefaultHasher",
        ]);
    } else {
        words.extend(["Instant"]);
    }
    forbidden(
        path,
        &shipped(path, text),
        &words,
        "results must not depend on it",
    )
}

fn check_opening(path: &str, text: &str) -> Vec<String> {
    // An empty `main` is a place held free for a program to come.
    let placeholder = text.trim() == "fn main() {}";
    if text.starts_with("//!") || placeholder {
        Vec::new()
    } else {
        vec![format!("{path}: does not open with `//!`")]
    }
}

/// Panics in core only beside a visible invariant.
fn check_panics(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("core/src/") {
        return Vec::new();
    }
    let original: Vec<&str> = text.lines().collect();
    let mut complaints = Vec::new();
    let words = [
        ".unwrap()",
        ".expect(",
        "panic!(",
        "unreachable!(",
        "todo!(",
        "unimplemented!(",
    ];
    for (number, line) in shipped(path, text).lines().enumerate() {
        let Some(word) = words.iter().find(|word| line.contains(**word)) else {
            continue;
        };
        let beside = [number.checked_sub(1), Some(number)].into_iter().flatten();
        if !beside
            .filter_map(|i| original.get(i))
            .any(|line| line.contains("// invariant:"))
        {
            complaints.push(format!(
                "{path}:{}: `{word}` without `// invariant:`",
                number + 1
            ));
        }
    }
    complaints
}

/// `unsafe` in the listed files only, each beside a SAFETY sentence.
fn check_unsafe(path: &str, text: &str) -> Vec<String> {
    // A method's name; a difference is written with spaces.
    let code = code(text).replace("prior-unsafe", "prior-without");
    if !UNSAFE_ALLOWED.iter().any(|(allowed, _)| *allowed == path) {
        return forbidden(path, &code, &["unsafe"], "not in this file")
            .into_iter()
            .filter(|_| !path.ends_with("tidy.rs"))
            .collect();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut complaints = Vec::new();
    for line in occurrences(&code, "unsafe") {
        // Attributes, the start of a statement and earlier lines of the same comment may stand
        // between.
        if !lines[line.saturating_sub(5)..line]
            .iter()
            .any(|line| line.contains("SAFETY:"))
        {
            complaints.push(format!("{path}:{line}: `unsafe` without a SAFETY sentence"));
        }
    }
    complaints
}

/// The table of a package's rooms and their declarations follow the floors.
fn check_module_table(house: &House, text: &str) -> Vec<String> {
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("//! | [`"))
        .filter_map(|rest| rest.split('`').next());
    let rows: Vec<&str> = rows.map(|row| row.trim_start_matches("mod@")).collect();
    let declared = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod "))
        .filter_map(|rest| rest.strip_suffix(';'));
    let mut complaints = Vec::new();
    for module in declared {
        if !rows.contains(&module) {
            complaints.push(format!(
                "{}lib.rs: `{module}` is missing in the table",
                house.sources
            ));
        }
    }
    let places: Vec<Option<usize>> = rows.iter().map(|row| house.floor(row)).collect();
    if !places.is_sorted() || places.contains(&None) {
        complaints.push(format!(
            "{}lib.rs: the table is not in the order of the floors: {rows:?}",
            house.sources
        ));
    }
    complaints
}

#[test]
fn the_tables_of_rooms_follow_the_floors() {
    for house in HOUSES {
        let text = std::fs::read_to_string(root().join(house.sources).join("lib.rs")).unwrap();
        assert_eq!(check_module_table(house, &text), Vec::<String>::new());
    }
    let core = &HOUSES[0];
    assert_eq!(
        check_module_table(core, "//! | [`math`] | x |\npub mod math;\npub mod wire;\n").len(),
        1
    );
    assert_eq!(
        check_module_table(core, "//! | [`wire`] | x |\n//! | [`math`] | x |\n").len(),
        1
    );
    let sim = &HOUSES[2];
    assert_eq!(
        check_module_table(
            sim,
            "//! | [`model`] | x |\n//! | [`mod@pool`] | x |\npub mod pool;\n"
        )
        .len(),
        1
    );
}

#[test]
fn core_needs_no_system_and_no_heap() {
    over_sources(check_no_std);
    let path = "core/src/x.rs";
    assert_eq!(check_no_std(path, "use std::vec::Vec;\n").len(), 1);
    let guarded = format!("{STD_GUARD}\nextern crate std;\n");
    assert!(check_no_std("core/src/lib.rs", &guarded).is_empty());
    assert_eq!(check_no_std(path, &guarded).len(), 1);
    assert_eq!(
        check_no_std("core/src/lib.rs", "extern crate std;\n").len(),
        1
    );
    assert_eq!(
        check_no_std(path, "extern crate alloc;\nuse alloc::vec;\n").len(),
        2
    );
    assert!(check_no_std(path, "#[cfg(feature = \"alloc\")]\nextern crate alloc;\n").is_empty());
    assert!(
        check_no_std(
            path,
            "#[cfg(test)]\nmod tests {\n    use std::vec;\n}\nlet noise_std = 1.0;\n"
        )
        .is_empty()
    );
}

#[test]
fn results_do_not_depend_on_clocks_or_hash_order() {
    over_sources(check_deterministic);
    assert_eq!(
        check_deterministic(
            "core/src/x.rs",
            "use core::time::Instant;\nlet m: HashMap<u8, u8>;\n"
        )
        .len(),
        2
    );
    assert_eq!(
        check_deterministic("core/src/x.rs", "x.mul_add(y, z);\n").len(),
        1
    );
    assert_eq!(
        check_deterministic(
            "sim/engine/src/federated/driver.rs",
            "let now = std::time::Instant::now();\n"
        )
        .len(),
        1
    );
    assert!(check_deterministic("sim/report/src/table.rs", "Instant::now()\n").is_empty());
    assert!(
        check_deterministic(
            "core/src/x.rs",
            "// Instantaneous HashMap\nlet instants = Instantiated;\n"
        )
        .is_empty()
    );
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    over_sources(check_opening);
    assert_eq!(check_opening("x.rs", "use std::fmt;\n//! late\n").len(), 1);
}

#[test]
fn core_panics_only_beside_an_invariant() {
    over_sources(check_panics);
    let path = "core/src/x.rs";
    assert_eq!(
        check_panics(path, "let a = b.unwrap();\nlet c = d.expect(\"e\");\n").len(),
        2
    );
    assert!(check_panics(path, "// invariant: checked above\nlet a = b.unwrap();\n").is_empty());
    assert!(check_panics(path, "let a = b.unwrap_or(0);\n/// x.unwrap()\n").is_empty());
}

#[test]
fn unsafe_code_has_one_home_and_reasons() {
    over_sources(check_unsafe);
    let home = UNSAFE_ALLOWED[0].0;
    assert_eq!(
        check_unsafe("sim/src/x.rs", "fn f() {\n    unsafe { g() }\n}\n").len(),
        1
    );
    assert_eq!(
        check_unsafe("sim/src/x.rs", "let x = prior - unsafe { g() };\n").len(),
        1
    );
    assert!(check_unsafe("sim/src/x.rs", "const NAME: &str = \"prior-unsafe\";\n").is_empty());
    // Of the package for C only what touches pointers, and each function that C calls says why.
    assert_eq!(
        check_unsafe(
            "capi/src/settings.rs",
            "// SAFETY: it is so.\nunsafe { g() }\n"
        )
        .len(),
        1
    );
    assert_eq!(
        check_unsafe(
            "capi/src/gp.rs",
            "#[unsafe(no_mangle)]\npub extern \"C\" fn f() {}\n"
        )
        .len(),
        1
    );
    assert_eq!(
        check_unsafe("capi/examples/reference.rs", "unsafe { g() }\n").len(),
        1
    );
    assert_eq!(
        check_unsafe(home, "fn f() {\n\n\n\n\n    unsafe { g() }\n}\n").len(),
        1
    );
    assert!(check_unsafe(home, "// SAFETY: it is so.\nunsafe { g() }\n").is_empty());
}

//! The rules of the house as a test. Each rule is a function from text to complaints, with a negative control below:
//! a snippet that breaks the rule must be reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The layers of core, lowest first; a module uses only those of earlier groups.
const LAYERS: &[&[&str]] = &[
    &["math"],
    &["digest"],
    &["linalg"],
    &["random"],
    &["kernel"],
    &["features"],
    &["domain"],
    &["surrogate"],
    &["acquisition"],
    &["schedule"],
    &["privacy"],
    &["federated", "outsourced", "local", "output"],
    &["wire"],
];

/// Learning and privacy do not know each other, whatever their order: (module, what it must not use).
const STRANGERS: &[(&str, &[&str])] = &[
    ("privacy", &["kernel", "features", "domain", "surrogate", "acquisition"]),
    ("kernel", &["privacy"]),
    ("surrogate", &["privacy"]),
    ("acquisition", &["privacy"]),
];

/// Files longer than [`LINES_MAX`], each with the reason why it is not two files.
const LONG_FILES: &[(&str, &str)] = &[
    (
        "core/src/federated/agent.rs",
        "one machine: state, storage, every transition in the order of the algorithm, tests",
    ),
    (
        "core/src/federated/server.rs",
        "one machine: state, storage, every transition in the order of the algorithm, tests",
    ),
];
const LINES_MAX: usize = 500;

/// Files of sim whose results nobody folds into a digest: clocks and hash maps are allowed there.
const CLOCKS_ALLOWED: &[(&str, &str)] = &[
    ("sim/src/main.rs", "the command line"),
    ("sim/src/cli", "the command line"),
    ("sim/src/progress", "shows time to a person"),
    ("sim/src/report", "shows time to a person"),
];

/// The only files with `unsafe`.
const UNSAFE_ALLOWED: &[(&str, &str)] = &[
    ("firmware-example/src/device/hardware.rs", "registers, stack paint, statics of the device"),
    ("firmware-example/examples/digests_wasm.rs", "names of exported functions"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every Rust file of ours: (path from the root with `/`, text), sorted.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in ["core", "sim", "tests", "xtask", "firmware-example", "bench"] {
        collect(&root().join(folder), &mut files);
    }
    assert!(files.len() > 20, "the walk found {} files", files.len());
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            files.push((relative, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The text without comments; lines keep their numbers.
fn code(text: &str) -> String {
    let without = |line: &str| -> String {
        if line.trim_start().starts_with("//") { String::new() } else { line.split(" // ").next().unwrap_or("").into() }
    };
    text.lines().map(|line| without(line) + "\n").collect()
}

/// The code outside `#[cfg(test)]` items and files named `tests.rs`; relies on rustfmt: an item ends at the brace of its own indentation.
fn shipped(path: &str, text: &str) -> String {
    if path.ends_with("/tests.rs") {
        return String::new();
    }
    let (mut out, mut inside) = (String::new(), None::<String>);
    for line in code(text).lines() {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        if inside.is_none() && line.trim() == "#[cfg(test)]" {
            inside = Some(indent.clone());
        } else if let Some(outer) = &inside {
            let ends = line == format!("{outer}}}") || (indent == *outer && line.ends_with(';'));
            if ends {
                inside = None;
            }
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// The first path segment after every `crate::`, one by one also from braces, with its line; `super::` chains that
/// leave the module count too.
fn used_modules(path: &str, code: &str) -> Vec<(usize, String)> {
    let inner = path.strip_prefix("core/src/").unwrap_or(path);
    let depth = inner.matches('/').count() + usize::from(!inner.ends_with("mod.rs") && inner.contains('/'));
    let supers = "super::".repeat(depth.max(1));
    let prefixes: Vec<String> = ["crate::".to_owned(), supers].into_iter().collect();
    let mut found = Vec::new();
    for prefix in prefixes {
        for (at, _) in code.match_indices(&prefix) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].lines().count().max(1);
            let rest = &code[at + prefix.len()..];
            found.extend(first_segments(rest).into_iter().map(|segment| (line, segment)));
        }
    }
    found
}

/// `a::b` gives a; `{a, b::{c, d}}` gives a, b.
fn first_segments(rest: &str) -> Vec<String> {
    let word = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let Some(list) = rest.strip_prefix('{') else {
        return vec![word(rest)];
    };
    let (mut depth, mut items, mut current) = (1, Vec::new(), String::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => items.push(std::mem::take(&mut current)),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if c != ',' || depth > 1 {
            current.push(c);
        }
    }
    items.push(current);
    items.iter().map(|item| word(item)).filter(|item: &String| !item.is_empty()).collect()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|group| group.contains(&module))
}

fn check_layers(path: &str, text: &str) -> Vec<String> {
    let Some(inner) = path.strip_prefix("core/src/").filter(|inner| *inner != "lib.rs") else {
        return Vec::new();
    };
    let module = inner.split(['/', '.']).next().unwrap_or_default();
    let Some(own) = layer(module) else {
        return vec![format!("{path}: module `{module}` has no place in the list of layers")];
    };
    let mut complaints = Vec::new();
    for (line, used) in used_modules(path, &shipped(path, text)) {
        let strangers = STRANGERS.iter().filter(|(who, _)| *who == module).any(|(_, not)| not.contains(&used.as_str()));
        match layer(&used) {
            _ if used == module => {}
            Some(other) if other < own && !strangers => {}
            Some(_) => complaints.push(format!("{path}:{line}: `{module}` must not use `{used}`")),
            None => complaints.push(format!("{path}:{line}: `{used}` is no layer")),
        }
    }
    complaints
}

/// `what` as a whole path or word: not the end of a longer name.
fn occurrences<'a>(code: &'a str, what: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(what).filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(part_of_name);
        let after = what.ends_with(part_of_name) && code[at + what.len()..].chars().next().is_some_and(part_of_name);
        (!before && !after).then(|| code[..at].matches('\n').count() + 1)
    })
}

fn forbidden(path: &str, code: &str, words: &[&str], why: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for word in words {
        complaints.extend(occurrences(code, word).map(|line| format!("{path}:{line}: `{word}`: {why}")));
    }
    complaints
}

/// A file of core that is not, as a whole, the tests of its folder: `mod tests;` stands behind `#[cfg(test)]`.
fn shipped_in_core(path: &str) -> bool {
    path.starts_with("core/src/") && !path.ends_with("/tests.rs")
}

/// No std; alloc only behind the feature of that name.
fn check_no_std(path: &str, text: &str) -> Vec<String> {
    if !shipped_in_core(path) {
        return Vec::new();
    }
    let code = shipped(path, text);
    let mut complaints = forbidden(path, &code, &["std::", "extern crate std"], "core runs without a system");
    if code.contains("#![cfg(feature = \"alloc\")]") {
        return complaints;
    }
    let lines: Vec<&str> = code.lines().collect();
    for what in ["alloc::", "extern crate alloc"] {
        for line in occurrences(&code, what) {
            let guard = lines[..line - 1].iter().rev().find(|line| !line.trim().is_empty());
            if guard.is_none_or(|guard| guard.trim() != "#[cfg(feature = \"alloc\")]") {
                complaints.push(format!("{path}:{line}: `{what}` outside the feature `alloc`"));
            }
        }
    }
    complaints
}

/// Nothing whose order or value depends on the moment.
fn check_deterministic(path: &str, text: &str) -> Vec<String> {
    let simulated =
        path.starts_with("sim/src/") && !CLOCKS_ALLOWED.iter().any(|(allowed, _)| path.starts_with(allowed));
    if !path.starts_with("core/src/") && !simulated {
        return Vec::new();
    }
    let mut words = vec!["HashMap", "HashSet", "SystemTime", "thread_rng"];
    if path.starts_with("core/src/") {
        words.extend(["Instant", "num_traits", "rand_distr", "mul_add", "DefaultHasher"]);
    } else {
        words.extend(["Instant"]);
    }
    forbidden(path, &shipped(path, text), &words, "results must not depend on it")
}

fn check_opening(path: &str, text: &str) -> Vec<String> {
    // An empty `main` is a place held free for a program to come.
    let placeholder = text.trim() == "fn main() {}";
    if text.starts_with("//!") || placeholder { Vec::new() } else { vec![format!("{path}: does not open with `//!`")] }
}

fn check_length(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    let listed = LONG_FILES.iter().any(|(long, _)| *long == path);
    if lines > LINES_MAX && !listed {
        vec![format!("{path}: {lines} lines, more than {LINES_MAX}")]
    } else {
        Vec::new()
    }
}

/// Panics in core only beside a visible invariant.
fn check_panics(path: &str, text: &str) -> Vec<String> {
    if !shipped_in_core(path) {
        return Vec::new();
    }
    let original: Vec<&str> = text.lines().collect();
    let mut complaints = Vec::new();
    let words = [".unwrap()", ".expect(", "panic!(", "unreachable!(", "todo!(", "unimplemented!("];
    for (number, line) in shipped(path, text).lines().enumerate() {
        let Some(word) = words.iter().find(|word| line.contains(**word)) else {
            continue;
        };
        let beside = [number.checked_sub(1), Some(number)].into_iter().flatten();
        if !beside.filter_map(|i| original.get(i)).any(|line| line.contains("// invariant:")) {
            complaints.push(format!("{path}:{}: `{word}` without `// invariant:`", number + 1));
        }
    }
    complaints
}

/// `unsafe` in the listed files only, each beside a SAFETY sentence.
fn check_unsafe(path: &str, text: &str) -> Vec<String> {
    let code = code(text);
    if !UNSAFE_ALLOWED.iter().any(|(allowed, _)| *allowed == path) {
        return forbidden(path, &code, &["unsafe"], "not in this file")
            .into_iter()
            .filter(|_| !path.ends_with("tidy.rs"))
            .collect();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut complaints = Vec::new();
    for line in occurrences(&code, "unsafe") {
        // Attributes, the start of a statement and earlier lines of the same comment may stand between.
        if !lines[line.saturating_sub(5)..line].iter().any(|line| line.contains("SAFETY:")) {
            complaints.push(format!("{path}:{line}: `unsafe` without a SAFETY sentence"));
        }
    }
    complaints
}

/// The table of core's modules and their declarations follow the layers.
fn check_module_table(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | [`")).filter_map(|rest| rest.split('`').next());
    let rows: Vec<&str> = rows.collect();
    let declared =
        text.lines().filter_map(|line| line.strip_prefix("pub mod ")).filter_map(|rest| rest.strip_suffix(';'));
    let mut complaints = Vec::new();
    for module in declared {
        if !rows.contains(&module) {
            complaints.push(format!("core/src/lib.rs: `{module}` is missing in the table"));
        }
    }
    let places: Vec<Option<usize>> = rows.iter().map(|row| layer(row)).collect();
    if !places.is_sorted() || places.contains(&None) {
        complaints.push(format!("core/src/lib.rs: the table is not in the order of the layers: {rows:?}"));
    }
    complaints
}

/// Lines of `cargo tree -e features`: no `std` of a crate that would then compute with the system's library.
fn check_features(tree: &str, crates: &[&str], banned: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    for name in crates {
        for feature in banned {
            let enabled = format!("{name} feature \"{feature}\"");
            if tree.lines().any(|line| line.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(&enabled)) {
                complaints.push(format!("{enabled} is on"));
            }
        }
    }
    complaints
}

fn check_libm_pin(lock: &str, manifest: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if !manifest.contains("libm = { version = \"=0.2.16\"") {
        complaints.push("Cargo.toml: libm is not pinned to =0.2.16".to_owned());
    }
    let versions: Vec<&str> = lock
        .split("[[package]]")
        .filter(|package| package.contains("name = \"libm\"\n"))
        .filter_map(|p| p.split("version = \"").nth(1))
        .filter_map(|p| p.split('"').next())
        .collect();
    if versions != ["0.2.16"] {
        complaints.push(format!("Cargo.lock: libm is {versions:?}"));
    }
    complaints
}

/// A moving toolchain changes code generation under the measured numbers and drops targets.
fn check_toolchain(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for banned in
        [["channel = ", "\"stable\""].concat(), ["rustup ", "update"].concat(), ["toolchain ", "install"].concat()]
    {
        if text.contains(&banned) {
            complaints.push(format!("{path}: `{banned}`"));
        }
    }
    complaints
}

fn over_sources(rule: fn(&str, &str) -> Vec<String>) {
    let complaints: Vec<String> = sources().iter().flat_map(|(path, text)| rule(path, text)).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn cargo_tree(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).arg("tree").args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn core_modules_use_only_the_layers_below_them() {
    over_sources(check_layers);
    let bad = [
        ("core/src/linalg/x.rs", "use crate::random::Stream;\n"),
        ("core/src/math.rs", "use crate::{digest::Digest, math};\n"),
        ("core/src/privacy/encode.rs", "fn f() { crate::surrogate::exact::g() }\n"),
        ("core/src/privacy/mod.rs", "use crate::kernel::Kernel;\n"),
        ("core/src/surrogate/exact.rs", "use crate::privacy::event;\n"),
        ("core/src/federated/agent.rs", "use crate::local::Message;\n"),
        ("core/src/linalg/dot.rs", "use super::super::wire;\n"),
        ("core/src/linalg/mod.rs", "use super::wire;\n"),
        ("core/src/schedule.rs", "use crate::{\n    math::Scalar,\n    federated::{agent, server},\n};\n"),
        ("core/src/helpers.rs", "\n"),
    ];
    for (path, text) in bad {
        assert_eq!(check_layers(path, text).len(), 1, "{path}: {text}");
    }
    let good = "use crate::math::Scalar;\n/// [`crate::wire`]\nuse super::wire;\n#[cfg(test)]\nmod tests {\n    use crate::wire;\n}\n";
    assert_eq!(check_layers("core/src/linalg/x.rs", good), Vec::<String>::new());
}

#[test]
fn the_table_of_modules_follows_the_layers() {
    let text = std::fs::read_to_string(root().join("core/src/lib.rs")).unwrap();
    assert_eq!(check_module_table(&text), Vec::<String>::new());
    assert_eq!(check_module_table("//! | [`math`] | x |\npub mod math;\npub mod wire;\n").len(), 1);
    assert_eq!(check_module_table("//! | [`wire`] | x |\n//! | [`math`] | x |\n").len(), 1);
}

#[test]
fn core_needs_no_system_and_no_heap() {
    over_sources(check_no_std);
    let path = "core/src/x.rs";
    assert_eq!(check_no_std(path, "use std::vec::Vec;\n").len(), 1);
    assert_eq!(check_no_std(path, "extern crate alloc;\nuse alloc::vec;\n").len(), 2);
    assert!(check_no_std(path, "#[cfg(feature = \"alloc\")]\nextern crate alloc;\n").is_empty());
    assert!(check_no_std(path, "#[cfg(test)]\nmod tests {\n    use std::vec;\n}\nlet noise_std = 1.0;\n").is_empty());
}

#[test]
fn results_do_not_depend_on_clocks_or_hash_order() {
    over_sources(check_deterministic);
    assert_eq!(check_deterministic("core/src/x.rs", "use core::time::Instant;\nlet m: HashMap<u8, u8>;\n").len(), 2);
    assert_eq!(check_deterministic("core/src/x.rs", "x.mul_add(y, z);\n").len(), 1);
    assert_eq!(check_deterministic("sim/src/driver/tokio.rs", "let now = std::time::Instant::now();\n").len(), 1);
    assert!(check_deterministic("sim/src/report/table.rs", "Instant::now()\n").is_empty());
    assert!(
        check_deterministic("core/src/x.rs", "// Instantaneous HashMap\nlet instants = Instantiated;\n").is_empty()
    );
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    over_sources(check_opening);
    assert_eq!(check_opening("x.rs", "use std::fmt;\n//! late\n").len(), 1);
}

#[test]
fn files_are_short() {
    over_sources(check_length);
    assert_eq!(check_length("x.rs", &"x\n".repeat(LINES_MAX + 1)).len(), 1);
    assert!(check_length("x.rs", &"x\n".repeat(LINES_MAX)).is_empty());
    let all: BTreeMap<String, String> = sources().into_iter().collect();
    assert!(LONG_FILES.iter().all(|(path, reason)| all.contains_key(*path) && reason.len() > 20));
}

#[test]
fn core_panics_only_beside_an_invariant() {
    over_sources(check_panics);
    let path = "core/src/x.rs";
    assert_eq!(check_panics(path, "let a = b.unwrap();\nlet c = d.expect(\"e\");\n").len(), 2);
    assert!(check_panics(path, "// invariant: checked above\nlet a = b.unwrap();\n").is_empty());
    assert!(check_panics(path, "let a = b.unwrap_or(0);\n/// x.unwrap()\n").is_empty());
}

#[test]
fn unsafe_code_has_one_home_and_reasons() {
    over_sources(check_unsafe);
    let home = UNSAFE_ALLOWED[0].0;
    assert_eq!(check_unsafe("sim/src/x.rs", "fn f() {\n    unsafe { g() }\n}\n").len(), 1);
    assert_eq!(check_unsafe(home, "fn f() {\n\n\n\n\n    unsafe { g() }\n}\n").len(), 1);
    assert!(check_unsafe(home, "// SAFETY: it is so.\nunsafe { g() }\n").is_empty());
}

#[test]
fn dependencies_cannot_change_the_bits() {
    // In core's own graph neither may reach std; in the whole program nalgebra may not (it would pick SIMD kernels at
    // run time) and must call libm by name, which makes it indifferent to num-traits.
    let own = cargo_tree(&["-p", "sordino-core", "--all-features", "-e", "features,normal"]);
    let all = cargo_tree(&["-p", "sordino-sim", "-p", "sordino-core", "-p", "sordino-tests", "-e", "features,normal"]);
    let matrices = ["nalgebra", "simba"];
    let numbers = ["nalgebra", "simba", "num-traits", "num-complex"];
    assert_eq!(check_features(&own, &numbers, &["std", "default"]), Vec::<String>::new());
    assert_eq!(check_features(&own, &["rand_core", "serde", "postcard"], &["std"]), Vec::<String>::new());
    assert_eq!(check_features(&all, &matrices, &["std", "default"]), Vec::<String>::new());
    assert!(own.contains("nalgebra feature \"libm-force\""), "nalgebra does not call libm by name");
    assert!(!own.contains("matrixmultiply") && !own.contains("getrandom"));
    // Negative control, in the form that cargo prints.
    let tree = "sordino-core v0.1.0\n├── nalgebra feature \"std\"\n│   └── nalgebra v0.35.0\n";
    assert_eq!(check_features(tree, &matrices, &["std"]).len(), 1);
}

#[test]
fn libm_is_pinned() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    assert_eq!(check_libm_pin(&read("Cargo.lock"), &read("Cargo.toml")), Vec::<String>::new());
    let lock = "[[package]]\nname = \"libm\"\nversion = \"0.2.17\"\n";
    assert_eq!(check_libm_pin(lock, "libm = { version = \"0.2\" }").len(), 2);
}

#[test]
fn no_script_moves_the_toolchain() {
    let mut files: Vec<(String, String)> = sources();
    for name in [".ci/run", "rust-toolchain.toml", "rust-toolchain", "README.md"] {
        if let Ok(text) = std::fs::read_to_string(root().join(name)) {
            files.push((name.to_owned(), text));
        }
    }
    let complaints: Vec<String> = files.iter().flat_map(|(path, text)| check_toolchain(path, text)).collect();
    assert_eq!(complaints, Vec::<String>::new());
    assert_eq!(check_toolchain("x", &format!("channel = {:?}\n", "stable")).len(), 1);
}

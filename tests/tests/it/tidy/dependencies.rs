//! Rules about what is built with what: resolved features, the pinned library of functions, the
//! toolchain.

use std::process::Command;

use super::source::{root, sources};

/// `cargo run --release` on a fresh clone builds at most this many crates of others; 13 of them are
/// X25519, HKDF and ChaCha20.
const CRATES_MAX: usize = 115;

/// Lines of `cargo tree -e features`: no `std` of a crate that would then compute with the system's
/// library.
fn check_features(tree: &str, crates: &[&str], banned: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    for name in crates {
        for feature in banned {
            let enabled = format!("{name} feature \"{feature}\"");
            if tree.lines().any(|line| {
                line.trim_start_matches(|c: char| !c.is_alphanumeric())
                    .starts_with(&enabled)
            }) {
                complaints.push(format!("{enabled} is on"));
            }
        }
    }
    complaints
}

/// Crates of a `cargo tree --prefix none`: names with their versions, each once. Ours do not count,
/// and a crate that is built for the program and for a build script or macro as well counts once,
/// as cargo lists it.
fn crates(tree: &str) -> usize {
    let foreign = tree.lines().filter(|line| !line.starts_with("sordino-"));
    let names = foreign.map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    names
        .filter(|name| name.len() == 2)
        .collect::<std::collections::BTreeSet<_>>()
        .len()
}

/// The packages of the workspace.
fn members() -> Vec<String> {
    let metadata = cargo(
        "metadata",
        &["--no-deps", "--format-version=1", "--offline"],
    );
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| package["name"].as_str().unwrap().to_owned())
        .collect()
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
    for banned in [
        ["channel = ", "\"stable\""].concat(),
        ["rustup ", "update"].concat(),
        ["toolchain ", "install"].concat(),
    ] {
        if text.contains(&banned) {
            complaints.push(format!("{path}: `{banned}`"));
        }
    }
    complaints
}

fn cargo_tree(arguments: &[&str]) -> String {
    cargo("tree", arguments)
}

fn cargo(command: &str, arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .arg(command)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn dependencies_cannot_change_the_bits() {
    // In core's own graph neither may reach std; in the whole program nalgebra may not (it would
    // pick SIMD kernels at run time) and must call libm by name, which makes it indifferent to
    // num-traits.
    let own = cargo_tree(&[
        "-p",
        "sordino-core",
        "--all-features",
        "-e",
        "features,normal",
    ]);
    let all = cargo_tree(&[
        "-p",
        "sordino-sim",
        "-p",
        "sordino-core",
        "-p",
        "sordino-tests",
        "-e",
        "features,normal",
    ]);
    // What a real federation adds is computed with the same library: nothing of the network may
    // switch on `std` there.
    let net = cargo_tree(&["-p", "sordino-net", "-e", "features,normal"]);
    // The same of the cluster, which computes the same federations: TCP alone, because zenoh's TLS
    // would switch it on.
    let cluster = cargo_tree(&["-p", "sordino-cluster", "-e", "features,normal"]);
    let matrices = ["nalgebra", "simba"];
    let numbers = ["nalgebra", "simba", "num-traits", "num-complex"];
    assert_eq!(
        check_features(&own, &numbers, &["std", "default"]),
        Vec::<String>::new()
    );
    assert_eq!(
        check_features(&own, &["rand_core", "serde", "postcard"], &["std"]),
        Vec::<String>::new()
    );
    assert_eq!(
        check_features(&all, &matrices, &["std", "default"]),
        Vec::<String>::new()
    );
    assert_eq!(
        check_features(&net, &numbers, &["std", "default"]),
        Vec::<String>::new()
    );
    assert_eq!(
        check_features(&cluster, &numbers, &["std", "default"]),
        Vec::<String>::new()
    );
    assert!(
        cluster.contains("zenoh feature \"transport_tcp\"")
            && !cluster.contains("zenoh feature \"transport_tls\"")
    );
    assert!(
        own.contains("nalgebra feature \"libm-force\""),
        "nalgebra does not call libm by name"
    );
    assert!(!own.contains("matrixmultiply") && !own.contains("getrandom"));
    // Negative control, in the form that cargo prints.
    let tree = "sordino-core v0.1.0\n├── nalgebra feature \"std\"\n│   └── nalgebra v0.35.0\n";
    assert_eq!(check_features(tree, &matrices, &["std"]).len(), 1);
}

#[test]
fn no_member_switches_on_the_systems_functions() {
    // As each would be built alone and tested: with `std` these take exp, ln and sin from the
    // system, whose last bits differ between machines.
    let numbers = ["num-traits", "nalgebra", "simba", "num-complex"];
    let check = |member: &str, edges: &str| -> Vec<String> {
        let tree = cargo_tree(&["-p", member, "--all-features", "-e", edges]);
        check_features(&tree, &numbers, &["std", "default"])
            .iter()
            .map(|c| format!("{member}: {c}"))
            .collect()
    };
    let members = members();
    assert!(
        ["sordino-core", "sordino-host", "sordino-sim", "xtask"]
            .iter()
            .all(|m| members.iter().any(|n| n == m))
    );
    let complaints: Vec<String> = members
        .iter()
        .flat_map(|member| check(member, "features,normal,dev"))
        .collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    // Negative control, in the form that cargo prints.
    let tree = "sordino-sim v0.1.0\n├── num-traits feature \"std\"\n│   └── num-traits v0.2.19\n";
    assert_eq!(
        check_features(tree, &numbers, &["std", "default"]),
        ["num-traits feature \"std\" is on"]
    );
}

/// The versions of every package in a lock file, by name.
fn locked(lock: &str) -> std::collections::BTreeMap<&str, Vec<&str>> {
    let mut versions = std::collections::BTreeMap::<&str, Vec<&str>>::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            package
                .split(name)
                .nth(1)
                .and_then(|rest| rest.split('"').next())
        };
        if let (Some(name), Some(version)) = (field("\nname = \""), field("\nversion = \"")) {
            versions.entry(name).or_default().push(version);
        }
    }
    versions
}

/// Packages that a lock file of its own has in another version than the repository's.
fn check_locks(own: &str, whole: &str) -> Vec<String> {
    let whole = locked(whole);
    let differs = |(name, versions): (&str, Vec<&str>)| {
        let known = whole.get(name)?;
        let other: Vec<&str> = versions
            .into_iter()
            .filter(|version| !known.contains(version))
            .collect();
        (!other.is_empty()).then(|| {
            format!(
                "{name} {}: the repository has {}",
                other.join(", "),
                known.join(", ")
            )
        })
    };
    locked(own).into_iter().filter_map(differs).collect()
}

/// Whoever builds a wheel fetches what its lock names: 161 packages of others at most, where all of
/// the repository are 500.
const WHEEL_MAX: usize = 161;

#[test]
fn the_wheel_has_a_lock_of_its_own_with_the_versions_of_the_repository() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let own = read("python/Cargo.lock");
    let whole = read("Cargo.lock");
    assert_eq!(check_locks(&own, &whole), Vec::<String>::new());
    let foreign = locked(&own)
        .into_iter()
        .filter(|(name, _)| !name.starts_with("sordino-"));
    let count = foreign.map(|(_, versions)| versions.len()).sum::<usize>();
    assert!(
        count > 50 && count <= WHEEL_MAX,
        "{count} packages, at most {WHEEL_MAX}"
    );
    // It is what cargo would write: nothing is missing, nothing is left over. A fresh machine
    // fetches what it names first.
    let manifest = ["--manifest-path", "python/Cargo.toml"];
    cargo(
        "metadata",
        &[&manifest[..], &["--locked", "--format-version=1"]].concat(),
    );
    // And computes with the same library.
    let tree = cargo_tree(&[&manifest[..], &["-e", "features,normal"]].concat());
    assert_eq!(
        check_features(&tree, &["nalgebra", "simba"], &["std", "default"]),
        Vec::<String>::new()
    );
    assert!(
        tree.contains("nalgebra feature \"libm-force\"") && tree.contains("pyo3"),
        "{tree}"
    );
    // Negative control: a library in another version.
    let other = own.replace(
        "name = \"libm\"\nversion = \"0.2.16\"",
        "name = \"libm\"\nversion = \"0.2.17\"",
    );
    assert_eq!(
        check_locks(&other, &whole),
        ["libm 0.2.17: the repository has 0.2.16"]
    );
}

#[test]
fn a_fresh_clone_builds_few_crates() {
    let tree = cargo_tree(&[
        "-p",
        "sordino-sim",
        "-e",
        "normal,build",
        "--prefix",
        "none",
    ]);
    let count = crates(&tree);
    assert!(
        count > 50 && count <= CRATES_MAX,
        "{count} crates, at most {CRATES_MAX}"
    );
    assert!(
        !tree.contains("zenoh"),
        "the cluster's network is in the default build"
    );
    // Negative control: repeats count once, ours not at all, other versions do.
    let tree = "sordino-sim v0.1.0 (/x)\nsyn v2.0.1\nsyn v3.0.0\nserde_derive v1.0.0 (proc-macro)\nsyn v2.0.1 (*)\n\n";
    assert_eq!(crates(tree), 3);
}

#[test]
fn libm_is_pinned() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    assert_eq!(
        check_libm_pin(&read("Cargo.lock"), &read("Cargo.toml")),
        Vec::<String>::new()
    );
    let lock = "[[package]]\nname = \"libm\"\nversion = \"0.2.17\"\n";
    assert_eq!(
        check_libm_pin(lock, "libm = { version = \"0.2\" }").len(),
        2
    );
}

#[test]
fn no_script_moves_the_toolchain() {
    let mut files: Vec<(String, String)> = sources();
    for name in [
        ".ci/run",
        "rust-toolchain.toml",
        "rust-toolchain",
        "README.md",
    ] {
        if let Ok(text) = std::fs::read_to_string(root().join(name)) {
            files.push((name.to_owned(), text));
        }
    }
    let complaints: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| check_toolchain(path, text))
        .collect();
    assert_eq!(complaints, Vec::<String>::new());
    assert_eq!(
        check_toolchain("x", &format!("channel = {:?}\n", "stable")).len(),
        1
    );
}

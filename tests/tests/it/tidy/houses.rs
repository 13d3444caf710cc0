//! The floors of every package: which rooms there are, which of them a room may use; no circle,
//! neither of rooms nor of files.
//!
//! A file uses another if it names something that is defined there. A re-export is no use, and a
//! name is followed through re-exports to the file that defines it: the traits of a folder may
//! stand in its `mod.rs` while that hands out what its files hold.

use std::collections::{BTreeMap, BTreeSet};

use sordino_tests::houses::{HOUSES, House};

use super::source::{shipped, sources, used_modules};

/// Learning and privacy do not know each other, whatever their order: (room of core, what it must
/// not use).
const STRANGERS: &[(&str, &[&str])] = &[
    (
        "privacy",
        &["kernel", "features", "domain", "surrogate", "acquisition"],
    ),
    ("kernel", &["privacy"]),
    ("surrogate", &["privacy"]),
    ("acquisition", &["privacy"]),
];

/// The house of a file, and its place in it; nothing for crate roots, which only list rooms.
pub fn house(path: &str) -> Option<(&'static House, &str)> {
    let house = HOUSES
        .iter()
        .find(|house| path.starts_with(house.sources))?;
    let inner = &path[house.sources.len()..];
    (!["lib.rs", "main.rs"].contains(&inner)).then_some((house, inner))
}

/// A room uses no room above it.
pub fn check_floors(path: &str, text: &str) -> Vec<String> {
    let Some((house, inner)) = house(path) else {
        return Vec::new();
    };
    let room = inner.split(['/', '.']).next().unwrap_or_default();
    let Some(own) = house.floor(room) else {
        return vec![format!(
            "{path}: `{room}` has no place in the list of floors"
        )];
    };
    let mut complaints = Vec::new();
    for (line, used) in used_modules(inner, &shipped(path, text)) {
        let of_room = |who: &str| who == room && house.sources == "core/src/";
        let strangers = STRANGERS
            .iter()
            .any(|(who, not)| of_room(who) && not.contains(&used.as_str()));
        match house.floor(&used) {
            _ if used == room => {}
            Some(other) if other < own && !strangers => {}
            Some(_) => complaints.push(format!("{path}:{line}: `{room}` must not use `{used}`")),
            None => complaints.push(format!("{path}:{line}: `{used}` is on no floor")),
        }
    }
    complaints
}

type Module = Vec<String>;

/// The files of a house by their modules, without comments and tests, and what they use.
pub struct Plan {
    modules: BTreeSet<Module>,
    reexports: BTreeMap<(Module, String), Module>,
    used: BTreeMap<Module, Vec<Module>>,
}

impl Plan {
    pub fn draw<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> Plan {
        let files: Vec<(Module, String)> = files
            .map(|(inner, text)| (module(inner), shipped(&format!("x/src/{inner}"), text)))
            .collect();
        let modules = files.iter().map(|(module, _)| module.clone()).collect();
        let mut plan = Plan {
            modules,
            reexports: BTreeMap::new(),
            used: BTreeMap::new(),
        };
        for (module, code) in &files {
            let (imports, rest) = imports(code);
            let mut paths = named(&rest);
            // Names of its own modules need no beginning.
            let own = plan.modules.iter().filter(|other| {
                other
                    .split_last()
                    .is_some_and(|(_, above)| above == &module[..])
            });
            paths.extend(
                own.filter_map(|other| other.last())
                    .filter(|name| begins(&rest, name))
                    .map(|n| vec![n.clone()]),
            );
            for (public, path) in imports {
                match (public, path.last()) {
                    (true, Some(name)) => drop(
                        plan.reexports
                            .insert((module.clone(), name.clone()), path.clone()),
                    ),
                    _ => paths.push(path),
                }
            }
            plan.used.insert(module.clone(), paths);
        }
        plan
    }

    /// A path as it is written in a module, from the root.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &path[1..]),
            "super" | "self" => {
                while let [first, after @ ..] = rest
                    && ["super", "self"].contains(&first.as_str())
                {
                    if first == "super" {
                        base.pop();
                    }
                    rest = after;
                }
            }
            child => {
                base.push(child.to_owned());
                if !self.modules.contains(&base) {
                    return None;
                }
                base.pop();
            }
        }
        base.extend(rest.iter().filter(|segment| *segment != "self").cloned());
        Some(base)
    }

    /// The file that defines what stands at a path.
    fn file(&self, mut path: Module) -> Option<Module> {
        // Re-exports of re-exports end; a bound ends them even if they do not.
        for _ in 0..8 {
            let depth = (1..=path.len())
                .rev()
                .find(|depth| self.modules.contains(&path[..*depth]))?;
            let module = path[..depth].to_vec();
            let rest = path[depth..].to_vec();
            let onward = rest
                .first()
                .and_then(|name| self.reexports.get(&(module.clone(), name.clone())));
            let Some(onward) = onward.and_then(|onward| self.absolute(&module, onward)) else {
                return Some(module);
            };
            path = onward;
            path.extend_from_slice(&rest[1..]);
        }
        None
    }

    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |module: &Module, paths: &[Module]| -> BTreeSet<Module> {
            let files = paths
                .iter()
                .filter_map(|path| self.file(self.absolute(module, path)?));
            files.filter(|file| file != module).collect()
        };
        self.used
            .iter()
            .map(|(module, paths)| (module, of(module, paths)))
            .collect()
    }

    /// The largest sets of files that all reach each other.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let arrows = self.arrows();
        let reached = |from: &Module| {
            let mut seen = BTreeSet::new();
            let mut open = vec![from.clone()];
            while let Some(next) = open.pop() {
                for file in arrows.get(&next).into_iter().flatten() {
                    if seen.insert(file.clone()) {
                        open.push(file.clone());
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> = self
            .modules
            .iter()
            .map(|file| (file, reached(file)))
            .collect();
        let circle = |file: &Module| -> Vec<String> {
            let there = reached[file]
                .iter()
                .filter(|other| reached[other].contains(file));
            there.map(|other| other.join("/")).collect()
        };
        let circles: BTreeSet<Vec<String>> = self
            .modules
            .iter()
            .map(circle)
            .filter(|circle| !circle.is_empty())
            .collect();
        circles.into_iter().collect()
    }
}

fn module(inner: &str) -> Module {
    let path = inner.trim_end_matches(".rs");
    path.trim_end_matches("/mod")
        .split('/')
        .map(str::to_owned)
        .collect()
}

/// What is imported, and whether it is handed on; and the code without the imports.
fn imports(code: &str) -> (Vec<(bool, Module)>, String) {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut open = None::<(bool, String)>;
    for line in code.lines() {
        let line = line.trim();
        if open.is_none() {
            let (public, after) = match line.strip_prefix("pub") {
                Some(after) => (
                    true,
                    after
                        .strip_prefix("(crate)")
                        .or(after.strip_prefix("(super)"))
                        .unwrap_or(after),
                ),
                None => (false, line),
            };
            match after.trim_start().strip_prefix("use ") {
                Some(list) => open = Some((public, list.to_owned())),
                None => rest.extend([line, "\n"]),
            }
        } else if let Some((_, list)) = &mut open {
            list.push_str(line);
        }
        if let Some((public, list)) = open.take_if(|(_, list)| list.ends_with(';')) {
            found.extend(
                paths(list.trim_end_matches(';'), &[])
                    .into_iter()
                    .map(|path| (public, path)),
            );
        }
    }
    (found, rest)
}

/// `a::{b, c::{d, e as f}}` gives a::b, a::c::d, a::c::e.
fn paths(text: &str, before: &[String]) -> Vec<Module> {
    let segments = |text: &str| -> Module {
        let names = text
            .split("::")
            .map(|segment| segment.split(" as ").next().unwrap_or("").trim().to_owned());
        before
            .iter()
            .cloned()
            .chain(names.filter(|name| !name.is_empty()))
            .collect()
    };
    let Some((head, list)) = text.split_once('{') else {
        return vec![segments(text)];
    };
    let head = segments(head);
    let mut depth = 0;
    let mut found = Vec::new();
    let mut current = String::new();
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth < 0 || (c == ',' && depth == 0) {
            found.extend(paths(&std::mem::take(&mut current), &head));
        } else {
            current.push(c);
        }
        if depth < 0 {
            break;
        }
    }
    found.retain(|path| path.len() > head.len());
    found
}

/// Paths in code that begin with `crate`, `super` or `self`.
fn named(code: &str) -> Vec<Module> {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            if !code[..at].ends_with(word) {
                let path: String = code[at..].chars().take_while(|c| word(*c)).collect();
                found.push(
                    path.split("::")
                        .filter(|segment| !segment.is_empty())
                        .map(str::to_owned)
                        .collect(),
                );
            }
        }
    }
    found
}

/// Whether a path of the code begins with this module.
fn begins(code: &str, module: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.match_indices(&format!("{module}::"))
        .any(|(at, _)| !code[..at].ends_with(word))
}

/// Sources that still hold a circle each. The firmware's stands in what it measures of itself: its
/// numbers move with it.
const CIRCULAR: &[&str] = &["firmware-example/src/", "python/src/"];

/// The folders of modules: sources and examples of every package, whether it has a list of floors
/// or not.
fn folders(files: &[(String, String)]) -> BTreeSet<&str> {
    let end = |path: &str| {
        let ends = ["/src/", "/examples/"]
            .into_iter()
            .filter_map(|part| Some(path.find(part)? + part.len()));
        ends.min()
    };
    files
        .iter()
        .filter_map(|(path, _)| path.get(..end(path)?))
        .collect()
}

/// The circles of a folder.
fn check_circles(folder: &str, files: &[(String, String)]) -> Vec<String> {
    let within = files
        .iter()
        .filter_map(|(path, text)| Some((path.strip_prefix(folder)?, text.as_str())));
    let plan = Plan::draw(within.filter(|(inner, _)| !["lib.rs", "main.rs"].contains(inner)));
    plan.circles()
        .into_iter()
        .map(|circle| format!("{folder}: a circle of {}", circle.join(", ")))
        .collect()
}

#[test]
fn no_room_uses_one_above_it() {
    super::source::over_sources(check_floors);
    let bad = [
        ("core/src/linalg/x.rs", "use crate::random::Stream;\n"),
        ("core/src/math.rs", "use crate::{digest::Digest, math};\n"),
        (
            "core/src/privacy/encode.rs",
            "fn f() { crate::surrogate::exact::g() }\n",
        ),
        ("core/src/privacy/mod.rs", "use crate::kernel::Kernel;\n"),
        (
            "core/src/surrogate/exact.rs",
            "use crate::privacy::event;\n",
        ),
        (
            "core/src/federated/agent.rs",
            "use crate::local::Message;\n",
        ),
        ("core/src/linalg/dot.rs", "use super::super::random;\n"),
        ("core/src/linalg/mod.rs", "use super::random;\n"),
        (
            "core/src/schedule.rs",
            "use crate::{\n    math::Scalar,\n    federated::{agent, server},\n};\n",
        ),
        ("core/src/helpers.rs", "\n"),
        ("host/src/files.rs", "use crate::ledger::Ledger;\n"),
        ("host/src/ledger/mod.rs", "fn f() { crate::tune::g() }\n"),
        ("host/src/helpers.rs", "\n"),
        ("net/src/rounds.rs", "use crate::door::Door;\n"),
        ("net/src/folder.rs", "use crate::serve::Serving;\n"),
        ("capi/src/status.rs", "use crate::memory::Word;\n"),
        ("capi/src/gp.rs", "use crate::agent::Agent;\n"),
        (
            "sim/experiment/src/scenario/any.rs",
            "use crate::record::Record;\n",
        ),
        (
            "sim/experiment/src/scenario/mod.rs",
            "use super::world::fault;\n",
        ),
        (
            "sim/experiment/src/journal/checkpoint.rs",
            "use crate::metrics::Statistics;\n",
        ),
        (
            "sim/experiment/src/world/mod.rs",
            "use crate::progress::Step;\n",
        ),
        ("sim/experiment/src/text.rs", "use crate::files::read;\n"),
        ("sim/report/src/folder.rs", "use crate::view::View;\n"),
        (
            "sim/engine/src/contract.rs",
            "use crate::federated::DriverError;\n",
        ),
        (
            "sim/lab/src/sweep/folder.rs",
            "fn f() { super::super::driver::part() }\n",
        ),
        ("sim/src/helpers.rs", "\n"),
    ];
    for (path, text) in bad {
        assert_eq!(check_floors(path, text).len(), 1, "{path}: {text}");
    }
    let good = "use crate::math::Scalar;\n/// [`crate::local`]\nuse super::local;\n#[cfg(test)]\nmod tests {\n    use crate::local;\n}\n";
    assert_eq!(
        check_floors("core/src/linalg/x.rs", good),
        Vec::<String>::new()
    );
    let good = "use sordino_report::files;\nuse crate::execute;\nuse super::index;\n/// [`crate::parts`]\nstruct X;\n";
    assert_eq!(
        check_floors("sim/lab/src/sweep/folder.rs", good),
        Vec::<String>::new()
    );
}

#[test]
fn no_files_stand_in_a_circle() {
    let files = sources();
    let folders = folders(&files);
    for folder in [
        "core/src/",
        "xtask/src/",
        "firmware-networked/src/",
        "capi/src/",
        "capi/examples/",
    ] {
        assert!(folders.contains(folder), "{folder}: {folders:?}");
    }
    let (circular, straight): (Vec<&str>, Vec<&str>) = folders
        .into_iter()
        .partition(|folder| CIRCULAR.contains(folder));
    let complaints: Vec<String> = straight
        .into_iter()
        .flat_map(|folder| check_circles(folder, &files))
        .collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    // Who no longer needs the exception loses it.
    for folder in circular {
        assert!(
            !check_circles(folder, &files).is_empty(),
            "{folder} holds no circle; strike it from the list"
        );
    }
    let circles =
        |files: &[(&'static str, &'static str)]| Plan::draw(files.iter().copied()).circles();
    let bad: &[&[(&str, &str)]] = &[
        &[
            ("a/x.rs", "use super::y::Y;\n"),
            ("a/y.rs", "use super::x::X;\n"),
        ],
        &[
            ("a/x.rs", "use super::{y::Y};\n"),
            ("a/y.rs", "fn f() { crate::a::x::g() }\n"),
        ],
        // Through what the folder hands out.
        &[
            ("a/mod.rs", "pub use x::X;\npub use y::{Y, Z as W};\n"),
            ("a/x.rs", "use super::Y;\n"),
            ("a/y.rs", "use crate::{\n    a::{X, b},\n};\n"),
        ],
        // A folder that uses its file, and a file that uses what stands in its folder's `mod.rs`.
        &[
            ("a/mod.rs", "mod x;\nfn f() { x::g() }\npub fn h() {}\n"),
            ("a/x.rs", "use super::h;\n"),
        ],
        // Over three, of two rooms.
        &[
            ("a.rs", "use crate::b::c::C;\n"),
            ("b/c.rs", "use super::d;\n"),
            ("b/d.rs", "use crate::a::A;\n"),
        ],
    ];
    for files in bad {
        assert_eq!(circles(files).len(), 1, "{files:?}");
    }
    let good: &[(&str, &str)] = &[
        ("a/mod.rs", "mod x;\npub use x::X;\npub trait T {}\n"),
        (
            "a/x.rs",
            "use super::T;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n",
        ),
        ("b.rs", "use crate::a::{T, X};\n"),
    ];
    assert_eq!(circles(good), Vec::<Vec<String>>::new());
    assert!(
        !check_circles(
            "core/src/",
            &[
                ("core/src/a.rs".into(), "use crate::b;\n".into()),
                ("core/src/b.rs".into(), "use crate::a;\n".into())
            ]
        )
        .is_empty()
    );
}

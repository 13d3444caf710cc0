//! Operations of which the linker proves that they cannot panic: each alone in an image in which no
//! function of `core::panicking` is left.
//!
//! The proof is the optimiser's, hence of one profile (release, one of [`BUILDS`]) and one
//! compiler; it covers the operations listed and nothing else. The list is that of the names in
//! `firmware-example/examples/panic_free/`; those that begin with `control` can panic in five
//! different ways, and must be found to.
//!
//! Those that begin with `party` or `single` are whole parties: agent, reporter, optimizer. They
//! are linked for two processors at three levels of optimisation, and the controls with them. Of
//! `single`, parties in `f32`, it is proved too that the image holds no arithmetic, comparison or
//! integer conversion of `f64`, which a device without double precision does in software: nothing
//! but the conversions between the two formats, for numbers of the configuration and of errors.

use std::fs;

use crate::elf;
use crate::process::{self, Report, cargo};
use crate::tools::{M0, M4F};

/// Where the operations are.
const SOURCES: &str = "firmware-example/examples/panic_free";
/// Fewer operations, controls or parties than there are: the list was not read.
const LEAST: (usize, usize, usize) = (47, 5, 10);
/// An operation known to compute in `f64`, which the test must see.
const DOUBLE: &str = "privacy::encode";

/// Targets and levels of optimisation at which parties are linked; the operations are at the first.
///
/// Level `z` calls functions of the standard library such as `split_at`, `copy_from_slice` or the
/// length of `chunks_exact` where `3` and `s` inline them, so that their checks stay whatever is
/// known of the arguments. Core uses forms that have none (`core/src/linalg/slice.rs`); rand_core's
/// `read_words`, with which rand_xoshiro reads a seed, does not. There the check goes only when the
/// whole program is optimised as one, because a function with a single caller is then inlined at
/// `z` as well: `lto = "fat"`, as in `templates/embassy-agent`. A profile of rand_core's or
/// rand_xoshiro's own changes nothing, because `from_seed` is inlined into core and has core's
/// level.
const BUILDS: [Build; 6] = [
    Build {
        target: M4F,
        level: "3",
        lto: "thin",
    },
    Build {
        target: M4F,
        level: "s",
        lto: "thin",
    },
    Build {
        target: M4F,
        level: "z",
        lto: "fat",
    },
    Build {
        target: M0,
        level: "3",
        lto: "thin",
    },
    Build {
        target: M0,
        level: "s",
        lto: "thin",
    },
    Build {
        target: M0,
        level: "z",
        lto: "fat",
    },
];

/// For what an image is made, and how.
#[derive(Clone, Copy)]
struct Build {
    target: &'static str,
    level: &'static str,
    lto: &'static str,
}

/// Names of the operations, by what is proved of them.
struct Names {
    controls: Vec<String>,
    operations: Vec<String>,
    parties: Vec<String>,
}

/// Links every operation and looks for a way to panic, or for arithmetic in `f64`.
pub fn run(report: &mut Report) {
    report.step("panic-free operations on M4F", || {
        let names = names()?;
        if names.operations.len() < LEAST.0
            || names.controls.len() < LEAST.1
            || names.parties.len() < LEAST.2
        {
            let operations = names.operations.len();
            let controls = names.controls.len();
            let parties = names.parties.len();
            return Err(format!(
                "only {operations} operations, {controls} controls and {parties} parties found"
            ));
        }
        let mut faults = check(BUILDS[0], &names.controls, &names.operations)?;
        if image(BUILDS[0], DOUBLE)?.doubles.is_empty() {
            faults.push(format!(
                "{DOUBLE}: links without f64, so this test does not see it"
            ));
        }
        judged(
            faults,
            format!(
                "{} operations, and {} controls panic",
                names.operations.len(),
                names.controls.len()
            ),
        )
    });
    report.step("panic-free parties on M4F and M0, levels 3, s and z", || {
        let names = names()?;
        let mut faults = Vec::new();
        for build in BUILDS {
            faults.extend(check(build, &names.controls, &names.parties)?);
        }
        let single = names.parties.iter().filter(|name| is_single(name)).count();
        let parties = names.parties.len();
        let builds = BUILDS.len();
        judged(
            faults,
            format!("{parties} parties in {builds} builds, in each of which the controls panic; {single} without f64"),
        )
    });
}

fn judged(faults: Vec<String>, note: String) -> Result<String, String> {
    if faults.is_empty() {
        Ok(note)
    } else {
        Err(faults.join("; "))
    }
}

/// What is wrong with these operations in one build, in which every control must be seen to panic.
fn check(build: Build, controls: &[String], operations: &[String]) -> Result<Vec<String>, String> {
    let at = format!("on {} at level {}", build.target, build.level);
    for control in controls {
        if !image(build, control)?.panics {
            return Err(format!(
                "{control}: links without a panic {at}, so this test does not see it"
            ));
        }
    }
    let least = image(build, "nothing")?.flash + 64;
    let mut faults = Vec::new();
    for operation in operations {
        let Image {
            flash,
            panics,
            doubles,
        } = image(build, operation)?;
        // An operation that was not linked at all would pass.
        if flash < least {
            return Err(format!(
                "{operation} is not in its image {at} ({flash} bytes, at least {least} expected)"
            ));
        }
        if panics {
            faults.push(format!("{operation} can panic {at}"));
        }
        if is_single(operation) && !doubles.is_empty() {
            faults.push(format!(
                "{operation} computes in f64 {at}: {}",
                doubles.join(", ")
            ));
        }
    }
    Ok(faults)
}

fn is_single(name: &str) -> bool {
    name.starts_with("single")
}

/// The names of all operations in the sources, in their order.
fn names() -> Result<Names, String> {
    let folder = process::root().join(SOURCES);
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.sort();
    let mut names = Names {
        controls: Vec::new(),
        operations: Vec::new(),
        parties: Vec::new(),
    };
    for path in paths {
        let source =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for name in names_in(&source) {
            let kind = match name.split_once(": ") {
                Some(("control", _)) => &mut names.controls,
                Some(("single" | "party", _)) => &mut names.parties,
                _ => &mut names.operations,
            };
            kind.push(name);
        }
    }
    Ok(names)
}

fn names_in(source: &str) -> impl Iterator<Item = String> {
    let code = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.filter_map(|line| Some(line.split_once("is(\"")?.1.split_once("\")")?.0.to_owned()))
}

/// What an image holds.
struct Image {
    /// Size of the code, bytes.
    flash: u32,
    /// A function of `core::panicking`.
    panics: bool,
    /// Functions that compute in `f64`.
    doubles: Vec<String>,
}

/// The image with one operation.
fn image(Build { target, level, lto }: Build, operation: &str) -> Result<Image, String> {
    let words = [
        "build",
        "-q",
        "--profile",
        "device",
        "-p",
        "firmware-example",
        "--example",
        "panic_free",
        "--target",
        target,
    ];
    let mut command = cargo(&words);
    command.env("SORDINO_ONLY", operation);
    process::run(
        command
            .env("CARGO_PROFILE_DEVICE_OPT_LEVEL", level)
            .env("CARGO_PROFILE_DEVICE_LTO", lto),
    )?;
    let path = process::target_folder()
        .join(target)
        .join("device/examples/panic_free");
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let size = elf::size(&file).ok_or_else(|| format!("{} is no ELF file", path.display()))?;
    let symbols =
        elf::symbols(&file).ok_or_else(|| format!("{} has no symbols", path.display()))?;
    let panics = symbols.iter().any(|name| name.contains("panicking"));
    let doubles = symbols
        .into_iter()
        .filter(|name| computes_in_double(name))
        .collect();
    Ok(Image {
        flash: size.flash,
        panics,
        doubles,
    })
}

/// Whether a symbol is a function of the run-time library that computes or compares in `f64`, or
/// makes one of an integer or an integer of one: `__aeabi_dadd`, `__aeabi_cdcmple`, `__aeabi_ui2d`,
/// `__adddf3`. The two conversions between `f32` and `f64` are none.
fn computes_in_double(symbol: &str) -> bool {
    match symbol.strip_prefix("__aeabi_") {
        Some("d2f" | "f2d") => false,
        Some(name) => name.starts_with('d') || name.starts_with("cd") || name.ends_with("2d"),
        None => {
            symbol.starts_with("__")
                && symbol.contains("df")
                && !symbol.contains("sfdf")
                && !symbol.contains("dfsf")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_names() {
        let source = "//! is(\"…\")\n if is(\"a::b\") {\n if is(\"c: d\") && let Some(x) = y {\n";
        assert_eq!(names_in(source).collect::<Vec<_>>(), ["a::b", "c: d"]);
        let Names {
            controls,
            operations,
            parties,
        } = names().unwrap();
        assert!(
            operations.len() >= LEAST.0 && controls.len() >= LEAST.1 && parties.len() >= LEAST.2
        );
        assert!(operations.iter().any(|name| name == DOUBLE));
        assert!(
            parties.iter().any(|name| !is_single(name))
                && parties.iter().any(|name| is_single(name))
        );
    }

    #[test]
    fn knows_the_functions_of_double_precision() {
        let doubles = [
            "__aeabi_dadd",
            "__aeabi_dcmpeq",
            "__aeabi_cdcmple",
            "__aeabi_ui2d",
            "__aeabi_d2iz",
            "__muldf3",
        ];
        let others = [
            "__aeabi_d2f",
            "__aeabi_f2d",
            "__aeabi_memcpy",
            "__aeabi_fadd",
            "__extendsfdf2",
            "dot",
            "__truncdfsf2",
        ];
        assert!(doubles.iter().all(|name| computes_in_double(name)));
        assert!(!others.iter().any(|name| computes_in_double(name)));
    }
}

//! Operations of which the linker proves that they cannot panic: each alone in an image in which no function of
//! `core::panicking` is left.
//!
//! The proof is the optimiser's, hence of one profile (release, thin LTO) and one compiler; it covers the operations
//! listed and nothing else. The list is that of the names in `firmware-example/examples/panic_free/`; those that begin
//! with `control` can panic in five different ways, and must be found to.
//!
//! Those that begin with `single` are whole parties in `f32`. Of them it is proved instead that the image holds no
//! arithmetic, comparison or integer conversion of `f64`, which a device without double precision does in software:
//! nothing but the conversions between the two formats, for numbers of the configuration and of errors.

use std::fs;

use crate::elf;
use crate::process::{self, Report, cargo};
use crate::tools::M4F;

/// Where the operations are.
const SOURCES: &str = "firmware-example/examples/panic_free";
/// Fewer operations or controls than there are: the list was not read.
const LEAST: (usize, usize) = (45, 5);
/// An operation known to compute in `f64`, which the test must see.
const DOUBLE: &str = "privacy::encode";

/// Links every operation and looks for a way to panic, or for arithmetic in `f64`.
pub fn run(report: &mut Report) {
    report.step("panic-free operations on M4F", || {
        let names = names()?;
        let of = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).collect::<Vec<_>>();
        let (controls, single) = (of("control"), of("single"));
        let operations: Vec<_> =
            names.iter().filter(|name| !controls.contains(name) && !single.contains(name)).collect();
        if operations.len() < LEAST.0 || controls.len() < LEAST.1 {
            return Err(format!("only {} operations and {} controls found", operations.len(), controls.len()));
        }
        for control in &controls {
            if !image(control)?.panics {
                return Err(format!("{control}: links without a panic, so this test does not see it"));
            }
        }
        let least = image("nothing")?.flash + 64;
        // An operation that was not linked at all would pass.
        let linked = |operation: &str| {
            let image = image(operation)?;
            let missing = format!("{operation} is not in its image ({} bytes, at least {least} expected)", image.flash);
            if image.flash < least { Err(missing) } else { Ok(image) }
        };
        let mut faults = Vec::new();
        for operation in &operations {
            if linked(operation)?.panics {
                faults.push(format!("{operation} can panic"));
            }
        }
        for operation in &single {
            let doubles = linked(operation)?.doubles;
            if !doubles.is_empty() {
                faults.push(format!("{operation} computes in f64: {}", doubles.join(", ")));
            }
        }
        if image(DOUBLE)?.doubles.is_empty() {
            faults.push(format!("{DOUBLE}: links without f64, so this test does not see it"));
        }
        if !faults.is_empty() {
            return Err(faults.join("; "));
        }
        let (operations, controls, single) = (operations.len(), controls.len(), single.len());
        Ok(format!("{operations} operations, and {controls} controls panic; {single} without f64 arithmetic"))
    });
}

/// The names of all operations in the sources, in their order.
fn names() -> Result<Vec<String>, String> {
    let folder = process::root().join(SOURCES);
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.sort();
    let mut names = Vec::new();
    for path in paths {
        let source = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        names.extend(names_in(&source));
    }
    Ok(names)
}

fn names_in(source: &str) -> impl Iterator<Item = String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
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
fn image(operation: &str) -> Result<Image, String> {
    let mut command =
        cargo(&["build", "-q", "--release", "-p", "firmware-example", "--example", "panic_free", "--target", M4F]);
    process::run(command.env("SORDINO_ONLY", operation))?;
    let path = process::target_folder().join(M4F).join("release/examples/panic_free");
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let size = elf::size(&file).ok_or_else(|| format!("{} is no ELF file", path.display()))?;
    let symbols = elf::symbols(&file).ok_or_else(|| format!("{} has no symbols", path.display()))?;
    let panics = symbols.iter().any(|name| name.contains("panicking"));
    let doubles = symbols.into_iter().filter(|name| computes_in_double(name)).collect();
    Ok(Image { flash: size.flash, panics, doubles })
}

/// Whether a symbol is a function of the run-time library that computes or compares in `f64`, or makes one of an integer
/// or an integer of one: `__aeabi_dadd`, `__aeabi_cdcmple`, `__aeabi_ui2d`, `__adddf3`. The two conversions between `f32`
/// and `f64` are none.
fn computes_in_double(symbol: &str) -> bool {
    match symbol.strip_prefix("__aeabi_") {
        Some("d2f" | "f2d") => false,
        Some(name) => name.starts_with('d') || name.starts_with("cd") || name.ends_with("2d"),
        None => {
            symbol.starts_with("__") && symbol.contains("df") && !symbol.contains("sfdf") && !symbol.contains("dfsf")
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
        let all = names().unwrap();
        assert!(all.len() >= LEAST.0 + LEAST.1, "{}", all.len());
        assert!(all.iter().any(|name| name == DOUBLE));
    }

    #[test]
    fn knows_the_functions_of_double_precision() {
        let doubles = ["__aeabi_dadd", "__aeabi_dcmpeq", "__aeabi_cdcmple", "__aeabi_ui2d", "__aeabi_d2iz", "__muldf3"];
        let others =
            ["__aeabi_d2f", "__aeabi_f2d", "__aeabi_memcpy", "__aeabi_fadd", "__extendsfdf2", "dot", "__truncdfsf2"];
        assert!(doubles.iter().all(|name| computes_in_double(name)));
        assert!(!others.iter().any(|name| computes_in_double(name)));
    }
}

//! Operations of which the linker proves that they cannot panic: each alone in an image in which no function of
//! `core::panicking` is left.
//!
//! The proof is the optimiser's, hence of one profile (release, thin LTO) and one compiler; it covers the operations
//! listed and nothing else. The list is that of the names in `firmware-example/examples/panic_free/`; those that begin
//! with `control` can panic in five different ways, and must be found to.

use std::fs;

use crate::elf;
use crate::process::{self, Report, cargo};
use crate::tools::M4F;

/// Where the operations are.
const SOURCES: &str = "firmware-example/examples/panic_free";
/// Fewer operations or controls than there are: the list was not read.
const LEAST: (usize, usize) = (45, 5);

/// Links every operation and looks for a way to panic.
pub fn run(report: &mut Report) {
    report.step("panic-free operations on M4F", || {
        let names = names()?;
        let (controls, operations): (Vec<_>, Vec<_>) = names.iter().partition(|name| name.starts_with("control"));
        if operations.len() < LEAST.0 || controls.len() < LEAST.1 {
            return Err(format!("only {} operations and {} controls found", operations.len(), controls.len()));
        }
        for control in &controls {
            if !image(control)?.1 {
                return Err(format!("{control}: links without a panic, so this test does not see it"));
            }
        }
        let (empty, _) = image("nothing")?;
        let mut can_panic = Vec::new();
        for operation in &operations {
            let (flash, panics) = image(operation)?;
            // An operation that was not linked at all would pass.
            if flash < empty + 64 {
                return Err(format!("{operation} is not in its image ({flash} bytes, {empty} without)"));
            }
            if panics {
                can_panic.push(operation.as_str());
            }
        }
        if !can_panic.is_empty() {
            return Err(format!("can panic: {}", can_panic.join("; ")));
        }
        Ok(format!("{} operations, and {} controls panic", operations.len(), controls.len()))
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

/// Bytes of flash of the image with one operation, and whether it can panic.
fn image(operation: &str) -> Result<(u32, bool), String> {
    let mut command =
        cargo(&["build", "-q", "--release", "-p", "firmware-example", "--example", "panic_free", "--target", M4F]);
    process::run(command.env("SORDINO_ONLY", operation))?;
    let path = process::target_folder().join(M4F).join("release/examples/panic_free");
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let size = elf::size(&file).ok_or_else(|| format!("{} is no ELF file", path.display()))?;
    let panics = elf::has_symbol(&file, "panicking").ok_or_else(|| format!("{} has no symbols", path.display()))?;
    Ok((size.flash, panics))
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
    }
}

//! Operations of which the linker proves that they cannot panic: each alone in an image in which no function of
//! `core::panicking` is left.
//!
//! The proof is the optimiser's, hence of one profile (release, thin LTO) and one compiler; it covers the operations
//! listed and nothing else.

use std::fs;

use crate::elf;
use crate::process::{self, Report, cargo};
use crate::tools::M4F;

/// Names in `firmware-example/examples/panic_free.rs`.
const OPERATIONS: [&str; 11] = [
    "linalg::dot",
    "linalg::lower::append_row",
    "linalg::lower::solve",
    "linalg::root::rotate_in",
    "linalg::root::solve",
    "random::normal::fill",
    "random::exact::normal_floor",
    "digest",
    "privacy::encode",
    "features::random_fourier",
    "acquisition::thompson",
];

/// Must be found to panic.
const CONTROL: &str = "control: an index that nobody checked";

/// Links every operation and looks for a way to panic.
pub fn run(report: &mut Report) {
    report.step("panic-free operations on M4F", || {
        let (empty, _) = image("nothing")?;
        if !image(CONTROL)?.1 {
            return Err("the negative control links without a panic: this test sees nothing".to_owned());
        }
        for operation in OPERATIONS {
            let (flash, panics) = image(operation)?;
            if panics {
                return Err(format!("{operation} can panic"));
            }
            // An operation that was not linked at all would pass.
            if flash < empty + 64 {
                return Err(format!("{operation} is not in its image ({flash} bytes, {empty} without)"));
            }
        }
        Ok(format!("{} operations, and the control panics", OPERATIONS.len()))
    });
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

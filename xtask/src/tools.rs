//! What the embedded steps need beside cargo: targets, an emulator, an instruction counter, node. Named when missing, never skipped in silence.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process;

/// The targets beside the host.
pub const M4F: &str = "thumbv7em-none-eabihf";
/// Cortex-M0 code: no floating-point unit, no division, no compare-and-swap.
pub const M0: &str = "thumbv6m-none-eabi";
/// RISC-V with multiplication, atomics and compressed instructions.
pub const RISCV: &str = "riscv32imac-unknown-none-elf";
/// WebAssembly without a system.
pub const WASM: &str = "wasm32-unknown-unknown";

/// Adds the targets that are missing.
pub fn targets() -> Result<String, String> {
    for target in [M4F, M0, RISCV, WASM] {
        if !installed(target) {
            process::run(Command::new("rustup").args(["target", "add", target])).map_err(|error| {
                format!("target {target} is missing; get it with `rustup target add {target}` ({error})")
            })?;
        }
    }
    Ok(format!("{M4F}, {M0}, {RISCV}, {WASM}"))
}

fn installed(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|out| out.status.success() && Path::new(String::from_utf8_lossy(&out.stdout).trim()).is_dir())
}

/// Finds a program, or installs its Debian package where that is possible, and returns its version line.
pub fn program(name: &str, package: &str) -> Result<String, String> {
    if version(name).is_none() && may_install() {
        let apt = |arguments: &[&str]| {
            process::run(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments))
        };
        apt(&["update"])?;
        apt(&["install", "--yes", "--no-install-recommends", package])?;
    }
    version(name).ok_or_else(|| {
        format!("{name} is missing; on Debian or Ubuntu get it with `sudo apt-get install {package}`, on macOS with `brew install {}`", brew(package))
    })
}

fn brew(package: &str) -> &str {
    match package {
        "qemu-system-arm" => "qemu",
        "nodejs" => "node",
        other => other,
    }
}

fn version(name: &str) -> Option<String> {
    let output = Command::new(name).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| format!("{name} {}", text.lines().next().unwrap_or_default().trim()))
}

/// Debian or a descendant, and allowed to install.
fn may_install() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0");
    root && Path::new("/etc/debian_version").exists()
}

//! Hands the memory layout of the target to the linker, and says by `src/federation.rs` what kind
//! of agent this device is.

use std::path::Path;
use std::{env, fs};

/// The module that `sordino export` writes.
const MODULE: &str = "src/federation.rs";

fn main() {
    layout();
    if let Err(sentence) = kind() {
        panic!("{sentence}");
    }
}

fn layout() {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo names the architecture");
    let layout = if arch == "arm" {
        "memory-arm.x"
    } else {
        "memory-riscv.x"
    };
    println!("cargo:rerun-if-changed={layout}");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::copy(layout, Path::new(&out).join("memory.x")).expect("the layout lies beside build.rs");
    println!("cargo:rustc-link-search={out}");
}

/// The switch: `cfg(member)` for a member of a federated prior, `cfg(two_servers)` beside it where
/// there are two, `cfg(site)` for a site of a campaign, none for an agent that shares draws. Nobody
/// sets them by hand, so they cannot contradict the module.
fn kind() -> Result<(), String> {
    println!("cargo:rerun-if-changed={MODULE}");
    println!("cargo:rustc-check-cfg=cfg(member, site, two_servers)");
    let module = fs::read_to_string(MODULE).map_err(|error| format!("{MODULE}: {error}"))?;
    let says = |beginning: &str| module.lines().any(|line| line.starts_with(beginning));
    // Only a module that `sordino terms` writes has landmarks in double precision, as a campaign's
    // sites compute.
    if says("pub static LANDMARKS: [f64; ") {
        println!("cargo:rustc-cfg=site");
        return Ok(());
    }
    if !says("pub type Number = f32;") {
        return Err(format!(
            "{MODULE}: this template computes in single precision; export with surrogate.scalar = \"f32\""
        ));
    }
    let kinds = [
        says("pub const REGIONS: usize = "),
        says("pub const TRUST: Trust = Trust::OneServer;"),
        says("pub const TRUST: Trust = Trust::TwoServers;"),
    ];
    match kinds {
        [true, false, false] => {}
        [false, true, false] => println!("cargo:rustc-cfg=member"),
        [false, false, true] => println!("cargo:rustc-cfg=member\ncargo:rustc-cfg=two_servers"),
        _ => {
            return Err(format!(
                "{MODULE} says neither of an agent that shares draws nor of a member of a federated prior nor of a site of a campaign: write it \
                 again, `sordino terms @INVITATION --format rust` or `sordino export … --lang rust > {MODULE}`"
            ));
        }
    }
    Ok(())
}

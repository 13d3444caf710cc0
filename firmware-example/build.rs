//! Hands the memory layout to the linker of the device; does nothing on a host.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=memory.x");
    println!("cargo:rerun-if-changed=memory-m33.x");
    println!("cargo:rustc-check-cfg=cfg(armv8m)");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let m33 = env::var("TARGET").is_ok_and(|target| target.starts_with("thumbv8m"));
    if m33 {
        println!("cargo:rustc-cfg=armv8m");
    }
    let layout = if m33 { "memory-m33.x" } else { "memory.x" };
    fs::copy(layout, Path::new(&out).join("memory.x")).expect("the layout lies beside build.rs");
    println!("cargo:rustc-link-search={out}");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    println!("cargo:rustc-link-arg-examples=-Tlink.x");
}

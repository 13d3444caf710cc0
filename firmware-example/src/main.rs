//! On a Cortex-M: the digest table and what each operation costs. On a host: the same digest table.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod device;

#[cfg(not(target_os = "none"))]
fn main() {
    println!("--- digests");
    let all = firmware_example::operations::table(|row| println!("{row}"));
    println!("{all}\n---");
    println!("This is the host; `cargo fw` runs the same on a Cortex-M4F in QEMU.");
}

//! On a Cortex-M: the digest table and what each operation costs. On a host: the same digest table.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod device;

#[cfg(not(target_os = "none"))]
use firmware_example::{federation, operations};
#[cfg(not(target_os = "none"))]
use sordino_core::dispatch::Width;

#[cfg(not(target_os = "none"))]
fn main() {
    // Read by the programs of hosts too (`sordino_host::width`); the digests are the same at every
    // width.
    let widths = Width::ALL
        .into_iter()
        .filter(|width| *width <= Width::widest())
        .map(Width::name);
    println!("widths: {}", widths.collect::<Vec<_>>().join(" "));
    if let Ok(name) = std::env::var("SORDINO_WIDTH") {
        match Width::named(&name).filter(|width| *width <= Width::widest()) {
            Some(width) => println!("width: {}", width.limit().name()),
            None => println!("width: SORDINO_WIDTH={name} is not one of this machine"),
        }
    }
    println!("--- digests");
    let all = operations::table(|row| println!("{row}"));
    println!("{all}\n---\n--- federation");
    let mut storage = vec![0.0; 4096];
    let end = federation::play(federation::SCRIPT, &mut storage, |round| {
        println!("{round}")
    });
    match end {
        Ok(chain) => println!("{}\n---", federation::execution_digest(&chain)),
        Err(error) => println!("{error:?}\n---"),
    }
    println!("This is the host; `cargo fw` runs the same on a Cortex-M4F in QEMU.");
}

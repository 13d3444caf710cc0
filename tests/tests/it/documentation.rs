//! Core's documentation has no broken link, with and without its feature.

use std::path::Path;
use std::process::Command;

/// What rustdoc says of core with these features, where a warning is an error.
fn document(features: &[&str]) -> Result<(), String> {
    let output = Command::new(env!("CARGO"))
        .args(["doc", "--offline", "--no-deps", "-p", "sordino-core"])
        .args(features)
        // A folder of its own: the one of this very test may be locked.
        .args([
            "--target-dir",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/documentation"),
        ])
        .env("RUSTDOCFLAGS", "-D warnings")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn documentation_links_hold_with_and_without_alloc() {
    for features in [&[][..], &["--features", "alloc"]] {
        if let Err(text) = document(features) {
            panic!("cargo doc {features:?}\n{text}");
        }
    }
}

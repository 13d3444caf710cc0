//! Writes `firmware-example/federation.bin`; called by `cargo xtask firmware --write`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware-example/federation.bin");
    let script = sordino_tests::firmware_script::script();
    println!("{}: {} bytes", path.display(), script.len());
    std::fs::write(path, script)
}

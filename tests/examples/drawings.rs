//! Writes the drawings of ARCHITECTURE.md, README.md and the book.

fn main() -> std::io::Result<()> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (path, text) in sordino_tests::drawings::all() {
        std::fs::create_dir_all(root.join(path).parent().unwrap_or(&root))?;
        std::fs::write(root.join(path), text)?;
        println!("{path}");
    }
    Ok(())
}

//! The drawings in `docs/pictures/` are those the code makes.

use std::path::Path;

#[test]
fn drawings_are_current() {
    for (path, text) in sordino_tests::drawings::all() {
        let found =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path))
                .unwrap_or_default();
        assert!(
            found == text,
            "{path}: not what the code draws; cargo run -p sordino-tests --example drawings"
        );
    }
}

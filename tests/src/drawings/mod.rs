//! The drawings of ARCHITECTURE.md, README.md and the book, made by the simulator's own writer of
//! pictures from what the code says: the floors from the list that `tidy` checks, a room's sentence
//! from the first line of its documentation.
//!
//! `cargo run -p sordino-tests --example drawings` writes them; a test compares.

mod canvas;
mod floors;
mod lanes;
mod meaning;

/// Every drawing: its path in the repository and its text.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("docs/pictures/campaign.svg", lanes::campaign()),
        ("docs/pictures/epsilon.svg", meaning::draw()),
        ("docs/pictures/file.svg", lanes::file()),
        ("docs/pictures/floors.svg", floors::draw()),
        ("docs/pictures/observation.svg", lanes::observation()),
        ("docs/pictures/round.svg", lanes::round()),
    ]
}

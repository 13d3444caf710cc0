//! The packages above each other, each with its floors: what stands higher uses what stands lower.

use std::fs;
use std::path::Path;

use sordino_report::advance::{fitted, width};
use sordino_report::svg::line;

use super::canvas::{picture, rectangle};
use crate::houses::{HOUSES, House};

const WIDTH: f64 = 760.0;
const ROW: f64 = 23.0;
const GAP: f64 = 5.0;
const NAMES: f64 = 40.0;
const SENTENCES: f64 = 150.0;
const SIZE: f64 = 12.0;

pub fn draw() -> String {
    let mut out = String::new();
    let mut y = 34.0;
    line(
        &mut out,
        "panel",
        20.0,
        24.0,
        "start",
        "A room uses only rooms that are drawn below it",
    );
    for house in HOUSES.iter().rev() {
        y += 24.0;
        line(
            &mut out,
            "lane",
            20.0,
            y,
            "start",
            house.sources.trim_end_matches("/src/"),
        );
        y += 8.0;
        for floor in house.floors.iter().rev() {
            let height = ROW * floor.len() as f64;
            rectangle(&mut out, "floor", [20.0, y, WIDTH - 40.0, height]);
            for (row, room) in floor.iter().enumerate() {
                let base = y + ROW * row as f64 + 16.0;
                line(&mut out, "label", NAMES, base, "start", room);
                let sentence = shortened(&sentence(house, room), WIDTH - SENTENCES - 32.0);
                line(&mut out, "note", SENTENCES, base, "start", &sentence);
            }
            y += height + GAP;
        }
    }
    picture(WIDTH, (y + 12.0).ceil(), "The floors of the packages", &out)
}

/// As many clauses of a sentence as there is room for; if there is room for none, it is cut.
fn shortened(sentence: &str, most: f64) -> String {
    let clauses = ["; ", ": ", ", "]
        .into_iter()
        .flat_map(|end| sentence.match_indices(end))
        .map(|found| found.0);
    let fitting = clauses
        .chain([sentence.len()])
        .filter(|end| width(&sentence[..*end], SIZE, false) <= most);
    fitting.max().map_or_else(
        || fitted(sentence, SIZE, false, most),
        |end| sentence[..end].to_owned(),
    )
}

/// The first sentence of a room's documentation, without marks of code.
fn sentence(house: &House, room: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(house.sources);
    let text = ["mod.rs", ".rs"].iter().find_map(|end| {
        let path = if *end == "mod.rs" {
            folder.join(room).join(end)
        } else {
            folder.join(format!("{room}{end}"))
        };
        fs::read_to_string(path).ok()
    });
    let text = text.unwrap_or_else(|| panic!("{}{room}: no such room", house.sources));
    let lines = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ").replace(['`', '[', ']', '*'], "");
    // A trust model's room carries its name already.
    let paragraph = paragraph
        .strip_prefix(&format!("Trust model {room}: "))
        .unwrap_or(&paragraph);
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph[..end].trim_end_matches(['.', ':']).to_owned()
}

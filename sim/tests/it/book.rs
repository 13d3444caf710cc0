//! The commands of the data scientist's chapter, run as they stand on studies of the form that it shows.

use std::fmt::Write;
use std::path::Path;

use crate::util::{printed, scratch};

/// Least at rate .01 with kind sgd.
const TRAIN: &str = "import math, os\n\
    rate, kind = float(os.environ[\"SORDINO_RATE\"]), os.environ[\"SORDINO_KIND\"]\n\
    print((math.log10(rate) + 2) ** 2 + (kind != \"sgd\"))\n";

fn chapter() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src/data-scientist.md");
    std::fs::read_to_string(path).unwrap()
}

/// The one block of this language that holds this text.
fn block(text: &str, language: &str, holds: &str) -> String {
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).filter_map(|rest| rest.split("```").next());
    let found: Vec<&str> = blocks.filter(|block| block.contains(holds)).collect();
    let [block] = found[..] else { panic!("{holds:?} is in {} blocks of {language}", found.len()) };
    block.to_owned()
}

/// The words of a command, quoted ones together.
fn words(line: &str) -> Vec<String> {
    let pieces = line.split('\'').enumerate();
    let split = |(place, piece): (usize, &str)| match place % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect(),
        _ => vec![piece.to_owned()],
    };
    pieces.flat_map(split).collect()
}

#[test]
fn the_shell_of_the_data_scientists_chapter_ends_with_a_search_that_began_with_the_file() {
    let (chapter, folder) = (chapter(), scratch("book-file"));
    std::fs::write(folder.join("space.toml"), block(&chapter, "toml", "[parameters.rate]")).unwrap();
    std::fs::write(folder.join("train.py"), TRAIN).unwrap();
    let shown = block(&chapter, "text", "site 1");
    let head = shown.lines().next().unwrap();
    assert_eq!(head, "study,rate,kind,value", "the columns of the chapter");
    let mut studies = format!("{head}\n");
    for study in 0..60 {
        let (scale, offset) = (1.0 + f64::from(study % 7), f64::from(study));
        for place in 0..10 {
            let exponent = -0.4 * f64::from((7 * place + study) % 10);
            let kind = ["adam", "sgd"][place as usize % 2];
            let value = (exponent + 2.0).powi(2) + if kind == "sgd" { 0.0 } else { 1.0 };
            writeln!(studies, "site {study},{},{kind},{}", 10f64.powf(exponent), offset + scale * value).unwrap();
        }
    }
    std::fs::write(folder.join("studies.csv"), studies).unwrap();
    let commands = block(&chapter, "sh", "prior publish");
    let mut said = Vec::new();
    for line in commands.lines() {
        let mut words = words(line.split(" #").next().unwrap_or_default());
        assert_eq!(words.remove(0), "sordino");
        if words[1] == "publish" {
            // The count outside the folder is the user's own.
            words.push("--no-counter".to_owned());
        }
        let words: Vec<&str> = words.iter().map(|word| word.replace("python ", "python3 ")).map(leaked).collect();
        said.push(printed(&folder, &words));
    }
    let [_, label, found] = &said[..] else { panic!("{} commands", said.len()) };
    assert!(label.contains("60, in 2 releases") && label.contains("wards"), "{label}");
    assert!(found.contains("sgd"), "{found}");
    let history = std::fs::read_to_string(folder.join("sordino-optimize/history.csv")).unwrap();
    assert_eq!(history.lines().count(), 31, "{history}");
    assert!(folder.join("sordino-optimize/best.json").is_file());
}

/// A text for as long as the test runs.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

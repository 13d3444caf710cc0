//! The commands of the data scientist's chapter, run as they stand on studies of the form that it
//! shows.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::util::{printed, scratch};

/// Least at rate .01 with kind sgd.
const TRAIN: &str = "import math, os\n\
    rate, depth, kind = (os.environ[\"SORDINO_\" + name] for name in (\"RATE\", \"DEPTH\", \"KIND\"))\n\
    print((math.log10(float(rate)) + 2) ** 2 + 0.1 * (int(depth) - 5) ** 2 + (kind != \"sgd\"))\n";

fn chapter() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src/data-scientist.md");
    std::fs::read_to_string(path).unwrap()
}

/// The one block of this language that holds this text.
fn block(text: &str, language: &str, holds: &str) -> String {
    let fence = format!("```{language}\n");
    let blocks = text
        .split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let found: Vec<&str> = blocks.filter(|block| block.contains(holds)).collect();
    let [block] = found[..] else {
        panic!("{holds:?} is in {} blocks of {language}", found.len())
    };
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
    let chapter = chapter();
    let folder = scratch("book-file");
    std::fs::write(
        folder.join("space.toml"),
        block(&chapter, "toml", "[parameters.rate]"),
    )
    .unwrap();
    std::fs::write(folder.join("train.py"), TRAIN).unwrap();
    let shown = block(&chapter, "text", "site 1");
    let head = shown.lines().next().unwrap();
    assert_eq!(
        head, "study,rate,depth,kind,value",
        "the columns of the chapter"
    );
    let mut studies = format!("{head}\n");
    for study in 0..60 {
        let scale = 1.0 + f64::from(study % 7);
        let offset = f64::from(study);
        for place in 0..10 {
            let exponent = -0.4 * f64::from((7 * place + study) % 10);
            let depth = 1 + (3 * place + study) % 8;
            let kind = ["adam", "sgd"][place as usize % 2];
            let value = (exponent + 2.0).powi(2)
                + 0.1 * f64::from(depth - 5).powi(2)
                + if kind == "sgd" { 0.0 } else { 1.0 };
            writeln!(
                studies,
                "site {study},{},{depth},{kind},{}",
                10f64.powf(exponent),
                offset + scale * value
            )
            .unwrap();
        }
    }
    std::fs::write(folder.join("studies.csv"), studies).unwrap();
    let said = executed(&folder, &block(&chapter, "sh", "prior publish"), |_| {
        Vec::new()
    });
    let [_, label, found] = &said[..] else {
        panic!("{} commands", said.len())
    };
    assert!(
        label.contains("60, in 2 releases") && label.contains("demo"),
        "{label}"
    );
    assert!(found.contains("sgd"), "{found}");
    let history = std::fs::read_to_string(folder.join("sordino-optimize/history.csv")).unwrap();
    assert_eq!(history.lines().count(), 31, "{history}");
    assert!(folder.join("sordino-optimize/best.json").is_file());
}

/// The data sets that the publications of a page name, in shell and in Python.
fn data_sets(page: &str) -> BTreeSet<&str> {
    let publishes = ["prior publish", "publish("];
    let lines = page
        .lines()
        .filter(|line| publishes.iter().any(|word| line.contains(word)));
    let named = ["--dataset ", "dataset=\""];
    let names = lines.flat_map(|line| named.iter().flat_map(|word| line.split(word).skip(1)));
    names
        .filter_map(|rest| rest.split([' ', '"', '`']).next())
        .collect()
}

/// The same data under two names have two budgets.
#[test]
fn the_publications_of_a_page_name_one_data_set() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for page in [
        "book/src/data-scientist.md",
        "prior-files.md",
        "book/src/researcher.md",
        "book/src/embedding.md",
    ] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        // A call may go on in the next line.
        let text = text.replace("epsilon=1,\n", "epsilon=1, ");
        assert_eq!(data_sets(&text).len(), 1, "{page}: {:?}", data_sets(&text));
    }
    let two = "sordino prior publish --dataset a --out p\nsordino.publish(s, space, dataset=\"b\")";
    assert_eq!(data_sets(two), BTreeSet::from(["a", "b"]));
}

/// What the commands of a block print, one after the other, with words that a test adds to some.
fn executed(
    folder: &Path,
    commands: &str,
    added: impl Fn(&[String]) -> Vec<&'static str>,
) -> Vec<String> {
    let mut said = Vec::new();
    // The folder is that of the example already.
    for line in commands
        .lines()
        .filter(|line| !line.starts_with("cd docs/examples/wards"))
    {
        let mut words = words(line.split(" #").next().unwrap_or_default());
        assert_eq!(words.remove(0), "sordino");
        words.extend(added(&words).into_iter().map(str::to_owned));
        if words.get(1).is_some_and(|word| word == "publish") {
            // The count outside the folder is the user's own.
            words.push("--no-counter".to_owned());
        }
        let words: Vec<&str> = words
            .iter()
            .map(|word| word.replace("python ", "python3 "))
            .map(leaked)
            .collect();
        said.push(printed(folder, &words));
    }
    said
}

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap()
}

/// A copy of the example that README works on.
fn wards(name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/wards");
    let folder = scratch(name);
    for file in ["space.toml", "studies.csv", "studies.py", "train.py"] {
        std::fs::copy(from.join(file), folder.join(file)).unwrap();
    }
    folder
}

#[test]
fn readmes_door_of_a_file_leads_to_a_better_result_with_it() {
    let (readme, folder) = (readme(), wards("readme-file"));
    assert!(
        readme.contains("docs/examples/wards"),
        "README does not say where its files are"
    );
    // The table of studies is what its program writes.
    let written = std::process::Command::new("python3")
        .arg("studies.py")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(written.stdout).unwrap(),
        std::fs::read_to_string(folder.join("studies.csv")).unwrap()
    );
    let said = executed(&folder, &block(&readme, "sh", "prior publish"), |_| {
        Vec::new()
    });
    let [_, label, ..] = &said[..] else {
        panic!("{} commands", said.len())
    };
    assert!(label.contains("60, in 2 releases"), "{label}");
    let best = |out: &str, evaluations: usize| {
        let history = std::fs::read_to_string(folder.join(out).join("history.csv")).unwrap();
        let values = history
            .lines()
            .skip(1)
            .map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap());
        values.take(evaluations).fold(f64::INFINITY, f64::min)
    };
    let with = best("begun", 5);
    let without = best("alone", 5);
    assert!(
        with < without,
        "after five evaluations {with} with the file, {without} without"
    );
    // What README promises at the end. The file's noise is drawn anew each time, so the search with
    // it ends near a number.
    let promised = |before: &str| -> f64 {
        let (_, after) = readme
            .split_once(before)
            .unwrap_or_else(|| panic!("README has no {before}"));
        let number = after
            .trim_start()
            .split(|c: char| c != '.' && !c.is_ascii_digit())
            .next()
            .unwrap();
        number
            .parse()
            .unwrap_or_else(|_| panic!("README has no number after {before}"))
    };
    assert!(
        (best("begun", 10) - promised("# ends near")).abs() < 0.1,
        "with the file {}",
        best("begun", 10)
    );
    assert!(
        (best("alone", 30) - promised("# ends at")).abs() < 0.006,
        "alone {}",
        best("alone", 30)
    );
}

#[test]
fn readmes_door_of_the_laboratory_runs() {
    let folder = scratch("readme-laboratory");
    let short = [
        "--runs",
        "1",
        "--set",
        "federation.rounds=2",
        "--set",
        "federation.methods=[\"ts\",\"dp-prior\"]",
    ];
    let commands = block(&readme(), "sh", "sordino compare").replace(" --runs 30", "");
    let said = executed(&folder, &commands, |words| match words[0].as_str() {
        "run" => short.to_vec(),
        _ => Vec::new(),
    });
    assert!(said[2].contains("dp-prior"), "{}", said[2]);
    assert!(folder.join("results/a/report.html").is_file());
}

/// A text for as long as the test runs.
fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

//! README is one screen, the book has a chapter for each reader, and their links lead somewhere.

use std::path::{Path, PathBuf};

/// README has at most so many lines and words.
const LINES_MAX: usize = 120;
const WORDS_MAX: usize = 1_200;
/// Semicolons and colons in 1,000 words of its prose, at most.
const SEMICOLONS_MAX: f64 = 5.0;
const COLONS_MAX: f64 = 11.0;
/// The chapters to which README's doors lead.
const CHAPTERS: [&str; 6] = [
    "data-scientist.md",
    "deploying.md",
    "embedding.md",
    "researcher.md",
    "epsilon.md",
    "coming-from.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn markdown(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// What a person reads aloud: no blocks of code, no tables, no targets of links, no code in a line.
fn prose(text: &str) -> String {
    let outside: String = text.split("```").step_by(2).collect();
    let lines: Vec<&str> = outside
        .lines()
        .filter(|line| !line.starts_with('|'))
        .collect();
    let plain: String = lines.join("\n").split('`').step_by(2).collect();
    let mut parts = plain.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        out + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
}

/// How many of a character there are in 1,000 words of prose.
fn rate(text: &str, mark: char) -> f64 {
    let prose = prose(text);
    1000.0 * prose.matches(mark).count() as f64 / prose.split_whitespace().count().max(1) as f64
}

/// What is wrong with a README.
fn too_long(text: &str) -> Vec<String> {
    let found = [
        ("lines", text.lines().count() as f64, LINES_MAX as f64),
        (
            "words",
            text.split_whitespace().count() as f64,
            WORDS_MAX as f64,
        ),
        ("semicolons in 1,000 words", rate(text, ';'), SEMICOLONS_MAX),
        ("colons in 1,000 words", rate(text, ':'), COLONS_MAX),
    ];
    let above = found.into_iter().filter(|(_, count, most)| count > most);
    above
        .map(|(what, count, most)| format!("{count:.1} {what}, at most {most}"))
        .collect()
}

#[test]
fn readme_is_one_screen_with_doors() {
    let readme = read(&root().join("README.md"));
    assert_eq!(too_long(&readme), Vec::<String>::new());
    for chapter in CHAPTERS {
        assert!(
            readme.contains(&format!("docs/book/src/{chapter})")),
            "README does not lead to {chapter}"
        );
    }
    for command in ["cargo run --release", "cargo xtask test"] {
        assert!(
            readme.lines().any(|line| line.starts_with(command)),
            "README does not begin with {command}"
        );
    }
    // Negative control: a line, words and marks too many.
    let long = format!("{readme}{}", "a; b: c\n".repeat(LINES_MAX));
    assert_eq!(too_long(&long).len(), 4, "{:?}", too_long(&long));
    let counted = rate(
        "a: b; `c; d`\n\n| e; f |\n\n```sh\ng; h\n```\n[i](j:k) l m n o p",
        ';',
    );
    assert_eq!(counted, 125.0);
}

/// Chapters that are in no table of contents, do not begin with what the reader has at the end, or
/// have Rust that nobody runs.
fn unfinished(name: &str, text: &str, summary: &str) -> Vec<String> {
    let mut said = Vec::new();
    if !summary.contains(&format!("]({name})")) {
        said.push(format!("{name} is not in SUMMARY.md"));
    }
    let first = text.split("\n\n").nth(1).unwrap_or_default();
    if name != "glossary.md" && !first.starts_with("At the end of this") {
        said.push(format!(
            "{name} does not begin with what the reader has at its end"
        ));
    }
    if name != "embedding.md" && text.contains("```rust") {
        said.push(format!(
            "{name} has Rust that tests/src/lib.rs does not run"
        ));
    }
    said
}

#[test]
fn every_chapter_begins_with_what_the_reader_has_at_its_end() {
    let summary = read(&root().join("docs/book/src/SUMMARY.md"));
    let chapters = markdown("docs/book/src");
    assert!(chapters.len() > 15);
    for path in chapters {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name != "SUMMARY.md" {
            assert_eq!(
                unfinished(&name, &read(&path), &summary),
                Vec::<String>::new()
            );
        }
    }
    // Negative control.
    assert_eq!(
        unfinished(
            "x.md",
            "# X\n\nThis chapter is about x.\n\n```rust\n",
            &summary
        )
        .len(),
        3
    );
}

/// The anchor of a heading: what GitHub makes of it.
fn anchor(heading: &str) -> String {
    let lower = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Relative links of a page that lead nowhere.
fn broken(page: &Path, text: &str) -> Vec<String> {
    let folder = page.parent().unwrap();
    let outside: String = text.split("```").step_by(2).collect();
    let targets = outside
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let mut said = Vec::new();
    for target in targets.filter(|target| !target.contains("://") && !target.is_empty()) {
        let (file, place) = target
            .split_once('#')
            .map_or((target, None), |(file, place)| (file, Some(place)));
        let path = if file.is_empty() {
            page.to_path_buf()
        } else {
            folder.join(file)
        };
        if !path.exists() {
            said.push(format!("{}: {target} is not there", page.display()));
        } else if let Some(place) =
            place.filter(|_| path.extension().is_some_and(|kind| kind == "md"))
        {
            let text = if file.is_empty() {
                text.to_owned()
            } else {
                read(&path)
            };
            if !text
                .lines()
                .any(|line| line.starts_with('#') && anchor(line) == place)
            {
                said.push(format!("{}: {target} has no such heading", page.display()));
            }
        }
    }
    said
}

/// Files and folders that a page names in code and that are not there, from the root of the
/// repository: what ends in `.rs` or in a slash. Of `a/{b,c}.rs` both are looked for.
fn absent(text: &str) -> Vec<String> {
    let outside: String = text.split("```").step_by(2).collect();
    let spans = outside.split('`').skip(1).step_by(2);
    let paths = spans.filter(|span| {
        span.contains('/')
            && (span.ends_with(".rs") || span.ends_with('/'))
            && !span.contains(|mark: char| " <>*".contains(mark))
    });
    let each = paths.flat_map(|path| match path.split_once('{') {
        Some((before, rest)) => {
            let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
            let all = names
                .split(',')
                .map(|name| format!("{before}{name}{after}"));
            all.collect()
        }
        None => vec![path.to_owned()],
    });
    each.filter(|path| !root().join(path).exists()).collect()
}

#[test]
fn files_that_architecture_names_are_there() {
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        assert_eq!(absent(&read(&root().join(page))), Vec::<String>::new());
    }
    // Negative control: a room that is gone, one of two, and a word of code that is no path.
    let wrong = "`core/src/math.rs` `sim/src/study/` `core/src/{space,spaces}.rs` `a / b` ```\n`x/y.rs`\n```";
    assert_eq!(absent(wrong), ["sim/src/study/", "core/src/spaces.rs"]);
}

#[test]
fn links_of_readme_book_and_documents_lead_somewhere() {
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ];
    let mut pages: Vec<PathBuf> = names.iter().map(|name| root().join(name)).collect();
    pages.extend(
        [
            "docs",
            "docs/book/src",
            "capi",
            "python",
            "net",
            "sim/experiment/scenarios",
        ]
        .into_iter()
        .flat_map(markdown),
    );
    let said: Vec<String> = pages
        .iter()
        .flat_map(|page| broken(page, &read(page)))
        .collect();
    assert_eq!(said, Vec::<String>::new());
    // Negative control.
    let page = root().join("README.md");
    let wrong = "[a](docs/nowhere.md) [b](docs/privacy.md#no-such-heading) [c](https://x.de/y) ```\n[d](e)\n```";
    assert_eq!(broken(&page, wrong).len(), 2, "{:?}", broken(&page, wrong));
    assert_eq!(
        anchor("## A real federation: who sees what"),
        "a-real-federation-who-sees-what"
    );
}

/// The version of a line that begins with `key`, without quotation marks.
fn version(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().trim_matches('"').to_owned())
}

#[test]
fn what_is_cited_and_released_is_this_version() {
    let manifest = version(&read(&root().join("Cargo.toml")), "version = ").unwrap();
    assert_eq!(
        version(&read(&root().join("CITATION.cff")), "version:"),
        Some(manifest.clone())
    );
    assert_eq!(
        version(&read(&root().join("python/Cargo.toml")), "version = "),
        Some(manifest)
    );
    // Each package after those it needs, in the workflow as in the page.
    let packages = "-p sordino-core -p sordino-host -p sordino-experiment -p sordino-report -p sordino-engine \
                    -p sordino-lab -p sordino-papers -p sordino-sim -p sordino-net";
    for path in [".github/workflows/release.yml", "docs/releasing.md"] {
        assert!(read(&root().join(path)).contains(packages), "{path}");
    }
    // Negative control.
    assert_eq!(
        version("x = 1\nversion: \"0.2.0\"\n", "version:"),
        Some("0.2.0".to_owned())
    );
    assert_eq!(version("x = 1\n", "version:"), None);
}

//! Every command line of `sordino` in README, book and documents is one that the programs take.

use std::path::{Path, PathBuf};

/// Folders whose pages are read, and pages beside them.
const FOLDERS: [&str; 10] = [
    ".",
    "docs",
    "docs/book/src",
    "capi",
    "core",
    "host",
    "net",
    "python",
    "sim",
    "sim/experiment/scenarios",
];

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = FOLDERS
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let paths = files.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// The lines of the blocks of shell, with those that a backslash continues in one.
pub fn shell(page: &str) -> Vec<String> {
    let blocks = page.split("\n```").collect::<Vec<_>>();
    let shells = blocks
        .iter()
        .filter_map(|block| block.strip_prefix("sh\n").or(block.strip_prefix("bash\n")));
    let joined = shells.map(|block| block.replace("\\\n", " "));
    joined
        .flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The words of one command as a shell reads them: up to a comment, a pipe, a redirection or the
/// next command.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), inside) => word.get_or_insert_default().push(inside),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#' | '|' | '>' | '&' | ';') if word.is_none() => break,
            (None, '|' | '>' | '&' | ';') => break,
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (None, other) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

/// The arguments of `sordino`, the program's name first, if a line calls it.
pub fn called(line: &str) -> Option<Vec<String>> {
    let mut words = words(line);
    // Variables of the environment that are set for this command.
    let set = words
        .iter()
        .take_while(|word| {
            word.split_once('=')
                .is_some_and(|(name, _)| !name.starts_with('-'))
        })
        .count();
    words.drain(..set);
    let cargo = ["cargo", "run", "--release", "--"];
    if words.len() > cargo.len() && words.iter().zip(cargo).all(|(word, wanted)| word == wanted) {
        words.splice(..cargo.len(), ["sordino".to_owned()]);
    }
    // "…" stands for what depends on the reader, and so does a key.
    words.retain(|word| word != "…");
    words
        .iter_mut()
        .filter(|word| ["KEY", "PIN"].contains(&word.as_str()))
        .for_each(|word| *word = "0".repeat(64));
    let name = words.first()?.rsplit('/').next()?.to_owned();
    (["sordino", "sordino-net"].contains(&name.as_str()) && words.len() > 1).then_some(words)
}

/// What is wrong with a command line.
fn refused(words: &[String]) -> Option<String> {
    let command = words[1].as_str();
    let federation = sordino_net::cli::program();
    let is_theirs = federation
        .get_subcommands()
        .any(|known| known.get_name() == command);
    // `sordino-cluster` is a program that this one knows nothing of.
    if ["cluster", "worker", "--version", "--help"].contains(&command) {
        return None;
    }
    let program = if is_theirs {
        federation
    } else {
        sordino_sim::program()
    };
    let error = program.try_get_matches_from(words).err()?;
    (error.exit_code() != 0).then(|| format!("{}: {error}", words.join(" ")))
}

#[test]
fn every_command_of_the_documentation_is_one_that_the_programs_take() {
    let mut said = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in shell(&text) {
            let Some(words) = called(&line) else { continue };
            count += 1;
            said.extend(refused(&words).map(|error| format!("{}: {error}", page.display())));
        }
    }
    assert!(said.is_empty(), "{}", said.join("\n"));
    assert!(count > 100, "{count} commands");
}

#[test]
fn a_command_with_an_option_that_is_gone_is_found() {
    let page = "x\n```sh\nA=b sordino run default \\\n  --set 'a=[\"b c\"]' # --no\nsordino join @i --commend x > y\n```\n";
    let lines: Vec<Vec<String>> = shell(page).iter().filter_map(|line| called(line)).collect();
    assert_eq!(
        lines[0],
        ["sordino", "run", "default", "--set", "a=[\"b c\"]"]
    );
    assert_eq!(refused(&lines[0]), None);
    assert!(
        refused(&lines[1]).is_some_and(|error| error.contains("--commend")),
        "{lines:?}"
    );
    let gone = ["sordino", "sums"].map(str::to_owned);
    assert!(refused(&gone).is_some());
}

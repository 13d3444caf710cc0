//! Every command of README and book, run from the pages' own blocks: a page that is edited is
//! tested as edited.
//!
//! `cargo test -p sordino-net --test book`, or with a part of a page's name behind `--`. This
//! program has no harness, because under the name `sordino` it is that program: tests of one
//! package do not know where another's are.

mod page;
mod stage;
mod table;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use page::{Page, plan};
use stage::Stage;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if arguments.first().map(Path::new).and_then(Path::file_name) == Some(OsStr::new("sordino")) {
        return sordino_sim::main(arguments);
    }
    let wanted: Vec<String> = arguments
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let wanted: Vec<&String> = wanted
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_wanted =
        |page: &&Page| wanted.is_empty() || wanted.iter().any(|word| page.file.contains(*word));
    let pages: Vec<&Page> = table::PAGES.iter().filter(is_wanted).collect();
    let mut faults = Vec::new();
    if wanted.is_empty() {
        let checks = [
            ("pages without a place", pages_without_a_place()),
            ("control", control()),
        ];
        for (what, said) in checks {
            faults.extend(ended(what, said, String::new()));
        }
    }
    faults.extend(played(&pages));
    if let Ok(folder) = programs() {
        drop(std::fs::remove_dir_all(folder));
    }
    for (what, fault) in &faults {
        println!("\n---- {what} stdout ----\n{fault}");
    }
    let word = if faults.is_empty() { "ok" } else { "FAILED" };
    let failed = faults.len();
    println!(
        "\ntest result: {word}. {} passed; {failed} failed; 0 ignored",
        pages.len().saturating_sub(failed)
    );
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Says how a check ended, in the words of the harness that this program does not have: who reads
/// its output finds what failed, and may ask for that alone.
fn ended(what: &str, said: Result<(), String>, time: String) -> Option<(String, String)> {
    let word = if said.is_ok() { "ok" } else { "FAILED" };
    println!("{time}test {what} ... {word}");
    said.err().map(|fault| (what.to_owned(), fault))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Plays the pages, two at a time: those with which something is wrong, and what.
fn played(pages: &[&Page]) -> Vec<(String, String)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = Vec::new();
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let read = std::fs::read_to_string(root().join(page.file))
                .map_err(|error| format!("{}: {error}", page.file));
            let said = read.and_then(|text| play(page, &text));
            let time = format!("{:.1} s\n", start.elapsed().as_secs_f64());
            faults.extend(ended(page.file, said, time));
        }
        faults
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .flat_map(|thread| {
                let panicked = || vec![("pages".to_owned(), "a thread panicked".to_owned())];
                thread.join().unwrap_or_else(|_| panicked())
            })
            .collect()
    })
}

/// Carries out the commands of a page in their order.
fn play(page: &Page, text: &str) -> Result<(), String> {
    let lines = plan(page, text)?;
    let name: String = page
        .file
        .chars()
        .map(|letter| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    let folder = std::env::temp_dir().join(format!("sordino-book-{}-{name}", std::process::id()));
    let programs = programs().map_err(|error| format!("programs: {error}"))?;
    let begun = || -> Result<Stage, String> {
        let mut stage = Stage::new(folder.clone(), &programs).map_err(|error| error.to_string())?;
        table::furnish(stage.folder()).map_err(|error| error.to_string())?;
        for (file, language, holds) in page.files {
            let block = page::block(text, language, holds)
                .map_err(|error| format!("{}: {error}", page.file))?;
            std::fs::write(stage.folder().join(file), block)
                .map_err(|error| format!("{file}: {error}"))?;
        }
        for command in page.before {
            stage
                .play(&page::Line::plain(command))
                .map_err(|error| format!("{}: before it, {command}\n{error}", page.file))?;
        }
        stage
            .settle()
            .map_err(|error| format!("{}: before it: {error}", page.file))?;
        Ok(stage)
    };
    let mut stage = begun()?;
    let mut heading = String::new();
    for line in lines {
        if line.heading != heading && page.anew.contains(&line.heading.as_str()) {
            stage
                .settle()
                .map_err(|error| format!("{}, before {}: {error}", page.file, line.heading))?;
            drop(stage);
            stage = begun()?;
        }
        heading.clone_from(&line.heading);
        stage
            .play(&line)
            .map_err(|error| format!("{}:{}: {}\n{error}", page.file, line.number, line.text))?;
    }
    stage
        .settle()
        .map_err(|error| format!("{}, at its end: {error}", page.file))
}

/// A folder with `sordino`, which is this program, `sordino-net`, and `python` for machines that
/// have `python3` alone. Of pages that begin at once, one makes it.
fn programs() -> std::io::Result<PathBuf> {
    static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut made = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = &*made {
        return Ok(folder.clone());
    }
    let folder = std::env::temp_dir().join(format!("sordino-book-{}-programs", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder)?;
    std::os::unix::fs::symlink(std::env::current_exe()?, folder.join("sordino"))?;
    std::os::unix::fs::symlink(
        env!("CARGO_BIN_EXE_sordino-net"),
        folder.join("sordino-net"),
    )?;
    std::fs::write(folder.join("python"), "#!/bin/sh\nexec python3 \"$@\"\n")?;
    std::fs::set_permissions(
        folder.join("python"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )?;
    *made = Some(folder.clone());
    Ok(folder)
}

/// Pages with commands that the table does not have.
fn pages_without_a_place() -> Result<(), String> {
    let known: BTreeSet<&str> = table::PAGES.iter().map(|page| page.file).collect();
    let mut missing = Vec::new();
    for folder in [".", "docs", "docs/book/src"] {
        let entries =
            std::fs::read_dir(root().join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let file = if folder == "." {
                name
            } else {
                format!("{folder}/{name}")
            };
            if path.extension() != Some(OsStr::new("md"))
                || table::NOT_FOR_READERS.contains(&file.as_str())
            {
                continue;
            }
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
            if !page::lines(&text).is_empty() && !known.contains(file.as_str()) {
                missing.push(file);
            }
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "pages with commands that net/tests/book/table.rs does not have: {}",
            missing.join(", ")
        )),
    }
}

/// Pages that must be found wrong, and why.
fn control() -> Result<(), String> {
    let page = |changes, left_out| Page {
        file: "a control",
        before: &[],
        files: &[],
        anew: &[],
        changes,
        left_out,
    };
    let change = &[page::Change::Words {
        from: "--runs 30",
        to: "--runs 1",
        why: "a reason that is long enough",
    }];
    let gone = &[page::LeftOut {
        begins: "cargo fw",
        why: "a reason that is long enough",
    }];
    let short = &[page::LeftOut {
        begins: "sordino",
        why: "slow",
    }];
    let list = "```sh\nsordino list   # a comment\n```\n";
    let elsewhere = Page {
        anew: &["Gone"],
        ..page(&[], &[])
    };
    let cases: [(Page, &str, &str); 7] = [
        (
            page(&[], &[]),
            "```sh\nsordino run nothing-of-this-name\n```\n",
            "exit status: 2",
        ),
        (
            page(&[], &[]),
            "```sh\nsordino list --a-gone-option\n```\n",
            "exit status: 2",
        ),
        (
            page(&[], &[]),
            "```console\n$ sordino --version\nsordino 0\n```\n",
            "the page shows",
        ),
        (elsewhere, list, "heading \"Gone\""),
        (page(change, &[]), list, "--runs 30"),
        (page(&[], gone), list, "cargo fw"),
        (page(&[], short), list, "no reason"),
    ];
    for (page, text, wanted) in cases {
        match play(&page, text) {
            Err(said) if said.contains(wanted) => {}
            other => {
                return Err(format!(
                    "{text} was not found wrong for {wanted:?}: {other:?}"
                ));
            }
        }
    }
    play(&page(&[], &[]), list).map_err(|error| format!("a page that is right: {error}"))
}

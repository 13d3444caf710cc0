//! `sordino prior publish` and signals: what is charged is written, and what is stopped before
//! leaves nothing. A shell starts what is in its background with SIGINT ignored, and `nohup` with
//! SIGHUP ignored, so neither is sent.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::prior::{case, publish};
use crate::util::{command, done};

/// Publishes, sends SIGTERM once standard error has a line with these words, and gives exit
/// code and standard error.
fn stopped(folder: &Path, words: &[&'static str], at: &str) -> (Option<i32>, String) {
    let mut child = command(folder, &publish(words));
    let mut child = child
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut heard = BufReader::new(child.stderr.take().unwrap());
    let mut all = String::new();
    while !all.contains(at) {
        assert_ne!(heard.read_line(&mut all).unwrap(), 0, "{all}");
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(sent.success());
    heard.read_to_string(&mut all).unwrap();
    (child.wait().unwrap().code(), all)
}

/// ε was spent, and there was neither a file nor a word.
#[test]
fn what_is_charged_is_written_whatever_signal_comes() {
    let folder = case("signal-after", 60);
    let at = "release 1 of 64 is charged";
    let words = ["p.safetensors", "--releases", "64"];
    let (code, said) = stopped(&folder, &words, at);
    assert_eq!(code, Some(143), "{said}");
    let told = "a release is charged: this ends when the file is written";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    assert!(said.contains("p.safetensors is written"), "{said}");
    done(&folder, &["prior", "verify", "p.safetensors"]);
}

/// A ledger without a charge bound its place to the data set and to its budget.
#[test]
fn what_is_stopped_before_a_charge_leaves_nothing() {
    let folder = case("signal-before", 60);
    let words = ["p.safetensors", "--features", "400", "--sign", "new.key"];
    let (code, said) = stopped(&folder, &words, "60 studies\n");
    assert_eq!(code, Some(143), "{said}");
    assert!(said.contains("nothing was charged"), "{said}");
    let left = std::fs::read_dir(&folder).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.collect();
    left.sort();
    assert_eq!(left, ["space.toml", "studies.csv"]);
}

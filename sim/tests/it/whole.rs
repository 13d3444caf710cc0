//! Whole outputs as a person sees them. What changes here changed for every user: read the
//! difference, then take it over with
//! `INSTA_UPDATE=always cargo test -p sordino-sim --test it whole`.

use insta::assert_snapshot;

use crate::util::{SMALL, done, printed, refused, scratch};

/// Every command, as it stands after `sordino`.
const COMMANDS: &[&str] = &[
    "",
    "run",
    "sweep",
    "merge",
    "compare",
    "list",
    "scenario",
    "init",
    "export",
    "report",
    "prior",
    "prior publish",
    "prior show",
    "prior verify",
    "prior export",
    "ledger",
    "privacy",
    "privacy epsilon",
    "privacy delta",
    "privacy table",
    "privacy calibrate",
    "privacy explain",
    "privacy compare",
    "audit",
    "reproduce",
    "optimize",
    "tune",
];

#[test]
fn help_of_every_command() {
    let folder = scratch("whole-help");
    let mut whole = String::new();
    for command in COMMANDS {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        whole += &format!(
            "$ sordino {}\n{}\n",
            words.join(" "),
            printed(&folder, &words)
        );
    }
    // Nothing that the program lists is missing above.
    let listed = whole
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let mut names = listed.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    assert!(
        names.all(|name| name == "help" || COMMANDS.contains(&name)),
        "a command without its help here"
    );
    assert_snapshot!("help", whole);
}

#[test]
fn what_a_scenario_promises() {
    let folder = scratch("whole-explain");
    assert_snapshot!(
        "explain",
        printed(&folder, &["privacy", "explain", "default"])
    );
}

#[test]
fn a_scenario_to_begin_with() {
    let folder = scratch("whole-init");
    done(&folder, &["init", "mine.toml"]);
    assert_snapshot!(
        "init",
        std::fs::read_to_string(folder.join("mine.toml")).unwrap()
    );
}

#[test]
fn the_readme_of_a_run_folder() {
    let folder = scratch("whole-readme");
    done(&folder, &["run", SMALL, "--out", "run"]);
    assert_snapshot!(
        "readme",
        std::fs::read_to_string(folder.join("run/README.md")).unwrap()
    );
}

#[test]
fn a_scenario_that_is_refused() {
    let folder = scratch("whole-refused");
    done(&folder, &["init", "mine.toml"]);
    let text = std::fs::read_to_string(folder.join("mine.toml")).unwrap();
    let changes = [
        ("agents = ", "agnets = "),
        ("rounds = ", "rounds = -"),
        ("[privacy]", "[privcy]"),
        ("kind = \"", "kind = \"x"),
    ];
    let mut said = Vec::new();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        std::fs::write(folder.join("mine.toml"), text.replacen(from, to, 1)).unwrap();
        said.push(refused(&folder, 2, &["run", "mine.toml", "--out", "run"]));
    }
    assert_snapshot!("refused", said.join("\n"));
}

//! What people see of a folder is made of what programs read in it: removed, it comes back byte for
//! byte.

use std::path::Path;

use crate::util::{SMALL, done, files, refused, scratch};

/// Removes table, pictures and pages of a folder, lets `sordino report` make them again, and
/// compares all of it.
fn comes_back(folder: &Path, name: &str, seen: &[&str]) {
    let whole = files(&folder.join(name));
    for file in seen {
        std::fs::remove_file(folder.join(name).join(file)).unwrap();
    }
    done(folder, &["report", name]);
    let again = files(&folder.join(name));
    let other: Vec<_> = whole
        .keys()
        .filter(|file| whole.get(*file) != again.get(*file))
        .collect();
    assert!(
        other.is_empty() && whole.len() == again.len(),
        "{name}: {other:?}"
    );
}

/// All that a run folder has for people.
const SEEN: [&str; 3] = ["table.txt", "regret.svg", "report.html"];

#[test]
fn page_picture_and_table_of_every_trust_model_come_back_from_the_other_files() {
    let folder = scratch("pages");
    std::fs::write(
        folder.join("t.csv"),
        "rent,size\n495,120\n510,40\n520,60\n540,80\n",
    )
    .unwrap();
    std::fs::write(folder.join("flats.toml"), FLATS).unwrap();
    let runs: &[(&str, &[&str])] = &[
        (
            "federated",
            &[
                SMALL,
                "--runs",
                "2",
                "--set",
                "federation.observations=true",
            ],
        ),
        (
            "faults",
            &[
                "faults",
                "--runs",
                "2",
                "--set",
                "federation.agents=20",
                "--set",
                "federation.rounds=6",
            ],
        ),
        (
            "outsourced",
            &[
                "outsourced-grid",
                "--runs",
                "2",
                "--set",
                "modeler.rounds=6",
            ],
        ),
        ("flats", &["flats.toml", "--data", "t.csv"]),
        (
            "local",
            &[
                "ldp-se",
                "--runs",
                "3",
                "--set",
                "learning.rounds=300",
                "--set",
                "objective.points=20",
            ],
        ),
        ("output", &["output-gp", "--runs", "2"]),
    ];
    for (name, arguments) in runs {
        done(&folder, &[&["run"], *arguments, &["--out", name]].concat());
        comes_back(&folder, name, &SEEN);
    }
    // What only the table knew: its data are not read again.
    let page = std::fs::read_to_string(folder.join("flats/report.html")).unwrap();
    assert!(
        page.contains("1 of 4 rows lie outside the declared ranges")
            && page.contains("σ_min of this table")
    );
}

const FLATS: &str = "name = \"flats\"\ndescription = \"d\"\ntrust = \"outsourced\"\nruns = 2\n[objective]\nkind = \"csv\"\n\
    inputs = [\"size\"]\ninput_ranges = [[10, 100]]\noutput = \"rent\"\ngoal = \"minimize\"\n[curator]\nepsilon = 2\n\
    delta = 1e-5\nout_dims = [1]\n[modeler]\nrounds = 3\nlengthscales = [20]\nsignal_variance = 1\n\
    noise_variance = 0.01\nprior_mean = 500\nrepeats = false\n";

#[test]
fn the_page_of_a_sweep_comes_back_and_those_of_its_runs() {
    let folder = scratch("pages-sweep");
    done(
        &folder,
        &[
            "sweep",
            SMALL,
            "--set",
            "privacy.noise_multiplier=1,2",
            "--runs",
            "2",
            "--out",
            "noise",
        ],
    );
    done(
        &folder,
        &[
            "sweep",
            "output-gp",
            "--set",
            "release.value_share=0.2,0.5",
            "--runs",
            "2",
            "--out",
            "share",
        ],
    );
    for (sweep, run) in [
        ("noise", "00001-noise_multiplier=2"),
        ("share", "00000-value_share=0.2"),
    ] {
        comes_back(&folder, sweep, &["report.html"]);
        comes_back(&folder, &format!("{sweep}/runs/{run}"), &SEEN);
    }
}

/// Negative control: a number that is changed is seen on the page, and files that contradict each
/// other are refused.
#[test]
fn a_page_shows_the_files_and_no_memory() {
    let folder = scratch("pages-changed");
    done(&folder, &["run", "output-gp", "--runs", "2", "--out", "a"]);
    let change = |file: &str, from: &str, to: &str| {
        let path = folder.join("a").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    };
    let page = || std::fs::read_to_string(folder.join("a/report.html")).unwrap();
    let before = page();
    change(
        "scenario.toml",
        "description = \"",
        "description = \"Changed: ",
    );
    done(&folder, &["report", "a"]);
    assert!(page() != before && page().contains("Changed: "));
    change(
        "summary.json",
        "\"name\": \"gp-ucb\"",
        "\"name\": \"pg-ucb\"",
    );
    assert!(refused(&folder, 2, &["report", "a"]).contains("pg-ucb"));
    change(
        "summary.json",
        "\"name\": \"pg-ucb\"",
        "\"name\": \"gp-ucb\"",
    );
    change("rounds.csv", "\n1,gp-ucb,", "\n7,gp-ucb,7,");
    assert!(refused(&folder, 2, &["report", "a"]).contains("rounds.csv"));
}

/// A table said ε .0644 of releases that had cost 3.61: it was computed again from a scenario that
/// somebody had changed since.
#[test]
fn a_folder_whose_scenario_was_changed_says_no_other_epsilon() {
    let folder = scratch("changed-scenario");
    done(&folder, &["run", SMALL, "--out", "a"]);
    let path = folder.join("a/scenario.toml");
    let scenario = std::fs::read_to_string(&path).unwrap();
    let noisier = scenario.replace("noise_multiplier = 1.0\n", "noise_multiplier = 9.0\n");
    assert_ne!(noisier, scenario);
    std::fs::write(&path, noisier).unwrap();
    let before = files(&folder.join("a"));
    for command in [
        &["report", "a"][..],
        &["report", "a", "--table", "summary"],
        &["compare", "a", "a"],
    ] {
        let message = refused(&folder, 2, command);
        assert!(
            message.contains("summary.json: it has epsilon_pld = ")
                && message.contains("one of these files was changed after the run"),
            "{message}"
        );
    }
    assert_eq!(files(&folder.join("a")), before);
    std::fs::write(&path, scenario).unwrap();
    // A regret that was changed is seen as well.
    let path = folder.join("a/rounds.csv");
    let rounds = std::fs::read_to_string(&path).unwrap();
    let last = rounds.trim_end().rfind('\n').unwrap() + 1;
    let (head, line) = rounds.split_at(last);
    let mut cells: Vec<&str> = line.trim_end().split(',').collect();
    let regret = rounds.lines().next().unwrap();
    let regret = regret.split(',').position(|name| name == "regret").unwrap();
    cells[regret] = "7.5";
    std::fs::write(&path, format!("{head}{}\n", cells.join(","))).unwrap();
    let message = refused(&folder, 2, &["report", "a"]);
    assert!(
        message.contains("summary.json: it has final_regret = "),
        "{message}"
    );
    std::fs::write(&path, rounds).unwrap();
    done(&folder, &["report", "a"]);
}

//! What somebody who writes a paper with `sordino` would trip over: numbers outside their ranges,
//! repeated points, methods that do not follow a sweep, lines that lie on one another, tables of
//! sweeps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use insta::assert_snapshot;

use crate::util::{SMALL, done, printed, refused, scratch, text};

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The table over all options is in `cli::tests`; here is what the program does with them.
#[test]
fn numbers_outside_their_range_end_with_two_and_leave_nothing() {
    let folder = scratch("laboratory-numbers");
    for (words, needed) in [
        (
            &["run", SMALL, "--threads", "99999999"][..],
            "admissible: a whole number from 1 to 1024",
        ),
        (
            &["run", SMALL, "--seed", "-1"],
            "invalid value '-1' for '--seed <N>': admissible: a whole number from 0",
        ),
        (
            &["sweep", SMALL, "--out", "s", "--seeds", "-1"],
            "--seeds: `-1` is not admissible; admissible: a range",
        ),
        (
            &["privacy", "delta", "--epsilon", "-1"],
            "'--epsilon <E>': admissible: a number from 0 to 1e6",
        ),
        (
            &["run", SMALL, "--set", "runs=-1"],
            "`runs = -1` is not admissible; admissible: a whole number from 1",
        ),
    ] {
        let message = refused(&folder, 2, words);
        assert!(message.contains(needed), "{message}\nexpected {needed}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

/// Initial points are drawn with replacement, so there may be more of them than candidates: each
/// draw is an observation with noise of its own.
#[test]
fn a_candidate_that_is_drawn_again_is_observed_again() {
    let folder = scratch("laboratory-repeats");
    let few = [
        "--set",
        "objective.points_per_axis=12",
        "--set",
        "federation.initial_points=30",
        "--runs",
        "1",
    ];
    let more = [
        "--set",
        "federation.observations=true",
        "--set",
        "federation.rounds=3",
        "--out",
        "run",
    ];
    done(&folder, &[&["run", SMALL][..], &few, &more].concat());
    let table = read(&folder.join("run/observations.csv"));
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let mut seen: BTreeMap<(String, String, String), Vec<(String, String)>> = BTreeMap::new();
    let mut initial: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let of = |name: &str| fields[at(name)].to_owned();
        seen.entry((of("method"), of("agent"), of("candidate")))
            .or_default()
            .push((of("y"), of("value")));
        *initial.entry((of("method"), of("agent"))).or_default() +=
            usize::from(of("source") == "initial");
    }
    assert!(
        initial.values().all(|count| *count == 30) && initial.len() == 8 * 7,
        "{initial:?}"
    );
    let mut repeats = 0;
    for (place, found) in &seen {
        repeats += found.len() - 1;
        let ys: BTreeSet<&String> = found.iter().map(|(y, _)| y).collect();
        assert!(
            ys.len() == found.len() && found.iter().all(|(_, value)| *value == found[0].1),
            "{place:?}: {found:?}"
        );
    }
    // 33 observations of at most 12 candidates.
    assert!(repeats >= 8 * 7 * (33 - 12), "{repeats}");
}

#[test]
fn methods_that_are_the_same_say_so() {
    let folder = scratch("laboratory-twins");
    let run = |splits: &str, out: &str| {
        let words = ["run", SMALL, "--runs", "1", "--set", splits, "--out", out];
        printed(&folder, &words)
    };
    let sentence =
        "The same, bit by bit: fts-de as fts; dp-fts-de, uniform-weights, global-init as dp-fts.";
    assert!(run("federation.splits=[1]", "one").contains(sentence));
    let picture = read(&folder.join("one/regret.svg"));
    assert!(
        picture.contains("same as fts<") && picture.contains("same as dp-fts<"),
        "{picture}"
    );
    // Of a panel in which the first of them is not, the first that is there.
    assert!(picture.contains("same as dp-fts-de<"));
    assert!(printed(&folder, &["report", "one", "--table", "summary"]).contains(sentence));
    done(
        &folder,
        &["report", "one", "--figure", "regret", "--out", "one.svg"],
    );
    assert!(read(&folder.join("one.svg")).contains("same as fts<"));
    // Negative control.
    assert!(!run("federation.splits=[3]", "three").contains("The same, bit by bit"));
    assert!(!read(&folder.join("three/regret.svg")).contains("same as"));
}

/// A sweep over a key that a method of the scenario's own sets, with an underscore for LaTeX.
fn swept(folder: &Path) -> String {
    let own = "\n[[method]]\nname = \"my_own\"\nbase = \"dp-fts-de\"\nset = { \"privacy.noise_multiplier\" = 2 }\n";
    std::fs::write(folder.join("s.toml"), read(Path::new(SMALL)) + own).unwrap();
    let methods = "federation.methods=[\"ts\", \"dp-fts-de\", \"my_own\"]";
    let axes = [
        "--set",
        "privacy.noise_multiplier=0.5,1,2",
        "--set",
        methods,
        "--runs",
        "5",
        "--out",
        "s",
    ];
    let output = done(folder, &[&["sweep", "s.toml"][..], &axes].concat());
    assert!(
        text(&output.stdout).contains("Warning: δ = 0.118 for 7 agents"),
        "{}",
        text(&output.stdout)
    );
    text(&output.stdout).to_owned()
}

#[test]
fn a_method_that_keeps_a_swept_key_says_so_everywhere() {
    let folder = scratch("laboratory-kept");
    let told = swept(&folder);
    let sentence =
        "my_own sets noise_multiplier = 2 for itself and does not follow the sweep over it";
    assert!(
        told.contains(sentence) && told.matches("2 (kept)").count() == 3,
        "{told}"
    );
    let table = |format: &str| {
        printed(
            &folder,
            &["report", "s", "--table", "summary", "--format", format],
        )
    };
    assert_snapshot!("sweep_latex", table("latex"));
    assert_snapshot!("sweep_markdown", table("markdown"));
    assert_eq!(table("csv"), read(&folder.join("s/summary.csv")));
    let page = read(&folder.join("s/report.html"));
    for needed in [
        sentence,
        "The table in LaTeX",
        "The table in Markdown",
        "my\\_own",
    ] {
        assert!(page.contains(needed), "{needed}");
    }
    let figure = |name: &str| {
        done(
            &folder,
            &[
                "report", "s", "--figure", name, "--width", "300mm", "--out", "f.svg",
            ],
        );
        read(&folder.join("f.svg"))
    };
    assert!(figure("final-regret").contains("noise_multiplier = 2<"));
    // One curve of a method that does not move, one for each value of one that does.
    let rounds = figure("rounds");
    let drawn = |value: &str| {
        rounds
            .matches(&format!(">noise_multiplier = {value}<"))
            .count()
    };
    assert_eq!((drawn("0.5"), drawn("1"), drawn("2")), (2, 2, 3));
    // In every cell the method is the same to the bit; at its own value it is its base.
    let index: serde_json::Value =
        serde_json::from_str(&read(&folder.join("s/index.json"))).unwrap();
    let digest = |cell: usize, method: usize| &index["entries"][cell]["methods"][method]["digest"];
    assert!(
        digest(0, 2) == digest(1, 2)
            && digest(1, 2) == digest(2, 2)
            && digest(2, 2) == digest(2, 1)
    );
    assert_ne!(digest(0, 1), digest(2, 1));
    let lines = read(&folder.join("s/summary.csv"));
    let kept: Vec<&str> = lines
        .lines()
        .map(|line| line.rsplit(',').next().unwrap())
        .collect();
    assert_eq!(kept[..4], ["kept", "", "", "noise_multiplier = 2"]);
    let other = refused(
        &folder,
        2,
        &["report", "s", "--table", "summary", "--methods", "fts"],
    );
    assert!(
        other.contains("--methods fts: is not in s, which has ts, dp-fts-de, my_own"),
        "{other}"
    );
    // A sweep has paired differences too, at every point; of what no sweep has, its tables are
    // named.
    let paired = printed(&folder, &["report", "s", "--table", "paired"]);
    assert!(
        paired.contains("dp-fts-de") && paired.contains("my_own"),
        "{paired}"
    );
    let one = printed(
        &folder,
        &["report", "s", "--table", "summary", "--methods", "my_own"],
    );
    assert!(
        !one.contains("dp-fts-de") && one.matches("2 (kept)").count() == 3,
        "{one}"
    );
}

#[test]
fn a_sweep_that_every_method_follows_says_nothing_of_keeping() {
    let folder = scratch("laboratory-follows");
    let methods = "federation.methods=[\"ts\", \"dp-fts-de\"]";
    let axes = [
        "--set",
        "privacy.noise_multiplier=1,2",
        "--set",
        methods,
        "--runs",
        "1",
        "--out",
        "s",
    ];
    let printed = printed(&folder, &[&["sweep", SMALL][..], &axes].concat());
    assert!(
        !printed.contains("kept") && !read(&folder.join("s/report.html")).contains("(kept)"),
        "{printed}"
    );
    assert!(
        !read(&folder.join("s/index.json")).contains("kept")
            && !read(&folder.join("s/index.csv")).contains("kept")
    );
}

/// The lines for the `Cargo.toml` of an outside crate name packages and features that are there.
#[test]
fn the_book_says_what_an_outside_crate_depends_on() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let chapter = read(&root.join("docs/book/src/scenarios.md"));
    let fences = chapter
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let lines = fences
        .into_iter()
        .find(|text| text.contains("sordino-sim = {"))
        .expect("a fence for Cargo.toml");
    let found: toml::Table = lines.parse().unwrap();
    let dependencies = found["dependencies"].as_table().unwrap();
    assert_eq!(
        dependencies.keys().collect::<Vec<_>>(),
        ["sordino-core", "sordino-sim"]
    );
    for (name, dependency) in dependencies {
        // The repository lies beside the crate under its own name.
        let path = dependency["path"]
            .as_str()
            .unwrap()
            .strip_prefix("../sordino/")
            .unwrap();
        let manifest: toml::Table = read(&root.join(path).join("Cargo.toml")).parse().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some(name.as_str()));
        let features = dependency.get("features").and_then(toml::Value::as_array);
        for feature in features.into_iter().flatten() {
            assert!(
                manifest["features"]
                    .get(feature.as_str().unwrap())
                    .is_some(),
                "{name}: {feature}"
            );
        }
    }
}

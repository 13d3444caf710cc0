//! What a newcomer met: budgets that refuse, one agent, data that is not there, folders that are
//! not finished, failures that a second try heals.

use std::path::Path;

use crate::util::{SMALL, done, json, printed, refused, said, scratch, text};

const METHODS: &str = "federation.methods=[\"ts\", \"dp-fts-de\", \"dp-prior\"]";

/// A table of `agents` agents at three settings, and a scenario that takes its agents from it.
fn table(folder: &Path, agents: u32) {
    let cells = (0..agents)
        .flat_map(|agent| (0..3).map(move |x| format!("w{agent},{x},{}\n", (agent + x) % 4)));
    std::fs::write(
        folder.join("t.csv"),
        format!("agent,x,value\n{}", cells.collect::<String>()),
    )
    .unwrap();
    let scenario = "name = \"t\"\ndescription = \"a table\"\nruns = 1\n[objective]\nkind = \"table\"\ninputs = [\"x\"]\n\
        input_ranges = [[0, 2]]\ngoal = \"maximize\"\n[federation]\nrounds = 3\ninitial_points = 1\nmethods = [\"ts\", \"dp-fts\"]\n[surrogate]\n\
        lengthscale = 0.3\nnoise_variance = 0.01\nfeatures = 8\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n";
    std::fs::write(folder.join("t.toml"), scenario).unwrap();
}

#[test]
fn a_budget_that_refuses_releases_is_told_with_what_it_refused() {
    let folder = scratch("newcomer-budget");
    let run = |budget: &str, out: &str| {
        let set = format!("privacy.max_epsilon={budget}");
        let small = [
            "run",
            SMALL,
            "--set",
            METHODS,
            "--set",
            "prior.epsilon=8",
            "--runs",
            "1",
        ];
        printed(
            &folder,
            &[&small[..], &["--set", &set, "--out", out]].concat(),
        )
    };
    let none = run("0.01", "none");
    assert!(
        none.contains("dp-prior: no release: the first would exceed privacy.max_epsilon = 0.01"),
        "{none}"
    );
    assert!(
        none.contains("dp-fts-de: no release: the first would exceed") && !none.contains("inf"),
        "{none}"
    );
    let some = run("5", "some");
    assert!(
        some.contains("; the next would exceed privacy.max_epsilon = 5"),
        "{some}"
    );
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("some/summary.json")).unwrap())
            .unwrap();
    let event = summary["methods"][1]["facts"]["event"].as_str().unwrap();
    let made = crate::util::charges(
        &std::fs::read_to_string(folder.join("some/ledger.jsonl"))
            .unwrap()
            .lines()
            .filter(|line| line.contains("\"dp-fts-de\""))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
    assert!(
        made > 0 && event.starts_with(&format!("{made} of 14 Gaussian releases")),
        "{event}"
    );
    let page = std::fs::read_to_string(folder.join("some/report.html")).unwrap();
    assert!(page.contains("the next would exceed privacy.max_epsilon = 5"));
    // Negative control: without a budget nothing is said of one.
    let free = printed(&folder, &["run", SMALL, "--runs", "1", "--out", "free"]);
    assert!(!free.contains("would exceed"), "{free}");
}

#[test]
fn private_methods_that_differ_in_epsilon_are_told_apart_in_a_line() {
    let folder = scratch("newcomer-unequal");
    let run = |methods: &str, out: &str| {
        let set = [
            "--set",
            methods,
            "--set",
            "prior.epsilon=30",
            "--runs",
            "1",
            "--out",
            out,
        ];
        printed(&folder, &[&["run", SMALL][..], &set].concat())
            .contains("Private methods of this run differ in ε")
    };
    assert!(run(METHODS, "two"));
    assert!(!run(
        "federation.methods=[\"ts\", \"dp-fts\", \"dp-fts-de\"]",
        "one"
    ));
}

#[test]
fn one_agent_is_refused_for_private_methods_and_a_large_delta_is_warned_of() {
    let folder = scratch("newcomer-agents");
    table(&folder, 1);
    fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["run", "t.toml", "--data", "t.csv"][..], more].concat()
    }
    // What the table has is said of the table, by every command that reads it.
    let swept = [
        "sweep",
        "t.toml",
        "--data",
        "t.csv",
        "--set",
        "federation.rounds=3,4",
        "--out",
        "swept",
    ];
    for arguments in [
        &run(&["--out", "one"])[..],
        &["privacy", "explain", "t.toml", "--data", "t.csv"],
        &swept,
    ] {
        let message = refused(&folder, 2, arguments);
        let expected = "t.csv:2: `w0` is the only agent of this table; admissible: at least 2 with the private method \
                        `dp-fts`: one agent is hidden among nobody";
        assert!(
            message.contains(expected) && !message.contains("--set"),
            "{message}"
        );
    }
    // Negative control: what was set is said of the setting.
    let message = refused(
        &folder,
        2,
        &run(&["--set", "federation.agents=1", "--out", "one"]),
    );
    assert!(
        message.contains(
            "--set: `federation.agents = 1` is not admissible; admissible: at least 2 with"
        ),
        "{message}"
    );
    done(
        &folder,
        &run(&["--set", "federation.methods=[\"ts\"]", "--out", "ts"]),
    );
    table(&folder, 12);
    let output = done(&folder, &run(&["--out", "twelve"]));
    // With the table, so that it stands wherever the table does.
    let table = text(&output.stdout);
    assert!(
        table.contains("Warning: δ = 0.0650 for 12 agents") && table.contains("privacy.delta"),
        "{table}"
    );
    assert_eq!(
        std::fs::read_to_string(folder.join("twelve/table.txt"))
            .unwrap()
            .matches("Warning: δ")
            .count(),
        1
    );
    let output = done(
        &folder,
        &run(&["--set", "privacy.delta=1e-3", "--out", "small"]),
    );
    assert!(
        !text(&output.stdout).contains("Warning: δ") && !said(&output).contains("Warning"),
        "{}",
        said(&output)
    );
}

#[test]
fn agents_of_a_table_are_told_by_name() {
    let folder = scratch("newcomer-names-of-agents");
    table(&folder, 12);
    // The first row decides who agent 0 is, not the alphabet; a name may be any text.
    let rows = std::fs::read_to_string(folder.join("t.csv")).unwrap();
    std::fs::write(
        folder.join("t.csv"),
        rows.replace("w0,", "\"ward, \"\"north\"\"\","),
    )
    .unwrap();
    let run = ["run", "t.toml", "--data", "t.csv", "--runs", "2", "--out"];
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    done(&folder, &[&run[..], &["whole"]].concat());
    let all = read("whole/observations.csv");
    let best = read("whole/agents.csv");
    assert!(
        all.starts_with("run,method,agent,agent_name,round,source,"),
        "{all}"
    );
    assert!(
        best.starts_with("run,method,agent,agent_name,observations,"),
        "{best}"
    );
    for text in [&all, &best] {
        assert!(
            text.contains("\n0,ts,0,\"ward, \"\"north\"\"\",") && text.contains("\n0,ts,11,w11,"),
            "{text}"
        );
    }
    // Names are in the state of every part.
    for part in ["1/2", "2/2"] {
        done(&folder, &[&run[..], &[&part[..1], "--part", part]].concat());
    }
    done(
        &folder,
        &["merge", "1", "2", "--data", "t.csv", "--out", "merged"],
    );
    assert_eq!(
        (read("merged/observations.csv"), read("merged/agents.csv")),
        (all, best)
    );
    // Negative control: agents without names have no such column.
    done(&folder, &["run", SMALL, "--runs", "1", "--out", "small"]);
    assert!(read("small/agents.csv").starts_with("run,method,agent,observations,"));
}

#[test]
fn explain_takes_the_agents_from_the_data() {
    let folder = scratch("newcomer-explain");
    table(&folder, 12);
    let found = printed(
        &folder,
        &["privacy", "explain", "t.toml", "--data", "t.csv"],
    );
    assert!(
        found.contains("What it costs") && found.contains("12"),
        "{found}"
    );
    assert!(refused(&folder, 2, &["privacy", "explain", "t.toml"]).contains("--data PATH"));
    assert!(
        refused(
            &folder,
            2,
            &["privacy", "explain", "default", "--data", "t.csv"]
        )
        .contains("reads no data")
    );
    let message = refused(&folder, 2, &["run", "t.toml", "--data", "none.csv"]);
    assert!(
        message.contains("--data none.csv: there is no such file"),
        "{message}"
    );
    std::fs::write(folder.join("t.csv"), "agent,x,value\n").unwrap();
    let message = refused(&folder, 2, &["run", "t.toml", "--data", "t.csv"]);
    assert!(message.contains("t.csv: no rows"), "{message}");
}

#[test]
fn names_that_mean_nothing_are_answered_with_the_near_one() {
    let folder = scratch("newcomer-names");
    let message = refused(
        &folder,
        2,
        &["run", SMALL, "--set", "federation.methods=[\"dp-fts-ed\"]"],
    );
    assert!(message.contains("did you mean `dp-fts"), "{message}");
    let message = refused(
        &folder,
        2,
        &["run", SMALL, "--set", "federation.mixing=invers"],
    );
    assert!(message.contains("did you mean `inverse`?"), "{message}");
    // Negative control: nothing is near.
    let message = refused(
        &folder,
        2,
        &["run", SMALL, "--set", "federation.mixing=quadratic"],
    );
    assert!(!message.contains("did you mean"), "{message}");
}

#[test]
fn compare_says_what_a_folder_is_and_what_it_leaves_out() {
    let folder = scratch("newcomer-compare");
    let run = |out: &str, methods: &str| {
        done(
            &folder,
            &["run", SMALL, "--runs", "1", "--set", methods, "--out", out],
        );
    };
    run("a", "federation.methods=[\"ts\", \"fts\"]");
    run("b", "federation.methods=[\"ts\", \"dp-fts\"]");
    let found = json(&done(&folder, &["compare", "a", "b", "--format", "json"]));
    assert_eq!(
        found["left_out"],
        serde_json::json!([["fts", "A"], ["dp-fts", "B"]])
    );
    let said = printed(&folder, &["compare", "a", "b"]);
    assert!(
        said.contains("Left out, because they are in one folder alone: fts (A), dp-fts (B)."),
        "{said}"
    );
    // Unfinished, as a kill leaves it; and a folder of something else.
    let state = folder.join("c/state");
    std::fs::create_dir_all(&state).unwrap();
    // The first line of a complete folder's scenario says who wrote it; the state has none.
    let written = std::fs::read_to_string(folder.join("a/scenario.toml")).unwrap();
    let keys: String = written
        .lines()
        .skip_while(|line| line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(state.join("scenario.toml"), keys).unwrap();
    let message = refused(&folder, 2, &["compare", "a", "c"]);
    assert!(
        message.contains("c: unfinished") && message.contains("--resume"),
        "{message}"
    );
    // A table and a figure need all of it, too, and say the same.
    for wanted in [["--table", "summary"], ["--figure", "regret"]] {
        let words = [&["report", "c", "--out", "x.svg"][..], &wanted].concat();
        let message = refused(&folder, 2, &words);
        assert!(
            message.contains("c: unfinished") && message.contains("--resume"),
            "{message}"
        );
    }
    // A part is told as what it is.
    let part = ["run", SMALL, "--runs", "2", "--part", "1/2", "--out", "p"];
    done(&folder, &part);
    let message = refused(&folder, 2, &["compare", "a", "p"]);
    assert!(
        message.contains("p: holds part 1/2") && !message.contains("--resume"),
        "{message}"
    );
    // The ending of a file says the form of a table; two methods make a difference.
    let out = ["report", "a", "--table", "paired", "--out", "pairs.csv"];
    done(&folder, &out);
    let pairs = std::fs::read_to_string(folder.join("pairs.csv")).unwrap();
    assert!(pairs.starts_with("first,second,"), "{pairs}");
    done(&folder, &[&out[..], &["--format", "text"]].concat());
    let text = std::fs::read_to_string(folder.join("pairs.csv")).unwrap();
    assert!(text.contains("Paired differences of "), "{text}");
    let one = ["report", "a", "--table", "paired", "--methods", "ts"];
    let message = refused(&folder, 2, &one);
    assert!(
        message.contains("compares two methods or more"),
        "{message}"
    );
    std::fs::create_dir(folder.join("d")).unwrap();
    let message = refused(&folder, 2, &["compare", "a", "d"]);
    assert_eq!(message.matches("No such file").count(), 1, "{message}");
    table(&folder, 12);
    let set = ["--set", "federation.methods=[\"ts\"]", "--out", "t"];
    done(
        &folder,
        &[&["run", "t.toml", "--data", "t.csv"][..], &set].concat(),
    );
    let message = refused(&folder, 2, &["compare", "a", "t"]);
    assert!(
        message.contains("objective.kind is \"gp-sample\" in a and \"table\" in t"),
        "{message}"
    );
    // Settings that differ are told with their sides.
    std::fs::write(
        folder.join("t.csv"),
        std::fs::read_to_string(folder.join("t.csv")).unwrap() + "\n",
    )
    .unwrap();
    let again = [&["run", "t.toml", "--data", "t.csv", "--resume"][..], &set].concat();
    let message = refused(&folder, 2, &again);
    assert!(
        message.contains("its data file is another one") && message.contains("`-` is the folder's"),
        "{message}"
    );
}

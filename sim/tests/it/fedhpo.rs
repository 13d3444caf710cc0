//! Tables of federated trainings: both forms, what is read of them, what is refused, one digest for
//! both drivers.

use std::fmt::Write as _;
use std::path::Path;

use crate::util::{done, json, refused, scratch};

/// The scenario of a table of one's own: 4 rates × 2 decays, agents as `agents` says.
fn scenario(agents: &str) -> String {
    format!(
        "name = \"f\"\ndescription = \"trainings\"\nruns = 2\n[objective]\nkind = \"fedhpo\"\n{agents}\n\
         inputs = [\"lr\", \"wd\"]\ninput_ranges = [[0.001, 1], [0, 0.1]]\nlog_inputs = [\"lr\"]\ngoal = \"minimize\"\n\
         [federation]\nrounds = 4\ninitial_points = 2\nmethods = [\"random\", \"ts\", \"fts\"]\n[surrogate]\n\
         lengthscale = 0.5\nnoise_variance = 0.01\nfeatures = 12\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n"
    )
}

/// Loss of a client after an evaluation, best at rate .1; evaluations after the second are worse at
/// large rates.
fn loss(client: usize, rate: f64, decay: f64, evaluation: usize) -> f64 {
    let far = (rate.log10() + 1.0).abs() + decay + client as f64 / 10.0;
    far + 1.0 / evaluation as f64 + if rate > 0.5 { evaluation as f64 } else { 0.0 }
}

fn settings() -> impl Iterator<Item = (f64, f64)> {
    [0.001, 0.01, 0.1, 1.0]
        .into_iter()
        .flat_map(|rate| [0.0, 0.1].map(|decay| (rate, decay)))
}

/// As FedHPO-Bench writes it: three clients, three evaluations; the first setting twice, of another
/// seed.
fn nested() -> String {
    let mut text = "sample_client,lr,wd,seed,result\n".to_owned();
    for (rate, decay) in settings() {
        let of =
            |client: usize| (1..=3).map(move |evaluation| loss(client, rate, decay, evaluation));
        let mean: Vec<f64> = (0..3)
            .map(|e| (0..3).map(|c| loss(c, rate, decay, e + 1)).sum::<f64>() / 3.0)
            .collect();
        let fair: Vec<Vec<f64>> = (0..3)
            .map(|e| (0..3).filter_map(|c| of(c).nth(e)).collect())
            .collect();
        for seed in [1, 2] {
            let time = "[datetime.timedelta(seconds=7)]";
            let result = format!(
                "{{'val_avg_loss': {mean:?}, 'val_avg_loss_fair': {fair:?}, 'tol_time': {time}}}"
            );
            writeln!(text, "0.2,{rate},{decay},{seed},\"{result}\"").unwrap();
        }
    }
    text
}

/// The same, a row for each round.
fn flat() -> String {
    let mut text = "client,lr,wd,round,loss,mean\n".to_owned();
    for (rate, decay) in settings() {
        for (client, evaluation) in
            (0..3).flat_map(|client| (1..=3).map(move |evaluation| (client, evaluation)))
        {
            let mean = (0..3)
                .map(|client| loss(client, rate, decay, evaluation))
                .sum::<f64>()
                / 3.0;
            let own = loss(client, rate, decay, evaluation);
            writeln!(text, "{client},{rate},{decay},{evaluation},{own},{mean}").unwrap();
        }
    }
    text
}

const NESTED: &str =
    "metric = \"val_avg_loss_fair\"\nselected_by = \"val_avg_loss\"\nonly = [\"seed=1\"]";
const FLAT: &str = "metric = \"loss\"\nselected_by = \"mean\"\nagent_columns = [\"client\"]";

fn write(folder: &Path, keys: &str, table: &str) {
    std::fs::write(folder.join("f.toml"), scenario(keys)).unwrap();
    std::fs::write(folder.join("f.csv"), table).unwrap();
}

fn digest(folder: &Path, out: &str, arguments: &[&str]) -> String {
    let all = [
        &[
            "run", "f.toml", "--data", "f.csv", "--format", "json", "--out", out,
        ],
        arguments,
    ]
    .concat();
    json(&done(folder, &all))["digest"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn both_forms_of_a_table_are_the_same_functions() {
    let folder = scratch("fedhpo-forms");
    write(&folder, NESTED, &nested());
    let of_lists = digest(&folder, "nested", &[]);
    assert_eq!(
        digest(&folder, "lockstep", &["--driver", "lockstep"]),
        of_lists
    );
    let resolved = std::fs::read_to_string(folder.join("nested/scenario.toml")).unwrap();
    assert!(
        resolved.contains("agents = 3\n") && resolved.contains("digest = \""),
        "{resolved}"
    );
    // An agent's best: at rate .1 the last evaluation, 1/3 and a tenth for each client before.
    let agents = std::fs::read_to_string(folder.join("nested/agents.csv")).unwrap();
    let best = loss(0, 0.1, 0.0, 3);
    assert!((best - 1.0 / 3.0).abs() < 1e-12);
    assert!(agents.contains(&format!("{best}")), "{agents}");
    write(&folder, FLAT, &flat());
    assert_eq!(
        digest(&folder, "flat", &[]),
        of_lists,
        "rows and lists say the same"
    );
    // Another last round is another function.
    assert_ne!(
        digest(&folder, "shorter", &["--set", "objective.last_round=1"]),
        of_lists
    );
    // Agents by columns, one number for each evaluation.
    write(
        &folder,
        "metric = \"val_avg_loss\"\nagent_columns = [\"seed\", \"sample_client\"]",
        &nested(),
    );
    digest(&folder, "columns", &[]);
    let resolved = std::fs::read_to_string(folder.join("columns/scenario.toml")).unwrap();
    assert!(resolved.contains("agents = 2\n"), "{resolved}");
}

#[test]
fn a_table_that_was_changed_is_refused_by_its_folder() {
    let folder = scratch("fedhpo-changed");
    write(&folder, NESTED, &nested());
    digest(&folder, "a", &[]);
    done(&folder, &["report", "a"]);
    std::fs::write(
        folder.join("f.csv"),
        nested().replacen("0.001,0,", "0.001,0.0,", 1),
    )
    .unwrap();
    let message = refused(
        &folder,
        2,
        &["run", "a/scenario.toml", "--data", "f.csv", "--out", "b"],
    );
    assert!(
        message.contains("the scenario was made for a file of digest"),
        "{message}"
    );
    let message = refused(
        &folder,
        2,
        &["run", "f.toml", "--data", "f.csv", "--out", "a", "--resume"],
    );
    assert!(message.contains("digest"), "{message}");
}

#[test]
fn what_is_no_such_table_is_refused_with_its_place() {
    let folder = scratch("fedhpo-refused");
    let good = nested();
    let first = |from: &str, to: &str| good.replacen(from, to, 1);
    for (what, keys, table, expected) in [
        (
            "nothing",
            NESTED,
            "lr,wd\n".to_owned(),
            "there is no column `seed`",
        ),
        (
            "another table",
            FLAT,
            "client,lr,wd,value\n0,1,0,1\n".to_owned(),
            "there is no column `round`; there are client",
        ),
        (
            "no dictionary",
            NESTED,
            first("{'val_avg_loss'", "['val_avg_loss'"),
            "f.csv:2: `result`: at its byte",
        ),
        (
            "a list",
            NESTED,
            first("\"{'", "7\n0.2,0.001,0,3,\"{'"),
            "admissible: a dictionary of lists",
        ),
        (
            "no entry",
            NESTED,
            first("'val_avg_loss_fair'", "'fair'"),
            "is missing; there are val_avg_loss, fair, tol_time",
        ),
        (
            "a short entry",
            NESTED,
            first("'val_avg_loss': [", "'val_avg_loss': [1, "),
            "has 4 values, `val_avg_loss_fair` has 3",
        ),
        (
            "a client less",
            NESTED,
            first("'val_avg_loss_fair': [[", "'val_avg_loss_fair': [[1, "),
            "the same number of clients",
        ),
        (
            "twice",
            "metric = \"val_avg_loss_fair\"",
            good.clone(),
            "lines 2 and 3 are one agent at the same inputs",
        ),
        (
            "no agents",
            "metric = \"val_avg_loss\"",
            good.clone(),
            "objective.agent_columns: columns whose values name an agent",
        ),
        (
            "no such row",
            "metric = \"val_avg_loss\"\nonly = [\"seed=9\"]",
            good.clone(),
            "no row has seed=9",
        ),
        (
            "no condition",
            "metric = \"val_avg_loss\"\nonly = [\"seed\"]",
            good.clone(),
            "`column=value`",
        ),
        (
            "a range",
            NESTED,
            first("0.2,0.001,", "0.2,7,"),
            "f.csv:2: `lr` is `7`; admissible: a number from 0.001 to 1",
        ),
        (
            "flat, no agents",
            "metric = \"loss\"",
            flat(),
            "objective.agent_columns must name the columns",
        ),
        (
            "a round twice",
            FLAT,
            flat() + "0,0.001,0,1,2,2\n",
            "`round` is `1`; admissible: a round that this training",
        ),
    ] {
        write(&folder, keys, &table);
        let message = refused(
            &folder,
            2,
            &["run", "f.toml", "--data", "f.csv", "--out", "no"],
        );
        assert!(
            message.contains(expected),
            "{what}: {message}\nexpected {expected}"
        );
        assert!(!folder.join("no").exists(), "{what}");
    }
    // Compressed as it is downloaded.
    std::fs::write(folder.join("f.csv"), [0x1f, 0x8b, 8, 0]).unwrap();
    let message = refused(
        &folder,
        2,
        &["run", "f.toml", "--data", "f.csv", "--out", "no"],
    );
    assert!(message.contains("is compressed; unpack it"), "{message}");
    let message = refused(&folder, 2, &["run", "f.toml", "--out", "no"]);
    assert!(message.contains("name it with --data PATH"), "{message}");
}

/// A training that came to nothing has the value that the scenario says, and is refused without it.
#[test]
fn trainings_without_a_number_need_a_value() {
    let folder = scratch("fedhpo-diverged");
    let table = nested().replacen(
        "'val_avg_loss': [",
        "'val_avg_loss': [nan, nan, nan], 'x': [",
        1,
    );
    write(&folder, NESTED, &table);
    let message = refused(
        &folder,
        2,
        &["run", "f.toml", "--data", "f.csv", "--out", "no"],
    );
    assert!(
        message.contains("f.csv:2: entry `val_avg_loss_fair` of `result` has no number"),
        "{message}"
    );
    assert!(message.contains("objective.diverged"), "{message}");
    digest(&folder, "a", &["--set", "objective.diverged=9"]);
    let all = std::fs::read_to_string(folder.join("a/observations.csv")).unwrap();
    assert!(all.lines().count() > 1);
}

#[test]
fn the_shipped_table_is_a_hundred_clients() {
    let folder = scratch("fedhpo-shipped");
    let arguments = [
        "run",
        "fedhpo",
        "--runs",
        "1",
        "--set",
        "federation.rounds=3",
        "--set",
    ];
    let methods = "federation.methods=[\"random\", \"ts\", \"pooled\"]";
    done(
        &folder,
        &[&arguments[..], &[methods, "--out", "a"]].concat(),
    );
    let resolved = std::fs::read_to_string(folder.join("a/scenario.toml")).unwrap();
    assert!(
        resolved.contains("agents = 100\n") && !resolved.contains("digest"),
        "{resolved}"
    );
    let message = refused(
        &folder,
        2,
        &["run", "fedhpo", "--data", "a/rounds.csv", "--out", "no"],
    );
    assert!(message.contains("reads no data"), "{message}");
}

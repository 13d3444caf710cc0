//! 1, 2, 3, 7 workers; fresh, killed, resumed, joined late: one folder.

use std::path::Path;

use serde_json::Value;

use crate::util::*;

/// Rounds long enough to be seen in the log, of one private method.
const SLOW: &[&str] = &[
    "default",
    "--runs",
    "1",
    "--set",
    "federation.methods=[\"dp-fts-de\"]",
    "--set",
    "federation.agents=600",
];
/// Agents of every kind, with faults, in paired runs, every observation written down.
const KINDS: &[&str] = &[
    "default",
    "--runs",
    "2",
    "--set",
    "federation.methods=[\"fts-de\", \"dp-prior\", \"random\", \"pooled\", \"campaign\"]",
    "--set",
    "federation.agents=30",
    "--set",
    "federation.rounds=20",
    "--set",
    "federation.observations=true",
    "--set",
    "faults.dropout=0.1",
    "--set",
    "faults.straggler=0.2",
];

/// 16 blocks of agents over 40 rounds, as many rounds with quantiles as a run can have; few
/// features, so that it takes seconds.
const BLOCKS: &[&str] = &[
    "fleet",
    "--set",
    "federation.agents=16384",
    "--set",
    "surrogate.features=32",
];

/// Agents of every kind: the folder of `sordino run`, with one worker and with three.
#[test]
fn all_methods_leave_the_folder_of_the_undivided_run() {
    let place = scratch("kinds");
    let expected = reference(&place, KINDS);
    for count in [1, 3] {
        let cluster = Cluster::new(place.join(format!("workers-{count}")), KINDS);
        let head = cluster.head(count, &[]);
        let workers = cluster.workers(count);
        all_done(head, workers);
        assert_same(&files(&cluster.out), &expected, &format!("{count} workers"));
    }
}

/// What a head says it sent and heard beside broadcasts, in bytes for 1,024 agents and order.
fn bytes_of_a_block(said: &[Value]) -> [f64; 2] {
    let messages = said.iter().filter_map(|line| line["message"].as_str());
    let read = |message: &str| {
        let (down, rest) = message.split_once(" bytes down and ")?;
        Some([
            down.parse().ok()?,
            rest.split_once(" up for 1,024 agents and order")?
                .0
                .parse()
                .ok()?,
        ])
    };
    messages
        .filter_map(read)
        .next()
        .expect("a line about bytes")
}

/// At most 1 kB for 1,024 agents and order, averaged over 40 rounds, rounds with quantiles among
/// them; and the folder.
#[test]
fn a_block_costs_less_than_a_kilobyte_on_the_wire() {
    let place = scratch("bytes");
    let cluster = Cluster::new(place.join("run"), BLOCKS);
    let head = cluster.head(2, &[]);
    let workers = cluster.workers(2);
    let [down, up] = bytes_of_a_block(&all_done(head, workers));
    println!("{down} bytes down, {up} up");
    assert!(down + up <= 1024.0, "{down} bytes down, {up} up");
    // Two bits for each agent in either direction and 40 bytes a block are among them in 40 of 41
    // orders.
    assert!(down > 250.0 && up > 290.0, "{down} bytes down, {up} up");
    assert_same(
        &files(&cluster.out),
        &reference(&place, BLOCKS),
        "16 blocks",
    );
    // Negative control: something of every agent, here what it observed, does not fit.
    let told = [
        BLOCKS,
        &[
            "--set",
            "federation.observations=true",
            "--set",
            "federation.rounds=2",
        ],
    ]
    .concat();
    let cluster = Cluster::new(place.join("told"), &told);
    let head = cluster.head(2, &[]);
    let workers = cluster.workers(2);
    let [down, up] = bytes_of_a_block(&all_done(head, workers));
    assert!(down + up > 10_240.0, "{down} bytes down, {up} up");
}

/// Head and two workers: one is killed, one joins, the head is killed and resumed; the folder is
/// that of the undivided run.
#[test]
fn a_head_and_two_workers_survive_everything() {
    let place = scratch("everything");
    let expected = reference(&place, SLOW);
    let cluster = Cluster::new(place.join("run"), SLOW);
    let mut workers = cluster.workers(2);
    let mut head = cluster.head(2, &["--checkpoint-every", "0.2"]);
    head.until_round(10);
    workers[0].kill();
    head.until("a recovery", |line| {
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains("made good"))
    });
    workers.push(cluster.worker("late"));
    head.until_round(20);
    head.kill();
    let head = cluster.head(2, &["--checkpoint-every", "0.2", "--resume"]);
    workers.remove(0);
    all_done(head, workers);
    assert_same(&files(&cluster.out), &expected, "killed, joined, resumed");
}

/// One case of the matrix; milliseconds of its recoveries.
fn case(
    place: &Path,
    count: usize,
    name: &str,
    run: impl FnOnce(&Cluster) -> Vec<u64>,
) -> (String, Vec<u64>) {
    let cluster = Cluster::new(place.join(format!("{count}-{name}")), SLOW);
    (format!("{count} workers, {name}"), run(&cluster))
}

fn killed(cluster: &Cluster, count: usize, round: u64) -> Vec<u64> {
    let mut workers = cluster.workers(count);
    let mut head = cluster.head(count, &[]);
    head.until_round(round);
    workers[0].kill();
    // The only one is followed by another.
    if count == 1 {
        workers.push(cluster.worker("next"));
    }
    workers.remove(0);
    recoveries(&all_done(head, workers))
}

/// The whole of it: 28 runs, minutes.
#[test]
#[ignore = "minutes: cargo test -p sordino-cluster -- --ignored"]
fn one_digest_whatever_happens() {
    let place = scratch("matrix");
    let expected = reference(&place, SLOW);
    let mut table = Vec::new();
    for count in [1, 2, 3, 7] {
        table.push(case(&place, count, "fresh", |cluster| {
            recoveries(&all_done(cluster.head(count, &[]), cluster.workers(count)))
        }));
        for round in [10, 20, 30] {
            let name = format!("killed at {round}");
            table.push(case(&place, count, &name, |cluster| {
                killed(cluster, count, round)
            }));
        }
        table.push(case(&place, count, "head", |cluster| {
            let workers = cluster.workers(count);
            let mut head = cluster.head(count, &["--checkpoint-every", "0.2"]);
            head.until_round(20);
            head.kill();
            recoveries(&all_done(cluster.head(count, &["--resume"]), workers))
        }));
        table.push(case(&place, count, "late", |cluster| {
            let mut workers = cluster.workers(count);
            let mut head = cluster.head(count, &[]);
            head.until_round(10);
            workers.push(cluster.worker("late"));
            recoveries(&all_done(head, workers))
        }));
    }
    for (name, recoveries) in &table {
        println!("{name}: recoveries {recoveries:?} ms");
        let folder = name.replacen(" workers, ", "-", 1);
        assert_same(&files(&place.join(&folder)), &expected, name);
        assert_eq!(
            recoveries.len(),
            usize::from(name.contains("killed")),
            "{name}"
        );
    }
}

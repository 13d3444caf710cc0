//! `README.md` of a run folder: the meaning of its files and of the columns of its table.

use std::fmt::Write as _;

use sordino_experiment::record::PRIORS;

/// Every file that a run folder may hold.
const FILES: &[(&str, &str)] = &[
    (
        "scenario.toml",
        "the scenario with every key written out; `sordino run scenario.toml` repeats the run",
    ),
    ("table.txt", "the table"),
    (
        "summary.json",
        "the same for programs, in one form for all trust models (`version` 2), written last: the folder is complete when \
         it is there; its `noise` says what these losses are worth, \"simulation: not private\"",
    ),
    ("rounds.csv", "all numbers behind the pictures"),
    (
        "faults.csv",
        "what happened on the links, by run, method and round",
    ),
    (
        "transcript.jsonl",
        "a head line, then one line for each run and method: the digest of all that was decided in it; with `--chain` also \
         that after each round, in which two executions that differ first differ; with `noise`, too",
    ),
    (
        "ledger.jsonl",
        "what releases were charged: a line for each stretch of releases of a method, `first_release` to `last_release`, \
         each of which was charged these `events` in each of these `runs`; with `noise`, too",
    ),
    (
        "observations.csv",
        "every observation: run, method, agent (of a user's table also its name), round, whose choice it was (`initial`; `own`: by its own values \
         alone, also where a file is not read or a common draw not followed; `server`: the maximum of the last broadcast; \
         `prior`: with the public posterior or the file), candidate, its point in the unit box, y, noise-free value, \
         more is better in both; of a table or a program also its inputs, y and value in your own units (`own_y`, \
         `own_value`). *Not releasable*",
    ),
    (
        "agents.csv",
        "every agent's best candidate with its noise-free value. *Not releasable*",
    ),
    (
        "values.csv",
        "what your program answered: agent, inputs, observation, value; `state/answers.csv` while the run goes on",
    ),
    (
        PRIORS,
        "what the agents of this method learned in common in run 0, as a prior file of all its releases. **Simulated: noise of a \
         seed, no privacy.** `sordino prior show` says what it knows, `sordino optimize --prior` begins with it; values of your own \
         agents may be read from it. The first run alone leaves one; its `digest` is in `transcript.jsonl`",
    ),
    (
        "regret.svg",
        "the picture, with bands of one standard error",
    ),
    (
        "report.html",
        "all of it on one page that needs no network, with who is protected from whom; `sordino report DIR` makes it, \
         `table.txt` and `regret.svg` again, byte for byte",
    ),
];

/// What else stands in a run folder: what it says of itself, and what is there while it goes on.
const OTHERS: [&str; 5] = ["README.md", ".lock", "part.json", "state", "state.dropped"];

/// Whether a run leaves a file, or a folder, of this name.
///
/// ```
/// use sordino_report::readme::is_of_run;
/// assert!(is_of_run("rounds.csv") && is_of_run("prior-fts.safetensors") && !is_of_run("regret.pdf"));
/// ```
pub fn is_of_run(name: &str) -> bool {
    let is_prior = PRIORS
        .split_once("METHOD")
        .is_some_and(|(begin, end)| name.starts_with(begin) && name.ends_with(end));
    is_prior || OTHERS.contains(&name) || FILES.iter().any(|(known, _)| *known == name)
}

/// The text for a folder with these files beside those that every folder has; `columns` are those
/// of `rounds.csv` with their meanings.
pub fn readme<'c>(
    trust: &str,
    files: &[&str],
    columns: impl Iterator<Item = (&'c str, &'c str)>,
    remark: &str,
) -> String {
    let mut out = format!(
        "# A run of sordino, trust model {trust}\n\nEqual scenarios (and equal data) leave equal folders: nothing here depends \
         on the machine, the time, the driver or the number of threads.\n**Simulation: not private.** Noise and coins come \
         from the seed. Real releases take them from secret entropy.\n\n| file | what it is |\n|---|---|\n"
    );
    let all = [
        "scenario.toml",
        "table.txt",
        "summary.json",
        "rounds.csv",
        "regret.svg",
        "report.html",
    ];
    for (name, what) in FILES
        .iter()
        .filter(|(name, _)| all.contains(name) || files.contains(name))
    {
        let _ = writeln!(out, "| `{name}` | {what} |");
    }
    out.push_str("\nColumns of `rounds.csv` (an empty field is a value that does not exist):\n\n| column | meaning |\n|---|---|\n");
    for (name, meaning) in columns {
        let _ = writeln!(out, "| `{name}` | {meaning} |");
    }
    out.push_str(
        "\nWhile a run goes on, `.lock` says which process writes here, and `state/` holds what is finished.\n",
    );
    if !remark.is_empty() {
        let _ = writeln!(out, "\n{remark}");
    }
    out
}

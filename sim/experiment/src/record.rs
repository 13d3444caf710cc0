//! What an execution leaves: the numbers of one method in one run, the files of a run folder, what
//! may be concluded from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sordino_core::digest::Digest;
use sordino_core::privacy::SourceKind;

use crate::scenario::{Head, MethodName};
use crate::world::fault::FaultCounts;

/// What one method did in one run. In the digest is what was decided: by round, the observations
/// and uploads of all agents, and the broadcast. What happened on the links, the prior file and the
/// fields marked *not releasable* are not in it; regrets are computed beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodRun {
    /// The method that was run.
    pub method: MethodName,
    /// Index of the run, 0-based.
    pub run: u32,
    /// The last link of `chain`.
    pub digest: Digest,
    /// The chain after t = 0..=T: T+1 digests; empty if it was read from a folder that keeps only
    /// the last.
    pub chain: Vec<Digest>,
    /// Mean over agents of the best-so-far noise-free regret, t = 0..=T: T+1 numbers with five
    /// significant digits.
    pub regret: Vec<f64>,
    /// The 10 %, 50 % and 90 % quantiles over agents of the same, with t, at report rounds
    /// ([`is_report_round`]): three significant digits.
    pub regret_quantiles: Vec<(u32, [f64; 3])>,
    /// Broadcasts that were made, each charged once.
    pub releases: u32,
    /// Selected uploads longer than the clipping radius, by broadcast. Simulation only: *not
    /// releasable*.
    pub clipped: Vec<u32>,
    /// Agents that were selected, by broadcast. Simulation only: *not releasable*.
    pub selected: Vec<u32>,
    /// What happened on the links, by round; empty if the scenario has no faults.
    pub faults: Vec<FaultCounts>,
    /// Every observation, in the order of rounds, then of agents; empty unless the scenario asks
    /// for them. Simulation only: *not releasable*.
    pub observations: Vec<Observed>,
    /// Of a federated prior or a campaign in run 0: the sums of its releases, M + 1 numbers each,
    /// in their order, in the format of the scenario. Empty for all others.
    pub released: Vec<f64>,
    /// Of a federated prior or a campaign in run 0 that is finished: the prior file of these
    /// releases, or why there is none, in words.
    pub prior: Option<Result<Left, String>>,
}

/// The prior file that a simulated federation leaves. Its label says that it is simulated: *no
/// privacy*.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// SHA-256 of its label and numbers, hexadecimal, as `sordino prior show` prints it.
    pub digest: String,
    /// The file, byte for byte.
    pub bytes: Vec<u8>,
}

impl MethodRun {
    /// A method before its first round.
    pub fn new(method: MethodName, run: u32) -> Self {
        MethodRun {
            method,
            run,
            digest: Digest::default(),
            chain: Vec::new(),
            regret: Vec::new(),
            regret_quantiles: Vec::new(),
            releases: 0,
            clipped: Vec::new(),
            selected: Vec::new(),
            faults: Vec::new(),
            observations: Vec::new(),
            released: Vec::new(),
            prior: None,
        }
    }
}

/// One observation of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The index of the agent.
    pub agent: u32,
    /// t: 0 for the initial points, then 1 to T.
    pub round: u32,
    /// The candidate that was queried.
    pub candidate: u32,
    /// What the agent saw.
    pub y: f64,
    /// The noise-free value.
    pub value: f64,
    /// Whose choice the query was.
    pub source: Source,
}

/// Whose choice a query was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A point drawn before the first query.
    Initial,
    /// The agent's choice by its own values alone: a draw of its own, or what a search alone asks.
    /// So it is without a broadcast, and where the agent put the broadcast away: its model of the
    /// round does not follow the common draw, the file of a campaign is not read (self-test below
    /// −1), or its own values speak against that.
    Own,
    /// The maximum of the last broadcast, whether the agent followed it or came to it by itself.
    Server,
    /// The agent's own choice with what was broadcast: by a model that follows the common draw of a
    /// federated prior, with the file of a campaign, or from the posterior of pooled data. In a
    /// method of one's own, every choice after a broadcast that arrived.
    Prior,
}

impl Source {
    /// The source as it stands in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Initial => "initial",
            Source::Own => "own",
            Source::Server => "server",
            Source::Prior => "prior",
        }
    }
}

/// The name under which one method of one run is stored.
pub fn stored_name(run: u32, method: &str) -> String {
    format!("run-{run:05}.{method}")
}

/// The prior files of a run folder, one for each method that has one.
pub const PRIORS: &str = "prior-METHOD.safetensors";

/// The name of a method's prior file in a run folder, one of [`PRIORS`].
pub fn prior_name(method: &str) -> String {
    PRIORS.replace("METHOD", method)
}

/// The run in a name made by [`stored_name`].
pub fn stored_run(name: &str) -> Option<u32> {
    name.strip_prefix("run-")?.split_once('.')?.0.parse().ok()
}

/// True at the rounds at which quantiles over agents are kept: the first, the last and every
/// ⌈T/10⌉-th, at most 11. Quantiles are the only numbers of a run for which every agent's own is
/// needed in one place.
pub fn is_report_round(round: u32, rounds: u32) -> bool {
    round == rounds || round.is_multiple_of(rounds.div_ceil(10).max(1))
}

/// Version of the form of [`Summary`]; summaries without a version are version 1.
const SUMMARY_VERSION: u32 = 2;

/// What an execution of any trust model amounts to, in terms common to all: `summary.json`, which
/// is written and read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this form.
    pub version: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Its trust model.
    pub trust: String,
    /// Seed of the scenario.
    pub seed: u64,
    /// Its number of runs.
    pub runs: u32,
    /// What the losses are worth: "simulation: not private".
    pub noise: String,
    /// Digest over all runs and methods.
    pub digest: String,
    /// Warnings to read before believing the results; mostly none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// What this trust model alone has to say.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
    /// In the order of the scenario.
    pub methods: Vec<MethodSummary>,
}

/// One method over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MethodSummary {
    /// Name of the method.
    pub name: String,
    /// Digest over its runs, where methods have one of their own.
    pub digest: Option<String>,
    /// What its releases promise, in a few words.
    pub guarantee: String,
    /// Which two inputs the guarantee compares; `None` if nothing is promised.
    pub neighboring_relation: Option<String>,
    /// What it reached; pictures show the first.
    pub measures: Vec<Measure>,
    /// Means of the regret after some rounds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub regret_at: BTreeMap<u32, f64>,
    /// What it cost; empty if nothing is claimed.
    pub losses: Vec<Loss>,
    /// What this trust model alone has to say.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

/// A mean over runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Its name, such as `final_regret`.
    pub name: String,
    /// Mean over the runs.
    pub mean: f64,
    /// Its standard error; unknown from a single run.
    pub standard_error: Option<f64>,
}

/// What the releases of a method cost, or a parameter of that claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Its name, such as `epsilon_pld`; `delta` is the δ of the losses that name none.
    pub name: String,
    /// `None` if there is no finite bound.
    pub value: Option<f64>,
}

impl Summary {
    /// The summary of an execution of the scenario with this head.
    pub fn new(head: &Head, digest: &Digest, methods: Vec<MethodSummary>) -> Self {
        Summary {
            version: SUMMARY_VERSION,
            scenario: head.name.clone(),
            trust: head.trust.clone(),
            seed: head.seed,
            runs: head.runs,
            noise: noise(),
            digest: digest.to_string(),
            cautions: Vec::new(),
            facts: Map::new(),
            methods,
        }
    }

    /// Reads the text of a `summary.json`.
    ///
    /// **Errors**, in words: text that is no JSON, or no summary, or one of another version.
    pub fn parse(text: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match json.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(SUMMARY_VERSION) => {
                // Of the text, so that an error says its line.
                serde_json::from_str(text).map_err(|error| error.to_string())
            }
            other => Err(format!(
                "version {} is unknown; this program reads version {SUMMARY_VERSION}",
                other.map_or("none".to_owned(), |version| version.to_string())
            )),
        }
    }

    /// A method by its name.
    pub fn method(&self, name: &str) -> Option<&MethodSummary> {
        self.methods.iter().find(|method| method.name == name)
    }
}

impl MethodSummary {
    /// A measure by its name.
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// Name and digest, by which [`Twins`] are found.
    pub fn named(&self) -> (&str, Option<String>) {
        (&self.name, self.digest.clone())
    }

    /// A loss by its name; `None` if nothing is claimed.
    pub fn loss(&self, name: &str) -> Option<&Loss> {
        self.losses.iter().find(|loss| loss.name == name)
    }
}

impl Loss {
    /// A loss, or the statement that it has no finite bound.
    pub fn new(name: &str, value: impl Into<Option<f64>>) -> Self {
        Loss {
            name: name.to_owned(),
            value: value.into(),
        }
    }
}

/// Names in the order of their first occurrence.
pub fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Methods that did the same, bit by bit, as several do where the domain has one region: they are
/// one line in a picture.
#[derive(Clone, Debug)]
pub struct Twins<'n>(Vec<(&'n str, &'n str)>);

impl<'n> Twins<'n> {
    /// Finds the twins among names with digests; a name without a digest has no twin.
    pub fn of(methods: impl Iterator<Item = (&'n str, Option<String>)>) -> Self {
        let mut firsts: Vec<(&str, String)> = Vec::new();
        let mut found = Vec::new();
        for (name, digest) in methods {
            let Some(digest) = digest else { continue };
            match firsts.iter().find(|(_, known)| *known == digest) {
                Some((first, _)) => found.push((name, *first)),
                None => firsts.push((name, digest)),
            }
        }
        Twins(found)
    }

    /// The first method that did the same as this one; `None` for the first itself and for a method
    /// that no other matches.
    pub fn first(&self, name: &str) -> Option<&'n str> {
        self.0
            .iter()
            .find(|(twin, _)| *twin == name)
            .map(|(_, first)| *first)
    }

    /// Which methods are the same; `None` if all differ.
    pub fn sentence(&self) -> Option<String> {
        let mut said = Vec::new();
        for first in distinct(self.0.iter().map(|twin| twin.1)) {
            let twins = self.0.iter().filter(|twin| twin.1 == first);
            let names: Vec<&str> = twins.map(|twin| twin.0).collect();
            said.push(format!("{} as {first}", names.join(", ")));
        }
        (!said.is_empty()).then(|| format!("The same, bit by bit: {}.", said.join("; ")))
    }
}

/// The name of the file with the text on the terminal.
pub const TABLE: &str = "table.txt";

/// What an execution leaves behind: the content of a run folder.
#[derive(Clone, Debug)]
pub struct Record {
    /// What becomes `summary.json`, the last file that is written.
    pub summary: Summary,
    /// All other files: (name, text).
    pub files: Vec<(&'static str, String)>,
    /// Prior files of a simulated federation: (name, bytes).
    pub priors: Vec<(String, Vec<u8>)>,
}

impl Record {
    /// The text on the terminal.
    pub fn table(&self) -> &str {
        self.file(TABLE)
    }

    /// The text of one of its files; empty if there is none of this name.
    pub fn file(&self, name: &str) -> &str {
        self.files
            .iter()
            .find(|file| file.0 == name)
            .map_or("", |file| &file.1)
    }
}

/// Who is protected from whom: sentences under four questions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Who is protected from whom.
    pub protected: Vec<String>,
    /// Which inputs are compared.
    pub relation: Vec<String>,
    /// What is not protected.
    pub not_protected: Vec<String>,
    /// What the guarantee costs, a sentence each.
    pub cost: Vec<String>,
}

impl Explanation {
    /// The questions with their answers.
    pub fn questions(&self) -> [(&'static str, &[String]); 4] {
        [
            ("Who is protected from whom", &self.protected),
            ("Which inputs are compared", &self.relation),
            ("What is not protected", &self.not_protected),
            ("What it costs", &self.cost),
        ]
    }
}

/// The value of `noise` of everything simulated: "simulation: not private".
pub fn noise() -> String {
    SourceKind::Simulation.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_are_named_after_the_first_of_them() {
        let digests = [
            ("a", Some("1")),
            ("b", Some("2")),
            ("c", Some("1")),
            ("d", None),
            ("e", Some("1")),
            ("f", None),
        ];
        let twins = Twins::of(
            digests
                .iter()
                .map(|(name, digest)| (*name, digest.map(str::to_owned))),
        );
        assert_eq!(
            (twins.first("c"), twins.first("a"), twins.first("f")),
            (Some("a"), None, None)
        );
        assert_eq!(
            twins.sentence().unwrap(),
            "The same, bit by bit: c, e as a."
        );
        assert_eq!(
            Twins::of(digests[..2].iter().map(|(name, _)| (*name, None))).sentence(),
            None
        );
    }

    #[test]
    fn a_summary_is_read_as_it_was_written_and_another_version_is_refused() {
        let scenario = crate::scenario::Shipped::find("default")
            .unwrap()
            .parse(&[])
            .unwrap();
        let measures = vec![Measure {
            name: "final_regret".into(),
            mean: 0.1 + 0.2,
            standard_error: None,
        }];
        let losses = vec![
            Loss::new("epsilon_pld", 1.0 / 3.0),
            Loss::new("epsilon", None),
        ];
        let regret_at = BTreeMap::from([(2, 0.5), (10, 1e-300)]);
        let facts = serde_json::json!({"raised": true})
            .as_object()
            .unwrap()
            .clone();
        let method = MethodSummary {
            name: "m".into(),
            measures,
            losses,
            regret_at,
            facts,
            ..MethodSummary::default()
        };
        let summary = Summary::new(&scenario.head(), &Digest::default(), vec![method]);
        let text = serde_json::to_string_pretty(&summary).unwrap();
        assert_eq!(Summary::parse(&text).unwrap(), summary);
        let refused = |from: &str, to: &str| Summary::parse(&text.replace(from, to)).unwrap_err();
        assert!(refused("\"version\": 2", "\"version\": 3").contains("version 3 is unknown"));
        assert!(refused("\"version\": 2,", "").contains("version none is unknown"));
        assert!(refused("\"digest\": \"", "\"digset\": \"").contains("missing field `digest`"));
    }
}

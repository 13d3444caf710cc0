//! What may be served, and what may be joined: one check of the terms for both sides, so that an
//! agent refuses whatever a server of this program refuses, and what a person is told before
//! agreeing.
//!
//! A rehearsal is a simulation and is not checked.

use std::collections::BTreeSet;
use std::fmt;

use sordino_core::federated::ServerError;
use sordino_core::federated::exchange::Protocol;
use sordino_core::privacy::accountant::AccountantError;
use sordino_experiment::metrics::SMALL_DELTA;
use sordino_experiment::scenario::Scenario;
use sordino_experiment::scenario::federated::served_delta;
use sordino_experiment::scenario::objective::ObjectiveConfig;
use sordino_experiment::text::{significant, significant_up};
use sordino_host::ledger::Terms as LedgerTerms;
use sordino_host::space::Values;
use sordino_host::text::cut;

use crate::cost::Cost;
use crate::terms::{Terms, TermsError};

/// The most agents: as many as a scenario may have.
pub const AGENTS_MAX: u32 = 1_000_000;
/// The largest ε of all releases that an agent agrees to without `--max-epsilon` and without being
/// asked: a guess whether its contributions were used is then right at most e/(1 + e) = 73 % of the
/// time (δ aside), where tossing a coin is right half the time.
pub const EPSILON_UNASKED: f64 = 1.0;
/// The longest round: a year.
const DEADLINE_MS_MAX: u64 = 365 * 86_400_000;

/// The most characters that a person is shown of the server's words for a value.
const VALUE_SHOWN: usize = 100;
/// The most choices that a person is shown of a parameter.
const CHOICES_SHOWN: usize = 20;
/// The most characters that a person is shown of one choice.
const CHOICE_SHOWN: usize = 40;

/// Why terms are neither served nor joined.
#[derive(Debug, thiserror::Error)]
pub enum Inadmissible {
    /// The releases have no clip, no sample or no noise.
    #[error("this method's releases protect nobody: real federations have private ones only")]
    Unprotected,
    /// There is no limit of ε of all releases.
    #[error(
        "no ε limits what all releases together may cost: a real federation has a budget, privacy.max_epsilon"
    )]
    NoBudget,
    /// A budget that is no number.
    #[error("the budget is ε = {0}: a finite number above 0 is admissible")]
    Budget(f64),
    /// Too few agents, or more than can be.
    #[error(
        "{0} agents: 2 to {AGENTS_MAX} are admissible, because one agent is hidden among nobody"
    )]
    Agents(u32),
    /// A δ at which ε says nothing.
    #[error("δ = {delta} for {agents} agents: at most 1/(10 N) = {} is admissible", significant(*.most, 3))]
    Delta {
        /// δ of the terms.
        delta: f64,
        /// Agents of the federation, N.
        agents: u32,
        /// The largest that is admissible.
        most: f64,
    },
    /// A round that lasts no time, or too long.
    #[error("rounds of {0} ms: 1 ms to 365 days are admissible")]
    Deadline(u64),
    /// Points that are not different.
    #[error(
        "{points} candidates, of which {distinct} are distinct: every one must be different from all others"
    )]
    Duplicates {
        /// Candidates in the list.
        points: usize,
        /// Different ones among them.
        distinct: usize,
    },
    /// Keys that the terms do not carry.
    #[error(
        "{keys}: agents would not learn of it, because the terms of a federation carry numbers of the unit box, and larger values are \
         better; such a scenario can be simulated (sordino run, sordino rehearse). To serve it, give the points as a list or a grid of the \
         unit box ([objective] kind = \"function\" or \"gp-sample\"), and let the command of each agent scale its inputs, and \
         negate what is to be small"
    )]
    Keys {
        /// The keys with their values.
        keys: String,
    },
    /// Nothing would ever be released.
    #[error("a budget of ε = {most} at δ = {delta} admits no release: one costs ε = {}", significant_up(*.one, 3))]
    NoRelease {
        /// The largest ε of all releases.
        most: f64,
        /// δ of the terms.
        delta: f64,
        /// ε of one release.
        one: f64,
    },
    /// A plan of releases that the budget cuts off.
    #[error(
        "the plan of {planned} releases costs ε = {} at δ = {delta}, more than the budget of ε = {most}: give privacy.max_epsilon, \
         or a smaller prior.epsilon", significant_up(*.all, 4)
    )]
    Plan {
        /// The largest ε of all releases.
        most: f64,
        /// δ of the terms.
        delta: f64,
        /// Releases of the plan.
        planned: u32,
        /// ε of all of them.
        all: f64,
    },
    /// Too much for an agent to hold or to compute.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The cost of the releases cannot be said.
    #[error("the ε of these releases: {0}")]
    Accountant(#[from] AccountantError),
    /// The mechanism has no event.
    #[error("these releases have no cost: {0}")]
    Event(#[from] ServerError),
}

/// Terms that are admissible, in numbers for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// Agents of the federation, N.
    pub agents: u32,
    /// What is searched and which values are better, in words.
    pub searched: String,
    /// The most evaluations that an agent makes in all.
    pub evaluations: u32,
    /// Points that may be asked for, all different.
    pub points: usize,
    /// Coordinates of a point, D.
    pub dim: u32,
    /// Releases that fit the budget; one for each round if all do.
    pub releases: u32,
    /// ε of these releases at δ, by the accountant of the ledger.
    pub epsilon: f64,
    /// The announced δ.
    pub delta: f64,
    /// ε of the same releases at [`SMALL_DELTA`].
    pub epsilon_small: f64,
    /// ε at δ between two contributions that an agent may have sent, neither of which is nothing,
    /// by privacy-loss distributions; infinite where there is no finite one.
    pub epsilon_between: f64,
    /// The largest ε of all releases.
    pub epsilon_max: f64,
    /// Whether rounds may end before their deadline, which shows who is there.
    pub may_close_early: bool,
}

/// Refuses a scenario whose inputs have units, names or a goal: the terms carry none of these.
///
/// **Errors**: [`Inadmissible::Keys`].
pub fn unit_box(scenario: &Scenario) -> Result<(), Inadmissible> {
    let (goal, space) = match &scenario.objective {
        ObjectiveConfig::Table(config) => (config.goal, &config.space),
        ObjectiveConfig::Command(config) => (config.goal, &config.space),
        ObjectiveConfig::Fedhpo(config) => (config.goal, &config.space),
        _ => return Ok(()),
    };
    let mut keys = vec![format!("objective.goal = {goal:?}").to_lowercase()];
    keys.push(format!("objective.inputs = {:?}", space.inputs));
    keys.push(format!("objective.input_ranges = {:?}", space.input_ranges));
    for (key, names) in [
        ("log_inputs", &space.log_inputs),
        ("integer_inputs", &space.integer_inputs),
        ("categorical_inputs", &space.categorical_inputs),
    ] {
        if !names.is_empty() {
            keys.push(format!("objective.{key} = {names:?}"));
        }
    }
    if !space.categories.is_empty() {
        keys.push(format!("objective.categories = {:?}", space.categories));
    }
    Err(Inadmissible::Keys {
        keys: keys.join(", "),
    })
}

/// Checks terms that are to be served, or joined.
///
/// **Errors**: [`Inadmissible`], the first thing that is wrong.
pub fn admit(terms: &Terms) -> Result<Admitted, Inadmissible> {
    let protocol = &terms.agreement.protocol;
    let announced = terms.agreement.announced;
    let cost = cost(terms)?;
    let agents = protocol.agents();
    let epsilon_max = announced.epsilon_max.ok_or(Inadmissible::NoBudget)?;
    if !(epsilon_max > 0.0 && epsilon_max.is_finite()) {
        return Err(Inadmissible::Budget(epsilon_max));
    }
    if !(2..=AGENTS_MAX).contains(&agents) {
        return Err(Inadmissible::Agents(agents));
    }
    let delta = announced.delta;
    let most = served_delta(agents);
    if !(delta > 0.0 && delta <= most) {
        return Err(Inadmissible::Delta {
            delta,
            agents,
            most,
        });
    }
    if !(1..=DEADLINE_MS_MAX).contains(&announced.deadline_ms) {
        return Err(Inadmissible::Deadline(announced.deadline_ms));
    }
    let dim = terms.agreement.dim;
    let points = terms.points();
    let distinct = distinct(&terms.candidates, dim as usize);
    if distinct != points {
        return Err(Inadmissible::Duplicates { points, distinct });
    }
    terms.bounded()?;
    let releases = cost.fitting(epsilon_max, delta)?;
    let planned = cost.releases();
    if releases == 0 {
        return Err(Inadmissible::NoRelease {
            most: epsilon_max,
            delta,
            one: cost.epsilon(1, delta)?,
        });
    }
    if matches!(protocol, Protocol::Prior(_) | Protocol::Campaign(_)) && releases < planned {
        return Err(Inadmissible::Plan {
            most: epsilon_max,
            delta,
            planned,
            all: cost.epsilon(planned, delta)?,
        });
    }
    let epsilon = cost.epsilon(releases, delta)?;
    let epsilon_small = cost.epsilon(releases, SMALL_DELTA)?;
    // Each is an upper bound by an accountant of its own; as a pair the second is no smaller.
    let epsilon_between = cost.between(releases, delta)?.max(epsilon);
    Ok(Admitted {
        agents,
        searched: searched(terms)?,
        evaluations: protocol.initial_points().saturating_add(protocol.rounds()),
        points,
        dim,
        releases,
        epsilon,
        delta,
        epsilon_small,
        epsilon_between,
        epsilon_max,
        may_close_early: announced.may_close_early,
    })
}

/// What is searched and which values are better, in words.
fn searched(terms: &Terms) -> Result<String, TermsError> {
    let Some(publication) = terms.publication()? else {
        return Ok(format!(
            "{} distinct points of [0, 1]^{}, larger values are better",
            terms.points(),
            terms.agreement.dim
        ));
    };
    let parameters = publication.space.parameters().iter();
    let parameters: Vec<String> = parameters
        .map(|parameter| {
            let scale = match parameter.values {
                Values::Number { log: true, .. } => ", on a logarithmic scale",
                _ => "",
            };
            let values = admissible(&parameter.values);
            format!("{} ({values}{scale})", parameter.name)
        })
        .collect();
    let value = publication.value.map_or_else(
        || "values".to_owned(),
        |value| format!("values of {}", quoted(&value, VALUE_SHOWN)),
    );
    Ok(format!(
        "{}, {} {value} are better",
        parameters.join(", "),
        publication.goal.better()
    ))
}

/// Words of the server's as a person is told them: in quotation marks that they cannot end, and cut
/// after so many characters.
fn quoted(words: &str, most: usize) -> String {
    serde_json::Value::from(cut(words, most)).to_string()
}

/// What values are admissible, in words; of choices the first [`CHOICES_SHOWN`].
fn admissible(values: &Values) -> String {
    let Values::Choices { choices, .. } = values else {
        return values.admissible();
    };
    let mut shown: Vec<String> = choices
        .iter()
        .take(CHOICES_SHOWN)
        .map(|choice| match choice.as_str() {
            Some(text) => quoted(text, CHOICE_SHOWN),
            None => cut(&choice.to_string(), CHOICE_SHOWN),
        })
        .collect();
    if choices.len() > CHOICES_SHOWN {
        shown.push(format!("… of {} choices", choices.len()));
    }
    format!("one of {}", shown.join(", "))
}

/// The costs of these terms.
///
/// **Errors**: [`Inadmissible::Unprotected`], [`Inadmissible::Event`].
pub fn cost(terms: &Terms) -> Result<Cost, Inadmissible> {
    Cost::of(&terms.agreement.protocol)?.ok_or(Inadmissible::Unprotected)
}

/// What the ledger of these terms is for; `data` is the name of the data set.
///
/// **Errors**: [`Inadmissible`] for releases that have no cost.
pub(crate) fn ledger_of(terms: &Terms, data: &str) -> Result<LedgerTerms, Inadmissible> {
    let agreement = &terms.agreement;
    Ok(LedgerTerms {
        data: data.to_owned(),
        unit: "agent".into(),
        records: Some(u64::from(agreement.protocol.agents())),
        accounting: cost(terms)?.accounting(),
        epsilon_max: agreement.announced.epsilon_max,
        delta: agreement.announced.delta,
    })
}

/// Different points of a list, count × D; 0 and −0 are the same.
fn distinct(candidates: &[f64], dim: usize) -> usize {
    candidates
        .chunks_exact(dim.max(1))
        .map(|point| {
            point
                .iter()
                .map(|x| (x + 0.0).to_bits())
                .collect::<Vec<u64>>()
        })
        .collect::<BTreeSet<_>>()
        .len()
}
/// ε, rounded up, at a δ, both in few digits.
fn at(epsilon: f64, delta: f64) -> String {
    format!(
        "ε ≤ {} at δ = {}",
        significant_up(epsilon, 3),
        significant(delta, 3)
    )
}

impl Admitted {
    /// ε at δ, and at 1e-5 where δ is another.
    fn loss(&self) -> String {
        let announced = at(self.epsilon, self.delta);
        if self.delta == SMALL_DELTA {
            announced
        } else {
            format!("{announced} ({})", at(self.epsilon_small, SMALL_DELTA))
        }
    }

    /// What the releases cost, for the person who serves them.
    pub fn cost(&self) -> String {
        format!(
            "{} releases cost {}, of a budget of ε = {}: whether an agent's contributions are used or count as nothing; between two that \
             it may have sent ε ≤ {} at δ = {}",
            self.releases,
            self.loss(),
            self.epsilon_max,
            significant_up(self.epsilon_between, 3),
            significant(self.delta, 3)
        )
    }
}

/// One sentence for the person who agrees: what it costs first, then what the server calls things.
impl fmt::Display for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Admitted {
            agents,
            searched,
            evaluations,
            releases,
            ..
        } = self;
        let plural = if *releases == 1 { "" } else { "s" };
        write!(
            f,
            "at most {releases} release{plural}: {} bounds what they tell of whether an agent's contributions were used or counted as nothing, \
             and ε ≤ {} at δ = {} what they tell between two contributions that it may have sent",
            self.loss(),
            significant_up(self.epsilon_between, 3),
            significant(self.delta, 3),
        )?;
        if self.may_close_early {
            f.write_str(
                "; rounds may close early, which shows everybody that nobody is absent, and how many have joined",
            )?;
        }
        write!(
            f,
            "; {agents} agents search {searched}; each makes at most {evaluations} evaluations"
        )
    }
}

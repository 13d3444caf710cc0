//! Who is protected from whom in a scenario of the trust model `federated`.

use sordino_core::federated::shares::Trust;
use sordino_core::privacy::Event;
use sordino_core::privacy::accountant::{
    Accountant, AccountantError, MomentsAccountant, PldAccountant, RdpAccountant,
};
use sordino_experiment::metrics::{SMALL_DELTA, paid_alike, privacy_loss, spending};
use sordino_experiment::record::{Explanation, distinct};
use sordino_experiment::scenario::method::Kind;
use sordino_experiment::scenario::{Guarantee, Method, ObjectiveConfig, Scenario};
use sordino_experiment::text::{MEANING, percent_at_most, significant, significant_up};
use sordino_report::events::shown;

/// What the broadcasts of every method promise.
///
/// **Errors**: the accountants'; none for a scenario that was read.
pub fn explain(scenario: &Scenario) -> Result<Explanation, AccountantError> {
    let private = names(scenario, Guarantee::DifferentialPrivacy);
    let mut not_protected = vec![
        "That an agent is enrolled, how many there are, their weights and their regions.".to_owned(),
        "An agent's own queries, from those who evaluate them.".to_owned(),
        "What is true of many agents alike: the broadcasts are meant to tell that.".to_owned(),
        "Which agents were selected, if the server tells; the loss below counts on its secrecy.".to_owned(),
        "Timing: an observer of when messages are sent may learn more.".to_owned(),
        "Anything fitted to the agents' data: constants, lengthscale, variances, ranges, candidates and clipping norm are \
         public and taken as chosen without the data; ε covers no choice that was not."
            .to_owned(),
        "What does not follow from the contributions of this run: another run, another server or another program with the \
         same data has a loss of its own, and the losses add up."
            .to_owned(),
    ];
    if matches!(
        scenario.objective,
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_)
    ) {
        not_protected.push(
            "One record of an agent's data by itself: the unit of protection is the agent."
                .to_owned(),
        );
    }
    Ok(Explanation {
        protected: protected(scenario, &private),
        relation: relation(scenario, &private),
        not_protected,
        cost: if private.is_empty() {
            vec!["No loss is bounded.".to_owned()]
        } else {
            cost(scenario)?
        },
    })
}

/// The methods of one guarantee, by name.
fn names(scenario: &Scenario, guarantee: Guarantee) -> String {
    joined(
        &scenario
            .methods()
            .filter(|method| method.guarantee() == guarantee)
            .collect::<Vec<_>>(),
    )
}

fn joined(methods: &[Method]) -> String {
    methods
        .iter()
        .map(|method| method.name())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The private methods whose contributions go to one server, or to two.
fn private_at(scenario: &Scenario, trust: Trust) -> Vec<Method> {
    let private = scenario
        .methods()
        .filter(|method| method.guarantee() == Guarantee::DifferentialPrivacy);
    private
        .filter(|method| scenario.of(*method).privacy.servers() == trust)
        .collect()
}

fn protected(scenario: &Scenario, private: &str) -> Vec<String> {
    let mut said = Vec::new();
    if !private.is_empty() {
        said.push(format!(
            "With {private}: each of the {} agents, with everything it observed, is protected from the other agents and \
             from every reader of the server's broadcasts, whatever else they know.",
            scenario.federation.agents
        ));
        let one = private_at(scenario, Trust::OneServer);
        let two = private_at(scenario, Trust::TwoServers);
        if two.is_empty() {
            said.push("Not from the server: it sees the vectors of agents and is trusted.".into());
        } else {
            said.push(format!(
                "With {}, two servers: from each of them too, the leader and the helper, at the same loss, as long as the other \
                 one is honest and the helper reads no traffic of agents. From both together nobody is protected.",
                joined(&two)
            ));
            if !one.is_empty() {
                said.push(format!(
                    "With {}: not from the server, which sees the vectors.",
                    joined(&one)
                ));
            }
        }
    }
    let open = names(scenario, Guarantee::None);
    let alone = names(scenario, Guarantee::NothingReleased);
    if !open.is_empty() {
        said.push(format!("With {open}: nobody; what the server broadcasts carries no noise that protects anybody."));
        if scenario
            .methods()
            .any(|method| method.parts().kind == Kind::Pooled)
        {
            said.push(
                "Pooled data are every observation of every agent in one place: what sharing could bring at most."
                    .into(),
            );
        }
    }
    let unclaimed = names(scenario, Guarantee::Unclaimed);
    if !unclaimed.is_empty() {
        said.push(format!(
            "With {unclaimed}: no guarantee is claimed. It is another program's method; whatever noise it adds, nothing of it \
             is charged or checked here."
        ));
    }
    if !alone.is_empty() {
        said.push(format!(
            "With {alone}: nothing leaves an agent, so nothing needs protection."
        ));
    }
    said
}

fn relation(scenario: &Scenario, private: &str) -> Vec<String> {
    if private.is_empty() {
        return vec!["None: no method of this scenario is private.".to_owned()];
    }
    let mut said = vec![
        "Zero-out: an agent that takes part against the same agent sending nothing. It keeps its slot and its weights, so \
         the number of agents is public."
            .to_owned(),
    ];
    said.extend(MEANING.map(ToOwned::to_owned));
    for group in paid_alike(scenario) {
        let names = joined(&group);
        let of = scenario.of(group[0]);
        if let Some(together) = of
            .prior
            .as_ref()
            .filter(|_| group[0].is_vote())
            .and_then(|prior| prior.together())
        {
            said.push(format!(
                "With {names}: 1 release, of one vote of every agent for the best of its initial points: a vector of norm 1 with \
                 a number for each candidate. The noise is {} times the most that a vote can change the sum.",
                shown(&[together.value()])
            ));
            continue;
        }
        if let Some(prior) = of.prior.as_ref()
            && group[0].is_campaign()
        {
            said.push(format!(
                "With {names}: {} releases, before the first question. Every agent enters each of them with what its initial points \
                 say, standardised by the agent; its joint vector is clipped to a norm that follows from earlier releases alone, and \
                 the noise is {} times the most it can change the sum.",
                prior.campaign.len(),
                shown(&prior.campaign)
            ));
            continue;
        }
        let Some(prior) = of.prior.as_ref().filter(|_| group[0].is_prior()) else {
            let p = &of.privacy;
            said.push(format!(
                "With {names}: {} broadcasts. Each agent enters one with probability {}, in secret; its joint vector is \
                 clipped to norm {} and the noise is {} times the most it can change the sum.",
                scenario.federation.rounds,
                p.sampling_probability,
                norms(scenario, &group),
                p.noise_multiplier
            ));
            continue;
        };
        said.push(format!(
            "With {names}: {} releases, after the rounds {:?}. Every agent enters each of them; its joint vector is \
             clipped to a norm that follows from earlier releases alone, and the noise is {} times the most it can change \
             the sum.",
            prior.plan.releases.len(),
            prior.plan.releases,
            shown(&prior.noise_multipliers)
        ));
    }
    said
}

/// The clipping norms of some methods, each once: their ε is the same whatever they are.
fn norms(scenario: &Scenario, group: &[Method]) -> String {
    let norms: Vec<String> = group
        .iter()
        .map(|of| {
            let norm = scenario.of(*of).privacy.clipping_norm.value();
            // Six digits tell enough; what is whole stays so.
            let told: f64 = significant(norm, 6).parse().unwrap_or(norm);
            told.to_string()
        })
        .collect();
    distinct(norms.iter().map(String::as_str)).join(" or ")
}

/// ε of all releases by every accountant: of the sampled ones, then of the federated prior's.
fn cost(scenario: &Scenario) -> Result<Vec<String>, AccountantError> {
    let p = &scenario.privacy;
    let mut said = Vec::new();
    for group in paid_alike(scenario) {
        let names = joined(&group);
        let method = group[0];
        let releases = scenario.planned(method);
        let (event, count) = spending(scenario, method, releases);
        for (name, what, mut accountant) in accountants(!method.samples()) {
            accountant.compose(&event, count)?;
            let (epsilon, quality) = match accountant.epsilon(p.delta) {
                Ok(loss) => (
                    format!("ε = {}", significant_up(loss.epsilon, 4)),
                    loss.quality.name(),
                ),
                Err(AccountantError::NoFiniteEpsilon { .. }) => ("no finite ε".to_owned(), "none"),
                Err(error) => return Err(error),
            };
            said.push(format!(
                "{names}: {epsilon} at δ = {} after {releases} release{} by {name} ({}).",
                significant(p.delta, 3),
                if releases == 1 { "" } else { "s" },
                what.unwrap_or(quality)
            ));
        }
        said.push(between(&names, &event, count, p.delta)?);
        if scenario.of(method).privacy.servers() == Trust::TwoServers {
            said.push(format!(
                "{names}: the price of two servers at this ε is noise: each adds all of it, and readers see a standard deviation \
                 {} times that of one.",
                significant(f64::from(Trust::TwoServers.noises()).sqrt(), 3)
            ));
        }
    }
    said.extend(
        scenario
            .cautions()
            .into_iter()
            .map(|caution| format!("{caution}.")),
    );
    said.push("One loss for each method alone: who publishes several pays for each.".to_owned());
    said.push(match p.max_epsilon {
        Some(most) => {
            format!("A release that would lead beyond ε = {most} is refused before noise is drawn.")
        }
        None => "No budget is set (privacy.max_epsilon): nothing is refused.".to_owned(),
    });
    for method in scenario
        .methods()
        .filter(|method| method.guarantee() == Guarantee::DifferentialPrivacy)
    {
        let own = scenario.of(method).privacy.max_epsilon;
        if let Some(most) = own
            && own != p.max_epsilon
        {
            said.push(format!(
                "With {method}: one that would lead beyond ε = {most}."
            ));
        }
    }
    Ok(said)
}

/// ε between two contributions and the best guess, by privacy-loss distributions.
fn between(names: &str, event: &Event, count: u32, delta: f64) -> Result<String, AccountantError> {
    let loss = privacy_loss(event, count, delta)?;
    let at_small = if delta == SMALL_DELTA {
        String::new()
    } else {
        let small = privacy_loss(event, count, SMALL_DELTA)?;
        let [between, nothing] = [small.between, small.tight].map(told);
        format!(" and {between} at δ = {SMALL_DELTA:e} (there {nothing} against nothing)")
    };
    Ok(format!(
        "{names}: between any two things that an agent may have sent, {} at δ = {}{at_small}; the best guess whether its contributions \
         were used is right at most {} % of the time.",
        told(loss.between),
        significant(delta, 3),
        percent_at_most(loss.best_guess)
    ))
}

/// ε with its value, or the statement that there is none.
fn told(epsilon: Option<f64>) -> String {
    epsilon.map_or("no finite ε".to_owned(), |epsilon| {
        format!("ε = {}", significant_up(epsilon, 4))
    })
}

/// The accountants with their names, and what the report adds about each.
fn accountants(everybody: bool) -> [(&'static str, Option<&'static str>, Box<dyn Accountant>); 3] {
    let filters = "looser; what the budget's filter counts";
    let (tight, renyi) = if everybody {
        (Some("exact; what the budget's filter counts"), "looser")
    } else {
        (None, filters)
    };
    [
        ("PLD", tight, Box::new(PldAccountant::new())),
        ("RDP", Some(renyi), Box::new(RdpAccountant::new())),
        (
            "moments",
            // The plans that are on everybody are from no paper.
            Some(if everybody {
                "loosest"
            } else {
                "loosest; what the paper prints"
            }),
            Box::new(MomentsAccountant::new()),
        ),
    ]
}

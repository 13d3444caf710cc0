//! The page and the table of a federation.

use sordino_experiment::metrics::{MethodStatistics, SMALL_DELTA, Statistics};
use sordino_experiment::record::Twins;
use sordino_experiment::scenario::{Guarantee, Scenario, conclusion};
use sordino_experiment::text::{significant, significant_up};

use super::read;
use crate::columns::Columns;
use crate::curves::told_rounds;
use crate::html::section;
use crate::page::Shown;
use crate::read::{ReadError, RunFiles, RunRecord};
use crate::table::{or_dash, standard_error};
use crate::view::{Panels, View};
use crate::{charts, differences, events, figure, palette};

/// What is shown of a complete run of this scenario.
///
/// **Errors**: as [`read`].
pub fn view(files: RunFiles<'_>, scenario: &Scenario) -> Result<View, ReadError> {
    let record = read(files, scenario)?;
    let RunRecord {
        statistics,
        cautions,
        ..
    } = &record;
    let regret_name = scenario.objective.regret_name();
    let federation = &scenario.federation;
    let facts = vec![
        ("agents", federation.agents.to_string()),
        ("rounds", federation.rounds.to_string()),
        ("regions", federation.regions().to_string()),
        ("features", scenario.surrogate.features.to_string()),
        ("q", significant(scenario.privacy.sampling_probability, 3)),
        (
            "noise multiplier",
            significant(scenario.privacy.noise_multiplier.value(), 3),
        ),
    ];
    let mut sections = String::new();
    losses(&mut sections, scenario, statistics);
    spread(&mut sections, statistics, regret_name);
    clipping(&mut sections, statistics);
    faults(&mut sections, &record);
    let text = if scenario.runs > 1 {
        "Mean over runs; the bands are one standard error."
    } else {
        "One run: no bands."
    };
    let panels = Panels {
        heading: "Regret",
        text: text.to_owned(),
        line: figure::subtitle(scenario, statistics),
        charts: figure::panels(statistics, regret_name),
        ruler: None,
        labels: 176.0,
    };
    Ok(View {
        facts,
        shown: shown(scenario, statistics, cautions),
        below: charts::utility(statistics, regret_name),
        panels,
        compared: format!("summed {regret_name}"),
        sections,
    })
}

/// The methods' table with its legend.
fn shown(scenario: &Scenario, statistics: &Statistics, cautions: &[String]) -> Shown {
    let regret_name = scenario.objective.regret_name();
    let mut columns = Columns::<MethodStatistics>::new()
        .text("method", |method| method.method.name().to_owned())
        .number(format!("summed\n{regret_name}"), |method| {
            significant(method.summed_regret.mean, 4)
        })
        .number("std.\nerror", |method| {
            standard_error(method.summed_regret.standard_error)
        });
    for round in told_rounds(scenario.federation.rounds) {
        columns = columns.number(format!("round\n{round}"), move |method| {
            let at = method.curve.get(round as usize);
            or_dash(at, |at| format!("{:.4}", at.mean))
        });
    }
    let mut deltas = vec![significant(scenario.privacy.delta, 3)];
    if scenario.privacy.delta != SMALL_DELTA {
        deltas.push(format!("{SMALL_DELTA:e}"));
    }
    for (place, delta) in deltas.iter().enumerate() {
        columns = columns.number(format!("ε tight\nδ {delta}"), move |method| {
            cost(method, place)
        });
    }
    let mut notes = vec![format!(
        "{regret_name}: mean over {} agents of the best so far, summed over rounds 0 to {}; {}.",
        scenario.federation.agents,
        scenario.federation.rounds,
        if scenario.runs == 1 {
            "one run".to_owned()
        } else {
            format!("mean of {} paired runs", scenario.runs)
        },
    )];
    notes.extend(statistics.methods.iter().find_map(|method| method.losses).map(|[loss, _]| {
        format!(
            "ε: by privacy-loss distributions, tight, rounded up, never below the truth; neighbouring \
             relation \"{}\": an agent keeps its slot and weight and contributes zero.",
            loss.relation
        )
    }));
    let left = scenario
        .own
        .iter()
        .filter(|own| !scenario.federation.methods.contains(&own.method.named()));
    let left: Vec<&str> = left.map(|own| own.method.name()).collect();
    if !left.is_empty() {
        notes.push(format!(
            "Not run, because federation.methods does not name it: {}.",
            left.join(", ")
        ));
    }
    notes.extend(
        events::sentences(scenario, statistics)
            .into_iter()
            .map(|sentence| format!("{sentence}.")),
    );
    notes.extend(
        events::between(statistics)
            .into_iter()
            .map(|sentence| format!("{sentence}.")),
    );
    notes.extend(events::unequal(statistics));
    notes.extend(Twins::of(statistics.methods.iter().map(MethodStatistics::named)).sentence());
    notes.extend(differences::few(scenario.runs as usize));
    notes.extend(conclusion(scenario).map(|said| format!("What may be concluded: {said}")));
    Shown {
        looks: statistics
            .methods
            .iter()
            .map(|method| palette::of(method.method))
            .collect(),
        notes,
        cautions: cautions.to_vec(),
        noise: true,
        ..Shown::of(&columns, &statistics.methods)
    }
}

/// What the releases of a method cost at the δ in this place; without a promise the first place
/// says so in words.
fn cost(method: &MethodStatistics, place: usize) -> String {
    let why = match (method.guarantee(), &method.losses) {
        (Guarantee::DifferentialPrivacy, Some(losses)) => {
            return losses[place]
                .tight
                .map_or("∞".to_owned(), |epsilon| significant_up(epsilon, 3));
        }
        (guarantee @ Guarantee::NothingReleased, _) => guarantee.name(),
        (guarantee @ Guarantee::Unclaimed, _) => guarantee.name(),
        _ => figure::UNPROTECTED,
    };
    if place == 0 {
        why.to_owned()
    } else {
        String::new()
    }
}

fn losses(out: &mut String, scenario: &Scenario, statistics: &Statistics) {
    let Some(chart) = charts::losses(scenario, statistics) else {
        return;
    };
    let text = format!(
        "What the releases of one private method cost, one after the other; those of the federated prior are fewer and of \
         everybody. Neighbouring relation: an enrolled agent keeps its slot and its public weight and contributes zero. By privacy-loss distributions: within about 1e-4 of the truth, relative, and \
         never below. Dashed: δ = {SMALL_DELTA:e}. A budget (<code>privacy.max_epsilon</code>) of sampled releases counts by Rényi divergences, for \
         which a filter is proven, and comes out higher, one of releases of everybody exactly; <code>sordino privacy compare</code> draws them and the paper's."
    );
    section(
        out,
        "Privacy loss over releases",
        &text,
        &format!(
            "<figure class=\"single\">{}</figure>\n",
            charts::element(&chart, None, (290.0, 240.0), 190.0)
        ),
    );
}

fn spread(out: &mut String, statistics: &Statistics, regret_name: &str) {
    let charts = charts::small(
        &charts::spreads(statistics, regret_name),
        (230.0, 170.0),
        14.0,
    );
    if !charts.is_empty() {
        let text = "Median over agents, and the range from the 10 % to the 90 % quantile; means over runs.";
        section(
            out,
            "Spread over agents",
            text,
            &format!("<div class=\"grid-small\">\n{charts}</div>\n"),
        );
    }
}

fn clipping(out: &mut String, statistics: &Statistics) {
    if let Some(chart) = charts::clipping(statistics) {
        let text = "<strong>Not releasable.</strong> A server that told how many vectors it clipped would break its guarantee; \
                    the simulator may, because nobody's data are in it.";
        let body = format!(
            "<figure class=\"single\">{}</figure>\n",
            charts::element(&chart, None, (310.0, 220.0), 130.0)
        );
        section(out, "Clipping", text, &body);
    }
}

fn faults(out: &mut String, record: &RunRecord) {
    if let Some(chart) = charts::faults(&record.results) {
        section(
            out,
            "Faults",
            "Mean number of agents or frames for each method, run and round. <em>Not releasable</em>: who answered is known \
             to the server alone. Divisor, weights and noise of a release do not depend on it, so ε is what it is \
             without faults.",
            &format!(
                "<figure class=\"single\">{}</figure>\n",
                charts::element(&chart, None, (310.0, 220.0), 150.0)
            ),
        );
    }
}

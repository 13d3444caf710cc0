//! Beyond the papers: the federated prior against DP-FTS-DE at the same ε, where agents are alike,
//! where they differ, where nothing can be shared, and on real data.
//!
//! Every variant of a federation is `default` with some keys changed. The total ε of `dp-prior` is
//! always the ε that `dp-fts-de` spends in the same scenario, by privacy-loss distributions at δ =
//! N^−1.1. Bands were set beforehand from an independent program; they bound ratios that are stable
//! over functions. Those of `beyond/campaign` were set after it had been measured, with room: they
//! say what must not be lost again.

use sordino_experiment::scenario::method::{
    ALONE, CAMPAIGN, DP_FTS_DE, DP_PRIOR, FTS, PRIOR_MEAN, PRIOR_NOISE, TS,
};
use sordino_experiment::scenario::{Method, Shipped};

use super::variants::{Comparison, Variant, below, variant};
use super::{Band, Experiment, Options, Outcome, ReproduceError};

/// The catalogue's entries.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "beyond/prior",
        description: "the federated prior at equal ε: alike, different, unrelated agents; regret over ε (30 runs, minutes)",
        runs: 30,
        reads_data: false,
        measure: prior,
    },
    Experiment {
        name: "beyond/campaign",
        description: "a campaign with nothing chosen, beside agents alone and the federated prior (10 runs, ten minutes)",
        runs: 10,
        reads_data: false,
        measure: campaign,
    },
    Experiment {
        name: "beyond/prior-winequality",
        description: "the federated prior on red wines, 16 agents (12 runs, a minute)",
        runs: 12,
        reads_data: false,
        measure: winequality,
    },
    Experiment {
        name: "beyond/prior-landmine",
        description: "the federated prior on 29 mine fields; needs --data landmine.csv (12 runs, minutes)",
        runs: 12,
        reads_data: true,
        measure: landmine,
    },
];

const BOTH: &[Method] = &[DP_FTS_DE, DP_PRIOR];
const MEAN: &[Method] = &[DP_FTS_DE, PRIOR_MEAN, DP_PRIOR];
const THREE: &[Method] = &[TS, DP_FTS_DE, PRIOR_MEAN, DP_PRIOR];

/// The same federation, with something changed.
const VARIANTS: [Variant; 10] = [
    variant("z = 16", &["privacy.noise_multiplier=16"], MEAN),
    variant("z = 8", &["privacy.noise_multiplier=8"], BOTH),
    variant("z = 4", &["privacy.noise_multiplier=4"], MEAN),
    variant("z = 2", &["privacy.noise_multiplier=2"], BOTH),
    variant(
        "",
        &[],
        &[TS, FTS, DP_FTS_DE, PRIOR_NOISE, PRIOR_MEAN, DP_PRIOR],
    ),
    variant("z = 0.8", &["privacy.noise_multiplier=0.8"], BOTH),
    variant(
        "N = 50, z = 4",
        &["federation.agents=50", "privacy.noise_multiplier=4"],
        THREE,
    ),
    variant("smooth differences", &["objective.own_variance=1"], THREE),
    variant("unrelated", &["objective.unrelated=1"], THREE),
    variant("two equal camps", &["objective.flipped=0.5"], THREE),
];

/// The private prior under a variant.
const fn dp(variant: &str) -> (&str, Method) {
    (variant, DP_PRIOR)
}

fn prior(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let all = Comparison::execute("default", &VARIANTS, options, runs)?;
    let noise = all.ratio(("", PRIOR_NOISE), ("", TS));
    let bands = vec![
        below(all.ratio(dp(""), ("", DP_FTS_DE)), 0.55),
        below(all.ratio(dp(""), ("", FTS)), 0.6),
        below(all.ratio(dp("z = 4"), ("z = 4", DP_FTS_DE)), 0.4),
        below(all.ratio(dp("z = 4"), ("", TS)), 0.35),
        below(all.ratio(dp("N = 50, z = 4"), ("N = 50, z = 4", TS)), 0.6),
        below(
            all.ratio(dp("smooth differences"), ("smooth differences", DP_FTS_DE)),
            0.7,
        ),
        below(all.ratio(dp("unrelated"), ("unrelated", TS)), 1.1),
        below(
            all.ratio(dp("two equal camps"), ("two equal camps", TS)),
            1.1,
        ),
        Band::within(noise.0, noise.1, 0.9, 1.15),
        all.equal_loss_band("", DP_PRIOR, DP_FTS_DE),
        all.equal_loss_band("z = 4", DP_PRIOR, DP_FTS_DE),
    ];
    let mut rivals = vec![("", TS), ("", FTS), ("", DP_FTS_DE), ("", PRIOR_NOISE)];
    let noises = ["z = 16", "z = 8", "z = 4", "z = 2", "z = 0.8"];
    rivals.extend(noises.map(|variant| (variant, DP_FTS_DE)));
    for variant in [
        "N = 50, z = 4",
        "smooth differences",
        "unrelated",
        "two equal camps",
    ] {
        rivals.extend([(variant, TS), (variant, DP_FTS_DE)]);
    }
    let means = [
        "",
        "z = 4",
        "z = 16",
        "N = 50, z = 4",
        "smooth differences",
        "unrelated",
    ];
    rivals.extend(means.map(|variant| (variant, PRIOR_MEAN)));
    let mut remarks: Vec<String> = rivals
        .into_iter()
        .map(|rival| all.difference(dp(rival.0), rival))
        .collect();
    remarks.push(
        "What no method can change is the regret of round 0, the initial points, which all sums contain. Where nothing \
         can be shared (unrelated, two equal camps) the prior costs a little against agents that are alone; that is its \
         price, and the bands allow it 10 %."
            .to_owned(),
    );
    let (chart, ruler) = all.against_epsilon(BOTH);
    Ok(all.outcome_over(
        "The federated prior at equal ε",
        bands,
        remarks,
        vec![chart],
        Some(&ruler),
    ))
}

const UNKNOWING: &[Method] = &[ALONE, DP_PRIOR, CAMPAIGN];

/// Federations in which agents share much, something, and nothing.
const SHARED: [Variant; 6] = [
    variant("", &[], UNKNOWING),
    variant("z = 4", &["privacy.noise_multiplier=4"], UNKNOWING),
    variant(
        "N = 50, z = 4",
        &["federation.agents=50", "privacy.noise_multiplier=4"],
        UNKNOWING,
    ),
    variant(
        "smooth differences",
        &["objective.own_variance=1"],
        UNKNOWING,
    ),
    variant("unrelated", &["objective.unrelated=1"], UNKNOWING),
    variant("two equal camps", &["objective.flipped=0.5"], UNKNOWING),
];

fn campaign(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let all = Comparison::execute("default", &SHARED, options, runs)?;
    let to = |variant, method| all.ratio((variant, CAMPAIGN), (variant, method));
    let nothing = |variant| {
        let (name, ratio) = to(variant, ALONE);
        Band::within(name, ratio, 0.98, 1.05)
    };
    let bands = vec![
        below(to("", ALONE), 0.35),
        below(to("z = 4", ALONE), 0.35),
        below(to("N = 50, z = 4", ALONE), 0.4),
        below(to("smooth differences", ALONE), 0.5),
        nothing("unrelated"),
        nothing("two equal camps"),
        below(to("", DP_PRIOR), 2.0),
        all.order(
            ("smooth differences", CAMPAIGN),
            ("smooth differences", DP_PRIOR),
        ),
    ];
    let rivals = SHARED
        .iter()
        .flat_map(|variant| [ALONE, DP_PRIOR].map(|method| (variant.name, method)));
    let mut remarks: Vec<String> = rivals
        .map(|rival| all.difference((rival.0, CAMPAIGN), rival))
        .collect();
    remarks.push(
        "`dp-prior` is told kernel, noise and constant of these functions, `campaign` and `alone` are told nothing. Where the \
         self-test of a campaign's file finds nothing in common its agents ask what `alone` asks."
            .to_owned(),
    );
    let charts = [
        ("200 agents, one function in common", ""),
        ("50 agents, four times the noise", "N = 50, z = 4"),
        (
            "A smooth function of each agent's own",
            "smooth differences",
        ),
        ("Unrelated functions", "unrelated"),
    ];
    let charts = charts
        .map(|(title, variant)| all.curves_of(title, variant))
        .to_vec();
    Ok(all.outcome("A campaign, with nothing chosen", bands, remarks, charts))
}

/// Mean over the buyers of 1 − AUC at the best of all candidates: no search can be below it.
fn floor() -> Result<f64, ReproduceError> {
    let shipped =
        Shipped::find("winequality").ok_or_else(|| ReproduceError::new("no such scenario"))?;
    let scenario = shipped.parse(&[]).map_err(ReproduceError::new)?;
    let family = sordino_experiment::world::load(&scenario, None).map_err(ReproduceError::new)?;
    let objective = family.realize(scenario.run_seed(0));
    let least = (0..objective.agents()).map(|agent| {
        let values = objective.values(agent).into_iter();
        1.0 - values.fold(f64::NEG_INFINITY, f64::max)
    });
    Ok(least.sum::<f64>() / f64::from(objective.agents()))
}

const DATA: &[Method] = &[TS, FTS, DP_FTS_DE, PRIOR_NOISE, DP_PRIOR];
const FIRST: &[&str] = &["prior.releases=[0, 0, 0]"];

fn winequality(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let variants = [
        variant("", FIRST, DATA),
        variant("six releases", &[], &[DP_PRIOR]),
    ];
    let all = Comparison::execute("winequality", &variants, options, runs)?;
    let floor = floor()?;
    let [dp_prior, ts] = [DP_PRIOR, TS].map(|method| {
        let summary = all.of("", method);
        summary.summed_regret.mean - floor * summary.curve.len() as f64
    });
    let bands = vec![
        Band::below(
            "summed 1 - AUC above each agent's best candidate: dp-prior / ts",
            dp_prior / ts,
            0.95,
        ),
        all.order(("", DP_PRIOR), ("", TS)),
        all.order(("", DP_PRIOR), ("", DP_FTS_DE)),
        all.equal_loss_band("", DP_PRIOR, DP_FTS_DE),
    ];
    let remarks = vec![
        all.difference(("", DP_PRIOR), ("", TS)),
        all.difference(("", DP_PRIOR), ("", PRIOR_NOISE)),
        all.difference(("", DP_PRIOR), ("", DP_FTS_DE)),
        all.difference(("", DP_PRIOR), ("six releases", DP_PRIOR)),
        format!(
            "Regret is measured against AUC 1, of which {:.4} in every round no candidate can remove: the first band leaves \
             that out.",
            floor
        ),
        "The gain against `prior-noise` is what federation brings; the rest of the gain against `ts` is the search's own. \
         One data set in twelve orders of draws: no statement about other data."
            .to_owned(),
    ];
    let chart = all.curves("Sixteen buyers of wine", false);
    Ok(all.outcome(
        "The federated prior on red wines",
        bands,
        remarks,
        vec![chart],
    ))
}

fn landmine(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let all = Comparison::execute("landmine", &[variant("", FIRST, DATA)], options, runs)?;
    let shared = all.ratio(("", FTS), ("", TS));
    let private = all.ratio(("", DP_PRIOR), ("", TS));
    let bands = vec![
        Band::within(shared.0, shared.1, 0.9, 1.1),
        Band::within(private.0, private.1, 0.9, 1.1),
    ];
    let remarks = vec![
        all.difference(("", FTS), ("", TS)),
        all.difference(("", DP_PRIOR), ("", TS)),
        all.difference(("", DP_PRIOR), ("", DP_FTS_DE)),
        "No gain for any method, private or not: these bands say that nothing is claimed here."
            .to_owned(),
    ];
    let chart = all.curves("29 mine fields", false);
    Ok(all.outcome(
        "The federated prior on mine fields",
        bands,
        remarks,
        vec![chart],
    ))
}

//! Rehearsals of a campaign: sites over HTTPS are the simulator's, and no real site takes part in
//! one.

use std::process::Stdio;
use std::time::Duration;

use sordino_core::federated::exchange::Announced;
use sordino_engine::federated::campaign::context::campaign_of;
use sordino_experiment::scenario::{Scenario, method};
use sordino_experiment::world;
use sordino_host::campaign::{Campaign, SiteError};
use sordino_net::party::{CampaignParty, Served};
use sordino_net::rehearsal::{Options, rehearse};
use sordino_net::terms::{Terms, TermsError};

use super::rehearsals::{rehearsed, scenario, simulated};
use super::util::{Place, bounded, program, runtime, said};

const SET: [&str; 6] = [
    "federation.methods=[\"campaign\"]",
    "federation.agents=12",
    "federation.rounds=12",
    "federation.initial_points=6",
    "objective.points_per_axis=80",
    "prior.epsilon=4",
];

#[test]
fn a_campaign_over_https_is_the_simulator_s_on_a_bad_network_and_with_deaths() {
    bounded(|| {
        let scenario = scenario("default", &SET);
        let outcome = rehearsed(&scenario, method::CAMPAIGN, true);
        let expected = simulated(&scenario, method::CAMPAIGN);
        assert_eq!(outcome.digest, expected);
        // The first points, the second release, and the frame with the sums of both.
        assert_eq!((outcome.agents, outcome.rounds), (12, 3));
        assert!(outcome.cuts > 0);
        let place = Place::new("deaths-campaign");
        let options = Options {
            deadline: Duration::from_secs(120),
            deaths: Some(place.0.clone()),
            ..Options::default()
        };
        let outcome = runtime()
            .block_on(rehearse(&scenario, method::CAMPAIGN, options))
            .unwrap();
        assert_eq!(outcome.digest, expected);
        assert!(outcome.deaths >= 10, "only {} deaths", outcome.deaths);
        // Negative control.
        let other = Scenario {
            seed: scenario.seed + 1,
            ..scenario.clone()
        };
        assert_ne!(rehearsed(&other, method::CAMPAIGN, false).digest, expected);
    });
}

/// With room for one release, and for none.
#[test]
fn a_campaign_that_the_budget_cuts_short_is_the_simulator_s() {
    bounded(|| {
        let whole = scenario("default", &SET);
        let mut digests = vec![simulated(&whole, method::CAMPAIGN)];
        for epsilon_max in [3.0, 1.0] {
            let mut short = whole.clone();
            short.privacy.max_epsilon = Some(epsilon_max);
            let digest = rehearsed(&short, method::CAMPAIGN, false).digest;
            assert_eq!(digest, simulated(&short, method::CAMPAIGN), "{epsilon_max}");
            digests.push(digest);
        }
        assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    });
}

/// Losses with a logarithm, a category and a whole number: sites are told them in these units, the
/// simulator larger is better.
#[test]
fn losses_of_a_program_are_the_simulator_s() {
    bounded(|| {
        let place = Place::new("rehearsed-losses");
        std::fs::create_dir_all(&place.0).unwrap();
        let program = "import json, math, sys\nfor line in sys.stdin:\n    q = json.loads(line)\n    x = q['x']\n    \
                       off = (math.log10(x['rate']) + 2 - 0.1 * q['agent']) ** 2\n    \
                       print(3 * q['agent'] + off + (x['kind'] == 'b') + (x['depth'] - 2) ** 2, flush=True)\n";
        let path = place.0.join("loss.py");
        std::fs::write(&path, program).unwrap();
        let text = format!(
            "name = \"t\"\ndescription = \"t\"\n[objective]\nkind = \"command\"\ncommand = \"python3 {}\"\ngoal = \"minimize\"\n\
             inputs = [\"rate\", \"kind\", \"depth\"]\ncategorical_inputs = [\"kind\"]\ncategories = [[\"a\", \"b\"]]\n\
             input_ranges = [[1e-5, 1], [1, 3]]\nlog_inputs = [\"rate\"]\ninteger_inputs = [\"depth\"]\ncandidates = 30\n\
             [federation]\nagents = 8\nrounds = 5\ninitial_points = 5\nmethods = [\"campaign\"]\n[surrogate]\nlengthscale = 0.5\n\
             noise_variance = 0.01\nfeatures = 20\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n\
             [prior]\nepsilon = 10\n",
            path.display()
        );
        let scenario = Scenario::parse("t", &text, &[]).unwrap();
        assert_eq!(
            rehearsed(&scenario, method::CAMPAIGN, false).digest,
            simulated(&scenario, method::CAMPAIGN)
        );
    });
}

/// A rehearsal may have a δ that no real campaign has, and seeds that everybody knows.
#[test]
fn no_real_site_takes_part_in_a_rehearsal() {
    let scenario = scenario("default", &SET);
    let functions = world::load(&scenario, None)
        .unwrap()
        .realize(sordino_core::random::RunSeed::new(0, 0));
    let campaign = campaign_of(
        &scenario,
        method::CAMPAIGN,
        functions.candidates(),
        functions.dim(),
    )
    .unwrap();
    let announced = Announced {
        epsilon_max: None,
        delta: 1e-5,
        deadline_ms: 1,
        may_close_early: true,
    };
    let terms = Terms::of_campaign(&campaign, 1, announced).unwrap();
    let refused = CampaignParty::new(&terms).err().unwrap();
    assert!(
        matches!(&refused, TermsError::Campaign(why) if matches!(**why, SiteError::Text(_))),
        "{refused}"
    );
    assert!(terms.publication().is_err());
    // Nor is a real one rehearsed.
    let publication = campaign.publication().clone();
    let real = Campaign::new(
        sordino_host::prior::publish::Publication {
            delta: 1e-3,
            ..publication
        },
        12,
    )
    .unwrap();
    assert!(Campaign::parse_rehearsed(real.text(), real.protocol()).is_err());
    assert!(Campaign::parse(campaign.text(), campaign.protocol()).is_err());
}

#[test]
fn what_cannot_be_rehearsed_is_refused_by_name() {
    bounded(|| {
        let refused = |settings: &[&str], options: Options| {
            let scenario = scenario("default", &[&SET[..], settings].concat());
            runtime()
                .block_on(rehearse(&scenario, method::CAMPAIGN, options))
                .unwrap_err()
                .to_string()
        };
        let single = refused(&["surrogate.scalar=\"f32\""], Options::default());
        assert!(single.contains("a campaign in 32-bit numbers"), "{single}");
        // Real sites would contribute what they know, under the name of the ablation.
        let noise = scenario("default", &SET);
        let noise = rehearse(&noise, method::CAMPAIGN_NOISE, Options::default());
        let noise = runtime().block_on(noise).unwrap_err().to_string();
        assert!(
            noise
                .starts_with("method campaign-noise: sites of a network contribute what they know"),
            "{noise}"
        );
        // What a device has no memory for is said before anybody waits for it.
        let place = Place::new("no-device");
        let device = Some(place.0.join("device.bin"));
        let given = |settings: &[&str]| {
            refused(
                settings,
                Options {
                    device: device.clone(),
                    ..Options::default()
                },
            )
        };
        let landmarks = given(&[]);
        assert!(
            landmarks.contains("landmarks, and a device has memory for 50"),
            "{landmarks}"
        );
        let rounds = given(&["prior.features=40", "federation.rounds=40"]);
        assert_eq!(
            rounds,
            "federation.rounds = 40: a device makes at most 15 of this campaign"
        );
        let long = given(&["prior.features=40", "objective.points_per_axis=600"]);
        assert!(long.contains("a device reads at most 65536"), "{long}");
        assert!(!place.0.join("device.bin").exists());
        let vote = scenario(
            "default",
            &["federation.methods=[\"vote\"]", "federation.rounds=2"],
        );
        let vote = rehearse(
            &vote,
            method::VOTE,
            Options {
                device,
                ..Options::default()
            },
        );
        let vote = runtime().block_on(vote).unwrap_err().to_string();
        assert!(
            vote.starts_with("--device: no machine of a device runs the method vote"),
            "{vote}"
        );
    });
}

/// On standard error, once, whatever else is said; and what is used is not told of.
#[test]
fn a_setting_that_does_nothing_is_told_where_a_method_is_rehearsed_or_served() {
    let place = Place::new("does-nothing");
    let folder = place.0.join("server").display().to_string();
    let told = |arguments: &[&str], code| {
        let output = said(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        (
            error.matches("is set and does nothing").count(),
            error,
            output.stdout,
        )
    };
    let rehearse = [
        "rehearse", "firmware", "--set", "runs=1", "--format", "json", "--set",
    ];
    let (count, error, answer) = told(&[&rehearse[..], &["prior.epsilon=2"]].concat(), 0);
    assert!(
        count == 1 && error.contains("warning: `prior.epsilon` is set and does nothing"),
        "{error}"
    );
    assert!(serde_json::from_slice::<serde_json::Value>(&answer).unwrap()["digest"].is_string());
    assert_eq!(
        told(
            &[&rehearse[..], &["privacy.noise_multiplier=2"]].concat(),
            0
        )
        .0,
        0
    );
    // A reader that has gone: the rehearsal was over, and panicked.
    let mut gone = program(&[&rehearse[..], &["privacy.noise_multiplier=2"]].concat());
    let mut gone = gone
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(gone.stdout.take());
    let ended = gone.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(
        ended.status.success() && !error.contains("panicked"),
        "{error}"
    );
    // A folder that cannot be made is named.
    let taken = place.0.join("taken");
    std::fs::write(&taken, "").unwrap();
    let taken = taken.display().to_string();
    let (_, error, _) = told(&["rehearse", "firmware", "--deaths", &taken], 1);
    assert!(error.contains(&format!("--deaths {taken}: ")), "{error}");
    // Served at another δ than the scenario's, which is not the user's doing; refused afterwards,
    // because no budget is said.
    let serve = [
        "serve", "default", "--folder", &folder, "--method", "dp-prior", "--set",
    ];
    assert_eq!(
        told(&[&serve[..], &["surrogate.features=13"]].concat(), 2).0,
        1
    );
    assert_eq!(
        told(&[&serve[..], &["prior.points_per_axis=13"]].concat(), 2).0,
        0
    );
}

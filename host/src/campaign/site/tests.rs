//! Sites make the file that one party with all their values would publish, and go on with it.

use sordino_core::federated::ServerError;
use sordino_core::federated::prior::{CAMPAIGN_RULES, CampaignProtocol, Plan};
use sordino_core::privacy::SourceKind;

use super::super::EVALUATIONS_MAX;
use super::*;
use crate::ledger::{Accounting, Ledger, Terms};
use crate::prior::publish::{Prepared, Publication, Study};
use crate::server::{Population, ServerHost, SimulatedSources};
use crate::space::{Goal, SpaceFile};

const AGENTS: u32 = 24;

fn publication(epsilon: f64) -> Publication {
    let text = "[parameters.depth]\nlow = 1\nhigh = 8\ninteger = true\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"";
    Publication {
        space: SpaceFile::parse("s", text).unwrap().space,
        goal: Goal::Minimize,
        value: Some("loss".into()),
        epsilon,
        delta: 1e-3,
        releases: 2,
        features: 40,
        dataset: "wards".into(),
        by: None,
        note: None,
        published: None,
    }
}

/// Every site's loss is its own: moved, in a unit and with an offset of its own.
fn loss(agent: u32, numbers: &[f64]) -> f64 {
    let depth = numbers[0];
    let rate = numbers[1].log10();
    let moved = f64::from(agent % 5) * 0.05;
    let value = (rate + 2.0 + moved).powi(2) + 0.15 * (depth - 3.0).powi(2);
    f64::from(10 + agent) * 3.0 + value * (0.5 + f64::from(agent % 7))
}

struct Kept {
    state: SiteState,
    log: Vec<f64>,
}

/// Does something as a site, over its stored state.
fn with<R>(
    campaign: &Campaign,
    kept: &mut Kept,
    act: impl FnOnce(&mut Site<'_>) -> Result<R, SiteError>,
) -> R {
    let mut upload = vec![0.0; campaign.context().config().contribution_len()];
    // What is stored is all there is.
    let stored = serde_json::to_string(&kept.state).unwrap();
    let mut state: SiteState = serde_json::from_str(&stored).unwrap();
    let done =
        act(&mut Site::attach(campaign, &mut state, &mut kept.log, &mut upload).unwrap()).unwrap();
    kept.state = state;
    done
}

/// Its queries until it has something to give, and what.
fn works(campaign: &Campaign, kept: &mut Kept) -> Vec<f64> {
    loop {
        let next = with(campaign, kept, |site| {
            Ok(match site.next()? {
                Next::Query { candidate, .. } => Err(candidate),
                Next::Give(numbers) => Ok(numbers.to_vec()),
            })
        });
        match next {
            Ok(numbers) => return numbers,
            Err(candidate) => {
                let numbers = &campaign.context().candidates()[candidate as usize];
                let value = loss(kept.state.agent, numbers);
                with(campaign, kept, |site| site.observed(value));
            }
        }
    }
}

fn sites() -> Vec<Kept> {
    let fresh = |agent| Kept {
        state: SiteState::new(agent, RunSeed::new(77, agent)),
        log: vec![0.0; 2 * EVALUATIONS_MAX as usize],
    };
    (0..AGENTS).map(fresh).collect()
}

fn ledger(delta: f64) -> Ledger {
    let data = "test".into();
    let unit = "agent".into();
    let epsilon_max = Some(50.0);
    let terms = Terms {
        data,
        unit,
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max,
        delta,
    };
    Ledger::in_memory(&terms).unwrap()
}

/// The whole campaign in this process, with noise of this seed; the sums of its releases.
fn run(campaign: &Campaign, sites: &mut [Kept], seed: u64) -> Vec<f64> {
    let plan: Plan<'_> = campaign.protocol().plan();
    let population = Population::new(campaign.context().clone(), plan)
        .map_err(ServerError::from)
        .unwrap();
    let sources = SimulatedSources::new(RunSeed::new(seed, 0));
    let mut host = ServerHost::new(population, sources, ledger(1e-3), None).unwrap();
    let mut released: Vec<f64> = Vec::new();
    for epoch in 0..=plan.noise_multipliers.len() as u32 {
        let is_last = epoch == plan.noise_multipliers.len() as u32;
        if !is_last {
            assert!(host.open().unwrap());
        }
        let len = campaign.context().config().contribution_len();
        let sums = released
            .rchunks_exact(len)
            .next()
            .unwrap_or_default()
            .to_vec();
        for (agent, kept) in (0..).zip(sites.iter_mut()) {
            let frame = if epoch == 0 {
                Frame::Start
            } else {
                Frame::Released(&sums)
            };
            with(campaign, kept, |site| site.enter(frame));
            let given = works(campaign, kept);
            assert_eq!(given.is_empty(), is_last);
            // The same again if asked again.
            assert_eq!(works(campaign, kept), given);
            if !is_last {
                host.upload(agent, epoch, &given).unwrap();
            }
        }
        if !is_last {
            let _counts = host.close().unwrap();
            released.extend(host.last_release().unwrap().1);
        }
    }
    released
}

#[test]
fn sites_make_the_file_of_one_party_with_all_values_and_go_on_with_it() {
    let campaign = Campaign::new(publication(30.0), AGENTS).unwrap();
    let mut all = sites();
    let released = run(&campaign, &mut all, 5);
    let file = campaign
        .file(&released, SourceKind::Simulation)
        .unwrap()
        .unwrap();
    let study = |kept: &Kept| Study {
        name: kept.state.agent.to_string(),
        values: kept.log[..20]
            .chunks_exact(2)
            .map(|entry| {
                (
                    campaign.context().candidates()[entry[0] as usize].clone(),
                    -entry[1],
                )
            })
            .collect(),
    };
    let studies: Vec<Study> = all.iter().map(study).collect();
    let sources = SimulatedSources::new(RunSeed::new(5, 0));
    let enrolled: Vec<_> = studies.iter().map(Some).collect();
    let prepared = Prepared::new(&publication(30.0), studies.len()).unwrap();
    let published = prepared.publish(&enrolled, sources, ledger(1e-3), |_| {});
    let published = published.unwrap().file;
    assert_eq!(file.digest(), published.digest());
    assert!(file == published);
    assert!(file.label.simulated && file.label.self_test > 1.0);
    // The terms of a campaign name the rules that make its file: other bytes are other rules.
    assert_eq!(
        (CAMPAIGN_RULES, file.digest().to_string().as_str()),
        (
            2,
            "0bb3d2040718f6720d1aac4c9c3d7a1b1c2e9cc53ed9e9fadd94e5ab4075994c"
        )
    );
    assert_eq!((file.label.contributors, file.label.releases), (AGENTS, 2));
    // What a site asks with the file is better than what its first points were.
    let mut ahead = 0;
    for kept in &all {
        assert!(kept.state.is_done(&campaign) && kept.state.observations() == EVALUATIONS);
        let best = |entries: &[f64]| {
            entries
                .chunks_exact(2)
                .map(|entry| entry[1])
                .fold(f64::MIN, f64::max)
        };
        ahead += usize::from(best(&kept.log[20..30]) > best(&kept.log[..20]));
    }
    assert!(
        ahead >= 14,
        "{ahead} of {AGENTS} sites found something better in five questions"
    );
}

#[test]
fn a_release_less_is_a_file_of_one_and_none_is_a_search_alone() {
    let campaign = Campaign::new(publication(5.0), AGENTS).unwrap();
    let released = run(&campaign, &mut sites(), 6);
    let one = campaign
        .file(&released[..released.len() / 2], SourceKind::Secret)
        .unwrap()
        .unwrap();
    assert_eq!(
        (
            one.label.releases,
            one.label.noise_multipliers.len(),
            one.label.simulated
        ),
        (1, 1, false)
    );
    assert!(
        one.label.epsilon < 4.0,
        "one of two releases costs less: {}",
        one.label.epsilon
    );
    assert!(campaign.file(&[], SourceKind::Secret).unwrap().is_none());
    assert!(
        campaign.file(&released[..7], SourceKind::Secret).is_err()
            && campaign
                .file(&released.repeat(2), SourceKind::Secret)
                .is_err()
    );
    // Without a release a site searches alone, to its end.
    let mut alone = sites().remove(3);
    for frame in [Frame::Start, Frame::Nothing, Frame::Missed(None)] {
        with(&campaign, &mut alone, |site| site.enter(frame));
        works(&campaign, &mut alone);
    }
    assert_eq!(alone.state.observations(), EVALUATIONS);
    assert!(alone.state.is_done(&campaign) && alone.state.released().is_empty());
}

#[test]
fn terms_that_do_not_follow_from_the_text_are_refused_by_name() {
    let campaign = Campaign::new(publication(1.0), AGENTS).unwrap();
    let text = campaign.text().to_owned();
    let agreed = campaign.protocol().clone();
    assert!(Campaign::parse(&text, &agreed).is_ok());
    let mut quieter = agreed.clone();
    quieter.noise_multipliers[0] *= 0.5;
    let longer = CampaignProtocol {
        lengthscale: 1.1 * agreed.lengthscale,
        ..agreed.clone()
    };
    let fewer = CampaignProtocol {
        rounds: 3,
        ..agreed.clone()
    };
    let older = CampaignProtocol {
        rules: CAMPAIGN_RULES - 1,
        ..agreed.clone()
    };
    assert!(older.check().is_err());
    for (text, agreed, what) in [
        (text.clone(), quieter, "noise multipliers"),
        (text.clone(), longer, "lengthscale or landmarks"),
        (text.clone(), fewer, "evaluations"),
        (text.clone(), older, "the version of the rules"),
        (text.replace("wards", "words"), agreed.clone(), "the text"),
        (text.replace(",", ", "), agreed.clone(), "the text"),
    ] {
        let refused = Campaign::parse(&text, &agreed)
            .err()
            .map(|error| error.to_string());
        assert_eq!(
            refused,
            Some(format!(
                "{what} of the terms do not follow from what is to be published"
            ))
        );
    }
    assert!(matches!(
        Campaign::parse("{}", &agreed),
        Err(SiteError::Text(_))
    ));
    let large = Publication {
        delta: 0.1,
        ..publication(1.0)
    };
    assert!(
        Campaign::new(large, AGENTS).is_err_and(|error| error.to_string().contains("delta is 0.1"))
    );
    let mut given = publication(1.0);
    let text = "[parameters.load]\nlow = 0\nhigh = 1\ncontext = true\n[parameters.rate]\nlow = 1e-4\nhigh = 1";
    given.space = SpaceFile::parse("s", text).unwrap().space;
    assert!(
        Campaign::new(given, AGENTS)
            .is_err_and(|error| error.to_string().contains("context = true is load"))
    );
}

#[test]
fn what_no_site_can_be_told_leaves_it_as_it_was() {
    let campaign = Campaign::new(publication(1.0), AGENTS).unwrap();
    let mut kept = sites().remove(0);
    let mut upload = vec![0.0; campaign.context().config().contribution_len()];
    let mut site = Site::attach(&campaign, &mut kept.state, &mut kept.log, &mut upload).unwrap();
    assert!(matches!(
        site.enter(Frame::Nothing),
        Err(SiteError::Frame {
            taken: 0,
            frames: 3
        })
    ));
    assert!(matches!(site.observed(1.0), Err(SiteError::NotAsked)));
    site.enter(Frame::Start).unwrap();
    assert!(matches!(site.next(), Ok(Next::Query { number: 0, .. })));
    for value in [f64::NAN, f64::INFINITY, 1e300] {
        assert!(matches!(site.observed(value), Err(SiteError::Value { .. })));
    }
    assert!(matches!(
        site.enter(Frame::Released(&[1.0; 3])),
        Err(SiteError::Length { found: 3, .. })
    ));
    assert_eq!((kept.state.observations(), kept.state.frames), (0, 1));
    // States and logs that no site can have.
    let mut short = vec![0.0; 7];
    let mut state = kept.state.clone();
    assert!(Site::attach(&campaign, &mut state, &mut short, &mut upload).is_err());
    state.observations = EVALUATIONS_MAX + 1;
    assert!(Site::attach(&campaign, &mut state, &mut kept.log, &mut upload).is_err());
    let mut state = SiteState {
        pending: Some(1 << 20),
        ..kept.state.clone()
    };
    assert!(Site::attach(&campaign, &mut state, &mut kept.log, &mut upload).is_err());
    let mut state = SiteState {
        released: vec![1.0; 5],
        ..kept.state.clone()
    };
    assert!(Site::attach(&campaign, &mut state, &mut kept.log, &mut upload).is_err());
}

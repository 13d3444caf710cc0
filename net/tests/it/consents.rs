//! What a server does not serve and an agent does not join; what an agent is told before it agrees;
//! how it is told its point.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sordino_core::domain::{Candidates, Regions};
use sordino_core::federated::exchange::{DrawsProtocol, Protocol, candidates_digest};
use sordino_core::federated::{Aggregation, Config, OwnDraw, Parameters};
use sordino_core::kernel::Stationary;
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_experiment::scenario::Shipped;
use sordino_experiment::text::significant_up;
use sordino_host::ledger::contributions::Contributions;
use sordino_net::admission::{EPSILON_UNASKED, admit, cost};
use sordino_net::data::Data;
use sordino_net::door::{self, Counts, Door, Limits};
use sordino_net::enrolment::Enrolment;
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::join::{JoinError, Joining, join};
use sordino_net::keys;
use sordino_net::rounds::Request;
use sordino_net::terms::{Terms, TermsError};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::bodies;
use super::util::{Federation, Place, Process, bounded, program, runtime, said};

/// The numbers of a federation that shares draws.
fn draws(terms: &mut Terms) -> &mut DrawsProtocol {
    match &mut terms.agreement.protocol {
        Protocol::Draws(draws) => draws,
        _ => panic!("another method"),
    }
}

fn with(change: impl FnOnce(&mut Parameters)) -> Terms {
    let mut terms = bodies::terms();
    let mut parameters = draws(&mut terms).config.parameters().clone();
    change(&mut parameters);
    draws(&mut terms).config = Config::new(parameters).unwrap();
    terms
}

pub fn announcing(epsilon_max: Option<f64>, delta: f64, deadline_ms: u64) -> Terms {
    let mut terms = bodies::terms();
    let announced = &mut terms.agreement.announced;
    (
        announced.epsilon_max,
        announced.delta,
        announced.deadline_ms,
    ) = (epsilon_max, delta, deadline_ms);
    terms
}

fn searching(candidates: Vec<f64>) -> Terms {
    let mut terms = bodies::terms();
    let dim = terms.agreement.dim as usize;
    terms.agreement.candidates = candidates_digest(
        &Candidates::list(&candidates, dim).unwrap(),
        &mut vec![0.0; dim],
    );
    Terms {
        candidates,
        ..terms
    }
}

/// Terms that nobody serves, each with what its refusal says.
fn inadmissible() -> Vec<(&'static str, Terms)> {
    let point = bodies::terms().candidates[..bodies::terms().agreement.dim as usize].to_vec();
    vec![
        (
            "protect nobody",
            with(|p| p.aggregation = Aggregation::Mean),
        ),
        (
            "protect nobody",
            with(|p| p.aggregation = Aggregation::None),
        ),
        (
            "2 to 1000000 are admissible",
            with(|p| (p.agents, p.regions) = (1, Regions::whole(1).unwrap())),
        ),
        (
            "2 to 1000000 are admissible",
            with(|p| p.agents = 2_000_000),
        ),
        ("privacy.max_epsilon", announcing(None, 1e-5, 1000)),
        (
            "above 0 is admissible",
            announcing(Some(f64::INFINITY), 1e-5, 1000),
        ),
        ("above 0 is admissible", announcing(Some(-1.0), 1e-5, 1000)),
        (
            "at most 1/(10 N) = 0.0333 is admissible",
            announcing(Some(8.0), 0.5, 1000),
        ),
        ("is admissible", announcing(Some(8.0), 0.0, 1000)),
        ("is admissible", announcing(Some(8.0), f64::NAN, 1000)),
        ("365 days", announcing(Some(8.0), 1e-5, 0)),
        ("admits no release", announcing(Some(0.01), 1e-5, 1000)),
        (
            "1000 candidates, of which 1 are distinct",
            searching(point.repeat(1000)),
        ),
    ]
}

/// A server of ninety lines with edited terms got raw vectors, exit 0, and not a word.
#[test]
fn an_agent_joins_nothing_that_no_server_serves() {
    bounded(|| {
        let place = Place::new("consents");
        for (number, (expected, terms)) in inadmissible().into_iter().enumerate() {
            let refused = admit(&terms).unwrap_err().to_string();
            assert!(refused.contains(expected), "{number}: {refused}");
            let enrolment = Arc::new(Enrolment::in_memory());
            let (joined, measured) = runtime().block_on(offered(
                &terms,
                &enrolment,
                place.0.join(number.to_string()),
                OWNED,
            ));
            let refused = joined.unwrap_err();
            assert!(
                matches!(&refused, JoinError::Inadmissible(_)),
                "{number}: {refused}"
            );
            assert!(
                refused.to_string().contains("nothing was sent"),
                "{refused}"
            );
            assert_eq!(
                (measured, enrolment.count()),
                (0, 0),
                "{number}: it joined or measured"
            );
        }
        // Negative control: as they were, these terms are joined.
        let enrolment = Arc::new(Enrolment::in_memory());
        let terms = bodies::terms();
        let waiting = offered(&terms, &enrolment, place.0.join("control"), OWNED);
        let waited = runtime()
            .block_on(async { tokio::time::timeout(Duration::from_secs(3), waiting).await });
        assert!(
            waited.is_err() && enrolment.count() == 1,
            "it waits for the first round"
        );
    });
}

/// Says whether to agree to a sentence.
pub type Asked = fn(&str) -> bool;
/// The limit that an owner has set, and who is asked.
pub type Owner = (Option<f64>, Option<Asked>);

/// An owner who has set a limit, and is not asked.
pub const OWNED: Owner = (Some(100.0), None);

/// Without `--max-epsilon` an agent agreed to whatever ε the server said.
#[test]
fn without_a_limit_of_its_own_an_agent_agrees_to_one_or_asks() {
    bounded(|| {
        let place = Place::new("unasked");
        let costing = |epsilon_max: f64| announcing(Some(epsilon_max), 1e-5, 1000);
        let cost = |terms: &Terms| admit(terms).unwrap().epsilon;
        // One release of these terms costs more than 1; with more noise all of them cost less.
        let dear = costing(8.0);
        let cheap = with(|p| p.aggregation = Aggregation::private(6.0, 0.05, 20.0).unwrap());
        assert!(
            cost(&dear) > EPSILON_UNASKED && cost(&cheap) <= EPSILON_UNASKED,
            "{} {}",
            cost(&dear),
            cost(&cheap)
        );
        let yes: Asked =
            |sentence| sentence.contains("agents search") && sentence.contains("releases: ε ≤ ");
        let no: Asked = |_| false;
        let joins = |name: &str, terms: &Terms, said| {
            let enrolment = Arc::new(Enrolment::in_memory());
            let offer = offered(terms, &enrolment, place.0.join(name), said);
            let ended = runtime()
                .block_on(async { tokio::time::timeout(Duration::from_secs(3), offer).await });
            match ended {
                Err(_waits_for_the_first_round) => Ok(enrolment.count()),
                Ok((joined, measured)) => {
                    assert_eq!(
                        (enrolment.count(), measured),
                        (0, 0),
                        "{name}: refused, and yet it joined or measured"
                    );
                    Err(joined.unwrap_err())
                }
            }
        };
        for (name, said) in [("nobody", (None, None)), ("no", (None, Some(no)))] {
            let refused = joins(name, &dear, said).unwrap_err();
            assert!(
                matches!(refused, JoinError::Epsilon { .. }),
                "{name}: {refused}"
            );
            let told = refused.to_string();
            for needed in [
                "nothing was sent",
                "at most ε = 1;",
                &format!("--max-epsilon {} ", significant_up(cost(&dear), 3)),
            ] {
                assert!(told.contains(needed), "{needed}: {told}");
            }
        }
        // Negative controls: whoever set a limit or says yes joins, and terms of at most 1 need
        // neither.
        for (name, terms, said) in [
            ("limit", &dear, (Some(0.5), None)),
            ("yes", &dear, (None, Some(yes))),
            ("cheap", &cheap, (None, None)),
            ("cheap-no", &cheap, (None, Some(no))),
        ] {
            assert_eq!(joins(name, terms, said).unwrap(), 1, "{name}");
        }
        // Who has begun has agreed: it goes on without a word after an update of the program.
        assert!(place.0.join("yes/agent.bin").exists());
        assert_eq!(joins("yes", &dear, (None, None)).unwrap(), 1);
    });
}

/// Where the data is counted of which two prompts are open.
static COUNTS: OnceLock<PathBuf> = OnceLock::new();

fn patients(federation: &str) -> Contributions {
    Contributions::open(COUNTS.get().unwrap(), Some("patients"), federation, 0).unwrap()
}

/// Somebody says yes here, and meanwhile yes to another federation of the same data as well.
fn two_prompts(sentence: &str) -> bool {
    assert!(!sentence.contains("other federation"), "{sentence}");
    let event = Event::Gaussian {
        noise_multiplier: 2.0,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    let agreed = patients("another").agree(&[(event, 1)], 1e-5, f64::INFINITY);
    agreed.unwrap().is_some()
}

/// Whoever was asked about these terms alone had agreed to any sum: both plans were written, and
/// nobody was told of the sum.
#[test]
fn who_is_asked_agrees_to_what_it_is_told_and_to_no_more() {
    bounded(|| {
        let place = Place::new("two-prompts");
        COUNTS.set(place.0.join("contributions")).unwrap();
        let terms = announcing(Some(8.0), 1e-5, 1000);
        let enrolment = Arc::new(Enrolment::in_memory());
        let joins = |name: &str, said: Asked| {
            let data = Data {
                name: Some("patients".into()),
                place: COUNTS.get().unwrap().clone(),
                here: place.0.clone(),
            };
            let owner = (None, Some(said));
            let offer = offered_of(&terms, &enrolment, place.0.join(name), owner, Some(data));
            runtime().block_on(async { tokio::time::timeout(Duration::from_secs(3), offer).await })
        };
        let federations = || patients("a third").weigh(&[], 1e-5).unwrap().federations;
        let (joined, measured) = joins("site", two_prompts).expect("it waits for a round");
        let refused = joined.unwrap_err();
        assert!(matches!(refused, JoinError::Others { .. }), "{refused}");
        assert_eq!((enrolment.count(), measured, federations()), (0, 0, 1));
        // Asked again, it is told of both, and what it says is what counts.
        let told: Asked = |sentence| sentence.contains("to 1 other federation, and with this one");
        assert!(joins("site", told).is_err(), "it waits for the first round");
        assert_eq!((enrolment.count(), federations()), (1, 2));
    });
}

/// Terms offered by a server that checks nothing: what an agent makes of them, and how many points
/// it measured.
pub async fn offered(
    terms: &Terms,
    enrolment: &Arc<Enrolment>,
    folder: PathBuf,
    owner: Owner,
) -> (Result<(), JoinError>, u32) {
    offered_of(terms, enrolment, folder, owner, None).await
}

/// The door of a server that checks nothing.
pub fn door_of(terms: &Terms, enrolment: &Arc<Enrolment>, requests: mpsc::Sender<Request>) -> Door {
    Door {
        deployment: terms.agreement.deployment,
        offered: tokio::sync::watch::channel(Some(sordino_net::door::Offered::default())).1,
        terms: terms.to_bytes().unwrap().into(),
        body_max: 1 << 16,
        enrolment: enrolment.clone(),
        authority: None,
        tells_joined: false,
        requests,
        limits: Limits::default(),
        counts: Arc::new(Counts::default()),
    }
}

/// The same, to an agent with this data.
pub async fn offered_of(
    terms: &Terms,
    enrolment: &Arc<Enrolment>,
    folder: PathBuf,
    (epsilon_max, asked): Owner,
    data: Option<Data>,
) -> (Result<(), JoinError>, u32) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let identity = Identity::generate().unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (requests, _kept) = mpsc::channel(1);
    let deployment = terms.agreement.deployment;
    let door = door_of(terms, enrolment, requests);
    let serving = tokio::spawn(door::serve(
        listener,
        keys::always(&identity).unwrap(),
        door,
    ));
    enrolment.admit(0, &[7; 16]);
    let pins = vec![identity.fingerprint().unwrap()];
    let token = Some([7; 16]);
    let invitation = Invitation {
        address,
        deployment,
        slot: 0,
        terms: terms.digest(),
        pins,
        token,
        helper: None,
    };
    let delta_max = None;
    let wait = Duration::from_secs(1);
    let joining = Joining {
        invitation,
        folder,
        certified: None,
        epsilon_max,
        asked,
        delta_max,
        evaluations: None,
        data,
        wait,
        give_up: None,
    };
    let mut measured = 0;
    let joined = join(&joining, |_| {
        measured += 1;
        std::future::ready(Ok(0.0))
    });
    let joined = joined.await.map(|_| ());
    serving.abort();
    (joined, measured)
}

#[test]
fn joint_draws_beyond_the_stated_work_are_refused_by_name() {
    // White noise in all but name: every candidate needs a column of its own.
    let rough = |points: u32| {
        let mut terms = searching(
            (0..points)
                .map(|i| f64::from(i) / f64::from(points))
                .collect(),
        );
        let mut parameters = draws(&mut terms).config.parameters().clone();
        parameters.own_draw = OwnDraw::Joint;
        draws(&mut terms).config = Config::new(parameters).unwrap();
        draws(&mut terms).features.kernel = Stationary::SquaredExponential;
        draws(&mut terms).features.lengthscale = 1e-9;
        terms
    };
    assert_eq!(bodies::terms().agreement.dim, 1);
    let large = rough(2_000_000);
    let work = large.work().unwrap();
    assert!(work.contains("at most 33 columns"), "{work}");
    let refused = large.factor().unwrap_err();
    assert!(
        matches!(
            refused,
            TermsError::Factor {
                points: 2_000_000,
                columns: 33,
                ..
            }
        ),
        "{refused}"
    );
    assert!(
        refused
            .to_string()
            .contains("surrogate.own_draw = \"features\""),
        "{refused}"
    );
    // Negative controls: few points, and many with a smooth kernel, are within the bound.
    assert_eq!(rough(300).factor().unwrap().len(), 300 * 300);
    let mut smooth = rough(20_000);
    draws(&mut smooth).features.lengthscale = 0.5;
    draws(&mut smooth).features.prior_tolerance = 1e-8;
    let rank = smooth.factor().unwrap().len() / 20_000;
    assert!((2..64).contains(&rank), "{rank}");
    assert!(smooth.work().unwrap().contains("20000 candidates"));
}

#[test]
fn what_a_scenario_says_and_terms_do_not_carry_is_refused_by_the_name_of_the_key() {
    let place = Place::new("keys-of-a-scenario");
    let folder = place.0.join("server").display().to_string();
    let served = |scenario: &str, settings: &[&str]| {
        let mut arguments = vec![
            "serve",
            scenario,
            "--folder",
            &folder,
            "--set",
            "privacy.max_epsilon=8",
        ];
        settings
            .iter()
            .for_each(|setting| arguments.extend(["--set", setting]));
        let output = said(&arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!place.0.join("server").exists(), "nothing was begun");
        String::from_utf8(output.stderr).unwrap()
    };
    let whole = Shipped::find("fedhpo").unwrap().text;
    let (before, rest) = whole.split_once("[objective]").unwrap();
    let objective = "[objective]\nkind = \"command\"\ncommand = \"cat\"\ngoal = \"minimize\"\ninputs = [\"rate\", \"depth\", \"loss\"]\n\
                     input_ranges = [[1e-5, 0.1], [1, 12]]\nlog_inputs = [\"rate\"]\ninteger_inputs = [\"depth\"]\n\
                     categorical_inputs = [\"loss\"]\ncategories = [[\"a\", \"b\"]]\ncandidates = 20\n\n[federation]\nagents = 16";
    let (_, after) = rest.split_once("[federation]").unwrap();
    let text = format!("{before}{objective}{after}").replace("[2, 2, 2]", "[2, 2, 2, 1]");
    let path = place.0.join("own.toml");
    fs::write(&path, text).unwrap();
    let told = served(&path.display().to_string(), &[]);
    for key in [
        "goal = minimize",
        "inputs = ",
        "input_ranges = ",
        "log_inputs = ",
        "integer_inputs = ",
        "categorical_inputs = ",
        "categories = ",
    ] {
        assert!(told.contains(&format!("objective.{key}")), "{key}: {told}");
    }
    for (shipped, goal) in [("planes", "maximize"), ("fedhpo", "minimize")] {
        let told = served(shipped, &[]);
        assert!(
            told.contains(&format!("objective.goal = {goal}, objective.inputs = [")),
            "{shipped}: {told}"
        );
    }
    // δ of the scenario above 1/(10 N), a minimum that is no number of agents.
    let told = served("firmware", &["privacy.delta=0.02"]);
    assert!(
        told.contains("δ = 0.02 for 8 agents: at most 1/(10 N) = 0.0125 is admissible"),
        "{told}"
    );
    let output = said(&[
        "serve",
        "firmware",
        "--folder",
        &folder,
        "--set",
        "privacy.max_epsilon=8",
        "--min-agents",
        "9",
    ]);
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("--min-agents 9: this federation has 8 agents")
    );
}

/// δ = N^−1.1 was taken without a word: .30 for three sites.
#[test]
fn a_server_takes_one_over_ten_n_and_says_what_it_costs() {
    bounded(|| {
        let federation = Federation::waiting("delta", 3, 2, &["--set", "privacy.delta=0.29868"]);
        let status = federation.serve().ended();
        assert_eq!(status.code(), Some(2), "{}", federation.heard());
        // The value of a simulation that sets none is none that was set.
        let usual = format!(
            "privacy.delta={}",
            sordino_experiment::scenario::federated::usual_delta(3)
        );
        let federation = Federation::waiting("delta-usual", 3, 2, &["--set", &usual]);
        let _server = federation.serve();
        let invitation = federation.invite().remove(0);
        let heard = federation.heard();
        for needed in [
            "δ = 0.0333, which is 1/(10 N)",
            "at δ = 0.0333 (ε ≤ ",
            " at δ = 1.00e-5), of a budget of",
            "warning: δ = 0.0333 for 3 agents",
        ] {
            assert!(heard.contains(needed), "{needed}: {heard}");
        }
        // The agent is told, and may want less.
        let folder = federation.place.0.join("agent").display().to_string();
        let line = invitation.to_string();
        let output = said(&[
            "join",
            &line,
            "--folder",
            &folder,
            "--command",
            "echo 1",
            "--max-delta",
            "0.01",
        ]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.contains(
                "nothing was sent: δ = 0.03333333333333333, and at most 0.01 is accepted"
            ),
            "{told}"
        );
        assert!(!federation.place.server().join("enrolled.jsonl").exists());
    });
}

/// What an agent agrees to was told after the fact, or never; that its own ε admits no more was
/// told never.
#[test]
fn an_agent_says_what_it_agrees_to_and_when_it_contributes_no_more() {
    const MOST: f64 = 6.0;
    const ROUNDS: u32 = 8;
    bounded(|| {
        let more = ["--close-early", "--deadline", "60s", "--linger", "5s"];
        let federation = Federation::waiting("sentence", 2, ROUNDS, &more);
        let server = federation.serve();
        let invitations = federation.invite();
        let joined: Vec<_> = invitations
            .iter()
            .map(|invitation| {
                let log = federation.place.0.join(format!("{}.log", invitation.slot));
                let folder = federation.joining(invitation).folder.display().to_string();
                let line = invitation.to_string();
                let most = MOST.to_string();
                let mut command = program(&[
                    "join",
                    &line,
                    "--folder",
                    &folder,
                    "--command",
                    "echo $SORDINO_X0",
                    "--max-epsilon",
                    &most,
                ]);
                command
                    .stdout(File::create(log.with_extension("out")).unwrap())
                    .stderr(File::create(&log).unwrap());
                (Process::start(command), log)
            })
            .collect();
        let terms_of = |slot: usize| federation.terms(&invitations[slot]);
        for (slot, (process, log)) in joined.into_iter().enumerate() {
            assert!(
                process.ended().success(),
                "{}",
                fs::read_to_string(&log).unwrap()
            );
            let told = fs::read_to_string(log).unwrap();
            let terms = terms_of(slot);
            let admitted = admit(&terms).unwrap();
            let delta = terms.agreement.announced.delta;
            let fits = cost(&terms).unwrap().fitting(MOST, delta).unwrap();
            assert!(
                (1..ROUNDS).contains(&fits) && admitted.releases == ROUNDS,
                "choose another ε: {fits}"
            );
            let first = told.lines().next().unwrap();
            for needed in [
                format!("agent {slot} agrees: at most {ROUNDS} releases: ε ≤ "),
                format!(
                    "; 2 agents search {} distinct points of [0, 1]^1",
                    terms.points()
                ),
                "at δ = 1.00e-5 bounds".into(),
                "used or counted as nothing".into(),
                format!(
                    "ε ≤ {} at δ = 1.00e-5 what they tell between two",
                    significant_up(admitted.epsilon_between, 3)
                ),
                invitations[slot].pins[0].to_string(),
                format!("its own limit of ε = {MOST} admits {fits} of them"),
            ] {
                assert!(first.contains(&needed), "{needed}: {told}");
            }
            let spent = format!(
                "agent {slot}: ε = {MOST} admits no further contribution after {fits}: from round {} on it contributes nothing",
                fits + 1
            );
            assert_eq!(told.matches(&spent).count(), 1, "{spent}: {told}");
            assert_eq!(federation.given(&invitations[slot]).len() as u32, fits);
        }
        assert!(server.ended().success(), "{}", federation.heard());
    });
}

/// Points were pasted into the text of the shell, which everybody on the machine can read, and
/// printed by a command that failed.
#[test]
fn a_command_is_told_its_point_where_nobody_else_reads_it() {
    bounded(|| {
        let federation = Federation::new(
            "points",
            2,
            1,
            &["--close-early", "--deadline", "60s", "--linger", "5s"],
        );
        let _server = federation.serve();
        let invitations = federation.invite();
        let seen = federation.place.0.join("seen");
        let join = |slot: usize, command: &str, more: &[&str]| {
            let folder = federation
                .joining(&invitations[slot])
                .folder
                .display()
                .to_string();
            let line = invitations[slot].to_string();
            program(
                &[
                    &[
                        "join",
                        &line,
                        "--folder",
                        &folder,
                        "--max-epsilon",
                        "100",
                        "--retries",
                        "0",
                        "--command",
                        command,
                    ],
                    more,
                ]
                .concat(),
            )
        };
        let refused = join(0, "echo {x0}", &[]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("$SORDINO_X0"),
            "{refused:?}"
        );
        // Both ways of reading it agree, and the process list of the shell has neither.
        let command = format!(
            "read line; echo \"$SORDINO_X0;$line;$(tr '\\0' ' ' < /proc/$$/cmdline)\" >> {}; exit 3",
            seen.display()
        );
        for (more, shows) in [(&[][..], false), (&["--show-values"][..], true)] {
            let output = join(0, &command, more).output().unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(
                !output.status.success() && told.contains("ended with exit code 3"),
                "{told}"
            );
            let lines = fs::read_to_string(&seen).unwrap();
            let parts: Vec<&str> = lines.lines().last().unwrap().splitn(3, ';').collect();
            let x: f64 = parts[0].parse().unwrap();
            assert!((0.0..=1.0).contains(&x));
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(parts[1]).unwrap(),
                serde_json::json!({ "x0": x })
            );
            assert!(
                parts[2].contains("read line") && !parts[2].contains(parts[0]),
                "{lines}"
            );
            assert_eq!(told.contains(" at ("), shows, "{told}");
            assert!(shows || !told.contains(parts[0]), "{told}");
        }
        let output = join(1, "echo no number: 0.123", &[]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            told.contains("--show-values") && !told.contains("0.123\""),
            "{told}"
        );
    });
}

/// One failed training ended an agent for good, and one that never ended held it for ever.
#[test]
fn a_failed_training_is_tried_again_and_one_that_hangs_is_killed() {
    bounded(|| {
        let federation = Federation::new("retries", 2, 1, &["--deadline", "1h"]);
        let _server = federation.serve();
        let invitations = federation.invite();
        let run = |slot: usize, command: &str, more: &[&str]| {
            let folder = federation
                .joining(&invitations[slot])
                .folder
                .display()
                .to_string();
            let line = invitations[slot].to_string();
            program(
                &[
                    &[
                        "join",
                        &line,
                        "--folder",
                        &folder,
                        "--max-epsilon",
                        "100",
                        "--command",
                        command,
                    ],
                    more,
                ]
                .concat(),
            )
        };
        // The first time it fails, then it hangs, with something that it started, then it measures.
        let count = federation.place.0.join("count");
        let late = federation.place.0.join("late");
        let command = format!(
            "echo $SORDINO_X0 >> {0}; case $(wc -l < {0}) in 1) exit 3;; 2) (sleep 3; touch {1}) & sleep 60;; esac; echo 1",
            count.display(),
            late.display()
        );
        let log = federation.place.0.join("agent.log");
        let mut agent = run(0, &command, &["--time-limit", "1s"]);
        agent.stderr(File::create(&log).unwrap());
        let _agent = Process::start(agent);
        let start = std::time::Instant::now();
        let told = || fs::read_to_string(&log).unwrap();
        while !told().contains("point 2 of 3 measured") {
            assert!(start.elapsed() < Duration::from_secs(120), "{}", told());
            std::thread::sleep(Duration::from_millis(20));
        }
        for needed in [
            "ended with exit code 3; tried again in 1 s (1 of 3 times)",
            "took longer than 1 s and was killed; tried again in 2 s (2 of 3 times)",
        ] {
            assert!(told().contains(needed), "{needed}: {}", told());
        }
        let points: Vec<String> = fs::read_to_string(&count)
            .unwrap()
            .lines()
            .map(String::from)
            .collect();
        assert!(
            points[0] == points[1] && points[1] == points[2] && points[3] != points[0],
            "{points:?}"
        );
        std::thread::sleep(Duration::from_secs(3));
        assert!(
            !late.exists(),
            "what the killed command had started lives on"
        );
        // Negative control: one that always fails ends the agent, after as many times as were
        // allowed.
        let always = federation.place.0.join("always");
        let ended = run(
            1,
            &format!("echo >> {}; exit 3", always.display()),
            &["--retries", "1"],
        )
        .output()
        .unwrap();
        assert_eq!(ended.status.code(), Some(1));
        assert_eq!(fs::read_to_string(&always).unwrap().lines().count(), 2);
    });
}

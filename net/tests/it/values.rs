//! Values beyond what a federation's number format holds are refused, and nothing is lost by it.

use std::path::PathBuf;

use sordino_net::agent::{AgentEnd, Query};
use sordino_net::invitation::Invitation;
use sordino_net::join::{JoinError, Joined, join};

use super::util::{Federation, Process, bounded, program, runtime, said};

const ROUNDS: u32 = 3;
/// Evaluations of an agent: two before the first round.
const EVALUATIONS: u32 = 2 + ROUNDS;

fn federation(name: &str, settings: &[&str]) -> Federation {
    let mut more = vec!["--close-early", "--deadline", "60s", "--linger", "2s"];
    for setting in settings {
        more.extend(["--set", setting]);
    }
    Federation::new(name, 2, ROUNDS, &more)
}

/// A command that prints these values, one a call, and then the last one for ever.
fn printing(federation: &Federation, slot: u32, values: &[&str]) -> (PathBuf, String) {
    let list = federation.place.0.join(format!("values-{slot}"));
    std::fs::write(&list, values.join("\n") + "\n").unwrap();
    let script = federation.place.0.join(format!("print-{slot}"));
    let list_path = list.display();
    let text = format!(
        "head -n 1 {list_path}\n[ $(wc -l < {list_path}) -eq 1 ] || sed -i 1d {list_path}\n"
    );
    std::fs::write(&script, text).unwrap();
    (list, format!("sh {}", script.display()))
}

fn arguments(federation: &Federation, invitation: &Invitation, command: &str) -> Vec<String> {
    let folder = federation.joining(invitation).folder.display().to_string();
    let words = ["join", &invitation.to_string(), "--command", command];
    let more = ["--folder", &folder, "--max-epsilon", "100"];
    let more = more.into_iter().chain(["--retries", "1"]);
    words.into_iter().chain(more).map(String::from).collect()
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// What agents end with whose values are these, by the number of the evaluation.
fn together(
    federation: &Federation,
    invitations: &[Invitation],
    value: fn(&Query) -> f64,
) -> Vec<Result<Joined, JoinError>> {
    let runtime = runtime();
    let agents: Vec<_> = invitations
        .iter()
        .map(|invitation| {
            let joining = federation.joining(invitation);
            runtime.spawn(async move {
                join(&joining, |query| std::future::ready(Ok(value(&query)))).await
            })
        })
        .collect();
    let ended = agents.into_iter().map(|agent| runtime.block_on(agent));
    ended.map(Result::unwrap).collect()
}

/// Before, 1e39 was infinite in the numbers of the agent: it ended, and its command was not asked
/// again.
#[test]
fn a_command_that_prints_more_than_single_precision_holds_is_asked_again() {
    bounded(|| {
        let federation = federation("values-command", &[]);
        let server = federation.serve();
        let invitations = federation.invite();
        let (left, command) = printing(&federation, 0, &["1e39", "-1e15", "1e14"]);
        let mut shown = arguments(&federation, &invitations[0], &command);
        shown.push("--show-values".into());
        let output = said(&words(&shown));
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        for value in ["1e39", "-1e15"] {
            let expected = format!(
                "printed a number that is too large, `{value}`; admissible: a number from -1e14 to 1e14"
            );
            let lines = told.lines().filter(|line| line.contains(&expected));
            assert_eq!(lines.count(), 1, "{value}: {told}");
        }
        assert_eq!(federation.agent(&invitations[0]).standing().observations, 0);
        assert_eq!(std::fs::read_to_string(left).unwrap(), "1e14\n");
        // Who does not show values has none in the log.
        let (_, command) = printing(&federation, 1, &["1e39", "-1e14"]);
        let hidden = arguments(&federation, &invitations[1], &command);
        let log = federation.place.0.join("hidden.log");
        let mut hidden = program(&words(&hidden));
        hidden.stderr(std::fs::File::create(&log).unwrap());
        let hidden = Process::start(hidden);
        let output = said(&words(&shown));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        assert!(hidden.ended().success());
        let told = std::fs::read_to_string(log).unwrap();
        assert!(
            told.contains("printed a number that is too large; --show-values"),
            "{told}"
        );
        assert!(!told.contains("1e39"), "{told}");
        for invitation in &invitations {
            let agent = federation.agent(invitation);
            assert_eq!(agent.standing().observations, EVALUATIONS);
            assert_eq!(agent.given(), (0..ROUNDS).collect::<Vec<u32>>());
        }
        assert!(server.ended().success(), "{}", federation.heard());
    });
}

/// Refuses 1e39 at the second evaluation, by its number and with the range; then goes on with the
/// largest values that are admitted.
fn goes_on(name: &str, settings: &[&str]) {
    let federation = federation(name, settings);
    let server = federation.serve();
    let invitations = federation.invite();
    let beyond = |query: &Query| if query.number == 1 { -1e39 } else { 1e14 };
    for ended in together(&federation, &invitations, beyond) {
        let Err(JoinError::Agent(refused @ AgentEnd::Value { number: 1, .. })) = ended else {
            panic!("{ended:?}")
        };
        let told = "the value of point 2 is -1e39; admissible: a number from -1e14 to 1e14";
        assert_eq!(refused.to_string(), told);
    }
    let largest = |query: &Query| {
        let sign = if query.candidate.is_multiple_of(2) {
            1.0
        } else {
            -1.0
        };
        sign * query.value_max
    };
    for ended in together(&federation, &invitations, largest) {
        let joined = ended.unwrap();
        assert_eq!(joined.observations, EVALUATIONS);
        assert!(!joined.given.is_empty());
    }
    assert!(server.ended().success(), "{}", federation.heard());
}

#[test]
fn every_method_in_single_precision_refuses_what_it_does_not_hold_and_computes_with_the_rest() {
    bounded(|| {
        goes_on("values-draws", &[]);
        let prior = [
            "federation.methods=[\"dp-prior\"]",
            "prior.epsilon=2",
            "prior.points_per_axis=12",
        ];
        goes_on("values-prior", &prior);
        goes_on("values-vote", &["federation.methods=[\"vote\"]"]);
    });
}

/// Negative control: the format decides, and in double precision the same value is one.
#[test]
fn what_single_precision_does_not_hold_is_a_value_in_double_precision() {
    bounded(|| {
        let federation = federation("values-double", &["surrogate.scalar=\"f64\""]);
        let server = federation.serve();
        let invitations = federation.invite();
        let large = |query: &Query| {
            assert_eq!(query.value_max, 1e135);
            1e39
        };
        for ended in together(&federation, &invitations, large) {
            let joined = ended.unwrap();
            assert_eq!(joined.observations, EVALUATIONS);
            assert_eq!(joined.best.unwrap().value, 1e39);
        }
        assert!(server.ended().success(), "{}", federation.heard());
    });
}

//! What `promise` signs: the numbers are the accountants', the sentences those of all texts.

use serde_json::Value;
use sordino_core::privacy::accountant::{Accountant, PldAccountant};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_experiment::text::MEANING;

use super::util::{Federation, bounded};

#[test]
fn a_promise_says_what_two_contributions_cost_and_what_it_does_not_cover() {
    bounded(|| {
        let federation = Federation::new("promise", 5, 3, &["--deadline", "60s"]);
        let mut server = federation.serve();
        federation.invite();
        server.kill();
        let output = federation.command("promise");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let said = String::from_utf8(output.stdout).unwrap();
        let (line, signed) = said.split_once('\n').unwrap();
        assert!(signed.starts_with("signed by "), "{signed}");
        let promise: Value = serde_json::from_str(line).unwrap();
        let number = |key: &str| {
            promise[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key}: {promise}"))
        };
        let event = Event::PoissonSampledGaussian {
            sampling_probability: number("sampling_probability"),
            noise_multiplier: number("noise_multiplier"),
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let mut tight = PldAccountant::new();
        tight.compose(&event, number("rounds") as u32).unwrap();
        let near = |key: &str, truth: f64| {
            // The sampling probability that is accounted may be rounded up by 2^-64.
            assert!(
                (number(key) / truth - 1.0).abs() < 1e-6,
                "{key}: {} {truth}",
                number(key)
            );
        };
        near(
            "epsilon_between_contributions",
            tight.replace_epsilon(number("delta")).unwrap().epsilon,
        );
        near(
            "epsilon_between_contributions_at_1e-5",
            tight.replace_epsilon(1e-5).unwrap().epsilon,
        );
        near("best_guess", tight.best_guess().unwrap());
        assert!(
            number("epsilon_of_all_rounds")
                >= tight.epsilon(number("delta")).unwrap().epsilon * (1.0 - 1e-9)
        );
        assert_eq!(promise["meaning"], serde_json::to_value(MEANING).unwrap());
        // It was two of about twenty.
        let not_covered: Vec<&str> = promise["not_covered"]
            .as_array()
            .unwrap()
            .iter()
            .map(|what| what.as_str().unwrap())
            .collect();
        assert!(not_covered.len() >= 20, "{not_covered:?}");
        for needed in [
            "the server, which sees",
            "own queries",
            "who takes part",
            "fitted to the agents' data",
            "another run",
        ] {
            assert!(
                not_covered.iter().any(|what| what.contains(needed)),
                "{needed}"
            );
        }
    });
}

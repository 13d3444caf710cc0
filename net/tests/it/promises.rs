//! What `promise` signs: the numbers are the accountants', the sentences those of all texts.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sordino_core::privacy::accountant::{Accountant, PldAccountant};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_experiment::text::MEANING;

use super::util::{Federation, PATIENCE, bounded, runtime, take_part};

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

/// Of 220 flipped bits of the terms 123 were signed, where `replay` refused every one.
#[test]
fn nothing_is_signed_that_the_folders_own_frames_or_ledger_contradict() {
    bounded(|| {
        let more = ["--close-early", "--deadline", "60s", "--linger", "1s"];
        let federation = Federation::new("contradicted", 2, 1, &more);
        let server = federation.serve();
        let runtime = runtime();
        let joined: Vec<_> = federation
            .invite()
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        for agent in joined {
            let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, agent).await });
            ended.unwrap().unwrap().unwrap();
        }
        assert!(server.ended().success(), "{}", federation.heard());
        let signs = || federation.command("promise").status.success();
        assert!(signs(), "the folder as it was");
        let folder = federation.place.server();
        let terms = folder.join("terms.bin");
        let whole = fs::read(&terms).unwrap();
        let start = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for place in (start..start + 120).step_by(5) {
            flipped(&terms, &whole, place);
            assert!(!signs(), "byte {place} of the terms");
        }
        // Of a folder that has no frame the ledger still says what it is for.
        fs::write(&terms, &whole).unwrap();
        fs::remove_file(folder.join("round.bin")).unwrap();
        assert!(signs(), "no frame contradicts it");
        let mut other = sordino_net::terms::Terms::from_bytes(&whole, None).unwrap();
        other.agreement.announced.delta /= 2.0;
        fs::write(&terms, other.to_stored().unwrap()).unwrap();
        let refused = federation.command("promise");
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(
            !refused.status.success() && told.contains("ledger.jsonl is not of terms.bin"),
            "{told}"
        );
    });
}

/// Writes the bytes with one bit of the byte at this place flipped.
fn flipped(path: &Path, whole: &[u8], place: usize) {
    let mut bytes = whole.to_vec();
    bytes[place] ^= 1;
    fs::write(path, bytes).unwrap();
}

//! Files with bytes changed, removed and added at random (seeded): an answer or one line of refusal, never a panic.

use std::path::Path;

use sordino_core::random::Stream;
use sordino_sim::objective::landmine;
use sordino_sim::scenario::{AnyScenario, SHIPPED, Scenario, Shipped};

/// A few random edits: characters that mean something to the format, numbers at the edges, lines doubled and dropped.
fn mutate(text: &str, stream: &mut Stream) -> Vec<u8> {
    const PIECES: [&str; 20] = [
        "=",
        "[",
        "]",
        "\"",
        "\n",
        ",",
        "#",
        "-",
        "1e999",
        "nan",
        "-inf",
        "0",
        "9223372036854775807",
        "-1",
        "0.5",
        "true",
        "\u{0}",
        "\u{1F600}",
        "[x]\n",
        "\r",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=stream.below(3) {
        let at = stream.below(bytes.len() as u32 + 1) as usize;
        let end = (at + stream.below(12) as usize).min(bytes.len());
        match stream.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, PIECES[stream.below(20) as usize].bytes())),
            2 => drop(bytes.splice(at..end, PIECES[stream.below(20) as usize].bytes())),
            3 => {
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, copy));
            }
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = stream.below(256) as u8),
        }
    }
    bytes
}

#[test]
fn scenarios() {
    let mut stream = Stream::from_seed(1);
    let (mut read, mut refused) = (0, 0);
    // Scenarios of other trust models are other types.
    let federated: Vec<_> = SHIPPED.iter().filter(|shipped| shipped.parse(&[]).is_ok()).collect();
    for round in 0..6000 {
        let shipped = federated[round % federated.len()];
        let text = String::from_utf8_lossy(&mutate(shipped.text, &mut stream)).into_owned();
        match Scenario::parse("mutated", &text, &[]) {
            Ok(scenario) => {
                read += 1;
                let again = Scenario::parse("resolved", &scenario.resolved(), &[]).unwrap();
                assert_eq!(again, scenario);
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
    }
    // Both ways are taken often; otherwise the edits are too weak or too strong to say anything.
    assert!(read > 500 && refused > 500, "{read} read, {refused} refused");
}

#[test]
fn scenarios_of_the_other_trust_models() {
    let mut stream = Stream::from_seed(4);
    let (mut read, mut refused) = (0, 0);
    let others: Vec<_> = SHIPPED.iter().filter(|shipped| shipped.parse(&[]).is_err()).collect();
    for round in 0..6000 {
        let shipped = others[round % others.len()];
        let text = String::from_utf8_lossy(&mutate(shipped.text, &mut stream)).into_owned();
        match AnyScenario::parse("mutated", &text, &[]) {
            Ok(AnyScenario::Other(scenario)) => {
                read += 1;
                match AnyScenario::parse("resolved", &scenario.resolved(), &[]).unwrap() {
                    AnyScenario::Other(again) => assert_eq!(again.resolved(), scenario.resolved()),
                    other => panic!("{other:?}"),
                }
                // Whatever can be read can be explained.
                assert!(!scenario.explain().protected.is_empty());
            }
            Ok(AnyScenario::Federated(_)) => {}
            Err(error) => {
                refused += 1;
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
    }
    assert!(read > 500 && refused > 500, "{read} read, {refused} refused");
}

#[test]
fn settings() {
    let mut stream = Stream::from_seed(2);
    let shipped = Shipped::find("default").unwrap();
    for _ in 0..3000 {
        let setting = String::from_utf8_lossy(&mutate("federation.agents=12", &mut stream)).into_owned();
        if let Err(error) = shipped.parse(&[setting]) {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn mine_fields() {
    let mut lines = vec!["task,row,split,order,label,f1,f2,f3,f4,f5,f6,f7,f8,f9".to_owned()];
    for task in 0..29 {
        for split in ["train", "test"] {
            for label in [0, 1] {
                lines.push(format!("{task},0,{split},0,{label},1.5,-2,3e-2,4,5,6,7,8,9"));
            }
        }
    }
    let text = lines.join("\n");
    let mut stream = Stream::from_seed(3);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..3000 {
        match landmine::parse(Path::new("mutated"), &mutate(&text, &mut stream)) {
            Ok(tasks) => {
                read += 1;
                assert!(tasks.iter().all(|task| task.train.has_both_labels() && task.test.has_both_labels()));
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
    }
    assert!(read > 50 && refused > 500, "{read} read, {refused} refused");
}

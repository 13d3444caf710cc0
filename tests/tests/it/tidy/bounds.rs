//! An ε that is told is a bound: it is rounded up, never to the nearest digit.

use super::source::{root, shipped, sources};

/// Whether a line of Rust or Python tells an ε to the nearest digit.
fn is_told_to_nearest(line: &str) -> bool {
    let formats = [
        "epsilon:.",
        "epsilon']:.",
        "epsilon\"]:.",
        "ε {:.",
        "epsilon {:.",
    ];
    let of_function = line.split("significant(").skip(1).any(|rest| {
        let number = rest.split(',').next().unwrap_or_default();
        !number.contains('(') && (number.ends_with("epsilon") || number.ends_with("spent"))
    });
    of_function || formats.iter().any(|format| line.contains(format))
}

fn complaints(path: &str, code: &str) -> Vec<String> {
    code.lines()
        .zip(1..)
        .filter(|(line, _)| is_told_to_nearest(line))
        .map(|(line, number)| {
            format!(
                "{path}:{number}: `{}`: an ε is told by `significant_up`",
                line.trim()
            )
        })
        .collect()
}

#[test]
fn every_epsilon_that_is_told_is_rounded_up() {
    let mut found: Vec<String> = sources()
        .iter()
        // Tests tell developers, and pick their own digits.
        .filter(|(path, _)| !path.contains("tests/"))
        .flat_map(|(path, text)| complaints(path, &shipped(path, text)))
        .collect();
    let folder = root().join("python/sordino");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "py") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.extend(complaints(&path.display().to_string(), &text));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Negative control, line by line.
#[test]
fn an_epsilon_to_the_nearest_digit_is_found() {
    for wrong in [
        "significant(spent, 3)",
        "format!(\"{}\", significant(label.epsilon, 4))",
        "format!(\", ε {:.3} at δ\", spent.epsilon)",
        "print!(\"ε {epsilon:.3}\")",
        "f\"ε {label['epsilon']:.3g}\"",
    ] {
        assert!(is_told_to_nearest(wrong), "{wrong}");
    }
    for right in [
        "significant_up(spent, 3)",
        "significant(noise_std(epsilon, delta)?, 3)",
        "significant(loss.delta, 3)",
        "epsilon: 0.5,",
    ] {
        assert!(!is_told_to_nearest(right), "{right}");
    }
}

//! Nothing swallows: an error of core is handed on, answered, or stands in an `else`.

use super::source::{over_sources, shipped};

/// Ways to lose an error without a word.
const DROPS: &[&str] = &[
    ".ok();",
    ".unwrap_or(())",
    "Result::ok",
    "let _ =",
    "while let Ok(",
    "Err(_) => {}",
    "Err(_) => ()",
    "Err(_) => 0",
    "Err(_) => None",
    "Err(_) => continue",
];

/// Where one of them may stand, and why.
const ALLOWED: &[(&str, &str, &str)] = &[(
    "core/src/optimizer.rs",
    ".unwrap_or(())",
    "a point of at most DIM_MAX numbers into a list that holds as many",
)];

/// Relies on rustfmt: a block ends at a brace of the indentation at which its `if` begins.
fn check_errors(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("core/src/") {
        return Vec::new();
    }
    let code = shipped(path, text);
    let lines: Vec<&str> = code.lines().collect();
    let mut complaints = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let dropped = |word: &&&str| {
            line.contains(**word)
                && !ALLOWED
                    .iter()
                    .any(|(file, allowed, _)| *file == path && allowed == *word)
        };
        complaints.extend(
            DROPS
                .iter()
                .filter(dropped)
                .map(|word| format!("{path}:{}: `{word}`", i + 1)),
        );
        if (line.contains("if let Ok(") || line.contains("&& let Ok(")) && !has_else(&lines, i) {
            complaints.push(format!(
                "{path}:{}: `let Ok(` in an `if` without `else`",
                i + 1
            ));
        }
    }
    complaints
}

/// Whether the `if` with a condition on line `at` has an `else`.
fn has_else(lines: &[&str], at: usize) -> bool {
    let head = lines[..=at]
        .iter()
        .rposition(|line| line.contains("if "))
        .unwrap_or(at);
    let indent = |line: &str| line.len() - line.trim_start().len();
    if lines[at].contains("} else {") {
        return true;
    }
    let end = lines[at + 1..]
        .iter()
        .find(|line| line.trim_start().starts_with('}') && indent(line) == indent(lines[head]));
    end.is_some_and(|line| line.trim_start().starts_with("} else"))
}

/// An error that wraps another hands its cause on: no empty `impl Error` beside a variant that
/// holds an error.
fn check_sources(path: &str, text: &str) -> Vec<String> {
    let code = shipped(path, text);
    let empty = code
        .match_indices("Error for ")
        .filter_map(|(at, head)| code[at + head.len()..].split_once(" {}\n"));
    let names = empty
        .map(|(name, _)| name)
        .filter(|name| name.chars().all(char::is_alphanumeric));
    let wraps = |name: &&str| {
        let Some((_, body)) = code.split_once(&format!("pub enum {name} {{\n")) else {
            return false;
        };
        let body = body.split("\n}").next().unwrap_or_default();
        body.lines().any(|line| {
            let held = line.trim().trim_end_matches(',').trim_end_matches(')');
            held.ends_with("Error") && held.contains(['(', ':'])
        })
    };
    names
        .filter(wraps)
        .map(|name| format!("{path}: `{name}` wraps an error and hands no source on"))
        .collect()
}

#[test]
fn errors_hand_their_causes_on() {
    over_sources(check_sources);
    let error = |variant: &str, end: &str| {
        let text = format!(
            "pub enum XError {{\n    A(u32),\n    {variant},\n}}\n\nimpl core::error::Error for XError {end}\n"
        );
        check_sources("core/src/x.rs", &text).len()
    };
    assert_eq!(error("Y(YError)", "{}"), 1);
    assert_eq!(error("Y(super::y::YError)", "{}"), 1);
    assert_eq!(error("Y {\n        error: YError,\n    }", "{}"), 1);
    assert_eq!(error("Y(YError)", "{\n    fn source() {}\n}"), 0);
    assert_eq!(error("Y(u64)", "{}"), 0);
}

#[test]
fn core_swallows_no_error() {
    over_sources(check_errors);
    let path = "core/src/federated/agent.rs";
    let bad = [
        "    if let Ok(mut posterior) = resume(rank) {\n        posterior.extend(|| {\n        });\n    }\n",
        "    if let Ok(x) = f(\n        1,\n    ) {\n        g(x);\n    }\n    else_where();\n",
        "    if ready\n        && let Ok(x) = f()\n    {\n        g(x);\n    }\n",
        "    match whole {\n        Ok(whole) => maximum(whole),\n        Err(_) => 0,\n    }\n",
        "    list.extend(point).unwrap_or(());\n",
        "    f().ok();\n",
        "    let _ = f();\n",
        "    let found = parts.filter_map(Result::ok);\n",
        "    while let Ok(x) = next() {\n    }\n",
    ];
    for text in bad {
        assert_eq!(check_errors(path, text).len(), 1, "{text}");
    }
    let good = [
        "    if let Ok(x) = f() {\n        g(x);\n    } else {\n        h();\n    }\n",
        "    let x = if let Ok(x) = f() { x } else { return };\n",
        "    let Ok(x) = f() else { return Err(E) };\n",
        "    // if let Ok(x) = f() {\n    // }\n",
        "#[cfg(test)]\nmod tests {\n    let _ = f();\n}\n",
        "    let charged = f().ok()?;\n",
    ];
    for text in good {
        assert_eq!(check_errors(path, text), Vec::<String>::new(), "{text}");
    }
    assert!(check_errors("sim/src/x.rs", bad[0]).is_empty());
}

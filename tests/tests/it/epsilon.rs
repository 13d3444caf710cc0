//! What our texts say about ε: the old sentences are gone, the new ones are the same everywhere,
//! their numbers are computed, and `docs/epsilon.md` names code that exists.

use std::path::{Path, PathBuf};

use sordino_core::math;
use sordino_core::privacy::accountant::{
    Accountant, GaussianAccountant, PldAccountant, analytic, best_guess,
};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_experiment::text::{MEANING, percent_at_most, significant, significant_up};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text as one line in lower case, without marks of comments, quotations and markup.
fn one_line(text: &str) -> String {
    let plain = text
        .replace("e<sup>ε</sup>", "e^ε")
        .replace("n<sup>−1.1</sup>", "n^−1.1")
        .to_lowercase();
    let line = |line: &str| {
        line.trim()
            .trim_start_matches(['/', '!', '#', '*', '-', '>', ' '])
            .trim_end_matches('\\')
            .to_owned()
    };
    let joined = plain
        .lines()
        .map(line)
        .collect::<Vec<_>>()
        .join(" ")
        .replace("**", "")
        .replace("\\\"", "\"");
    joined.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What texts said and must not say again: odds in place of probabilities plus δ, the wrong worlds,
/// δ as the chance that ε does not hold.
const OLD: [&str; 17] = [
    "by a factor of at most e^ε",
    "by a factor of e^ε",
    "more than the factor e^ε",
    "but for a probability δ",
    "but with probability δ",
    "except with probability δ",
    "up to a probability of δ",
    "odds of any conclusion",
    "odds differ by",
    "times surer than before",
    "the bound may fail",
    "that bound may fail",
    "the guarantee may fail",
    "given by ε may fail",
    "probability that ε does not hold",
    "with up to this probability an agent may lose",
    "probability δ in [0, 1] beyond",
];

/// What was said of ε, of releases and of simulations and is not so: `serve` draws noise ahead, its
/// ε is the Rényi one, and CSV files, frames and lines of a log carry no label.
const FALSE: [&str; 7] = [
    "noise is drawn only after a ledger",
    "lines are appended before noise is drawn",
    "before anything else happens",
    "nothing else ever leaves",
    "used for everything that is printed",
    "every table, file and picture reports the tight one",
    "and every output say",
];

#[test]
fn no_text_says_again_what_is_not_so() {
    let mut found = Vec::new();
    texts(&root(), &mut found);
    for path in found {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let text = one_line(&text);
        for sentence in FALSE {
            assert!(!text.contains(sentence), "{}: {sentence}", path.display());
        }
    }
    // What stands in place of them, and a negative control: what was said, broken over lines.
    let readme = one_line(&read("README.md"));
    assert!(readme.contains(
        "nothing that holds the noise leaves before a ledger has made the charge durable"
    ));
    let before =
        one_line("cost, and noise is drawn only after a\n//! ledger has made the charge durable");
    assert!(FALSE.iter().any(|sentence| before.contains(sentence)));
}

fn old(text: &str) -> Vec<&'static str> {
    let text = one_line(text);
    OLD.into_iter()
        .filter(|sentence| text.contains(sentence))
        .collect()
}

/// All texts of the repository but the log of changes, which quotes, and this file.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.')
                && !["target", "node_modules", "sordino-runs", "corpus"].contains(&name.as_str())
            {
                texts(&path, found);
            }
            continue;
        }
        let kind = path
            .extension()
            .map(|kind| kind.to_string_lossy().into_owned())
            .unwrap_or_default();
        let read = ["md", "rs", "py", "html", "toml", "h", "pyi", "json"].contains(&kind.as_str());
        if read && name != "CHANGELOG.md" && !path.ends_with("tests/it/epsilon.rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_text_says_what_epsilon_does_not_mean() {
    let mut found = Vec::new();
    texts(&root(), &mut found);
    assert!(found.len() > 500, "the walk found {} texts", found.len());
    let mut said = Vec::new();
    for path in found {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        said.extend(
            old(&text)
                .into_iter()
                .map(|sentence| format!("{}: {sentence}", path.display())),
        );
    }
    assert!(said.is_empty(), "{said:#?}");
    // Negative control: what README, book, help and cautions said before, broken over lines and in
    // comments.
    for before in [
        "believes about it changes by a factor of at most e^ε, but for a probability δ (at ε = .91 a factor of 2.5",
        "participant contributed nothing: the odds differ by a factor of at most e^ε, except with\nprobability δ.",
        "| ε | the odds of any conclusion about one participant change by at most |",
        "    /// Probability with which\n    /// the bound may fail, in (0, 1)",
        "    /// Probability with which the guarantee\n    /// may fail",
        "**δ (delta).** The probability with which the bound given by ε may fail.",
        "/// δ is the probability that ε does not hold for an agent.",
        "other by more than the factor e<sup>ε</sup>, up to a probability of δ = N<sup>−1.1</sup>.",
    ] {
        assert!(!old(before).is_empty(), "{before}");
    }
    // A confidence bound of a surrogate may fail: that is another matter, and another sentence.
    assert!(
        old("Probability with which the confidence bound may fail; no privacy parameter.")
            .is_empty()
    );
}

#[test]
fn texts_say_what_epsilon_means_in_the_same_words() {
    let all: Vec<usize> = (0..MEANING.len()).collect();
    let scenario = sordino_experiment::scenario::Shipped::find("default").unwrap();
    let explained = sordino_engine::parse("default", scenario.text, &[])
        .unwrap()
        .explain()
        .unwrap();
    let explained = serde_json::to_string(&explained).unwrap();
    for (name, text, sentences) in [
        ("README.md", read("README.md"), &all[..2]),
        (
            "introduction.md",
            read("docs/book/src/introduction.md"),
            &all[..2],
        ),
        ("glossary.md", read("docs/book/src/glossary.md"), &all[..2]),
        ("page.html", read("web/page.html"), &all[..1]),
        ("trust.md", read("docs/book/src/trust.md"), &all[..2]),
        ("epsilon.md", read("docs/book/src/epsilon.md"), &all[..]),
        ("explain", explained, &all[..]),
    ] {
        for sentence in sentences {
            assert!(
                one_line(&text).contains(&one_line(MEANING[*sentence])),
                "{name}: {}",
                MEANING[*sentence]
            );
        }
    }
}

const RELATION: NeighboringRelation = NeighboringRelation::ReplaceSpecial;

/// Releases of everybody that cost ε at δ.
fn gaussian(epsilon: f64, delta: f64) -> GaussianAccountant {
    let noise_multiplier = analytic::noise_multiplier(epsilon, delta).unwrap();
    let mut accountant = GaussianAccountant::new();
    accountant
        .compose(
            &Event::Gaussian {
                noise_multiplier,
                relation: RELATION,
            },
            1,
        )
        .unwrap();
    accountant
}

#[test]
fn numbers_in_texts_about_epsilon_are_computed() {
    let chapter = read("docs/book/src/epsilon.md");
    for epsilon in [0.1f64, 1.0, 3.0, 8.0] {
        let pure = percent_at_most(1.0 / (1.0 + (-epsilon).exp()));
        let everybody = gaussian(epsilon, 1e-5);
        let guess = percent_at_most(everybody.best_guess().unwrap());
        let between = significant(everybody.replace_epsilon(1e-5).unwrap().epsilon, 3);
        let row = format!("| {epsilon} | {pure} % | {guess} % | {between} |");
        // ε between two contributions is rounded upwards by hand, never down.
        let printed = chapter
            .lines()
            .find(|line| line.contains('%') && line.starts_with(&format!("| {epsilon} |")))
            .unwrap();
        let cells = |row: &str| {
            row.split('|')
                .map(|cell| cell.trim().to_owned())
                .collect::<Vec<_>>()
        };
        let printed = cells(printed);
        let row = cells(&row);
        assert_eq!(printed[..4], row[..4]);
        let [told, truth] = [&printed[4], &row[4]].map(|cell| cell.parse::<f64>().unwrap());
        assert!(told >= truth && told <= truth * 1.006, "{told} {truth}");
    }
    let texts = [one_line(&read("README.md")), one_line(&chapter)];
    let delta = 200f64.powf(-1.1);
    let of = |noise_multiplier: f64| {
        let mut accountant = PldAccountant::new();
        let event = Event::PoissonSampledGaussian {
            sampling_probability: 0.25,
            noise_multiplier,
            relation: RELATION,
        };
        accountant.compose(&event, 40).unwrap();
        gaussian(accountant.epsilon(delta).unwrap().epsilon, delta)
    };
    let less = of(4.0);
    let more = of(1.0);
    let [low, high] =
        [&less, &more].map(|accountant| percent_at_most(accountant.best_guess().unwrap()));
    let [close, far] = [&less, &more]
        .map(|accountant| significant_up(accountant.replace_epsilon(delta).unwrap().epsilon, 3));
    for needed in [
        format!("{low} % of the time at ε = .92 and {high} % at ε = 7.06"),
        format!("{close} and {far}."),
    ] {
        assert!(texts.iter().all(|text| text.contains(&needed)), "{needed}");
    }
}

/// The table of README gave ε without its δ: each row has the δ in shares of 1/N, and ε of both
/// private methods at 1e-5. The book has all rows, README some of them, to the letter, and among
/// these the one that loses.
#[test]
fn the_table_of_readme_says_its_delta_and_epsilon_at_a_small_one() {
    let readme = read("README.md");
    let results = read("docs/book/src/results.md");
    let mut shown = Vec::new();
    let number = |cell: &str| cell.trim().parse::<f64>().unwrap();
    for (row, agents, noise_multiplier) in [
        ("| 200 agents, one common", 200.0, 1.0),
        ("| the same, four times", 200.0, 4.0),
        ("| 50 agents, four times", 50.0, 4.0),
        ("| each agent adds", 200.0, 1.0),
        ("| two equal camps", 200.0, 1.0),
        ("| unrelated functions", 200.0, 1.0),
    ] {
        let line = results.lines().find(|line| line.starts_with(row)).unwrap();
        let cells: Vec<&str> = line.split('|').collect();
        if let Some(short) = readme.lines().find(|line| line.starts_with(row)) {
            let short: Vec<&str> = short.split('|').collect();
            // README leaves out the method that is not private, which is the seventh column.
            let kept = [&cells[..7], &cells[8..]].concat();
            assert_eq!(short, kept, "README has other numbers than the book");
            shown.push(row);
        }
        let delta = f64::powf(agents, -1.1);
        let mut accountant = PldAccountant::new();
        let event = Event::PoissonSampledGaussian {
            sampling_probability: 0.25,
            noise_multiplier,
            relation: RELATION,
        };
        accountant.compose(&event, 40).unwrap();
        let epsilon = accountant.epsilon(delta).unwrap().epsilon;
        assert_eq!(number(cells[2]), (100.0 * epsilon).ceil() / 100.0, "{line}");
        let share = number(cells[3].trim().strip_suffix("/N").unwrap());
        assert_eq!(share, (100.0 * delta * agents).round() / 100.0, "{line}");
        // Rounded upwards, by less than a hundredth of it.
        let small = [
            accountant.epsilon(1e-5),
            gaussian(epsilon, delta).epsilon(1e-5),
        ]
        .map(|spent| spent.unwrap().epsilon);
        let told: Vec<f64> = cells[4].split(';').map(number).collect();
        assert_eq!(told.len(), 2);
        for (told, small) in told.iter().zip(small) {
            assert!(*told >= small && *told < small * 1.01, "{line}: {small}");
        }
    }
    assert!(
        shown.len() >= 3 && shown.contains(&"| unrelated functions"),
        "README shows {shown:?}"
    );
    let picture = read("docs/pictures/regret.svg");
    assert!(
        picture.contains("ε at δ = 0.00294, zero-out."),
        "made again by ARCHITECTURE's command"
    );
    let needed = "δ = n^−1.1 = .0029 = .59/n; at δ = 1e-5 the same releases have ε = 1.61 and 10.3";
    assert!(
        [readme, read("docs/book/src/epsilon.md")]
            .iter()
            .all(|text| one_line(text).contains(needed))
    );
}

/// P(L > ε) against δ for one Gaussian: the sentence of the texts, and the multiples that a reading
/// of them found.
#[test]
fn a_loss_above_epsilon_is_likelier_than_delta() {
    let delta = 200f64.powf(-1.1);
    let tail = |x: f64| 0.5 * math::erfc(x / std::f64::consts::SQRT_2);
    for (epsilon, times) in [(7.05, 2.5), (0.91, 7.5), (0.2, 20.0)] {
        let mu = 1.0 / analytic::noise_multiplier(epsilon, delta).unwrap();
        let above = tail(epsilon / mu - mu / 2.0);
        assert!(above > delta, "{epsilon}");
        assert!(
            (above / delta / times - 1.0).abs() < 0.1,
            "{epsilon}: {}",
            above / delta
        );
    }
    // The guess of the best half-line is what the function says: Φ(μ/2).
    assert!((best_guess(analytic::delta(1.0, 0.0)) - (1.0 - tail(0.5))).abs() < 1e-12);
}

/// What a page names in the last cell of its table and what does not exist: files, and names that
/// no file of the cell has.
fn missing(page: &str) -> (usize, Vec<String>) {
    let mut rows = 0;
    let mut said = Vec::new();
    for line in page.lines().filter(|line| {
        line.starts_with("| ") && line[2..].starts_with(|c: char| c.is_ascii_digit())
    }) {
        rows += 1;
        let cell = line.trim_end_matches('|').rsplit(" | ").next().unwrap();
        let quoted: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        let (files, names): (Vec<&str>, Vec<&str>) =
            quoted.into_iter().partition(|name| name.contains('/'));
        if files.is_empty() {
            said.push(format!("no file: {line}"));
        }
        let text: String = files
            .iter()
            .filter_map(|file| std::fs::read_to_string(root().join(file)).ok())
            .collect();
        said.extend(
            files
                .iter()
                .filter(|file| !root().join(file).exists())
                .map(|file| format!("no file {file}")),
        );
        for name in names {
            let last = name.rsplit("::").next().unwrap();
            let declared = [
                format!("fn {last}("),
                format!("fn {last}<"),
                format!("struct {last}"),
                format!("    {last},"),
            ];
            if !declared.iter().any(|declared| text.contains(declared)) {
                said.push(format!("no {name} in {files:?}"));
            }
        }
    }
    (rows, said)
}

#[test]
fn the_page_about_epsilon_names_code_that_exists() {
    let page = read("docs/epsilon.md");
    assert_eq!(missing(&page), (10, Vec::new()));
    for text in ["README.md", "docs/privacy.md", "docs/book/src/epsilon.md"] {
        assert!(
            read(text).contains("epsilon.md)"),
            "{text} leads to the page"
        );
    }
    // Its sentences stand in the texts.
    let texts = [
        "README.md",
        "docs/book/src/epsilon.md",
        "docs/book/src/glossary.md",
        "docs/privacy.md",
    ]
    .map(read)
    .concat();
    for sentence in MEANING {
        assert!(one_line(&texts).contains(&one_line(sentence)), "{sentence}");
    }
    // Negative control.
    let renamed = page
        .replace("`by_nothing`", "`by_something`")
        .replace("opposed.rs", "nowhere.rs");
    assert_eq!(missing(&renamed).1.len(), 2, "{:?}", missing(&renamed));
}

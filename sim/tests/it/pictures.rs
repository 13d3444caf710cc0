//! Every text of every picture lies inside the picture, whichever common font draws it.
//!
//! The pictures are read back as XML and measured with the fonts' own advance widths
//! (`advances.json`, made by `advances.py`), not with those that the program lays them out with.

use std::collections::BTreeMap;
use std::path::Path;

use crate::util::{SMALL, done, said, scratch, sordino, with};

type Widths = BTreeMap<char, f64>;
/// Font, then `regular` and `bold`.
type Fonts = BTreeMap<String, BTreeMap<String, Widths>>;

fn fonts() -> Fonts {
    serde_json::from_str(include_str!("../advances.json")).unwrap()
}

/// Sizes of type of a class: (size in a file and on a wide page, on a phone, in small pictures on a
/// phone, bold).
fn size(class: &str) -> [f64; 4] {
    match class {
        "title" => [19.0, 19.0, 19.0, 1.0],
        "sub" => [13.0, 13.0, 13.0, 0.0],
        "panel" => [14.0, 14.0, 19.0, 1.0],
        "label" => [13.0, 15.0, 15.0, 1.0],
        "tick" | "axis" => [12.0, 14.0, 17.0, 0.0],
        "note" => [12.0, 14.0, 14.0, 0.0],
        other => panic!("class {other}"),
    }
}

/// A box around a piece of text.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "the text is printed")]
struct Piece {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    tag[start..].split('"').next()
}

fn number(tag: &str, name: &str) -> Option<f64> {
    attribute(tag, name).map(|text| text.parse().unwrap_or_else(|_| panic!("{tag}")))
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// All pictures of a file that have texts: (width, height, whether small, the elements).
///
/// Axes that a picture takes from another one of its page are written out.
fn pictures(text: &str) -> Vec<(f64, f64, bool, String)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("<svg") {
        let svg = &text[start..start + text[start..].find("</svg>").unwrap()];
        let tag = &svg[..svg.find('>').unwrap()];
        let view: Vec<f64> = attribute(tag, "viewBox")
            .unwrap()
            .split(' ')
            .map(|number| number.parse().unwrap())
            .collect();
        let small = text[..start]
            .rfind("grid-small")
            .is_some_and(|at| !text[at..start].contains("<section>"));
        // The style sheet names the class, too.
        let small = small && text[..start].contains("<div class=\"grid-small\">");
        if svg.contains("<text") {
            let axes = text
                .split("<g id=\"axes\">")
                .nth(1)
                .map_or("", |rest| rest.split("</g>").next().unwrap());
            found.push((
                view[2],
                view[3],
                small,
                svg.replace("<use href=\"#axes\"/>", axes),
            ));
        }
    }
    found
}

/// Every text of a picture in a font, at the sizes of one of the columns of [`size`].
fn pieces(svg: &str, font: &BTreeMap<String, Widths>, column: usize) -> Vec<Piece> {
    let mut found = Vec::new();
    for part in svg.split("<text").skip(1) {
        let part = &part[..part.find("</text>").unwrap()];
        let (tag, content) = part.split_once('>').unwrap();
        let class = attribute(tag, "class").unwrap().split(' ').next().unwrap();
        let mut x = number(tag, "x").unwrap();
        let mut y = number(tag, "y").unwrap();
        let (own, spans) = content.split_once("<tspan").unwrap_or((content, ""));
        let mut runs = vec![(class.to_owned(), own.to_owned(), x, y)];
        let measure = |class: &str, text: &str| {
            let sizes = size(class);
            let widths = &font[if sizes[3] > 0.0 { "bold" } else { "regular" }];
            plain(text)
                .chars()
                .map(|c| widths.get(&c).copied().unwrap_or(1000.0))
                .sum::<f64>()
                * sizes[column]
                / 1000.0
        };
        if let Some((tag, text)) = spans.split_once('>') {
            x = number(tag, "x")
                .unwrap_or(x + measure(class, own) + number(tag, "dx").unwrap_or(0.0));
            y += number(tag, "dy").unwrap_or(0.0);
            let text = &text[..text.find("</tspan>").unwrap()];
            runs.push((
                attribute(tag, "class").unwrap().to_owned(),
                text.to_owned(),
                x,
                y,
            ));
        }
        for (class, text, x, y) in runs.into_iter().filter(|run| !run.1.is_empty()) {
            let width = measure(&class, &text);
            let left = match attribute(tag, "text-anchor") {
                Some("end") => x - width,
                Some("middle") => x - 0.5 * width,
                _ => x,
            };
            let size = size(&class)[column];
            let top = y - 0.76 * size;
            let bottom = y + 0.24 * size;
            found.push(Piece {
                text: plain(&text),
                left,
                right: left + width,
                top,
                bottom,
            });
        }
    }
    found
}

/// What is wrong with the pictures of a file: texts that leave them, texts that lie on each other.
fn faults(text: &str, page: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (width, height, small, svg) in pictures(text) {
        for (name, font) in &fonts() {
            for column in if page {
                vec![0, if small { 2 } else { 1 }]
            } else {
                vec![0]
            } {
                let pieces = pieces(&svg, font, column);
                for (i, piece) in pieces.iter().enumerate() {
                    let inside = piece.left >= 0.0
                        && piece.right <= width
                        && piece.top >= 0.0
                        && piece.bottom <= height;
                    if !inside {
                        wrong.push(format!(
                            "{name}, {column}: outside {width} × {height}: {piece:?}"
                        ));
                    }
                    let touching = |other: &&Piece| {
                        piece.left < other.right
                            && other.left < piece.right
                            && piece.top + 1.5 < other.bottom
                            && other.top + 1.5 < piece.bottom
                    };
                    if let Some(other) = pieces[..i].iter().find(touching) {
                        wrong.push(format!("{name}, {column}: {piece:?} lies on {other:?}"));
                    }
                }
            }
        }
    }
    wrong
}

/// Every kind of picture, from scenarios made small where that changes no text's length for the
/// better.
fn made(folder: &Path) {
    let federated = [
        "federation.agents=20",
        "federation.rounds=12",
        "surrogate.features=20",
    ];
    let line = [&federated[..], &["objective.points_per_axis=80"]].concat();
    let square = [&federated[..], &["objective.points_per_axis=12"]].concat();
    let users = ["learning.rounds=1000", "learning.width_factor=0.05"];
    let runs: [(&str, &str, &[&str]); 12] = [
        ("default", "default", &line),
        ("gp-2d", "gp-2d", &square),
        ("faults", "faults", &line),
        (
            "winequality",
            "winequality",
            &[
                "federation.rounds=3",
                "surrogate.features=20",
                "objective.candidates=16",
            ],
        ),
        ("ldp-se", "ldp-se", &users),
        ("ldp-student-t", "ldp-student-t", &users),
        (
            "output-gp",
            "output-gp",
            &["objective.points=40", "prior.rounds=10", "release.draws=20"],
        ),
        (
            "output-winequality",
            "output-winequality",
            &[
                "objective.points_per_axis=3",
                "prior.rounds=4",
                "release.draws=20",
            ],
        ),
        (
            "outsourced-grid",
            "outsourced-grid",
            &["objective.points_per_axis=12", "modeler.rounds=20"],
        ),
        (
            "outsourced-branin",
            "outsourced-branin",
            &["objective.points_per_axis=12", "modeler.rounds=20"],
        ),
        (
            "long",
            SMALL,
            &[
                "description=a description that goes on and on, as people write them who want to be understood by \
          somebody who has not read the paper, nor the scenario, nor anything else about the experiment, and then some",
                "name=a-name-as-long-as-a-name-may-be-in-a-folder-of-its-own-and-then-a-bit-longer-than-the-picture-is-wide",
            ],
        ),
        (
            "one",
            SMALL,
            &["federation.methods=[\"dp-fts-de\"]", "federation.rounds=1"],
        ),
    ];
    for (out, scenario, settings) in runs {
        done(
            folder,
            &with(&["run", scenario, "--runs", "2", "--out", out], settings),
        );
    }
    let methods = "federation.methods=[\"ts\",\"dp-fts-de\",\"uniform-weights\"]";
    for (out, axis) in [
        (
            "sweep-names",
            "objective.kernel=squared-exponential,matern-1/2,matern-3/2,matern-5/2",
        ),
        (
            "sweep-numbers",
            "privacy.noise_multiplier=0.05,0.5,1,1.25,1000",
        ),
        ("sweep-rounds", "federation.rounds=3,1000"),
    ] {
        done(
            folder,
            &[
                "sweep", SMALL, "--set", methods, "--set", axis, "--runs", "1", "--out", out,
            ],
        );
    }
    sheets(folder);
    let question = [
        "--sampling-probability",
        "0.001",
        "--noise-multiplier",
        "0.8",
        "--rounds",
        "1000000",
        "--delta",
        "1e-9",
    ];
    done(
        folder,
        &[
            &["privacy", "compare"],
            &question[..],
            &["--out", "compare.svg"],
        ]
        .concat(),
    );
}

/// Every figure of every folder at the widths of papers.
fn sheets(folder: &Path) {
    std::fs::create_dir(folder.join("sheets")).unwrap();
    let mut drawn = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !folder.join(&name).is_dir() || name == "sheets" {
            continue;
        }
        let refused = sordino(
            folder,
            &["report", &name, "--figure", "?", "--out", "x.svg"],
        );
        let there = said(&refused)
            .trim()
            .split(" has ")
            .nth(1)
            .unwrap_or_else(|| panic!("{name}: {}", said(&refused)));
        for figure in there.split("; ").next().unwrap().split(", ") {
            for (width, title) in [
                ("60mm", false),
                ("84mm", false),
                ("84mm", true),
                ("174mm", false),
            ] {
                let out = format!("sheets/{name}-{figure}-{width}-{title}.svg");
                let mut arguments = vec![
                    "report", &name, "--figure", figure, "--width", width, "--out", &out,
                ];
                arguments.extend((!title).then_some("--no-title"));
                done(folder, &arguments);
                drawn += 1;
            }
        }
    }
    assert!(drawn > 100, "{drawn} sheets");
}

#[test]
fn every_text_of_every_picture_lies_inside_it() {
    let folder = scratch("pictures");
    made(&folder);
    let mut open = vec![folder.clone()];
    let mut seen = 0;
    let mut wrong = Vec::new();
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let kind = path
                .extension()
                .and_then(|extension| extension.to_str())
                .unwrap_or("");
            if path.is_dir() {
                open.push(path);
            } else if ["svg", "html"].contains(&kind) {
                let text = std::fs::read_to_string(&path).unwrap();
                seen += pictures(&text).len();
                let name = path.strip_prefix(&folder).unwrap().display().to_string();
                wrong.extend(
                    faults(&text, kind == "html")
                        .into_iter()
                        .map(|fault| format!("{name}: {fault}")),
                );
            }
        }
    }
    assert!(seen > 150, "{seen} pictures");
    assert!(
        wrong.is_empty(),
        "{} texts of {seen} pictures:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

/// Negative controls: a text without room, to the right, to the left, above, and one upon another,
/// is found.
#[test]
fn a_text_without_room_is_found() {
    let picture =
        |texts: &str| format!("<svg viewBox=\"0 0 300 100\" width=\"300\">\n{texts}</svg>\n");
    let good = "<text class=\"label ink\" x=\"100\" y=\"50\">ts<tspan class=\"note\" dx=\"6\">0.61 of random</tspan></text>\n";
    assert_eq!(faults(&picture(good), false), Vec::<String>::new());
    for (bad, found) in [
        (good.replace("\"100\"", "\"195\""), 1),
        (
            good.replace(
                "0.61 of random",
                "an artificial long label that nobody reserved room for",
            ),
            2,
        ),
        (
            "<text class=\"tick\" x=\"30\" y=\"50\" text-anchor=\"end\">≤ 0.0001</text>".to_owned(),
            2,
        ),
        (
            "<text class=\"axis\" x=\"30\" y=\"5\" text-anchor=\"start\">regret</text>".to_owned(),
            2,
        ),
        (format!("{good}{}", good.replace("\"50\"", "\"56\"")), 4),
    ] {
        assert!(faults(&picture(&bad), false).len() >= found, "{bad}");
    }
    // At the sizes of a phone a text may leave a picture that it fits into on a desk.
    let narrow = good.replace("\"100\"", "\"176\"");
    assert!(
        faults(&picture(&narrow), false).is_empty() && !faults(&picture(&narrow), true).is_empty()
    );
}

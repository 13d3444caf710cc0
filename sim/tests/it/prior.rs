//! `sordino prior` as a publisher and a newcomer run it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sordino_core::prior::{PriorNumbers, PublicPrior, attach_len};
use sordino_host::prior::PriorFile;

use crate::util::{done, json, printed, refused, scratch, sordino as run};

const SPACE: &str = "goal = \"minimize\"\nvalue = \"loss\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n\
                     [parameters.kind]\nchoices = [\"a\", \"b\"]\n";
/// Least at rate .01 with kind b.
const TRAIN: &str = "awk -v r=$SORDINO_RATE -v k=$SORDINO_KIND 'BEGIN { l = log(r)/log(10) + 2; print l*l + (k == \"b\" ? 0 : 1) }'";

/// A folder with a space and a table of so many studies, each in a unit of its own.
pub fn case(name: &str, studies: usize) -> PathBuf {
    let folder = scratch(&format!("prior-{name}"));
    std::fs::write(folder.join("space.toml"), SPACE).unwrap();
    let mut text = "study,rate,kind,value\n".to_owned();
    // A sequence that fills the range, the same in every run of the test.
    let mut state = 7u64;
    let mut unit = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    for study in 0..studies {
        let scale = 1.0 + 9.0 * unit();
        let offset = 50.0 * unit();
        for _ in 0..10 {
            let exponent = -4.0 * unit();
            let b = unit() < 0.5;
            let value = (exponent + 2.0).powi(2) + if b { 0.0 } else { 1.0 };
            let rate = 10f64.powf(exponent);
            let kind = if b { "b" } else { "a" };
            writeln!(text, "s{study},{rate},{kind},{}", offset + scale * value).unwrap();
        }
    }
    std::fs::write(folder.join("studies.csv"), text).unwrap();
    folder
}

const PUBLISH: [&str; 16] = [
    "prior",
    "publish",
    "--from",
    "studies.csv",
    "--space",
    "space.toml",
    "--epsilon",
    "2",
    "--delta",
    "1e-4",
    "--dataset",
    "test",
    "--max-epsilon",
    "2.5",
    "--no-counter",
    "--out",
];

/// The arguments of a publication, and more of them.
pub fn publish(more: &[&'static str]) -> Vec<&'static str> {
    [&PUBLISH[..], more].concat()
}

pub fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn a_file_is_published_shown_verified_exported_and_searched_with() {
    let folder = case("whole", 200);
    let told = json(&done(
        &folder,
        &publish(&["p.safetensors", "--note", "spring", "--format", "json"]),
    ));
    for (key, expected) in [
        ("epsilon", 2.0),
        ("delta", 1e-4),
        ("contributors", 200.0),
        ("releases", 2.0),
    ] {
        assert_eq!(told[key].as_f64(), Some(expected), "{key}");
    }
    assert!(
        told["replace_epsilon"].as_f64().unwrap() > 3.0 && told["spent"].as_f64().unwrap() > 1.99
    );
    assert_eq!(
        (told["simulated"].as_bool(), told["dataset"].as_str()),
        (Some(false), Some("test"))
    );
    assert!(
        told["neighboring_relation"]
            .as_str()
            .unwrap()
            .contains("zero-out")
    );
    assert!(told["evaluations_saved"].as_u64().unwrap() >= 1, "{told}");
    let half = ["lower", "median", "upper", "counted"]
        .map(|name| told["evaluations_saved_quartiles"][name].as_u64().unwrap());
    assert!(half.is_sorted() && half[2] >= 1 && half[3] == 21, "{told}");
    // Two Gaussians z₁ and z₂ are one of z with z⁻² = z₁⁻² + z₂⁻², whose total variation is δ at
    // ε = 0.
    let squares: f64 = told["noise_multipliers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|z| z.as_f64().unwrap().powi(-2))
        .sum();
    let guess =
        0.5 + 0.5 * sordino_core::privacy::accountant::analytic::delta(squares.powf(-0.5), 0.0);
    assert!(
        (told["best_guess"].as_f64().unwrap() - guess).abs() < 1e-9 && guess > 0.51,
        "{told}"
    );
    // The charges are in the ledger, and its head is on the label.
    let ledger = read(&folder, "sordino-ledger.jsonl");
    assert_eq!(ledger.lines().count(), 3);
    assert!(ledger.contains(told["ledger"].as_str().unwrap()));
    let shown = json(&done(
        &folder,
        &[
            "prior",
            "show",
            "p.safetensors",
            "--format",
            "json",
            "--out",
            "p.svg",
        ],
    ));
    assert_eq!(shown["digest"], told["digest"]);
    assert!(read(&folder, "p.svg").contains("What the file believes"));
    let text = printed(&folder, &["prior", "show", "p.safetensors"]);
    assert!(
        text.contains("not against who made it") && told.get("trust").is_none(),
        "{text}"
    );
    let guessed = format!(
        "right at most {:.1} % of the time",
        (guess * 1e3).ceil() / 10.0
    );
    for needed in [
        &guessed,
        "200, in 2 releases",
        "each contributor (one study, or one site), against every reader",
        "2.000 at δ",
        "spring",
        "evaluation",
    ] {
        assert!(text.contains(needed), "{needed}\n{text}");
    }
    assert!(
        printed(&folder, &["prior", "verify", "p.safetensors"])
            .contains(told["digest"].as_str().unwrap())
    );
    let rust = printed(
        &folder,
        &["prior", "export", "p.safetensors", "--lang", "rust"],
    );
    assert!(
        rust.contains("pub static NUMBERS: PriorNumbers<'static, f32>")
            && rust.contains("self_test:")
    );
    assert!(rust.contains("pub static FACTOR"), "{rust}");
    compiled(
        &folder,
        &printed(
            &folder,
            &["prior", "export", "p.safetensors", "--lang", "c"],
        ),
    );
    // The newcomer's first questions are good, and a run that was begun with the file goes on with
    // it alone.
    let search = |more: &[&'static str]| {
        let words = [
            "optimize",
            "--space",
            "space.toml",
            "--command",
            TRAIN,
            "--out",
            "new",
            "--format",
            "json",
        ];
        [&words[..], more].concat()
    };
    let found = json(&done(
        &folder,
        &search(&["--prior", "p.safetensors", "--evaluations", "3"]),
    ));
    assert!(found["best"]["value"].as_f64().unwrap() < 0.5, "{found}");
    assert_eq!(found["prior"], told["digest"]);
    let without = refused(&folder, 2, &search(&["--evaluations", "4", "--resume"]));
    assert!(without.contains("began with the prior file"), "{without}");
    let more = json(&done(
        &folder,
        &search(&["--prior", "p.safetensors", "--evaluations", "4", "--resume"]),
    ));
    assert_eq!(
        (more["evaluations"].as_u64(), &more["history"][0]),
        (Some(4), &found["history"][0])
    );
}

/// A compiler of C takes the exported header beside that of the library, and every number of it has
/// the file's bits.
fn compiled(folder: &Path, header: &str) {
    const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include "sordino.h"
#include "prior.h"
static void print(const float *list, size_t len) {
    for (size_t i = 0; i < len; i++) {
        uint32_t bits;
        memcpy(&bits, &list[i], 4);
        printf("%08x\n", (unsigned)bits);
    }
}
int main(void) {
    const sordino_prior_numbers *n = &SORDINO_PRIOR_NUMBERS;
    print(&n->lengthscale, 1);
    print(&n->self_test, 1);
    print(n->landmarks, n->landmarks_len);
    print(n->weights, n->weights_len);
    print(n->covariance, n->covariance_len);
    print(n->factor, n->factor_len);
    return (int)n->dim - SORDINO_PRIOR_DIM;
}
"#;
    std::fs::write(folder.join("prior.h"), header).unwrap();
    std::fs::write(folder.join("prior.c"), PROGRAM).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include");
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-I",
    ])
    .arg(include);
    let built = cc
        .args(["prior.c", "-o", "prior"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let said = Command::new(folder.join("prior")).output().unwrap();
    assert!(said.status.success());
    let file = PriorFile::parse(&std::fs::read(folder.join("p.safetensors")).unwrap()).unwrap();
    let lengthscale = file.label.lengthscale;
    let self_test = file.label.self_test as f32;
    let numbers = PriorNumbers {
        dim: file.landmarks.len() / file.features(),
        landmarks: &file.landmarks,
        lengthscale,
        weights: &file.weights,
        covariance: &file.covariance,
        self_test,
    };
    let mut storage = vec![0.0; attach_len(file.features())];
    let factor = PublicPrior::attach(numbers, &mut storage).unwrap().factor();
    let all = [
        &[lengthscale, self_test],
        &file.landmarks[..],
        &file.weights,
        &file.covariance,
        factor,
    ]
    .concat();
    let expected: Vec<String> = all.iter().map(|x| format!("{:08x}", x.to_bits())).collect();
    let said = String::from_utf8(said.stdout).unwrap();
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn who_publishes_few_studies_is_told_that_it_seldom_pays() {
    for (studies, epsilon, is_told) in [(5, "2", true), (14, "2", true), (15, "2", false)] {
        let folder = case("few", studies);
        let mut words = publish(&["p.safetensors"]);
        let place = words.iter().position(|word| *word == "--epsilon").unwrap();
        words[place + 1] = epsilon;
        let told = String::from_utf8_lossy(&done(&folder, &words).stderr).into_owned();
        let said = format!("{studies} studies at ε 2: such a file is seldom worth anything");
        assert_eq!(told.contains(&said), is_told, "{told}");
    }
}

/// One study has one value only, one evaluates one point again and again.
#[test]
fn studies_that_say_nothing_are_named_before_they_are_charged() {
    let folder = case("mute", 15);
    let path = folder.join("studies.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    let muted = text.lines().map(|line| {
        let mut cells: Vec<&str> = line.split(',').collect();
        match cells[0] {
            "s3" => cells[3] = "5",
            "s7" => (cells[1], cells[2]) = ("0.01", "a"),
            _ => {}
        }
        cells.join(",") + "\n"
    });
    std::fs::write(&path, muted.collect::<String>()).unwrap();
    let told = done(&folder, &publish(&["p.safetensors"])).stderr;
    let told = String::from_utf8_lossy(&told).into_owned();
    let said = "2 of 15 studies have one value only, or fewer than three different points, and say little or nothing: s3, s7";
    assert!(told.contains(said), "{told}");
}

#[test]
fn a_budget_and_a_file_that_is_there_are_kept() {
    let folder = case("kept", 30);
    done(&folder, &publish(&["p.safetensors"]));
    let bytes = std::fs::read(folder.join("p.safetensors")).unwrap();
    let there = refused(&folder, 2, &publish(&["p.safetensors"]));
    assert!(
        there.contains("p.safetensors: exists already; nothing was published"),
        "{there}"
    );
    let over = refused(&folder, 2, &publish(&["q.safetensors"]));
    assert!(over.contains("nothing was published"), "{over}");
    assert!(
        !folder.join("q.safetensors").exists()
            && read(&folder, "sordino-ledger.jsonl").lines().count() == 3
    );
    assert_eq!(std::fs::read(folder.join("p.safetensors")).unwrap(), bytes);
}

#[test]
fn what_protects_nobody_and_what_is_no_file_is_refused() {
    let folder = case("refused", 30);
    for (change, said) in [
        (
            ["--delta", "0.01"],
            "delta is 0.01; admissible: above 0 and at most 0.0033",
        ),
        (
            ["--space", "other.toml"],
            "other.toml: `goal`: admissible: \"minimize\", \"maximize\"",
        ),
        (
            ["--from", "one.csv"],
            "number of studies is 1; admissible: 2 to 16777216",
        ),
        (
            ["--from", "twice.csv"],
            "twice.csv:1: column `value` is there twice; admissible: each once",
        ),
        (
            ["--from", "short.csv"],
            "study t: 2 points; admissible: 3 to 2000",
        ),
    ] {
        std::fs::write(
            folder.join("other.toml"),
            SPACE.replace("goal = \"minimize\"\n", ""),
        )
        .unwrap();
        let one: String = read(&folder, "studies.csv")
            .lines()
            .take(11)
            .map(|line| format!("{line}\n"))
            .collect();
        std::fs::write(
            folder.join("short.csv"),
            format!("{one}t,1,a,1\nt,0.5,b,1\n"),
        )
        .unwrap();
        std::fs::write(folder.join("one.csv"), one).unwrap();
        let twice: String = read(&folder, "studies.csv")
            .lines()
            .map(|line| format!("{line},{}\n", &line[line.rfind(',').unwrap() + 1..]))
            .collect();
        std::fs::write(folder.join("twice.csv"), twice).unwrap();
        let mut words = publish(&["p.safetensors"]);
        let place = words.iter().position(|word| *word == change[0]).unwrap();
        words[place + 1] = change[1];
        let message = refused(&folder, 2, &words);
        assert!(
            message.contains(said) && message.contains("nothing was published"),
            "{message}"
        );
        assert!(!folder.join("sordino-ledger.jsonl").exists(), "{said}");
    }
    done(&folder, &publish(&["p.safetensors"]));
    let mut bytes = std::fs::read(folder.join("p.safetensors")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(folder.join("changed.safetensors"), bytes).unwrap();
    for question in ["show", "verify"] {
        let message = refused(&folder, 2, &["prior", question, "changed.safetensors"]);
        assert!(
            message.contains("changed.safetensors: digest is"),
            "{message}"
        );
    }
    std::fs::write(folder.join("space.toml"), SPACE.replace("1e-4", "1e-5")).unwrap();
    let words = [
        "optimize",
        "--space",
        "space.toml",
        "--command",
        TRAIN,
        "--evaluations",
        "2",
        "--prior",
        "p.safetensors",
    ];
    let message = refused(&folder, 2, &words);
    assert!(
        message.contains(
            "--prior: the prior file is of another search: rate of the file is a number from 0.0001 to 1 on a logarithmic scale, of this search a \
             number from 0.00001 to 1 on a logarithmic scale; a search with a file has its goal and exactly its parameters"
        ),
        "{message}"
    );
}

#[test]
fn a_signed_file_is_verified_against_a_key_and_its_numbers_are_exported_as_they_are() {
    let folder = case("signed", 40);
    let told = json(&done(
        &folder,
        &publish(&["p.safetensors", "--sign", "me.key", "--format", "json"]),
    ));
    let signer = told["signed_by"].as_str().unwrap().to_owned();
    let verified = |key: &str| run(&folder, &["prior", "verify", "p.safetensors", "--key", key]);
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text(&verified(&signer)).contains(&format!("signed by {signer}, as expected")));
    let other = "ab".repeat(32);
    let refused_key = verified(&other);
    assert_eq!(refused_key.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&refused_key.stderr)
            .contains(&format!("signed by {signer}, not by {other}"))
    );
    assert!(
        printed(&folder, &["prior", "show", "p.safetensors"])
            .contains(&format!("signed by      {signer}"))
    );
    // The key stays one for its owner alone, and a second file is by the same.
    let mode =
        std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(folder.join("me.key")).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let second = publish(&["q.safetensors", "--sign", "me.key", "--format", "json"]);
    let mut second: Vec<&str> = second
        .into_iter()
        .map(|word| if word == "test" { "other" } else { word })
        .collect();
    second.extend(["--ledger", "other.jsonl"]);
    assert_eq!(json(&done(&folder, &second))["signed_by"], signer.as_str());
    // Two 32-bit sizes, lengthscale and self-test, then the tensors as the file has them.
    let bytes = done(
        &folder,
        &["prior", "export", "p.safetensors", "--lang", "bin"],
    )
    .stdout;
    let file = std::fs::read(folder.join("p.safetensors")).unwrap();
    let header = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    assert_eq!(&bytes[16..], &file[header..]);
    let m = told["features"].as_u64().unwrap();
    let dim = 2;
    assert_eq!(
        bytes[..8],
        [(m as u32).to_le_bytes(), (dim as u32).to_le_bytes()].concat()[..]
    );
    assert_eq!(bytes.len() as u64, 16 + 4 * (m * dim + m + m * (m + 1) / 2));
}

#[test]
fn a_disk_without_room_is_found_before_anything_is_charged() {
    let folder = case("room", 30);
    std::fs::create_dir(folder.join("full")).unwrap();
    let mut words = publish(&["full/p.safetensors"]);
    words.extend(["--features", "1024"]);
    // A limit on the length of files, as a full disk is.
    let program = env!("CARGO_BIN_EXE_sordino");
    let line = format!(
        "ulimit -f 64; trap '' XFSZ; exec {program} {}",
        words.join(" ")
    );
    let output = Command::new("bash")
        .args(["-c", &line])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no room for the file") && said.contains("nothing was published"),
        "{said}"
    );
    assert!(!folder.join("sordino-ledger.jsonl").exists());
    assert_eq!(std::fs::read_dir(folder.join("full")).unwrap().count(), 0);
}

#[test]
fn one_file_may_be_the_whole_budget_and_a_refused_one_leaves_no_ledger() {
    let folder = case("budget", 30);
    let with = |epsilon: &'static str, most: &'static str, out: &'static str| {
        let mut words = publish(&[out]);
        for (name, value) in [("--epsilon", epsilon), ("--max-epsilon", most)] {
            let place = words.iter().position(|word| *word == name).unwrap();
            words[place + 1] = value;
        }
        words
    };
    let over = refused(&folder, 2, &with("5", "4", "p.safetensors"));
    assert!(
        over.contains("error: --max-epsilon is 4; admissible: at least 5")
            && over.contains("nothing was published"),
        "{over}"
    );
    assert!(!folder.join("sordino-ledger.jsonl").exists());
    // The budget is what the file costs, to the last bit; a second file is then refused.
    for (epsilon, ledger) in [("5", "a.jsonl"), ("1", "b.jsonl"), ("0.3", "c.jsonl")] {
        let out: &'static str = format!("{ledger}.safetensors").leak();
        let told = json(&done(
            &folder,
            &[
                &with(epsilon, epsilon, out)[..],
                &["--ledger", ledger, "--format", "json"],
            ]
            .concat(),
        ));
        assert!(
            told["spent"].as_f64().unwrap() <= epsilon.parse().unwrap(),
            "{told}"
        );
    }
    let again = refused(
        &folder,
        2,
        &[
            &with("1", "1", "d.safetensors")[..],
            &["--ledger", "b.jsonl"],
        ]
        .concat(),
    );
    assert!(again.contains("budget spent"), "{again}");
    let mut other = with("1", "1", "e.safetensors");
    other.extend(["--ledger", "b.jsonl"]);
    let other: Vec<&str> = other
        .into_iter()
        .map(|word| if word == "test" { "hospital" } else { word })
        .collect();
    let other = refused(&folder, 2, &other);
    assert!(
        other.contains("write the name as the ledger does; else --ledger names a file of its own"),
        "{other}"
    );
}

#[test]
fn refusals_name_the_line_and_what_is_wrong_with_a_file() {
    let folder = case("lines", 30);
    let text = read(&folder, "studies.csv");
    for (ends, name) in [("\n", "lf.csv"), ("\r\n", "crlf.csv")] {
        for line in [2, 25] {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let cut = lines[line - 1].rfind(',').unwrap();
            lines[line - 1].replace_range(cut.., ",NaN");
            std::fs::write(folder.join(name), lines.join(ends) + ends).unwrap();
            let mut words = publish(&["p.safetensors"]);
            words[3] = name;
            let said = refused(&folder, 2, &words);
            assert!(
                said.contains(&format!("{name}:{line}: `value` is \"NaN\"")),
                "{said}"
            );
        }
    }
    done(&folder, &publish(&["p.safetensors"]));
    let bytes = std::fs::read(folder.join("p.safetensors")).unwrap();
    std::fs::write(folder.join("cut.safetensors"), &bytes[..bytes.len() - 100]).unwrap();
    for (file, what) in [
        ("cut.safetensors", "the file was cut off"),
        ("studies.csv", "a prior file, as `sordino prior publish`"),
    ] {
        let said = refused(&folder, 2, &["prior", "show", file]);
        assert!(said.contains(what), "{said}");
    }
    // Whoever writes a candidate for a device finds its coordinates and its sign.
    let header = printed(
        &folder,
        &["prior", "export", "p.safetensors", "--lang", "c"],
    );
    for needed in [
        "rate: coordinate 1: 0.0001 0, 1 1, evenly between in its logarithm",
        "kind: coordinate 0: \"a\" 0.25, \"b\" 0.75",
        "the negative of loss",
    ] {
        assert!(header.contains(needed), "{needed}\n{header:.900}");
    }
}

/// Every number of the list that follows a name in an exported text, rows one after the other.
fn listed(text: &str, name: &str) -> Vec<f32> {
    let list = text
        .split(name)
        .nth(1)
        .unwrap()
        .split(" = ")
        .nth(1)
        .unwrap();
    let numbers = list
        .split(';')
        .next()
        .unwrap()
        .split(['[', ']', '{', '}', ','])
        .map(|word| word.trim().trim_end_matches('f'))
        .filter(|word| !word.is_empty());
    numbers.map(|word| word.parse().unwrap()).collect()
}

/// The digest of an exported text.
fn digest_of(text: &str, name: &str) -> String {
    let bytes = text.split(name).nth(1).unwrap().split(';').next().unwrap();
    let bytes = bytes.split("0x").skip(1).map(|byte| &byte[..2]);
    bytes.collect()
}

#[test]
fn an_export_has_the_candidates_of_a_device_in_both_numbers() {
    let folder = case("candidates", 30);
    done(&folder, &publish(&["p.safetensors"]));
    let file = PriorFile::parse(&std::fs::read(folder.join("p.safetensors")).unwrap()).unwrap();
    let export = |lang: &'static str| {
        [
            "prior",
            "export",
            "p.safetensors",
            "--lang",
            lang,
            "--candidates",
            "40",
        ]
    };
    let rust = printed(&folder, &export("rust"));
    let c = printed(&folder, &export("c"));
    let points = listed(&rust, "static POINTS:");
    let coordinates = listed(&rust, "static CANDIDATES:");
    assert!(
        rust.contains("pub const CANDIDATE_COUNT: usize = 40;")
            && rust.contains("pub const DIM: usize = 2;")
    );
    assert_eq!((points.len(), coordinates.len()), (80, 80));
    assert_eq!(listed(&c, "float SORDINO_PRIOR_POINTS_OF"), points);
    assert_eq!(listed(&c, "float SORDINO_PRIOR_CANDIDATES_OF"), coordinates);
    // Rows by name, and the sign of a loss.
    for (text, needed) in [
        (
            &rust,
            "    pub const KIND: usize = 0;\n    pub const RATE: usize = 1;\n",
        ),
        (&rust, "pub static POINTS: [[f32; 2]; 40] = [\n"),
        (&rust, "pub const SIGN: f32 = -1.0;\n"),
        (
            &c,
            "#define SORDINO_PRIOR_AT_KIND 0\n#define SORDINO_PRIOR_AT_RATE 1\n",
        ),
        (&c, "#define SORDINO_PRIOR_CANDIDATES_LEN 80\n"),
        (&c, "#define SORDINO_PRIOR_SIGN (-1.0f)\n"),
    ] {
        assert!(text.contains(needed), "{needed}");
    }
    // A digest of the file and of the list, the same in both languages.
    let digests = [
        digest_of(&rust, "DIGEST: [u8; 32] ="),
        digest_of(&c, "SORDINO_PRIOR_DIGEST[32]"),
    ];
    assert_eq!((&digests[0], digests[0].len()), (&digests[1], 64));
    let mut fewer = export("rust");
    fewer[6] = "39";
    for other in [&fewer[..], &fewer[..5]] {
        let other = digest_of(&printed(&folder, other), "DIGEST: [u8; 32] =");
        assert!(other.len() == 64 && other != digests[0]);
    }
    // Once more, of the same studies: another file with the same list.
    let mut again = publish(&["q.safetensors"]);
    again.extend(["--ledger", "other.jsonl"]);
    done(&folder, &again);
    let mut other = export("rust");
    other[2] = "q.safetensors";
    let other = printed(&folder, &other);
    assert_eq!(listed(&other, "static CANDIDATES:"), coordinates);
    assert_ne!(digest_of(&other, "DIGEST: [u8; 32] ="), digests[0]);
    let encoding = file.encoding().unwrap();
    for (own, read) in points.chunks(2).zip(coordinates.chunks(2)) {
        let own: Vec<f64> = own.iter().map(|x| f64::from(*x)).collect();
        for (coordinate, read) in encoding.coordinates(&own).iter().zip(read) {
            assert!(
                (coordinate - f64::from(*read)).abs() < 1e-6,
                "{own:?} {read}"
            );
        }
    }
    let said = refused(&folder, 2, &export("bin"));
    assert!(said.contains("--candidates: not in `bin`"), "{said}");
    assert!(
        !printed(
            &folder,
            &["prior", "export", "p.safetensors", "--lang", "rust"]
        )
        .contains("CANDIDATE")
    );
}

/// The example of a device has the file beside it, exported as its first lines say.
#[test]
fn the_file_of_the_example_for_a_device_is_what_is_exported() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware-example");
    let words = ["--lang", "rust", "--candidates", "48"];
    let command = [&["prior", "export", "ovens.safetensors"], &words[..]].concat();
    let example = read(&folder, "examples/newcomer.rs");
    let said = format!("// sordino {} > ovens.rs\n", command.join(" "));
    assert!(example.contains(&said), "{said}");
    let source = printed(&folder, &command);
    if std::env::var_os("SORDINO_WRITE").is_some() {
        std::fs::write(folder.join("ovens.rs"), &source).unwrap();
    }
    assert!(
        read(&folder, "ovens.rs") == source,
        "SORDINO_WRITE=1 cargo test -p sordino-sim --test it prior"
    );
    for needed in [
        "Data set ovens, by oven works",
        "Worth: saves half of newcomers ",
        "pub const SIGN: f32 = -1.0;",
        "pub const KP_WATT_PER_KELVIN: usize = 1;",
    ] {
        assert!(source.contains(needed), "{needed}");
    }
}

/// Of a file that is worth nothing an export says so, where `show` does.
#[test]
fn an_export_says_what_its_file_is_worth() {
    for (name, studies, epsilon) in [("worth-good", 60, "2"), ("worth-poor", 4, "0.05")] {
        let folder = case(name, studies);
        let mut words = publish(&["p.safetensors", "--by", "the works"]);
        words[7] = epsilon;
        done(&folder, &words);
        let shown = printed(&folder, &["prior", "show", "p.safetensors"]);
        let line = |name: &str| {
            let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].trim().to_owned()
        };
        let export = ["prior", "export", "p.safetensors", "--lang", "c"];
        let output = done(&folder, &export);
        let header = String::from_utf8(output.stdout).unwrap();
        let worth = line("worth").replace('ε', "epsilon");
        assert!(
            header.contains(&format!(" * Worth: {worth}\n")),
            "{worth}\n{header:.600}"
        );
        assert!(
            header.contains(&format!(" * Data set {}\n", line("data set"))),
            "{header:.600}"
        );
        assert!(line("data set").contains("test, by the works"));
        // The same into a file, and never in the place of what was paid for.
        let into = [&export[..], &["--out", "p.h"]].concat();
        done(&folder, &into);
        assert_eq!(read(&folder, "p.h"), header);
        assert!(refused(&folder, 2, &into).contains("exists already"));
        std::fs::remove_file(folder.join("p.h")).unwrap();
        let before = std::fs::read(folder.join("p.safetensors")).unwrap();
        let over = [&export[..], &["--out", "./p.safetensors"]].concat();
        assert!(refused(&folder, 2, &over).contains("the prior file itself"));
        assert_eq!(std::fs::read(folder.join("p.safetensors")).unwrap(), before);
        // A number that invites comparison comes with what it is not.
        assert_eq!(
            shown.contains("what the file believes of itself"),
            !worth.starts_with("nothing"),
            "{shown}"
        );
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = if worth.starts_with("nothing") {
            format!("p.safetensors: worth {}\n", line("worth"))
        } else {
            String::new()
        };
        assert_eq!(said, expected);
        // Negative control: 60 studies at ε 2 are worth something.
        assert!(studies == 4 || expected.is_empty(), "{expected}");
    }
}

/// What the README of C shows compiles as it stands, with the file of the command above it.
#[test]
fn the_readme_of_c_compiles_as_pasted() {
    let folder = case("readme-c", 30);
    done(&folder, &publish(&["p.safetensors"]));
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi");
    let readme = read(&package, "README.md");
    let section = readme
        .split("\n## Beginning with a prior file\n")
        .nth(1)
        .unwrap();
    let command = "`sordino prior export FILE --lang c --candidates 500 > prior.h`";
    assert!(section.trim_start().starts_with(command));
    let words = ["--lang", "c", "--candidates", "500"];
    let words = [&["prior", "export", "p.safetensors"], &words[..]].concat();
    std::fs::write(folder.join("prior.h"), printed(&folder, &words)).unwrap();
    let pasted = section
        .split("```c\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    std::fs::write(folder.join("pasted.c"), pasted).unwrap();
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-O1",
        "-I",
    ])
    .arg(package.join("include"))
    .args(["-c", "pasted.c"]);
    let built = cc.current_dir(&folder).output().unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
}

#[test]
fn a_choice_of_a_file_ends_no_comment_and_paths_that_are_one_are_refused() {
    let folder = case("hostile", 30);
    let choice = "a */ int x; /* \\";
    let space = SPACE.replace(
        "\"a\", \"b\"",
        &format!("{}, \"b\"", serde_json::to_string(choice).unwrap()),
    );
    std::fs::write(folder.join("space.toml"), space).unwrap();
    let studies = read(&folder, "studies.csv").replace(",a,", &format!(",{choice},"));
    std::fs::write(folder.join("studies.csv"), studies).unwrap();
    for option in ["--ledger", "--sign"] {
        let mut words = publish(&["p.safetensors"]);
        words.extend([option, "./p.safetensors"]);
        let said = refused(&folder, 2, &words);
        assert!(
            said.contains("is the ledger, its lock or the key")
                && !folder.join("p.safetensors").exists(),
            "{said}"
        );
    }
    done(&folder, &publish(&["p.safetensors"]));
    for (lang, begin) in [("c", "#define"), ("rust", "use sordino_core")] {
        let text = printed(
            &folder,
            &["prior", "export", "p.safetensors", "--lang", lang],
        );
        let comment = text.split(begin).next().unwrap();
        assert_eq!(
            comment.matches("*/").count(),
            usize::from(lang == "c"),
            "{comment}"
        );
        assert!(
            comment.is_ascii() && !comment.contains("\\\n") && comment.contains("int x;"),
            "{comment}"
        );
    }
    // A key that others may read is nobody's.
    let mut signed = publish(&["q.safetensors", "--sign", "open.key"]);
    std::fs::write(folder.join("open.key"), "x").unwrap();
    std::fs::set_permissions(
        folder.join("open.key"),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    signed.extend(["--ledger", "other.jsonl"]);
    let said = refused(&folder, 2, &signed);
    assert!(
        said.contains("others may read or write this key") && !folder.join("other.jsonl").exists(),
        "{said}"
    );
}

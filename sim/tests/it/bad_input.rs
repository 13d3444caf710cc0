//! Bad input of the trust models beside `federated`, as a user meets it: one line, exit code 2, no
//! panic, no folder left.
//!
//! What the program cannot be given from outside is tested in core: a table kernel that is not
//! positive semidefinite (`tests/tests/it/local.rs`, `nonsense_is_refused_by_name`; every table
//! that a file makes is a covariance matrix), a decomposition that fails
//! (`core/src/outsourced/spectrum.rs`, `paper.rs`). A user's command that hangs is in `tune.rs`.

use std::path::Path;

use crate::util::{self, scratch, without};

fn refused(folder: &Path, arguments: &[&str]) -> String {
    util::refused(folder, 2, &[&["run"], arguments].concat())
}

/// A scenario of a curator that reads a table.
pub const TABLE: &str = "trust = \"outsourced\"\nname = \"t\"\ndescription = \"d\"\nruns = 1\n[objective]\nkind = \"csv\"\n\
    inputs = [\"a\", \"b\"]\ninput_ranges = [[-1, 1], [-1, 1]]\noutput = \"y\"\ngoal = \"maximize\"\n\
    [curator]\nepsilon = 1\ndelta = 1e-5\nout_dims = [2]\n[modeler]\nrounds = 2\nmethods = [\"paper-projection\"]\n\
    lengthscales = [1, 1]\nsignal_variance = 1\nnoise_variance = 0.1\n";

#[test]
fn tables_of_a_curator() {
    let folder = scratch("bad-outsourced");
    std::fs::write(folder.join("t.toml"), TABLE).unwrap();
    for (what, rows, needed) in [
        (
            "rank-deficient X",
            ".1,.2,1\n.2,.4,2\n-.3,-.6,3\n.4,.8,4\n",
            "the columns depend on each other",
        ),
        (
            "a constant column, in the middle of its range",
            ".1,0,1\n.2,0,2\n-.3,0,3\n",
            "the columns depend on each other",
        ),
        ("n < d", ".1,.2,1\n", "at least two are needed"),
        (
            "a NaN row",
            ".1,.2,1\nnan,.3,2\n.5,.1,3\n",
            "t.csv:3: `a` is `nan`",
        ),
        (
            "an infinite value",
            ".1,.2,1\n.2,.3,inf\n",
            "t.csv:3: `y` is `inf`",
        ),
        ("a short row", ".1,.2,1\n.2\n", "t.csv"),
        ("no rows", "", "at least two are needed"),
    ] {
        std::fs::write(folder.join("t.csv"), format!("a,b,y\n{rows}")).unwrap();
        let message = refused(&folder, &["t.toml", "--data", "t.csv"]);
        assert!(message.contains(needed), "{what}: {message}");
    }
    for (what, setting, key) in [
        ("r = 0", "curator.out_dims=[0]", "curator.out_dims"),
        ("no epsilon", "curator.epsilon=0", "curator.epsilon"),
        (
            "another trust model's key",
            "users.epsilon=1",
            "unknown key `users`",
        ),
    ] {
        let message = refused(&folder, &["t.toml", "--data", "t.csv", "--set", setting]);
        assert!(message.contains(key), "{what}: {message}");
    }
    assert!(refused(&folder, &["t.toml"]).contains("--data"));
    assert!(refused(&folder, &["t.toml", "--data", "no.csv"]).contains("no.csv: cannot be read"));
    // Two rows of three inputs.
    std::fs::write(folder.join("t.csv"), "a,b,c,y\n.1,.2,.3,1\n.4,.1,.2,2\n").unwrap();
    let three = [
        "--set",
        "objective.inputs=[\"a\", \"b\", \"c\"]",
        "--set",
        "objective.input_ranges=[[-1, 1], [-1, 1], [-1, 1]]",
        "--set",
        "modeler.lengthscales=[1, 1, 1]",
    ];
    let message = refused(
        &folder,
        &[&["t.toml", "--data", "t.csv"], &three[..]].concat(),
    );
    assert!(message.contains("2 rows of 3 columns"), "{message}");
    // Nothing of it left a folder.
    assert_eq!(
        std::fs::read_dir(folder.join("sordino-runs"))
            .into_iter()
            .flatten()
            .count(),
        0
    );
}

#[test]
fn users_and_learners() {
    let folder = scratch("bad-local");
    for (what, setting, needed) in [
        ("R not positive", "users.noise_bound=0", "users.noise_bound"),
        ("R negative", "users.noise_bound=-1", "users.noise_bound"),
        ("B not positive", "users.norm_bound=0", "users.norm_bound"),
        ("B no number", "users.norm_bound=nan", "users.norm_bound"),
        (
            "T below one epoch",
            "learning.rounds=3",
            "at least one epoch of moma-gp-ucb",
        ),
        (
            "an epoch above T",
            "learning.epoch_len=20000",
            "at least one epoch of moma-gp-ucb",
        ),
    ] {
        let message = refused(&folder, &["ldp-se", "--set", setting]);
        assert!(message.contains(needed), "{what}: {message}");
    }
    let text = sordino_experiment::scenario::Shipped::find("ldp-stocks")
        .unwrap()
        .text;
    for key in ["norm_bound", "noise_bound"] {
        std::fs::write(folder.join("missing.toml"), without(key, text)).unwrap();
        let message = refused(&folder, &["missing.toml"]);
        assert!(
            message.contains(&format!("`users.{key}` is missing")) && message.contains("public"),
            "{message}"
        );
    }
    // A column that never moves has no covariance.
    std::fs::write(folder.join("fin.csv"), "Date,A,B\n1,1,2\n2,1,3\n3,1,4\n").unwrap();
    assert!(
        refused(&folder, &["ldp-stocks", "--data", "fin.csv"]).contains("column 1 is constant")
    );
    assert_eq!(
        std::fs::read_dir(folder.join("sordino-runs"))
            .into_iter()
            .flatten()
            .count(),
        0
    );
}

#[test]
fn releases_of_a_result() {
    let folder = scratch("bad-output");
    for (setting, needed) in [
        ("release.epsilons=[]", "release.epsilons"),
        ("release.epsilons=[-1]", "release.epsilons"),
        ("prior.rounds=1", "prior.rounds"),
        ("prior.noise_std=0", "prior.noise_std"),
        ("prior.similarity=nan", "prior.similarity"),
        ("objective.records=0", "objective.records"),
    ] {
        let message = refused(&folder, &["output-gp", "--set", setting]);
        assert!(message.contains(needed), "{setting}: {message}");
    }
    assert_eq!(
        std::fs::read_dir(folder.join("sordino-runs"))
            .into_iter()
            .flatten()
            .count(),
        0
    );
}

/// Excel and Python's csv.writer end lines by CRLF: the line that was named was the one above.
#[test]
fn lines_of_crlf_files_are_those_of_an_editor() {
    let folder = scratch("bad-crlf");
    std::fs::write(folder.join("t.toml"), TABLE).unwrap();
    for end in ["\n", "\r\n"] {
        let rows = ["a,b,y", ".1,.2,1", "", "nan,.3,2", ".5,.1,3", ""].join(end);
        std::fs::write(folder.join("t.csv"), rows).unwrap();
        let message = refused(&folder, &["t.toml", "--data", "t.csv"]);
        assert!(
            message.contains("t.csv:4: `a` is `nan`"),
            "{end:?}: {message}"
        );
        let rows = ["a,b,y", ".1,.2,1", ".5,.1", ""].join(end);
        std::fs::write(folder.join("t.csv"), rows).unwrap();
        let message = refused(&folder, &["t.toml", "--data", "t.csv"]);
        assert!(message.contains("t.csv:3: 2 fields"), "{end:?}: {message}");
        std::fs::write(
            folder.join("l.csv"),
            ["q,z,steps,delta", ".1,1,10,1e-5", ".1,0,10,1e-5", ""].join(end),
        )
        .unwrap();
        let message = util::refused(&folder, 2, &["privacy", "table", "l.csv"]);
        assert!(message.contains("l.csv:3: column 2"), "{end:?}: {message}");
    }
}

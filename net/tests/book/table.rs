//! What is special about each page: which commands are made small, which are left out, and why.

use std::path::Path;

use crate::page::Change::{More, Words};
use crate::page::{LeftOut, Page};

/// Pages for those who work on sordino, whose commands are the steps of `cargo xtask test`.
pub const NOT_FOR_READERS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/releasing.md"];

/// A page with nothing special.
const fn plain(file: &'static str) -> Page {
    Page {
        file,
        before: &[],
        files: &[],
        anew: &[],
        changes: &[],
        left_out: &[],
    }
}

/// What a reader has before the first command of any page: the files of `docs/examples/wards`, a
/// scenario and a command that measures.
pub fn furnish(folder: &Path) -> std::io::Result<()> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/wards");
    for file in ["space.toml", "studies.csv", "train.py"] {
        std::fs::copy(example.join(file), folder.join(file))?;
    }
    Ok(())
}

pub const PAGES: &[Page] = &[
    Page {
        file: "README.md",
        before: &[],
        files: &[],
        anew: &["Do research with it"],
        changes: &[
            Words {
                from: "--deadline 20s",
                to: "--ask-again 200ms --deadline 20s",
                why: "asks a hundred times as often",
            },
            Words {
                from: "$i.txt",
                to: "$i.txt --evaluations 12",
                why: TWELVE,
            },
            Words {
                from: "--runs 30",
                to: SMALL,
                why: SHORT,
            },
        ],
        left_out: &[
            LeftOut {
                begins: "cargo run --release",
                why: BUILT,
            },
            LeftOut {
                begins: "cargo xtask test",
                why: "runs this test, among others",
            },
            LeftOut {
                begins: "cargo install",
                why: "builds both programs for minutes; `cargo xtask test` builds them",
            },
            LeftOut {
                begins: "pip install",
                why: WHEEL,
            },
            LeftOut {
                begins: "cd docs/examples/wards",
                why: "`furnish` put its files here",
            },
        ],
    },
    plain("docs/book/src/choosing.md"),
    Page {
        file: "docs/book/src/data-scientist.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[],
        left_out: &[LeftOut {
            begins: "pip install",
            why: WHEEL,
        }],
    },
    plain("docs/book/src/trust.md"),
    Page {
        file: "docs/book/src/introduction.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[],
        left_out: &[LeftOut {
            begins: "cargo run --release",
            why: BUILT,
        }],
    },
    Page {
        file: "docs/book/src/deploying.md",
        before: &[SCENARIO, MEASURE, TRAIN],
        files: &[("space.toml", "toml", "validation loss")],
        anew: &[
            "A scenario, with two agents on one machine",
            "Begin",
            "Agents with certificates",
        ],
        changes: &[
            Words {
                from: "--agents 50 ",
                to: "--agents 50 --min-agents 1 --ask-again 200ms --deadline 10s ",
                why: ALONE,
            },
            Words {
                from: "--evaluations 30",
                to: "--evaluations 12",
                why: TWELVE,
            },
            Words {
                from: "--deadline 10m ",
                to: "--min-agents 1 --ask-again 200ms --deadline 1s ",
                why: "one agent of the two, and rounds of a second",
            },
            Words {
                from: "federation.rounds=10",
                to: "federation.rounds=3",
                why: "three rounds show what ten would",
            },
            Words {
                from: "--deadline 1h ",
                to: "--min-agents 2 --ask-again 200ms --deadline 2s ",
                why: "two agents of two hundred, and short rounds",
            },
            More {
                after: "sordino serve my.toml",
                more: "--set federation.agents=200 --set federation.rounds=2 --set privacy.max_epsilon=8 \
                    --set privacy.noise_multiplier=8",
                why: "what the reader has written into the file of `sordino init`: few rounds at an ε to which agents agree",
            },
            Words {
                from: "--ca site-ca.pem …",
                to: "--ca site-ca.pem --min-agents 1 --ask-again 200ms --deadline 2s",
                why: "one agent of two hundred, and short rounds",
            },
        ],
        left_out: &[
            LeftOut {
                begins: "cargo build --release",
                why: BUILT,
            },
            LeftOut {
                begins: "export PATH=",
                why: "every command of a page finds both programs without it",
            },
        ],
    },
    Page {
        file: "docs/book/src/embedding.md",
        before: &[
            "mkdir src",
            PUBLISHED,
            SERVED_FOR_DEVICES,
            "sordino invite wards --agents 0..50 --out invitations",
        ],
        files: &[],
        anew: &[],
        changes: &[],
        left_out: &[
            LeftOut {
                begins: "cargo add",
                why: "changes a crate of the reader's; `cargo xtask test` builds the template, which is one",
            },
            LeftOut {
                begins: "cargo fw",
                why: QEMU,
            },
            LeftOut {
                begins: "cargo xtask c",
                why: "the steps `C` of `cargo xtask test` are this command",
            },
        ],
    },
    Page {
        file: "docs/book/src/epsilon.md",
        before: &[
            PUBLISHED,
            SERVED,
            "sordino invite wards --agents 0..50 --out invitations",
        ],
        files: &[],
        anew: &[],
        changes: &[],
        left_out: &[],
    },
    Page {
        file: "docs/book/src/federated.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[
            More {
                after: "sordino run",
                more: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino sweep",
                more: "--set federation.rounds=2 --set runs=1",
                why: SHORT,
            },
        ],
        left_out: &[],
    },
    Page {
        file: "docs/book/src/local.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[More {
            after: "sordino run",
            more: "--runs 1",
            why: "thirty runs in a debug build take minutes",
        }],
        left_out: &[LeftOut {
            begins: "sordino run ldp-light-sensor --data FOLDER",
            why: DATA,
        }],
    },
    Page {
        file: "docs/book/src/output.md",
        before: &["printf 'print(\"4100/5000\")\\n' > train.py"],
        files: &[("space.toml", "toml", "design =")],
        anew: &[],
        changes: &[],
        left_out: &[],
    },
    Page {
        file: "docs/book/src/outsourced.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[],
        left_out: &[LeftOut {
            begins: "sordino run outsourced-hdb --data flats.csv",
            why: DATA,
        }],
    },
    Page {
        file: "docs/book/src/reproducing.md",
        before: &[
            "sordino init my.toml",
            "sordino run my.toml --runs 1 --set federation.rounds=2 --set privacy.noise_multiplier=4 --out results/b",
        ],
        files: &[],
        anew: &[],
        changes: &[Words {
            from: "--runs 30",
            to: SMALL,
            why: SHORT,
        }],
        left_out: &[LeftOut {
            begins: "sordino reproduce dp-fts-de/ablations",
            why: REPRODUCED,
        }],
    },
    Page {
        file: "docs/book/src/researcher.md",
        before: &[
            "sordino init made.toml",
            "sordino run made.toml --runs 1 --set federation.rounds=2 --out made/b",
        ],
        files: &[],
        anew: &["The commands of the laboratory"],
        changes: &[
            Words {
                from: "--runs 30",
                to: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino run default --set",
                more: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino run winequality",
                more: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino run planes",
                more: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino run fedhpo",
                more: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino run fleet",
                more: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino run differ-smooth",
                more: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino run ldp-se",
                more: "--runs 1",
                why: SHORT,
            },
            More {
                after: "sordino run output-winequality",
                more: "--runs 1",
                why: SHORT,
            },
            More {
                after: "sordino sweep",
                more: "--set federation.rounds=2 --set runs=1",
                why: SHORT,
            },
            Words {
                from: "--runs 200 --part 1/16",
                to: "--runs 2 --part 1/1 --set federation.rounds=2",
                why: "the only part of two runs in the place of sixteen parts",
            },
            Words {
                from: "federation.agents=100000",
                to: "federation.agents=2000",
                why: "a hundred thousand agents take minutes in a debug build",
            },
            Words {
                from: "regret.pdf",
                to: "regret.svg",
                why: FIGURES,
            },
            Words {
                from: "results/b --figure ab.pdf",
                to: "made/b --figure ab.svg",
                why: "SVG as above, and another run than that of the section before",
            },
        ],
        left_out: &[
            LeftOut {
                begins: "sordino run landmine",
                why: DATA,
            },
            LeftOut {
                begins: "sordino run outsourced-hdb",
                why: DATA,
            },
            LeftOut {
                begins: "sordino reproduce",
                why: REPRODUCED,
            },
            LeftOut {
                begins: "sordino audit",
                why: "a minute in a debug build with the fewest runs that it takes; sim/tests/it/privacy_cli.rs has it",
            },
            LeftOut {
                begins: "cargo fw",
                why: QEMU,
            },
            LeftOut {
                begins: "cargo xtask web",
                why: "the steps `web` of `cargo xtask test` are this command",
            },
        ],
    },
    Page {
        file: "docs/book/src/scenarios.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[More {
            after: "sordino run",
            more: SMALL,
            why: SHORT,
        }],
        left_out: &[],
    },
    Page {
        file: "docs/prior-files.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[],
        left_out: &[],
    },
    Page {
        file: "docs/secure-aggregation.md",
        before: &[],
        files: &[],
        anew: &[],
        changes: &[
            More {
                after: "sordino run default --set",
                more: SMALL,
                why: SHORT,
            },
            Words {
                from: "--runs 30",
                to: SMALL,
                why: SHORT,
            },
            More {
                after: "sordino rehearse",
                more: "--set federation.rounds=2 --set federation.agents=20",
                why: "two rounds of twenty agents over HTTPS take seconds",
            },
            Words {
                from: "--agents 50 ",
                to: "--agents 50 --min-agents 1 --ask-again 200ms --deadline 10s ",
                why: ALONE,
            },
            More {
                after: "sordino join",
                more: "--evaluations 12",
                why: TWELVE,
            },
        ],
        left_out: &[],
    },
    Page {
        file: "docs/clusters.md",
        before: &["sordino init big.toml"],
        files: &[],
        anew: &[],
        changes: &[
            Words {
                from: "--part 16/16",
                to: "--part 2/2 --set federation.rounds=2",
                why: "two parts in the place of sixteen",
            },
            Words {
                from: "--part 1/16",
                to: "--part 1/2 --set federation.rounds=2",
                why: "two parts in the place of sixteen",
            },
            Words {
                from: "--runs 200",
                to: "--runs 2",
                why: "two runs in the place of two hundred",
            },
        ],
        left_out: &[
            LeftOut {
                begins: "…",
                why: "stands for the parts in between",
            },
            LeftOut {
                begins: "#!/bin/sh",
                why: "a script for Slurm, which is not on a reader's own machine; its commands are those above",
            },
            LeftOut {
                begins: "parallel ",
                why: "needs the hosts of a cluster; its command is the one above",
            },
            LeftOut {
                begins: "i=0",
                why: CLUSTER_OF_HOSTS,
            },
            LeftOut {
                begins: "cargo build",
                why: BUILT,
            },
            LeftOut {
                begins: "sordino cluster",
                why: ZENOH,
            },
            LeftOut {
                begins: "sordino worker",
                why: ZENOH,
            },
        ],
    },
];

const ALONE: &str = "one site in the place of fifty, which does not wait for the others";
const TWELVE: &str = "ten evaluations before the releases and two after them";
const SMALL: &str = "--runs 1 --set federation.rounds=2";
const SHORT: &str = "a debug build computes two rounds of one run in a second";
const BUILT: &str =
    "a build with optimisation takes minutes; `sordino run default` is the same command";
const WHEEL: &str = "the step `Python module` of `cargo xtask test` builds and installs the wheel";
const QEMU: &str = "needs QEMU; the steps of the firmware in `cargo xtask test` are this command";
const DATA: &str = "reads a file that is not ours to hand on";
const REPRODUCED: &str = "a step of `cargo xtask test` takes every reproduction to its end";
/// What a page's reader has from elsewhere.
const PUBLISHED: &str = "sordino prior publish --from studies.csv --space space.toml --epsilon 1 \
    --dataset studies --max-epsilon 4 --out wards.safetensors";
const SERVED: &str = "sordino serve space.toml --agents 50 --epsilon 1 --folder wards";
const SERVED_FOR_DEVICES: &str =
    "sordino serve space.toml --agents 50 --epsilon 1 --features 50 --folder wards";
const SCENARIO: &str = "sordino init my.toml";
const TRAIN: &str = "printf '%s\\n' 'import os' 'print(abs(float(os.environ.get(\"SORDINO_RATE\") \
    or os.environ[\"SORDINO_X0\"]) - 0.01))' > train.py";
const MEASURE: &str = "printf '%s\\n' '#!/bin/sh' 'awk \"BEGIN { print -($SORDINO_X0 - 0.3)^2 }\"' > measure && chmod +x measure";
const FIGURES: &str =
    "PDF is made by sordino-figures, whose own tests do; SVG takes the same way before it";
const CLUSTER_OF_HOSTS: &str = "a loop over other machines; its commands are those above";
const ZENOH: &str = "sordino-cluster is another package; cluster/tests/it starts heads and workers with these options";

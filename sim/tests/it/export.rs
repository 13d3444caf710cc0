//! `sordino export`: the module it writes is compiled here, and is what the simulator computes
//! with.

use sordino_core::features::random_fourier;
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, log_len, storage_len, workspace_len,
};
use sordino_core::federated::{Input, Output, Public};
use sordino_core::wire::prefix;
use sordino_engine::federated::context::{self, MethodContext, RunContext, ScenarioContext};
use sordino_experiment::scenario::{Shipped, method};
use std::sync::Arc;

use crate::exported;
use crate::util::{printed, refused, scratch};

fn export(folder: &str, arguments: &[&str]) -> String {
    printed(&scratch(folder), &[&["export"], arguments].concat())
}

/// A federated prior over the scenario of the firmware, small enough for an example.
const PRIOR: [&str; 8] = [
    "--set",
    "federation.methods=[\"dp-prior\"]",
    "--set",
    "federation.initial_points=4",
    "--set",
    "prior.points_per_axis=12",
    "--set",
    "prior.epsilon=20",
];

/// A file that is checked in is what is exported in a language.
fn checked_in(file: &str, language: &str, settings: &[&str]) {
    let folder = format!("export-checked-{}", file.replace(['/', '.'], "-"));
    let source = export(
        &folder,
        &[&["firmware", "--lang", language], settings].concat(),
    );
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("SORDINO_WRITE").is_some() {
        std::fs::write(&path, &source).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written == source,
        "{file}: SORDINO_WRITE=1 cargo test -p sordino-sim --test it export"
    );
}

/// The scenario of the firmware, over a grid.
#[test]
fn the_module_that_is_checked_in_is_what_is_exported() {
    checked_in("tests/it/exported.rs", "rust", &[]);
}

#[test]
fn the_headers_of_the_example_in_c_are_what_is_exported() {
    checked_in("../capi/examples/federation.h", "c", &[]);
    checked_in("../capi/examples/one_server.h", "c", &PRIOR);
    let trust = ["--set", "privacy.trust=\"two-servers\""];
    checked_in(
        "../capi/examples/two_servers.h",
        "c",
        &[&PRIOR[..], &trust].concat(),
    );
}

/// Up to its first upload, to the bit.
#[test]
fn an_agent_of_the_module_is_the_simulators() {
    let scenario = Shipped::find("firmware").unwrap().parse(&[]).unwrap();
    let seed = scenario.run_seed(0);
    let functions = sordino_experiment::world::load(&scenario, None)
        .unwrap()
        .realize(seed);
    let shared =
        ScenarioContext::<f32>::new(&scenario, functions.candidates(), functions.dim()).unwrap();
    let run = Arc::new(RunContext::new(&scenario, Arc::new(shared), 0, functions).unwrap());
    let method = MethodContext::new(&scenario, method::DP_FTS_DE, Arc::clone(&run), None).unwrap();
    let theirs = method.public().unwrap();

    let agreement = exported::agreement().unwrap();
    let draws = agreement.protocol.draws().unwrap();
    assert_eq!(draws.config, method.config);
    assert_eq!(draws.features, context::public_features(&scenario, 0));
    assert_eq!(
        (agreement.deployment, agreement.digest().0),
        (method.deployment, exported::DIGEST)
    );
    let mut numbers = [0.0; exported::FEATURES_LEN];
    let features = draws
        .features
        .draw(exported::DIM, exported::FEATURES, &mut numbers)
        .unwrap();
    let ours = Public::streamed(&draws.config, exported::candidates().unwrap(), features).unwrap();
    assert_eq!(exported::SIZES.log(), log_len(&draws.config));
    assert_eq!(exported::SIZES.workspace(), workspace_len(&theirs));

    let uploads = [&ours, &theirs].map(|public| {
        let mut state = AgentState::new(3, seed);
        let mut numbers = vec![0.0f32; storage_len(public)];
        let storage = AgentStorage::split(public, &mut numbers).unwrap();
        let mut agent = Agent::attach(public, &mut state, storage).unwrap();
        let mut input = Input::Start;
        let mut asked = Vec::new();
        loop {
            match agent.handle(input).unwrap() {
                Output::Evaluate { candidate, .. } => {
                    asked.push(candidate);
                    input = Input::Observed(run.objective.value(3, candidate) as f32);
                }
                Output::Upload(weights) => break (asked, weights.to_vec()),
                output => panic!("{output:?}"),
            }
        }
    });
    assert_eq!(uploads[0], uploads[1]);
    assert_eq!(
        uploads[0].0.len(),
        method.config.parameters().initial_points as usize
    );
}

#[test]
fn the_header_says_the_same_as_the_module() {
    let source = export("export-c", &["firmware", "--lang", "c"]);
    let number = |name: &str| -> usize {
        let line = source
            .lines()
            .find_map(|line| line.strip_prefix(&format!("#define SORDINO_{name} ")))
            .unwrap();
        line.trim_end_matches('u').parse().unwrap()
    };
    let sizes = exported::SIZES;
    for (name, expected) in [
        ("DIM", exported::DIM),
        ("FEATURES", exported::FEATURES),
        ("REGIONS", exported::REGIONS),
        ("OBSERVATIONS", exported::OBSERVATIONS),
        ("LOG_LEN", sizes.log()),
        ("WORKSPACE_LEN", sizes.workspace()),
        ("FEATURES_LEN", random_fourier::storage_len(1, 64)),
        ("UPLOAD_BYTES", exported::UPLOAD_BYTES),
        ("SMALL_UPLOAD_BYTES", exported::SMALL_UPLOAD_BYTES),
        ("BROADCAST_BYTES", exported::BROADCAST_BYTES),
        ("STATE_BYTES", exported::STATE_BYTES),
        ("ENTRY_BYTES", exported::ENTRY_BYTES),
        ("AGREEMENT_BYTES", exported::AGREEMENT.len()),
        ("POINTS_PER_AXIS", exported::POINTS_PER_AXIS as usize),
    ] {
        assert_eq!(number(name), expected, "{name}");
    }
    let bytes: Vec<u8> = source
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| u8::from_str_radix(word.strip_prefix("0x")?, 16).ok())
        .collect();
    assert_eq!(
        bytes,
        [&exported::DIGEST[..], &exported::AGREEMENT].concat()
    );
}

#[test]
fn what_a_server_announces_changes_the_digest_and_nothing_else() {
    let served = [
        "--deployment",
        "00000000000000ff",
        "--deadline-ms",
        "1000",
        "--close-early",
    ];
    let source = export(
        "export-served",
        &[&["firmware", "--lang", "rust"], &served[..]].concat(),
    );
    let ours: Vec<_> = include_str!("exported.rs").lines().collect();
    let other = |line: &&str| !ours.contains(line);
    let changed: Vec<_> = source.lines().filter(other).collect();
    assert!(
        changed.iter().all(|line| line.contains("0x")
            || line.contains("deployment")
            || line.contains("[u8;")),
        "{changed:?}"
    );
    assert!(source.contains("deployment 00000000000000ff"));
    assert_ne!(prefix(&exported::agreement().unwrap().digest()), 0xff);
}

#[test]
fn what_no_device_can_hold_is_refused_by_name() {
    for (arguments, expected) in [
        (
            &["default", "--method", "dp-prior"][..],
            "surrogate.own_draw=features",
        ),
        (
            &["firmware", "--set", "federation.methods=[\"vote\"]"],
            "method vote: no machine of a device runs it",
        ),
        (
            &["firmware", "--set", "surrogate.own_draw=joint"],
            "surrogate.own_draw=features",
        ),
        (&["firmware", "--method", "dpfts"], "no such method"),
        (&["firmware", "--deployment", "ff"], "16 hexadecimal digits"),
        (&["ldp-se"], "trust model local"),
    ] {
        let error = refused(
            &scratch("export-refused"),
            2,
            &[&["export"], arguments, &["--lang", "c"]].concat(),
        );
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

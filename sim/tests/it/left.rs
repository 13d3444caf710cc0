//! The prior file that a simulated federation leaves: the posterior of its releases, the same bytes
//! however it was run, and a label that never reads as a guarantee.

use std::path::Path;
use std::sync::Arc;

use sordino_core::domain::Candidates;
use sordino_core::federated::prior::{
    Filter, PriorProtocol, PublicState, rounded_rows, rounded_rows_scratch_len, scratch_len,
    self_test_scratch_len, storage_len,
};
use sordino_core::prior::{PriorNumbers, PublicPrior, attach_len};
use sordino_engine::federated::context::prior_factor;
use sordino_engine::federated::prior::context::{self, PriorNumbers as Rows};
use sordino_engine::federated::{self, DriverError};
use sordino_engine::{DriverKind, Options};
use sordino_experiment::journal::Journal;
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::Scenario;
use sordino_experiment::world::gp_sample::grid;
use sordino_host::prior::PriorFile;

use crate::util::{
    SMALL, StopAfter, done, files, json, printed, said, scratch, small, sordino, with,
};

/// Three methods, two of which learn something in common.
const SET: [&str; 4] = [
    "federation.methods=[\"ts\",\"dp-prior\",\"prior\"]",
    "prior.points_per_axis=12",
    "prior.releases=[0, 0, 4, 5]",
    "privacy.delta=0.01",
];
const FILE: &str = "prior-dp-prior.safetensors";

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn a_run_leaves_a_file_that_says_that_it_protects_nobody() {
    let folder = scratch("left-run");
    let ran = done(
        &folder,
        &with(&["run", SMALL, "--out", "run", "--format", "json"], &SET),
    );
    let file = PriorFile::load(&folder.join("run").join(FILE)).unwrap();
    let label = &file.label;
    assert!(
        label.simulated && label.note.as_ref().unwrap().contains("no privacy"),
        "{label:?}"
    );
    assert_eq!(
        (
            label.contributors,
            label.releases,
            label.dataset.as_str(),
            label.delta
        ),
        (7, 4, "small", 0.01)
    );
    // ε as the run told it, by another accountant, which rounds up.
    let told = json(&ran)["methods"][1]["losses"][0]["value"]
        .as_f64()
        .unwrap();
    assert!(
        label.epsilon <= told * (1.0 + 1e-9) && label.epsilon > 0.99 * told,
        "{} {told}",
        label.epsilon
    );
    let names: Vec<String> = files(&folder.join("run"))
        .keys()
        .map(|path| path.display().to_string())
        .collect();
    let left: Vec<&String> = names
        .iter()
        .filter(|name| name.ends_with(".safetensors"))
        .collect();
    assert_eq!(left, [FILE, "prior-prior.safetensors"]);
    assert!(text(&folder, "run/README.md").contains("| `prior-METHOD.safetensors` | "));
    assert!(
        text(&folder, "run/transcript.jsonl").contains(&format!("\"prior\":\"{}\"", file.digest()))
    );
    // No sentence of these reads as a guarantee.
    let path = format!("run/{FILE}");
    let shown = printed(&folder, &["prior", "show", &path, "--out", "p.svg"]);
    assert!(
        shown.contains("NOBODY: this is a simulation") && shown.contains("none. Secret noise"),
        "{shown}"
    );
    assert!(
        !shown.contains("right at most") && !shown.contains("against every reader"),
        "{shown}"
    );
    let told: serde_json::Value = serde_json::from_str(&printed(
        &folder,
        &["prior", "show", &path, "--format", "json"],
    ))
    .unwrap();
    for name in ["epsilon", "replace_epsilon", "best_guess"] {
        assert!(told[name].is_null(), "{name}: {told}");
        assert!(
            told["if_noise_were_secret"][name].as_f64().unwrap() > 0.0,
            "{told}"
        );
    }
    assert!(text(&folder, "p.svg").contains("simulated: protects nobody"));
    assert!(printed(&folder, &["prior", "verify", &path]).contains("SIMULATED"));
    // A newcomer may read it, and is told.
    std::fs::write(
        folder.join("space.toml"),
        "goal = \"maximize\"\n[parameters.x1]\nlow = 0\nhigh = 1\n",
    )
    .unwrap();
    let words = [
        "optimize",
        "--space",
        "space.toml",
        "--command",
        "echo $SORDINO_X1",
        "--evaluations",
        "2",
        "--out",
        "new",
    ];
    let searched = sordino(&folder, &[&words[..], &["--prior", &path]].concat());
    assert!(
        searched.status.success() && said(&searched).contains("protects none"),
        "{}",
        said(&searched)
    );
}

#[test]
fn what_no_file_can_say_leaves_none_and_the_folder_says_why() {
    let folder = scratch("left-none");
    let other = [&SET[..], &["surrogate.kernel=\"matern-5/2\""]].concat();
    done(
        &folder,
        &with(&["run", SMALL, "--runs", "1", "--out", "run"], &other),
    );
    let found = files(&folder.join("run"));
    assert!(found.keys().all(|path| {
        path.extension()
            .is_none_or(|ending| ending != "safetensors")
    }));
    let readme = text(&folder, "run/README.md");
    assert!(
        readme.contains(&format!(
            "No `{FILE}`: a prior file has a squared-exponential kernel"
        )),
        "{readme}"
    );
    assert!(
        !readme.contains("METHOD")
            && !text(&folder, "run/transcript.jsonl").contains("\"prior\":\"")
    );
}

fn execute(
    scenario: &Scenario,
    journal: Option<Journal>,
    stop_after: u32,
) -> Result<Vec<MethodRun>, DriverError> {
    let progress = StopAfter::new(stop_after);
    let driver = DriverKind::Lockstep;
    let journal = journal.map(Arc::new);
    federated::run(
        scenario,
        &Options {
            driver,
            journal,
            stop: progress.stop.clone(),
            ..Options::default()
        },
        &progress,
    )
}

/// The file believes what the run's last posterior says, at every candidate: the posterior that
/// anybody computes from the sums that were released, in the scenario's own features and units.
#[test]
fn the_file_has_the_posterior_of_the_last_release() {
    let scenario = small(
        "",
        &[
            &SET[..],
            &["surrogate.signal_variance=2.5", "federation.constant=0.4"],
        ]
        .concat(),
    );
    let results = execute(&scenario, None, u32::MAX).unwrap();
    let run = &results[1];
    let file = PriorFile::parse(&run.prior.as_ref().unwrap().as_ref().unwrap().bytes).unwrap();
    // Later runs leave none, and neither does a method that learns nothing in common.
    assert!(
        results[0].prior.is_none() && results[4].prior.is_none() && results[4].released.is_empty()
    );
    let candidates = grid(60, 1);
    let method = scenario.methods().nth(1).unwrap();
    let landmarks = context::landmarks(&scenario, 1);
    let protocol = context::protocol(&scenario, method, &landmarks, 1, scenario.run_seed(0))
        .unwrap()
        .unwrap();
    let rows = Rows::<f64>::new(&protocol, &landmarks, &candidates, 1).unwrap();
    let m = protocol.config.features();
    let n = protocol.config.design_len();
    let mut posterior = PublicState::new(protocol.config, vec![0.0; storage_len(m)]).unwrap();
    let mut scratch = vec![0.0; scratch_len(m, n)];
    // Designs are weighed by the whole prior, which features alone do not express.
    let surrogate = &scenario.surrogate;
    let dim = 1;
    let kernel = surrogate.kernel.build().unwrap();
    let (factor, _) = prior_factor(&kernel, &candidates, dim, surrogate.prior_tolerance);
    let public = rows.public(&factor).unwrap();
    let mut filter = Filter::new(protocol.plan(), public, &mut posterior, &mut scratch).unwrap();
    let b = filter
        .replay(&run.released, &mut vec![0.0; self_test_scratch_len(m, n)])
        .unwrap();
    // B is of the two releases of round 0: later ones hold points that agents chose by what they
    // had learned.
    let mut early = PublicState::new(protocol.config, vec![0.0; storage_len(m)]).unwrap();
    let mut filter = Filter::new(protocol.plan(), public, &mut early, &mut scratch).unwrap();
    let first = &run.released[..2 * protocol.config.contribution_len()];
    let of_the_first = filter
        .replay_first(first, &mut vec![0.0; self_test_scratch_len(m, n)])
        .unwrap();
    assert_eq!(file.label.self_test.to_bits(), of_the_first.to_bits());
    assert!(b.to_bits() != of_the_first.to_bits());

    let wide = |numbers: &[f32]| numbers.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let points = wide(&file.landmarks);
    let weights = wide(&file.weights);
    let covariance = wide(&file.covariance);
    let numbers = PriorNumbers {
        dim: 1,
        landmarks: &points,
        lengthscale: f64::from(file.label.lengthscale),
        weights: &weights,
        covariance: &covariance,
        self_test: b,
    };
    let mut storage = vec![0.0; attach_len(file.features())];
    let prior = PublicPrior::attach(numbers, &mut storage).unwrap();
    let mut scratch = vec![0.0; file.features()];
    let mut mean_gap = 0.0f64;
    let mut variance_gap = 0.0f64;
    let mut largest = 0.0f64;
    let mut row = vec![0.0; m];
    for (x, phi) in candidates
        .iter()
        .zip(features(&protocol, &landmarks, &candidates).chunks_exact(m))
    {
        let mean: f64 = phi
            .iter()
            .zip(posterior.weights())
            .map(|(a, b)| a * b)
            .sum();
        for (out, line) in row.iter_mut().zip(posterior.covariance().chunks_exact(m)) {
            *out = line.iter().zip(phi).map(|(a, b)| a * b).sum();
        }
        let variance: f64 = phi.iter().zip(&row).map(|(a, b)| a * b).sum();
        let s2 = 2.5;
        let s = 2.5f64.sqrt();
        mean_gap = mean_gap.max((mean / s - prior.mean(&[*x], &mut scratch).unwrap()).abs());
        variance_gap =
            variance_gap.max((variance / s2 - prior.variance(&[*x], &mut scratch).unwrap()).abs());
        largest = largest.max(mean.abs() / s);
    }
    assert!(
        mean_gap < 2e-3 && variance_gap < 2e-3,
        "{mean_gap} {variance_gap}"
    );
    // Negative control: the file says something.
    assert!(largest > 0.2, "{largest}");
}

fn features(protocol: &PriorProtocol, landmarks: &[f64], candidates: &[f64]) -> Vec<f64> {
    let m = protocol.config.features();
    let mut out = vec![0.0; candidates.len() * m];
    let [landmarks, list] =
        [landmarks, candidates].map(|points| Candidates::list(points, 1).unwrap());
    rounded_rows(
        protocol,
        &landmarks,
        &list,
        &mut out,
        &mut vec![0.0; rounded_rows_scratch_len(1, m)],
    )
    .unwrap();
    out
}

#[test]
fn pieces_parts_and_threads_leave_the_same_bytes() {
    // Stopped in every round, before, between and after the releases.
    let scenario = small("", &[&SET[..], &["runs=1"]].concat());
    let reference = execute(&scenario, None, u32::MAX).unwrap();
    assert!(
        reference[1..]
            .iter()
            .all(|run| run.prior.as_ref().is_some_and(Result::is_ok))
    );
    let folder = scratch("left-pieces");
    let mut journal = Journal::create(&folder, &scenario.resolved(), None).unwrap();
    let results = loop {
        match execute(&scenario, Some(journal), 1) {
            Err(DriverError::Interrupted) => {
                journal = Journal::resume(&folder, &scenario.resolved(), None).unwrap()
            }
            results => break results.unwrap(),
        }
    };
    assert_eq!(results, reference);
    let folder = scratch("left-parts");
    let what = with(&["run", SMALL, "--runs", "2"], &SET);
    done(
        &folder,
        &[
            &what[..],
            &["--out", "one", "--threads", "1", "--driver", "lockstep"],
        ]
        .concat(),
    );
    done(
        &folder,
        &[&what[..], &["--out", "two", "--threads", "2"]].concat(),
    );
    for part in ["1/2", "2/2"] {
        done(
            &folder,
            &[&what[..], &["--part", part, "--out", &part[..1]]].concat(),
        );
    }
    done(&folder, &["merge", "2", "1", "--out", "merged"]);
    let one = files(&folder.join("one"));
    assert!(
        one.contains_key(Path::new(FILE))
            && one == files(&folder.join("two"))
            && one == files(&folder.join("merged"))
    );
}

//! What is read from outside.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use sordino_core::digest::Frame;
use sordino_core::wire::{self, Header, Kind, ScalarTag, WireError};
use sordino_engine::federated::{self, DriverError};
use sordino_engine::{DriverKind, Model, Options};
use sordino_experiment::journal::Journal;
use sordino_experiment::progress::{Progress, Stage, Step};
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::{FaultConfig, SHIPPED, Scenario, Shipped};
use sordino_experiment::world::fault::FaultPlan;
use sordino_experiment::world::landmine;
use sordino_lab::execute::executed;
use sordino_lab::sweep::{Plan, grid};

use super::mutate::Form;
use super::refusal::{Refusal, line, place, write};

/// Something that is read.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line, and its folder under `tests/corpus/`.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// What it is made of.
    pub form: Form,
    /// Edits in the tests.
    pub cases: u64,
    /// Inputs that are read without edits.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads one input and says whether it is refused.
    pub check: fn(&[u8]) -> Result<(), Refusal>,
}

/// All targets of the edits.
pub const TARGETS: &[Target] = &[
    Target {
        name: "scenario",
        description: "scenario files of all trust models; what is read reads back from its resolved form",
        form: Form::Text,
        cases: 6000,
        seeds: || {
            SHIPPED
                .iter()
                .map(|shipped| shipped.text.as_bytes().to_vec())
                .collect()
        },
        check: scenario,
    },
    Target {
        name: "setting",
        description: "--set and --seeds of run and sweep, one a line",
        form: Form::Text,
        cases: 1500,
        seeds: || {
            let seeds: [&[u8]; 4] = [
                b"federation.agents=12\n7",
                b"privacy.noise_multiplier=1,2\n0..3",
                b"runs=3\nfederation.rounds=5,60\n1,2,7",
                b"federation.splits=[1],[2]\nname=\"x, y\"\n0..=4",
            ];
            seeds.map(<[u8]>::to_vec).to_vec()
        },
        check: setting,
    },
    Target {
        name: "trace",
        description: "availability traces",
        form: Form::Text,
        cases: 1000,
        seeds: || vec![b"agent,from,to\n1,0,4\n1,8,9\n0,3,3\n".to_vec()],
        check: trace,
    },
    Target {
        name: "landmine",
        description: "data of the mine fields",
        form: Form::Text,
        cases: 1500,
        seeds: || vec![mine_fields().into_bytes()],
        check: |bytes| {
            let tasks = landmine::parse(Path::new("edited"), bytes).map_err(line)?;
            if tasks
                .iter()
                .all(|task| task.train.has_both_labels() && task.test.has_both_labels())
            {
                Ok(())
            } else {
                Err(Refusal::Broken(
                    "a field without both labels was read".into(),
                ))
            }
        },
    },
    Target {
        name: "table",
        description: "CSV tables of the scenarios ldp-stocks and outsourced-hdb, executed in small",
        form: Form::Text,
        cases: 300,
        seeds: || {
            vec![
                b"Date,A,B,C\n1,1,1,5\n2,2,2,3\n3,4,4,4\n4,3,3,4.5\n".to_vec(),
                b"latitude,longitude,price_per_sqm\n1.3,103.8,9000\n1.35,103.9,7000\n1.4,103.7,6500\n1.45,104,8000\n"
                    .to_vec(),
            ]
        },
        check: table,
    },
    Target {
        name: "ledger",
        description: "a ledger of simulated releases, and the same with its chain mended",
        form: Form::Text,
        cases: 600,
        seeds: || vec![super::ledger::seed()],
        check: super::ledger::check,
    },
    Target {
        name: "prior",
        description: "a prior file, also under a digest that fits; what is read is asked",
        form: Form::Binary,
        cases: 3000,
        seeds: || vec![super::prior::seed()],
        check: super::prior::check,
    },
    Target {
        name: "checkpoint",
        description: "the content of a checkpoint under a digest that fits; what is read is gone on with",
        form: Form::Binary,
        cases: 150,
        seeds: || vec![execution().body.clone()],
        check: checkpoint,
    },
    Target {
        name: "frame",
        description: "frames of the wire, also under a checksum that fits",
        form: Form::Binary,
        cases: 6000,
        seeds: frames,
        check: frame,
    },
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file of this process alone.
/// Removes what the targets wrote.
pub fn tidy_up() {
    if let Some(folder) = place("x").parent().and_then(Path::parent) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

fn scenario(bytes: &[u8]) -> Result<(), Refusal> {
    let read = sordino_engine::parse("edited", &text(bytes), &[]).map_err(line)?;
    if !read
        .explain()
        .is_ok_and(|explanation| !explanation.protected.is_empty())
    {
        return Err(Refusal::Broken(
            "whatever can be read can be explained".into(),
        ));
    }
    let once = read.resolved();
    match sordino_engine::parse("resolved", &once, &[]) {
        Ok(again) if again.resolved() == once => Ok(()),
        Ok(again) => Err(Refusal::Broken(format!(
            "reads back as another:\n{once}\n{}",
            again.resolved()
        ))),
        Err(error) => Err(Refusal::Broken(format!(
            "its resolved form is refused: {error}"
        ))),
    }
}

fn setting(bytes: &[u8]) -> Result<(), Refusal> {
    let shipped = &SHIPPED[0];
    let text = text(bytes);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let seeds = lines
        .pop()
        .map(|seeds| grid::seeds(&seeds))
        .transpose()
        .map_err(line)?;
    let plan = Plan::new(shipped.name, shipped.text, &lines, seeds).map_err(line)?;
    let points = plan.points();
    let first = points.first();
    let last = points.last();
    for point in first.into_iter().chain(last) {
        plan.load(point).map_err(|error| {
            Refusal::Broken(format!("a run that was checked is refused: {error}"))
        })?;
        let folder = plan.folder(point);
        if folder.contains(['/', '\\']) || folder.starts_with('.') || folder.len() > 120 {
            return Err(Refusal::Broken(format!(
                "`{folder}` is no name of a folder"
            )));
        }
    }
    Ok(())
}

fn trace(bytes: &[u8]) -> Result<(), Refusal> {
    let path = place("trace.csv");
    write(&path, bytes);
    let config = FaultConfig {
        trace: Some(path),
        ..FaultConfig::default()
    };
    let plan = FaultPlan::new(&config, 3).map_err(line)?;
    // Asked for every agent and the last round there can be.
    let seed = sordino_core::random::RunSeed::new(0, 0);
    for (agent, round) in (0..3).flat_map(|agent| [0, 1, 5, u32::MAX].map(|round| (agent, round))) {
        if round == 0 && plan.fate(seed, agent, 0, round).absent {
            return Err(Refusal::Broken("an agent is away in round 0".into()));
        }
    }
    Ok(())
}

fn mine_fields() -> String {
    let mut lines = vec!["task,row,split,order,label,f1,f2,f3,f4,f5,f6,f7,f8,f9".to_owned()];
    for task in 0..29 {
        for split in ["train", "test"] {
            lines.extend(
                [0, 1].map(|label| format!("{task},0,{split},0,{label},1.5,-2,3e-2,4,5,6,7,8,9")),
            );
        }
    }
    lines.join("\n")
}

fn small(name: &str, settings: &[&str]) -> Box<dyn Model> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    match Shipped::find(name)
        .map(|shipped| sordino_engine::parse(shipped.name, shipped.text, &settings))
    {
        Some(Ok(scenario)) => scenario,
        other => panic!("{name}: {other:?}"),
    }
}

fn table(bytes: &[u8]) -> Result<(), Refusal> {
    static STOCKS: OnceLock<Box<dyn Model>> = OnceLock::new();
    static FLATS: OnceLock<Box<dyn Model>> = OnceLock::new();
    let path = place("table.csv");
    write(&path, bytes);
    let how = Options {
        threads: std::num::NonZeroUsize::new(1),
        data: Some(path),
        ..Options::default()
    };
    let execute = |scenario: &dyn Model| executed(scenario, &how, &()).map_err(line);
    let stocks = STOCKS.get_or_init(|| {
        small(
            "ldp-stocks",
            &[
                "runs=1",
                "learning.rounds=100",
                "users.norm_bound=5",
                "users.noise_bound=5",
            ],
        )
    });
    let first = execute(&**stocks);
    let flats = FLATS.get_or_init(|| {
        small(
            "outsourced-hdb",
            &["runs=1", "modeler.rounds=2", "curator.out_dims=[2]"],
        )
    });
    let second = execute(&**flats);
    // A table for the one is none for the other; both must say so well.
    match (first, second) {
        (Ok(outcome), _) | (_, Ok(outcome)) if outcome.table().is_empty() => {
            Err(Refusal::Broken("no table".into()))
        }
        (Ok(_), _) | (_, Ok(_)) => Ok(()),
        (Err(Refusal::Line(one)), Err(Refusal::Line(other)))
            if one.contains('\n') || other.contains('\n') =>
        {
            Err(Refusal::Line(format!("{one}\n{other}")))
        }
        (Err(refusal), Err(_)) => Err(refusal),
    }
}

/// An execution that was stopped after a few rounds.
struct Execution {
    scenario: Scenario,
    /// Name of its checkpoint.
    name: String,
    /// What the checkpoint begins with: the digest of what it belongs to.
    head: Vec<u8>,
    /// What follows, without the digest.
    body: Vec<u8>,
    ledger: Vec<u8>,
}

const TINY: &str = "name = \"tiny\"\ndescription = \"x\"\nruns = 1\n[objective]\nkind = \"gp-sample\"\npoints_per_axis = 12\n\
lengthscale = 0.2\nnoise_variance = 0.01\n[federation]\nagents = 3\nrounds = 6\ninitial_points = 2\nsplits = [2]\n\
methods = [\"dp-fts-de\"]\n[surrogate]\nfeatures = 4\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1.0\n\
[faults]\nstraggler = 0.5\n";

struct StopAfter(AtomicU32, std::sync::Arc<AtomicBool>);

impl Progress for StopAfter {
    fn advance(&self, step: &Step) {
        if matches!(step.stage, Stage::Done { .. }) && self.0.fetch_sub(1, Ordering::Relaxed) <= 1 {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

fn run(scenario: &Scenario, journal: Journal, rounds: u32) -> Result<Vec<MethodRun>, DriverError> {
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let journal = Some(std::sync::Arc::new(journal));
    let driver = DriverKind::Lockstep;
    let interval = DAY;
    let options = Options {
        driver,
        journal,
        interval,
        stop: stop.clone(),
        ..Options::default()
    };
    federated::run(scenario, &options, &StopAfter(AtomicU32::new(rounds), stop))
}

const DAY: Duration = Duration::from_secs(86_400);

fn execution() -> &'static Execution {
    static EXECUTION: OnceLock<Execution> = OnceLock::new();
    EXECUTION.get_or_init(|| {
        let scenario = Scenario::parse("tiny", TINY, &[]).expect("the tiny scenario");
        let folder = place("execution");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let journal = Journal::create(&folder, &scenario.resolved(), None).expect("a journal");
        assert!(
            matches!(run(&scenario, journal, 4), Err(DriverError::Interrupted)),
            "stopped"
        );
        let state = folder.join("state");
        let files = std::fs::read_dir(&state)
            .expect("the state")
            .flatten()
            .map(|entry| entry.path());
        let path = files
            .into_iter()
            .find(|path| path.extension().is_some_and(|e| e == "checkpoint"));
        let path = path.expect("a checkpoint");
        let bytes = std::fs::read(&path).expect("the checkpoint");
        Execution {
            scenario,
            name: path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name")
                .to_owned(),
            head: bytes[..32].to_vec(),
            body: bytes[32..bytes.len() - 32].to_vec(),
            ledger: std::fs::read(state.join("run-00000.dp-fts-de.ledger.jsonl"))
                .expect("the ledger"),
        }
    })
}

fn checkpoint(body: &[u8]) -> Result<(), Refusal> {
    let execution = execution();
    let folder = place("checkpoint");
    let state = folder.join("state");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&state).expect("a temporary folder");
    write(
        &state.join("scenario.toml"),
        execution.scenario.resolved().as_bytes(),
    );
    write(
        &state.join("run-00000.dp-fts-de.ledger.jsonl"),
        &execution.ledger,
    );
    let mut bytes = [&execution.head[..], body].concat();
    let mut digest = Frame::leaf();
    digest.bytes(&bytes);
    bytes.extend(digest.end().0);
    write(&state.join(&execution.name), &bytes);
    let journal = Journal::resume(&folder, &execution.scenario.resolved(), None).map_err(line)?;
    let results = run(&execution.scenario, journal, u32::MAX).map_err(line)?;
    let rounds = execution.scenario.federation.rounds as usize + 1;
    let are_complete = results
        .iter()
        .all(|run| run.chain.len() == rounds && run.regret.len() == rounds);
    if results.len() == 1 && are_complete {
        Ok(())
    } else {
        Err(Refusal::Broken(
            "the execution that was gone on with is not complete".into(),
        ))
    }
}
/// What stands above the numbers of a frame of this kind.
fn header(kind: Kind) -> Header {
    Header {
        version: wire::VERSION,
        kind,
        scalar: ScalarTag::F64,
        deployment: 7,
        config: u64::MAX,
        chain: 1 << 40,
        agent: 3,
        round: 300,
        attempt: 2,
        len: 0,
    }
}

fn frames() -> Vec<Vec<u8>> {
    let mut out = vec![0; wire::frame_len_max(ScalarTag::F64, 5)];
    let long = wire::encode(
        header(Kind::Upload),
        &[1.0, -0.5, f64::NAN, 0.0, 1e300],
        &mut out,
    )
    .expect("a frame");
    let first = out[..long].to_vec();
    let short = wire::encode(header(Kind::Report), &[2.5f32], &mut out).expect("a frame");
    let second = out[..short].to_vec();
    let none = wire::encode::<f32>(header(Kind::NoBroadcast), &[], &mut out).expect("a frame");
    vec![first, second, out[..none].to_vec()]
}

/// Numbers of a frame that are admitted.
const LEN_MAX: u32 = 16;

fn frame(bytes: &[u8]) -> Result<(), Refusal> {
    match wire::decode(bytes, LEN_MAX) {
        // The checksum hides what stands behind it: the same frame once more under one that fits.
        Err(WireError::Checksum { computed, .. }) => {
            let mut sealed = bytes.to_vec();
            let at = sealed.len() - 4;
            sealed[at..].copy_from_slice(&computed.to_le_bytes());
            read_frame(&sealed)
        }
        _ => read_frame(bytes),
    }
}

fn read_frame(bytes: &[u8]) -> Result<(), Refusal> {
    let (header, payload) = wire::decode(bytes, LEN_MAX).map_err(line)?;
    let len = header.len as usize;
    if header.len > LEN_MAX {
        return Err(Refusal::Broken("longer than admitted".into()));
    }
    let mut single = vec![0f32; len];
    let mut double = vec![0f64; len];
    let mut out = vec![0; wire::frame_len_max(header.scalar, len)];
    let again = match header.scalar {
        ScalarTag::F32 => payload
            .read(&mut single)
            .and_then(|()| wire::encode(header, &single, &mut out)),
        ScalarTag::F64 => payload
            .read(&mut double)
            .and_then(|()| wire::encode(header, &double, &mut out)),
        ScalarTag::I64 => return Ok(()),
    };
    // Numbers of variable length may be written longer than needed: the frame that is written is
    // read as the same.
    let used =
        again.map_err(|error| Refusal::Broken(format!("cannot be written again: {error}")))?;
    match wire::decode(&out[..used], LEN_MAX) {
        Ok((found, _)) if found == header => Ok(()),
        other => Err(Refusal::Broken(format!("reads back as {other:?}"))),
    }
}

//! Every key of a scenario: its type, its range, its default.

use sordino_core::federated::{CLIPPING_NORM, NOISE_MULTIPLIER, OwnDraw};
use sordino_core::kernel::Stationary;
use sordino_core::schedule::Mixing;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::reader::{Problem, ScenarioError, Section};
use super::{
    FederationConfig, GpSampleConfig, KernelConfig, ObjectiveConfig, PrivacyConfig, ScalarKind, Scenario,
    SurrogateConfig, Trust, TuningConfig,
};
use crate::model::federated::Method;
use crate::world::fault::FaultConfig;

/// Agents of the model-tuning objectives: their data sets decide.
const LANDMINE_AGENTS: u64 = 29;
const WINE_AGENTS: u64 = 16;
/// The most sub-regions that core's domain may be split into.
const REGIONS_MAX: u32 = 64;

/// Reads TOML with settings applied; `read` takes the keys.
pub(super) fn with_root<S>(
    source: &str,
    text: &str,
    settings: &[String],
    read: impl FnOnce(Section) -> Result<S, Problem>,
) -> Result<S, ScenarioError> {
    let error = |line, problem| ScenarioError { source: source.to_owned(), line, problem };
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map(|span| line_at(text, span.start));
        error(line, Problem::Syntax { message: e.message().replace('\n', "; ") })
    })?;
    for setting in settings {
        apply(&mut table, setting).map_err(|problem| ScenarioError { source: "--set".into(), line: None, problem })?;
    }
    read(Section::root(table)).map_err(|problem| {
        let set = problem.key().is_some_and(|key| {
            settings.iter().any(|setting| setting.split_once('=').is_some_and(|(name, _)| name.trim() == key))
        });
        if set {
            ScenarioError { source: "--set".into(), line: None, problem }
        } else {
            error(problem.key().and_then(|key| line_of(text, key)), problem)
        }
    })
}

/// Writes one `section.key=value` into the table; the value is TOML, or a bare word taken as text.
fn apply(table: &mut Table, setting: &str) -> Result<(), Problem> {
    let malformed = || Problem::Setting { setting: setting.to_owned() };
    let (path, text) = setting.split_once('=').ok_or_else(malformed)?;
    let keys: Vec<&str> = path.trim().split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err(malformed());
    }
    let text = text.trim();
    let value = format!("x = {text}")
        .parse::<Table>()
        .ok()
        .filter(|parsed| parsed.len() == 1)
        .and_then(|mut parsed| parsed.remove("x"))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    let (last, sections) = keys.split_last().ok_or_else(malformed)?;
    let mut table = table;
    for section in sections {
        let entry = table.entry((*section).to_owned()).or_insert_with(|| Value::Table(Table::new()));
        table = entry.as_table_mut().ok_or_else(malformed)?;
    }
    table.insert((*last).to_owned(), value);
    Ok(())
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// Line of a dotted key, or of the deepest of its sections that the text has.
fn line_of(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (mut table, mut found) = (root.get_ref(), None);
    for key in path.split('.') {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref().as_ref() == key) else {
            break;
        };
        found = Some(line_at(text, Spanned::span(name).start));
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    found
}

pub(super) fn federated(mut root: Section) -> Result<Scenario, Problem> {
    root.choice("trust", &[(Trust::Federated.name(), ())], Some(()))?;
    root.only(&["name", "description", "seed", "runs", "objective", "federation", "surrogate", "privacy", "faults"])?;
    let name = root.text("name")?;
    let description = root.text("description")?;
    let seed = root.integer("seed", 0..=i64::MAX as u64, Some(0))?;
    let runs = root.integer("runs", 1..=100_000, Some(10))? as u32;
    let objective = objective(root.section("objective")?)?;
    let federation = federation(root.section("federation")?, &objective)?;
    let surrogate = surrogate(root.section("surrogate")?, &objective)?;
    let privacy = privacy(root.section("privacy")?, &federation, &surrogate)?;
    let faults = faults(root.section("faults")?)?;
    root.finish()?;
    Ok(Scenario { name, description, seed, runs, objective, federation, surrogate, privacy, faults })
}

#[derive(Clone, Copy)]
enum Kind {
    GpSample,
    Landmine,
    Winequality,
}

fn objective(mut section: Section) -> Result<ObjectiveConfig, Problem> {
    let kinds = [("gp-sample", Kind::GpSample), ("landmine", Kind::Landmine), ("winequality", Kind::Winequality)];
    let objective = match section.choice("kind", &kinds, None)? {
        Kind::GpSample => {
            section.only(&[
                "kind",
                "dim",
                "points_per_axis",
                "kernel",
                "lengthscale",
                "signal_variance",
                "noise_variance",
                "perturbation",
            ])?;
            let dim = section.integer("dim", 1..=2, Some(1))? as usize;
            let most = if dim == 1 { 20_000 } else { 100 };
            ObjectiveConfig::GpSample(GpSampleConfig {
                dim,
                points_per_axis: section.integer("points_per_axis", 2..=most, None)? as u32,
                kernel: kernel(&mut section, None)?,
                noise_variance: section.number("noise_variance", 0.0..=1e6, "a number from 0 to 1e6", None)?,
                perturbation: section.number("perturbation", 0.0..=1e3, "a number from 0 to 1000", Some(0.0))?,
            })
        }
        Kind::Landmine => ObjectiveConfig::Landmine(tuning(&mut section)?),
        Kind::Winequality => ObjectiveConfig::Winequality(tuning(&mut section)?),
    };
    section.finish()?;
    Ok(objective)
}

fn tuning(section: &mut Section) -> Result<TuningConfig, Problem> {
    section.only(&["kind", "candidates"])?;
    Ok(TuningConfig { candidates: section.integer("candidates", 16..=10_000, Some(1000))? as u32 })
}

pub(crate) fn kernel(section: &mut Section, default: Option<KernelConfig>) -> Result<KernelConfig, Problem> {
    let kinds = Stationary::ALL.map(|kind| (kind.name(), kind));
    Ok(KernelConfig {
        kernel: section.choice("kernel", &kinds, Some(default.map_or(Stationary::SquaredExponential, |k| k.kernel)))?,
        lengthscale: section.number(
            "lengthscale",
            1e-3..=1e3,
            "a number from 0.001 to 1000, in units of the unit box",
            default.map(|k| k.lengthscale),
        )?,
        signal_variance: section.number(
            "signal_variance",
            1e-6..=1e6,
            "a number from 1e-6 to 1e6",
            Some(default.map_or(1.0, |k| k.signal_variance)),
        )?,
    })
}

fn federation(mut section: Section, objective: &ObjectiveConfig) -> Result<FederationConfig, Problem> {
    let parts_max = match objective {
        ObjectiveConfig::GpSample(config) => config.points_per_axis.min(REGIONS_MAX),
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => 4,
    };
    let (dim, agents, agents_default) = match objective {
        ObjectiveConfig::GpSample(config) => (config.dim, 1..=1_000_000, None),
        ObjectiveConfig::Landmine(_) => (2, LANDMINE_AGENTS..=LANDMINE_AGENTS, Some(LANDMINE_AGENTS)),
        ObjectiveConfig::Winequality(_) => (2, WINE_AGENTS..=WINE_AGENTS, Some(WINE_AGENTS)),
    };
    let methods = Method::ALL.map(|method| (method.name(), method));
    section.only(&["agents", "rounds", "initial_points", "splits", "mixing", "methods", "constant"])?;
    let path = section.path_of("splits");
    let config = FederationConfig {
        agents: section.integer("agents", agents, agents_default)? as u32,
        rounds: section.integer("rounds", 1..=10_000, None)? as u32,
        initial_points: section.integer("initial_points", 1..=1_000, None)? as u32,
        splits: section
            .integers("splits", dim, 1..=u64::from(parts_max), 1)?
            .into_iter()
            .map(|parts| parts as u32)
            .collect(),
        mixing: section.choice(
            "mixing",
            &[("inverse-sqrt", Mixing::InverseSqrt), ("inverse", Mixing::Inverse)],
            Some(Mixing::InverseSqrt),
        )?,
        methods: section.choices("methods", &methods, &Method::ALL)?,
        constant: section.number("constant", -1e6..=1e6, "a number from -1e6 to 1e6", Some(0.0))?,
    };
    section.finish()?;
    if config.regions() > REGIONS_MAX {
        return Err(Problem::Value {
            key: path,
            value: format!("{:?}", config.splits),
            admissible: format!("parts whose product is at most {REGIONS_MAX}"),
        });
    }
    if config.regions() > config.agents {
        return Err(Problem::Value {
            key: path,
            value: format!("{:?}", config.splits),
            admissible: format!(
                "parts whose product is at most the number of agents, {}: every region needs one that explores it",
                config.agents
            ),
        });
    }
    Ok(config)
}

fn faults(mut section: Section) -> Result<FaultConfig, Problem> {
    section.only(&[
        "dropout",
        "outage",
        "crash",
        "crash_rounds",
        "straggler",
        "loss",
        "broadcast_loss",
        "duplicate",
        "corrupt",
        "oversize",
        "reorder",
        "trace",
    ])?;
    let mut probability = |key| section.number(key, 0.0..=1.0, "a probability from 0 to 1", Some(0.0));
    let mut config = FaultConfig {
        dropout: probability("dropout")?,
        outage: probability("outage")?,
        crash: probability("crash")?,
        straggler: probability("straggler")?,
        loss: probability("loss")?,
        broadcast_loss: probability("broadcast_loss")?,
        duplicate: probability("duplicate")?,
        corrupt: probability("corrupt")?,
        oversize: probability("oversize")?,
        reorder: probability("reorder")?,
        crash_rounds: 0,
        trace: None,
    };
    config.crash_rounds = section.integer("crash_rounds", 1..=64, Some(3))? as u32;
    config.trace = section.optional_text("trace")?.map(std::path::PathBuf::from);
    section.finish()?;
    Ok(config)
}

fn surrogate(mut section: Section, objective: &ObjectiveConfig) -> Result<SurrogateConfig, Problem> {
    let truth = match objective {
        ObjectiveConfig::GpSample(config) => Some((config.kernel, config.noise_variance)),
        ObjectiveConfig::Landmine(_) | ObjectiveConfig::Winequality(_) => None,
    };
    section.only(&[
        "kernel",
        "lengthscale",
        "signal_variance",
        "noise_variance",
        "features",
        "feature_seed",
        "regularization",
        "normalize_features",
        "own_draw",
        "prior_tolerance",
        "scalar",
    ])?;
    let positive = "a number from 1e-9 to 1e6";
    let kernel = kernel(&mut section, truth.map(|(kernel, _)| kernel))?;
    // A noise-free objective still needs a positive noise variance in the surrogate.
    let noise = truth.map(|(_, noise)| noise.max(1e-6));
    let noise_variance = section.number("noise_variance", 1e-9..=1e6, positive, noise)?;
    let config = SurrogateConfig {
        kernel,
        noise_variance,
        features: section.integer("features", 2..=4096, None)? as u32,
        feature_seed: section.integer("feature_seed", 0..=i64::MAX as u64, Some(0))?,
        regularization: section.number("regularization", 1e-9..=1e6, positive, Some(noise_variance))?,
        normalize_features: section.flag("normalize_features", true)?,
        own_draw: section.choice(
            "own_draw",
            &[("joint", OwnDraw::Joint), ("features", OwnDraw::Features)],
            Some(OwnDraw::Joint),
        )?,
        prior_tolerance: section.number(
            "prior_tolerance",
            1e-14..=1.0,
            "a number from 1e-14 to 1, in units of y squared",
            Some(1e-8),
        )?,
        scalar: section.choice(
            "scalar",
            &[("f64", ScalarKind::F64), ("f32", ScalarKind::F32)],
            Some(ScalarKind::F64),
        )?,
    };
    section.finish()?;
    Ok(config)
}

fn privacy(
    mut section: Section,
    federation: &FederationConfig,
    surrogate: &SurrogateConfig,
) -> Result<PrivacyConfig, Problem> {
    section.only(&[
        "sampling_probability",
        "noise_multiplier",
        "clipping_norm",
        "grid_exponent",
        "delta",
        "weight_concentration",
        "max_epsilon",
    ])?;
    let agents = f64::from(federation.agents);
    let length = f64::from(surrogate.features) * f64::from(federation.regions());
    let config = PrivacyConfig {
        sampling_probability: section.number(
            "sampling_probability",
            1e-6..=1.0,
            "a probability from 1e-6 to 1",
            None,
        )?,
        noise_multiplier: section.number_within("noise_multiplier", NOISE_MULTIPLIER, None)?,
        // An unclipped vector has about the norm of its prior draw, √M in each of P regions.
        clipping_norm: section.number_within("clipping_norm", CLIPPING_NORM, Some(1.1 * length.sqrt()))?,
        grid_exponent: section.integer("grid_exponent", 16..=20, Some(20))? as u32,
        delta: section.number("delta", 1e-15..=0.5, "a number from 1e-15 to 0.5", Some(agents.powf(-1.1).min(0.5)))?,
        weight_concentration: section.number(
            "weight_concentration",
            0.0..=100.0,
            "a number from 0 to 100",
            Some(15.0),
        )?,
        max_epsilon: section.optional_number("max_epsilon", 1e-6..=1e6, "a number from 1e-6 to 1e6")?,
    };
    section.finish()?;
    Ok(config)
}

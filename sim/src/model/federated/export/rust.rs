//! The constants as a Rust module over `sordino-core`.

use sordino_core::federated::exchange::{DrawsProtocol, Protocol};
use sordino_core::federated::prior::{PriorProtocol, levels};

use super::constants::{Export, Points, bytes};
use crate::scenario::ScalarKind;

/// A constant: what it is, its name, type and value.
type Constant = (&'static str, &'static str, &'static str, String);

/// The whole module, as it is checked in for a test.
pub(super) fn text(export: &Export) -> String {
    let number = match export.scalar {
        ScalarKind::F32 => "f32",
        ScalarKind::F64 => "f64",
    };
    let seeds: String = export.seeds().iter().map(|line| format!("//! {line}\n")).collect();
    let (uses, constants, landmarks) = match &export.agreement.protocol {
        Protocol::Draws(draws) => (OF_DRAWS, of_draws(export, draws), String::new()),
        Protocol::Prior(prior) => (OF_PRIOR, of_prior(export, prior), landmarks(export)),
        // None is exported: a campaign is made of a space, and no device runs the others.
        Protocol::Campaign(_) | Protocol::Vote(_) | Protocol::Own(_) => (OF_PRIOR, Vec::new(), landmarks(export)),
    };
    let constants: String = constants
        .into_iter()
        .map(|(doc, name, of, value)| format!("/// {doc}\npub const {name}: {of} = {value};\n"))
        .collect();
    let array = |doc: &str, name: &str, values: &[u8]| {
        let (len, values) = (values.len(), bytes(values));
        format!("/// {doc}\n#[rustfmt::skip]\npub const {name}: [u8; {len}] = [\n{values}];\n")
    };
    format!(
        "//! Scenario `{name}`, method `{method}`, for a device: written by `sordino export`, not by hand.\n//!\n{seeds}\n\
         {uses}\n\
         /// The format that agents compute with and frames carry.\npub type Number = {number};\n\
         {constants}{digest}{agreement}{points}{landmarks}\n\
         /// What all parties agree on. **Errors**: none for the bytes above.\n\
         pub fn agreement() -> Result<Agreement, AgreementError> {{\n    Agreement::from_bytes(&AGREEMENT)\n}}\n",
        name = export.name,
        method = export.method.name(),
        digest =
            array("Digest of the agreement; frames carry its first 64 bits.", "DIGEST", &export.agreement.digest().0),
        agreement = array("The agreement, as `Agreement::from_bytes` reads it.", "AGREEMENT", &export.bytes),
        points = points(export),
    )
}

/// What a module of an agent that shares draws uses.
const OF_DRAWS: &str = "use sordino_core::domain::{Candidates, DomainError};\n\
    use sordino_core::features::random_fourier::storage_len;\n\
    use sordino_core::federated::exchange::{Agreement, AgreementError};\n\
    use sordino_core::federated::{AgentState, Entry, Sizes, small};\n\
    use sordino_core::snapshot::max_bytes;\n\
    use sordino_core::wire::{ScalarTag, frame_len_max};\n";

/// What a module of a member of a federated prior uses.
const OF_PRIOR: &str = "use sordino_core::domain::{Candidates, DomainError};\n\
    use sordino_core::federated::exchange::{Agreement, AgreementError};\n\
    use sordino_core::federated::prior::agent::{log_len, workspace_len};\n\
    use sordino_core::federated::prior::{member_scratch_len, posterior_len};\n\
    use sordino_core::wire::{ScalarTag, frame_len_max};\n";

/// The format tag of the frames.
fn tag(export: &Export) -> &'static str {
    match export.scalar {
        ScalarKind::F32 => "F32",
        ScalarKind::F64 => "F64",
    }
}

fn of_draws(export: &Export, draws: &DrawsProtocol) -> Vec<Constant> {
    let (parameters, sizes, tag) = (draws.config.parameters(), export.sizes(draws), tag(export));
    let regions = parameters.regions.count().to_string();
    let constant = |doc, name, value: &str| (doc, name, "usize", value.to_owned());
    vec![
        constant("D, axes of the domain.", "DIM", &sizes.dim.to_string()),
        constant("M, shared features.", "FEATURES", &sizes.features.to_string()),
        constant("P, sub-regions, a vector of a broadcast for each.", "REGIONS", &regions),
        constant("N_init + T, observations of a whole run.", "OBSERVATIONS", &sizes.observations.to_string()),
        ("Memory of the agent.", "SIZES", "Sizes", "Sizes::new(DIM, FEATURES, OBSERVATIONS)".to_owned()),
        constant("Numbers of the features, drawn once a boot.", "FEATURES_LEN", "storage_len(DIM, FEATURES)"),
        constant("Bytes of the longest upload.", "UPLOAD_BYTES", &format!("frame_len_max(ScalarTag::{tag}, FEATURES)")),
        constant("Bytes of an upload in 16 bits a number.", "SMALL_UPLOAD_BYTES", "small::frame_len(FEATURES)"),
        constant(
            "Bytes of the longest broadcast.",
            "BROADCAST_BYTES",
            &format!("frame_len_max(ScalarTag::{tag}, FEATURES * REGIONS)"),
        ),
        constant("Bytes of a stored state.", "STATE_BYTES", "max_bytes::<AgentState>()"),
        constant("Bytes of a stored observation.", "ENTRY_BYTES", "max_bytes::<Entry<Number>>()"),
    ]
}

fn of_prior(export: &Export, prior: &PriorProtocol) -> Vec<Constant> {
    let (p, frame) = (prior.config.parameters(), format!("frame_len_max(ScalarTag::{}, FEATURES + 1)", tag(export)));
    let levels = levels(&prior.models::<f64>()).to_string();
    let constant = |doc, name, value: String| (doc, name, "usize", value);
    let said = |doc, name, value: &str| constant(doc, name, value.to_owned());
    vec![
        constant("D, axes of the domain.", "DIM", export.agreement.dim.to_string()),
        constant("Points that may be queried.", "CANDIDATES", export.candidates().to_string()),
        constant("M, features of the posterior, one for each landmark.", "FEATURES", p.feature_count.to_string()),
        constant("Observations before the first release.", "INITIAL_POINTS", p.initial_points.to_string()),
        constant("T, queries after them.", "ROUNDS", prior.rounds.to_string()),
        said("Observations of a whole run.", "OBSERVATIONS", "INITIAL_POINTS + ROUNDS"),
        constant("Releases, each with a frame down and a contribution up.", "RELEASES", prior.releases().to_string()),
        constant(
            "Virtual designs, of which each has as many points as an agent first.",
            "DESIGNS",
            p.designs.to_string(),
        ),
        constant("Factors of an agent's models.", "LEVELS", levels),
        said("Numbers of the log.", "LOG_LEN", "log_len(INITIAL_POINTS, ROUNDS)"),
        said("Numbers of the workspace.", "WORKSPACE_LEN", "workspace_len(OBSERVATIONS, FEATURES, FEATURES, LEVELS)"),
        said("Numbers of the posterior with its moments.", "POSTERIOR_LEN", "posterior_len(FEATURES)"),
        said("Of which these, w and Σ, are to be stored.", "STORED_LEN", "FEATURES + FEATURES * FEATURES"),
        said("Numbers of scratch.", "SCRATCH_LEN", "member_scratch_len(FEATURES, INITIAL_POINTS)"),
        said("Numbers of the features of all candidates.", "FEATURE_ROWS_LEN", "CANDIDATES * FEATURES"),
        constant("Bytes of a contribution.", "UPLOAD_BYTES", frame.clone()),
        constant("Bytes of the sums of a release.", "BROADCAST_BYTES", frame),
    ]
}

/// The landmarks in double precision, as their digest is made.
fn landmarks(export: &Export) -> String {
    let (list, len) =
        (listed(&export.landmarks, export.agreement.dim as usize, |x| format!("{x:?}")), export.landmarks.len());
    format!(
        "/// The landmarks of the features in the unit box, one a line.\n#[rustfmt::skip]\n\
         pub static LANDMARKS: [f64; {len}] = [\n{list}];\n"
    )
}

/// Points, one a line.
fn listed(points: &[f64], dim: usize, number: impl Fn(&f64) -> String) -> String {
    let line = |point: &[f64]| format!("    {},\n", point.iter().map(&number).collect::<Vec<_>>().join(", "));
    points.chunks(dim).map(line).collect()
}

fn points(export: &Export) -> String {
    let (constant, list) = match &export.points {
        Points::Grid(per_axis) => (
            format!(
                "/// Points along one axis of the grid of candidates.\npub const POINTS_PER_AXIS: u32 = {per_axis};\n"
            ),
            "grid(POINTS_PER_AXIS, DIM)",
        ),
        Points::List(points) => {
            let narrow = export.scalar == ScalarKind::F32;
            let number = |x: &f64| if narrow { format!("{:?}", *x as f32) } else { format!("{x:?}") };
            let lines = listed(points, export.agreement.dim as usize, number);
            let doc = "/// The candidates in the unit box, one a line.";
            (
                format!("{doc}\n#[rustfmt::skip]\npub static POINTS: [Number; {}] = [\n{lines}];\n", points.len()),
                "list(&POINTS, DIM)",
            )
        }
    };
    format!(
        "{constant}\n/// The points that may be queried. **Errors**: none for these numbers.\n\
         pub fn candidates() -> Result<Candidates<'static, Number>, DomainError> {{\n    Candidates::{list}\n}}\n"
    )
}

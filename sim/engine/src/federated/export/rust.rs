//! The constants as a Rust module over `sordino-core`.

use sordino_core::federated::exchange::{DrawsProtocol, Protocol};
use sordino_core::federated::prior::PriorProtocol;
use sordino_experiment::scenario::ScalarKind;

use super::constants::{Export, Points, bytes};

/// A constant: what it is, its name, type and value.
type Constant = (&'static str, &'static str, &'static str, String);

/// The whole module, as it is checked in for a test.
pub(super) fn text(export: &Export) -> String {
    let number = match export.scalar {
        ScalarKind::F32 => "f32",
        ScalarKind::F64 => "f64",
    };
    let seeds: String = export
        .seeds()
        .iter()
        .map(|line| format!("//! {line}\n"))
        .collect();
    let (uses, constants) = match &export.agreement.protocol {
        Protocol::Draws(draws) => (OF_DRAWS, of_draws(export, draws)),
        Protocol::Prior(prior) => (OF_PRIOR, of_prior(export, prior)),
        // None is exported: a campaign is made of a space, and no device runs the others.
        Protocol::Campaign(_) | Protocol::Vote(_) | Protocol::Own(_) => (OF_PRIOR, Vec::new()),
    };
    // A member computes its features in double precision, of points whose digests are made in it.
    let places = match &export.agreement.protocol {
        Protocol::Draws(_) => points(export, &export.points, &CANDIDATES, "Number"),
        _ => {
            let candidates = points(export, &export.points, &CANDIDATES, "f64");
            candidates + "\n" + &points(export, &export.landmarks, &LANDMARKS, "f64")
        }
    };
    let constants: String = constants
        .into_iter()
        .map(|(doc, name, of, value)| format!("/// {doc}\npub const {name}: {of} = {value};\n"))
        .collect();
    format!(
        "//! Scenario `{name}`, method `{method}`, for a device: written by `sordino export`, not by hand.\n//!\n{seeds}\n\
         {uses}\n\
         /// The format that agents compute with and frames carry.\npub type Number = {number};\n\
         {constants}{digest}{agreement}{places}\n\
         /// What all parties agree on. **Errors**: none for the bytes above.\n\
         pub fn agreement() -> Result<Agreement, AgreementError> {{\n    Agreement::from_bytes(&AGREEMENT)\n}}\n",
        name = export.name,
        method = export.method.name(),
        digest = array(
            "Digest of the agreement; frames carry its first 64 bits.",
            "DIGEST",
            &export.agreement.digest().0
        ),
        agreement = array(
            "The agreement, as `Agreement::from_bytes` reads it.",
            "AGREEMENT",
            &export.bytes
        ),
    )
}

/// An array of bytes: what it is, its name and values.
fn array(doc: &str, name: &str, values: &[u8]) -> String {
    let len = values.len();
    let values = bytes(values);
    format!("/// {doc}\n#[rustfmt::skip]\npub const {name}: [u8; {len}] = [\n{values}];\n")
}

/// A size or a number of things: what it is, its name and value.
fn constant(doc: &'static str, name: &'static str, value: impl Into<String>) -> Constant {
    (doc, name, "usize", value.into())
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
    use sordino_core::federated::prior::MemberSizes;\n\
    use sordino_core::federated::shares::{Modulus, Trust};\n\
    use sordino_core::wire::{ScalarTag, frame_len_max};\n";

/// The format tag of the frames.
fn tag(export: &Export) -> &'static str {
    match export.scalar {
        ScalarKind::F32 => "F32",
        ScalarKind::F64 => "F64",
    }
}

fn of_draws(export: &Export, draws: &DrawsProtocol) -> Vec<Constant> {
    let parameters = draws.config.parameters();
    let sizes = export.sizes(draws);
    let tag = tag(export);
    let regions = parameters.regions.count().to_string();
    vec![
        constant("D, axes of the domain.", "DIM", sizes.dim.to_string()),
        constant(
            "M, shared features.",
            "FEATURES",
            sizes.features.to_string(),
        ),
        constant(
            "P, sub-regions, a vector of a broadcast for each.",
            "REGIONS",
            regions,
        ),
        constant(
            "N_init + T, observations of a whole run.",
            "OBSERVATIONS",
            sizes.observations.to_string(),
        ),
        (
            "Memory of the agent.",
            "SIZES",
            "Sizes",
            "Sizes::new(DIM, FEATURES, OBSERVATIONS)".to_owned(),
        ),
        constant(
            "Numbers of the features, drawn once a boot.",
            "FEATURES_LEN",
            "storage_len(DIM, FEATURES)",
        ),
        constant(
            "Bytes of the longest upload.",
            "UPLOAD_BYTES",
            format!("frame_len_max(ScalarTag::{tag}, FEATURES)"),
        ),
        constant(
            "Bytes of an upload in 16 bits a number.",
            "SMALL_UPLOAD_BYTES",
            "small::frame_len(FEATURES)",
        ),
        constant(
            "Bytes of the longest broadcast.",
            "BROADCAST_BYTES",
            format!("frame_len_max(ScalarTag::{tag}, FEATURES * REGIONS)"),
        ),
        constant(
            "Bytes of a stored state.",
            "STATE_BYTES",
            "max_bytes::<AgentState>()",
        ),
        constant(
            "Bytes of a stored observation.",
            "ENTRY_BYTES",
            "max_bytes::<Entry<Number>>()",
        ),
    ]
}

fn of_prior(export: &Export, prior: &PriorProtocol) -> Vec<Constant> {
    let p = prior.config.parameters();
    let frame = format!("frame_len_max(ScalarTag::{}, FEATURES + 1)", tag(export));
    let trust = format!("Trust::{:?}", p.trust);
    let sizes =
        "MemberSizes::new(CANDIDATES, FEATURES, INITIAL_POINTS, ROUNDS, DESIGNS)".to_owned();
    vec![
        constant(
            "D, axes of the domain.",
            "DIM",
            export.agreement.dim.to_string(),
        ),
        constant(
            "Points that may be queried.",
            "CANDIDATES",
            export.candidates().to_string(),
        ),
        constant(
            "M, features of the posterior, one for each landmark.",
            "FEATURES",
            p.feature_count.to_string(),
        ),
        constant(
            "Observations before the first release.",
            "INITIAL_POINTS",
            p.initial_points.to_string(),
        ),
        constant("T, queries after them.", "ROUNDS", prior.rounds.to_string()),
        constant(
            "Observations of a whole run.",
            "OBSERVATIONS",
            "INITIAL_POINTS + ROUNDS",
        ),
        constant(
            "Releases, each with a frame down and a contribution up.",
            "RELEASES",
            prior.releases().to_string(),
        ),
        constant(
            "Virtual designs, of which each has as many points as an agent first.",
            "DESIGNS",
            p.designs.to_string(),
        ),
        (
            "One server that sees contributions, or two of which neither does.",
            "TRUST",
            "Trust",
            trust,
        ),
        ("Memory of the member.", "SIZES", "MemberSizes", sizes),
        constant("Bytes of a contribution.", "UPLOAD_BYTES", frame.clone()),
        constant("Bytes of the sums of a release.", "BROADCAST_BYTES", frame),
        constant(
            "Bytes that follow a frame without numbers where there are two servers, at most.",
            "HIDDEN_BYTES",
            "Modulus::Bits64.hidden_len(FEATURES + 1)",
        ),
    ]
}

/// A list of points in Rust: what it is, and what its array and function are called.
struct Named {
    axis: (&'static str, &'static str),
    array: (&'static str, &'static str),
    function: (&'static str, &'static str),
}

const CANDIDATES: Named = Named {
    axis: (
        "Points along one axis of the grid of candidates.",
        "POINTS_PER_AXIS",
    ),
    array: ("The candidates in the unit box, one a line.", "POINTS"),
    function: ("The points that may be queried.", "candidates"),
};
const LANDMARKS: Named = Named {
    axis: (
        "Points along one axis of the grid of landmarks.",
        "LANDMARKS_PER_AXIS",
    ),
    array: (
        "The landmarks of the features in the unit box, one a line.",
        "LANDMARKS",
    ),
    function: ("The points that the features are made of.", "landmarks"),
};

fn points(export: &Export, points: &Points, named: &Named, number: &str) -> String {
    let (constant, list) = match points {
        Points::Grid(per_axis) => {
            let (doc, name) = named.axis;
            (
                format!("/// {doc}\npub const {name}: u32 = {per_axis};\n"),
                format!("grid({name}, DIM)"),
            )
        }
        Points::List(points) => {
            let narrow = number == "Number" && export.scalar == ScalarKind::F32;
            let mut lines = String::new();
            for point in points.chunks(export.agreement.dim as usize) {
                let numbers = point.iter().map(|x| match narrow {
                    true => format!("{:?}", *x as f32),
                    false => format!("{x:?}"),
                });
                lines += &format!("    {},\n", numbers.collect::<Vec<_>>().join(", "));
            }
            let (doc, name) = named.array;
            let len = points.len();
            (
                format!(
                    "/// {doc}\n#[rustfmt::skip]\npub static {name}: [{number}; {len}] = [\n{lines}];\n"
                ),
                format!("list(&{name}, DIM)"),
            )
        }
    };
    let (doc, function) = named.function;
    format!(
        "{constant}\n/// {doc} **Errors**: none for these numbers.\n\
         pub fn {function}() -> Result<Candidates<'static, {number}>, DomainError> {{\n    Candidates::{list}\n}}\n"
    )
}

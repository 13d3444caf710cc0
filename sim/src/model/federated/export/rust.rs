//! The constants as a Rust module over `sordino-core`.

use super::constants::{Export, Points, bytes};
use crate::scenario::ScalarKind;

/// The whole module, as it is checked in for a test.
pub(super) fn text(export: &Export) -> String {
    let (parameters, sizes) = (export.agreement.config.parameters(), export.sizes());
    let [number, tag] = match export.scalar {
        ScalarKind::F32 => ["f32", "F32"],
        ScalarKind::F64 => ["f64", "F64"],
    };
    let seeds: String = export.seeds().iter().map(|line| format!("//! {line}\n")).collect();
    let constants = [
        ("D, axes of the domain.", "DIM", "usize", sizes.dim.to_string()),
        ("M, shared features.", "FEATURES", "usize", sizes.features.to_string()),
        (
            "P, sub-regions, a vector of a broadcast for each.",
            "REGIONS",
            "usize",
            parameters.regions.count().to_string(),
        ),
        ("N_init + T, observations of a whole run.", "OBSERVATIONS", "usize", sizes.observations.to_string()),
        ("Memory of the agent.", "SIZES", "Sizes", "Sizes::new(DIM, FEATURES, OBSERVATIONS)".to_owned()),
        (
            "Numbers of the features, drawn once a boot.",
            "FEATURES_LEN",
            "usize",
            "storage_len(DIM, FEATURES)".to_owned(),
        ),
        ("Bytes of the longest upload.", "UPLOAD_BYTES", "usize", format!("frame_len_max(ScalarTag::{tag}, FEATURES)")),
        (
            "Bytes of an upload in 16 bits a number.",
            "SMALL_UPLOAD_BYTES",
            "usize",
            "small::frame_len(FEATURES)".to_owned(),
        ),
        (
            "Bytes of the longest broadcast.",
            "BROADCAST_BYTES",
            "usize",
            format!("frame_len_max(ScalarTag::{tag}, FEATURES * REGIONS)"),
        ),
        ("Bytes of a stored state.", "STATE_BYTES", "usize", "max_bytes::<AgentState>()".to_owned()),
        ("Bytes of a stored observation.", "ENTRY_BYTES", "usize", "max_bytes::<Entry<Number>>()".to_owned()),
    ];
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
         use sordino_core::domain::{{Candidates, DomainError}};\n\
         use sordino_core::features::random_fourier::storage_len;\n\
         use sordino_core::federated::exchange::{{Agreement, AgreementError}};\n\
         use sordino_core::federated::{{AgentState, Entry, Sizes, small}};\n\
         use sordino_core::snapshot::max_bytes;\n\
         use sordino_core::wire::{{ScalarTag, frame_len_max}};\n\n\
         /// The format that agents compute with and frames carry.\npub type Number = {number};\n\
         {constants}{digest}{agreement}{points}\n\
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
            let lines: String = points
                .chunks(export.agreement.dim as usize)
                .map(|point| format!("    {},\n", point.iter().map(number).collect::<Vec<_>>().join(", ")))
                .collect();
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

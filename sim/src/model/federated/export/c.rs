//! The constants as a C header, which includes nothing.

use sordino_core::federated::small;

use super::constants::{Export, Points, bytes};
use crate::scenario::ScalarKind;

/// The whole header, guarded against a second inclusion.
pub(super) fn text(export: &Export) -> String {
    let (parameters, sizes) = (export.agreement.config.parameters(), export.sizes());
    let number = match export.scalar {
        ScalarKind::F32 => "float",
        ScalarKind::F64 => "double",
    };
    let seeds: String = export.seeds().iter().map(|line| format!(" * {line}\n")).collect();
    let [upload, broadcast] = export.frames();
    let [state, entry] = export.stored();
    let mut constants = vec![
        ("D, axes of the domain", "DIM", sizes.dim),
        ("M, shared features", "FEATURES", sizes.features),
        ("P, sub-regions, a vector of a broadcast for each", "REGIONS", parameters.regions.count() as usize),
        ("N_init + T, observations of a whole run", "OBSERVATIONS", sizes.observations),
        ("numbers of the agent's log", "LOG_LEN", sizes.log()),
        ("numbers of the agent's workspace", "WORKSPACE_LEN", sizes.workspace()),
        ("numbers of the features, drawn once a boot", "FEATURES_LEN", export.features_len()),
        ("bytes of the longest upload", "UPLOAD_BYTES", upload),
        ("bytes of an upload in 16 bits a number", "SMALL_UPLOAD_BYTES", small::frame_len(sizes.features)),
        ("bytes of the longest broadcast", "BROADCAST_BYTES", broadcast),
        ("bytes of a stored state", "STATE_BYTES", state),
        ("bytes of a stored observation", "ENTRY_BYTES", entry),
        ("bytes of the agreement", "AGREEMENT_BYTES", export.bytes.len()),
    ];
    let list = match &export.points {
        Points::Grid(per_axis) => {
            constants.push(("points along one axis of the grid of candidates", "POINTS_PER_AXIS", *per_axis as usize));
            String::new()
        }
        Points::List(points) => {
            constants.push(("coordinates of all candidates", "POINTS_LEN", points.len()));
            list(points, export.scalar, export.agreement.dim as usize)
        }
    };
    let constants: String =
        constants.iter().map(|(doc, name, value)| format!("/* {doc} */\n#define SORDINO_{name} {value}u\n")).collect();
    let array = |doc: &str, name: &str, values: &[u8]| {
        let (len, values) = (values.len(), bytes(values));
        format!("/* {doc} */\nstatic const unsigned char SORDINO_{name}[{len}] = {{\n{values}}};\n")
    };
    format!(
        "/* Scenario `{name}`, method `{method}`, for a device: written by `sordino export`, not by hand.\n *\n{seeds} */\n\
         #ifndef SORDINO_EXPORT_H\n#define SORDINO_EXPORT_H\n\n\
         /* The format that agents compute with and frames carry. */\ntypedef {number} sordino_number;\n\
         {constants}{digest}{agreement}{list}\n#endif\n",
        name = export.name,
        method = export.method.name(),
        digest =
            array("digest of the agreement; frames carry its first 64 bits", "DIGEST", &export.agreement.digest().0),
        agreement = array("the agreement, all that the parties have in common", "AGREEMENT", &export.bytes),
    )
}

/// The candidates, one per line.
fn list(points: &[f64], scalar: ScalarKind, dim: usize) -> String {
    let number = |x: &f64| match scalar {
        ScalarKind::F32 => format!("{:?}f", *x as f32),
        ScalarKind::F64 => format!("{x:?}"),
    };
    let lines: String = points
        .chunks(dim)
        .map(|point| format!("    {},\n", point.iter().map(number).collect::<Vec<_>>().join(", ")))
        .collect();
    format!(
        "/* the candidates in the unit box, one a line */\nstatic const sordino_number SORDINO_POINTS[SORDINO_POINTS_LEN] = {{\n{lines}}};\n"
    )
}

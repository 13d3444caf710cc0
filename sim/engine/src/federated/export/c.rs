//! The constants as a C header, which includes nothing.

use sordino_core::features::random_fourier;
use sordino_core::federated::exchange::{DrawsProtocol, Protocol};
use sordino_core::federated::prior::PriorProtocol;
use sordino_core::federated::shares::Trust;
use sordino_core::federated::{Aggregation, InitialRegion, Signal, small};
use sordino_core::kernel::Stationary;
use sordino_core::schedule::Mixing;
use sordino_experiment::scenario::ScalarKind;

use super::constants::{Export, Points, bytes};

/// The whole header, guarded against a second inclusion.
pub(super) fn text(export: &Export) -> String {
    let number = match export.scalar {
        ScalarKind::F32 => "float",
        ScalarKind::F64 => "double",
    };
    let seeds: String = export
        .seeds()
        .iter()
        .map(|line| format!(" * {line}\n"))
        .collect();
    let mut constants = match &export.agreement.protocol {
        Protocol::Draws(draws) => of_draws(export, draws),
        Protocol::Prior(prior) => of_prior(export, prior),
        // None is exported: a campaign is made of a space, and no device runs the others.
        Protocol::Campaign(_) | Protocol::Vote(_) | Protocol::Own(_) => Vec::new(),
    };
    constants.push((
        "bytes of the agreement",
        "AGREEMENT_BYTES",
        export.bytes.len(),
    ));
    let points = match &export.points {
        Points::Grid(per_axis) => {
            constants.push((
                "points along one axis of the grid of candidates",
                "POINTS_PER_AXIS",
                *per_axis as usize,
            ));
            String::new()
        }
        Points::List(points) => {
            constants.push(("coordinates of all candidates", "POINTS_LEN", points.len()));
            list(("the candidates in the unit box", "POINTS"), points, export)
        }
    };
    let landmarks = match &export.landmarks {
        Points::Grid(per_axis) => {
            let doc = "points along one axis of the grid of landmarks";
            constants.push((doc, "LANDMARKS_PER_AXIS", *per_axis as usize));
            String::new()
        }
        Points::List(landmarks) if landmarks.is_empty() => String::new(),
        Points::List(landmarks) => {
            constants.push((
                "coordinates of all landmarks",
                "LANDMARKS_LEN",
                landmarks.len(),
            ));
            list(
                ("the landmarks of the features in the unit box", "LANDMARKS"),
                landmarks,
                export,
            )
        }
    };
    let constants: String = constants
        .iter()
        .map(|(doc, name, value)| format!("/* {doc} */\n#define SORDINO_{name} {value}u\n"))
        .collect();
    format!(
        "/* Scenario `{name}`, method `{method}`, for a device: written by `sordino export`, not by hand.\n *\n{seeds} */\n\
         #ifndef SORDINO_EXPORT_H\n#define SORDINO_EXPORT_H\n\n\
         /* The format that agents compute with and frames carry. */\ntypedef {number} sordino_number;\n\
         {constants}{digest}{agreement}{points}{landmarks}{settings}\n#endif\n",
        name = export.name,
        method = export.method.name(),
        digest = array(
            "digest of the agreement; frames carry its first 64 bits",
            "DIGEST",
            &export.agreement.digest().0
        ),
        agreement = array(
            "the agreement, all that the parties have in common",
            "AGREEMENT",
            &export.bytes
        ),
        settings = match machine(export) {
            Ok(settings) => settings,
            Err(why) => format!("/* sordino.h has no agent of this federation: {why} */\n"),
        },
    )
}

/// An array of bytes: what it is, its name and values.
fn array(doc: &str, name: &str, values: &[u8]) -> String {
    let len = values.len();
    let values = bytes(values);
    format!("/* {doc} */\nstatic const unsigned char SORDINO_{name}[{len}] = {{\n{values}}};\n")
}

/// The settings of the agent of `sordino.h`, or of its member.
///
/// **Errors**: what they cannot do.
fn machine(export: &Export) -> Result<String, &'static str> {
    if export.scalar == ScalarKind::F64 {
        return Err("it computes in single precision");
    }
    match &export.agreement.protocol {
        Protocol::Draws(draws) => settings(export, draws).map(|fields| initializer(&fields)),
        Protocol::Prior(prior) => member(export, prior),
        Protocol::Campaign(_) | Protocol::Vote(_) | Protocol::Own(_) => {
            Err("it knows no such method")
        }
    }
}

/// The settings of a member, in the order of `sordino_member_settings`.
///
/// **Errors**: what the member of `sordino.h` cannot do.
fn member(export: &Export, prior: &PriorProtocol) -> Result<String, &'static str> {
    let (Points::Grid(_), Points::Grid(_)) = (&export.points, &export.landmarks) else {
        return Err("its candidates and landmarks are grids");
    };
    let p = prior.config.parameters();
    let counts = [p.initial_points, prior.rounds, p.designs];
    if export.candidates() > 1 << 16
        || p.feature_count > 1 << 8
        || counts.iter().any(|count| *count > 1 << 12)
    {
        return Err(
            "it holds 65536 candidates, 256 features, and 4096 initial points, rounds and designs at most",
        );
    }
    let (secrets, [own, helper], what) = match p.trust {
        Trust::OneServer => (
            "",
            ["0"; 2],
            "which agent it is, and its seed, which is secret",
        ),
        Trust::TwoServers => (
            ", own, helper",
            ["(own)", "(helper)"],
            "which agent it is, its seed and its own secret of 32 bytes, and the helper's public key",
        ),
    };
    let fields = [
        ("seed", "(secret)"),
        ("agreement", "SORDINO_AGREEMENT"),
        ("agreement_len", "SORDINO_AGREEMENT_BYTES"),
        ("digest", "SORDINO_DIGEST"),
        ("own_secret", own),
        ("helper_key", helper),
        ("agent", "(index)"),
        ("per_axis", "SORDINO_POINTS_PER_AXIS"),
        ("landmarks_per_axis", "SORDINO_LANDMARKS_PER_AXIS"),
    ];
    let lines: String = fields
        .iter()
        .map(|(name, value)| format!("        .{name} = {value}, \\\n"))
        .collect();
    Ok(format!(
        "/* a sordino_member_settings of sordino.h: {what} */\n\
         #define SORDINO_MEMBER_SETTINGS(index, secret{secrets}) \\\n    {{ \\\n{lines}    }}\n\
         /* bytes of its memory, and numbers in double precision while it is opened */\n\
         #define SORDINO_MEMBER_BYTES \\\n    \
         SORDINO_MEMBER_SIZE(SORDINO_CANDIDATES, SORDINO_FEATURES, SORDINO_INITIAL_POINTS, SORDINO_ROUNDS, SORDINO_DESIGNS)\n\
         #define SORDINO_MEMBER_DOUBLES_LEN SORDINO_MEMBER_DOUBLES(SORDINO_DIM, SORDINO_FEATURES)\n\
         /* slots of its flash */\n\
         #define SORDINO_MEMBER_SLOTS_LEN SORDINO_MEMBER_SLOTS(SORDINO_FEATURES, SORDINO_RELEASES, SORDINO_OBSERVATIONS)\n"
    ))
}

/// The settings that say all of the federation but which agent it is, in the order of
/// `sordino_agent_settings`.
///
/// **Errors**: what the agent of `sordino.h` cannot do.
fn settings(
    export: &Export,
    draws: &DrawsProtocol,
) -> Result<Vec<(&'static str, String)>, &'static str> {
    let parameters = draws.config.parameters();
    let features = draws.features;
    let [
        clipping_norm,
        sampling_probability,
        noise_multiplier,
        aggregation,
        grid_exponent,
    ] = match &parameters.aggregation {
        Aggregation::None => {
            ["0.0", "0.0", "0.0", "SORDINO_AGGREGATION_NONE", "0"].map(str::to_owned)
        }
        Aggregation::Mean => {
            ["0.0", "0.0", "0.0", "SORDINO_AGGREGATION_MEAN", "0"].map(str::to_owned)
        }
        Aggregation::Private {
            signal: Signal::Vectors,
            clipping_norm,
            sampling_probability,
            noise_multiplier,
            grid_exponent,
        } => [
            real(clipping_norm.value()),
            real(*sampling_probability),
            real(noise_multiplier.value()),
            "SORDINO_AGGREGATION_PRIVATE".to_owned(),
            grid_exponent.to_string(),
        ],
        Aggregation::Private { .. } => return Err("it knows no federation that sums zeros"),
    };
    let [points, count, per_axis] = match &export.points {
        Points::Grid(_) => ["0", "0", "SORDINO_POINTS_PER_AXIS"],
        Points::List(_) => ["SORDINO_POINTS", "SORDINO_POINTS_LEN / SORDINO_DIM", "0"],
    }
    .map(str::to_owned);
    let shape = match features.kernel {
        Stationary::SquaredExponential => "SORDINO_SQUARED_EXPONENTIAL",
        Stationary::Matern12 => "SORDINO_MATERN_12",
        Stationary::Matern32 => "SORDINO_MATERN_32",
        Stationary::Matern52 => "SORDINO_MATERN_52",
    };
    let splits = parameters
        .regions
        .splits()
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    Ok(vec![
        ("seed", "(secret)".to_owned()),
        ("feature_seed", format!("{}u", features.seed)),
        ("lengthscale", real(features.lengthscale)),
        ("signal_variance", real(features.signal_variance)),
        ("regularization", real(parameters.regularization)),
        ("noise_variance", real(parameters.noise_variance)),
        ("offset", real(parameters.offset)),
        ("concentration", real(parameters.concentration.start)),
        ("clipping_norm", clipping_norm),
        ("sampling_probability", sampling_probability),
        ("noise_multiplier", noise_multiplier),
        ("points", points),
        ("count", count),
        ("per_axis", per_axis),
        ("agent", "(index)".to_owned()),
        ("agents", parameters.agents.to_string()),
        ("dim", "SORDINO_DIM".to_owned()),
        ("splits", format!("{{{splits}}}")),
        ("rounds", parameters.rounds.to_string()),
        ("initial_points", parameters.initial_points.to_string()),
        (
            "initial_whole",
            u32::from(parameters.initial_region == InitialRegion::Whole).to_string(),
        ),
        ("features", "SORDINO_FEATURES".to_owned()),
        ("unit_norm", u32::from(features.unit_norm).to_string()),
        ("shape", shape.to_owned()),
        (
            "mixing",
            u32::from(parameters.mixing == Mixing::Inverse).to_string(),
        ),
        ("hold", parameters.concentration.hold.to_string()),
        ("decay", parameters.concentration.decay.to_string()),
        ("aggregation", aggregation),
        ("grid_exponent", grid_exponent),
    ])
}

/// A double of C, to the bit.
fn real(x: f64) -> String {
    format!("{x:?}")
}

/// The settings as a macro: the header itself needs no other.
fn initializer(fields: &[(&str, String)]) -> String {
    let lines: String = fields
        .iter()
        .map(|(name, value)| format!("        .{name} = {value}, \\\n"))
        .collect();
    format!(
        "/* a sordino_agent_settings of sordino.h: which agent it is, and its seed, which is secret */\n\
         #define SORDINO_AGENT_SETTINGS(index, secret) \\\n    {{ \\\n{lines}    }}\n"
    )
}

/// Points, one per line: what they are, and the name of the array.
fn list((what, name): (&str, &str), points: &[f64], export: &Export) -> String {
    let mut lines = String::new();
    for point in points.chunks(export.agreement.dim as usize) {
        let numbers = point.iter().map(|x| match export.scalar {
            ScalarKind::F32 => format!("{:?}f", *x as f32),
            ScalarKind::F64 => real(*x),
        });
        lines += &format!("    {},\n", numbers.collect::<Vec<_>>().join(", "));
    }
    format!(
        "/* {what}, one a line */\nstatic const sordino_number SORDINO_{name}[SORDINO_{name}_LEN] = {{\n{lines}}};\n"
    )
}

/// A constant: what it is, its name and value.
type Constant = (&'static str, &'static str, usize);

fn of_draws(export: &Export, draws: &DrawsProtocol) -> Vec<Constant> {
    let parameters = draws.config.parameters();
    let sizes = export.sizes(draws);
    let [upload, broadcast] = export.frames();
    let [state, entry] = export.stored();
    let features = random_fourier::storage_len(sizes.dim, sizes.features);
    vec![
        ("D, axes of the domain", "DIM", sizes.dim),
        ("M, shared features", "FEATURES", sizes.features),
        (
            "P, sub-regions, a vector of a broadcast for each",
            "REGIONS",
            parameters.regions.count() as usize,
        ),
        (
            "N_init + T, observations of a whole run",
            "OBSERVATIONS",
            sizes.observations,
        ),
        ("numbers of the agent's log", "LOG_LEN", sizes.log()),
        (
            "numbers of the agent's workspace",
            "WORKSPACE_LEN",
            sizes.workspace(),
        ),
        (
            "numbers of the features, drawn once a boot",
            "FEATURES_LEN",
            features,
        ),
        ("bytes of the longest upload", "UPLOAD_BYTES", upload),
        (
            "bytes of an upload in 16 bits a number",
            "SMALL_UPLOAD_BYTES",
            small::frame_len(sizes.features),
        ),
        (
            "bytes of the longest broadcast",
            "BROADCAST_BYTES",
            broadcast,
        ),
        ("bytes of a stored state", "STATE_BYTES", state),
        ("bytes of a stored observation", "ENTRY_BYTES", entry),
    ]
}

fn of_prior(export: &Export, prior: &PriorProtocol) -> Vec<Constant> {
    let m = prior.config.features();
    let n = prior.config.design_len();
    let rounds = prior.rounds as usize;
    let [upload, broadcast] = export.frames();
    vec![
        (
            "D, axes of the domain",
            "DIM",
            export.agreement.dim as usize,
        ),
        (
            "points that may be queried",
            "CANDIDATES",
            export.candidates(),
        ),
        (
            "M, features of the posterior, one for each landmark",
            "FEATURES",
            m,
        ),
        ("observations before the first release", "INITIAL_POINTS", n),
        ("T, queries after them", "ROUNDS", rounds),
        ("observations of a whole run", "OBSERVATIONS", n + rounds),
        (
            "virtual designs",
            "DESIGNS",
            prior.config.parameters().designs as usize,
        ),
        (
            "releases, each with a frame down and a contribution up",
            "RELEASES",
            prior.releases() as usize,
        ),
        (
            "bytes of a contribution in the clear",
            "UPLOAD_BYTES",
            upload,
        ),
        (
            "bytes of the sums of a release",
            "BROADCAST_BYTES",
            broadcast,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use sordino_core::federated::exchange::Announced;
    use sordino_core::random::RunSeed;
    use sordino_experiment::scenario::{Method, Shipped, method};

    use super::*;
    use crate::federated::context::simulated_deployment;

    fn header(method: Method, candidates: &[f64], setting: &str) -> String {
        with(method, candidates, &[setting])
    }

    fn with(method: Method, candidates: &[f64], settings: &[&str]) -> String {
        let settings: Vec<String> = settings
            .iter()
            .map(|setting| (*setting).to_owned())
            .collect();
        let scenario = Shipped::find("firmware").unwrap().parse(&settings).unwrap();
        let announced = Announced {
            epsilon_max: None,
            delta: 1e-5,
            deadline_ms: 1,
            may_close_early: false,
        };
        let run = simulated_deployment(RunSeed::new(0, 0));
        text(&Export::new(&scenario, method, candidates, 1, run, announced).unwrap())
    }

    #[test]
    fn settings_are_written_for_what_the_agent_in_c_can_do() {
        let list = [0.0, 0.25, 1.0];
        let usual = "privacy.noise_multiplier=0.1";
        let found = header(method::DP_FTS_DE, &list, usual);
        for part in [
            ".noise_multiplier = 0.1, \\\n",
            ".points = SORDINO_POINTS, \\\n        .count = SORDINO_POINTS_LEN / SORDINO_DIM, \\\n        .per_axis = 0, \\\n",
            ".splits = {2}, ",
            ".aggregation = SORDINO_AGGREGATION_PRIVATE, ",
        ] {
            assert!(found.contains(part), "{part}\n{found}");
        }
        assert!(
            header(method::TS, &list, usual).contains(".aggregation = SORDINO_AGGREGATION_NONE, ")
        );
        assert!(
            header(method::FTS_DE, &list, usual)
                .contains(".aggregation = SORDINO_AGGREGATION_MEAN, ")
        );
        for (method, setting, why) in [
            (
                method::DP_FTS_DE,
                "surrogate.scalar=\"f64\"",
                "it computes in single precision",
            ),
            (
                method::PURE_NOISE,
                usual,
                "it knows no federation that sums zeros",
            ),
        ] {
            let found = header(method, &list, setting);
            let said = format!("/* sordino.h has no agent of this federation: {why} */");
            assert!(
                found.contains(&said) && !found.contains("SORDINO_AGENT_SETTINGS"),
                "{found}"
            );
        }
    }

    #[test]
    fn settings_of_a_member_name_its_keys_where_there_are_two_servers() {
        let methods = "federation.methods=[\"dp-prior\"]";
        let grid = [0.0, 0.25, 0.5, 0.75, 1.0];
        let one = with(
            method::DP_PRIOR,
            &grid,
            &[methods, "prior.points_per_axis=12"],
        );
        for part in [
            "#define SORDINO_MEMBER_SETTINGS(index, secret) \\\n",
            ".own_secret = 0, \\\n        .helper_key = 0, \\\n        .agent = (index), ",
            "#define SORDINO_POINTS_PER_AXIS 5u\n",
            "#define SORDINO_LANDMARKS_PER_AXIS 12u\n",
            "#define SORDINO_DESIGNS 256u\n",
        ] {
            assert!(one.contains(part), "{part}\n{one}");
        }
        let two = [
            "privacy.trust=\"two-servers\"",
            methods,
            "prior.points_per_axis=12",
        ];
        let two = with(method::DP_PRIOR, &grid, &two);
        assert!(
            two.contains("#define SORDINO_MEMBER_SETTINGS(index, secret, own, helper) \\\n"),
            "{two}"
        );
        assert!(
            two.contains(".own_secret = (own), \\\n        .helper_key = (helper), "),
            "{two}"
        );
        let list = with(
            method::DP_PRIOR,
            &[0.0, 0.2, 1.0],
            &[methods, "prior.points_per_axis=12"],
        );
        assert!(list.contains(
            "sordino.h has no agent of this federation: its candidates and landmarks are grids"
        ));
        let many = with(
            method::DP_PRIOR,
            &grid,
            &[methods, "prior.points_per_axis=300"],
        );
        assert!(
            many.contains("no agent of this federation: it holds 65536 candidates, 256 features"),
            "{many}"
        );
    }
}

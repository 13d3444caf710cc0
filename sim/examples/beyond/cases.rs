//! The catalogue: what is tried, in which document it stands.

use super::table::Table;
use super::world::{Case, Features};
use Features::{Eigen, Fourier, Greedy};

/// A table before it is measured: names, places in a figure, cases.
pub struct Plan {
    pub name: &'static str,
    pub table: Table,
    pub rows: Vec<(String, f64, Case)>,
}

const D: Case = Case::DEFAULT;
/// Two ε of the default federation: noise multipliers 1 and 4 of `dp-fts-de`.
const BUDGETS: [f64; 2] = [7.05, 0.91];

fn plan(name: &'static str, table: Table, rows: Vec<(&str, f64, Case)>) -> Plan {
    Plan {
        name,
        table,
        rows: rows
            .into_iter()
            .map(|(name, x, case)| (name.to_owned(), x, case))
            .collect(),
    }
}

/// All tables, and the documents they stand in.
pub fn tables() -> Vec<(&'static str, Plan)> {
    let beyond = [
        draw(),
        releases(),
        spending(),
        features(),
        dimensions(),
        unknown(),
        sizes(),
    ];
    let mut all: Vec<_> = beyond.into_iter().map(|plan| ("beyond.md", plan)).collect();
    all.push(("secure-aggregation.md", aggregation()));
    all
}

fn draw() -> Plan {
    let few = Case {
        agents: 50,
        epsilon: Some(0.64),
        ..D
    };
    let settings = [
        ("ε 7.05", D),
        (
            "ε 0.91",
            Case {
                epsilon: Some(0.91),
                ..D
            },
        ),
        (
            "ε 0.2",
            Case {
                epsilon: Some(0.2),
                ..D
            },
        ),
        ("50 agents, ε 0.64", few),
        (
            "a smooth function of each agent's own, ε 7.05",
            Case { own: 1.0, ..D },
        ),
        (
            "2-D, ℓ .1, ε 7.05",
            Case {
                dim: 2,
                lengthscale: 0.1,
                features: Greedy(100),
                ..D
            },
        ),
        (
            "2-D, ℓ .1, ε 0.91",
            Case {
                dim: 2,
                lengthscale: 0.1,
                features: Greedy(100),
                epsilon: Some(0.91),
                ..D
            },
        ),
    ];
    let mut rows = Vec::new();
    for (name, case) in settings {
        rows.push((format!("{name}: a common draw (reference)"), 0.0, case));
        rows.push((
            format!("{name}: the mean"),
            0.0,
            Case { mean: true, ..case },
        ));
    }
    Plan {
        name: "draw",
        table: Table {
            against: "(reference)",
            ..Table::default()
        },
        rows,
    }
}

fn releases() -> Plan {
    const PLANS: &[(&str, &[u32])] = &[
        ("as shipped", &[0, 0, 0, 4, 8, 16]),
        ("all at once", &[0]),
        ("all at once", &[0, 0]),
        ("all at once", &[0, 0, 0]),
        ("all at once", &[0; 6]),
        ("spread", &[0, 4]),
        ("spread", &[0, 4, 16]),
        ("spread", &[0, 2, 4, 8, 12, 16]),
        ("spread", &[0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24]),
    ];
    let mut rows = Vec::new();
    for epsilon in BUDGETS {
        for (name, releases) in PLANS {
            let case = Case {
                releases,
                epsilon: Some(epsilon),
                ..D
            };
            let mut name = format!("{name}, ε {epsilon}: after {releases:?}");
            if name.starts_with("as shipped") {
                name += " (reference)";
            }
            rows.push((name, releases.len() as f64, case));
        }
    }
    let axis = "releases that share one ε, logarithmic";
    let table = Table {
        title: "How many releases",
        axis,
        logarithmic: true,
        against: "(reference)",
        rows: Vec::new(),
    };
    Plan {
        name: "releases",
        table,
        rows,
    }
}

fn spending() -> Plan {
    let mut rows = Vec::new();
    for epsilon in BUDGETS {
        let case = Case {
            epsilon: Some(epsilon),
            ..D
        };
        let mut row =
            |name: String, case: Case| rows.push((format!("ε {epsilon}: {name}"), 0.0, case));
        row("equal shares (reference)".into(), case);
        row(
            "shares 3 : 3 : 3 : 1 : 1 : 1".into(),
            Case {
                shares: &[3.0, 3.0, 3.0, 1.0, 1.0, 1.0],
                ..case
            },
        );
        row(
            "shares 1 : 1 : 1 : 3 : 3 : 3".into(),
            Case {
                shares: &[1.0, 1.0, 1.0, 3.0, 3.0, 3.0],
                ..case
            },
        );
        row(
            "shares 1 : 1 : 1 : 1 : 1 : 7".into(),
            Case {
                shares: &[1.0, 1.0, 1.0, 1.0, 1.0, 7.0],
                ..case
            },
        );
        for proportion in [0.3, 1.0, 3.0, 10.0] {
            let name = format!("adaptive, noise {proportion} times what sampling leaves");
            row(
                name,
                Case {
                    adaptive: Some(proportion),
                    ..case
                },
            );
        }
    }
    Plan {
        name: "spending",
        table: Table {
            against: "(reference)",
            ..Table::default()
        },
        rows,
    }
}

fn features() -> Plan {
    let mut rows = Vec::new();
    for (name, case) in [
        ("1-D, ℓ .03", D),
        (
            "2-D, ℓ .1",
            Case {
                dim: 2,
                lengthscale: 0.1,
                ..D
            },
        ),
    ] {
        let reference = if case.dim == 1 { 50 } else { 100 };
        let mut row = |kind: &str, m: usize, features: Features| {
            let mark = if kind == "greedy" && m == reference {
                " (reference)"
            } else {
                ""
            };
            rows.push((
                format!("{name}, {kind}: {m}{mark}"),
                m as f64,
                Case { features, ..case },
            ));
        };
        row("greedy", reference, Greedy(reference));
        for m in [12, 25, 50, 100, 200]
            .into_iter()
            .filter(|m| *m != reference)
        {
            if case.dim > 1 || m <= 50 {
                row("greedy", m, Greedy(m));
            }
        }
        row("eigenfunctions", 25, Eigen(25));
        row("eigenfunctions", reference, Eigen(reference));
        row("random Fourier", 50, Fourier(50));
        row("random Fourier", 100, Fourier(100));
    }
    let axis = "features M, logarithmic";
    let table = Table {
        title: "How many features",
        axis,
        logarithmic: true,
        against: "(reference)",
        rows: Vec::new(),
    };
    Plan {
        name: "features",
        table,
        rows,
    }
}

fn dimensions() -> Plan {
    let mut rows = Vec::new();
    for (dim, lengthscale) in [(1, 0.03), (2, 0.2), (3, 0.3), (4, 0.4), (5, 0.5), (6, 0.6)] {
        let case = Case {
            dim,
            lengthscale,
            features: Greedy(if dim == 1 { 50 } else { 100 }),
            ..D
        };
        let x = dim as f64;
        rows.push((
            format!("alone: D = {dim}, ℓ {lengthscale} (reference)"),
            x,
            case.alone(),
        ));
        rows.push((format!("greedy, ε 7.05: D = {dim}"), x, case));
        rows.push((
            format!("greedy, ε 0.91: D = {dim}"),
            x,
            Case {
                epsilon: Some(0.91),
                ..case
            },
        ));
        let m = if dim == 1 { 50 } else { 100 };
        rows.push((
            format!("random Fourier, ε 7.05: D = {dim}"),
            x,
            Case {
                features: Fourier(m),
                ..case
            },
        ));
    }
    let table = Table {
        title: "One to six dimensions",
        axis: "dimension",
        against: "(reference)",
        ..Table::default()
    };
    Plan {
        name: "dimensions",
        table,
        rows,
    }
}

fn unknown() -> Plan {
    let known = |assumed: &'static [f64]| Case { assumed, ..D };
    let rows = vec![
        ("known: ℓ = 0.03 (reference)", 0.03, D),
        ("taken for one: ℓ = 0.01", 0.01, known(&[0.01])),
        ("taken for one: ℓ = 0.02", 0.02, known(&[0.02])),
        ("taken for one: ℓ = 0.045", 0.045, known(&[0.045])),
        ("taken for one: ℓ = 0.06", 0.06, known(&[0.06])),
        ("taken for one: ℓ = 0.09", 0.09, known(&[0.09])),
        (
            "agents and public side weigh: 0.02, 0.03, 0.045",
            0.02,
            known(&[0.02, 0.03, 0.045]),
        ),
        (
            "agents and public side weigh: 0.02, 0.06",
            0.02,
            known(&[0.02, 0.06]),
        ),
        (
            "agents and public side weigh: 0.045, 0.02",
            0.045,
            known(&[0.045, 0.02]),
        ),
        (
            "agents and public side weigh: 0.06, 0.02",
            0.06,
            known(&[0.06, 0.02]),
        ),
        ("alone, known: ℓ = 0.03", 0.03, D.alone()),
        (
            "alone, taken for one: ℓ = 0.06",
            0.06,
            known(&[0.06]).alone(),
        ),
        (
            "alone, weighed: 0.06, 0.02",
            0.06,
            known(&[0.06, 0.02]).alone(),
        ),
        (
            "noise variance taken for: 0.1, is 0.01",
            0.03,
            Case {
                noises: &[0.1],
                ..D
            },
        ),
        (
            "noise variance taken for: 0.001, is 0.01",
            0.03,
            Case {
                noises: &[0.001],
                ..D
            },
        ),
        (
            "noise variance weighed: 0.001, 0.01, 0.1",
            0.03,
            Case {
                noises: &[0.001, 0.01, 0.1],
                ..D
            },
        ),
    ];
    plan(
        "unknown",
        Table {
            against: "(reference)",
            ..Table::default()
        },
        rows,
    )
}

fn sizes() -> Plan {
    let mut rows = Vec::new();
    for (name, sizes) in [
        ("10", &[10][..]),
        ("2 or 18", &[2, 18]),
        ("1, 5 or 24", &[1, 5, 24]),
    ] {
        let case = Case { sizes, ..D };
        rows.push((
            format!("{name} initial points, alone (reference)"),
            0.0,
            case.alone(),
        ));
        rows.push((format!("{name}, ε 7.05"), 0.0, case));
        rows.push((
            format!("{name}, ε 0.91"),
            0.0,
            Case {
                epsilon: Some(0.91),
                ..case
            },
        ));
    }
    Plan {
        name: "sizes",
        table: Table {
            against: "(reference)",
            ..Table::default()
        },
        rows,
    }
}

fn aggregation() -> Plan {
    let mut rows = Vec::new();
    for agents in [50, 200, 1000] {
        for epsilon in [7.05, 1.0] {
            let case = Case {
                agents,
                epsilon: Some(epsilon),
                ..D
            };
            let x = f64::from(agents);
            let at = format!("N = {agents}, ε {epsilon}");
            if epsilon > 2.0 {
                rows.push((
                    format!("agents alone: N = {agents} (reference)"),
                    x,
                    case.alone(),
                ));
            }
            rows.push((
                format!("a trusted server, ε {epsilon}: {at} (reference)"),
                x,
                case,
            ));
            for dropouts in [0.0, 0.1, 0.3] {
                let name = format!(
                    "devices' noise, ε {epsilon}, up to {} % missing: {at}",
                    100.0 * dropouts
                );
                rows.push((
                    name,
                    x,
                    Case {
                        dropouts: Some(dropouts),
                        ..case
                    },
                ));
            }
        }
    }
    let axis = "agents, logarithmic";
    let table = Table {
        title: "Noise on the devices",
        axis,
        logarithmic: true,
        against: "(reference)",
        rows: Vec::new(),
    };
    Plan {
        name: "aggregation",
        table,
        rows,
    }
}

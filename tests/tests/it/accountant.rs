//! Accountants against independent values: a guarantee must never be below the truth.

use std::collections::BTreeMap;

use sordino_core::privacy::accountant::{
    MomentsAccountant, RdpAccountant, analytic, order, poisson,
};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_tests::{cell as field, vectors_table};

fn sampled(q: f64, z: f64) -> Event {
    Event::PoissonSampledGaussian {
        sampling_probability: q,
        noise_multiplier: z,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

#[test]
fn vectors_accountant_single_orders() {
    let mut worst = 0.0f64;
    let mut rows = 0;
    for row in vectors_table("rdp_orders.csv") {
        let [q, z, alpha, truth] =
            ["q", "z", "alpha", "rdp_one_step"].map(|name| field(&row, name).unwrap());
        let ours = poisson::divergence(q, z, alpha);
        let error = ours / truth - 1.0;
        assert!(
            (-1e-15..=1e-9).contains(&error),
            "q {q} z {z} order {alpha}: {ours} against {truth}, {error:e}"
        );
        worst = worst.max(error);
        rows += 1;
    }
    println!("{rows} divergences, largest excess {worst:e}");
    assert!(rows > 0);
}

/// One accountant for each (q, z): rows that differ in steps and δ share it.
#[derive(Default)]
struct Cache(BTreeMap<(u64, u64), ([f64; order::ORDER_COUNT], Vec<f64>)>);

impl Cache {
    fn divergences(&mut self, q: f64, z: f64) -> &([f64; order::ORDER_COUNT], Vec<f64>) {
        self.0.entry((q.to_bits(), z.to_bits())).or_insert_with(|| {
            let mut row = order::Row::ZERO;
            sordino_core::privacy::accountant::rdp::divergences(&sampled(q, z), &mut row).unwrap();
            let integers: Vec<f64> = integer_orders()
                .map(|a| poisson::divergence(q, z, a))
                .collect();
            (row.0, integers)
        })
    }
}

fn integer_orders() -> impl Iterator<Item = f64> {
    (2..=64u32).chain([128, 256, 512, 1024]).map(f64::from)
}

#[test]
fn vectors_accountant_rdp_columns() {
    let mut cache = Cache::default();
    let mut worst = 0.0f64;
    let mut tight_rows = 0;
    for row in vectors_table("accountant.csv") {
        let [q, z, steps, delta] =
            ["q", "z", "steps", "delta"].map(|name| field(&row, name).unwrap());
        let (divergences, integers) = cache.divergences(q, z);
        let name = format!("q {q} z {z} steps {steps} delta {delta}");
        let all = order::ORDERS
            .iter()
            .zip(divergences)
            .map(|(a, r)| order::epsilon(*a, r * steps, delta));
        let ours = all.fold(f64::INFINITY, f64::min);
        let ours_integer = integer_orders()
            .zip(integers)
            .map(|(a, r)| order::epsilon(a, r * steps, delta))
            .fold(f64::INFINITY, f64::min);
        let at = |order: f64| {
            let all = order::ORDERS
                .iter()
                .copied()
                .zip(divergences.iter().copied());
            let mut both = all.chain(integer_orders().zip(integers.iter().copied()));
            let (a, r) = both
                .find(|(a, _)| (a - order).abs() < 1e-9)
                .expect("an order of the grid");
            order::epsilon(a, r * steps, delta)
        };
        for (mine, column, order) in [
            (ours, "eps_rdp_exact", "rdp_exact_order"),
            (ours_integer, "eps_rdp_int", "rdp_int_order"),
        ] {
            if let Some(truth) = field(&row, column) {
                let error = (mine - truth).abs() / (1.0 + mine);
                assert!(error <= 1e-8, "{name}: {column} {truth}, ours {mine}");
                worst = worst.max(error);
                // Several orders can be as good as each other.
                let there = field(&row, order).map_or(truth, at);
                assert!(
                    (there - truth).abs() <= 1e-8 * (1.0 + truth),
                    "{name}: {order} gives {there}"
                );
            }
        }
        // Its fractional orders are upper bounds, ours are exact.
        if let (Some(above), Some(order)) =
            (field(&row, "eps_rdp_dpacc"), field(&row, "rdp_dpacc_order"))
        {
            assert!(
                at(order) <= above * (1.0 + 1e-8) + 1e-12,
                "{name}: above {above}"
            );
        }
        if let Some(below) = field(&row, "eps_pld_opt") {
            assert!(
                ours >= below * (1.0 - 1e-4) - 1e-6,
                "{name}: below a lower bound: {ours} < {below}"
            );
        }
        if let Some(truth) = field(&row, "eps_pld_extrap")
            && matches!(row["pld_quality"].as_str(), "tight" | "exact" | "zero")
        {
            assert!(
                ours >= truth * (1.0 - 1e-4) - 1e-6,
                "{name}: below the truth: {ours} < {truth}"
            );
            tight_rows += 1;
        }
    }
    println!(
        "{tight_rows} rows never below the truth; largest distance from the same orders {worst:e}"
    );
    assert!(tight_rows > 0);
}

/// The column that is no bound: μ of the central limit theorem, turned into ε by the exact Gaussian
/// curve.
#[test]
fn vectors_accountant_limit_column() {
    for row in vectors_table("accountant.csv") {
        let [q, z, steps, delta] =
            ["q", "z", "steps", "delta"].map(|name| field(&row, name).unwrap());
        let (Some(mu), Some(truth)) = (field(&row, "mu_gdp"), field(&row, "eps_gdp_clt")) else {
            continue;
        };
        let limit = if q == 1.0 {
            steps.sqrt() / z
        } else {
            q * (steps * (1.0 / (z * z)).exp_m1()).sqrt()
        };
        assert!((limit / mu - 1.0).abs() <= 1e-12, "{row:?}: {limit}");
        let ours = analytic::epsilon(1.0 / mu, delta).unwrap();
        assert!(
            (ours - truth).abs() <= 1e-8 * (1.0 + truth),
            "{row:?}: {ours}"
        );
    }
}

#[test]
fn vectors_accountant_objects_agree_with_the_columns() {
    // The accountants as they are used, on every 23rd row (the columns are checked on every row
    // above and below).
    for row in vectors_table("accountant.csv").iter().step_by(23) {
        let [q, z, steps, delta] =
            ["q", "z", "steps", "delta"].map(|name| field(row, name).unwrap());
        let Some(truth) = field(row, "eps_rdp_exact") else {
            continue;
        };
        let mut accountant = RdpAccountant::new();
        accountant.compose(&sampled(q, z), steps as u32).unwrap();
        let spent = accountant.epsilon(delta).unwrap();
        assert!(
            (spent.epsilon - truth).abs() <= 1e-8 * (1.0 + truth),
            "{row:?}"
        );
        if truth > 0.0 {
            assert_eq!(
                spent.at_edge,
                spent.order == Some(1.1) || spent.order == Some(1024.0)
            );
        }
    }
}

#[test]
fn vectors_accountant_moments_column() {
    let mut cache = BTreeMap::new();
    let mut rows = 0;
    for row in vectors_table("accountant.csv") {
        let [q, z, steps, delta] =
            ["q", "z", "steps", "delta"].map(|name| field(&row, name).unwrap());
        let Some(truth) = field(&row, "eps_ma_classic") else {
            continue;
        };
        let accountant: &MomentsAccountant = cache
            .entry((q.to_bits(), z.to_bits(), steps as u32))
            .or_insert_with(|| {
                let mut accountant = MomentsAccountant::new();
                accountant.compose(&sampled(q, z), steps as u32).unwrap();
                accountant
            });
        let ours = accountant.epsilon(delta).unwrap();
        assert!(
            (ours.epsilon - truth).abs() <= 1e-8 * (1.0 + truth),
            "{row:?}: {ours:?}"
        );
        assert_eq!(
            ours.order.map(|order| order - 1.0),
            field(&row, "ma_lambda"),
            "{row:?}"
        );
        rows += 1;
    }
    assert!(rows > 0);
}

/// The privacy losses the paper prints, to the last digit: (q, z, printed).
const PRINTED_200: [(f64, f64, &str); 5] = [
    (0.15, 1.0, "5.93"),
    (0.25, 1.0, "9.91"),
    (0.5, 1.0, "20.12"),
    (0.25, 1.2, "7.39"),
    (0.25, 1.5, "5.22"),
];
const PRINTED_29: [(f64, f64, &str); 9] = [
    (0.35, 1.0, "15.17"),
    (0.35, 1.6, "7.12"),
    (0.35, 2.0, "5.14"),
    (0.35, 3.0, "3.05"),
    (0.35, 4.0, "2.16"),
    (0.1, 1.0, "3.75"),
    (0.15, 1.0, "5.98"),
    (0.2, 1.0, "7.69"),
    (0.25, 1.0, "9.82"),
];

fn printed(q: f64, z: f64, rounds: u32, agents: f64) -> String {
    let mut accountant = MomentsAccountant::new();
    accountant.compose(&sampled(q, z), rounds).unwrap();
    format!(
        "{:.2}",
        accountant.epsilon(agents.powf(-1.1)).unwrap().epsilon
    )
}

#[test]
fn the_fourteen_printed_losses_to_every_digit() {
    for (q, z, text) in PRINTED_200 {
        assert_eq!(printed(q, z, 40, 200.0), text, "N 200, T 40, q {q}, z {z}");
    }
    for (q, z, text) in PRINTED_29 {
        assert_eq!(printed(q, z, 60, 29.0), text, "N 29, T 60, q {q}, z {z}");
    }
    // One broadcast more is another number.
    assert_eq!(printed(0.25, 1.0, 41, 200.0), "10.01");
}

#[test]
fn losses_move_the_right_way() {
    let epsilon = |q: f64, z: f64, steps: u32, delta: f64| {
        let mut accountant = RdpAccountant::new();
        accountant.compose(&sampled(q, z), steps).unwrap();
        accountant.epsilon(delta).unwrap().epsilon
    };
    let base = epsilon(0.25, 1.0, 40, 1e-5);
    assert!(epsilon(0.26, 1.0, 40, 1e-5) > base && epsilon(0.25, 1.0, 41, 1e-5) > base);
    assert!(epsilon(0.25, 1.01, 40, 1e-5) < base && epsilon(0.25, 1.0, 40, 1.1e-5) < base);
    // Heterogeneous rounds: between the two homogeneous ones, and not the sum of losses.
    let mut mixed = RdpAccountant::new();
    mixed.compose(&sampled(0.25, 1.0), 20).unwrap();
    mixed.compose(&sampled(0.25, 2.0), 20).unwrap();
    let mixed = mixed.epsilon(1e-5).unwrap().epsilon;
    assert!(mixed < base && mixed > epsilon(0.25, 2.0, 40, 1e-5));
    assert!(mixed < epsilon(0.25, 1.0, 20, 1e-5) + epsilon(0.25, 2.0, 20, 1e-5));
}

/// What no sequence of charges leads to would lower the next sum.
#[test]
fn a_stored_accountant_that_lies_is_refused() {
    let relation = NeighboringRelation::ReplaceSpecial;
    let event = Event::PoissonSampledGaussian {
        sampling_probability: 0.25,
        noise_multiplier: 1.0,
        relation,
    };
    let mut accountant = RdpAccountant::new();
    accountant.compose(&event, 7).unwrap();
    let text = serde_json::to_string(&accountant).unwrap();
    let back: RdpAccountant = serde_json::from_str(&text).unwrap();
    assert_eq!(back.epsilon(1e-5), accountant.epsilon(1e-5));
    for (field, lie) in [
        (r#""delta_spent":0.0"#, r#""delta_spent":-1e-3"#),
        (r#""releases":7"#, r#""releases":0"#),
        (r#""relation":"replace_special""#, r#""relation":null"#),
        (r#""spent":["#, r#""spent":[-1.0,"#),
    ] {
        assert!(text.contains(field), "{field}");
        assert!(
            serde_json::from_str::<RdpAccountant>(&text.replace(field, lie)).is_err(),
            "{lie}"
        );
    }
}

//! The tight accountant against independent values: never below the truth, and within 1e-3 of it.

use sordino_core::privacy::accountant::pld::{self, Options, Quality};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_tests::{cell as field, vectors_table};

fn sampled(q: f64, z: f64) -> Event {
    Event::PoissonSampledGaussian {
        sampling_probability: q,
        noise_multiplier: z,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

/// Every twelfth row, in seconds; every row where `SORDINO_VECTORS` names another folder, and
/// below.
#[test]
fn vectors_accountant_tight_column() {
    check(
        if std::env::var_os("SORDINO_VECTORS").is_some_and(|folder| !folder.is_empty()) {
            1
        } else {
            12
        },
    );
}

#[test]
#[ignore = "all 1701 rows: a minute of one core in release"]
fn vectors_accountant_tight_column_all_rows() {
    check(1);
}

fn check(step: usize) {
    let mut failures = Vec::new();
    let mut asserted = 0;
    let mut worst_above = 0.0f64;
    let mut worst_below = 0.0f64;
    for row in vectors_table("accountant.csv").iter().step_by(step) {
        let [q, z, steps, delta] =
            ["q", "z", "steps", "delta"].map(|name| field(row, name).unwrap());
        let name = format!("q {q} z {z} steps {steps} delta {delta}");
        let loss = match pld::epsilon(&[(sampled(q, z), steps as u32)], delta, &Options::default())
        {
            Ok(loss) => loss,
            Err(error) => panic!("{name}: {error}"),
        };
        let quality = row["pld_quality"].as_str();
        if !matches!(quality, "tight" | "exact" | "zero") {
            continue;
        }
        let best = field(row, "eps_pld_extrap").unwrap();
        if loss.epsilon < best * (1.0 - 1e-4) - 1e-6 {
            failures.push(format!("{name}: below the truth: {loss:?} {best}"));
        }
        if let Some(bound) = field(row, "eps_pld_opt")
            && loss.epsilon < bound * (1.0 - 1e-4) - 1e-6
        {
            failures.push(format!("{name}: below a lower bound: {loss:?} {bound}"));
        }
        let upper = field(row, "eps_pld").unwrap();
        if loss.epsilon > upper * (1.0 + 1e-3) + 1e-6 {
            failures.push(format!("{name}: too far above: {loss:?} {upper}"));
        }
        if let Some(exact) = field(row, "eps_exact_gaussian") {
            assert!(
                (loss.epsilon - exact).abs() <= 1e-9 * (1.0 + exact),
                "{name}: {loss:?} {exact}"
            );
        }
        if best > 1e-3 {
            worst_above = worst_above.max(loss.epsilon / best - 1.0);
            worst_below = worst_below.max(1.0 - loss.epsilon / best);
        }
        if loss.quality == Quality::Upper && quality == "tight" {
            failures.push(format!("{name}: not tight: {loss:?} {upper}"));
        }
        asserted += 1;
    }
    println!(
        "{asserted} rows; at most {worst_above:e} above and {worst_below:e} below the best estimate"
    );
    assert!(
        failures.is_empty(),
        "{} rows:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(asserted > 0);
}

//! Workloads W1 to W5 by sordino-core and by the Gaussian-process crates of the registry, in one
//! run.
//!
//! `cargo xtask bench` runs it twice, as plain code of the target and with `target-cpu=native`; a
//! name as argument (`w1` … `w5`, `engines`) runs that part alone. Times are medians of CPU time of
//! one thread, in milliseconds.

mod ours;
mod peers;
mod timer;
mod workload;

/// One line: who, milliseconds, ratio to the first line, check.
fn line(who: &str, (time, check): (f64, f64), ours: f64) {
    println!(
        "  {who:<34} {time:>10.4} ms  {:>7.1} x   check {check:.9}",
        time / ours
    );
}

fn panics(who: &str, time: Option<f64>, ours: f64) {
    match time {
        Some(time) => line(who, (time, f64::NAN), ours),
        None => println!("  {who:<34}     panics"),
    }
}

/// True if the workload was asked for, as all are where none is named.
fn wants(wanted: &[String], name: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|w| w == name)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let cpu = if cfg!(target_feature = "avx512f") {
        "native (AVX-512)"
    } else if cfg!(target_feature = "avx2") {
        "native (AVX2)"
    } else {
        "baseline of the target"
    };
    println!("target-cpu: {cpu}; medians of thread CPU time; x = time / sordino's");
    if wants(&wanted, "w1") {
        for (n, repetitions) in [(50, 41), (200, 21), (1000, 5)] {
            println!("W1 {n} points one by one, one prediction");
            let ours = ours::incremental(n, repetitions);
            line("sordino exact", ours, ours.0);
            line(
                "nalgebra insert_column",
                peers::incremental_nalgebra(n, repetitions.min(9)),
                ours.0,
            );
            line(
                "friedrich add_samples",
                peers::incremental_friedrich(n, repetitions.min(9)),
                ours.0,
            );
            line(
                "egobox-gp update (own scaling)",
                peers::incremental_egobox(n, if n > 500 { 1 } else { 5 }),
                ours.0,
            );
        }
    }
    if wants(&wanted, "w2") {
        for n in [50, 200] {
            println!("W2 mean and variance at 10,000 points, n = {n}");
            let ours = ours::predict(n, 21);
            line("sordino exact, batch", ours, ours.0);
            line(
                "sordino exact, point by point",
                ours::predict_points(n, 5),
                ours.0,
            );
            line("friedrich", peers::predict_friedrich(n, 5), ours.0);
            line(
                "egobox-gp (own scaling)",
                peers::predict_egobox(n, 5),
                ours.0,
            );
        }
    }
    if wants(&wanted, "w3") {
        println!("W3 50 steps of GP-UCB on 10,000 candidates");
        let ours = ours::optimise_candidates(21);
        line("sordino candidates", ours, ours.0);
        line("sordino grid", ours::optimise_grid(21), ours.0);
        line("sordino exact, batch", ours::optimise_rows(5), ours.0);
        line("friedrich", peers::optimise_friedrich(3), ours.0);
        line("egobox-gp (own scaling)", peers::optimise_egobox(3), ours.0);
    }
    if wants(&wanted, "w4") {
        for m in [64, 100, 256] {
            println!("W4 200 x (update, draw) with {m} features");
            let ours = ours::weights(m, 21);
            line("sordino root", ours, ours.0);
            line(
                "nalgebra rank_one_update",
                peers::weights_nalgebra(m, 9),
                ours.0,
            );
        }
    }
    if wants(&wanted, "w5") {
        std::panic::set_hook(Box::new(|_| {}));
        for n in [50, 200] {
            println!("W5 one posterior function at 1,000 candidates, n = {n}");
            let ours = ours::pathwise(n, 100, 21);
            line("sordino pathwise, M = 100", ours, ours.0);
            line(
                "sordino pathwise, M = 1000",
                ours::pathwise(n, 1000, 5),
                ours.0,
            );
            line("sordino exact joint draw", ours::exact_draw(n, 3), ours.0);
            panics("friedrich sample_at", peers::joint_friedrich(n), ours.0);
            panics("egobox-gp sample_chol", peers::joint_egobox(n), ours.0);
        }
    }
    if wants(&wanted, "engines") {
        println!("One step of the finite-domain engine, whatever came before");
        for n in [100, 400, 1000] {
            println!("  N = {n:<5} {:>10.3} us", ours::finite_step(n, 11));
        }
    }
}

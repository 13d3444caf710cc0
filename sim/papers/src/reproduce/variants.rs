//! Several settings of one federated scenario, compared run by run.
//!
//! Every variant has the scenario's seed: run i meets the same function, initial points, coins and
//! noise in all of them, so differences may be taken pair by pair.

use std::fmt::Write as _;

use sordino_engine::{self as model, federated};
use sordino_experiment::metrics::{MethodStatistics, Paired, PrivacyLoss, Statistics, statistics};
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::{Method, Scenario, Shipped, method};
use sordino_experiment::text::significant;
use sordino_report::figure::{self, compose};
use sordino_report::html::{document, section};
use sordino_report::page::side_by_side;
use sordino_report::palette::{self, RAMP};
use sordino_report::parts::{from_zero, header, scaled};
use sordino_report::rows::{csv, number};
use sordino_report::svg::{Chart, Curve, Point, Points, Ruler, escape};

use super::{Band, Options, Outcome, ReproduceError};

/// A setting and the methods that are executed under it.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in bands and pictures, as in `q = 0.15`; empty for the scenario as it is.
    pub name: &'static str,
    /// `--set` arguments.
    pub settings: &'static [&'static str],
    /// Methods that are compared.
    pub methods: &'static [Method],
}

impl Variant {
    /// Whether it is the scenario itself but for the noise multiplier.
    fn changes_only_noise(&self) -> bool {
        self.settings
            .iter()
            .all(|setting| setting.starts_with("privacy.noise_multiplier="))
    }
}

/// The setting of this name.
pub const fn variant(
    name: &'static str,
    settings: &'static [&'static str],
    methods: &'static [Method],
) -> Variant {
    Variant {
        name,
        settings,
        methods,
    }
}

/// A band on a ratio of [`Comparison::ratio`], which must be smaller than the bound.
pub fn below(ratio: (String, f64), bound: f64) -> Band {
    Band::below(ratio.0, ratio.1, bound)
}

/// The results of a variant.
pub struct Measured {
    /// The variant that was measured.
    pub variant: Variant,
    /// The scenario with the settings.
    pub scenario: Scenario,
    /// What every method did in every run.
    pub results: Vec<MethodRun>,
    /// Statistics of these results.
    pub statistics: Statistics,
}

/// All variants of an experiment.
pub struct Comparison {
    measured: Vec<Measured>,
    regret_name: &'static str,
}

impl Comparison {
    /// Executes the variants of a shipped scenario one after the other.
    pub fn execute(
        shipped: &str,
        variants: &[Variant],
        options: &Options,
        runs: u32,
    ) -> Result<Self, ReproduceError> {
        let shipped =
            Shipped::find(shipped).ok_or_else(|| ReproduceError::new("no such scenario"))?;
        let mut measured = Vec::new();
        for variant in variants {
            let methods: Vec<String> = variant
                .methods
                .iter()
                .map(|method| format!("\"{method}\""))
                .collect();
            let mut settings = vec![
                format!("runs={runs}"),
                format!("federation.methods=[{}]", methods.join(", ")),
            ];
            settings.extend(variant.settings.iter().map(ToString::to_string));
            let scenario = shipped.parse(&settings).map_err(ReproduceError::new)?;
            let what = format!("{} {}", scenario.name, variant.name);
            let mut writer =
                ProgressWriter::new("reproduce", what.trim(), "rounds", scenario.steps());
            writer.note(&format!("{}: {runs} runs", what.trim()));
            let run_options = model::Options {
                threads: options.threads,
                data: options.data.clone(),
                ..Default::default()
            };
            let results = federated::run(&scenario, &run_options, &writer);
            writer.finish();
            let results = results.map_err(ReproduceError::new)?;
            let statistics = statistics(&scenario, &results).map_err(ReproduceError::new)?;
            measured.push(Measured {
                variant: *variant,
                scenario,
                results,
                statistics,
            });
        }
        let regret_name = measured
            .first()
            .map_or("regret", |first| first.scenario.objective.regret_name());
        Ok(Comparison {
            measured,
            regret_name,
        })
    }

    /// One method under one variant.
    ///
    /// **Panics**: if the experiment asks for a variant or method that it did not execute.
    pub fn of(&self, variant: &str, method: Method) -> &MethodStatistics {
        self.measured
            .iter()
            .filter(|measured| measured.variant.name == variant)
            .flat_map(|measured| &measured.statistics.methods)
            .find(|summary| summary.method == method)
            .unwrap_or_else(|| panic!("{method} was not executed under `{variant}`"))
    }

    fn called(variant: &str, method: Method) -> String {
        if variant.is_empty() {
            method.name().to_owned()
        } else {
            format!("{method}, {variant}")
        }
    }

    /// Name and value of the ratio of two summed regrets, for a band.
    pub fn ratio(&self, first: (&str, Method), second: (&str, Method)) -> (String, f64) {
        let name = format!(
            "summed {}: {} / {}",
            self.regret_name,
            Self::called(first.0, first.1),
            Self::called(second.0, second.1)
        );
        let first = self.of(first.0, first.1).summed_regret.mean;
        let second = self.of(second.0, second.1).summed_regret.mean;
        (name, first / second)
    }

    /// A band on the order of two summed regrets: the first must be smaller, by more than the half
    /// width of the 95 % interval of their paired differences. Without it, a mean that happens to
    /// be smaller is no order.
    pub fn order(&self, first: (&str, Method), second: (&str, Method)) -> Band {
        let name = format!(
            "summed {}, paired: {} minus {}, upper end of 95 %",
            self.regret_name,
            Self::called(first.0, first.1),
            Self::called(second.0, second.1)
        );
        Band::order(
            name,
            &Paired::of(
                &self.of(first.0, first.1).sums,
                &self.of(second.0, second.1).sums,
            ),
        )
    }

    /// The paper's ε of a variant's releases, which must come out to two decimals.
    pub fn epsilon_band(&self, variant: &str, method: Method, printed: f64) -> Band {
        let loss = self
            .of(variant, method)
            .losses
            .and_then(|[loss, _]| loss.moments)
            .unwrap_or(f64::NAN);
        Band::printed(
            format!("ε by moments: {}", Self::called(variant, method)),
            loss,
            printed,
        )
    }

    /// A band on the tight ε of one method over another's: equal, and never more.
    pub fn equal_loss_band(&self, variant: &str, first: Method, second: Method) -> Band {
        let name = format!(
            "ε: {} / {}",
            Self::called(variant, first),
            Self::called(variant, second)
        );
        let ratio = self.tight(variant, first) / self.tight(variant, second);
        Band::within(name, ratio, 0.999, 1.0)
    }

    /// The tight ε of a method; NaN if it has none.
    fn tight(&self, variant: &str, method: Method) -> f64 {
        self.of(variant, method)
            .losses
            .and_then(|[loss, _]| loss.tight)
            .unwrap_or(f64::NAN)
    }

    /// The difference of two summed regrets, pair by pair, as a remark.
    pub fn difference(&self, first: (&str, Method), second: (&str, Method)) -> String {
        let paired = Paired::of(
            &self.of(first.0, first.1).sums,
            &self.of(second.0, second.1).sums,
        );
        format!(
            "paired: {} minus {}: {} ± {} (95 %), smaller in {} of {}",
            Self::called(first.0, first.1),
            Self::called(second.0, second.1),
            significant(paired.mean, 3),
            paired
                .half_width
                .map_or("?".into(), |half| significant(half, 2)),
            paired.smaller,
            paired.pairs
        )
    }

    /// Regret curves of all variants; the values of an ordered parameter get the colours of a ramp.
    pub fn curves(&self, title: &str, ramp: bool) -> Chart {
        let mut curves: Vec<(bool, Curve)> = Vec::new();
        for (place, measured) in self.measured.iter().enumerate() {
            for summary in &measured.statistics.methods {
                let mut curve = figure::curve(summary);
                // The paper's accountant, whose numbers are compared here.
                curve.note = summary
                    .losses
                    .map_or(String::new(), |[loss, _]| figure::epsilon(loss.moments));
                if !measured.variant.name.is_empty() {
                    curve.label = if ramp && summary.method != method::PURE_NOISE {
                        measured.variant.name.to_owned()
                    } else {
                        format!("{}, {}", curve.label, measured.variant.name)
                    };
                }
                let is_step = ramp
                    && !measured.variant.name.is_empty()
                    && summary.method != method::PURE_NOISE;
                if is_step {
                    curve.class = RAMP[place.min(RAMP.len() - 1)];
                }
                curves.push((is_step || summary.method == method::DP_FTS_DE, curve));
            }
        }
        // The method that matters is drawn on top.
        curves.sort_by_key(|(matters, _)| *matters);
        let curves = curves.into_iter().map(|(_, curve)| curve).collect();
        let mut chart = scaled(
            title,
            "round",
            &format!("{}, mean over agents", self.regret_name),
            curves,
        );
        chart.y_label.push_str("; lower is better");
        chart
    }

    /// Regret curves of one variant's methods, with what they spend by the tight accountant.
    pub fn curves_of(&self, title: &str, variant: &str) -> Chart {
        let of = self
            .measured
            .iter()
            .filter(|measured| measured.variant.name == variant);
        let curves = of
            .flat_map(|measured| &measured.statistics.methods)
            .map(figure::curve)
            .collect();
        let mut chart = scaled(
            title,
            "round",
            &format!("{}, mean over agents", self.regret_name),
            curves,
        );
        chart.y_label.push_str("; lower is better");
        chart
    }

    /// Summed regret of a method, a point for each of these variants, from left to right.
    fn utility_curve<'m>(
        measured: impl Iterator<Item = &'m Measured>,
        method: Method,
        x: impl Fn(&PrivacyLoss) -> Option<f64>,
    ) -> Curve {
        let of = measured
            .flat_map(|measured| &measured.statistics.methods)
            .filter(|summary| summary.method == method);
        let mut points: Vec<Point> = of
            .filter_map(|summary| Some(Point::mean(x(&summary.losses?[0])?, summary.summed_regret)))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve {
            class: palette::of(method),
            label: method.name().into(),
            note: String::new(),
            points,
        }
    }

    /// Summed regret over ε: one point for each variant of `dp-fts-de`, with `pure-noise` beside
    /// it.
    pub fn utility(&self) -> Chart {
        let curves = [method::PURE_NOISE, method::DP_FTS_DE]
            .map(|method| Self::utility_curve(self.measured.iter(), method, |loss| loss.moments));
        let y_label = format!("summed {}", self.regret_name);
        from_zero(
            "Utility against privacy",
            "ε by moments, all releases",
            &y_label,
            curves.to_vec(),
            1e-9,
        )
    }

    /// Summed regret over the tight ε of these methods, from left to right, and its logarithmic
    /// axis: one point for each variant in which only the noise differs.
    pub fn against_epsilon(&self, methods: &[Method]) -> (Chart, Ruler) {
        let measured = self
            .measured
            .iter()
            .filter(|measured| measured.variant.changes_only_noise());
        let curves: Vec<Curve> = methods
            .iter()
            .map(|method| {
                Self::utility_curve(measured.clone(), *method, |loss| loss.tight.map(f64::log10))
            })
            .collect();
        let places = curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.x);
        let from = places.clone().fold(f64::INFINITY, f64::min);
        let to = places.fold(f64::NEG_INFINITY, f64::max);
        let ticks = [0.1f64, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
            .map(|epsilon| (epsilon.log10(), epsilon.to_string()));
        let ticks = ticks
            .into_iter()
            .filter(|(x, _)| (from - 0.03..=to + 0.03).contains(x))
            .collect();
        let y_label = format!("summed {}; lower is better", self.regret_name);
        let x_label = "ε of all releases, tight, logarithmic";
        let chart = from_zero("Utility against privacy", x_label, &y_label, curves, 1e-9);
        (
            chart,
            Ruler {
                from: from - 0.03,
                to: to + 0.03,
                ticks,
                points: Points::Band,
            },
        )
    }

    /// The outcome with bands, remarks, and the pictures and tables for a folder.
    pub fn outcome(
        &self,
        title: &str,
        bands: Vec<Band>,
        remarks: Vec<String>,
        charts: Vec<Chart>,
    ) -> Outcome {
        self.outcome_over(title, bands, remarks, charts, None)
    }

    /// The outcome, with a horizontal axis that is given for all charts.
    pub fn outcome_over(
        &self,
        title: &str,
        bands: Vec<Band>,
        remarks: Vec<String>,
        charts: Vec<Chart>,
        ruler: Option<&Ruler>,
    ) -> Outcome {
        let runs = self
            .measured
            .first()
            .map_or(0, |measured| measured.scenario.runs);
        let said = format!(
            "Mean of {runs} paired runs, band ± one standard error; simulation: not private"
        );
        let mut all: Vec<(&str, &MethodRun)> = Vec::new();
        for measured in &self.measured {
            all.extend(
                measured
                    .results
                    .iter()
                    .map(|result| (measured.variant.name, result)),
            );
        }
        let sums = all.iter().map(|(variant, result)| {
            [
                key(variant, result),
                vec![number(Some(result.regret.iter().sum()))],
            ]
            .concat()
        });
        let rounds = all.iter().flat_map(|(variant, result)| {
            let at =
                |(round, regret): (usize, &f64)| vec![round.to_string(), number(Some(*regret))];
            result
                .regret
                .iter()
                .enumerate()
                .map(move |point| [key(variant, result), at(point)].concat())
        });
        let files = vec![
            (
                "figure.svg".to_owned(),
                compose(title, &[&said, ""], &charts, ruler),
            ),
            (
                "report.html".to_owned(),
                page(title, &said, &bands, &remarks, (&charts, ruler)),
            ),
            (
                "summed.csv".to_owned(),
                csv(["variant", "method", "run", "summed_regret"], sums),
            ),
            (
                "rounds.csv".to_owned(),
                csv(["variant", "method", "run", "round", "regret"], rounds),
            ),
        ];
        Outcome {
            bands,
            remarks,
            files,
        }
    }
}

/// The cells that say which run of a table is meant.
fn key(variant: &str, result: &MethodRun) -> Vec<String> {
    vec![
        variant.to_owned(),
        result.method.to_string(),
        result.run.to_string(),
    ]
}

fn page(
    title: &str,
    said: &str,
    bands: &[Band],
    remarks: &[String],
    (charts, ruler): (&[Chart], Option<&Ruler>),
) -> String {
    let mut out = String::new();
    header(&mut out, "sordino reproduce", title, said, &[], false);
    let mut table = String::from(
        "<div class=\"scroll\"><table>\n<thead><tr><th>band</th><th>expected</th><th>measured</th><th>holds</th></tr></thead>\n<tbody>\n",
    );
    for band in bands {
        let (class, holds) = if band.holds {
            ("better", "yes")
        } else {
            ("worse", "no")
        };
        let _ = writeln!(
            table,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"{class}\">{holds}</td></tr>",
            escape(&band.name),
            escape(&band.expected),
            significant(band.measured, 4)
        );
    }
    table.push_str("</tbody></table></div>\n<ul>\n");
    remarks.iter().for_each(|remark| {
        let _ = writeln!(table, "<li>{}</li>", escape(remark));
    });
    table.push_str("</ul>\n");
    section(&mut out, "Bands", "", &table);
    section(&mut out, "Curves", "", &side_by_side(charts, ruler, 190.0));
    document(title, &out)
}

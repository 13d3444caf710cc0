//! What all trust models have in common in a complete run folder: its summary and its curves.

use std::path::Path;

use sordino_experiment::journal::SUMMARY;
use sordino_experiment::metrics::Estimate;
use sordino_experiment::record::{MethodSummary, Summary, Twins, distinct};
use sordino_experiment::scenario::{FEDERATED, Guarantee, Scenario};
use sordino_experiment::text::{significant, significant_up};

use super::chart::{Curve, Picture, Point, Points, Ruler};
use super::curves::Curves;
use super::figure;
use super::folder::{SCENARIO, writer};
use super::palette::Looks;
use super::parts::scaled;
use super::read::{ReadError, RunFiles};
use super::svg::powers;

/// The name of a trust model's regret, as in `rounds.csv` of its run folders; an objective of a
/// federation may call it otherwise.
pub fn regret_of(trust: &str) -> &'static str {
    match trust {
        "local" => "cumulative regret",
        "outsourced" => "simple regret",
        _ => "regret",
    }
}

/// Whether a loss of this name is an ε.
pub fn is_epsilon(name: &str) -> bool {
    name.starts_with("epsilon")
}

/// A run folder's numbers.
#[derive(Clone, Debug)]
pub struct Results {
    /// Version of the program that wrote it.
    pub version: String,
    /// Its `scenario.toml`.
    pub scenario: toml::Table,
    /// Its `summary.json`.
    pub summary: Summary,
    /// Its `rounds.csv`.
    pub curves: Curves,
}

impl Results {
    /// Reads a run folder.
    ///
    /// **Errors**: as [`Results::read`].
    pub fn open(folder: &Path) -> Result<Results, ReadError> {
        Self::read(RunFiles::Folder(folder))
    }

    /// Reads the files of a run.
    ///
    /// **Errors**: a file that is missing or damaged, with its line; methods that stand in only one
    /// of the files.
    pub fn read(files: RunFiles<'_>) -> Result<Results, ReadError> {
        let (path, written) = files.text(SCENARIO)?;
        let scenario = written
            .parse()
            .map_err(|error: toml::de::Error| ReadError::inconsistent(&path, error.message()))?;
        let summary = files.summary()?;
        let curves = Curves::read(files)?;
        if let Some(method) = summary
            .methods
            .iter()
            .find(|method| curves.of(&method.name).len() != summary.runs as usize)
        {
            let there = curves.of(&method.name).len();
            let message = format!(
                "{} has {there} of its {} runs in rounds.csv",
                method.name, summary.runs
            );
            return Err(ReadError::inconsistent(Path::new(SUMMARY), message));
        }
        Ok(Results {
            version: writer(&written).to_owned(),
            scenario,
            summary,
            curves,
        })
    }

    /// A method of the summary.
    ///
    /// **Errors**: [`ReadError::Inconsistent`]: the scenario names it, and the summary does not.
    pub fn method(&self, name: &str) -> Result<&MethodSummary, ReadError> {
        self.summary.method(name).ok_or_else(|| {
            let message = format!("{name} is in {SCENARIO} and not here");
            ReadError::inconsistent(Path::new(SUMMARY), message)
        })
    }

    /// Which of its methods did the same.
    pub fn twins(&self) -> Twins<'_> {
        Twins::of(self.summary.methods.iter().map(MethodSummary::named))
    }

    /// The name of regret in this folder.
    pub fn regret(&self) -> String {
        let general = regret_of(&self.summary.trust);
        if self.summary.trust != FEDERATED {
            return general.to_owned();
        }
        let read = Scenario::parse("scenario.toml", &self.scenario.to_string(), &[]);
        read.map_or(general, |scenario| scenario.objective.regret_name())
            .to_owned()
    }

    /// The quantity that methods are compared by, in words.
    pub fn compared_by(&self) -> String {
        let regret = self.regret();
        if self.summary.trust == FEDERATED {
            format!("summed {regret}")
        } else {
            format!("final {regret}")
        }
    }

    /// For each method and run, the number by which methods are compared: in a federation, the
    /// regret summed over rounds; otherwise the last regret.
    pub fn worth(&self) -> Vec<(String, Vec<f64>)> {
        let summed = self.summary.trust == FEDERATED;
        let mut found = Vec::new();
        for method in &self.summary.methods {
            let runs = self.curves.of(&method.name).iter();
            let worth = if summed {
                runs.map(|run| run.iter().sum()).collect()
            } else {
                runs.map(|run| run.last().copied().unwrap_or(0.0)).collect()
            };
            found.push((method.name.clone(), worth));
        }
        found
    }

    /// Pictures that every trust model has, made of these numbers alone.
    pub fn pictures(&self) -> Vec<Picture> {
        let worth = self.worth();
        let regret = self.over_epsilon("regret-epsilon", &self.compared_by(), |method| {
            let found = worth.iter().find(|(name, _)| *name == method.name);
            found.map(|(_, values)| Estimate::of(values))
        });
        let score = "error of the published score";
        let score = self.over_epsilon("score-epsilon", score, |method| {
            method.measure("score_error").map(Estimate::from)
        });
        [
            self.over_rounds(),
            self.utility(),
            regret,
            score,
            self.losses(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// How its methods are distinguished.
    pub(super) fn looks(&self) -> Looks {
        Looks::of(
            self.summary
                .methods
                .iter()
                .map(|method| method.name.as_str()),
            self.summary.trust == FEDERATED,
        )
    }

    pub(super) fn picture(
        &self,
        name: &str,
        title: &str,
        text: &str,
        chart: super::chart::Chart,
    ) -> Picture {
        let title = format!("{}: {title}", self.summary.scenario);
        let text = text.to_owned();
        Picture {
            name: name.to_owned(),
            title,
            text,
            charts: vec![chart],
            ruler: None,
        }
    }

    /// The sentences that explain the bands, and what every ε in the picture belongs to.
    fn band(&self) -> String {
        let band = match self.summary.runs {
            1 => "One run.".to_owned(),
            runs => format!(
                "Mean of {runs} paired runs; the band is one standard error to either side."
            ),
        };
        self.with_belongs(&band)
    }

    /// A text, and what every ε in its picture belongs to.
    pub(super) fn with_belongs(&self, text: &str) -> String {
        let belongs = belongs(&self.summary.methods);
        format!("{text} {belongs}").trim_end().to_owned()
    }

    /// Regret by round of every method that has more than one round.
    fn over_rounds(&self) -> Option<Picture> {
        let means = self.curves.means();
        let looks = self.looks();
        let mut curves: Vec<Curve> = means
            .iter()
            .filter(|found| found.means.len() > 1)
            .map(|found| Curve {
                class: looks.class(&found.method),
                label: found.method.clone(),
                note: self.note(&found.method),
                points: found.points(),
            })
            .collect();
        figure::mark_twins(&mut curves, &self.twins());
        let chart = scaled("All methods", "round", &self.regret(), curves);
        (!chart.curves.is_empty())
            .then(|| self.picture("regret", &self.regret(), &self.band(), chart))
    }

    /// What stands beside the name of a method: its ε, or that nobody is protected.
    fn note(&self, method: &str) -> String {
        let summary = self.summary.method(method);
        let free = summary
            .filter(|method| method.guarantee == Guarantee::None.name())
            .map_or("", |_| figure::UNPROTECTED);
        summary
            .and_then(epsilon)
            .map_or(free.to_owned(), |loss| figure::epsilon(Some(loss)))
    }

    /// A measure over ε, where one folder has releases at several ε; methods named
    /// `method at ε = 1` share a curve.
    fn over_epsilon(
        &self,
        name: &str,
        title: &str,
        of: impl Fn(&MethodSummary) -> Option<Estimate>,
    ) -> Option<Picture> {
        let mut curves: Vec<Curve> = Vec::new();
        let measured = self
            .summary
            .methods
            .iter()
            .filter_map(|method| Some((method, of(method)?)));
        let (free, paid): (Vec<_>, Vec<_>) =
            measured.partition(|(method, _)| priced(method).is_none());
        let ruler = over(
            &paid
                .iter()
                .filter_map(|(method, _)| priced(method))
                .collect::<Vec<_>>(),
        )?;
        let names = paid
            .iter()
            .chain(&free)
            .map(|(method, _)| base(&method.name));
        let looks = Looks::of(names, self.summary.trust == FEDERATED);
        for (method, at) in paid {
            let point = Point::mean_of_positive(priced(method).unwrap_or(1.0), at);
            let name = base(&method.name);
            match curves.iter_mut().find(|curve| curve.label == name) {
                Some(curve) => curve.points.push(point),
                None => {
                    curves.push(Curve {
                        class: looks.class(name),
                        label: name.to_owned(),
                        note: String::new(),
                        points: vec![point],
                    });
                }
            }
        }
        if curves.iter().all(|curve| curve.points.len() < 2) {
            return None;
        }
        // What does not depend on ε is a line through all of them.
        for (method, at) in free {
            let points = [ruler.from, ruler.to]
                .map(|x| Point::bare(x.exp(), at.mean))
                .to_vec();
            let class = looks.class(base(&method.name));
            curves.push(Curve {
                class,
                label: method.name.clone(),
                note: String::new(),
                points,
            });
        }
        curves.iter_mut().for_each(logarithmic);
        let chart = scaled("", "ε, logarithmic", title, curves);
        let picture = self.picture(name, &format!("{title} against ε"), &self.band(), chart);
        Some(Picture {
            ruler: Some(ruler),
            ..picture
        })
    }

    /// The cost of all releases, by round.
    fn losses(&self) -> Option<Picture> {
        let looks = self.looks();
        let told = self
            .curves
            .losses()
            .iter()
            .filter(|told| told.spent.len() > 1);
        let curves = told.map(|told| Curve {
            class: looks.class(&told.method),
            label: told.method.clone(),
            note: told
                .spent
                .last()
                .map_or(String::new(), |last| figure::epsilon(Some(last.epsilon))),
            points: told
                .spent
                .iter()
                .map(|by| Point::bare(by.round, by.epsilon))
                .collect(),
        });
        let chart = scaled("", "round", "ε of all releases so far", curves.collect());
        let text = "What the releases of each private method have cost by the end of a round.";
        (!chart.curves.is_empty())
            .then(|| self.picture("epsilon", "ε by round", &self.with_belongs(text), chart))
    }
}

/// The ε of a method's releases: the first loss named as an ε.
pub fn epsilon(method: &MethodSummary) -> Option<f64> {
    method
        .losses
        .iter()
        .find(|loss| is_epsilon(&loss.name))
        .and_then(|loss| loss.value)
}

/// The ε of a method whose releases cost anything.
pub(super) fn priced(method: &MethodSummary) -> Option<f64> {
    epsilon(method).filter(|epsilon| *epsilon > 0.0)
}

/// The name that a method has at every ε.
fn base(name: &str) -> &str {
    name.split(" at ε = ").next().unwrap_or(name)
}

/// Sorts the points and replaces their place by its logarithm.
pub fn logarithmic(curve: &mut Curve) {
    curve
        .points
        .iter_mut()
        .for_each(|point| point.x = point.x.ln());
    curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
}

/// To which δ and which neighbouring relation the ε of a method belongs, as `ε at δ = 0.0001,
/// zero-out`; nothing without an ε.
pub fn belonging(method: &MethodSummary) -> Option<String> {
    let relation = match method.neighboring_relation.as_deref()? {
        "replace_special" => "zero-out".to_owned(),
        other => other.replace('_', " "),
    };
    let delta = method
        .loss("delta")
        .and_then(|loss| loss.value)
        .filter(|delta| *delta > 0.0);
    let delta = delta.map_or(String::new(), |delta| {
        format!(" at δ = {}", significant(delta, 3))
    });
    epsilon(method).map(|_| format!("ε{delta}, {relation}"))
}

/// The same of all these methods, as a sentence; empty if none has an ε.
fn belongs(methods: &[MethodSummary]) -> String {
    let found: Vec<String> = methods.iter().filter_map(belonging).collect();
    let found = distinct(found.iter().map(String::as_str));
    if found.is_empty() {
        String::new()
    } else {
        format!("{}.", found.join("; "))
    }
}

/// An axis of ln ε with round numbers; `None` unless two of the ε differ by a hundredth.
pub fn over(epsilons: &[f64]) -> Option<Ruler> {
    let low = epsilons.iter().copied().fold(f64::INFINITY, f64::min);
    let high = epsilons.iter().copied().fold(0.0, f64::max);
    if !(low > 0.0 && high > low * 1.01) {
        return None;
    }
    let from = low.ln();
    let to = high.ln();
    let room = 0.04 * (to - from);
    let steps: &[f64] = if high / low > 1e4 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let round = powers(low, high, steps).into_iter();
    let mut ticks: Vec<(f64, String)> = round.map(|x| (x.ln(), significant(x, 1))).collect();
    if ticks.len() < 2 {
        ticks = [low, high].map(|x| (x.ln(), significant_up(x, 3))).to_vec();
    }
    Some(Ruler {
        from: from - room,
        to: to + room,
        ticks,
        points: Points::Band,
    })
}

#[cfg(test)]
mod tests {
    use sordino_experiment::record::Loss;

    use super::*;

    /// README's picture said "ε = 7.05" and neither δ nor relation.
    #[test]
    fn a_picture_says_to_which_delta_and_relation_its_epsilons_belong() {
        let method = |relation: Option<&str>, delta: f64| MethodSummary {
            neighboring_relation: relation.map(str::to_owned),
            losses: vec![Loss::new("epsilon_pld", 7.05), Loss::new("delta", delta)],
            ..MethodSummary::default()
        };
        let special = || method(Some("replace_special"), 200f64.powf(-1.1));
        assert_eq!(
            belongs(&[special(), special()]),
            "ε at δ = 0.00294, zero-out."
        );
        assert_eq!(
            belongs(&[method(Some("replace_one"), 0.0)]),
            "ε, replace one."
        );
        assert_eq!(
            belongs(&[special(), method(Some("replace_special"), 1e-5)])
                .matches("zero-out")
                .count(),
            2
        );
        // Negative control: nothing is promised.
        assert_eq!(belongs(&[MethodSummary::default(), method(None, 0.1)]), "");
    }

    #[test]
    fn an_axis_of_epsilons_has_round_numbers_within_them() {
        let shown = |epsilons: &[f64]| -> Vec<String> {
            over(epsilons).map_or(Vec::new(), |ruler| {
                ruler.ticks.into_iter().map(|(_, text)| text).collect()
            })
        };
        assert_eq!(shown(&[0.64, 7.05, 2.0]), ["1", "2", "5"]);
        assert_eq!(shown(&[3.1, 3.3]), ["3.10", "3.30"]);
        assert_eq!(
            shown(&[0.01, 1000.0]),
            ["0.01", "0.1", "1", "10", "100", "1000"]
        );
        assert!(over(&[2.0, 2.0]).is_none() && over(&[]).is_none() && over(&[0.0, 1.0]).is_none());
    }
}

//! Utility against privacy: what methods reached, over what their releases cost.

use sordino_experiment::metrics::Estimate;
use sordino_experiment::record::MethodSummary;
use sordino_experiment::scenario::Guarantee;

use super::chart::{Curve, Picture, Point, Points, Ruler};
use super::figure;
use super::parts::scaled;
use super::results::{Results, logarithmic, over, priced};

impl Results {
    /// The measure that methods are compared by, over ε where releases have several ε; otherwise
    /// side by side, the best first, with ε beside each name. `None` if there is a single method.
    pub(super) fn utility(&self) -> Option<Picture> {
        let worth = self.worth();
        let looks = self.looks();
        let found = worth
            .iter()
            .filter_map(|(name, values)| Some((self.summary.method(name)?, Estimate::of(values))));
        let mut found: Vec<(&MethodSummary, Estimate)> = found.collect();
        if found.len() < 2 {
            return None;
        }
        found.sort_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean));
        let epsilons: Vec<f64> = found
            .iter()
            .filter_map(|(method, _)| priced(method))
            .collect();
        let axis = over(&epsilons);
        let mut curves = Vec::new();
        for (place, (method, at)) in found.iter().enumerate() {
            let points = match (&axis, priced(method)) {
                (None, _) => vec![Point::mean_of_positive(place as f64, *at)],
                (Some(_), Some(epsilon)) => vec![Point::mean_of_positive(epsilon, *at)],
                // What costs nothing stands at both ends.
                (Some(axis), None) => [axis.from, axis.to]
                    .map(|x| Point::bare(x.exp(), at.mean))
                    .to_vec(),
            };
            let free = if method.guarantee == Guarantee::None.name() {
                figure::UNPROTECTED
            } else {
                &method.guarantee
            };
            let note = priced(method).map_or(free.to_owned(), |loss| figure::epsilon(Some(loss)));
            let mut curve = Curve {
                class: looks.class(&method.name),
                label: method.name.clone(),
                note,
                points,
            };
            if axis.is_some() {
                logarithmic(&mut curve);
            }
            curves.push(curve);
        }
        let side_by_side = Ruler {
            from: -0.5,
            to: curves.len() as f64 - 0.5,
            ticks: Vec::new(),
            points: Points::Joined,
        };
        let below = if axis.is_some() {
            "ε, logarithmic"
        } else {
            "methods, the best first"
        };
        let chart = scaled("", below, &self.compared_by(), curves);
        let text = match (self.summary.runs, &axis) {
            (1, _) => "One run.".to_owned(),
            (runs, None) => {
                format!("Mean of {runs} paired runs, bars ± one standard error.")
            }
            (runs, Some(_)) => format!(
                "Mean of {runs} paired runs, bars ± one standard error; a line pays nothing."
            ),
        };
        let text = self.with_belongs(&text);
        let picture = self.picture("utility", "utility against privacy", &text, chart);
        let ruler = axis.map_or(side_by_side, |axis| Ruler {
            points: Points::Joined,
            ..axis
        });
        Some(Picture {
            ruler: Some(ruler),
            ..picture
        })
    }
}

//! What ε means, over ε: how often the best guess about one agent is right, and the second number
//! of the same releases.

use sordino_core::privacy::accountant::{Accountant, GaussianAccountant, analytic};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_report::chart::{Chart, Curve, Picture, Point, Points, Ruler, Scale};
use sordino_report::{palette, sheet::Sheet};

/// The δ of every curve that has one.
const DELTA: f64 = 1e-5;
/// The largest ε that is drawn.
const EPSILON_MAX: u32 = 8;
/// Points for each unit of ε.
const PER_UNIT: u32 = 8;
const WIDTH_MM: f64 = 190.0;

/// Both panels: the guess, and ε between two contributions.
pub fn draw() -> String {
    let pure = curve(0, "pure ε (δ = 0)", |epsilon| {
        100.0 / (1.0 + (-epsilon).exp())
    });
    let everybody = curve(1, "releases of everybody, δ = 1e-5", |epsilon| {
        100.0
            * released(epsilon)
                .best_guess()
                .expect("one release is composed")
    });
    let guesses = vec![pure, everybody];
    let replace = curve(1, "replace", |epsilon| {
        released(epsilon)
            .replace_epsilon(DELTA)
            .expect("the release has an ε at this δ")
            .epsilon
    });
    let numbers = vec![curve(0, "zero-out", |epsilon| epsilon), replace];
    let charts = vec![
        chart(
            "The best guess, used or not, is right",
            "per cent at most",
            50.0,
            100.0,
            guesses,
        ),
        chart(
            "The two numbers of one release, δ = 1e-5",
            "ε",
            0.0,
            20.0,
            numbers,
        ),
    ];
    let ticks = (0..=EPSILON_MAX)
        .map(|tick| (f64::from(tick), tick.to_string()))
        .collect();
    let ruler = Ruler {
        from: 0.0,
        to: f64::from(EPSILON_MAX),
        ticks,
        points: Points::Band,
    };
    let title = "What ε means".to_owned();
    let picture = Picture {
        name: "meaning".into(),
        title,
        text: String::new(),
        charts,
        ruler: Some(ruler),
    };
    Sheet {
        width: WIDTH_MM,
        title: false,
    }
    .drawn(&picture)
    .0
}

/// Releases to which everybody contributes, at this ε.
fn released(epsilon: f64) -> GaussianAccountant {
    let noise_multiplier = analytic::noise_multiplier(epsilon, DELTA).expect("ε and δ in range");
    let mut accountant = GaussianAccountant::new();
    let event = Event::Gaussian {
        noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    accountant.compose(&event, 1).expect("a Gaussian event");
    accountant
}

fn curve(place: usize, label: &str, value: impl Fn(f64) -> f64) -> Curve {
    let epsilons = (1..=EPSILON_MAX * PER_UNIT).map(|i| f64::from(i) / f64::from(PER_UNIT));
    let points = epsilons
        .map(|epsilon| Point::bare(epsilon, value(epsilon)))
        .collect();
    Curve {
        class: palette::other(place),
        label: label.to_owned(),
        note: String::new(),
        points,
    }
}

fn chart(title: &str, y_label: &str, from: f64, y_max: f64, curves: Vec<Curve>) -> Chart {
    let title = title.to_owned();
    let y_label = y_label.to_owned();
    Chart {
        title,
        x_label: "ε (zero-out)".into(),
        y_label,
        curves,
        scale: Scale::Linear { from },
        y_max,
    }
}

//! Files made of studies, and searches that begin with them.

use serde_json::{Value, json};
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};

use super::*;
use crate::ledger::{Accounting, Ledger, Terms};
use crate::prior::guide::{Guide, GuideError};
use crate::prior::worth::worth;
use crate::search::{Event, Head, Search, SearchError};
use crate::server::SimulatedSources;
use crate::space::SpaceFile;

mod lists;

const SPACE: &str = "goal = \"minimize\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n[parameters.depth]\nlow = 1\n\
                     high = 8\ninteger = true";

fn publication(epsilon: f64) -> Publication {
    let file = SpaceFile::parse("s", SPACE).unwrap();
    Publication {
        space: file.space,
        goal: Goal::Minimize,
        value: Some("loss".into()),
        epsilon,
        delta: 1e-4,
        releases: 2,
        features: 50,
        dataset: "test".into(),
        by: None,
        note: None,
        published: None,
    }
}

/// A loss with its least value at rate .01 and depth 3, moved a little and in a unit of its own.
fn loss(numbers: &[f64], moved: f64) -> f64 {
    // Parameters stand in the order of their names: depth, rate.
    let depth = numbers[0];
    let rate = numbers[1].log10();
    (rate + 2.0 + moved).powi(2) + 0.15 * (depth - 3.0).powi(2)
}

fn studies(count: usize, points: usize, shared: bool) -> Vec<Study> {
    let space = publication(1.0).space.core().unwrap();
    let mut stream = RunSeed::new(11, 0).stream(Party::World, Purpose::InitialPoints, 0);
    let study = |place: usize| {
        let moved: f64 = 0.2 * (stream.unit::<f64>() - 0.5);
        let scale: f64 = (3.0 * stream.unit::<f64>()).exp();
        let offset: f64 = 100.0 * stream.unit::<f64>();
        let at = |stream: &mut Stream| {
            let unit = |axis| (axis, stream.unit::<f64>());
            [0, 1]
                .map(unit)
                .map(|(axis, u)| space.from_unit(axis, u).unwrap())
                .to_vec()
        };
        let values = (0..points).map(|_| {
            let numbers = at(&mut stream);
            let value = if shared {
                loss(&numbers, moved)
            } else {
                stream.unit()
            };
            (numbers, offset + scale * value)
        });
        Study {
            name: format!("study {place}"),
            values: values.collect(),
        }
    };
    (0..count).map(study).collect()
}

fn simulated(publication: &Publication, studies: &[Study]) -> Result<PriorFile, PublishError> {
    let terms = Terms {
        data: "test".into(),
        unit: "study".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: Some(10.0),
        delta: publication.delta,
    };
    let sources = SimulatedSources::new(RunSeed::new(5, 0));
    let ledger = Ledger::in_memory(&terms).unwrap();
    let checked = Checked::new(publication, studies, terms.epsilon_max)?;
    let prepared = checked.prepare(|_| {})?;
    let (file, _) = checked.publish(&prepared, sources, ledger, None, |_| {})?;
    Ok(file)
}

fn best(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn what_forty_studies_know_is_where_a_newcomer_begins() {
    let file = simulated(&publication(2.0), &studies(40, 12, true)).unwrap();
    assert!(
        file.label.simulated && file.label.self_test > 1.0,
        "{}",
        file.label.self_test
    );
    assert!(
        file.label.epsilon <= 2.0 && file.label.epsilon > 1.99,
        "{}",
        file.label.epsilon
    );
    assert!(file.label.replace_epsilon > 3.5);
    let read = PriorFile::parse(&file.to_bytes()).unwrap();
    assert_eq!(read, file);
    let told = worth(&read).unwrap();
    assert!(
        told.saved() >= 3 && told.with[0] < 0.5 * told.without[0],
        "{told:?}"
    );
    let mut with = 0.0;
    let mut without = 0.0;
    for seed in 0..6 {
        let head = || Head::new(file.label.space.clone(), Goal::Minimize, seed);
        let moved = 0.2 * (seed as f64 / 5.0 - 0.5);
        with += best(&learned(
            &mut Search::guided(head(), &read).unwrap(),
            moved,
            (3, 1),
        ));
        without += best(&learned(&mut Search::new(head()).unwrap(), moved, (3, 1)));
    }
    assert!(
        with < 0.3 * without,
        "{with} with the file, {without} without"
    );
}

/// Contributors that have nothing in common: the file says so, and harms nobody.
#[test]
fn a_file_of_noise_is_not_believed() {
    let file = simulated(&publication(2.0), &studies(40, 12, false)).unwrap();
    assert!(file.label.self_test < 1.0, "{}", file.label.self_test);
    let told = worth(&file).unwrap();
    assert!(told.saved() <= 2, "{told:?}");
    let head = || Head::new(file.label.space.clone(), Goal::Minimize, 3);
    let with = best(&learned(
        &mut Search::guided(head(), &file).unwrap(),
        0.0,
        (15, 1),
    ));
    assert!(with < 0.2, "{with}");
}

/// A file may be right about its contributors and wrong about a newcomer. Once values say so, the
/// questions are those of a search that never had the file.
#[test]
fn a_newcomer_of_whom_the_file_is_wrong_puts_it_away() {
    let file = simulated(&publication(2.0), &studies(40, 12, true)).unwrap();
    let space = file.label.space.clone();
    let guide = Guide::new(&file, &space, Goal::Minimize).unwrap();
    let questions = |sign: f64| {
        let mut search =
            Search::guided(Head::new(space.clone(), Goal::Minimize, 2), &file).unwrap();
        let mut known: Vec<(Vec<f64>, f64)> = Vec::new();
        let mut borne_out = Vec::new();
        let mut same = Vec::new();
        for _ in 0..10 {
            let told: Vec<(&[f64], f64)> = known
                .iter()
                .map(|(numbers, value)| (&numbers[..], -value))
                .collect();
            borne_out.push(guide.is_borne_out(&told).unwrap());
            // What is told before the first question would be the points that it begins with.
            let mut text = Search::head_line(&Head::new(space.clone(), Goal::Minimize, 2));
            for (numbers, value) in &known {
                let (point, value) = (space.point(numbers), *value);
                text += &Search::line(&Event::Asked(point.clone()));
                text += &Search::line(&Event::Told { point, value });
            }
            let mut alone = Search::parse(&text).unwrap();
            let point = search.ask(&json!({})).unwrap();
            same.push(point == alone.ask(&json!({})).unwrap());
            let numbers = space.numbers(&point.clone().into()).unwrap();
            let value = sign * loss(&numbers, 0.0);
            search.tell(&point.into(), value).unwrap();
            known.push((numbers, value));
        }
        (borne_out, same)
    };
    let (borne_out, same) = questions(-1.0);
    assert!(borne_out[0] && !borne_out[9], "{borne_out:?}");
    for (step, (borne_out, same)) in borne_out.iter().zip(&same).enumerate() {
        assert!(
            *borne_out || *same,
            "question {step} is not that of a search without the file"
        );
    }
    // Negative control: the contributors' own function.
    let (borne_out, same) = questions(1.0);
    assert!(
        borne_out.iter().all(|borne_out| *borne_out) && !same[0],
        "{borne_out:?} {same:?}"
    );
}

/// From 15 values on the questions are those of the search's own model of what the file does not
/// explain: neither those of the file's model, nor those of a search alone, and in any unit the
/// same.
#[test]
fn a_newcomer_with_many_values_goes_on_with_a_model_of_its_own() {
    let file = simulated(&publication(2.0), &studies(40, 12, true)).unwrap();
    let space = file.label.space.clone();
    let head = || Head::new(space.clone(), Goal::Minimize, 2);
    let numbers = |point: &Value| space.numbers(point).unwrap();
    let mut search = Search::guided(head(), &file).unwrap();
    let mut other_unit = Search::guided(head(), &file).unwrap();
    let mut alone = Search::new(head()).unwrap();
    let guide = Guide::new(&file, &space, Goal::Minimize).unwrap();
    for evaluation in 0..20 {
        let point = Value::from(search.ask(&json!({})).unwrap());
        assert_eq!(
            point,
            Value::from(other_unit.ask(&json!({})).unwrap()),
            "question {evaluation}"
        );
        assert!(
            point != Value::from(alone.ask(&json!({})).unwrap()),
            "question {evaluation}"
        );
        let value = loss(&numbers(&point), 0.1);
        search.tell(&point, value).unwrap();
        other_unit.tell(&point, 1024.0 * value).unwrap();
        alone.tell(&point, value).unwrap();
    }
    let told: Vec<(Vec<f64>, f64)> = search
        .history()
        .map(|(point, value)| (space.numbers(&point.into()).unwrap(), -value))
        .collect();
    let told: Vec<(&[f64], f64)> = told
        .iter()
        .map(|(numbers, value)| (&numbers[..], *value))
        .collect();
    assert!(
        guide.is_borne_out(&told).unwrap(),
        "the values still speak for the file"
    );
    assert!(search.best().unwrap().1 < 0.01, "{:?}", search.best());
}

/// Asks so many questions one after another, tells what they learn, and says their values.
fn learned(search: &mut Search, moved: f64, (questions, at_once): (usize, usize)) -> Vec<f64> {
    let space = search.head().space.clone();
    let mut values = Vec::new();
    while values.len() < questions {
        let asked: Vec<Value> = (0..at_once)
            .map(|_| search.ask(&json!({})).unwrap().into())
            .collect();
        for point in asked {
            let value = loss(&space.numbers(&point).unwrap(), moved);
            search.tell(&point, 7.0 + 1e3 * value).unwrap();
            values.push(value);
        }
    }
    values
}

/// Questions under way have no value and speak neither for the file nor against it: all of them are
/// good ones of it, before the first value and after some. So are those that follow when nothing
/// but failures is known.
#[test]
fn questions_without_values_are_good_ones_of_the_file() {
    let file = simulated(&publication(2.0), &studies(40, 12, true)).unwrap();
    let space = file.label.space.clone();
    let guide = Guide::new(&file, &space, Goal::Minimize).unwrap();
    let all = guide.believed(&crate::prior::points(&space, 500).unwrap());
    let mut all: Vec<f64> = all.unwrap().iter().map(|said| said.mean).collect();
    all.sort_by(f64::total_cmp);
    // The best quarter of the space: eight questions at random are all in it once in 65,000 times.
    let good = all[375];
    for (seed, values, fails) in [
        (0, 0, false),
        (1, 0, true),
        (2, 1, false),
        (3, 1, true),
        (4, 2, false),
    ] {
        let head = Head::new(space.clone(), Goal::Minimize, seed);
        let mut search = Search::guided(head, &file).unwrap();
        learned(&mut search, 0.1, (values, 1));
        let mut asked = Vec::new();
        for _ in 0..8 {
            let point = Value::from(search.ask(&json!({})).unwrap());
            asked.push(space.numbers(&point).unwrap());
            if fails {
                search.fail(&point).unwrap();
            }
        }
        for (place, said) in guide.believed(&asked).unwrap().iter().enumerate() {
            assert!(
                said.mean > good,
                "{seed}: question {place} has {}, {good}",
                said.mean
            );
            assert!(!asked[..place].contains(&asked[place]), "{seed}: {asked:?}");
        }
    }
}

#[test]
fn four_questions_at_once_are_nearly_as_good_as_one_after_another() {
    let file = simulated(&publication(2.0), &studies(40, 12, true)).unwrap();
    let mut sums = [0.0; 3];
    for seed in 0..6 {
        let moved = 0.2 * (seed as f64 / 5.0 - 0.5);
        let head = || Head::new(file.label.space.clone(), Goal::Minimize, seed);
        let guided = || Search::guided(head(), &file).unwrap();
        let searches = [
            (guided(), 1),
            (guided(), 4),
            (Search::new(head()).unwrap(), 4),
        ];
        for (sum, (mut search, at_once)) in sums.iter_mut().zip(searches) {
            *sum += best(&learned(&mut search, moved, (8, at_once))) / 6.0;
        }
    }
    let [one, four, alone] = sums;
    assert!(four < one + 0.02 && four < 0.2 * alone, "{sums:?}");
}

#[test]
fn the_second_question_beside_a_file_of_little_evidence_covers_the_space() {
    let file = simulated(&publication(2.0), &studies(30, 10, true)).unwrap();
    let space = &file.label.space;
    let asked = |self_test: f64| {
        let mut label = file.label.clone();
        label.self_test = self_test;
        let file = PriorFile::new(
            label,
            file.landmarks.clone(),
            file.weights.clone(),
            file.covariance.clone(),
        );
        let file = file.unwrap();
        let guide = Guide::new(&file, space, Goal::Minimize).unwrap();
        let is_file = [0, 1, 2].map(|values| guide.is_asked(values));
        let head = Head::new(space.clone(), Goal::Minimize, 1);
        let mut search = Search::guided(head, &file).unwrap();
        let questions = [(); 2].map(|()| {
            let point = Value::from(search.ask(&json!({})).unwrap());
            let numbers = space.numbers(&point).unwrap();
            search.tell(&point, loss(&numbers, 0.0)).unwrap();
            numbers
        });
        (is_file, questions)
    };
    let (little, [first, second]) = asked(2.9);
    assert_eq!(little, [true, false, true]);
    let (enough, questions) = asked(3.0);
    assert_eq!((enough, &questions[0]), ([true; 3], &first));
    assert_ne!(questions[1], second);
}

#[test]
fn a_guided_search_is_a_function_of_its_log_and_its_file() {
    let file = simulated(&publication(2.0), &studies(30, 10, true)).unwrap();
    let head = Head::new(file.label.space.clone(), Goal::Minimize, 1);
    let mut search = Search::guided(head.clone(), &file).unwrap();
    for _ in 0..4 {
        let point = search.ask(&json!({})).unwrap();
        let value = loss(
            &file.label.space.numbers(&point.clone().into()).unwrap(),
            0.0,
        );
        search.tell(&point.into(), value).unwrap();
    }
    let _under_way = search.ask(&json!({})).unwrap();
    let text = search.to_text();
    let mut again = Search::parse_guided(&text, &file).unwrap();
    assert_eq!(
        again.ask(&json!({})).unwrap(),
        search.ask(&json!({})).unwrap()
    );
    assert!(matches!(
        Search::parse(&text),
        Err(SearchError::NoPrior { .. })
    ));
    let mut other = file.clone();
    other.weights[0] += 1.0;
    assert!(matches!(
        Search::parse_guided(&text, &other),
        Err(SearchError::OtherPrior { .. })
    ));
    let plain = Search::new(head).unwrap().to_text();
    assert!(matches!(
        Search::parse_guided(&plain, &file),
        Err(SearchError::OtherPrior { stored: None, .. })
    ));
}

/// A contributor under one name twice would be in the sum twice.
#[test]
fn two_studies_of_one_name_are_refused() {
    let mut twice = studies(20, 10, true);
    assert!(check(&publication(2.0), &twice).is_ok());
    let first = twice[3].name.clone();
    for second in [
        first.clone(),
        format!("{first} "),
        first.to_uppercase(),
        first.replace(' ', "  "),
    ] {
        twice[7].name.clone_from(&second);
        let refused = check(&publication(2.0), &twice).unwrap_err();
        assert!(
            matches!(&refused, PublishError::SameName { study, other } if (study, other) == (&second, &first))
        );
        let also = match second == first {
            true => String::new(),
            false => format!(", also as {first:?}"),
        };
        let said = format!("study {second}: its name is there twice{also}; admissible: ");
        assert!(refused.to_string().starts_with(&said), "{refused}");
    }
}

#[test]
fn a_space_of_too_many_parameters_is_refused_by_their_number() {
    let wide: String = (0..20)
        .map(|axis| format!("[parameters.x{axis}]\nlow = 0\nhigh = 1\n"))
        .collect();
    let publication = Publication {
        space: SpaceFile::parse("s", &wide).unwrap().space,
        ..publication(2.0)
    };
    let refused = check(&publication, &studies(20, 10, true)).unwrap_err();
    let said = "space is the parameters make no space to search: 20 axes; 1..=16 are admissible";
    assert!(refused.to_string().starts_with(said), "{refused}");
}

#[test]
fn a_file_of_another_search_is_refused_by_what_differs() {
    let file = simulated(&publication(2.0), &studies(20, 10, true)).unwrap();
    let space = |text: &str| SpaceFile::parse("s", text).unwrap().space;
    for (text, goal, differs) in [
        (SPACE.to_owned(), Goal::Maximize, "goal"),
        (SPACE.replace("1e-4", "1e-5"), Goal::Minimize, "rate"),
        (
            SPACE.replace("depth", "deep"),
            Goal::Minimize,
            "the list of parameters",
        ),
        (
            format!("{SPACE}\n[parameters.more]\nlow = 0\nhigh = 1"),
            Goal::Minimize,
            "the list of parameters",
        ),
    ] {
        match Guide::new(&file, &space(&text), goal) {
            Err(GuideError::Other { what, .. }) => assert_eq!(what, differs),
            other => panic!("{differs}: {other:?}"),
        }
    }
    let mut singular = file.clone();
    let dim = 2;
    let (first, rest) = singular.landmarks.split_at_mut(dim);
    rest[..dim].copy_from_slice(first);
    let found = Guide::new(&singular, &file.label.space, Goal::Minimize);
    assert!(matches!(found, Err(GuideError::Numbers(_))), "{found:?}");
}

#[test]
fn what_would_protect_nobody_is_refused_before_anything_is_computed() {
    let refused = |publication: &Publication, studies: &[Study]| match check(publication, studies) {
        Err(PublishError::Refused(error)) => error.what,
        Err(PublishError::Study { study, .. }) => study,
        other => panic!("{other:?}"),
    };
    let all = studies(20, 5, true);
    assert!(check(&publication(1.0), &all).is_ok());
    assert_eq!(refused(&publication(1.0), &all[..1]), "number of studies");
    assert_eq!(
        refused(
            &Publication {
                delta: 0.006,
                ..publication(1.0)
            },
            &all
        ),
        "delta"
    );
    assert!(
        check(
            &Publication {
                delta: 0.005,
                ..publication(1.0)
            },
            &all
        )
        .is_ok()
    );
    assert_eq!(refused(&publication(0.0), &all), "epsilon");
    let broken = Publication {
        note: Some("two\nlines".into()),
        ..publication(1.0)
    };
    assert_eq!(refused(&broken, &all), "note");
    let long = Publication {
        by: Some("x".repeat(1001)),
        ..publication(1.0)
    };
    assert_eq!(refused(&long, &all), "by");
    let mut short = all.clone();
    short[7].values.truncate(2);
    assert_eq!(refused(&publication(1.0), &short), "study 7");
    let mut outside = all.clone();
    outside[3].values[0].0[0] = 9.0;
    assert_eq!(refused(&publication(1.0), &outside), "study 3");
    let mut broken = all;
    broken[4].values[2].1 = f64::NAN;
    assert_eq!(refused(&publication(1.0), &broken), "study 4");
}

/// Each contributor in another unit, e^{1.5 N(0,1)}, and with another offset, 30 N(0,1): the file
/// is the same but for rounding.
#[test]
fn the_unit_of_a_contributor_changes_no_number_that_shows() {
    let all = studies(30, 10, true);
    let mut stream = RunSeed::new(12, 0).stream(Party::World, Purpose::InitialPoints, 0);
    let mut moved = all.clone();
    for study in &mut moved {
        let scale: f64 = normal::draw(&mut stream);
        let offset: f64 = normal::draw(&mut stream);
        study
            .values
            .iter_mut()
            .for_each(|(_, value)| *value = 30.0 * offset + (1.5 * scale).exp() * *value);
    }
    let [one, own] = [&all, &moved].map(|studies| simulated(&publication(2.0), studies).unwrap());
    let apart = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max)
    };
    assert!(
        apart(&one.weights, &own.weights) < 1e-4,
        "{}",
        apart(&one.weights, &own.weights)
    );
    assert!(apart(&one.covariance, &own.covariance) < 1e-4);
    assert!((one.label.self_test - own.label.self_test).abs() < 1e-3);
    // Negative control: another order of the same values is another file.
    let mut turned = all;
    for study in &mut turned {
        let values: Vec<f64> = study.values.iter().rev().map(|(_, value)| *value).collect();
        study
            .values
            .iter_mut()
            .zip(values)
            .for_each(|((_, value), other)| *value = other);
    }
    assert!(
        apart(
            &one.weights,
            &simulated(&publication(2.0), &turned).unwrap().weights
        ) > 0.01
    );
}

/// Who is enrolled and has nothing to say counts in N and in nothing else; another number of
/// contributors is refused.
#[test]
fn an_enrolled_contributor_may_have_nothing_to_say() {
    let publication = publication(2.0);
    let all = studies(12, 8, true);
    let prepared = Prepared::new(&publication, all.len()).unwrap();
    let made = |enrolled: &[Option<&Study>]| {
        let terms = Terms {
            data: "test".into(),
            unit: "study".into(),
            records: None,
            accounting: Accounting::Gaussian,
            epsilon_max: Some(10.0),
            delta: publication.delta,
        };
        let sources = SimulatedSources::new(RunSeed::new(5, 0));
        prepared.publish(
            enrolled,
            sources,
            Ledger::in_memory(&terms).unwrap(),
            |_| {},
        )
    };
    let mut enrolled: Vec<Option<&Study>> = all.iter().map(Some).collect();
    let whole = made(&enrolled).unwrap();
    let mut published = simulated(&publication, &all).unwrap();
    // The one thing that a publication adds to its releases.
    assert_eq!(
        published.label.ledger.take(),
        Some(whole.ledger.mark().chain())
    );
    assert!(whole.file == published);
    assert_eq!((whole.releases.len(), whole.ledger.len()), (2, 2));
    enrolled[4] = None;
    let less = made(&enrolled).unwrap().file;
    assert_eq!(
        (less.label.contributors, less.label.epsilon),
        (12, whole.file.label.epsilon)
    );
    assert_ne!(less.weights, whole.file.weights);
    match made(&enrolled[1..]) {
        Err(PublishError::Refused(error)) => assert_eq!(error.what, "number of studies"),
        other => panic!("{}", other.is_ok()),
    }
}

/// A dry run admitted noise that no release has, and publishing made a ledger and a key before it
/// refused.
#[test]
fn noise_that_no_release_has_is_refused_before_a_ledger() {
    let studies = studies(20, 10, true);
    let publication = |epsilon, delta, releases| Publication {
        epsilon,
        delta,
        releases,
        ..publication(2.0)
    };
    for (asked, change) in [
        (
            publication(1e-5, 1e-12, 64),
            "fewer releases, a larger epsilon or a larger delta",
        ),
        (
            publication(1e9, 1e-5, 1),
            "a smaller epsilon or a smaller delta",
        ),
    ] {
        let checked = Checked::new(&asked, &studies, None).map(|_| ());
        let prepared = Prepared::new(&asked, 20).map(|_| ());
        for refused in [checked, prepared] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, PublishError::Refused(_)), "{refused:?}");
            let said = refused.to_string();
            assert!(
                said.starts_with("noise of a release is noise_multiplier "),
                "{said}"
            );
            assert!(said.ends_with(change), "{said}");
        }
    }
    assert!(Checked::new(&publication(1e-4, 1e-5, 2), &studies, None).is_ok());
}

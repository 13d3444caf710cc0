//! The count of what data gave adds up, also after deaths, and refuses what was edited.

use sordino_core::privacy::NeighboringRelation;

use super::*;

const DELTA: f64 = 1e-5;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!(
            "sordino-contributions-{name}-{}",
            std::process::id()
        ));
        let _ = fs::remove_dir_all(&path);
        Place(path)
    }

    fn agent(&self, name: Option<&str>, federation: &str, slot: u32) -> Contributions {
        Contributions::open(&self.0, name, federation, slot).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian {
        noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

/// An independent account: one Gaussian of 1/√Σ1/z².
fn exact(multipliers: &[f64]) -> f64 {
    let precision: f64 = multipliers.iter().map(|z| 1.0 / (z * z)).sum();
    sordino_core::privacy::accountant::analytic::epsilon(1.0 / precision.sqrt(), DELTA).unwrap()
}

#[test]
fn two_federations_of_one_name_add_up_whatever_is_killed_between() {
    let place = Place::new("adds");
    // As a plan has them: release by release.
    let plan = [(gaussian(3.0), 1), (gaussian(3.0), 1)];
    let mut first = place.agent(Some("wards"), "first", 0);
    let weighed = first.agree(&plan, DELTA, 0.1).unwrap().unwrap();
    assert_eq!(
        (weighed.federations, weighed.before),
        (0, 0.0),
        "alone it is for its own limit to say"
    );
    assert!((weighed.together - exact(&[3.0; 2])).abs() < 1e-9);
    // Agreed, nothing given: it counts all the same, for other spellings of the name too.
    let mut second = place.agent(Some("Wards"), "second", 0);
    let weighed = second.weigh(&plan, DELTA).unwrap();
    assert!(
        (weighed.before - exact(&[3.0; 2])).abs() < 1e-9
            && (weighed.together - exact(&[3.0; 4])).abs() < 1e-9
            // Two contributions lie twice as far apart as one and nothing.
            && (weighed.together_between - exact(&[1.5; 4])).abs() < 1e-9
    );
    assert_eq!(
        second
            .agree(&plan, DELTA, exact(&[3.0; 4]) * 0.999)
            .unwrap(),
        None
    );
    assert!(
        place.agent(Some("wards"), "second", 0).own.is_none(),
        "refused: nothing is written"
    );
    // What was given counts once, however often it is repeated, by this process or by another one.
    for _ in 0..3 {
        assert!(first.give(1, &gaussian(3.0)).unwrap());
        first = place.agent(Some("wards"), "first", 0);
        assert!(
            !first.agree(&plan, DELTA, 0.0).unwrap().unwrap().is_more,
            "the same command needs nobody's leave"
        );
    }
    assert!(first.give(0, &gaussian(3.0)).unwrap());
    assert!(
        !first.give(2, &gaussian(3.0)).unwrap(),
        "more than was agreed"
    );
    assert!(!first.give(2, &gaussian(2.0)).unwrap(), "another event");
    assert!((second.weigh(&plan, DELTA).unwrap().together - exact(&[3.0; 4])).abs() < 1e-9);
    // Negative control: another name.
    assert_eq!(
        place
            .agent(Some("others"), "second", 0)
            .weigh(&plan, DELTA)
            .unwrap()
            .federations,
        0
    );
}

#[test]
fn what_was_agreed_and_not_given_is_free_again_at_the_end() {
    let place = Place::new("settles");
    let plan = [(gaussian(3.0), 4)];
    let mut first = place.agent(None, "first", 0);
    first.agree(&plan, DELTA, 9.0).unwrap();
    assert!(first.give(0, &gaussian(3.0)).unwrap());
    first.settle().unwrap();
    first = place.agent(None, "first", 0);
    first.agree(&plan, DELTA, 9.0).unwrap();
    assert!(!first.give(1, &gaussian(3.0)).unwrap(), "it is over");
    let second = place.agent(None, "second", 5);
    assert!((second.weigh(&plan, DELTA).unwrap().before - exact(&[3.0])).abs() < 1e-9);
    // A lower limit frees what it did not give, at once.
    let mut third = place.agent(None, "third", 0);
    third.agree(&plan, DELTA, 9.0).unwrap();
    assert!(third.give(7, &gaussian(3.0)).unwrap());
    third.agree(&[], DELTA, 9.0).unwrap();
    assert!((second.weigh(&plan, DELTA).unwrap().before - exact(&[3.0; 2])).abs() < 1e-9);
}

#[test]
fn who_was_not_let_in_frees_what_it_agreed_to_and_may_agree_again() {
    let place = Place::new("withdraws");
    let plan = [(gaussian(3.0), 2)];
    let mut first = place.agent(Some("wards"), "first", 0);
    first.withdraw().unwrap();
    assert!(first.own.is_none() && place.agent(Some("wards"), "first", 0).own.is_none());
    first.agree(&plan, DELTA, 9.0).unwrap();
    // Another slot of the same federation is the same data twice, until the first is not let in.
    let mut second = place.agent(Some("wards"), "first", 1);
    assert!(matches!(
        second.agree(&plan, DELTA, 9.0),
        Err(ContributionsError::Twice { slot: 0, .. })
    ));
    first.withdraw().unwrap();
    assert_eq!(
        second
            .agree(&plan, DELTA, 9.0)
            .unwrap()
            .unwrap()
            .federations,
        0
    );
    assert!(
        !first.give(0, &gaussian(3.0)).unwrap(),
        "it agreed to nothing now"
    );
    // What was given stays, and the same agent may come again.
    assert!(second.give(0, &gaussian(3.0)).unwrap());
    second.withdraw().unwrap();
    let other = place.agent(Some("wards"), "second", 0);
    assert!((other.weigh(&plan, DELTA).unwrap().before - exact(&[3.0])).abs() < 1e-9);
    second.agree(&plan, DELTA, 9.0).unwrap();
    assert!(second.give(1, &gaussian(3.0)).unwrap());
}

/// The second wrote what it had read before the first came: it wiped out what the first had given,
/// and what it withdrew was the first's.
#[test]
fn two_folders_that_come_with_one_invitation_at_one_time_keep_each_other_s_record() {
    let place = Place::new("race");
    let plan = [(gaussian(3.0), 2)];
    let both = || [(); 2].map(|()| place.agent(Some("wards"), "first", 0));
    let counts = || {
        place
            .agent(Some("wards"), "second", 0)
            .weigh(&plan, DELTA)
            .unwrap()
            .before
    };
    // Both have looked before either agrees.
    let [mut one, mut two] = both();
    one.agree(&plan, DELTA, 9.0).unwrap();
    assert!(one.give(0, &gaussian(3.0)).unwrap());
    two.agree(&[], DELTA, 9.0).unwrap();
    assert!(
        (counts() - exact(&[3.0])).abs() < 1e-9,
        "what was given stays, whoever agrees after it"
    );
    two.agree(&plan, DELTA, 9.0).unwrap();
    assert!((counts() - exact(&[3.0; 2])).abs() < 1e-9);
    // The second is not let in. The first goes on with what it agreed to.
    two.withdraw().unwrap();
    assert!(
        (counts() - exact(&[3.0; 2])).abs() < 1e-9,
        "what it withdraws is not another's"
    );
    assert!(one.give(1, &gaussian(3.0)).unwrap());
    // The other way round: the first is not let in, and the second is.
    drop(fs::remove_dir_all(&place.0));
    let [mut one, mut two] = both();
    one.agree(&plan, DELTA, 9.0).unwrap();
    two.agree(&plan, DELTA, 9.0).unwrap();
    one.withdraw().unwrap();
    assert!((counts() - exact(&[3.0; 2])).abs() < 1e-9);
    assert!(two.give(0, &gaussian(3.0)).unwrap() && two.give(1, &gaussian(3.0)).unwrap());
    // Negative control: alone it is free again.
    drop(fs::remove_dir_all(&place.0));
    let [mut one, _] = both();
    one.agree(&plan, DELTA, 9.0).unwrap();
    one.withdraw().unwrap();
    assert_eq!(counts(), 0.0);
}

/// As the test above, but at one moment: whatever the order, no release that was given is lost.
#[test]
fn releases_that_two_folders_give_at_one_moment_all_count() {
    const RELEASES: u32 = 40;
    let place = Place::new("moment");
    let plan = [(gaussian(3.0), RELEASES)];
    let counts = [(); 2].map(|()| place.agent(Some("wards"), "first", 0));
    std::thread::scope(|scope| {
        for (who, mut count) in (0..).zip(counts) {
            let plan = &plan;
            scope.spawn(move || {
                count.agree(plan, DELTA, 9.0).unwrap();
                for release in (who..RELEASES).step_by(2) {
                    assert!(count.give(release, &gaussian(3.0)).unwrap());
                }
            });
        }
    });
    let kept = place.agent(Some("wards"), "first", 0).own.unwrap();
    assert_eq!((kept.given.len(), kept.agreements), (RELEASES as usize, 2));
}

#[test]
fn agents_of_one_federation_are_different_data_unless_they_have_one_name() {
    let place = Place::new("agents");
    let plan = [(gaussian(3.0), 2)];
    for slot in 0..5 {
        let mut agent = place.agent(None, "first", slot);
        assert_eq!(
            agent
                .agree(&plan, DELTA, 1e-9)
                .unwrap()
                .unwrap()
                .federations,
            0
        );
    }
    // Of the other federation one agent counts, whichever it is.
    let weighed = place.agent(None, "second", 3).weigh(&plan, DELTA).unwrap();
    assert!(
        (weighed.before - exact(&[3.0; 2])).abs() < 1e-9 && weighed.federations == 1,
        "{weighed:?}"
    );
    place
        .agent(Some("wards"), "first", 0)
        .agree(&plan, DELTA, 9.0)
        .unwrap();
    let refused = place
        .agent(Some("wards"), "first", 1)
        .agree(&plan, DELTA, 9.0)
        .unwrap_err();
    assert!(
        matches!(&refused, ContributionsError::Twice { slot: 0, .. }),
        "{refused}"
    );
}

#[test]
fn sampled_releases_are_counted_by_renyi_and_at_the_smallest_delta() {
    let place = Place::new("sampled");
    let relation = NeighboringRelation::ReplaceSpecial;
    let sampled = Event::PoissonSampledGaussian {
        sampling_probability: 0.3,
        noise_multiplier: 1.5,
        relation,
    };
    place
        .agent(None, "first", 0)
        .agree(&[(sampled, 40)], 1e-6, 9.0)
        .unwrap();
    let weighed = place
        .agent(None, "second", 0)
        .weigh(&[(gaussian(3.0), 2)], DELTA)
        .unwrap();
    let mut renyi = RdpAccountant::new();
    renyi.compose(&sampled, 40).unwrap();
    assert_eq!(
        (weighed.delta, weighed.before),
        (1e-6, renyi.epsilon(1e-6).unwrap().epsilon)
    );
    renyi.compose(&gaussian(3.0), 2).unwrap();
    assert_eq!(weighed.together, renyi.epsilon(1e-6).unwrap().epsilon);
    let between = renyi.replace_epsilon(1e-6).unwrap().epsilon;
    assert!(weighed.together_between == between && between > weighed.together);
}

#[test]
fn what_an_agent_gave_before_there_was_a_count_is_taken_over_once() {
    let place = Place::new("adopts");
    let mut agent = place.agent(None, "first", 0);
    agent.agree(&[(gaussian(3.0), 1)], DELTA, 9.0).unwrap();
    for _ in 0..2 {
        agent
            .adopt([(0, gaussian(3.0)), (1, gaussian(3.0))])
            .unwrap();
    }
    let before = place
        .agent(None, "second", 0)
        .weigh(&[], DELTA)
        .unwrap()
        .before;
    assert!((before - exact(&[3.0; 2])).abs() < 1e-9, "{before}");
}

#[test]
fn names_and_files_that_are_none_are_refused() {
    let place = Place::new("refuses");
    for name in ["", " wards", "a\nb", "p\u{430}tients"] {
        assert!(
            Contributions::open(&place.0, Some(name), "first", 0).is_err(),
            "{name:?}"
        );
    }
    let mut agent = place.agent(None, "first", 0);
    agent.agree(&[(gaussian(3.0), 1)], DELTA, 9.0).unwrap();
    fs::write(agent.path(), "{").unwrap();
    let other = place.agent(None, "second", 0);
    assert!(matches!(
        other.weigh(&[], DELTA),
        Err(ContributionsError::Damaged { .. })
    ));
}

/// A publisher of a data set joined a campaign with it, and nobody was told that there are two
/// counts.
#[test]
fn ledgers_and_federations_of_one_name_are_told_of_each_other() {
    let state = std::env::temp_dir().join(format!("sordino-both-counts-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&state);
    let counter = CounterPlace::Folder(state.join("ledgers"));
    let place = state.join("contributions");
    let event = Event::Gaussian {
        noise_multiplier: 4.0,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    assert_eq!(given(&counter, "ward 7").unwrap(), None);
    let mut count = Contributions::open(&place, Some("ward 7"), "a campaign", 0).unwrap();
    assert_eq!(
        given(&counter, "ward 7").unwrap(),
        None,
        "nothing was agreed to"
    );
    assert_eq!(count.charged(), Vec::<String>::new());
    count.agree(&[(event, 1)], 1e-5, f64::INFINITY).unwrap();
    let told = given(&counter, "Ward  7").unwrap().unwrap();
    let begin = "the data set \"Ward  7\" gave, or may give, ε 0.9264";
    assert!(
        told.starts_with(begin) && told.contains("0.00001 to 1 federation; "),
        "{told}"
    );
    assert_eq!(given(&counter, "ward 8").unwrap(), None);
    // The other way round.
    let terms = crate::ledger::Terms {
        data: "WARD 7".into(),
        unit: "study".into(),
        records: None,
        accounting: crate::ledger::Accounting::Gaussian,
        epsilon_max: Some(4.0),
        delta: 1e-5,
    };
    let options = crate::ledger::Options {
        counter,
        another: false,
        next: vec![event],
    };
    let path = state.join("ledger.jsonl");
    let mut ledger = crate::ledger::Ledger::open_secret(&path, &terms, &options).unwrap();
    assert_eq!(count.charged(), Vec::<String>::new(), "no charge yet");
    ledger.charge(0, &[event]).unwrap();
    let told = count.charged();
    assert!(
        told.len() == 1 && told[0].contains("ledger.jsonl holds ε 0.9264"),
        "{told:?}"
    );
    std::fs::remove_file(&path).unwrap();
    assert!(count.charged()[0].ends_with("ledger.jsonl holds 1 charges"));
    // A count of other data that cannot be read keeps nobody out: the words say so.
    std::fs::write(state.join("ledgers/data-0.json"), "{}").unwrap();
    let told = count.charged();
    assert!(
        told.len() == 1 && told[0].starts_with("ledgers that cannot be read ("),
        "{told:?}"
    );
    std::fs::remove_dir_all(&state).unwrap();
}

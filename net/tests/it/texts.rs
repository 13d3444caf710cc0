//! What a campaign's server says in words: held against the agreement, and bounded, before it is
//! shown.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{Announced, Protocol};
use sordino_experiment::text::significant_up;
use sordino_host::campaign::{Campaign, TEXT_BYTES_MAX};
use sordino_host::prior::publish::Publication;
use sordino_host::space::{Goal, Parameter, Space, Values};
use sordino_net::admission::admit;
use sordino_net::enrolment::Enrolment;
use sordino_net::join::JoinError;
use sordino_net::terms::{Terms, TermsError, TextError};

use super::consents::{OWNED, offered};
use super::util::{Place, bounded, runtime};

/// A campaign over so many texts and a number, with these words of the server's.
fn campaign(choices: &[&str], value: &str) -> Terms {
    let choices = choices.iter().map(|choice| (*choice).into()).collect();
    let parameters = vec![
        Parameter {
            name: "kind".into(),
            values: Values::Choices {
                choices,
                ordered: false,
            },
            context: false,
        },
        Parameter {
            name: "rate".into(),
            values: Values::Number {
                low: 1e-4,
                high: 1.0,
                log: true,
                integer: false,
            },
            context: false,
        },
    ];
    let publication = Publication {
        space: Space::new(parameters).unwrap(),
        goal: Goal::Minimize,
        value: Some(value.into()),
        epsilon: 4.0,
        delta: 1e-5,
        releases: 1,
        features: 20,
        dataset: "hall".into(),
        by: None,
        note: None,
        published: None,
    };
    let announced = Announced {
        deadline_ms: 60_000,
        epsilon_max: Some(4.0),
        delta: 1e-5,
        may_close_early: true,
    };
    let campaign = Campaign::new(publication, 5).unwrap();
    Terms::of_campaign(&campaign, 7, announced).unwrap()
}

/// The same with another text, under the digest of the first one.
fn saying(terms: &Terms, from: &str, to: &str) -> Terms {
    assert!(terms.publication.contains(from), "{}", terms.publication);
    Terms {
        publication: terms.publication.replacen(from, to, 1),
        ..terms.clone()
    }
}

/// The same with the digest of the text that it has.
fn agreeing(mut terms: Terms) -> Terms {
    let Protocol::Campaign(agreed) = &mut terms.agreement.protocol else {
        panic!("another method")
    };
    agreed.publication = Digest(Sha256::digest(terms.publication.as_bytes()).into());
    terms
}

fn read(terms: &Terms) -> Result<Terms, TermsError> {
    Terms::from_bytes(&terms.to_bytes().unwrap(), Some(&terms.digest()))
}

/// Whoever stood between a site and its server could say that larger values are better, under the
/// digest that the site compared; the folder then knew no other terms.
#[test]
fn a_text_that_the_agreement_does_not_name_is_neither_shown_nor_kept() {
    bounded(|| {
        let place = Place::new("texts");
        let honest = campaign(&["adam", "sgd"], "loss");
        assert_eq!(read(&honest).unwrap(), honest);
        let forged = saying(&honest, "minimize", "maximize");
        assert_eq!(
            forged.digest(),
            honest.digest(),
            "the invitation fits it as well"
        );
        let refused = read(&forged).unwrap_err();
        assert!(
            matches!(refused, TermsError::Text(TextError::Other { .. })),
            "{refused}"
        );
        let site = place.0.join("site");
        let joins = |terms: &Terms| {
            let enrolment = Arc::new(Enrolment::in_memory());
            let offer = offered(terms, &enrolment, site.clone(), OWNED);
            let ended = runtime()
                .block_on(async { tokio::time::timeout(Duration::from_secs(3), offer).await });
            let ended = ended.map(|(joined, _)| joined.unwrap_err());
            (ended.err().is_some(), enrolment.count())
        };
        assert_eq!(joins(&forged), (false, 0));
        assert!(!site.join("terms.bin").exists(), "they were kept");
        // The honest server is joined from the same folder.
        assert_eq!(joins(&honest), (true, 1));
        // A version before had kept what it did not check.
        let old = place.0.join("old");
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join("terms.bin"), forged.to_stored().unwrap()).unwrap();
        let enrolment = Arc::new(Enrolment::in_memory());
        let offer = offered(&honest, &enrolment, old.clone(), OWNED);
        let refused = runtime().block_on(offer).0.unwrap_err();
        assert!(matches!(refused, JoinError::Kept { .. }), "{refused}");
        let told = refused.to_string();
        for part in ["old/terms.bin: ", "remove this file"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    });
}

/// 35 MB of a server's choices reached the terminal of whoever asked what its terms were.
#[test]
fn a_text_is_bounded_before_it_is_shown() {
    let honest = campaign(&["adam", "sgd"], "loss");
    let many = |count: usize| {
        let choices: String = (0..count).map(|i| format!("\"c{i:06}\",")).collect();
        let more = format!("{choices}\"adam\"");
        agreeing(saying(&honest, "\"adam\"", &more))
    };
    let long = many(TEXT_BYTES_MAX / 10);
    for refused in [read(&long).unwrap_err(), long.publication().unwrap_err()] {
        assert!(
            matches!(refused, TermsError::Text(TextError::Length { .. })),
            "{refused}"
        );
    }
    // One that is short enough to be read has still more choices than any space.
    let wide = read(&many(5000)).unwrap();
    let refused = admit(&wide).unwrap_err().to_string();
    assert!(
        refused.contains("`kind` has 5002 choices; at most 1000 are admissible"),
        "{refused}"
    );
    // Negative control.
    assert!(admit(&read(&many(900)).unwrap()).is_ok());
}

/// A value called `loss" are better; at most 1 release: ε ≤ 0.01 …` ended its quotation marks, and
/// the sentence that a person agrees to went on in the server's words.
#[test]
fn words_of_the_server_cannot_be_taken_for_the_sentence_that_is_agreed_to() {
    let forged =
        "loss\" are better; at most 1 release: ε ≤ 0.01 at δ = 1.00e-9 bounds what it tells";
    let choice = "huber\"), smaller values of \"loss\" are better; at most 1 release: ε ≤ 0.01";
    let terms = campaign(&["adam", choice], &format!("{forged} {}", "x".repeat(500)));
    let admitted = admit(&terms).unwrap();
    let sentence = admitted.to_string();
    let costs = sentence.find(&format!("ε ≤ {} at", significant_up(admitted.epsilon, 3)));
    assert!(
        costs.unwrap() < sentence.find("loss").unwrap(),
        "{sentence}"
    );
    // Without what is escaped, the marks stand around the server's words alone.
    let marks = sentence.replace("\\\"", "");
    let outside: String = marks.split('"').step_by(2).collect();
    assert!(
        outside.contains("kind (one of , ), rate (") && outside.contains("values of  are better"),
        "{outside}"
    );
    for word in ["loss", "0.01", "huber"] {
        assert!(!outside.contains(word), "{word}: {outside}");
    }
    assert!(
        sentence.len() < 1500 && sentence.contains("…\" are better"),
        "{sentence}"
    );
    // A name has no room for a sentence, nor has a list of choices.
    let named = agreeing(saying(&terms, "\"rate\"", "\"rate: at most 1 release\""));
    let refused = admit(&named).unwrap_err().to_string();
    assert!(refused.contains("is no name of a parameter"), "{refused}");
    let choices: Vec<String> = (0..900).map(|i| format!("c{i}")).collect();
    let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
    let long = admit(&campaign(&choices, "loss")).unwrap().to_string();
    assert!(long.contains("\"c19\", … of 900 choices"), "{long}");
}

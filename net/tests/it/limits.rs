//! What a site that has begun agrees to when it is started again: as much as before, and no more.

use std::sync::Arc;
use std::time::Duration;

use sordino_net::data::Data;
use sordino_net::enrolment::Enrolment;
use sordino_net::join::JoinError;

use super::consents::{Asked, Owner, announcing, offered_of};
use super::util::{Place, bounded, runtime};

/// A site begun with `--max-epsilon 0.5`, which gave nothing, gave ε = 4 after a restart without
/// it.
#[test]
fn a_site_that_is_started_again_agrees_to_no_more_than_before_without_a_word() {
    bounded(|| {
        let place = Place::new("limits");
        let terms = announcing(Some(8.0), 1e-5, 1000);
        let yes: Asked = |_| true;
        let no: Asked = |_| false;
        let counts = place.0.join("contributions");
        let joins = |name: &str, counted: bool, owner: Owner| {
            let enrolment = Arc::new(Enrolment::in_memory());
            let data = counted.then(|| Data {
                name: Some(name.to_owned()),
                place: counts.clone(),
                here: place.0.clone(),
            });
            let offer = offered_of(&terms, &enrolment, place.0.join(name), owner, data);
            let ended = runtime()
                .block_on(async { tokio::time::timeout(Duration::from_secs(3), offer).await });
            match ended {
                Err(_waits_for_the_first_round) => Ok(enrolment.count()),
                Ok((joined, measured)) => {
                    assert_eq!((enrolment.count(), measured), (0, 0), "{name}");
                    Err(joined.unwrap_err())
                }
            }
        };
        for (name, counted, most) in [
            ("folder", false, 0.5),
            ("count", true, 0.5),
            ("way-out", true, 1e-6),
        ] {
            assert_eq!(joins(name, counted, (Some(most), None)).unwrap(), 1);
            assert!(place.0.join(name).join("agent.bin").exists(), "{name}");
            for owner in [(None, None), (None, Some(no))] {
                let refused = joins(name, counted, owner).unwrap_err();
                assert!(
                    matches!(refused, JoinError::Epsilon { .. }),
                    "{name}: {refused}"
                );
            }
            // Negative controls: who says yes has agreed, and goes on without a question; so does
            // who says a limit.
            assert_eq!(joins(name, counted, (None, Some(yes))).unwrap(), 1);
            assert_eq!(joins(name, counted, (None, Some(no))).unwrap(), 1);
            assert_eq!(joins(name, counted, (Some(most), None)).unwrap(), 1);
            // It agreed to less again.
            let refused = joins(name, counted, (None, None)).unwrap_err();
            assert!(
                matches!(refused, JoinError::Epsilon { .. }),
                "{name}: {refused}"
            );
        }
    });
}

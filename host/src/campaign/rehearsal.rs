//! Campaigns whose sites do what those of a simulator do. Nobody's data are in them: no real site
//! takes part in one.

use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::CampaignProtocol;
use sordino_core::federated::shares::Trust;
use sordino_core::optimizer::CANDIDATES_MAX;
use sordino_core::random::{Party, Purpose, RunSeed};

use super::{Campaign, SiteError, decoded};
use crate::prior::publish::{POINTS_MIN, Publication, check_simulated};
use crate::prior::refuse;
use crate::search::CAPACITY_MAX;

/// The longest text of a rehearsal, which holds all that may be asked, in bytes.
const BYTES_MAX: usize = 1 << 24;

/// What the sites of a rehearsal do, where real ones choose: what may be asked, first points that
/// are drawn, and how many there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rehearsal {
    /// What may be asked, in the space's numbers, one a parameter.
    pub points: Vec<Vec<f64>>,
    /// Evaluations before the first release, each drawn among all points ([`initial_point`]); as
    /// many points has a virtual design.
    pub first_points: u32,
    /// Evaluations after the last release.
    pub rounds: u32,
}

/// The text of a rehearsal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    publication: Publication,
    rehearsal: Rehearsal,
}

/// Initial point `number` of a simulated agent among `count` candidates, drawn from the seed of its
/// run.
pub fn initial_point(seed: RunSeed, agent: u32, number: u32, count: u32) -> u32 {
    seed.stream(Party::Agent(agent), Purpose::InitialPoints, number)
        .below(count)
}

impl Campaign {
    /// A campaign whose sites do what this rehearsal says, under one server. δ may be larger than
    /// that of a campaign of real sites, whose text this is not: [`Campaign::parse`] refuses it.
    ///
    /// **Errors**: as [`Campaign::new`]; [`SiteError::Refused`] for a rehearsal with too many
    /// points or evaluations, or too few.
    pub fn rehearsed(
        publication: Publication,
        rehearsal: Rehearsal,
        agents: u32,
    ) -> Result<Self, SiteError> {
        check_simulated(&publication, agents as usize)?;
        check(&rehearsal, publication.space.parameters().len())?;
        let text = Text {
            publication,
            rehearsal,
        };
        let said = serde_json::to_string(&text).map_err(SiteError::Text)?;
        let Text {
            publication,
            rehearsal,
        } = text;
        Self::made(publication, Some(rehearsal), said, agents, Trust::OneServer)
    }

    /// The campaign that a text of a rehearsal says, held against numbers that were agreed on.
    ///
    /// **Errors**: as [`Campaign::parse`].
    pub fn parse_rehearsed(text: &str, agreed: &CampaignProtocol) -> Result<Self, SiteError> {
        let Text {
            publication,
            rehearsal,
        } = decoded(text, BYTES_MAX)?;
        Campaign::rehearsed(publication, rehearsal, agreed.config.parameters().agents)?
            .agreed(text, agreed)
    }
}

fn check(rehearsal: &Rehearsal, parameters: usize) -> Result<(), SiteError> {
    let Rehearsal {
        points,
        first_points,
        rounds,
    } = rehearsal;
    if !(1..=CANDIDATES_MAX).contains(&points.len()) {
        let admissible = format!("1 to {CANDIDATES_MAX}");
        return Err(refuse("candidates", points.len(), &admissible).into());
    }
    let is_point =
        |point: &Vec<f64>| point.len() == parameters && point.iter().all(|x| x.is_finite());
    if let Some(point) = points.iter().find(|point| !is_point(point)) {
        return Err(refuse(
            "a candidate",
            format!("{point:?}"),
            &format!("{parameters} numbers"),
        )
        .into());
    }
    if (*first_points as usize) < POINTS_MIN {
        return Err(refuse(
            "first points",
            first_points,
            &format!("at least {POINTS_MIN}"),
        )
        .into());
    }
    let each = u64::from(*first_points) + u64::from(*rounds);
    if *rounds == 0 || each > CAPACITY_MAX as u64 {
        let admissible = format!("at most {CAPACITY_MAX}, and one after the first points");
        return Err(refuse("evaluations of each agent", each, &admissible).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sordino_core::privacy::SourceKind;

    use super::*;
    use crate::space::{Goal, SpaceFile};

    fn publication() -> Publication {
        Publication {
            space: SpaceFile::parse("s", "[parameters.x]\nlow = 0\nhigh = 2")
                .unwrap()
                .space,
            goal: Goal::Maximize,
            value: None,
            epsilon: 4.0,
            // More than a tenth of 1/N: nobody's data are released.
            delta: 0.02,
            releases: 2,
            features: 20,
            dataset: "none".into(),
            by: None,
            note: None,
            published: None,
        }
    }

    fn rehearsal() -> Rehearsal {
        Rehearsal {
            points: (0..9).map(|place| vec![f64::from(place) / 4.0]).collect(),
            first_points: 4,
            rounds: 300,
        }
    }

    #[test]
    fn both_sides_compute_the_same_from_its_text_and_no_real_side_anything() {
        let campaign = Campaign::rehearsed(publication(), rehearsal(), 12).unwrap();
        let text = campaign.text();
        let protocol = campaign.protocol();
        let other = Campaign::parse_rehearsed(text, protocol).unwrap();
        assert_eq!((other.text(), other.protocol()), (text, protocol));
        assert_eq!(
            (other.points(), other.coordinates()),
            (campaign.points(), campaign.coordinates())
        );
        assert_eq!(
            (campaign.coordinates()[1], campaign.log_len()),
            (0.125, 2 * 304)
        );
        assert!(matches!(
            Campaign::parse(text, protocol),
            Err(SiteError::Text(_))
        ));
        assert!(Campaign::new(publication(), 12).is_err());
        // Whatever a caller says, such a file says that it is simulated.
        let released = vec![0.0; campaign.context().config().contribution_len()];
        assert!(
            campaign
                .file(&released, SourceKind::Secret)
                .unwrap()
                .unwrap()
                .label
                .simulated
        );
        let fewer = CampaignProtocol {
            rounds: 299,
            ..protocol.clone()
        };
        assert!(matches!(
            Campaign::parse_rehearsed(text, &fewer),
            Err(SiteError::Other {
                what: "evaluations"
            })
        ));
    }

    #[test]
    fn what_no_simulated_site_does_is_refused_by_name() {
        let refused = |rehearsal| {
            Campaign::rehearsed(publication(), rehearsal, 12)
                .err()
                .unwrap()
                .to_string()
        };
        let few = refused(Rehearsal {
            first_points: 2,
            ..rehearsal()
        });
        assert!(
            few.contains("first points") && few.contains("at least 3"),
            "{few}"
        );
        for rounds in [0, 9_997, u32::MAX] {
            let many = refused(Rehearsal {
                rounds,
                ..rehearsal()
            });
            assert!(many.contains("evaluations of each agent"), "{many}");
        }
        let none = refused(Rehearsal {
            points: Vec::new(),
            ..rehearsal()
        });
        assert!(
            none.contains("candidates") && none.contains("1 to 10000"),
            "{none}"
        );
        for point in [vec![1.0, 1.0], vec![f64::NAN]] {
            let wrong = refused(Rehearsal {
                points: vec![point],
                ..rehearsal()
            });
            assert!(
                wrong.contains("a candidate") && wrong.contains("1 numbers"),
                "{wrong}"
            );
        }
    }
}

//! What follows from the releases of a campaign, by everybody alike: the file, what a site
//! contributes next, what it asks.

use std::sync::{Arc, Mutex, PoisonError};

use sordino_core::federated::prior::{JointVectors, Plan, Terms};
use sordino_core::privacy::SourceKind;

use super::SiteError;
use crate::prior::PriorFile;
use crate::prior::context::{Context, ContextError, Contributor, Learned};
use crate::prior::guide::Guide;
use crate::prior::publish::{POINTS_MIN, Publication, file};
use crate::search::{Listed, SearchError};

/// What some releases say.
struct Known {
    released: Vec<f64>,
    learned: Learned,
    file: Option<PriorFile>,
    guide: Option<Arc<Guide>>,
}

impl Known {
    /// Terms of the next release, if there is one.
    fn terms(&self) -> Option<Terms<f64>> {
        self.learned.posterior.terms()
    }
}

/// What is published by whom is public, and what follows from it and from sums that were released.
///
/// Sites of a network have one, and so have simulated ones ([`super::Campaign`] adds what both
/// sides agree on).
pub struct Releases {
    publication: Publication,
    context: Arc<Context>,
    noise_multipliers: Vec<f64>,
    rounds: Vec<u32>,
    /// What was computed last: agents of one process share it.
    known: Mutex<Option<Arc<Known>>>,
}

impl Releases {
    /// Before the first release of as many as there are noise multipliers.
    pub fn new(
        publication: Publication,
        context: Arc<Context>,
        noise_multipliers: Vec<f64>,
    ) -> Self {
        let rounds = vec![0; noise_multipliers.len()];
        Releases {
            publication,
            context,
            noise_multipliers,
            rounds,
            known: Mutex::new(None),
        }
    }

    /// The same for another campaign with these public numbers: what is computed from its releases
    /// is kept for itself.
    #[must_use]
    pub fn of_another(&self) -> Self {
        Self::new(
            self.publication.clone(),
            self.context.clone(),
            self.noise_multipliers.clone(),
        )
    }

    /// What is searched and published.
    pub fn publication(&self) -> &Publication {
        &self.publication
    }

    /// Public points, landmarks, virtual designs.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// All releases, made before the first round, with their multipliers.
    pub fn plan(&self) -> Plan<'_> {
        Plan {
            rounds: &self.rounds,
            noise_multipliers: &self.noise_multipliers,
        }
    }

    /// Whether these sums, M + 1 numbers for each of the first releases, can be learned.
    ///
    /// **Errors**: [`SiteError::Context`] for numbers that no release can be.
    pub fn check(&self, released: &[f64]) -> Result<(), SiteError> {
        self.known(released).map(|_known| ())
    }

    fn known(&self, released: &[f64]) -> Result<Arc<Known>, SiteError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.released == released) {
            return Ok(known.clone());
        }
        let learned = self.context.replayed(self.plan(), released)?;
        let file = match learned.releases {
            0 => None,
            _ => Some(file(
                &self.publication,
                &self.context,
                &self.noise_multipliers,
                &learned,
                SourceKind::Secret,
            )?),
        };
        let guide =
            |file: &PriorFile| Guide::new(file, &self.publication.space, self.publication.goal);
        let guide = file
            .as_ref()
            .map(guide)
            .transpose()
            .map_err(SearchError::from)?
            .map(Arc::new);
        let made = Arc::new(Known {
            released: released.to_vec(),
            learned,
            file,
            guide,
        });
        *known = Some(made.clone());
        Ok(made)
    }

    /// The file of the first releases; nothing before the first.
    ///
    /// **Parameters**: `source` of their noise.
    ///
    /// **Errors**: as [`Releases::check`].
    pub fn file(
        &self,
        released: &[f64],
        source: SourceKind,
    ) -> Result<Option<PriorFile>, SiteError> {
        let mut file = self.known(released)?.file.clone();
        if let Some(file) = &mut file {
            file.label.simulated = source == SourceKind::Simulation;
        }
        Ok(file)
    }

    /// How a contribution to the release after these becomes integers; nothing after the last.
    ///
    /// **Errors**: as [`Releases::check`].
    pub fn encoding(&self, released: &[f64]) -> Result<Option<JointVectors>, SiteError> {
        let known = self.known(released)?;
        let multiplier = self.noise_multipliers.get(known.learned.releases as usize);
        let Some((terms, multiplier)) = known.terms().zip(multiplier) else {
            return Ok(None);
        };
        Ok(Some(
            JointVectors::new(self.context.config(), &terms, *multiplier)
                .map_err(ContextError::from)?,
        ))
    }

    /// What the release after these is made with, κ, C and w, M + 2 numbers: all that a site needs
    /// of them that holds no virtual designs
    /// ([`Opening`](sordino_core::federated::prior::Opening)). Nothing after the last.
    ///
    /// **Errors**: as [`Releases::check`].
    pub fn opening(&self, released: &[f64]) -> Result<Option<Vec<f64>>, SiteError> {
        let known = self.known(released)?;
        let Some(terms) = known.terms() else {
            return Ok(None);
        };
        Ok(Some(
            [
                &[terms.ridge, terms.clip_radius],
                known.learned.posterior.weights(),
            ]
            .concat(),
        ))
    }

    /// What a site with these points (in the space's numbers) and values (larger is better)
    /// contributes to the release after these, M + 1 numbers; nothing after the last, and from a
    /// site with too few values.
    ///
    /// **Errors**: as [`Releases::check`]; [`SiteError::Context`] for values that cannot be
    /// standardised.
    pub fn contribution(
        &self,
        released: &[f64],
        values: &[(&[f64], f64)],
    ) -> Result<Option<Vec<f64>>, SiteError> {
        if values.len() < POINTS_MIN {
            return Ok(None);
        }
        let known = self.known(released)?;
        let Some(terms) = known.terms() else {
            return Ok(None);
        };
        let encoding = self.context.encoding();
        let points: Vec<f64> = values
            .iter()
            .flat_map(|(numbers, _)| encoding.coordinates(numbers))
            .collect();
        let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let contributor = Contributor::new(&self.context, &points, &values)?;
        Ok(contributor.vector(&self.context, &terms, known.learned.posterior.weights())?)
    }

    /// A search over these points that begins with the file of these releases, or alone where there
    /// are none; with a seed, and how many points fill the space or are told before its first
    /// question.
    ///
    /// **Errors**: as [`Releases::check`]; [`SiteError::Search`].
    pub fn search(
        &self,
        points: Arc<[Vec<f64>]>,
        (seed, known): (u64, u32),
        released: &[f64],
    ) -> Result<Listed, SiteError> {
        let guide = if released.is_empty() {
            None
        } else {
            self.known(released)?.guide.clone()
        };
        let space = &self.publication.space;
        Ok(Listed::new(space, points, (seed, known), guide)?)
    }
}

//! What everybody computes alike before and after releases: candidates, landmarks, virtual designs
//! of a space; what a contributor adds; the posterior of what was released.
//!
//! All of it but a contributor's own values is a function of the space, of public numbers and of
//! releases, so a site, its server and a reader of the file agree to the bit.

use sordino_core::federated::Estimator;
use sordino_core::federated::ServerError;
use sordino_core::federated::prior::{
    Config, Filter, Opening, OwnPoints, Parameters, Plan, PriorError, Public, PublicState, Site,
    Tables, Terms, choose_landmarks, draw_distinct_designs, gram, kernel_rows,
    landmarks_scratch_len, own_points_len, own_points_scratch_len, scratch_len,
    self_test_scratch_len, storage_len,
};
use sordino_core::federated::shares::Trust;
use sordino_core::optimizer::Settings;
use sordino_core::random::RunSeed;

use super::error::unsearchable;
use super::{PriorFileError, refuse};
use crate::server::WithPublic;
use crate::space::{Encoding, Space};

/// Public candidates that a file is computed on.
pub const CANDIDATES: u32 = 1000;
/// Points of a virtual design: what a contributor is expected to have.
pub const DESIGN_POINTS: u32 = 10;

/// How many of so many first evaluations fill the space where they are contributed: 2D + 2, D the
/// parameters. A search for itself begins with fewer; files of contributors who did so cost
/// newcomers 5 % more.
///
/// ```
/// use sordino_host::prior::context::design;
/// assert_eq!((design(3, 10), design(6, 10)), (8, 10));
/// ```
pub fn design(parameters: usize, first: u32) -> u32 {
    Settings::of_parameters(parameters, 0)
        .filling_points
        .min(first)
}

/// Why public numbers, a contribution or a posterior cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// Space or number of features are not admissible.
    #[error(transparent)]
    Refused(#[from] PriorFileError),
    /// A step of the method.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// What was released cannot be learned.
    #[error(transparent)]
    Server(#[from] ServerError),
}

/// What everybody knows beforehand, and what follows from it.
pub struct Context {
    config: Config,
    encoding: Encoding,
    lengthscale: f64,
    candidates: Vec<Vec<f64>>,
    points: Vec<f64>,
    landmarks: Vec<f64>,
    rows: Vec<f64>,
    prior_rows: Vec<f64>,
    gram: Vec<f64>,
    designs: Vec<u32>,
}

impl WithPublic<f64> for Context {
    fn public(&self) -> Result<Public<'_, f64>, PriorError> {
        let tables = Tables {
            prior_rows: &self.prior_rows,
            gram: &self.gram,
            designs: &self.designs,
        };
        Public::new(&self.config, &self.rows, tables)
    }
}

/// A number that `f32` holds, so that every reader of the file computes with the same.
fn held(x: f64) -> f64 {
    f64::from(x as f32)
}

impl Context {
    /// The public numbers of this space for so many contributors, with at most `features` features.
    ///
    /// **Errors**: [`ContextError::Refused`] for a space that cannot be searched;
    /// [`ContextError::Prior`].
    ///
    /// **Cost**: a kernel matrix of at most [`CANDIDATES`] points and its factors.
    pub fn new(space: &Space, features: u32, contributors: u32) -> Result<Self, ContextError> {
        Self::trusting(space, features, contributors, Trust::OneServer)
    }

    /// The same where contributors trust one server, or one of two, whose noise is in every
    /// release.
    ///
    /// **Errors, Cost**: as [`Context::new`].
    pub fn trusting(
        space: &Space,
        features: u32,
        contributors: u32,
        trust: Trust,
    ) -> Result<Self, ContextError> {
        let candidates = super::points(space, CANDIDATES)?;
        Self::among(
            space,
            features,
            contributors,
            trust,
            candidates,
            DESIGN_POINTS,
        )
    }

    /// The same for contributors whose points are among these candidates of the space, at most
    /// [`CANDIDATES`], and who are expected to have `points` of them, at least one.
    ///
    /// Who contributes points of a list is understood by that list: a file of many contributors and
    /// little noise that was computed for points between them misleads.
    ///
    /// **Errors, Cost**: as [`Context::new`].
    pub fn among(
        space: &Space,
        features: u32,
        contributors: u32,
        trust: Trust,
        candidates: Vec<Vec<f64>>,
        points: u32,
    ) -> Result<Self, ContextError> {
        let core = space.core().map_err(unsearchable)?;
        let encoding = Encoding::new(&core);
        let dim = encoding.dim();
        let places: Vec<f64> = candidates
            .iter()
            .flat_map(|numbers| encoding.coordinates(numbers))
            .map(held)
            .collect();
        let count = places.len() / dim;
        let most = (features as usize).min(count);
        let mut pivots = vec![0; most];
        let mut rows = vec![0.0; count * most];
        let chosen = choose_landmarks(
            &places,
            dim,
            &mut pivots,
            &mut rows,
            &mut vec![0.0; landmarks_scratch_len(count)],
        )?;
        rows.truncate(count * chosen.count);
        let landmarks: Vec<f64> = pivots[..chosen.count]
            .iter()
            .flat_map(|pivot| &places[*pivot as usize * dim..(*pivot as usize + 1) * dim])
            .copied()
            .collect();
        let design_len = points.min(count as u32);
        let own_units = Parameters::own_units(contributors, chosen.count as u32, design_len);
        let config = Config::new(Parameters { trust, ..own_units })
            .map_err(|error| refuse(error.field, "not admissible", error.admissible))?;
        let lengthscale = chosen.lengthscale;
        let mut square = vec![0.0; count * count];
        let mut scratch = vec![0.0; count];
        let rank = kernel_rows(lengthscale, &places, dim, &mut square, &mut scratch)?;
        let prior_rows = square
            .chunks_exact(count)
            .flat_map(|row| &row[..rank])
            .copied()
            .collect();
        let mut mean = vec![0.0; chosen.count * chosen.count];
        gram(&config, &rows, &mut mean)?;
        let mut designs = vec![0; (config.parameters().designs * design_len) as usize];
        draw_distinct_designs(&config, RunSeed::new(0, 0), count as u32, &mut designs)?;
        let gram = mean;
        Ok(Context {
            config,
            encoding,
            lengthscale,
            candidates,
            points: places,
            landmarks,
            rows,
            prior_rows,
            gram,
            designs,
        })
    }

    /// Contributors, features, virtual designs, clip factor, grid.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How points become coordinates.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Lengthscale of the features in coordinates of the unit box.
    pub fn lengthscale(&self) -> f64 {
        self.lengthscale
    }

    /// Candidates in the space's numbers, one a parameter.
    pub fn candidates(&self) -> &[Vec<f64>] {
        &self.candidates
    }

    /// Their coordinates, row by row.
    pub fn coordinates(&self) -> &[f64] {
        &self.points
    }

    /// Landmarks, M × D coordinates.
    pub fn landmarks(&self) -> &[f64] {
        &self.landmarks
    }

    /// The posterior of the first releases of a plan, with the self-test B: as any reader of them
    /// computes both.
    ///
    /// **Errors**: [`ContextError::Server`] for numbers that no release can be.
    pub fn replayed(&self, plan: Plan<'_>, released: &[f64]) -> Result<Learned, ContextError> {
        let m = self.config.features();
        let n = self.config.design_len();
        let mut posterior = PublicState::new(self.config, vec![0.0; storage_len(m)])?;
        let mut scratch = vec![0.0; scratch_len(m, n)];
        let mut filter = Filter::new(plan, self.public()?, &mut posterior, &mut scratch)?;
        let self_test =
            filter.replay_first(released, &mut vec![0.0; self_test_scratch_len(m, n)])?;
        let releases = (released.len() / self.config.contribution_len()) as u32;
        if (releases as usize) < plan.noise_multipliers.len() {
            filter.prepare(releases)?;
        }
        Ok(Learned {
            posterior,
            self_test,
            releases,
        })
    }
}

/// What the releases so far say.
pub struct Learned {
    /// The public posterior; with the terms of the next release, if there is one.
    pub posterior: PublicState<f64, Vec<f64>>,
    /// Self-test B of the releases.
    pub self_test: f64,
    /// How many there were.
    pub releases: u32,
}

/// A contributor as the method sees it: its points and values, ready for every release.
pub struct Contributor {
    observations: usize,
    /// Numbers of its [`OwnPoints`].
    storage: Vec<f64>,
}

impl Contributor {
    /// Who evaluated these points, row by row of coordinates, with these values, larger is better.
    ///
    /// **Errors**: [`ContextError::Prior`].
    pub fn new(context: &Context, points: &[f64], values: &[f64]) -> Result<Self, ContextError> {
        let n = values.len();
        let m = context.config.features();
        let mut storage = vec![0.0; own_points_len(n, m)];
        let site = Site::known(
            &context.config,
            context.lengthscale,
            &context.landmarks,
            context.encoding.dim(),
        )?;
        OwnPoints::compute(
            site,
            points,
            values,
            &mut storage,
            &mut vec![0.0; own_points_scratch_len(n, m)],
        )?;
        Ok(Contributor {
            observations: n,
            storage,
        })
    }

    /// Its joint vector for a release with these terms, M + 1 numbers, after a posterior with these
    /// weights; nothing where its numbers have no factor.
    ///
    /// **Errors**: [`ContextError::Prior`].
    pub fn vector(
        &self,
        context: &Context,
        terms: &Terms<f64>,
        weights: &[f64],
    ) -> Result<Option<Vec<f64>>, ContextError> {
        let n = self.observations;
        let config = &context.config;
        let own = OwnPoints::stored(config, n, &self.storage)?;
        let mut scratch = vec![0.0; own_points_scratch_len(n, config.features())];
        let mut out = vec![0.0; config.contribution_len()];
        match own.contribution(&Opening::new(*terms, weights), &mut scratch, &mut out) {
            Ok(_clip) => Ok(Some(out)),
            Err(PriorError::Singular(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

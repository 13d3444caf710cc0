//! `campaign`: the campaign of real sites ([`sordino_host::campaign`]), simulated.
//!
//! | name | what it is |
//! |---|---|
//! | [`context`] | what its parties borrow: the public numbers of a campaign over the scenario's own axes |
//! | [`shard`] | agents in an arena: initial points, two contributions, then a search that begins with the file |
//! | [`server`] | one method from beginning to end |
//!
//! The computing is that of sites: [`Releases`](sordino_host::campaign::Releases) says what is contributed, learned and asked.
//! Nothing of `[surrogate]` and no `federation.constant` is used: every agent standardises its own first values, the lengthscale
//! follows from the space, and the search fits what is left.
//!
//! Two things are the scenario's, so that methods of a run can be compared: the first points are those of every method (a site
//! of a network begins with points that fill the space), `federation.initial_points` of them (a site: ten), and what may be
//! asked are the scenario's candidates. Public points, landmarks and virtual designs are those of a real campaign over the space.
//!
//! **Privacy**: both releases are unsampled Gaussians of everybody's clipped vectors, charged before the noise is drawn; together
//! they cost `prior.epsilon` at `privacy.delta`. A file is left of them ([`run`](mod@super::run)), and says that its noise is
//! that of a seed.

pub mod context;
pub mod server;
pub mod shard;

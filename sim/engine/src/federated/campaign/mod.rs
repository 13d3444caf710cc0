//! `campaign`: the campaign of real sites ([`sordino_host::campaign`]), simulated.
//!
//! | name | what it is |
//! |---|---|
//! | [`context`] | what its parties borrow: the public numbers of a campaign over the scenario's own axes |
//! | [`shard`] | agents in an arena: initial points, two contributions, then a search that begins with the file |
//! | `server` | what is asked of agents, and what the server releases |
//!
//! The computing is that of sites: [`Releases`](sordino_host::campaign::Releases) says what is
//! contributed, learned and asked. Of `[surrogate]` only `scalar` is used, and no
//! `federation.constant`: every agent standardises its own first values, the lengthscale follows
//! from the space, and the search fits what is left. Of `[privacy]` only `delta` and `max_epsilon`
//! are used.
//!
//! Three things are the scenario's, so that methods of a run can be compared: the first points,
//! which are those of every method that does not split the domain (a site of a network begins with
//! points that fill the space); their number, `federation.initial_points`, which is that of points
//! in a virtual design as well (a site: ten); and what may be asked, the scenario's candidates.
//! Public points and landmarks are those of a real campaign over the space. In single precision
//! uploads and the record of what was released are rounded; agents and the file have the sums
//! themselves.
//!
//! **Privacy**: both releases are unsampled Gaussians of everybody's clipped vectors, charged
//! before the noise is drawn; together they cost `prior.epsilon` at `privacy.delta`. A file is left
//! of them ([`run`](mod@super::run)), and says that its noise is that of a seed.

pub mod context;
pub(crate) mod server;
pub mod shard;

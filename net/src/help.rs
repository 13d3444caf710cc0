//! The second of two servers: a small process with a folder, a key, a ledger and a promise of its
//! own, which hears the leader and nobody else.
//!
//! | module | what it holds |
//! |---|---|
//! | [`address`] | where a helper is, which key it shows, and the token that makes a server its leader |
//! | [`desk`] | what a helper does, behind its door |
//! | `door` | HTTP over TLS, for one caller |
//! | `folder` | what a helper must not lose |
//! | `gate` | who may ask: the leader, by its key or its certificate |
//! | [`mod@line`] | the leader's requests |
//! | `serve` | the process |
//! | [`told`] | whose keys the helper knows, as its leader remembers |
//!
//! **How they find each other.** `sordino help-serve FOLDER` makes keys and a token, and tells an
//! address with both. The first server that shows the token becomes the leader, by the key of its
//! connection, and hands the terms over. With an authority of the helper's owner (`--ca`) there is
//! no token: the leader is who has a certificate for `sordino:RUN/leader`. A leader cannot choose
//! other noise by it: masks are made with the digest of the agreement, so a helper that was given
//! other terms than the agents opens nothing.
//!
//! **What a helper believes of its leader**: which agents answered, and their public keys. An agent
//! is in a set once, and two agents never have one key; a wrong key opens nothing.

pub mod address;
pub mod desk;
pub(crate) mod door;
pub(crate) mod folder;
pub(crate) mod gate;
pub mod line;
pub(crate) mod serve;
pub mod told;

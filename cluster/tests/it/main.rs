//! Head and workers as processes on loopback, killed, resumed, joined: the folder is that of
//! `sordino run`, byte for byte.

mod refusals;
mod runs;
#[path = "../../../sim/tests/it/tree.rs"]
mod tree;
mod util;

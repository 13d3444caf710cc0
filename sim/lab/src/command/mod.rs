//! `sordino run` as a command: its arguments, what a scenario takes from its data, Ctrl-C, parts.
//! Programs that run scenarios share it: `sordino`, `sordino cluster`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`run`] | one scenario: arguments, folder, table |
//! | [`parts`] | `--part`, of a sweep too |
//! | [`data`] | what scenarios read from `--data` |
//! | [`mod@unused`] | settings that do nothing |
//! | [`interrupt`] | the first Ctrl-C, and how to go on |

pub mod data;
pub mod interrupt;
pub mod parts;
pub mod run;
pub mod unused;

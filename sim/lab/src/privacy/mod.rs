//! What releases cost, asked of the accountants by name: for `sordino privacy` and for Python.
//!
//! | module | what it holds |
//! |---|---|
//! | [`asked`] | releases, accountants, numbers in their ranges |
//! | [`calibrate`] | a target and two of three parameters give the third |

pub mod asked;
pub mod calibrate;

//! The command line `sordino`.
fn main() {}

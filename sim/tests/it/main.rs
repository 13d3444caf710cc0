//! The integration tests of the simulator, in one program: `util` starts `sordino`.

mod bad_input;
mod cli;
mod command;
mod compare;
mod drivers;
mod faults;
mod folders;
mod kill;
mod local;
mod output;
mod outsourced;
mod own;
mod pictures;
mod privacy_cli;
mod resume;
mod scenarios;
mod sweep;
mod toy;
mod tune;
mod tuning;
mod util;
mod whole;

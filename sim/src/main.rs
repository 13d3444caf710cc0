//! The command-line program `sordino`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sordino_sim::main(std::env::args_os())
}

//! The command-line program `sordino`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sordino_sim::cli::main(std::env::args_os())
}

//! The command line `sordino-cluster`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sordino_cluster::cli::main(std::env::args_os())
}

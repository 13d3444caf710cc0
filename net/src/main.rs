//! The command line `sordino-net`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sordino_net::cli::main(std::env::args_os())
}

//! Writes the manual pages of `sordino` and completions for bash, zsh and fish, from the
//! declaration of the command line. `cargo run -p sordino-sim --example manual [FOLDER]`

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::{Shell, generate_to};
use sordino_sim::{PROGRAMS, program};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .map_or_else(|| PathBuf::from("manual"), PathBuf::from);
    let command = whole();
    for part in ["man1", "completions"] {
        std::fs::create_dir_all(folder.join(part))?;
    }
    clap_mangen::generate_to(command.clone(), folder.join("man1"))?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(
            shell,
            &mut command.clone(),
            "sordino",
            folder.join("completions"),
        )?;
    }
    println!(
        "{} pages and 3 completions in {}",
        count(&folder.join("man1"))?,
        folder.display()
    );
    Ok(())
}

/// The program, and the commands that it hands over by name.
fn whole() -> Command {
    PROGRAMS.iter().fold(program(), |command, other| {
        let named =
            |name: &'static str| Command::new(name).about(format!("Carried out by {}", other.name));
        command.subcommands(other.commands.iter().copied().map(named))
    })
}

fn count(folder: &Path) -> std::io::Result<usize> {
    Ok(std::fs::read_dir(folder)?.count())
}

//! `cargo xtask c [--write]`: core for programs in C. The header is the one that its generator writes; the example, in C,
//! is built and run on this machine and on a Cortex-M4F in QEMU, and says what its reference in Rust says; the device's
//! image holds no way to panic.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, Report, cargo, root, target_folder};
use crate::{elf, tools};

/// What writes the header: this very version, because the text is compared byte for byte.
const CBINDGEN: (&str, &str) = ("cbindgen", "0.29.4");
/// What every compiler is asked for: the language and no more, and a product and a sum rounded each by itself.
const STRICT: [&str; 6] = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"];
/// The processor and its calling convention, as rustc's target of the same name has them.
const CORTEX_M4F: [&str; 5] = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-ffreestanding"];
/// Lines of the reference: one for each kind of object, and frames.
const LINES: usize = 6;

/// Checks the header, or writes it, and runs the example.
pub fn run(report: &mut Report, write: bool) {
    report.step("C compilers", || {
        let host = tools::program("cc", "gcc")?;
        Ok(format!("{host}; {}", tools::program("arm-none-eabi-gcc", "gcc-arm-none-eabi")?))
    });
    report.step("C: header", || header(write));
    report.step("C: refusals", || {
        process::run(&mut cargo(&["test", "-p", "sordino-c"])).map(|output| process::count_tests(&output))
    });
    report.step("C: example on this machine", || same(&host()?));
    report.step("C: example on M4F", device);
}

fn package() -> PathBuf {
    root().join("capi")
}

/// A folder for what is built of C.
fn built() -> Result<PathBuf, String> {
    let folder = target_folder().join("c");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn header(write: bool) -> Result<String, String> {
    let read = |path: &PathBuf| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let cbindgen = tools::pinned(CBINDGEN.0, CBINDGEN.1)?;
    let (fresh, kept) = (built()?.join("sordino.h"), package().join("include/sordino.h"));
    let mut command = Command::new(cbindgen);
    command.args(["--quiet", "--config"]).arg(package().join("cbindgen.toml")).arg("--output").arg(&fresh);
    process::run(command.arg(package()))?;
    let text = in_words_of_c(&read(&fresh)?);
    if write {
        fs::write(&kept, &text).map_err(|error| format!("{}: {error}", kept.display()))?;
    }
    match read(&kept)?.lines().zip(text.lines()).enumerate().find(|(_, (old, new))| old != new) {
        None if read(&kept)? == text => Ok(format!("{} lines, {} {}", text.lines().count(), CBINDGEN.0, CBINDGEN.1)),
        found => {
            let line = found.map_or(0, |(line, _)| line + 1);
            Err(format!("{}: another header in line {line}: `cargo xtask c --write`", kept.display()))
        }
    }
}

/// What a function asks of its pointers is a section that rustc wants under the title "Safety"; in C it is a paragraph like
/// others.
fn in_words_of_c(text: &str) -> String {
    let mut out = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "* # Safety" {
            out.push(line.to_owned());
            continue;
        }
        // An empty line, then the paragraph, up to the end of the comment.
        let paragraph = lines.by_ref().skip(1).map(|line| line.trim().trim_start_matches('*').trim());
        let words: Vec<&str> = paragraph.take_while(|line| *line != "/").collect();
        let said = words.join(" ").replace("are NULL or good for", "are NULL or point to");
        let said =
            said.replace("pointers are NULL or good", "pointers are NULL or point").replace("good for", "points to");
        let mut full = " * Pointers:".to_owned();
        for word in said.split_whitespace() {
            if full.len() + word.len() > 117 {
                out.push(std::mem::replace(&mut full, " *".to_owned()));
            }
            full = full + " " + word;
        }
        out.extend([full, " */".to_owned()]);
    }
    out.join("\n") + "\n"
}

/// The example's sources, and where the header lies.
fn sources(command: &mut Command) -> &mut Command {
    let examples = package().join("examples");
    command.arg("-I").arg(package().join("include")).arg(examples.join("device.c")).arg(examples.join("board.c"))
}

fn host() -> Result<String, String> {
    process::run(&mut cargo(&["build", "-q", "--release", "-p", "sordino-c"]))?;
    let program = built()?.join("device");
    let mut command = Command::new("cc");
    sources(command.args(STRICT).args(["-O2", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"]));
    command.arg(target_folder().join("release/libsordino_c.a")).args(["-lpthread", "-ldl", "-lm", "-o"]);
    process::run(command.arg(&program))?;
    process::run(&mut Command::new(program))
}

fn device() -> Result<String, String> {
    process::run(&mut cargo(&["build", "-q", "--release", "-p", "sordino-c", "--target", tools::M4F]))?;
    let image = built()?.join("device.elf");
    let mut command = Command::new("arm-none-eabi-gcc");
    sources(
        command
            .args(STRICT)
            .args(CORTEX_M4F)
            .args(["-Os", "-nostdlib", "-Wl,--gc-sections,-z,noexecstack", "-T"])
            .arg(package().join("examples/board.ld")),
    );
    command.arg(target_folder().join(tools::M4F).join("release/libsordino_c.a")).args(["-lgcc", "-o"]);
    process::run(command.arg(&image))?;
    let file = fs::read(&image).map_err(|error| format!("{}: {error}", image.display()))?;
    let (Some(size), Some(symbols)) = (elf::size(&file), elf::symbols(&file)) else {
        return Err(format!("{} is no ELF file with symbols", image.display()));
    };
    // Negative control: the names are those of functions that were linked.
    if !symbols.iter().any(|name| name == "sordino_agent_observed") {
        return Err("the image does not hold the agent: its symbols say nothing".to_owned());
    }
    if let Some(name) = symbols.iter().find(|name| name.contains("panicking")) {
        return Err(format!("the image can panic: {name}"));
    }
    let mut qemu = Command::new("qemu-system-arm");
    // What the program says by semihosting goes to standard output.
    qemu.args(["-machine", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none"]);
    qemu.args(["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out", "-kernel"]);
    let said = same(&process::run(qemu.arg(&image))?)?;
    Ok(format!("{said}; {} bytes of flash, {} of memory, no way to panic", size.flash, size.ram))
}

/// Whether an example said what the reference in Rust says.
fn same(said: &str) -> Result<String, String> {
    let expected = process::run(&mut cargo(&["run", "-q", "-p", "sordino-c", "--example", "reference"]))?;
    let lines = expected.lines().count();
    if lines != LINES {
        return Err(format!("the reference says {lines} lines, {LINES} are expected"));
    }
    match expected.lines().find(|line| !said.lines().any(|found| found == *line)) {
        None => Ok(format!("{lines} digests as in Rust")),
        Some(line) => Err(format!("the example does not say {line:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mended3_the_header_is_in_words_of_c() {
        let rust = "/**\n * Adds.\n *\n * # Safety\n *\n * `a` is NULL or good\n * for `n` bytes; the others are NULL or good for \
                    one value.\n */\nint add(void);\n";
        let said = "/**\n * Adds.\n *\n * Pointers: `a` is NULL or points to `n` bytes; the others are NULL or point to one \
                    value.\n */\nint add(void);\n";
        assert_eq!(in_words_of_c(rust), said);
        let header = fs::read_to_string(package().join("include/sordino.h")).unwrap();
        // Negative control: it is there, and whole.
        assert!(header.contains("Pointers: `memory` is NULL or points to") && header.contains("sordino_version(void)"));
        for word in ["Safety", "unsafe", "[`", "::", "&mut", "`None`", "`Some", "good for"] {
            assert!(!header.contains(word), "{word:?}: {:?}", header.lines().find(|line| line.contains(word)));
        }
    }
}

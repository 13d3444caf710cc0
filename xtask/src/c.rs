//! `cargo xtask c [--write]`: core for programs in C. The header is the one that its generator
//! writes; the example, in C, is built and run on this machine and on a Cortex-M4F in QEMU, and
//! says what its reference in Rust says; the device's image at level 3 holds no way to panic.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, Report, cargo, root, target_folder};
use crate::{elf, once, tools};

/// What writes the header: this very version, because the text is compared byte for byte.
const CBINDGEN: (&str, &str) = ("cbindgen", "0.29.4");
/// What every compiler is asked for: the language and no more, and a product and a sum rounded each
/// by itself.
const STRICT: [&str; 6] = [
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-ffp-contract=off",
];
/// The processor and its floating-point unit.
const CORTEX_M4F: [&str; 4] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfpu=fpv4-sp-d16",
    "-ffreestanding",
];
/// Lines of the reference: one for each kind of object, and frames.
const LINES: usize = 10;

/// A way to build the library for a device, and the calling convention of C that links with it.
struct Build {
    name: &'static str,
    target: &'static str,
    profile: &'static str,
    float_abi: &'static str,
    /// What rustc is told beside.
    flags: &'static str,
}

const BUILDS: [Build; 3] = [
    Build {
        name: "M4F",
        target: tools::M4F,
        profile: "device",
        float_abi: "-mfloat-abi=hard",
        flags: "",
    },
    Build {
        name: "M4F, for size",
        target: tools::M4F,
        profile: "size",
        float_abi: "-mfloat-abi=hard",
        flags: "",
    },
    Build {
        name: "M4F, softfp",
        target: tools::M4_SOFT,
        profile: "device",
        float_abi: "-mfloat-abi=softfp",
        flags: "-Ctarget-cpu=cortex-m4",
    },
];

/// Checks the header, or writes it, and runs the example.
pub fn run(report: &mut Report, write: bool) {
    report.step("C compilers", || {
        let host = tools::program("cc", "gcc")?;
        Ok(format!(
            "{host}; {}",
            tools::program("arm-none-eabi-gcc", "gcc-arm-none-eabi")?
        ))
    });
    report.step("C: header", || header(write));
    report.step("C: example on this machine", || same(&host()?));
    for build in &BUILDS {
        report.step(&format!("C: example on {}", build.name), || device(build));
    }
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

/// Builds what writes the header, where it is missing.
pub fn generator() -> Result<PathBuf, String> {
    tools::pinned(CBINDGEN.0, CBINDGEN.1)
}

fn header(write: bool) -> Result<String, String> {
    let cbindgen = generator()?;
    let fresh = built()?.join("sordino.h");
    let kept = package().join("include/sordino.h");
    let mut command = Command::new(cbindgen);
    command
        .args(["--quiet", "--config"])
        .arg(package().join("cbindgen.toml"))
        .arg("--output")
        .arg(&fresh);
    process::run(command.arg(package()))?;
    let text = in_words_of_c(&process::text(&fresh)?);
    if write {
        fs::write(&kept, &text).map_err(|error| format!("{}: {error}", kept.display()))?;
    }
    match process::text(&kept)?
        .lines()
        .zip(text.lines())
        .enumerate()
        .find(|(_, (old, new))| old != new)
    {
        None if process::text(&kept)? == text => Ok(format!(
            "{} lines, {} {}",
            text.lines().count(),
            CBINDGEN.0,
            CBINDGEN.1
        )),
        found => {
            let line = found.map_or(0, |(line, _)| line + 1);
            Err(format!(
                "{}: another header in line {line}: `cargo xtask c --write`",
                kept.display()
            ))
        }
    }
}

/// What a function asks of its pointers is a section that rustc wants under the title "Safety"; in
/// C it is a paragraph like others.
fn in_words_of_c(text: &str) -> String {
    let mut out = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "* # Safety" {
            out.push(line.to_owned());
            continue;
        }
        // An empty line, then the paragraph, up to the end of the comment.
        let paragraph = lines
            .by_ref()
            .skip(1)
            .map(|line| line.trim().trim_start_matches('*').trim());
        let words: Vec<&str> = paragraph.take_while(|line| *line != "/").collect();
        let said = words
            .join(" ")
            .replace("are NULL or good for", "are NULL or point to");
        let said = said
            .replace("pointers are NULL or good", "pointers are NULL or point")
            .replace("good for", "points to");
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
    let files = [
        "device.c",
        "member.c",
        "one_server.c",
        "two_servers.c",
        "site.c",
        "board.c",
    ];
    command
        .arg("-I")
        .arg(package().join("include"))
        .args(files.map(|file| examples.join(file)))
}

fn host() -> Result<String, String> {
    process::run(&mut cargo(&["build", "-q", "--release", "-p", "sordino-c"]))?;
    let program = built()?.join("device");
    let mut command = Command::new("cc");
    sources(command.args(STRICT).args([
        "-O2",
        "-fsanitize=undefined",
        "-fno-sanitize-recover=undefined",
    ]));
    command
        .arg(target_folder().join("release/libsordino_c.a"))
        .args(["-lpthread", "-ldl", "-lm", "-o"]);
    process::run(command.arg(&program))?;
    process::run(&mut Command::new(program))
}

fn device(build: &Build) -> Result<String, String> {
    let mut library = cargo(&[
        "build",
        "-q",
        "--profile",
        build.profile,
        "-p",
        "sordino-c",
        "--target",
        build.target,
    ]);
    if !build.flags.is_empty() {
        library.env("RUSTFLAGS", build.flags);
    }
    process::run(&mut library)?;
    // Of a member checks stay that no call reaches: those of chunks whose size is not known to the
    // compiler, and of X25519. The others are looked at in an image without it.
    let others = linked(build, "others.elf", &["-DWITHOUT_MEMBERS"])?.symbols;
    // Negative control: the names are those of functions that were linked.
    if !others.iter().any(|name| name == "sordino_agent_observed") {
        return Err("the image does not hold the agent: its symbols say nothing".to_owned());
    }
    // At level s bounds checks stay that no call reaches.
    let panics = others.iter().find(|name| name.contains("panicking"));
    let note = match (panics, build.profile) {
        (None, _) => "no way to panic but in members",
        (Some(_), "size") => "with checks",
        (Some(name), _) => return Err(format!("the image can panic: {name}")),
    };
    let Linked {
        size,
        symbols,
        image,
    } = linked(build, "device.elf", &[])?;
    if !symbols.iter().any(|name| name == "sordino_member_hide") {
        return Err("the image does not hold the member".to_owned());
    }
    let mut qemu = Command::new("qemu-system-arm");
    // What the program says by semihosting goes to standard output.
    qemu.args([
        "-machine",
        "mps2-an386",
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]);
    qemu.args([
        "-chardev",
        "stdio,id=out",
        "-semihosting-config",
        "enable=on,target=native,chardev=out",
        "-kernel",
    ]);
    let output = process::run(qemu.arg(&image))?;
    let said = same(&output)?;
    let stack = stack(&output)?;
    Ok(format!(
        "{said}; {} bytes of flash, {} of memory, {stack} of stack, {note}",
        size.flash, size.ram
    ))
}

/// The example, linked with the library.
struct Linked {
    size: elf::Size,
    symbols: Vec<String>,
    image: PathBuf,
}

/// Links the example with the library.
fn linked(build: &Build, name: &str, defined: &[&str]) -> Result<Linked, String> {
    let image = built()?.join(name);
    let mut command = Command::new("arm-none-eabi-gcc");
    sources(
        command
            .args(STRICT)
            .args(defined)
            .args(CORTEX_M4F)
            .arg(build.float_abi)
            .args([
                "-Os",
                "-nostdlib",
                "-ffunction-sections",
                "-Wl,--gc-sections,-z,noexecstack",
                "-T",
            ])
            .arg(package().join("examples/board.ld")),
    );
    let archive = target_folder()
        .join(build.target)
        .join(build.profile)
        .join("libsordino_c.a");
    command.arg(archive).args(["-lgcc", "-o"]);
    process::run(command.arg(&image))?;
    let file = fs::read(&image).map_err(|error| format!("{}: {error}", image.display()))?;
    let (Some(size), Some(symbols)) = (elf::size(&file), elf::symbols(&file)) else {
        return Err(format!("{} is no ELF file with symbols", image.display()));
    };
    Ok(Linked {
        size,
        symbols,
        image,
    })
}

/// The most stack that a part took; each within what the README says of it.
fn stack(output: &str) -> Result<u32, String> {
    let path = package().join("README.md");
    let readme =
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut most = 0;
    for line in output
        .lines()
        .filter_map(|line| line.strip_prefix("stack "))
    {
        let part = line
            .split_once(' ')
            .and_then(|(name, bytes)| Some((name, u32::from_str_radix(bytes, 16).ok()?)));
        let Some((name, bytes)) = part else {
            return Err(format!("cannot read the stack in {line:?}"));
        };
        let bound =
            stack_of(&readme, name).ok_or_else(|| format!("README.md says no stack of {name}"))?;
        if bytes > bound {
            return Err(format!(
                "{name} takes {bytes} bytes of stack, README.md says {bound}"
            ));
        }
        most = most.max(bytes);
    }
    // Nothing is measured where the paint is not there.
    if most > 256 {
        Ok(most)
    } else {
        Err(format!("{most} bytes of stack were measured"))
    }
}

/// What the table of the README says of a part: "| `gp` … | 1,024 |".
fn stack_of(readme: &str, part: &str) -> Option<u32> {
    let row = readme
        .lines()
        .find(|line| line.starts_with(&format!("| `{part}`")))?;
    row.rsplit('|').nth(1)?.trim().replace(',', "").parse().ok()
}

/// Whether an example said what the reference in Rust says.
fn same(said: &str) -> Result<String, String> {
    let expected = process::run(&mut Command::new(once::example("reference")?))?;
    let lines = expected.lines().count();
    if lines != LINES {
        return Err(format!(
            "the reference says {lines} lines, {LINES} are expected"
        ));
    }
    match expected
        .lines()
        .find(|line| !said.lines().any(|found| found == *line))
    {
        None => Ok(format!("{lines} digests as in Rust")),
        Some(line) => Err(format!("the example does not say {line:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_of_a_part_is_held_to_the_readme() {
        let table = "| `gp`, a process | 1,024 |\n| `agent` | 2,048 |\n";
        assert_eq!(
            (
                stack_of(table, "gp"),
                stack_of(table, "agent"),
                stack_of(table, "frames")
            ),
            (Some(1024), Some(2048), None)
        );
        assert!(stack("gp 00\n").is_err(), "nothing was measured");
        assert!(stack("stack gp ffff\n").unwrap_err().contains("65535"));
    }

    #[test]
    fn the_header_is_in_words_of_c() {
        let rust = "/**\n * Adds.\n *\n * # Safety\n *\n * `a` is NULL or good\n * for `n` bytes; the others are NULL or good for \
                    one value.\n */\nint add(void);\n";
        let said = "/**\n * Adds.\n *\n * Pointers: `a` is NULL or points to `n` bytes; the others are NULL or point to one \
                    value.\n */\nint add(void);\n";
        assert_eq!(in_words_of_c(rust), said);
        let header = fs::read_to_string(package().join("include/sordino.h")).unwrap();
        // Negative control: it is there, and whole.
        assert!(
            header.contains("Pointers: `memory` is NULL or points to")
                && header.contains("sordino_version(void)")
        );
        for word in ["Safety", "[`", "::", "&mut", "`None`", "`Some", "good for"] {
            assert!(
                !header.contains(word),
                "{word:?}: {:?}",
                header.lines().find(|line| line.contains(word))
            );
        }
    }
}

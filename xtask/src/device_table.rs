//! `docs/device-table.md`: what the operations cost on a device, from what the firmware printed.

use std::fmt::Write as _;
use std::fs;

use crate::elf;
use crate::firmware::Output;
use crate::process::{self, cargo};
use crate::tools::{M0, M4F};

/// What the firmware prints between its marks.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    /// Begins a table of its own.
    Heading(&'a str),
    /// Name, size, instructions, bound, stack, bound, storage.
    Row([&'a str; 7]),
}

fn lines(output: &str) -> Result<Vec<Line<'_>>, String> {
    let inside = output.lines().skip_while(|line| *line != "--- costs").skip(2).take_while(|line| *line != "---");
    inside
        .map(|line| match line.strip_prefix("# ") {
            Some(heading) => Ok(Line::Heading(heading)),
            None => {
                let cells: Vec<&str> = line.split('|').map(str::trim).skip(1).take(7).collect();
                cells.try_into().map(Line::Row).map_err(|cells| format!("cannot read the row {cells:?}"))
            }
        })
        .collect()
}

const HEAD: &str = "\
| operation | n, N, M | M4F instructions | at most | ms | M4F stack | M0 instructions | M0 stack | at most | RAM | flash | at s |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// Writes the table and returns a note.
pub fn write(outputs: &[Output]) -> Result<String, String> {
    let text = |target: &str| outputs.iter().find(|output| output.target == target).map(|output| output.text.as_str());
    let (Some(m4f), Some(m0)) = (text(M4F), text(M0)) else {
        return Err("both targets must have run".to_owned());
    };
    let (m4f, m0) = (lines(m4f)?, lines(m0)?);
    let whole = image(None, "3")?;
    let empty = [image(Some("nothing"), "3")?, image(Some("nothing"), "s")?];
    let compiler = process::run(std::process::Command::new("rustc").arg("--version"))?;
    let mut page = format!(
        "# What the operations cost on a device\n\n\
         Written by `cargo xtask firmware --write` with {}; single precision unless a row says `f64`, `opt-level = 3`, \
         thin LTO.\n\n\
         - **Instructions** are counted by QEMU (one call, everything it needs already prepared); cycles of a real core \
         are more: division, square root and flash wait states are not modelled. M4F: Cortex-M4F code on mps2-an386. \
         M0: Cortex-M0 code (no floating-point unit) on mps2-an385.\n\
         - **Stack** is what the call changed below the stack pointer, in bytes. Where a bound is given, the firmware \
         fails when it is exceeded; those of instructions hold for the M4F.\n\
         - **ms** is the M4F instructions at 64 MHz and one a cycle, hence at least that.\n\
         - **RAM** is what the operation needs of the caller, in bytes. Lend it as a slice of a `static`: an array that is \
         handed over by value is built on the stack and moved (`Optimizer::new` with 10,844 bytes took 23,112 of stack \
         in a trial).\n\
         - **Flash** is the growth of an M4F image by the operation and its preparation (drawing the features, filling \
         the posterior), whatever its size; what operations share counts in each. **at s**: the same at `opt-level = \"s\"`.\n",
        compiler.trim(),
    );
    let (mut rows, mut flash) = (0, ("", String::new()));
    for (line, other) in m4f.iter().zip(&m0) {
        let (row, other) = match (line, other) {
            (Line::Row(row), Line::Row(other)) if row[..2] == other[..2] => (row, other),
            (Line::Heading(heading), _) if line == other => {
                // Writing to a string cannot fail.
                let _ = write!(page, "\n## {heading}\n\n{HEAD}");
                continue;
            }
            _ => return Err(format!("{M4F} measured {line:?} where {M0} measured {other:?}")),
        };
        let [name, size, instructions, most, stack, stack_most, storage] = row.map(grouped);
        if row[0] != flash.0 {
            flash = (row[0], format!("{} | {}", growth(row[0], "3", &empty[0])?, growth(row[0], "s", &empty[1])?));
        }
        let (size, ms) = (if size == "0" { "" } else { &size }, milliseconds(row[2]));
        let [_, _, m0_instructions, _, m0_stack, ..] = other.map(grouped);
        let _ = writeln!(
            page,
            "| {name} | {size} | {instructions} | {most} | {ms} | {stack} | {m0_instructions} | {m0_stack} | {stack_most} | {storage} | {} |",
            flash.1
        );
        rows += 1;
    }
    if m4f.len() != m0.len() {
        return Err(format!("{} lines of {M4F}, {} of {M0}", m4f.len(), m0.len()));
    }
    let _ = writeln!(
        page,
        "\nThe whole M4F image, with digest table, agent, measurements and number formatting: {} bytes of flash, {} of \
         RAM without the stack. An image that measures nothing: {} bytes of flash.",
        grouped(&whole.flash.to_string()),
        grouped(&whole.ram.to_string()),
        grouped(&empty[0].flash.to_string())
    );
    let path = process::root().join("docs/device-table.md");
    fs::create_dir_all(process::root().join("docs"))
        .and_then(|()| fs::write(&path, page))
        .map_err(|e| e.to_string())?;
    Ok(format!("{rows} rows in docs/device-table.md"))
}

/// What an operation adds to an image that measures nothing.
fn growth(operation: &str, level: &str, empty: &elf::Size) -> Result<String, String> {
    Ok(grouped(&image(Some(operation), level)?.flash.saturating_sub(empty.flash).to_string()))
}

/// Instructions at 64 MHz and one a cycle, three digits.
fn milliseconds(instructions: &str) -> String {
    let ms = instructions.parse::<f64>().map_or(f64::NAN, |count| count / 64e3);
    let digits = if ms < 1.0 {
        3
    } else if ms < 10.0 {
        2
    } else if ms < 100.0 {
        1
    } else {
        0
    };
    format!("{ms:.digits$}")
}

/// Size of the M4F image with all operations or only one, at a level of optimisation.
fn image(only: Option<&str>, level: &str) -> Result<elf::Size, String> {
    let mut command = cargo(&["build", "-q", "--release", "-p", "firmware-example", "--target", M4F]);
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level);
    match only {
        Some(name) => command.env("SORDINO_ONLY", name),
        None => command.env_remove("SORDINO_ONLY"),
    };
    process::run(&mut command)?;
    let path = process::target_folder().join(M4F).join("release/firmware-example");
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    elf::size(&file).ok_or_else(|| format!("{} is no ELF file", path.display()))
}

/// 12345 → 12,345; what is no number stays.
fn grouped(text: &str) -> String {
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    let mut out = String::new();
    for (i, digit) in text.chars().enumerate() {
        if number && i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_firmware_prints() {
        let output = "x\n--- costs\n| operation | … |\n# Basics\n| a b | 16 | 12 | 20 | 8 | 16 | 0 |\n---\ny\n";
        let row = Line::Row(["a b", "16", "12", "20", "8", "16", "0"]);
        assert_eq!(lines(output), Ok(vec![Line::Heading("Basics"), row]));
        assert!(lines("--- costs\n|\n| a | 1 |\n---\n").is_err());
        assert_eq!(["640", "64000", "6400000"].map(milliseconds), ["0.010", "1.00", "100"]);
        assert_eq!(["1234567", "12", "64 draws"].map(grouped), ["1,234,567", "12", "64 draws"]);
    }
}

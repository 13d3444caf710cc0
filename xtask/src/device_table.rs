//! `docs/device-table.md`: what the operations cost on a device, from what the firmware printed.

use std::fmt::Write as _;
use std::fs;

use crate::elf;
use crate::firmware::Output;
use crate::process::{self, cargo};
use crate::tools::{M0, M4F};

/// One row as the firmware prints it: name, instructions, bound, stack, bound, storage.
struct Row<'a>(Vec<&'a str>);

fn rows(output: &str) -> Vec<Row<'_>> {
    let inside = output.lines().skip_while(|line| *line != "--- costs").skip(2).take_while(|line| *line != "---");
    inside.map(|line| Row(line.split('|').map(str::trim).skip(1).take(6).collect())).collect()
}

/// Writes the table and returns a note.
pub fn write(outputs: &[Output]) -> Result<String, String> {
    let text = |target: &str| outputs.iter().find(|output| output.target == target).map(|output| output.text.as_str());
    let (Some(m4f), Some(m0)) = (text(M4F), text(M0)) else {
        return Err("both targets must have run".to_owned());
    };
    let (m4f, m0) = (rows(m4f), rows(m0));
    let whole = image(None)?;
    let empty = image(Some("nothing"))?;
    let compiler = process::run(std::process::Command::new("rustc").arg("--version"))?;
    let mut page = format!(
        "# What the operations cost on a device\n\n\
         Written by `cargo xtask firmware --write` with {}; single precision, `opt-level = 3`, thin LTO.\n\n\
         - **Instructions** are counted by QEMU (one call, everything it needs already prepared); cycles of a real core \
         are more: division, square root and flash wait states are not modelled. M4F: Cortex-M4F code on mps2-an386. \
         M0: Cortex-M0 code (no floating-point unit) on mps2-an385.\n\
         - **Stack** is what the call changed below the stack pointer, in bytes. Where a bound is given, the firmware \
         fails when it is exceeded.\n\
         - **Storage** is what the caller lends, in bytes.\n\
         - **Flash** is the growth of an M4F image by the operation and its preparation (drawing the features, filling \
         the posterior); what operations share counts in each.\n\n\
         | operation | M4F instructions | at most | M4F stack | M0 instructions | M0 stack | at most | storage | flash |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        compiler.trim(),
    );
    for Row(row) in &m4f {
        let [name, instructions, most, stack, stack_most, storage] = row.as_slice() else {
            return Err(format!("cannot read the row {row:?}"));
        };
        let Some(Row(other)) = m0.iter().find(|Row(other)| other.first() == Some(name)) else {
            return Err(format!("{name} was not measured on {M0}"));
        };
        let flash = image(Some(name))?.flash.saturating_sub(empty.flash);
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {name} | {} | {} | {stack} | {} | {} | {stack_most} | {} | {} |",
            grouped(instructions),
            grouped(most),
            grouped(other[1]),
            other[3],
            grouped(storage),
            grouped(&flash.to_string())
        );
    }
    let _ = writeln!(
        page,
        "\nThe whole M4F image, with digest table, agent, measurements and number formatting: {} bytes of flash, {} of \
         RAM without the stack. An image that measures nothing: {} bytes of flash.",
        grouped(&whole.flash.to_string()),
        grouped(&whole.ram.to_string()),
        grouped(&empty.flash.to_string())
    );
    let path = process::root().join("docs/device-table.md");
    fs::create_dir_all(process::root().join("docs"))
        .and_then(|()| fs::write(&path, page))
        .map_err(|e| e.to_string())?;
    Ok(format!("{} rows in docs/device-table.md", m4f.len()))
}

/// Size of the M4F image with all operations or only one.
fn image(only: Option<&str>) -> Result<elf::Size, String> {
    let mut command = cargo(&["build", "-q", "--release", "-p", "firmware-example", "--target", M4F]);
    match only {
        Some(name) => command.env("SORDINO_ONLY", name),
        None => command.env_remove("SORDINO_ONLY"),
    };
    process::run(&mut command)?;
    let path = process::target_folder().join(M4F).join("release/firmware-example");
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    elf::size(&file).ok_or_else(|| format!("{} is no ELF file", path.display()))
}

/// 12345 → 12,345.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.is_ascii() {
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
        let output = "x\n--- costs\n| operation | … |\n| a b | 12 | 20 | 8 | 16 | 0 |\n---\ny\n";
        let rows = rows(output);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].0, ["a b", "12", "20", "8", "16", "0"]);
        assert_eq!(
            (grouped("1234567").as_str(), grouped("12").as_str(), grouped("–").as_str()),
            ("1,234,567", "12", "–")
        );
    }
}

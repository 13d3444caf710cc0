//! `docs/device-table.md`: what the operations cost on a device, from what the firmware printed.

use std::fmt::Write as _;
use std::fs;

use crate::elf;
use crate::process::{self, Output, cargo};
use crate::tools::{M0, M4F, M33};

/// What the firmware prints between its marks.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    /// Begins a table of its own.
    Heading(&'a str),
    /// Name, size, instructions, bound, stack, bound, storage.
    Row([&'a str; 7]),
}

fn lines(output: &str) -> Result<Vec<Line<'_>>, String> {
    let inside = output
        .lines()
        .skip_while(|line| *line != "--- costs")
        .skip(2)
        .take_while(|line| *line != "---");
    inside
        .map(|line| match line.strip_prefix("# ") {
            Some(heading) => Ok(Line::Heading(heading)),
            None => {
                let cells: Vec<&str> = line.split('|').map(str::trim).skip(1).take(7).collect();
                cells
                    .try_into()
                    .map(Line::Row)
                    .map_err(|cells| format!("cannot read the row {cells:?}"))
            }
        })
        .collect()
}
/// The lines that the firmware printed on this target.
fn lines_of<'a>(outputs: &'a [Output], target: &str) -> Result<Vec<Line<'a>>, String> {
    let output = outputs.iter().find(|output| output.target == target);
    lines(
        &output
            .ok_or_else(|| format!("{target} must have run"))?
            .text,
    )
}

const HEAD: &str = "\
| operation | n, N, M | M4F instructions | at most | ms | at s | M33 | M4F stack | M0 instructions | at most | at s | M0 stack | at most | RAM | flash | at s |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// What the firmware measured on every core, at both levels of optimisation; the same rows in each.
struct Measured<'a> {
    m4f: Vec<Line<'a>>,
    m4f_small: Vec<Line<'a>>,
    m0: Vec<Line<'a>>,
    m0_small: Vec<Line<'a>>,
    m33: Vec<Line<'a>>,
}

impl<'a> Measured<'a> {
    fn of(outputs: &'a [Output], for_size: &'a [Output]) -> Result<Self, String> {
        let measured = Measured {
            m4f: lines_of(outputs, M4F)?,
            m4f_small: lines_of(for_size, M4F)?,
            m0: lines_of(outputs, M0)?,
            m0_small: lines_of(for_size, M0)?,
            m33: lines_of(outputs, M33)?,
        };
        for others in [
            &measured.m4f_small,
            &measured.m0,
            &measured.m0_small,
            &measured.m33,
        ] {
            let mut pairs = measured.m4f.iter().zip(others);
            let is_same = pairs.all(|pair| match pair {
                (Line::Row(row), Line::Row(other)) => row[..2] == other[..2],
                (line, other) => line == other,
            });
            if others.len() != measured.m4f.len() || !is_same {
                return Err("not the same operations were measured everywhere".to_owned());
            }
        }
        Ok(measured)
    }
}

/// The row of a line; a heading has none.
fn row<'a, 'b>(lines: &'b [Line<'a>], index: usize) -> Option<&'b [&'a str; 7]> {
    match lines.get(index)? {
        Line::Row(row) => Some(row),
        Line::Heading(_) => None,
    }
}

/// The instructions that a line counts.
fn count(lines: &[Line<'_>], index: usize) -> Option<f64> {
    row(lines, index)?[2].parse().ok()
}

/// How many times the instructions of `fast` those of `small` are: least, middle, most.
fn times(fast: &[Line<'_>], small: &[Line<'_>]) -> Option<[f64; 3]> {
    let mut all: Vec<f64> = (0..fast.len())
        .filter_map(|index| Some(count(small, index)? / count(fast, index)?))
        .collect();
    all.sort_by(f64::total_cmp);
    Some([*all.first()?, *all.get(all.len() / 2)?, *all.last()?])
}

/// The sentence that the template and the book repeat.
fn for_size([least, middle, most]: [f64; 3]) -> String {
    format!(
        "{least:.1} to {most:.1} times the instructions of level 3, {middle:.1} times in the middle"
    )
}

fn introduction(measured: &Measured<'_>) -> Result<String, String> {
    let compiler = process::run(std::process::Command::new("rustc").arg("--version"))?;
    let of = |fast, small| {
        times(fast, small)
            .map(for_size)
            .ok_or("nothing was measured")
    };
    let m4f = of(&measured.m4f, &measured.m4f_small)?;
    let m0 = of(&measured.m0, &measured.m0_small)?;
    Ok(format!(
        "# What the operations cost on a device\n\n\
         Written by `cargo xtask firmware --write` with {}; single precision unless a row says `f64`, `opt-level = 3`, \
         thin LTO.\n\n\
         - **Instructions** are counted by QEMU (one call, everything it needs already prepared), by two timers of which \
         one counts how often the other begins again; cycles of a real core \
         are more: division, square root and flash wait states are not modelled. M4F: Cortex-M4F code on mps2-an386. \
         M33: Cortex-M33 code on mps2-an505, held to the bounds of the M4F. \
         M0: Cortex-M0 code (no floating-point unit) on mps2-an385.\n\
         - **At most**: the firmware fails when a bound is exceeded, of instructions on each core and of stack on all. Bounds \
         are those of `opt-level = 3`.\n\
         - **At s**: at `opt-level = \"s\"` a call takes, on the M4F, {m4f}; on the M0 {m0}. The bits are the same.\n\
         - **Stack** is what the call changed below the stack pointer, in bytes, at `opt-level = 3`.\n\
         - **ms** is the M4F instructions at 64 MHz and one a cycle, hence at least that.\n\
         - **RAM** is what the operation needs of the caller, in bytes. Lend it as a slice of a `static`: an array that is \
         handed over by value is built on the stack and moved (`Optimizer::new` with 10,844 bytes took 23,112 of stack \
         in a trial).\n\
         - **Flash** is the growth of an M4F image by the operation and its preparation (drawing the features, filling \
         the posterior), whatever its size; what operations share counts in each.\n",
        compiler.trim(),
    ))
}

/// Writes the table and returns a note.
pub fn write(outputs: &[Output], for_size: &[Output]) -> Result<String, String> {
    let measured = Measured::of(outputs, for_size)?;
    let whole = image(None, "3")?;
    let empty = [image(Some("nothing"), "3")?, image(Some("nothing"), "s")?];
    let mut page = introduction(&measured)?;
    let mut rows = 0;
    let mut flash = ("", String::new());
    for (index, line) in measured.m4f.iter().enumerate() {
        let cells = match line {
            Line::Row(cells) => cells,
            Line::Heading(heading) => {
                // Writing to a string cannot fail.
                let _ = write!(page, "\n## {heading}\n\n{HEAD}");
                continue;
            }
        };
        let other = |lines, cell: usize| {
            row(lines, index).map_or(String::new(), |cells| grouped(cells[cell]))
        };
        let [name, size, instructions, most, stack, stack_most, storage] = cells.map(grouped);
        if cells[0] != flash.0 {
            flash = (
                cells[0],
                format!(
                    "{} | {}",
                    growth(cells[0], "3", &empty[0])?,
                    growth(cells[0], "s", &empty[1])?
                ),
            );
        }
        let size = if size == "0" { "" } else { &size };
        let ms = milliseconds(cells[2]);
        let small = other(&measured.m4f_small, 2);
        let m33 = other(&measured.m33, 2);
        let [m0, m0_most, m0_stack] = [2, 3, 4].map(|cell| other(&measured.m0, cell));
        let m0_small = other(&measured.m0_small, 2);
        let _ = writeln!(
            page,
            "| {name} | {size} | {instructions} | {most} | {ms} | {small} | {m33} | {stack} | {m0} | {m0_most} | {m0_small} | {m0_stack} | {stack_most} | {storage} | {} |",
            flash.1
        );
        rows += 1;
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
    Ok(grouped(
        &image(Some(operation), level)?
            .flash
            .saturating_sub(empty.flash)
            .to_string(),
    ))
}

/// Instructions at 64 MHz and one a cycle, three digits.
fn milliseconds(instructions: &str) -> String {
    let ms = instructions
        .parse::<f64>()
        .map_or(f64::NAN, |count| count / 64e3);
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
    let mut command = cargo(&[
        "build",
        "-q",
        "--profile",
        "device",
        "-p",
        "firmware-example",
        "--target",
        M4F,
    ]);
    command.env("CARGO_PROFILE_DEVICE_OPT_LEVEL", level);
    match only {
        Some(name) => command.env("SORDINO_ONLY", name),
        None => command.env_remove("SORDINO_ONLY"),
    };
    process::run(&mut command)?;
    let path = process::target_folder()
        .join(M4F)
        .join("device/firmware-example");
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
        assert_eq!(
            ["640", "64000", "6400000"].map(milliseconds),
            ["0.010", "1.00", "100"]
        );
        assert_eq!(
            ["1234567", "12", "64 draws"].map(grouped),
            ["1,234,567", "12", "64 draws"]
        );
    }

    #[test]
    fn every_core_measured_the_same_rows_or_nothing_is_written() {
        let output = |target, count: &str, name: &str| Output {
            target,
            text: format!(
                "--- costs\n|\n# Basics\n| {name} | 16 | {count} | 20 | 8 | 16 | 0 |\n---\n"
            ),
        };
        let outputs = |name| {
            [
                output(M4F, "10", "a"),
                output(M0, "300", "a"),
                output(M33, "11", name),
            ]
        };
        let for_size = [output(M4F, "15", "a"), output(M0, "330", "a")];
        let all = outputs("a");
        let measured = Measured::of(&all, &for_size).ok().unwrap();
        assert_eq!(times(&measured.m4f, &measured.m4f_small), Some([1.5; 3]));
        assert_eq!(times(&measured.m0, &measured.m0_small), Some([1.1; 3]));
        assert!(
            introduction(&measured)
                .unwrap()
                .contains("on the M4F, 1.5 to 1.5 times the instructions")
        );
        assert!(
            Measured::of(&outputs("b"), &for_size).is_err(),
            "another row on the M33"
        );
        assert!(
            Measured::of(&all, &for_size[..1]).is_err(),
            "the M0 was not measured for size"
        );
    }

    #[test]
    fn the_cost_of_a_small_image_is_what_was_measured() {
        let read = |path: &str| fs::read_to_string(process::root().join(path)).unwrap();
        let page = read("docs/device-table.md");
        // From the table itself: instructions at 3 and at s, the third and the sixth cell of every
        // row.
        let number = |cell: &str| cell.trim().replace(',', "").parse::<f64>().ok();
        let ratio = |line: &str| {
            let cells: Vec<&str> = line.split('|').collect();
            Some(number(cells.get(6)?)? / number(cells.get(3)?)?)
        };
        let mut all: Vec<f64> = page.lines().filter_map(ratio).collect();
        all.sort_by(f64::total_cmp);
        assert!(all.len() > 80, "{} rows", all.len());
        let said = for_size([all[0], all[all.len() / 2], all[all.len() - 1]]);
        for path in [
            "docs/device-table.md",
            "templates/embassy-agent/Cargo.toml",
            "docs/book/src/embedding.md",
        ] {
            let text = read(path).replace("\n# ", " ").replace('\n', " ");
            assert!(text.contains(&said), "{path} does not say {said:?}");
            assert!(!text.contains("a tenth more"), "{path}");
        }
        // Negative control: a middle that is another is not what they say.
        assert!(!page.contains(&for_size([
            all[0],
            all[all.len() / 2] + 0.1,
            all[all.len() - 1]
        ])));
    }

    /// No count of the table is what a counter of 32 bits would have left: every bound of the M0 is
    /// above those of the M4F, and the dearest call is dearer than that counter lasts.
    #[test]
    fn every_core_has_bounds_and_the_counter_does_not_wrap() {
        let page = fs::read_to_string(process::root().join("docs/device-table.md")).unwrap();
        let number = |cell: &str| cell.trim().replace(',', "").parse::<u64>().ok();
        let mut dearest = 0;
        for line in page
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| operation"))
        {
            let cells: Vec<&str> = line.split('|').collect();
            let [Some(m4f), Some(m4f_most), Some(m0), Some(m0_most)] =
                [3, 4, 9, 10].map(|cell| number(cells[cell]))
            else {
                panic!("{line}");
            };
            assert!(
                m4f <= m4f_most && m0 <= m0_most && m0 >= m4f && m0_most <= 2 * m0,
                "{line}"
            );
            dearest = m0.max(dearest);
        }
        assert!(dearest > 500_000_000, "{dearest}");
    }
}

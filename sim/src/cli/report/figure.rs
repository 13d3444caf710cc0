//! `sordino report --figure`: one picture as a file of a width; also of `sordino compare`.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use sordino_engine as model;
use sordino_experiment::progress::log;
use sordino_host::text::nearest;
use sordino_lab::sweep::{SweepFolder, pictures};
use sordino_report::chart::Picture;
use sordino_report::differences::few;
use sordino_report::folder::SCENARIO;
use sordino_report::read::{self, RunFiles};
use sordino_report::results::Results;
use sordino_report::sheet::{COLUMN, Sheet, TOO_HIGH, WIDTHS};

use super::super::handover::beside;
use super::super::unfinished;
use super::format::Format;
use super::kept;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;

/// The program that makes PDF and PNG of SVG.
const PROGRAM: &str = "sordino-figures";
/// Utility against privacy, of run folders and sweeps.
const UTILITY: &str = "utility";

/// How a figure is made a file.
#[derive(Clone, Debug, Args)]
pub struct Sheeted {
    /// Width of the figure, in mm, cm or in; its type is 8 to 9 pt at every width
    #[arg(long, value_name = "WIDTH", default_value = "84mm", value_parser = width)]
    pub width: f64,
    /// Omit the title and the text above the figure, which a caption gives
    #[arg(long)]
    pub no_title: bool,
    /// Vertical axis of the figure [default: logarithmic where its values fall by more than a
    /// factor of thirty]
    #[arg(long, value_enum)]
    pub axis: Option<Axis>,
}

/// How the vertical axis of a figure is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Axis {
    /// From zero up to the largest value
    Linear,
    /// Down to the least positive value, at most four decades
    Logarithmic,
}

impl Default for Sheeted {
    fn default() -> Self {
        Sheeted {
            width: COLUMN,
            no_title: false,
            axis: None,
        }
    }
}

/// A width in millimetres, of a number with its unit.
fn width(text: &str) -> Result<f64, String> {
    let units = [("mm", 1.0), ("cm", 10.0), ("in", 25.4)];
    let read =
        |(unit, mm): (&str, f64)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * mm);
    let found = units
        .into_iter()
        .find_map(read)
        .filter(|mm| WIDTHS.contains(mm));
    found.ok_or_else(|| {
        format!(
            "admissible: {} to {} mm, as in 84mm, 8.4cm or 3.3in",
            WIDTHS.start(),
            WIDTHS.end()
        )
    })
}

/// Which figure is made, and how.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The name of the picture.
    pub name: &'a str,
    /// What it shows alone; all if empty.
    pub methods: &'a [String],
    /// Its width and whether it has a title.
    pub sheet: &'a Sheeted,
    /// The form of the file, if that is not its ending.
    pub format: Option<Format>,
    /// The file that is written.
    pub out: Option<&'a Path>,
}

/// Draws the picture of this name.
pub fn execute(folder: &Path, asked: &Wanted<'_>) -> Result<(), CliError> {
    let Wanted {
        name,
        methods,
        sheet,
        ..
    } = *asked;
    let out = asked
        .out
        .ok_or_else(|| CliError::input("--figure: name its file with --out FILE"))?;
    kept::refuse(out)?;
    let format = format(asked.format, out)?;
    let (found, warning) = all(folder)?;
    let names: Vec<&str> = found.iter().map(|picture| picture.name.as_str()).collect();
    // A sweep's utility against privacy is its regret over ε.
    let also = if name == UTILITY {
        pictures::REGRET_EPSILON
    } else {
        name
    };
    let picture = [name, also]
        .into_iter()
        .find_map(|wanted| found.iter().find(|picture| picture.name == wanted));
    let Some(picture) = picture else {
        return Err(CliError::input(missing(folder, name, &names)));
    };
    let wanted = picture.clone().only(methods).map_err(|unknown| {
        let there = picture.chosen().join(", ");
        CliError::input(format!(
            "--methods {unknown}: is not in the figure {name}, which has {there}"
        ))
    })?;
    if let Some(warning) = warning {
        log::note(&format!("warning: {warning}"));
    }
    save(&wanted, sheet, format, out)?;
    print(&format!("{}\n", out.display()))
}

/// The message about a figure that a folder does not have.
fn missing(folder: &Path, name: &str, names: &[&str]) -> String {
    let of = folder.display();
    let sweep = SweepFolder::is_one(folder);
    let there = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    };
    if sweep && [UTILITY, pictures::REGRET_EPSILON].contains(&name) {
        return format!(
            "--figure {name}: is not there, because no key of this sweep changes the ε of a method; {of} has {there}"
        );
    }
    let also = names.contains(&pictures::REGRET_EPSILON).then_some(UTILITY);
    let names: Vec<&str> = names.iter().copied().chain(also).collect();
    let near =
        nearest(name, &names).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    // Either name is understood.
    let other = if sweep && also.is_some() {
        "; utility is regret-epsilon"
    } else {
        ""
    };
    format!("--figure {name}: is not there; {of} has {there}{other}{near}")
}

/// Writes a picture.
pub fn save(
    picture: &Picture,
    sheet: &Sheeted,
    format: Format,
    out: &Path,
) -> Result<(), CliError> {
    let scaled = sheet
        .axis
        .map(|axis| picture.clone().scaled(axis == Axis::Logarithmic))
        .transpose();
    let scaled = scaled.map_err(|title| {
        CliError::input(format!(
            "--axis logarithmic: the figure has a negative value or no positive one ({title}); admissible: --axis linear"
        ))
    })?;
    let picture = scaled.as_ref().unwrap_or(picture);
    let (svg, high) = Sheet {
        width: sheet.width,
        title: !sheet.no_title,
    }
    .drawn(picture);
    if high > TOO_HIGH {
        let panels = picture.charts.len();
        log::note(&format!(
            "warning: {} is {high:.0} mm high, its {panels} panels stand below each other; a larger --width puts them side by \
             side, --methods leaves some away",
            out.display()
        ));
    }
    let bytes = match format {
        Format::Pdf => converted(&svg, "pdf")?,
        Format::Png => converted(&svg, "png")?,
        _ => svg.into_bytes(),
    };
    kept::write(out, &bytes)
}

/// Whether figures come in this format.
fn is_of_figure(format: &Format) -> bool {
    [Format::Svg, Format::Pdf, Format::Png].contains(format)
}

/// The format that is asked for, or that of the file's ending.
///
/// **Errors**: none of the two is that of a figure, or both are and differ.
pub fn format(asked: Option<Format>, out: &Path) -> Result<Format, CliError> {
    let ending = out
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or("");
    let named = Format::from_str(ending, true).ok().filter(is_of_figure);
    if let (Some(asked), Some(named)) = (asked.filter(is_of_figure), named)
        && asked != named
    {
        return Err(CliError::input(format!(
            "{}: the file's name ends in {ending}, and --format says otherwise; leave one of them away",
            out.display()
        )));
    }
    asked.or(named).filter(is_of_figure).ok_or_else(|| {
        CliError::input(format!(
            "{}: a figure is svg, pdf or png; end the file's name so, or say --format",
            out.display()
        ))
    })
}

/// Pictures of a sweep or of a complete run folder, and the warning if it has few runs.
fn all(folder: &Path) -> Result<(Vec<Picture>, Option<String>), CliError> {
    if SweepFolder::is_one(folder) {
        let sweep = SweepFolder::open(folder)?;
        return Ok((pictures::pictures(&sweep, &sweep.checked_index()?), None));
    }
    unfinished::refuse_unfinished(folder)?;
    let (scenario, text) = read::text(folder, SCENARIO).map_err(CliError::input)?;
    let model = model::parse(&scenario.display().to_string(), &text, &[])?;
    let results = Results::open(folder).map_err(CliError::input)?;
    let pictures = results
        .pictures()
        .into_iter()
        .chain(model.pictures(RunFiles::Folder(folder))?)
        .collect();
    Ok((pictures, few(results.summary.runs as usize)))
}

/// Why a program makes no picture of this kind.
fn failed(kind: &str, program: &Path, error: std::io::Error) -> CliError {
    match error.kind() {
        ErrorKind::NotFound => CliError::failure(format!(
            "{kind} is made by {PROGRAM}, which is neither beside this program nor in PATH; build it with: cargo build \
             --release -p {PROGRAM}; --format svg needs nothing"
        )),
        _ => CliError::failure(format!("{}: {error}", program.display())),
    }
}

/// SVG made PDF or PNG by the program beside this one, or else the one that is found in `PATH`.
fn converted(svg: &str, kind: &str) -> Result<Vec<u8>, CliError> {
    let program = beside(PROGRAM);
    let mut child = Command::new(&program)
        .arg(kind)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(kind, &program, error))?;
    // It reads all before it writes; what it says if it stops reading is in its standard error.
    let sent = child
        .stdin
        .take()
        .map_or(Ok(()), |mut input| input.write_all(svg.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| failed(kind, &program, error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(CliError::failure(said.trim().to_owned()));
    }
    sent.map_err(|error| failed(kind, &program, error))?;
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_says() {
        let of = |asked, name: &str| format(asked, Path::new(name)).ok();
        assert!(
            of(None, "a.pdf") == Some(Format::Pdf)
                && of(Some(Format::Svg), "a") == Some(Format::Svg)
        );
        assert!(of(Some(Format::Svg), "a.svg") == Some(Format::Svg) && of(None, "a").is_none());
        assert!(
            of(Some(Format::Svg), "a.pdf").is_none() && of(Some(Format::Latex), "a.pdf").is_none()
        );
    }

    #[test]
    fn widths_have_units_and_a_range() {
        let close = |text: &str, mm: f64| (width(text).unwrap() - mm).abs() < 1e-9;
        assert!(
            close("84mm", 84.0)
                && close("8.4cm", 84.0)
                && close("3.3in", 83.82)
                && close("84 mm", 84.0)
        );
        for text in ["84", "84px", "39mm", "2m", "-84mm", "NaNmm", ""] {
            assert!(width(text).unwrap_err().contains("40 to 1000 mm"), "{text}");
        }
    }
}

//! The page of a sweep: one table, and pictures that compare the values of its keys.

use std::fmt::Write as _;

use sordino_report::chart::Picture;
use sordino_report::html::{document, section};
use sordino_report::page::in_pairs;
use sordino_report::parts::header;
use sordino_report::svg::escape;
use sordino_report::table::DASH;

use super::folder::SweepFolder;
use super::index::{Index, Status};
use super::paired;
use super::panels::main_axis;
use super::pictures::{losses, over_epsilon, over_keys, over_rounds};
use super::table::shown;

/// The whole page. Curves of runs whose folder cannot be read are left out, and the page says so.
pub fn page(folder: &SweepFolder, index: &Index) -> String {
    let mut out = String::new();
    let facts = [
        ("trust model", index.trust.clone()),
        ("runs", index.entries.len().to_string()),
        ("done", index.count(Status::Done).to_string()),
        ("failed", index.count(Status::Failed).to_string()),
        ("keys compared", index.axes.len().to_string()),
        ("seeds", index.seeds.len().to_string()),
    ];
    header(
        &mut out,
        &format!("sweep, sordino {}", index.version),
        &index.scenario,
        &index.description,
        &facts,
        true,
    );
    let cells = index.cells();
    failures(&mut out, index);
    let main = main_axis(index);
    let keyed = main
        .into_iter()
        .flat_map(|main| over_keys(index, &cells, main));
    keyed
        .chain(over_epsilon(index, &cells))
        .for_each(|picture| show(&mut out, &picture));
    if let Some(main) = main {
        match losses(index, &cells, main) {
            Ok(picture) => picture.iter().for_each(|picture| show(&mut out, picture)),
            Err(said) => section(&mut out, "Privacy loss", &escape(&said), ""),
        }
    }
    paired::picture(index)
        .iter()
        .for_each(|picture| show(&mut out, picture));
    paired::section(&mut out, index);
    let shown = shown(index);
    section(&mut out, "All combinations", "", &shown.html());
    if let Some(main) = main {
        over_rounds(folder, index, main)
            .iter()
            .for_each(|picture| show(&mut out, picture));
    }
    let text = "Beside this page: <a href=\"summary.csv\" download>summary.csv</a>, <a href=\"paired.csv\" download>paired.csv</a>, <a href=\"index.csv\" download>index.csv</a>. \
                Every picture as a file: <code>sordino report DIR --figure NAME --width 84mm --out FILE.pdf</code>; the tables: \
                <code>sordino report DIR --table summary --format latex</code>, or <code>--table paired</code>";
    section(&mut out, "Numbers and figures", text, &shown.for_papers());
    runs(&mut out, index);
    document(&format!("{}: sweep", index.scenario), &out)
}

/// Adds a picture with its heading.
fn show(out: &mut String, picture: &Picture) {
    let (height, labels) = if picture.ruler.is_some() {
        (260.0, 140.0)
    } else {
        (220.0, 176.0)
    };
    let body = in_pairs(
        &picture.charts,
        picture.ruler.as_ref(),
        (270.0, height),
        labels,
    );
    section(out, &escape(&picture.title), &escape(&picture.text), &body);
}

fn failures(out: &mut String, index: &Index) {
    let waiting = index.count(Status::Waiting);
    let failed: Vec<_> = index
        .entries
        .iter()
        .filter(|entry| entry.status == Status::Failed)
        .collect();
    if waiting + failed.len() == 0 {
        return;
    }
    let mut body = String::new();
    if waiting > 0 {
        let _ = writeln!(
            body,
            "<p>{waiting} of {} runs are still to come.</p>",
            index.entries.len()
        );
    }
    if !failed.is_empty() {
        body.push_str("<ul>\n");
        for entry in &failed {
            let error = entry.error.as_deref().unwrap_or("");
            let _ = writeln!(
                body,
                "<li><code>{}</code>: {}</li>",
                escape(&entry.folder),
                escape(error)
            );
        }
        body.push_str("</ul>\n");
    }
    section(
        out,
        "What is missing",
        "The rest of this page is about the runs that are done.",
        &body,
    );
}

fn runs(out: &mut String, index: &Index) {
    let mut body = String::from(
        "<details><summary>All runs</summary>\n<div class=\"scroll\"><table>\n<thead><tr><th>folder</th><th>seed</th>\
         <th>status</th><th class=\"name\">digest</th></tr></thead>\n<tbody>\n",
    );
    for entry in &index.entries {
        let name = escape(&entry.folder);
        let link = if entry.status == Status::Done {
            format!("<a href=\"runs/{name}/report.html\">{name}</a>")
        } else {
            name
        };
        let digest = entry.digest.as_deref().unwrap_or(DASH);
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{link}</th><td>{}</td><td>{}</td><td class=\"digest\">{}</td></tr>",
            entry.seed,
            entry.status.name(),
            escape(digest)
        );
    }
    body.push_str("</tbody></table></div></details>\n");
    let settings: String = index
        .axes
        .iter()
        .map(|axis| format!("{} = {}\n", axis.key, axis.values.join(", ")))
        .chain(
            index
                .settings
                .iter()
                .map(|setting| format!("{} = {}\n", setting.key, setting.value)),
        )
        .chain([format!(
            "seeds = {}\n",
            index
                .seeds
                .iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        )])
        .collect();
    let _ = writeln!(body, "<pre>{}</pre>", escape(&settings));
    let text = match &index.digest {
        Some(digest) => format!("Digest of all runs: <span class=\"digest\">{digest}</span>"),
        None => "No digest: not all runs are done.".into(),
    };
    section(out, "Provenance", &text, &body);
}

//! Tables for a terminal, for Markdown, for LaTeX.

use std::fmt::Write as _;

/// Rows of cells under a heading; the first row is the head.
pub type Grid = (&'static str, Vec<Vec<String>>);

/// Tables as text for a terminal, columns aligned.
pub fn text(tables: &[Grid], remarks: &[String]) -> String {
    let mut out = String::new();
    for (title, rows) in tables.iter().filter(|(_, rows)| rows.len() > 1) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let _ = writeln!(out, "{title}");
        for row in rows {
            let cells: Vec<String> =
                (0..columns).map(|i| format!("{:<1$}", row.get(i).map_or("", String::as_str), width(i))).collect();
            let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
        }
        out.push('\n');
    }
    out + &remarks.join("\n") + "\n"
}

/// The same as Markdown.
pub fn markdown(tables: &[Grid], remarks: &[String]) -> String {
    let mut out = String::new();
    for (title, rows) in tables.iter().filter(|(_, rows)| rows.len() > 1) {
        let _ = writeln!(out, "**{title}**\n");
        for (i, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
            if i == 0 {
                let _ = writeln!(out, "|{}", "---|".repeat(row.len()));
            }
        }
        out.push('\n');
    }
    out + &remarks.join("\n\n") + "\n"
}

/// The same as LaTeX (`booktabs`).
pub fn latex(tables: &[Grid], remarks: &[String]) -> String {
    let mut out = String::new();
    for (title, rows) in tables.iter().filter(|(_, rows)| rows.len() > 1) {
        let columns = rows.first().map_or(0, Vec::len);
        let _ = writeln!(out, "% {title}\n\\begin{{tabular}}{{{}}}\n\\toprule", "l".repeat(columns));
        for (i, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
            let _ = writeln!(out, "{} \\\\{}", cells.join(" & "), if i == 0 { "\n\\midrule" } else { "" });
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n\n");
    }
    let said: Vec<String> = remarks.iter().map(|remark| format!("% {remark}")).collect();
    out + &said.join("\n") + "\n"
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '±' => out.push_str("$\\pm$"),
            '−' => out.push_str("$-$"),
            '–' => out.push_str("--"),
            'ε' => out.push_str("$\\varepsilon$"),
            '<' => out.push_str("$<$"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            c => out.push(c),
        }
    }
    out
}

//! Tables for a terminal, for Markdown, for LaTeX.

use std::fmt::Write as _;

use super::table::DASH;

/// Rows of cells under a heading; the first row is the head.
pub type Grid = (&'static str, Vec<Vec<String>>);

/// Tables as text for a terminal, columns aligned.
pub fn text(tables: &[Grid], remarks: &[String]) -> String {
    let mut out = String::new();
    for (title, rows) in tables.iter().filter(|(_, rows)| rows.len() > 1) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|i| width(rows, i)).collect();
        let _ = writeln!(out, "{title}");
        for row in rows {
            let cells: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(i, width)| format!("{:<1$}", row.get(i).map_or("", String::as_str), width))
                .collect();
            let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
        }
        out.push('\n');
    }
    out + &remarks.join("\n") + "\n"
}

/// Characters of the longest cell of a column.
fn width(rows: &[Vec<String>], column: usize) -> usize {
    rows.iter()
        .filter_map(|row| row.get(column))
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0)
}

/// Tables as Markdown.
pub fn markdown(tables: &[Grid], remarks: &[String]) -> String {
    let mut out = String::new();
    for (title, rows) in tables.iter().filter(|(_, rows)| rows.len() > 1) {
        if !title.is_empty() {
            let _ = writeln!(out, "**{title}**\n");
        }
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

/// Tables as LaTeX (`booktabs`).
pub fn latex(tables: &[Grid], remarks: &[String]) -> String {
    let mut out = String::new();
    for (title, rows) in tables.iter().filter(|(_, rows)| rows.len() > 1) {
        let columns = rows.first().map_or(0, Vec::len);
        let sides: String = (0..columns)
            .map(|column| if is_numeric(rows, column) { 'r' } else { 'l' })
            .collect();
        let title = if title.is_empty() {
            String::new()
        } else {
            format!("% {title}\n")
        };
        let _ = writeln!(
            out,
            "% \\usepackage{{booktabs}}\n{title}\\begin{{tabular}}{{{sides}}}\n\\toprule"
        );
        for (i, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
            let _ = writeln!(
                out,
                "{} \\\\{}",
                cells.join(" & "),
                if i == 0 { "\n\\midrule" } else { "" }
            );
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n\n");
    }
    let said: Vec<String> = remarks.iter().map(|remark| format!("% {remark}")).collect();
    out + &said.join("\n") + "\n"
}

/// Whether a column is set flush right: each of its cells begins like a number or says that there
/// is none.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    rows.iter()
        .skip(1)
        .filter_map(|row| row.get(column))
        .map(|cell| cell.trim_start_matches(['−', '+', '<', ' ']))
        .all(|text| {
            text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
                || ["", DASH, "∞"].contains(&text)
        })
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
            'δ' => out.push_str("$\\delta$"),
            '∞' => out.push_str("$\\infty$"),
            '√' => out.push_str("$\\surd$"),
            '²' => out.push_str("$^2$"),
            '×' => out.push_str("$\\times$"),
            '≤' => out.push_str("$\\le$"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_for_papers_are_aligned_and_escaped() {
        let rows = [
            ["method", "ε", "p_t & q"],
            ["a_b", "7.05", "< 1e-6"],
            ["c #1 at 5 %", "∞", "–"],
        ];
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.map(str::to_owned).to_vec())
            .collect();
        let tex = latex(&[("Title", rows.clone())], &["10 % of it".to_owned()]);
        for part in [
            "\\begin{tabular}{lrr}\n\\toprule\nmethod & $\\varepsilon$ & p\\_t \\& q \\\\\n\\midrule\n",
            "a\\_b & 7.05 & $<$ 1e-6 \\\\\n",
            "c \\#1 at 5 \\% & $\\infty$ & -- \\\\\n\\bottomrule",
            "% 10 % of it",
        ] {
            assert!(tex.contains(part), "{tex}\nexpected {part}");
        }
        assert!(
            markdown(&[("Title", rows)], &[])
                .contains("| method | ε | p_t & q |\n|---|---|---|\n| a_b |")
        );
    }
}

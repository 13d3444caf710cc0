//! The text on the terminal.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use super::told_rounds;
use crate::metrics::{SMALL_DELTA, Summary};
use crate::scenario::{Guarantee, Scenario};
use crate::text::significant;

/// What is said of every simulated execution: its noise can be computed from the seed.
pub const NOT_PRIVATE: &str =
    "simulation: not private (noise and coins come from the seed; real releases take them from secret entropy)";

/// A rule above, below the header, and at the end.
pub const LINES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// The methods' table with its legend.
pub fn methods(scenario: &Scenario, summary: &Summary, regret_name: &str) -> String {
    let told = told_rounds(scenario.federation.rounds);
    let mut table = Table::new();
    let delta = significant(scenario.privacy.delta, 3);
    let mut header = vec!["method".to_owned(), format!("summed\n{regret_name}"), "std.\nerror".to_owned()];
    header.extend(told.iter().map(|round| format!("round\n{round}")));
    header.extend([delta, format!("{SMALL_DELTA:e}")].map(|delta| format!("ε tight\nδ {delta}")));
    let columns = header.len();
    let cell = |column: usize, text: String| {
        Cell::new(text).set_alignment(if column == 0 { CellAlignment::Left } else { CellAlignment::Right })
    };
    let cells = |row: Vec<String>| -> Vec<Cell> {
        row.into_iter().enumerate().map(|(column, text)| cell(column, text)).collect()
    };
    table.load_style(LINES).set_header(cells(header));
    for method in &summary.methods {
        let mut row = vec![
            method.method.name().to_owned(),
            significant(method.summed_regret.mean, 4),
            method.summed_regret.standard_error.map_or("–".to_owned(), |error| significant(error, 2)),
        ];
        row.extend(
            told.iter().map(|round| {
                method.curve.get(*round as usize).map_or("–".to_owned(), |at| format!("{:.4}", at.mean))
            }),
        );
        match (method.guarantee(), &method.losses) {
            (Guarantee::DifferentialPrivacy, Some(losses)) => {
                for loss in losses {
                    row.push(loss.tight.map_or("∞".to_owned(), |epsilon| significant(epsilon, 3)));
                }
            }
            (Guarantee::NothingReleased, _) => row.push("no release".to_owned()),
            _ => row.push("unprotected".to_owned()),
        }
        row.resize(columns, String::new());
        table.add_row(cells(row));
    }
    let mut text = format!("{table}\n");
    text.push_str(&format!(
        "{regret_name}: mean over {} agents of the best so far, summed over rounds 0 to {}; {}.\n",
        scenario.federation.agents,
        scenario.federation.rounds,
        if scenario.runs == 1 { "one run".to_owned() } else { format!("mean of {} paired runs", scenario.runs) },
    ));
    if let Some([loss, _]) = summary.methods.iter().find_map(|method| method.losses) {
        text.push_str(&format!(
            "ε: by privacy-loss distributions, tight and, before it is rounded here, never below the truth; neighbouring relation \"{}\": an agent \
             keeps its slot and weight and contributes zero.\n",
            loss.relation
        ));
    }
    text.push_str(&format!("{NOT_PRIVATE}\n\ndigest {}\n", summary.digest));
    text
}

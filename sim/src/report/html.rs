//! The report: one page that needs nothing but itself.

use std::fmt::Write as _;

use super::read::RunRecord;
use super::svg::{STYLE, STYLE_DARK, escape};
use super::{charts, figure, table, told_rounds};
use crate::metrics::{MethodSummary, Paired, SMALL_DELTA, Summary};
use crate::scenario::{Guarantee, Method, Scenario};
use crate::text::significant;

/// Layout and type of the page; the charts bring [`STYLE`].
const PAGE: &str = include_str!("page.css");

/// Type inside charts, larger where a chart is scaled down to the width of a phone.
const STYLE_PHONE: &str = "@media (max-width:32rem){.pair .label,.single .label,section>svg .label{font-size:15px}\
.pair .tick,.pair .axis,.pair .note,.single .tick,.single .axis,.single .note,section>svg .tick,section>svg .axis\
{font-size:14px}.grid-small .tick,.grid-small .axis{font-size:17px}.grid-small .panel{font-size:19px}}\n";

/// The whole page.
pub fn page(record: &RunRecord, regret_name: &str) -> String {
    let RunRecord { scenario, version, summary, .. } = record;
    let mut out = String::new();
    header(&mut out, scenario, version);
    section(
        &mut out,
        "Result",
        "",
        &(methods_table(scenario, summary, regret_name) + &charts::utility(summary, regret_name)),
    );
    regret(&mut out, scenario, summary, regret_name);
    differences(&mut out, summary, regret_name);
    losses(&mut out, scenario, summary);
    spread(&mut out, summary, regret_name);
    clipping(&mut out, summary);
    faults(&mut out, record);
    provenance(&mut out, record);
    document(&scenario.name, &out)
}

fn faults(out: &mut String, record: &RunRecord) {
    match charts::faults(&record.results) {
        None => section(out, "Faults", "No faults were simulated: every message arrived in its round.", ""),
        Some(chart) => section(
            out,
            "Faults",
            "Mean number of agents or frames for each method, run and round. <em>Not releasable</em>: who answered is known \
             to the server alone. Divisor, weights and noise of a release do not depend on it, so ε is what it is \
             without faults.",
            &format!("<figure class=\"single\">{}</figure>\n", charts::element(&chart, (310.0, 220.0), 150.0)),
        ),
    }
}

/// A page with this body, the styles of page and charts inside it.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · sordino</title>\n\
         <style>\n{PAGE}{STYLE}\n@media (prefers-color-scheme:dark){{{STYLE_DARK}}}\n{STYLE_PHONE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// A titled part of a page; `text` may hold markup.
pub fn section(out: &mut String, title: &str, text: &str, body: &str) {
    let _ = writeln!(out, "<section>\n<h2>{title}</h2>");
    if !text.is_empty() {
        let _ = writeln!(out, "<p>{text}</p>");
    }
    let _ = writeln!(out, "{body}</section>");
}

fn header(out: &mut String, scenario: &Scenario, version: &str) {
    let federation = &scenario.federation;
    let facts = [
        ("agents", federation.agents.to_string()),
        ("rounds", federation.rounds.to_string()),
        ("paired runs", scenario.runs.to_string()),
        ("regions", federation.regions().to_string()),
        ("features", scenario.surrogate.features.to_string()),
        ("q", significant(scenario.privacy.sampling_probability, 3)),
        ("noise multiplier", significant(scenario.privacy.noise_multiplier.value(), 3)),
        ("seed", scenario.seed.to_string()),
    ];
    let _ = write!(
        out,
        "<header>\n<p class=\"eyebrow\">sordino {}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<dl class=\"facts\">",
        escape(version),
        escape(&scenario.name),
        escape(&scenario.description)
    );
    for (name, value) in facts {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    let _ = writeln!(out, "</dl>\n<p class=\"warning\"><strong>{}</strong></p>\n</header>", escape(table::NOT_PRIVATE));
}

fn swatch(method: Method) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"line {0}\" d=\"M1 5H27\"/></svg>{0}",
        method.name()
    )
}

fn epsilon(value: Option<f64>) -> String {
    value.map_or("∞".to_owned(), |epsilon| significant(epsilon, 3))
}

fn methods_table(scenario: &Scenario, summary: &Summary, regret_name: &str) -> String {
    let told = told_rounds(scenario.federation.rounds);
    let mut out = String::from("<div class=\"scroll\"><table>\n<thead><tr><th>method</th>");
    let _ = write!(out, "<th>summed {regret_name}</th>");
    for round in &told {
        let _ = write!(out, "<th>round {round}</th>");
    }
    let delta = significant(scenario.privacy.delta, 3);
    let _ = write!(out, "<th>ε at δ {delta}</th><th>ε at δ {SMALL_DELTA:e}</th></tr></thead>\n<tbody>\n");
    for method in &summary.methods {
        let error = method
            .summed_regret
            .standard_error
            .map_or(String::new(), |error| format!(" <span class=\"error\">± {}</span>", significant(error, 2)));
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}{error}</td>",
            swatch(method.method),
            significant(method.summed_regret.mean, 4)
        );
        for round in &told {
            let _ = write!(out, "<td>{:.4}</td>", method.curve.get(*round as usize).map_or(f64::NAN, |at| at.mean));
        }
        match (method.guarantee(), method.losses) {
            (_, Some(losses)) => {
                losses.iter().for_each(|loss| out.push_str(&format!("<td>{}</td>", epsilon(loss.tight))));
            }
            (Guarantee::NothingReleased, _) => out.push_str("<td colspan=\"2\">nothing released</td>"),
            _ => out.push_str("<td colspan=\"2\">no protection</td>"),
        }
        out.push_str("</tr>\n");
    }
    let _ = write!(
        out,
        "</tbody></table></div>\n<p class=\"fine\">{regret_name}: mean over agents of the best so far, noise-free; summed over \
         rounds 0 to {}; ± one standard error over {} paired runs. ε by privacy-loss distributions (tight; never below \
         the truth before it is rounded here), zero-out.</p>\n",
        scenario.federation.rounds, scenario.runs
    );
    out
}

fn regret(out: &mut String, scenario: &Scenario, summary: &Summary, regret_name: &str) {
    let panels = figure::panels(summary, regret_name);
    let charts: String = panels
        .iter()
        .map(|panel| format!("<figure>{}</figure>\n", charts::element(panel, (270.0, 260.0), 176.0)))
        .collect();
    let text =
        if scenario.runs > 1 { "Mean over runs; the bands are one standard error." } else { "One run: no bands." };
    section(out, "Regret", text, &format!("<div class=\"pair\">\n{charts}</div>\n"));
}

fn differences(out: &mut String, summary: &Summary, regret_name: &str) {
    let find = |method| summary.methods.iter().find(|found: &&MethodSummary| found.method == method);
    let baselines: Vec<&MethodSummary> = [Method::Ts, Method::PureNoise].into_iter().filter_map(find).collect();
    let runs = summary.methods.first().map_or(0, |method| method.sums.len());
    if baselines.is_empty() || runs < 2 {
        return;
    }
    let mut body = String::from("<div class=\"scroll\"><table>\n<thead><tr><th>method</th>");
    for baseline in &baselines {
        let _ = write!(body, "<th>minus {}</th><th>better in</th>", baseline.method);
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for method in &summary.methods {
        let _ = write!(body, "<tr><th scope=\"row\">{}</th>", swatch(method.method));
        for baseline in &baselines {
            if baseline.method == method.method {
                body.push_str("<td>–</td><td>–</td>");
                continue;
            }
            let paired = Paired::of(&method.sums, &baseline.sums);
            let class = match (paired.is_clear(), paired.mean < 0.0) {
                (true, true) => "better",
                (true, false) => "worse",
                _ => "open",
            };
            let _ = write!(
                body,
                "<td class=\"{class}\">{} <span class=\"error\">± {}</span></td><td>{} of {}</td>",
                signed(paired.mean),
                significant(paired.half_width.unwrap_or(f64::NAN), 2),
                paired.smaller,
                paired.pairs
            );
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div>\n");
    let text = format!(
        "Summed {regret_name}, run by run, with 95 % confidence intervals (Student). Below zero is better. What \
         <code>pure-noise</code> reaches is owed to noise and initial points, not to federation."
    );
    section(out, "Paired differences", &text, &body);
}

fn signed(x: f64) -> String {
    let text = significant(x.abs(), 3);
    if x < 0.0 { format!("−{text}") } else { format!("+{text}") }
}

fn losses(out: &mut String, scenario: &Scenario, summary: &Summary) {
    let Some(chart) = charts::losses(scenario, summary) else {
        return;
    };
    let text = format!(
        "What the releases of one private method cost, one after the other; those of the federated prior are fewer and of \
         everybody. Neighbouring relation: an enrolled agent keeps \
         its slot and its public weight and contributes zero. By privacy-loss distributions: within 1e-4 of the truth and \
         never below. Dashed: δ = {SMALL_DELTA:e}. A budget (<code>privacy.max_epsilon</code>) counts by Rényi divergences, for \
         which a filter is proven, and comes out higher; <code>sordino privacy compare</code> draws them and the paper's."
    );
    section(
        out,
        "Privacy loss over releases",
        &text,
        &format!("<figure class=\"single\">{}</figure>\n", charts::element(&chart, (290.0, 240.0), 190.0)),
    );
}

fn spread(out: &mut String, summary: &Summary, regret_name: &str) {
    let charts: String = charts::spreads(summary, regret_name)
        .iter()
        .map(|chart| format!("<figure>{}</figure>\n", charts::element_small(chart, (230.0, 170.0), 14.0)))
        .collect();
    if !charts.is_empty() {
        let text = "Median over agents, and the range from the 10 % to the 90 % quantile; means over runs.";
        section(out, "Spread over agents", text, &format!("<div class=\"grid-small\">\n{charts}</div>\n"));
    }
}

fn clipping(out: &mut String, summary: &Summary) {
    if let Some(chart) = charts::clipping(summary) {
        let text = "<strong>Not releasable.</strong> A server that told how many vectors it clipped would break its guarantee; \
                    the simulator may, because nobody's data are in it.";
        let body = format!("<figure class=\"single\">{}</figure>\n", charts::element(&chart, (310.0, 220.0), 130.0));
        section(out, "Clipping", text, &body);
    }
}

fn provenance(out: &mut String, record: &RunRecord) {
    let mut body = format!(
        "<p>Written by sordino {}. Digest of all runs and methods:</p>\n<p class=\"digest\">{}</p>\n",
        escape(&record.version),
        record.summary.digest
    );
    body.push_str(
        "<div class=\"scroll\"><table>\n<thead><tr><th>method</th><th class=\"name\">digest over runs</th></tr></thead>\n<tbody>\n",
    );
    for method in &record.summary.methods {
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{}</th><td class=\"digest\">{}</td></tr>",
            method.method, method.digest
        );
    }
    let _ = write!(
        body,
        "</tbody></table></div>\n<details><summary>Resolved scenario</summary><pre>{}</pre></details>\n",
        escape(&record.scenario.resolved())
    );
    section(
        out,
        "Provenance",
        "Equal digests mean equal queries, observations, uploads and broadcasts, bit by bit.",
        &body,
    );
}

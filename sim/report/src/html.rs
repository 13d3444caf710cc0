//! A page that needs nothing but itself, and its sections.

use std::fmt::Write as _;

use super::palette;
use super::svg::escape;

/// Layout and type of the page; its colours and its charts come from [`palette`].
const PAGE: &str = include_str!("page.css");

/// Type inside charts, larger where a chart is scaled down to the width of a phone.
const STYLE_PHONE: &str = "@media (max-width:32rem){.pair .label,.single .label,section>svg .label{font-size:15px}\
.pair .tick,.pair .axis,.pair .note,.single .tick,.single .axis,.single .note,section>svg .tick,section>svg .axis\
{font-size:14px}.grid-small .tick,.grid-small .axis{font-size:17px}.grid-small .panel{font-size:19px}}\n";

/// A page with this body and, inside it, the styles of page and charts.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · sordino</title>\n\
         <style>\n{}{PAGE}{}{STYLE_PHONE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title),
        palette::variables(),
        palette::style(body, "", "")
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

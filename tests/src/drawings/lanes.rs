//! Who does what, from top to bottom: a lane for each party, a box for each step, an arrow to the
//! next.

use std::fmt::Write;

use sordino_report::advance::wrapped;
use sordino_report::svg::line;

use super::canvas::{picture, rectangle};

const WIDTH: f64 = 190.0;
const EDGE: f64 = 12.0;
const PAD: f64 = 8.0;
const LINE: f64 = 17.0;
const BETWEEN: f64 = 22.0;
const SIZE: f64 = 13.0;

/// A step: its lane, what happens, and who may see what the box holds.
struct Step(usize, &'static str, Seen);

/// Whether a box holds what must not leave, or what anybody may see.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Secret,
    Public,
}

use Seen::{Public, Secret};

/// The way of one observation through the rooms of the code.
pub fn observation() -> String {
    let steps = [
        Step(0, "world or sensor: y = f(x) + noise", Secret),
        Step(
            0,
            "federated::Agent: the log grows by (x, y); posteriors are functions of the log",
            Secret,
        ),
        Step(
            0,
            "surrogate: the posterior of the weights, a draw of it",
            Secret,
        ),
        Step(0, "wire: a frame with length and CRC-32C", Secret),
        Step(
            1,
            "federated::Collector, privacy::encode: integers, exact norm check, the same work in and out of the sample",
            Secret,
        ),
        Step(1, "federated::Server: Close gives a Charge", Secret),
        Step(
            2,
            "host::ledger: the line is written and synced, then there is a Receipt",
            Public,
        ),
        Step(
            1,
            "privacy::mechanism: integer noise is drawn and added; sums are wiped",
            Secret,
        ),
        Step(
            1,
            "federated::transcript: the broadcast joins the chain of digests",
            Public,
        ),
        Step(
            0,
            "federated::Agent: the next x, by the broadcast or by a draw of its own",
            Secret,
        ),
    ];
    draw(
        "The way of one observation",
        &["agent", "server", "disk"],
        &steps,
    )
}

/// One round of a private release, in plain words.
pub fn round() -> String {
    let steps = [
        Step(0, "tries a setting, sees how good it was", Secret),
        Step(
            0,
            "summarises what it learned in a few numbers, cut to a length known to all",
            Secret,
        ),
        Step(
            1,
            "adds up the summaries of all agents, or of a secret random part of them",
            Secret,
        ),
        Step(
            2,
            "writes down what the release costs (ε), before anything that holds noise leaves",
            Public,
        ),
        Step(
            1,
            "adds random noise, scaled to the most one agent can change",
            Secret,
        ),
        Step(
            1,
            "sends the noisy sum to everybody; nothing else is published",
            Public,
        ),
        Step(
            0,
            "chooses its next setting with the noisy sum as a hint, which its own data may overrule",
            Secret,
        ),
    ];
    draw(
        "One round of a private release",
        &["each agent", "server", "ledger"],
        &steps,
    )
}

/// A campaign from the first command to the promise.
pub fn campaign() -> String {
    let steps = [
        Step(
            0,
            "serve: fixes points, rounds, δ and the largest ε, and prints ε at δ and at 1e-5",
            Public,
        ),
        Step(
            0,
            "invite: a line for each site, with an address, keys and a token that works once",
            Secret,
        ),
        Step(
            1,
            "join: reads the terms, agrees to an ε of its own, or ends",
            Public,
        ),
        Step(
            1,
            "measures: your command prints a value, which stays here",
            Secret,
        ),
        Step(
            1,
            "summarises what it learned in a clipped vector, for the server alone",
            Secret,
        ),
        Step(
            0,
            "adds up the vectors, charges the ledger, adds noise",
            Secret,
        ),
        Step(0, "publishes the noisy sum, round after round", Public),
        Step(
            1,
            "chooses its next point, and keeps the best one in best.json",
            Secret,
        ),
        Step(0, "promise: what it cost, signed", Public),
        Step(
            2,
            "verify checks the signature; replay recomputes broadcasts, charges and ε",
            Public,
        ),
    ];
    draw("A campaign", &["server", "each site", "who checks"], &steps)
}

/// A prior file from the studies to a newcomer.
pub fn file() -> String {
    let steps = [
        Step(0, "tried ten points or so, in a unit of its own", Secret),
        Step(
            1,
            "standardises each study, and cuts what it contributes to a length known to all",
            Secret,
        ),
        Step(1, "charges the ledger, then adds noise to the sums", Secret),
        Step(
            1,
            "writes the file: what the studies have in common, and a label with both ε and δ",
            Public,
        ),
        Step(
            2,
            "reads the label, and trusts the file as far as its self-test and its own values allow",
            Public,
        ),
        Step(2, "searches, and tells no one", Secret),
    ];
    draw(
        "A prior file",
        &["each study", "publisher", "each newcomer"],
        &steps,
    )
}
/// Where the middle of a lane is.
fn middle(lane: usize) -> f64 {
    EDGE + WIDTH * (lane as f64 + 0.5)
}

fn draw(title: &str, lanes: &[&str], steps: &[Step]) -> String {
    let total = EDGE * 2.0 + WIDTH * lanes.len() as f64;
    let mut boxes = String::new();
    let mut arrows = String::new();
    let mut y = 52.0;
    let mut before: Option<(usize, [f64; 4])> = None;
    for Step(lane, text, seen) in steps {
        let words = wrapped(text, SIZE, false, WIDTH - 4.0 * PAD);
        let place = [
            middle(*lane) - WIDTH / 2.0 + PAD,
            y,
            WIDTH - 2.0 * PAD,
            words.len() as f64 * LINE + 2.0 * PAD - 2.0,
        ];
        rectangle(
            &mut boxes,
            if *seen == Secret {
                "box private"
            } else {
                "box"
            },
            place,
        );
        for (row, text) in words.iter().enumerate() {
            line(
                &mut boxes,
                "word",
                place[0] + PAD,
                y + PAD + 11.0 + LINE * row as f64,
                "start",
                text,
            );
        }
        if let Some((from, above)) = before {
            arrow(
                &mut arrows,
                (middle(from), above[1] + above[3]),
                (middle(*lane), y),
            );
        }
        before = Some((*lane, place));
        y += place[3] + BETWEEN;
    }
    let mut out = String::new();
    for (lane, name) in lanes.iter().enumerate() {
        line(&mut out, "lane", middle(lane), 30.0, "middle", name);
        if lane > 0 {
            let x = EDGE + WIDTH * lane as f64;
            let _ = writeln!(
                out,
                r#"<path class="divider" d="M{x:.1} 14V{:.1}"/>"#,
                y - 4.0
            );
        }
    }
    out.push_str(&arrows);
    out.push_str(&boxes);
    let legend = "Coloured boxes hold what must not leave; what is in the others anybody may see.";
    for (row, text) in wrapped(legend, SIZE, false, total - 2.0 * EDGE)
        .iter()
        .enumerate()
    {
        line(
            &mut out,
            "word",
            EDGE + PAD,
            y + 12.0 + LINE * row as f64,
            "start",
            text,
        );
    }
    picture(total, (y + 44.0).ceil(), title, &out)
}

/// From below one box to the top of the next: straight down, across, down.
fn arrow(out: &mut String, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) {
    let bend = y1 - BETWEEN / 2.0;
    let _ = writeln!(
        out,
        r#"<path class="arrow" d="M{x0:.1} {y0:.1}V{bend:.1}H{x1:.1}V{:.1}"/>"#,
        y1 - 5.0
    );
    let _ = writeln!(
        out,
        r#"<path class="head" d="M{:.1} {:.1}H{:.1}L{x1:.1} {y1:.1}Z"/>"#,
        x1 - 4.0,
        y1 - 7.0,
        x1 + 4.0
    );
}

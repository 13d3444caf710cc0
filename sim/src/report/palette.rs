//! One palette, from which the style sheets of pictures and pages are made, light and dark.
//!
//! Curves: Okabe and Ito's colours, darkened where a thin line would be pale on white. Curves of one family share a hue,
//! and dashes tell them apart without any. A class is named after its hue, never after what is drawn with it.

use crate::scenario::Method;

/// A class of curves: name, dashes (none if empty), then (line, text) in light and in dark.
type Hue = (&'static str, &'static str, [&'static str; 2], [&'static str; 2]);

const HUES: [Hue; 20] = [
    ("ink", "", ["#4a4f55", "#4a4f55"], ["#c3c8ce", "#c3c8ce"]),
    ("sky", "7 4", ["#2b93cf", "#1c7db5"], ["#6cc0f0", "#6cc0f0"]),
    ("blue", "", ["#0062a0", "#0062a0"], ["#3f9fe0", "#5db2ee"]),
    ("amber", "7 4", ["#cc7a00", "#a86400"], ["#f0a83a", "#f0a83a"]),
    ("red", "", ["#c23b00", "#c23b00"], ["#ff7a45", "#ff7a45"]),
    ("ash", "2 4", ["#8a9199", "#6b727a"], ["#8a9199", "#a3abb3"]),
    ("green", "", ["#007a59", "#007a59"], ["#2fbf95", "#2fbf95"]),
    ("fern", "9 3 2 3", ["#007a59", "#007a59"], ["#2fbf95", "#2fbf95"]),
    ("pink", "4 3", ["#a8417f", "#a8417f"], ["#e07fba", "#e07fba"]),
    ("grape", "", ["#5e2a9a", "#5e2a9a"], ["#a77bff", "#b48dff"]),
    ("violet", "7 4", ["#7a4fb5", "#7a4fb5"], ["#b794f0", "#b794f0"]),
    ("sand", "1 4", ["#9a8350", "#7d6a3f"], ["#c9b58a", "#c9b58a"]),
    ("teal", "9 3 2 3", ["#00808c", "#00707b"], ["#4fc3c9", "#4fc3c9"]),
    ("rose", "4 3", ["#b0305c", "#b0305c"], ["#f08cae", "#f08cae"]),
    ("v0", "", ["#5e2a84", "#5e2a84"], ["#b58be0", "#b58be0"]),
    ("v1", "", ["#3b528b", "#3b528b"], ["#7f9fe0", "#7f9fe0"]),
    ("v2", "", ["#1c7c88", "#1c7c88"], ["#4fc3c9", "#4fc3c9"]),
    ("v3", "", ["#2f8f50", "#2f8f50"], ["#6fd08a", "#6fd08a"]),
    ("v4", "", ["#8a8f00", "#8a8f00"], ["#d0dc5a", "#d0dc5a"]),
    ("v5", "", ["#b86e00", "#b86e00"], ["#f0b64a", "#f0b64a"]),
];

/// What is no curve: name of the variable on a page, light, dark.
const SURFACES: [(&str, &str, &str); 10] = [
    ("ground", "#ffffff", "#15181c"),
    ("text", "#1c2024", "#e8eaed"),
    ("soft", "#5b636b", "#a3abb3"),
    ("rule", "#e4e7ea", "#2b3036"),
    ("base", "#9aa1a8", "#6b727a"),
    ("card", "#f6f7f8", "#1c2025"),
    ("accent", "#0062a0", "#5db2ee"),
    ("warn", "#fff4e5", "#332611"),
    ("good", "#00664a", "#2fbf95"),
    ("bad", "#a63200", "#ff8a5c"),
];

/// Type and strokes of pictures, whatever the colours.
const SHAPES: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans','DejaVu Sans',sans-serif}\
.title{font-size:19px;font-weight:650}.sub{font-size:13px}.panel{font-size:14px;font-weight:600}.tick,.axis{font-size:12px}\
.label{font-size:13px;font-weight:600}.note{font-weight:400;font-size:12px}.grid,.base{stroke-width:1}\
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\
.leader{fill:none;stroke-width:1;stroke-opacity:.55}.main{stroke-width:3}";

/// Classes for the values of one ordered parameter, from low to high.
pub const RAMP: [&str; 6] = ["v0", "v1", "v2", "v3", "v4", "v5"];
/// Classes for things without an order, the most different first.
pub const DISTINCT: [&str; 8] = ["ash", "ink", "blue", "red", "amber", "fern", "pink", "sky"];

/// The class of a federated method.
pub fn of(method: Method) -> &'static str {
    match method {
        Method::Ts => "ink",
        Method::Fts => "sky",
        Method::FtsDe => "blue",
        Method::DpFts => "amber",
        Method::DpFtsDe => "red",
        Method::PureNoise => "ash",
        Method::UniformWeights => "fern",
        Method::GlobalInit => "pink",
        Method::Prior => "violet",
        Method::DpPrior => "grape",
        Method::PriorNoise => "sand",
        Method::PriorMean => "teal",
        Method::PriorUnsafe => "rose",
    }
}

/// The style sheet of what is drawn in `body`, light, and dark where the reader prefers it, with what a picture of its own
/// kind adds.
pub fn style(body: &str, light: &str, dark: &str) -> String {
    let (day, night) = (colours(body, false), colours(body, true));
    format!("{SHAPES}{day}{light}\n@media (prefers-color-scheme:dark){{{night}{dark}}}\n")
}

/// The same as variables of a page.
pub fn variables() -> String {
    let all = |dark: bool| -> String {
        SURFACES.iter().map(|(name, light, night)| format!("--{name}:{};", if dark { night } else { light })).collect()
    };
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n",
        all(false),
        all(true)
    )
}

fn colours(body: &str, dark: bool) -> String {
    let surface = |wanted: &str| {
        let found = SURFACES.iter().find(|(name, ..)| *name == wanted);
        found.map_or("", |(_, light, night)| if dark { night } else { light })
    };
    let (soft, band) = (surface("soft"), if dark { ".2" } else { ".13" });
    let mut out = format!(
        "text{{fill:{}}}.ground{{fill:{}}}.sub,.tick,.axis,.note{{fill:{soft}}}.grid{{stroke:{}}}.base{{stroke:{}}}\
         .band{{fill-opacity:{band}}}",
        surface("text"),
        surface("ground"),
        surface("rule"),
        surface("base")
    );
    for (class, dashes, light, night) in HUES.iter().filter(|hue| body.contains(hue.0)) {
        let [line, text] = if dark { night } else { light };
        // Dashes do not change with the colours.
        let dashes = if dark || dashes.is_empty() { String::new() } else { format!(";stroke-dasharray:{dashes}") };
        out.push_str(&format!(
            ".line.{class}{{stroke:{line}{dashes}}}.leader.{class}{{stroke:{line}}}.band.{class}{{fill:{line}}}\
             text.{class}{{fill:{text}}}"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_that_is_given_out_has_its_colours_in_light_and_dark() {
        let count = |drawn: &str, class: &str| style(drawn, "", "").matches(&format!(".line.{class}{{")).count();
        let methods = Method::ALL.into_iter().map(of);
        for class in methods.chain(RAMP).chain(DISTINCT).chain(["green"]) {
            assert_eq!(count(&format!("<path class=\"line {class}\"/>"), class), 2, "{class}");
        }
        assert_eq!((count("line dp-fts-de", "dp-fts-de"), count("line sky", "teal")), (0, 0), "negative controls");
        assert!(variables().contains("--ground:#ffffff;") && variables().contains("--ground:#15181c;"));
    }

    /// Relative luminances and the ratio of WCAG 2: text is read at 3.4 to 1 at least (WCAG asks 4.5 for small text: not all have that), a line at 3 to 1; the two values of
    /// one place.
    #[test]
    fn text_can_be_read_on_its_ground() {
        let luminance = |colour: &str| {
            let channel = |i: usize| f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            let linear = |c: f64| if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
            0.2126 * linear(channel(1)) + 0.7152 * linear(channel(3)) + 0.0722 * linear(channel(5))
        };
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(a), luminance(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for (class, _, light, dark) in HUES {
            for ([line, text], ground) in [(light, "#ffffff"), (dark, "#15181c")] {
                assert!(contrast(text, ground) > 3.4 && contrast(line, ground) > 3.0, "{class} on {ground}");
            }
        }
        assert!(contrast("#e4e7ea", "#ffffff") < 3.0, "negative control");
    }
}

//! One palette, from which the light and dark style sheets of pictures and pages are made.
//!
//! Curves: Okabe and Ito's colours, darkened where a thin line would be pale on white. Curves of
//! one family share a hue, and dashes tell them apart without any; curves with the same dashes can
//! be told apart by those who see no red or no green, too. A class is named after its hue, never
//! after what is drawn with it.

use sordino_experiment::scenario::{Method, method};

/// The colours of a curve on one ground.
#[derive(Clone, Copy)]
struct Colours {
    line: &'static str,
    text: &'static str,
}

/// A class of curves.
#[derive(Clone, Copy)]
struct Hue {
    class: &'static str,
    /// Lengths of dashes and gaps; empty if the line is solid.
    dashes: &'static str,
    light: Colours,
    dark: Colours,
}

impl Hue {
    /// Its colours, on a dark ground or on a light one.
    const fn on(&self, dark: bool) -> Colours {
        if dark { self.dark } else { self.light }
    }
}

/// A class with the colours of its line and of its text, in light and in dark.
const fn hue(
    class: &'static str,
    dashes: &'static str,
    light: [&'static str; 2],
    dark: [&'static str; 2],
) -> Hue {
    let [line, text] = light;
    let light = Colours { line, text };
    let [line, text] = dark;
    let dark = Colours { line, text };
    Hue {
        class,
        dashes,
        light,
        dark,
    }
}

/// The colour of something that is not a curve.
struct Surface {
    /// Name of the variable on a page.
    name: &'static str,
    light: &'static str,
    dark: &'static str,
}

impl Surface {
    /// Its colour, on a dark ground or on a light one.
    const fn on(&self, dark: bool) -> &'static str {
        if dark { self.dark } else { self.light }
    }
}

const fn surface(name: &'static str, light: &'static str, dark: &'static str) -> Surface {
    Surface { name, light, dark }
}

const HUES: [Hue; 25] = [
    hue("ink", "", ["#4a4f55", "#4a4f55"], ["#c3c8ce", "#c3c8ce"]),
    hue("sky", "7 4", ["#2b93cf", "#1c7db5"], ["#6cc0f0", "#6cc0f0"]),
    hue("blue", "", ["#0062a0", "#0062a0"], ["#3f9fe0", "#5db2ee"]),
    hue(
        "amber",
        "7 4",
        ["#cc7a00", "#a86400"],
        ["#f0a83a", "#f0a83a"],
    ),
    hue("red", "", ["#c23b00", "#c23b00"], ["#ff7a45", "#ff7a45"]),
    hue("ash", "2 4", ["#8a9199", "#6b727a"], ["#8a9199", "#a3abb3"]),
    hue("green", "", ["#007a59", "#007a59"], ["#2fbf95", "#2fbf95"]),
    hue(
        "fern",
        "9 3 2 3",
        ["#007a59", "#007a59"],
        ["#2fbf95", "#2fbf95"],
    ),
    hue(
        "pink",
        "4 3",
        ["#a8417f", "#a8417f"],
        ["#e07fba", "#e07fba"],
    ),
    hue("grape", "", ["#5e2a9a", "#5e2a9a"], ["#a77bff", "#b48dff"]),
    hue(
        "plum",
        "18 3 3 3",
        ["#5e2a9a", "#5e2a9a"],
        ["#a77bff", "#b48dff"],
    ),
    hue(
        "mauve",
        "2 6",
        ["#7a5a8f", "#6b4d80"],
        ["#bfa3d3", "#bfa3d3"],
    ),
    hue(
        "violet",
        "4 3",
        ["#7a4fb5", "#7a4fb5"],
        ["#b794f0", "#b794f0"],
    ),
    hue(
        "sand",
        "1 4",
        ["#9a8350", "#7d6a3f"],
        ["#c9b58a", "#c9b58a"],
    ),
    hue(
        "slate",
        "1 4",
        ["#5b636b", "#5b636b"],
        ["#b3bac1", "#b3bac1"],
    ),
    hue(
        "teal",
        "9 3 2 3",
        ["#00808c", "#00707b"],
        ["#4fc3c9", "#4fc3c9"],
    ),
    hue(
        "rose",
        "4 3",
        ["#b0305c", "#b0305c"],
        ["#f08cae", "#f08cae"],
    ),
    hue(
        "olive",
        "12 3 2 3",
        ["#6b7000", "#626700"],
        ["#c2c84a", "#c2c84a"],
    ),
    hue(
        "copper",
        "5 2 1 2",
        ["#9a4a2a", "#8c4225"],
        ["#e39a76", "#e39a76"],
    ),
    hue("v0", "", ["#5e2a84", "#5e2a84"], ["#b58be0", "#b58be0"]),
    hue("v1", "7 4", ["#3b528b", "#3b528b"], ["#7f9fe0", "#7f9fe0"]),
    hue("v2", "4 3", ["#1c7c88", "#1c7c88"], ["#4fc3c9", "#4fc3c9"]),
    hue("v3", "", ["#2f8f50", "#2f8f50"], ["#6fd08a", "#6fd08a"]),
    hue("v4", "7 4", ["#8a8f00", "#8a8f00"], ["#d0dc5a", "#d0dc5a"]),
    hue("v5", "4 3", ["#b86e00", "#b86e00"], ["#f0b64a", "#f0b64a"]),
];

/// Colours of everything that is not a curve.
const SURFACES: [Surface; 10] = [
    surface("ground", "#ffffff", "#15181c"),
    surface("text", "#1c2024", "#e8eaed"),
    surface("soft", "#5b636b", "#a3abb3"),
    surface("rule", "#e4e7ea", "#2b3036"),
    surface("base", "#9aa1a8", "#6b727a"),
    surface("card", "#f6f7f8", "#1c2025"),
    surface("accent", "#0062a0", "#5db2ee"),
    surface("warn", "#fff4e5", "#332611"),
    surface("good", "#00664a", "#2fbf95"),
    surface("bad", "#a63200", "#ff8a5c"),
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
/// Classes for unordered things, the most different first; [`other`] has more.
pub(crate) const DISTINCT: [&str; 8] =
    ["ash", "ink", "blue", "red", "amber", "fern", "pink", "sky"];

/// The classes of the methods that are shipped.
const METHODS: [(Method, &str); Method::SHIPPED.len()] = [
    (method::TS, "ink"),
    (method::FTS, "sky"),
    (method::FTS_DE, "blue"),
    (method::DP_FTS, "amber"),
    (method::DP_FTS_DE, "red"),
    (method::PURE_NOISE, "ash"),
    (method::UNIFORM_WEIGHTS, "fern"),
    (method::GLOBAL_INIT, "pink"),
    (method::PRIOR, "violet"),
    (method::DP_PRIOR, "grape"),
    (method::PRIOR_NOISE, "sand"),
    (method::PRIOR_MEAN, "teal"),
    (method::PRIOR_UNSAFE, "rose"),
    (method::RANDOM, "slate"),
    (method::ALONE, "olive"),
    (method::VOTE, "copper"),
    (method::POOLED, "green"),
    (method::CAMPAIGN, "plum"),
    (method::CAMPAIGN_NOISE, "mauve"),
];
/// Six hues that can be told apart without red or green, in the order in which a scenario's own
/// methods get them. That of `dp-prior`, which most pictures are about, is not among them.
const APART: [&str; 6] = ["amber", "blue", "sand", "ink", "sky", "ash"];
/// Classes for a scenario's own methods that share their dashes, which no shipped method has.
struct Dashed {
    dashes: &'static str,
    /// One for each hue of [`APART`].
    classes: [&'static str; APART.len()],
}

const fn dashed(dashes: &'static str, classes: [&'static str; APART.len()]) -> Dashed {
    Dashed { dashes, classes }
}

/// Classes for a scenario's own methods, in their order.
const OWN: [Dashed; 4] = [
    dashed("14 5", ["own0", "own1", "own2", "own3", "own4", "own5"]),
    dashed(
        "10 3 2 3 2 3",
        ["own6", "own7", "own8", "own9", "own10", "own11"],
    ),
    dashed(
        "16 4 5 4",
        ["own12", "own13", "own14", "own15", "own16", "own17"],
    ),
    dashed(
        "26 5",
        ["own18", "own19", "own20", "own21", "own22", "own23"],
    ),
];

/// The hues of all classes.
fn hues() -> impl Iterator<Item = Hue> {
    HUES.into_iter().chain(OWN.iter().flat_map(own_hues))
}

/// The hues of classes that share their dashes.
fn own_hues(own: &'static Dashed) -> impl Iterator<Item = Hue> {
    let named = own.classes.iter().zip(APART);
    named.flat_map(|(class, name)| {
        let found = HUES.into_iter().filter(move |hue| hue.class == name);
        found.map(|hue| Hue {
            class,
            dashes: own.dashes,
            ..hue
        })
    })
}

/// The class of a federated method.
pub fn of(method: Method) -> &'static str {
    let shipped = METHODS
        .iter()
        .find(|(known, _)| *known == method)
        .map(|(_, class)| *class);
    shipped.unwrap_or_else(|| own(method.place().unwrap_or(0)))
}

/// The class of one of several unordered things that have no class of their own.
pub fn other(place: usize) -> &'static str {
    DISTINCT
        .get(place)
        .copied()
        .unwrap_or_else(|| own(place - DISTINCT.len()))
}

/// Classes of things that are drawn together, by name.
#[derive(Clone, Debug)]
pub struct Looks(Vec<(String, &'static str)>);

impl Looks {
    /// Federated methods have fixed classes, a scenario's own methods the ones after; all others
    /// get theirs by place.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>, federated: bool) -> Self {
        let mut unknown = 0..;
        let mut looks: Vec<(String, &'static str)> = Vec::new();
        for name in names {
            if looks.iter().any(|(known, _)| known == name) {
                continue;
            }
            let class = match Method::from_name(name) {
                Some(method) if federated => of(method),
                _ => unknown
                    .next()
                    .map_or("ink", if federated { own } else { other }),
            };
            looks.push((name.to_owned(), class));
        }
        Looks(looks)
    }

    /// The class of a name; for an unknown name, the class of plain text.
    pub fn class(&self, name: &str) -> &'static str {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map_or("ink", |(_, class)| class)
    }
}

/// The class of a scenario's own method by its place; the first 24 are different, and neighbours in
/// hue and in dashes.
fn own(place: usize) -> &'static str {
    OWN[(place + place / 12) % OWN.len()].classes[place % APART.len()]
}

/// The style sheet for the classes used in `body`, light, and dark where the reader prefers it;
/// `light` and `dark` are rules added to each.
pub fn style(body: &str, light: &str, dark: &str) -> String {
    let day = colours(body, false);
    let night = colours(body, true);
    format!("{SHAPES}{day}{light}\n@media (prefers-color-scheme:dark){{{night}{dark}}}\n")
}

/// The style sheet for white paper only, whatever the reader prefers.
pub fn paper(body: &str) -> String {
    format!("{SHAPES}{}\n", colours(body, false))
}

/// The colours as variables of a page.
pub fn variables() -> String {
    format!(
        ":root{{color-scheme:light dark;{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n",
        surfaces(false),
        surfaces(true)
    )
}

/// The variables of a page that is light or dark.
fn surfaces(dark: bool) -> String {
    SURFACES
        .iter()
        .map(|surface| format!("--{}:{};", surface.name, surface.on(dark)))
        .collect()
}

/// One colour of what is not a curve, by its name.
fn colour(wanted: &str, dark: bool) -> &'static str {
    let found = SURFACES.iter().find(|surface| surface.name == wanted);
    found.map_or("", |surface| surface.on(dark))
}

fn colours(body: &str, dark: bool) -> String {
    let soft = colour("soft", dark);
    let band = if dark { ".2" } else { ".13" };
    let mut out = format!(
        "text{{fill:{}}}.ground{{fill:{}}}.sub,.tick,.axis,.note{{fill:{soft}}}.grid{{stroke:{}}}.base{{stroke:{}}}\
         .band{{fill-opacity:{band}}}",
        colour("text", dark),
        colour("ground", dark),
        colour("rule", dark),
        colour("base", dark)
    );
    let drawn =
        |class: &str| body.contains(&format!(" {class}\"")) || body.contains(&format!(" {class} "));
    for hue in hues().filter(|hue| drawn(hue.class)) {
        let class = hue.class;
        let Colours { line, text } = hue.on(dark);
        // Dashes do not change with the colours.
        let dashes = if dark || hue.dashes.is_empty() {
            String::new()
        } else {
            format!(";stroke-dasharray:{}", hue.dashes)
        };
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

    /// A colour in CIE L*a*b*, as seen by an eye with all cones, without those for red, or without
    /// those for green (matrices of Machado, Oliveira, Fernandes 2009, severity 1).
    fn seen(colour: &str, eye: usize) -> [f64; 3] {
        const EYES: [[[f64; 3]; 3]; 3] = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ];
        const XYZ: [[f64; 3]; 3] = [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ];
        let times = |matrix: [[f64; 3]; 3], x: [f64; 3]| {
            matrix.map(|row| row[0] * x[0] + row[1] * x[1] + row[2] * x[2])
        };
        let linear = [1, 3, 5].map(|i| {
            let c = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        });
        let [x, y, z] = times(XYZ, times(EYES[eye], linear).map(|c| c.clamp(0.0, 1.0)));
        let root = |t: f64| {
            if t > 0.008856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        };
        let [x, y, z] = [root(x / 0.95047), root(y), root(z / 1.08883)];
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The least distance of two colours over the three eyes; 2.3 is what one can just see side by
    /// side.
    fn apart(a: &str, b: &str) -> f64 {
        let distance = |eye| {
            seen(a, eye)
                .iter()
                .zip(seen(b, eye))
                .map(|(a, b)| (a - b) * (a - b))
                .sum::<f64>()
                .sqrt()
        };
        (0..3).map(distance).fold(f64::INFINITY, f64::min)
    }

    /// Refuses two classes with the same dashes whose colours are alike for some eye, in light or
    /// in dark.
    fn alike(classes: &[&str]) -> Vec<String> {
        let hue = |class: &str| hues().find(|hue| hue.class == class).unwrap();
        let all: Vec<Hue> = classes.iter().map(|class| hue(class)).collect();
        let pairs = (0..all.len())
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| (&all[i], &all[j]));
        let least = |(a, b): &(&Hue, &Hue)| {
            apart(a.light.line, b.light.line).min(apart(a.dark.line, b.dark.line))
        };
        let same = pairs
            .filter(|(a, b)| a.dashes == b.dashes)
            .filter(|pair| least(pair) < 10.0);
        same.map(|pair| format!("{} and {}: {:.1}", pair.0.class, pair.1.class, least(&pair)))
            .collect()
    }

    #[test]
    fn no_two_of_24_methods_share_colour_and_dashes_whoever_looks() {
        let nobody = Vec::<String>::new();
        // All that are shipped and 24 of a scenario's own: whichever are chosen, 24 are told apart.
        assert_eq!(
            alike(
                &Method::SHIPPED
                    .into_iter()
                    .map(of)
                    .chain((0..24).map(own))
                    .collect::<Vec<_>>()
            ),
            nobody
        );
        assert_eq!(alike(&(0..24).map(other).collect::<Vec<_>>()), nobody);
        assert_eq!(
            alike(&[&RAMP[..], &["ash", "ink", "red"]].concat()),
            nobody,
            "what is drawn beside a ramp"
        );
        let dashes = |place| {
            let found = hues().find(|hue| hue.class == own(place));
            found.map(|hue| hue.dashes)
        };
        assert!((0..23).all(|place| dashes(place) != dashes(place + 1)));
        // Negative controls: two dashed blues in the dark, a class twice, and a known distance.
        assert!(apart("#6cc0f0", "#b794f0") < 10.0 && alike(&["red", "red"]).len() == 1);
        assert!((apart("#000000", "#ffffff") - 100.0).abs() < 0.1);
    }

    #[test]
    fn no_own_method_has_the_colour_of_dp_prior() {
        let hue = |class: &str| hues().find(|hue| hue.class == class).unwrap();
        let prior = hue(of(method::DP_PRIOR));
        for class in OWN.iter().flat_map(|own| own.classes) {
            let own = hue(class);
            assert!(
                apart(own.light.line, prior.light.line) > 10.0
                    && apart(own.dark.line, prior.dark.line) > 10.0,
                "{class}"
            );
        }
        assert!(
            apart(hue("violet").light.line, prior.light.line) < 20.0,
            "negative control: a colour of its family"
        );
    }

    #[test]
    fn what_is_drawn_together_has_different_classes() {
        let names = ["ts", "mine", "dp-fts-de", "yours", "mine"];
        let looks = Looks::of(names, true);
        assert_eq!(
            names.map(|name| looks.class(name)),
            ["ink", own(0), "red", own(1), own(0)]
        );
        let plain = Looks::of(names, false);
        assert_eq!(
            names.map(|name| plain.class(name)),
            ["ash", "ink", "blue", "red", "ink"]
        );
    }

    #[test]
    fn every_class_that_is_given_out_has_its_colours_in_light_and_dark() {
        let count = |drawn: &str, class: &str| {
            style(drawn, "", "")
                .matches(&format!(".line.{class}{{"))
                .count()
        };
        let methods = Method::SHIPPED.into_iter().map(of);
        for class in methods
            .chain(RAMP)
            .chain(DISTINCT)
            .chain(["green"])
            .chain((0..24).map(own))
        {
            assert_eq!(
                count(&format!("<path class=\"line {class}\"/>"), class),
                2,
                "{class}"
            );
        }
        assert_eq!(
            (
                count("line dp-fts-de", "dp-fts-de"),
                count("line sky", "teal")
            ),
            (0, 0),
            "negative controls"
        );
        assert!(
            variables().contains("--ground:#ffffff;") && variables().contains("--ground:#15181c;")
        );
    }

    /// Relative luminances and the ratio of WCAG 2: text is read at 3.4 to 1 at least (WCAG asks
    /// 4.5 for small text: not all have that), a line at 3 to 1; the two values of one place.
    #[test]
    fn text_can_be_read_on_its_ground() {
        let luminance = |colour: &str| {
            let channel =
                |i: usize| f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            let linear = |c: f64| {
                if c <= 0.03928 {
                    c / 12.92
                } else {
                    ((c + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * linear(channel(1)) + 0.7152 * linear(channel(3)) + 0.0722 * linear(channel(5))
        };
        let contrast = |a: &str, b: &str| {
            let a = luminance(a);
            let b = luminance(b);
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for hue in HUES {
            for (colours, ground) in [(hue.light, "#ffffff"), (hue.dark, "#15181c")] {
                assert!(
                    contrast(colours.text, ground) > 3.4 && contrast(colours.line, ground) > 3.0,
                    "{} on {ground}",
                    hue.class
                );
            }
        }
        assert!(contrast("#e4e7ea", "#ffffff") < 3.0, "negative control");
    }
}

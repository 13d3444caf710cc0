//! Pictures of sordino as PDF and PNG.
//!
//! `sordino report --format pdf|png` lays a picture out as SVG and hands that to the program
//! `sordino-figures`, so that what draws fonts and pixels is no part of the simulator. Type is
//! DejaVu Sans wherever it is installed, otherwise Liberation Sans: the two fonts in which every
//! text of every picture is tested to have room. Without both a picture is refused: another font
//! could cut texts off. In a PDF they are embedded, text stays text; in a PNG they are pixels.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};
use usvg::fontdb;

/// The fonts that are drawn with, the preferred one first.
pub const FONTS: [&str; 2] = ["DejaVu Sans", "Liberation Sans"];
/// A picture is no larger than this, in pixels to a side.
const SIDE_MAX: f32 = 30_000.0;
/// Pixels of SVG in an inch.
const PIXELS_PER_INCH: f32 = 96.0;

/// What a picture becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A page as large as the picture, fonts embedded.
    Pdf,
    /// Pixels on white.
    Png {
        /// Pixels to an inch of the picture's width.
        per_inch: f32,
    },
}

/// Why a picture is not made.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// Neither font is installed.
    #[error(
        "neither DejaVu Sans nor Liberation Sans is installed; install one (Debian and Ubuntu: fonts-dejavu-core or \
         fonts-liberation), or ask for --format svg, which needs no font"
    )]
    NoFont,
    /// Text that is no picture.
    #[error("the picture cannot be read: {0}")]
    Svg(#[from] usvg::Error),
    /// Too many pixels, or none.
    #[error(
        "{width} × {height} pixels; admissible: 1 to {SIDE_MAX} to a side; ask for fewer pixels to an inch"
    )]
    Size {
        /// Width in pixels.
        width: f32,
        /// Height in pixels.
        height: f32,
    },
    /// The page could not be made.
    #[error("the PDF cannot be made: {0}")]
    Pdf(String),
    /// The pixels could not be packed.
    #[error("the PNG cannot be made: {0}")]
    Png(String),
}

/// Makes a picture of SVG text with the fonts of this system.
///
/// **Errors**: [`FigureError`].
pub fn convert(svg: &str, kind: Kind) -> Result<Vec<u8>, FigureError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_system_fonts();
    convert_with(svg, kind, fonts)
}

/// The same with given fonts.
///
/// **Errors**: [`FigureError`].
pub fn convert_with(
    svg: &str,
    kind: Kind,
    fonts: fontdb::Database,
) -> Result<Vec<u8>, FigureError> {
    let options = options(fonts)?;
    let tree = usvg::Tree::from_str(svg, &options)?;
    match kind {
        Kind::Pdf => {
            // A unit of SVG is a ninety-sixth of an inch, one of PDF a seventy-second.
            let page = svg2pdf::PageOptions {
                dpi: PIXELS_PER_INCH,
            };
            svg2pdf::to_pdf(&tree, svg2pdf::ConversionOptions::default(), page)
                .map_err(|error| FigureError::Pdf(error.to_string()))
        }
        Kind::Png { per_inch } => png(&tree, per_inch / PIXELS_PER_INCH),
    }
}

/// The first of the two fonts that is installed.
fn family(fonts: &fontdb::Database) -> Option<&'static str> {
    FONTS.iter().copied().find(|name| {
        fonts
            .faces()
            .any(|face| face.families.iter().any(|(family, _)| family == name))
    })
}

/// Options by which every text is set in one of [`FONTS`], whatever the picture asks for.
fn options(mut fonts: fontdb::Database) -> Result<usvg::Options<'static>, FigureError> {
    let family = family(&fonts).ok_or(FigureError::NoFont)?;
    let others: Vec<_> = fonts
        .faces()
        .filter(|face| face.families.iter().all(|(name, _)| name != family))
        .map(|face| face.id)
        .collect();
    others.into_iter().for_each(|id| fonts.remove_face(id));
    fonts.set_sans_serif_family(family);
    fonts.set_serif_family(family);
    Ok(usvg::Options {
        font_family: family.to_owned(),
        fontdb: Arc::new(fonts),
        ..usvg::Options::default()
    })
}

fn png(tree: &usvg::Tree, scale: f32) -> Result<Vec<u8>, FigureError> {
    let width = (tree.size().width() * scale).round();
    let height = (tree.size().height() * scale).round();
    let refused = FigureError::Size { width, height };
    if !(1.0..=SIDE_MAX).contains(&width) || !(1.0..=SIDE_MAX).contains(&height) {
        return Err(refused);
    }
    let mut pixels = tiny_skia::Pixmap::new(width as u32, height as u32).ok_or(refused)?;
    pixels.fill(tiny_skia::Color::WHITE);
    resvg::render(
        tree,
        tiny_skia::Transform::from_scale(scale, scale),
        &mut pixels.as_mut(),
    );
    pixels
        .encode_png()
        .map_err(|error| FigureError::Png(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 357.17 100\" width=\"84mm\" height=\"23.52mm\">\n\
        <style>text{font-family:system-ui,'Segoe UI',sans-serif}.label{font-size:13px;font-weight:600}\
        .line{fill:none;stroke-width:2}.line.blue{stroke:#0062a0;stroke-dasharray:7 4}</style>\n\
        <path class=\"line blue\" d=\"M10 50h300\"/><text class=\"label\" x=\"10\" y=\"30\">ε ≤ 7.05\
        <tspan class=\"note\" dx=\"6\">δ</tspan></text></svg>";

    /// The fonts of this system, or none.
    fn fonts() -> Option<fontdb::Database> {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        let there = fonts.faces().any(|face| {
            face.families
                .iter()
                .any(|(name, _)| FONTS.contains(&name.as_str()))
        });
        if !there {
            eprintln!("neither of {FONTS:?} is installed: nothing is drawn here");
        }
        there.then_some(fonts)
    }

    #[test]
    fn a_page_is_as_wide_as_the_picture_and_has_its_font_inside() {
        let Some(fonts) = fonts() else { return };
        let pdf = convert_with(PICTURE, Kind::Pdf, fonts).unwrap();
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.starts_with("%PDF-"));
        // 84 mm are 238.11 pt, which the page's box says to the hundredth.
        let media = text
            .split("/MediaBox [")
            .nth(1)
            .unwrap()
            .split(']')
            .next()
            .unwrap()
            .to_owned();
        let numbers: Vec<f64> = media
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        assert!(
            (numbers[2] - 238.11).abs() < 0.02 && numbers[..2] == [0.0, 0.0],
            "{media}"
        );
        assert!(
            text.contains("/FontFile2") || text.contains("/FontFile3"),
            "no font inside"
        );
    }

    #[test]
    fn pixels_follow_the_inch_and_something_is_drawn_on_white() {
        let Some(fonts) = fonts() else { return };
        let png = convert_with(PICTURE, Kind::Png { per_inch: 300.0 }, fonts.clone()).unwrap();
        let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!(pixels.width(), 992, "84 mm at 300 to an inch");
        let dark = |pixels: &tiny_skia::Pixmap| {
            pixels
                .pixels()
                .iter()
                .filter(|pixel| pixel.red() < 128)
                .count()
        };
        assert!(dark(&pixels) > 500 && pixels.pixels()[0].red() == 255);
        // Negative control: without its text the picture has less on it.
        let bare = &PICTURE.replace("ε ≤ 7.05", "").replace("δ", "");
        let bare = convert_with(bare, Kind::Png { per_inch: 300.0 }, fonts.clone()).unwrap();
        assert!(dark(&tiny_skia::Pixmap::decode_png(&bare).unwrap()) + 200 < dark(&pixels));
        let refused = convert_with(PICTURE, Kind::Png { per_inch: 1e5 }, fonts);
        assert!(matches!(refused, Err(FigureError::Size { .. })));
    }

    #[test]
    fn without_a_font_a_picture_is_refused_and_so_is_what_is_none() {
        let refused = convert_with(PICTURE, Kind::Pdf, fontdb::Database::new()).unwrap_err();
        assert!(refused.to_string().contains("fonts-dejavu-core"));
        let Some(fonts) = fonts() else { return };
        assert!(matches!(
            convert_with("no picture", Kind::Pdf, fonts),
            Err(FigureError::Svg(_))
        ));
    }
}

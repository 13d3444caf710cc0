//! What all drawings begin with.

use std::fmt::Write;

use sordino_report::palette;

/// Boxes, bands and arrows beside what the pictures of results use.
const SHAPES: &str = ".floor{fill:#f3f5f7}.box{fill:#ffffff;stroke:#9aa1a8;stroke-width:1}\
.private{fill:#fdf1ea;stroke:#c23b00}.arrow{fill:none;stroke:#5b636b;stroke-width:1.5}.head{fill:#5b636b}\
.word{font-size:13px}.lane{font-size:14px;font-weight:600}.divider{stroke:#e4e7ea;stroke-width:1}";

/// The same in the dark.
const SHAPES_DARK: &str = ".floor{fill:#20252a}.box{fill:#15181b;stroke:#6b727a}.private{fill:#33211a;stroke:#ff8a5c}\
.arrow{stroke:#a3abb3}.head{fill:#a3abb3}.divider{stroke:#333a40}";

/// A picture of this size around its contents; `title` is what a screen reader says.
pub fn picture(width: f64, height: f64, title: &str, contents: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{title}\">\n\
         <style>{}</style>\n",
        palette::style(contents, SHAPES, SHAPES_DARK)
    );
    let _ = writeln!(
        out,
        r#"<rect class="ground" width="{width}" height="{height}"/>"#
    );
    out.push_str(contents);
    out.push_str("</svg>\n");
    out
}

/// A box with round corners.
pub fn rectangle(out: &mut String, class: &str, [x, y, width, height]: [f64; 4]) {
    let _ = writeln!(
        out,
        r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="6"/>"#
    );
}

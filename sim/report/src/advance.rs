//! How wide a text is, so that a picture has room for it in every font.
//!
//! A picture is a text file: the program that shows it brings the font. DejaVu Sans is the widest
//! font in common use and the one that containers and continuous integration have; a text that fits
//! in it fits in the others too. Its advance widths were read once from the font files (DejaVu
//! 2.37, `hmtx`), in thousandths of the font size.

/// The two ranges of characters of [`REGULAR`] and [`BOLD`].
const FIRST: [std::ops::RangeInclusive<u32>; 2] = [0x20..=0x7e, 0xa0..=0xff];

/// Width of a character in neither table: that of the widest letters of most scripts.
const OTHER: u16 = 1000;

/// Advance widths of DejaVu Sans, starting at the first printable character.
#[rustfmt::skip]
const REGULAR: [u16; 191] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656,
    557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613,
    635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818,
    592, 592, 525, 636, 337, 636, 838, 318, 401, 636, 636, 636, 636, 337, 500, 500, 1000, 471, 612, 838, 361, 1000,
    500, 500, 838, 401, 401, 500, 636, 636, 318, 500, 401, 471, 612, 969, 969, 969, 531, 684, 684, 684, 684, 684,
    684, 974, 698, 632, 632, 632, 632, 295, 295, 295, 295, 775, 748, 787, 787, 787, 787, 787, 838, 787, 732, 732,
    732, 732, 611, 605, 630, 613, 613, 613, 613, 613, 613, 982, 550, 615, 615, 615, 615, 278, 278, 278, 278, 612,
    634, 612, 612, 612, 612, 612, 838, 612, 634, 634, 634, 634, 592, 635, 592,
];

/// Advance widths of DejaVu Sans Bold.
#[rustfmt::skip]
const BOLD: [u16; 191] = [
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696,
    696, 696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775,
    637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675,
    716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924,
    645, 652, 582, 712, 365, 712, 838, 348, 456, 696, 696, 636, 696, 365, 500, 500, 1000, 564, 646, 838, 415, 1000,
    500, 500, 838, 438, 438, 500, 736, 636, 380, 500, 438, 564, 646, 1035, 1035, 1035, 580, 774, 774, 774, 774, 774,
    774, 1085, 734, 683, 683, 683, 683, 372, 372, 372, 372, 838, 837, 850, 850, 850, 850, 850, 838, 850, 812, 812,
    812, 812, 724, 738, 719, 675, 675, 675, 675, 675, 675, 1048, 593, 678, 678, 678, 678, 343, 343, 343, 343, 687,
    712, 687, 687, 687, 687, 687, 838, 687, 712, 712, 712, 712, 652, 716, 652,
];

/// Advance widths of further characters: regular, bold.
#[rustfmt::skip]
const FURTHER: [(char, u16, u16); 73] = [
    ('Γ', 557, 637), ('Δ', 684, 774), ('Θ', 787, 850), ('Λ', 684, 774), ('Ξ', 632, 632), ('Π', 752, 837),
    ('Σ', 632, 683), ('Φ', 787, 850), ('Ψ', 787, 850), ('Ω', 764, 850), ('α', 659, 687), ('β', 638, 716),
    ('γ', 592, 681), ('δ', 612, 687), ('ε', 541, 557), ('ζ', 544, 591), ('η', 634, 712), ('θ', 612, 687),
    ('ι', 338, 390), ('κ', 589, 710), ('λ', 592, 633), ('μ', 636, 736), ('ν', 559, 681), ('ξ', 558, 591),
    ('π', 602, 791), ('ρ', 635, 716), ('σ', 634, 779), ('τ', 602, 638), ('υ', 579, 675), ('φ', 660, 782),
    ('χ', 578, 645), ('ψ', 660, 794), ('ω', 837, 869), ('–', 500, 500), ('—', 1000, 1000), ('‖', 500, 500),
    ('‘', 318, 380), ('’', 318, 380), ('“', 518, 657), ('”', 518, 657), ('…', 1000, 1000), ('‰', 1342, 1440),
    ('′', 227, 264), ('⁰', 401, 438), ('⁴', 401, 438), ('⁵', 401, 438), ('⁶', 401, 438), ('⁷', 401, 438),
    ('⁸', 401, 438), ('⁹', 401, 438), ('⁺', 528, 528), ('⁻', 528, 528), ('₀', 401, 438), ('₁', 401, 438),
    ('₂', 401, 438), ('₃', 401, 438), ('₄', 401, 438), ('₅', 401, 438), ('₆', 401, 438), ('₇', 401, 438),
    ('₈', 401, 438), ('₉', 401, 438), ('→', 838, 838), ('∈', 871, 896), ('∑', 674, 718), ('−', 838, 838),
    ('√', 637, 667), ('∞', 833, 833), ('∫', 521, 610), ('≈', 838, 838), ('≠', 838, 838), ('≤', 838, 838),
    ('≥', 838, 838),
];

/// Width of one line of text at a font size, both in pixels.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    text.chars()
        .map(|c| f64::from(advance(c, bold)))
        .sum::<f64>()
        * size
        / 1000.0
}

fn advance(c: char, bold: bool) -> u16 {
    let code = c as u32;
    let mut start = 0;
    for range in FIRST {
        if range.contains(&code) {
            let place = start + (code - range.start()) as usize;
            return if bold { BOLD[place] } else { REGULAR[place] };
        }
        start += range.count();
    }
    FURTHER.iter().find(|known| known.0 == c).map_or(
        OTHER,
        |(_, regular, strong)| if bold { *strong } else { *regular },
    )
}

/// The text, or its beginning with an ellipsis, at most `most` pixels wide.
pub fn fitted(text: &str, size: f64, bold: bool, most: f64) -> String {
    if width(text, size, bold) <= most {
        return text.to_owned();
    }
    let room = most - width("…", size, bold);
    let mut kept = String::new();
    let mut used = 0.0;
    for c in text.chars() {
        used += f64::from(advance(c, bold)) * size / 1000.0;
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

/// The text in at least one line of at most `most` pixels each, broken between words; a longer word
/// is cut.
pub fn wrapped(text: &str, size: f64, bold: bool, most: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let word = fitted(word, size, bold, most);
        let last = lines.last().map_or("", String::as_str);
        let joined = if last.is_empty() {
            word.clone()
        } else {
            format!("{last} {word}")
        };
        if width(&joined, size, bold) <= most {
            lines.pop();
            lines.push(joined);
        } else {
            lines.push(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // Units of 1/2048: A 1401, b 1300, ε 1108; bold A 1585, ≤ 1716.
        assert!(
            (width("A", 2048.0, false) - 1401.0).abs() < 1.1
                && (width("A", 2048.0, true) - 1585.0).abs() < 1.1
        );
        assert!(
            (width("bε", 2048.0, false) - 2408.0).abs() < 2.1
                && (width("≤", 2048.0, true) - 1716.0).abs() < 1.1
        );
        assert_eq!(
            (width("\u{20}ÿ", 1000.0, false), width("永", 10.0, false)),
            (910.0, 10.0)
        );
    }

    #[test]
    fn lines_are_no_wider_than_asked_for() {
        let text = "best so far against the best row, in a very-long-word-that-cannot-be-broken-anywhere, logarithmic";
        for most in [60.0, 120.0, 400.0, 2000.0] {
            let lines = wrapped(text, 12.0, false, most);
            assert!(
                lines.iter().all(|line| width(line, 12.0, false) <= most),
                "{lines:?}"
            );
            assert!(most < 2000.0 || lines == [text]);
        }
        assert_eq!(wrapped("", 12.0, false, 10.0), [""]);
        assert!(
            fitted("abcdef", 10.0, true, 30.0).ends_with('…')
                && fitted("abc", 10.0, true, 30.0) == "abc"
        );
    }
}

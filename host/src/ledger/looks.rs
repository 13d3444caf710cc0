//! Names that look like another name: the budget of a data set is found by its name, so a name that
//! people take for another would open a second budget.
//!
//! **Rule**: a name holds no invisible character, no character that is another form of a plain one,
//! and letters of one alphabet among Latin, Greek, Cyrillic, Armenian, Cherokee, Coptic and Lisu,
//! not all of which look Latin. Other scripts are not looked at. **Not found**: words that differ
//! by an accent or by l and 1; a person sees these.

use core::ops::RangeInclusive;

/// Characters that nobody sees, marks that are put on the letter before, and forms of letters,
/// digits and signs that Unicode's compatibility forms (NFKC) or its confusables take for others.
const OTHER_FORMS: &[RangeInclusive<u32>] = &[
    // Spacing accents, ª, soft hyphen, ², ³, ´, µ (Greek has its own), ¸, ¹, º, fractions.
    0xA8..=0xA8,
    0xAA..=0xAA,
    0xAD..=0xAD,
    0xAF..=0xAF,
    0xB2..=0xB5,
    0xB8..=0xBA,
    0xBC..=0xBE,
    0x131..=0x131,
    0x149..=0x149,
    0x17F..=0x17F,
    0x1C0..=0x1CC,
    0x1F1..=0x1F3,
    0x237..=0x237,
    // IPA, modifier letters, combining marks; the hidden joiner of the marks.
    0x250..=0x36F,
    0x37E..=0x37E,
    0x61C..=0x61C,
    0x115F..=0x1160,
    0x17B4..=0x17B5,
    0x180B..=0x180F,
    0x1AB0..=0x1AFF,
    0x1D00..=0x1DFF,
    // Hyphens, dashes, quotes, zero widths, directions; super- and subscripts; letter-like signs,
    // fractions, numerals.
    0x200B..=0x2027,
    0x202A..=0x202E,
    0x2030..=0x205E,
    0x2060..=0x209F,
    0x20D0..=0x218F,
    0x2212..=0x2212,
    0x2215..=0x2216,
    0x2236..=0x2236,
    0x2460..=0x24FF,
    0x3164..=0x3164,
    0xA730..=0xA731,
    0xAB30..=0xAB6F,
    0xFB00..=0xFB1C,
    0xFE00..=0xFE0F,
    0xFE20..=0xFE2F,
    0xFE50..=0xFE6F,
    0xFEFF..=0xFEFF,
    0xFF00..=0xFFFF,
    0x1D400..=0x1D7FF,
    0x1F100..=0x1F1FF,
    0xE0000..=0xE0FFF,
];

/// Alphabets that share shapes: which letters each has.
const ALPHABETS: [&[RangeInclusive<u32>]; 7] = [
    &[
        0x41..=0x5A,
        0x61..=0x7A,
        0xC0..=0x24F,
        0x1E00..=0x1EFF,
        0x2C60..=0x2C7F,
        0xA720..=0xA7FF,
    ],
    &[0x370..=0x3FF, 0x1F00..=0x1FFF],
    &[
        0x400..=0x52F,
        0x1C80..=0x1C8F,
        0x2DE0..=0x2DFF,
        0xA640..=0xA69F,
    ],
    &[0x530..=0x58F],
    &[0x13A0..=0x13FF, 0xAB70..=0xABBF],
    &[0x2C80..=0x2CFF],
    &[0xA4D0..=0xA4FF],
];

/// Letters of the other alphabets that look Latin: those of the Greek, Cyrillic and Armenian
/// alphabets, and all of Cherokee, Coptic and Lisu, most of which do.
const LATIN_LOOKS: &str = "\
    ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορτυχωϹϲϳϜ\
    АВЕЅІЈКМНОРСТУХҮавгеѕіјкмнорстухүԁһԛԝӏҽԚԜБЬьгпшѡ\
    ՏՍՕԼօսոցհյզՈՌ";

/// Whether one of the ranges has this character.
fn within(ranges: &[RangeInclusive<u32>], c: char) -> bool {
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}

/// The place of a letter's alphabet in the list.
fn alphabet_of(c: char) -> Option<usize> {
    ALPHABETS
        .iter()
        .position(|letters| c.is_alphabetic() && within(letters, c))
}

/// Whether a letter of another alphabet looks Latin.
fn looks_latin(c: char) -> bool {
    LATIN_LOOKS.contains(c) || alphabet_of(c).is_some_and(|alphabet| alphabet > 3)
}

/// The first character of a name that makes it look like another name; `None` if nothing does.
pub(crate) fn alike(name: &str) -> Option<char> {
    if let Some(other) = name.chars().find(|c| within(OTHER_FORMS, *c)) {
        return Some(other);
    }
    let letters: Vec<_> = name
        .chars()
        .filter_map(|c| Some((c, alphabet_of(c)?)))
        .collect();
    let (_, alphabet) = letters.first()?;
    let is_mixed = letters.iter().any(|(_, other)| other != alphabet);
    let is_disguised = is_mixed || letters.iter().all(|(c, _)| looks_latin(*c));
    // Where one of two alphabets is Latin, the letters of the other are the strangers.
    let stranger = letters.iter().find(|(_, alphabet)| *alphabet > 0);
    stranger.filter(|_| is_disguised).map(|(c, _)| *c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_another_are_refused_by_the_character() {
        for (name, character) in [
            // Cyrillic а in a Latin word, a word of Cyrillic letters that reads "сосо", Greek
            // omicron.
            ("p\u{430}tients", '\u{430}'),
            // The first letter is the stranger.
            ("\u{455}tudies", '\u{455}'),
            ("\u{441}\u{43e}\u{441}\u{43e}", '\u{441}'),
            ("ward \u{3bf}ne", '\u{3bf}'),
            // Zero width space and joiner, soft hyphen, the sign that turns the direction, an
            // invisible tag.
            ("pat\u{200b}ients", '\u{200b}'),
            ("pat\u{200d}ients", '\u{200d}'),
            ("pat\u{ad}ients", '\u{ad}'),
            ("pat\u{202e}ients", '\u{202e}'),
            ("patients\u{e0041}", '\u{e0041}'),
            // Full width, mathematical bold, a ligature, an accent put on later, another hyphen,
            // another digit.
            ("\u{ff50}atients", '\u{ff50}'),
            ("\u{1d429}atients", '\u{1d429}'),
            ("\u{fb01}les", '\u{fb01}'),
            ("re\u{301}sultats", '\u{301}'),
            ("ward\u{2011}1", '\u{2011}'),
            ("ward \u{b2}", '\u{b2}'),
            // Micro beside mu, a quarter, spacing accents.
            ("\u{b5}", '\u{b5}'),
            ("a\u{bc}", '\u{bc}'),
            ("a\u{bd}", '\u{bd}'),
            ("a\u{be}", '\u{be}'),
            ("a\u{b4}", '\u{b4}'),
            ("a\u{a8}", '\u{a8}'),
            ("a\u{af}", '\u{af}'),
            ("a\u{b8}", '\u{b8}'),
        ] {
            assert_eq!(alike(name), Some(character), "{name:?}");
        }
    }

    #[test]
    fn names_of_one_alphabet_are_left_alone() {
        for name in [
            "patients 2026/07 (ward-1)",
            "résultats",
            "Größe",
            "пациенты",
            "ασθενείς",
            "患者データ",
            "환자",
            "مرضى",
            "",
            "1",
        ] {
            assert_eq!(alike(name), None, "{name}");
        }
    }
}

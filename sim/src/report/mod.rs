//! What an execution leaves behind for people and programs.
//!
//! | module | what it makes |
//! |---|---|
//! | [`table`] | the text on the terminal |
//! | [`json`] | the summary of a federation, for programs |
//! | [`figure`] | regret curves as SVG |
//! | [`chart`] | a chart before it is drawn |
//! | [`svg`] | axes, curves, bands, labels that do not overlap |
//! | [`layout`], [`advance`] | room for every text of a chart; how wide a text is |
//! | [`charts`] | privacy loss, spread over agents, clipping, utility against privacy |
//! | [`html`] | one page with all of it |
//! | [`read`] | a run folder, read back and checked |
//! | [`curves`] | `rounds.csv` of any trust model |
//! | [`parts`] | parts of pages that do not know whose results they show |
//! | [`page`] | the report and the README of a run folder of the other trust models |
//! | [`federation`] | what an execution of a federation leaves |
//! | [`folder`] | the run folder: filled by what an execution left, the summary last |

pub mod advance;
pub mod chart;
pub mod charts;
pub mod curves;
pub mod federation;
pub mod figure;
pub mod folder;
pub mod html;
pub mod json;
pub mod layout;
pub mod page;
pub mod parts;
pub mod read;
pub mod svg;
pub mod table;

/// The rounds at which regret is told: 2, 10 and the last.
pub fn told_rounds(rounds: u32) -> Vec<u32> {
    let mut told: Vec<u32> = [2, 10].into_iter().filter(|round| *round < rounds).collect();
    told.push(rounds);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds() {
        assert_eq!(told_rounds(40), [2, 10, 40]);
        assert_eq!(told_rounds(6), [2, 6]);
        assert_eq!(told_rounds(2), [2]);
    }
}

//! # sordino-report
//!
//! What an execution of [`sordino-sim`] leaves behind for people and programs.
//!
//! | module | what it makes |
//! |---|---|
//! | [`table`] | how tables look on the terminal |
//! | [`grid`] | tables for a terminal, Markdown, LaTeX |
//! | [`observations`] | every observation, every agent's best |
//! | [`rows`] | the one writer of CSV |
//! | [`columns`] | head, meaning and cell of a column in one place |
//! | [`json`] | the summary of a federation, for programs |
//! | [`figure`] | regret curves as SVG |
//! | [`chart`] | a chart before it is drawn |
//! | [`svg`], `names` | axes, curves, bands, labels that do not overlap |
//! | [`palette`] | colours in light and dark, and the style sheets made of them |
//! | [`sheet`] | a picture as a file of a given width, for papers |
//! | [`layout`], [`advance`] | room for every text of a chart; how wide a text is |
//! | [`charts`] | privacy loss, spread over agents, clipping, utility against privacy |
//! | [`html`] | a page and its sections |
//! | [`read`] | a run folder, read back and checked |
//! | [`curves`] | `rounds.csv` of any trust model |
//! | [`results`] | what all trust models have in common in a run folder: its summary, its curves, their pictures |
//! | `utility` | utility against privacy, from the same folder |
//! | [`differences`] | paired differences between every two entries |
//! | [`tables`] | summary and paired differences for a terminal, Markdown, LaTeX, programs |
//! | [`parts`] | parts of pages that work for any trust model |
//! | [`view`] | table, picture and page of a run, made of its files |
//! | [`page`], [`readme`] | table, page and README of a run folder, whatever its trust model |
//! | [`federation`] | what an execution of a federation leaves: its files, and its view |
//! | [`folder`] | the run folder: filled by what an execution left, the summary last |
//! | [`paired`] | tests of paired differences |
//!
//! [`sordino-sim`]: https://docs.rs/sordino-sim

#![forbid(unsafe_code)]

pub mod advance;
pub mod chart;
pub mod charts;
pub mod columns;
pub mod curves;
pub mod differences;
pub mod events;
pub mod federation;
pub mod figure;
pub mod folder;
pub mod grid;
pub mod html;
pub mod json;
pub mod layout;
mod names;
pub mod observations;
pub mod page;
pub mod paired;
pub mod palette;
pub mod parts;
pub mod read;
pub mod readme;
pub mod results;
pub mod rows;
pub mod sheet;
pub mod svg;
pub mod table;
pub mod tables;
mod utility;
pub mod view;

/// The rounds for which regret is stated: 2, 10 and the last.
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

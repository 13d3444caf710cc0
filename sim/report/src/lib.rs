//! # sordino-report
//!
//! What an execution of [`sordino-sim`] leaves behind for people and programs.
//!
//! | module | what it makes |
//! |---|---|
//! | [`advance`] | how wide a text is |
//! | [`chart`] | a chart before it is drawn |
//! | [`events`] | what private methods release, in words: two methods with the same ε may pay for quite different events |
//! | [`folder`] | the run folder: filled by what an execution left, the summary last |
//! | [`paired`] | tests of paired differences |
//! | `names` | places for names beside dots |
//! | [`table`] | how tables look on the terminal, and cells of what may be missing |
//! | [`grid`] | tables for a terminal, Markdown, LaTeX |
//! | [`palette`] | colours in light and dark, and the style sheets made of them |
//! | [`read`] | the run folder of a federation, read back and checked; files of any run folder |
//! | [`readme`] | README of a run folder |
//! | [`rows`] | tables for programs, as CSV |
//! | [`columns`] | head, meaning and cell of a column in one place |
//! | [`curves`] | `rounds.csv` of any trust model |
//! | [`differences`] | paired differences between every two entries |
//! | [`differing`] | whether two files say the same of the methods of a run |
//! | `layout` | room for every text of a chart |
//! | [`observations`] | every observation, every agent's best |
//! | `json` | the summary of a federation, for programs |
//! | [`svg`] | axes, curves, bands, labels that do not overlap |
//! | [`figure`] | pictures as SVG: regret curves, and how any panels are put together |
//! | [`html`] | a page and its sections |
//! | [`parts`] | parts of pages that work for any trust model |
//! | [`sheet`] | a picture as a file of a given width, for papers |
//! | `charts` | privacy loss, spread over agents, clipping, utility against privacy |
//! | [`results`] | what all trust models have in common in a run folder: its summary, its curves, their pictures |
//! | [`page`] | table and page of a run folder, whatever its trust model |
//! | [`tables`] | summary and paired differences for a terminal, Markdown, LaTeX, programs |
//! | `utility` | utility against privacy, as a picture for papers |
//! | [`view`] | table, picture and page of a run, made of its files |
//! | [`federation`] | what an execution of a federation leaves: its files, and its view |
//!
//! [`sordino-sim`]: https://docs.rs/sordino-sim

#![forbid(unsafe_code)]

pub mod advance;
pub mod chart;
mod charts;
pub mod columns;
pub mod curves;
pub mod differences;
pub mod differing;
pub mod events;
pub mod federation;
pub mod figure;
pub mod folder;
pub mod grid;
pub mod html;
mod json;
mod layout;
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

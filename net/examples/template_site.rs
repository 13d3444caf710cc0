//! A campaign for the template of devices: `template_site module` writes what its site is compiled
//! with, `template_site` what the site must end with, by the functions of hosts over the same
//! made-up releases (`cargo xtask template`).

use std::io::Write as _;

use sordino_core::digest::Frame;
use sordino_core::federated::exchange::{Announced, Protocol};
use sordino_core::federated::prior::{
    Opening, OwnPoints, Site, opening_len, own_points_len, own_points_scratch_len,
};
use sordino_core::prior::{
    Newcomer, NewcomerSettings, PriorNumbers, PublicPrior, attach_len, numbers_len, storage_len,
};
use sordino_engine::federated::export::Language;
use sordino_host::campaign::Campaign;
use sordino_host::prior::publish::Publication;
use sordino_host::space::{Goal, SpaceFile};
use sordino_net::terms::Terms;

#[path = "../../templates/embassy-agent/src/board/made_up.rs"]
mod made_up;

const SPACE: &str = "[parameters.x]\nlow = 0\nhigh = 10\n[parameters.y]\nlow = 0\nhigh = 1\n";
/// As `config.rs` of the template says.
const AGENT: usize = 3;
const QUESTIONS: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let publication = Publication {
        space: SpaceFile::parse("s", SPACE)?.space,
        goal: Goal::Minimize,
        value: None,
        epsilon: 8.0,
        delta: 1e-3,
        releases: 2,
        features: 16,
        dataset: "template".to_owned(),
        by: None,
        note: None,
        published: None,
    };
    let campaign = Campaign::new(publication, 30)?;
    let announced = Announced {
        epsilon_max: Some(8.0),
        delta: 1e-3,
        deadline_ms: 60_000,
        may_close_early: true,
    };
    let terms = Terms::of_campaign(&campaign, 0x5eed_0000_0000_0002, announced)?;
    let said = match std::env::args().nth(1).as_deref() {
        Some("module") => terms.constants(
            "A campaign that nobody serves: that of the template",
            Language::Rust,
        )?,
        _ => end(&campaign, &terms)?,
    };
    Ok(std::io::stdout().write_all(said.as_bytes())?)
}

/// What a device of the template prints.
fn end(campaign: &Campaign, terms: &Terms) -> Result<String, Box<dyn std::error::Error>> {
    let Protocol::Campaign(protocol) = &terms.agreement.protocol else {
        return Err("no campaign".into());
    };
    let first = terms.agreement.protocol.initial_points() as usize;
    let points: Vec<f32> = campaign.coordinates().iter().map(|x| *x as f32).collect();
    let landmarks = campaign.context().landmarks();
    let dim = terms.agreement.dim as usize;
    let value = |place: usize| {
        1.0 - points[place * dim..(place + 1) * dim]
            .iter()
            .product::<f32>()
    };
    let places: Vec<usize> = (0..first)
        .map(|number| (AGENT * first + number) % (points.len() / dim))
        .collect();

    let site = Site::new(protocol, landmarks, dim)?;
    let m = site.features();
    let own: Vec<f64> = places
        .iter()
        .flat_map(|place| &points[place * dim..(place + 1) * dim])
        .map(|x| (*x).into())
        .collect();
    let values: Vec<f64> = places
        .iter()
        .map(|place| f64::from(-value(*place)))
        .collect();
    let mut storage = vec![0.0; own_points_len(first, m)];
    let mut scratch = vec![0.0; own_points_scratch_len(first, m)];
    let own = OwnPoints::compute(site, &own, &values, &mut storage, &mut scratch)?;
    let mut told = Frame::leaf();
    for release in 0..protocol.releases() {
        let mut opening = vec![0.0; opening_len(m)];
        let mut upload = vec![0.0; m + 1];
        made_up::opening(release, &mut opening);
        own.contribution(&Opening::read(&opening)?, &mut scratch, &mut upload)?;
        told.scalars(&upload);
    }

    let mut numbers = vec![0f32; numbers_len(m, dim)];
    made_up::file(landmarks, m, &mut numbers);
    let mut factor = vec![0f32; attach_len(m)];
    let prior = PublicPrior::attach(PriorNumbers::read(dim, &numbers)?, &mut factor)?;
    let capacity = first + QUESTIONS;
    let settings = NewcomerSettings::default();
    let storage = vec![0f32; storage_len(m, capacity, 1)];
    let mut search = Newcomer::new(&points, dim, Some(&prior), settings, capacity, storage)?;
    for number in 0..capacity {
        let place = places
            .get(number)
            .copied()
            .unwrap_or_else(|| search.suggest());
        search.observe(place, -value(place))?;
        told.u32(place as u32);
        told.scalars(&[value(place)]);
    }
    Ok(format!("site: {}\nagent: {capacity}\n", told.end()))
}

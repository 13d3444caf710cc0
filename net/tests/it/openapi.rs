//! What other programs are told of the door is what the door does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// Statuses of all requests alike, which the page says once.
const ALWAYS: [u16; 3] = [408, 413, 503];

fn page() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The requests of the page: method and path, with the statuses of each.
fn described(page: &Value) -> BTreeMap<(String, String), BTreeSet<u16>> {
    let mut all = BTreeMap::new();
    for (path, item) in page["paths"].as_object().unwrap() {
        for (method, operation) in item
            .as_object()
            .unwrap()
            .iter()
            .filter(|(key, _)| *key != "parameters")
        {
            let statuses = operation["responses"]
                .as_object()
                .unwrap()
                .keys()
                .map(|status| status.parse().unwrap());
            all.insert((method.to_uppercase(), path.clone()), statuses.collect());
        }
    }
    all
}

/// The numbers of three digits that begin with 2 to 5, which are statuses in the door's own table.
fn statuses(cell: &str) -> BTreeSet<u16> {
    let words = cell.split(|character: char| !character.is_alphanumeric());
    words
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .filter(|n| (200..600).contains(n))
        .collect()
}

#[test]
fn every_path_of_the_door_is_described_and_no_other() {
    let source = include_str!("../../src/door.rs");
    let routes = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".route(\""));
    let routed: BTreeSet<(String, String)> = routes
        .map(|route| {
            let (path, rest) = route.split_once('"').unwrap();
            let method = rest
                .trim_start_matches([',', ' '])
                .split('(')
                .next()
                .unwrap();
            (method.to_uppercase(), path.to_owned())
        })
        .collect();
    assert!(routed.len() > 4, "{routed:?}");
    assert_eq!(
        described(&page()).into_keys().collect::<BTreeSet<_>>(),
        routed
    );
}

#[test]
fn the_statuses_are_those_of_the_doors_table() {
    let rows: Vec<&str> = include_str!("../../src/door.rs")
        .lines()
        .filter(|line| line.starts_with("//! | `"))
        .collect();
    let described = described(&page());
    assert_eq!(rows.len(), described.len());
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (method, path) = cells[1].split('`').nth(1).unwrap().split_once(' ').unwrap();
        let words = path.matches('/').count();
        let place = path.split('/').nth(3).unwrap();
        let told = described.iter().find(|((known, at), _)| {
            known == method
                && at.matches('/').count() == words
                && at.split('/').nth(3) == Some(place)
        });
        let mut told = told
            .unwrap_or_else(|| panic!("{method} {path} is not described"))
            .1
            .clone();
        // Another run: said once for all of them.
        told.remove(&404);
        let mut own = statuses(cells[2]);
        own.remove(&404);
        assert_eq!(told, own, "{method} {path}");
    }
    let all = page()["info"]["description"].as_str().unwrap().to_owned();
    assert!(
        ALWAYS
            .iter()
            .all(|status| all.contains(&status.to_string())),
        "{all}"
    );
}

#[test]
fn every_reference_of_the_page_leads_somewhere() {
    fn look(page: &Value, value: &Value, found: &mut usize) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(to)) = map.get("$ref") {
                    assert!(
                        page.pointer(to.strip_prefix('#').unwrap()).is_some(),
                        "{to}"
                    );
                    *found += 1;
                }
                map.values().for_each(|value| look(page, value, found));
            }
            Value::Array(all) => all.iter().for_each(|value| look(page, value, found)),
            _ => {}
        }
    }
    let page = page();
    let mut found = 0;
    look(&page, &page, &mut found);
    assert!(found > 5, "{found}");
}

//! Searches with a file over a list of candidates.

use super::*;

fn point(depth: f64, rate: f64) -> Value {
    json!({"depth": depth, "rate": rate})
}

/// A search over a list, which the file guides.
fn among(file: &PriorFile, list: &[Value]) -> Search {
    let head = Head::new(file.label.space.clone(), Goal::Minimize, 1);
    let points = list
        .iter()
        .map(|point| head.space.point(&head.space.numbers(point).unwrap()));
    let points = points.collect();
    Search::guided(head.among(Some(points)), file).unwrap()
}

#[test]
fn where_all_was_asked_the_best_that_did_not_fail_is_asked_again() {
    let file = simulated(&publication(2.0), &studies(40, 12, true)).unwrap();
    let list = [
        point(3.0, 0.01),
        point(4.0, 0.02),
        point(6.0, 0.1),
        point(2.0, 0.004),
    ];
    let mut search = among(&file, &list);
    let mut values = Vec::new();
    for _ in &list {
        let asked = Value::from(search.ask(&json!({})).unwrap());
        let numbers = file.label.space.numbers(&asked).unwrap();
        if numbers == [3.0, 0.01] {
            search.fail(&asked).unwrap();
        } else {
            let value = loss(&numbers, 0.0);
            search.tell(&asked, value).unwrap();
            values.push((value, numbers));
        }
    }
    assert_eq!(values.len(), 3, "each was asked once");
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let again = Value::from(search.ask(&json!({})).unwrap());
    assert_eq!(file.label.space.numbers(&again).unwrap(), values[0].1);
    // The file still counts, so that this is the question of a search that it guides.
    let guide = Guide::new(&file, &file.label.space, Goal::Minimize).unwrap();
    let told: Vec<_> = values.iter().map(|(y, at)| (&at[..], -y)).collect();
    assert!(guide.is_borne_out(&told).unwrap());
}

/// The list may be as long as one of a search without a file, also when values of other points are
/// known, and some of them twice.
#[test]
fn the_longest_list_is_searched_also_with_values_of_other_points() {
    let file = simulated(&publication(2.0), &studies(40, 12, true)).unwrap();
    let list: Vec<Value> = (0..10_000)
        .map(|i| {
            let rate = 10f64.powf(-4.0 + 4.0 * f64::from(i / 8) / 1250.0);
            point(f64::from(1 + i % 8), rate)
        })
        .collect();
    let mut search = among(&file, &list);
    let other = point(3.0, 0.0123);
    search.tell(&other, loss(&[3.0, 0.0123], 0.0)).unwrap();
    for _ in 0..2 {
        let asked = Value::from(search.ask(&json!({})).unwrap());
        let numbers = file.label.space.numbers(&asked).unwrap();
        let value = loss(&numbers, 0.0);
        assert!(value < 1.0, "the file says where: {numbers:?}");
        search.tell(&asked, value).unwrap();
        search.tell(&asked, value).unwrap();
    }
}

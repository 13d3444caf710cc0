//! Tables for programs, as CSV. Only measurements, which are written line by line, have a writer of
//! their own: `world::rows` of `sordino-experiment`.

/// A table with these columns.
///
/// **Panics**: where a row is not as long as the head.
pub fn csv<'h, R: IntoIterator<Item = String>>(
    head: impl IntoIterator<Item = &'h str>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record(head).and_then(|()| {
        rows.into_iter()
            .try_for_each(|row| writer.write_record(row.into_iter().collect::<Vec<String>>()))
    });
    written.expect("rows are as long as their head");
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("fields are text")
}

/// A number to its last bit; empty where there is none.
pub fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |x| format!("{x:?}"))
}

/// A number in the shorter of two notations, `0.01` and `1e-4`; empty where there is none.
pub fn short(value: Option<f64>) -> String {
    let plain = number(value);
    let power = value.map_or(String::new(), |x| format!("{x:e}"));
    if power.len() < plain.len() {
        power
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be_and_rows_have_one_length() {
        let rows = [
            ["a,\"b\"".to_owned(), number(Some(0.1))],
            ["c\nd".to_owned(), number(None)],
        ];
        assert_eq!(
            csv(["x", "y,z"], rows),
            "x,\"y,z\"\n\"a,\"\"b\"\"\",0.1\n\"c\nd\",\n"
        );
        let numbers = [0.012345, 0.00012345, 1e-7, 0.0, 1.5, -2e-4].map(|x| short(Some(x)));
        assert_eq!(
            numbers,
            ["0.012345", "1.2345e-4", "1e-7", "0.0", "1.5", "-2e-4"]
        );
        assert_eq!(short(None), "");
    }

    #[test]
    #[should_panic(expected = "as long as their head")]
    fn a_row_of_another_length_is_no_row() {
        csv(["x"], [["1".to_owned(), "2".to_owned()]]);
    }
}

//! The table of studies: a line for each evaluation, with the study it belongs to.

use std::path::Path;

use serde_json::{Map, Value};
use sordino_experiment::files::read_bounded;
use sordino_experiment::text::Lines;
use sordino_host::prior::publish::Study;
use sordino_host::space::{Parameter, Space, Values};

use sordino_experiment::command_line::error::CliError;

/// Tables are read up to this length.
const BYTES_MAX: u64 = 256 << 20;
/// Columns beside the parameters.
const COLUMNS: [&str; 2] = ["study", "value"];

/// Reads the studies of a CSV file with the columns `study`, one for each parameter, and `value`;
/// studies in the order in which they are met.
///
/// **Errors**: one line with file, line, column, what was found and what is admissible; a parameter
/// with the name of another column.
pub fn read(path: &Path, space: &Space) -> Result<Vec<Study>, CliError> {
    let parameters = space.parameters();
    if let Some(taken) = parameters.iter().find(|p| COLUMNS.contains(&&*p.name)) {
        let what = format!(
            ": a parameter is named `{}`, as a column beside the parameters is; admissible: another name",
            taken.name
        );
        return Err(refused(path, &what));
    }
    let bytes =
        read_bounded(path, BYTES_MAX).map_err(|error| refused(path, &format!(": {error}")))?;
    check_text(path, &bytes)?;
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(&bytes[..]);
    let header = reader
        .headers()
        .map_err(|error| refused(path, &format!(": {error}")))?
        .clone();
    let names: Vec<&str> = space
        .parameters()
        .iter()
        .map(|parameter| &*parameter.name)
        .chain(COLUMNS)
        .collect();
    if let Some(name) = header.iter().find(|name| !names.contains(name)) {
        return Err(refused(path, &unknown(&header, name, &names)));
    }
    let columns: Vec<&str> = header.iter().collect();
    if let Some((_, twice)) =
        (columns.iter().enumerate()).find(|(i, name)| columns[..*i].contains(name))
    {
        let what = format!(":1: column `{twice}` is there twice; admissible: each once");
        return Err(refused(path, &what));
    }
    let of_study = place(path, &header, &names, "study")?;
    let of_value = place(path, &header, &names, "value")?;
    let of_parameters = space
        .parameters()
        .iter()
        .map(|parameter| place(path, &header, &names, &parameter.name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut studies: Vec<Study> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| refused(path, &malformed(&bytes, &error)))?;
        let begin = record.position().map_or(0, csv::Position::byte);
        let field = |column: usize| record.get(column).unwrap_or_default();
        // As spreadsheets write rows that were emptied.
        if record.iter().all(str::is_empty) {
            continue;
        }
        let mut point = Map::new();
        for (parameter, column) in space.parameters().iter().zip(&of_parameters) {
            point.insert(parameter.name.clone(), value_of(parameter, field(*column)));
        }
        let numbers = space.numbers(&Value::Object(point)).map_err(|error| {
            let pairs = space.parameters().iter().zip(&of_parameters);
            let hint = pairs.filter_map(|(parameter, column)| narrowed(parameter, field(*column)));
            let hint: String = hint.take(1).collect();
            let line = Lines::new(&bytes).of(begin);
            refused(path, &format!(":{line}: {error}{hint}"))
        })?;
        let value = measured(field(of_value)).ok_or_else(|| {
            let found = field(of_value);
            let without = without(&bytes, of_value);
            let line = Lines::new(&bytes).of(begin);
            let what = format!(
                ":{line}: `value` is {found:?}; admissible: a finite number; leave the rows of failed evaluations out ({without} without a \
                 value)"
            );
            refused(path, &what)
        })?;
        let name = field(of_study);
        if name.is_empty() {
            let line = Lines::new(&bytes).of(begin);
            let what = format!(":{line}: `study` is empty; admissible: the name of a study");
            return Err(refused(path, &what));
        }
        let place = *places.entry(name.to_owned()).or_insert_with(|| {
            studies.push(Study {
                name: name.to_owned(),
                values: Vec::new(),
            });
            studies.len() - 1
        });
        studies[place].values.push((numbers, value));
    }
    Ok(studies)
}

/// What is wrong with a row that is none of the table.
fn malformed(bytes: &[u8], error: &csv::Error) -> String {
    let csv::ErrorKind::UnequalLengths {
        pos: Some(place),
        expected_len,
        len,
    } = error.kind()
    else {
        return format!(": {error}");
    };
    let line = Lines::new(bytes).of(place.byte());
    let hint = if len > expected_len {
        "; a text with a comma stands in quotes, and decimals follow a point"
    } else {
        ""
    };
    format!(":{line}: {len} fields; admissible: {expected_len}, as in the first line{hint}")
}

/// The error of a table: its path, then what is wrong.
fn refused(path: &Path, what: &str) -> CliError {
    let shown = path.display();
    CliError::input(format!("{shown}{what}; nothing was published"))
}

/// Refuses what is no table in UTF-8.
fn check_text(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if bytes.is_empty() {
        return Err(refused(
            path,
            ": empty; admissible: a line of columns, and one for each evaluation",
        ));
    }
    let Err(error) = std::str::from_utf8(bytes) else {
        return Ok(());
    };
    let line = Lines::new(bytes).of(error.valid_up_to() as u64);
    let what = format!(":{line}: not UTF-8; save the table as CSV UTF-8");
    Err(refused(path, &what))
}

/// What a column of another name may be: those that every table has, under a name of its own.
fn missing(header: &csv::StringRecord) -> String {
    let columns = [("study", "who tried it"), ("value", "what came out")];
    let absent = columns
        .iter()
        .filter(|(name, _)| !header.iter().any(|held| held == *name));
    let told: Vec<String> = absent
        .map(|(name, holds)| format!("`{name}`, {holds}"))
        .collect();
    match told.is_empty() {
        true => String::new(),
        false => format!(", and there is no column {}", told.join(", nor ")),
    }
}

/// What is wrong with a column, and what may be meant.
fn unknown(header: &csv::StringRecord, name: &str, names: &[&str]) -> String {
    let admissible = names.join(", ");
    let separators = [(';', "semicolons"), ('\t', "tabs")];
    if let Some((_, of)) = separators.iter().find(|(sign, _)| name.contains(*sign))
        && header.len() == 1
    {
        return format!(
            ":1: separated by {of}; admissible: commas, between the columns {admissible}, and points within \
             numbers"
        );
    }
    let absent = names
        .iter()
        .filter(|known| !header.iter().any(|held| held == **known));
    let absent: Vec<&str> = absent.copied().collect();
    let hint = match name {
        "evaluation" => " (as in the history.csv of `sordino optimize`: add a column `study`, drop `evaluation` and `best`)".into(),
        "" => " (an index of pandas: write the table with index=False)".into(),
        _ => Some(sordino_host::text::did_you_mean(name, &absent))
            .filter(|hint| !hint.is_empty())
            .unwrap_or_else(|| missing(header)),
    };
    format!(":1: unknown column `{name}`{hint}; admissible: {admissible}")
}

/// The value of an evaluation, if it has one.
fn measured(field: &str) -> Option<f64> {
    field.parse().ok().filter(|value: &f64| value.is_finite())
}

/// How many rows have no value, in words.
fn without(bytes: &[u8], column: usize) -> String {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .from_reader(bytes);
    let rows = reader.records().flatten();
    let rows = rows.filter(|row| !row.iter().all(str::is_empty));
    let count = rows
        .filter(|row| measured(row.get(column).unwrap_or_default()).is_none())
        .count();
    format!("{count} row{}", if count == 1 { "" } else { "s" })
}

/// Says that a number is a bound of its parameter in single precision, and no longer inside.
fn narrowed(parameter: &Parameter, field: &str) -> Option<String> {
    let Values::Number { low, high, .. } = parameter.values else {
        return None;
    };
    let x: f64 = field.parse().ok()?;
    let bound = if x < low { low } else { high };
    (!(low..=high).contains(&x) && x as f32 == bound as f32).then(|| {
        format!("; this is the bound {bound} in single precision: write it in full, as {bound}")
    })
}

/// Place of a column, one of the admissible `names`.
fn place(
    path: &Path,
    header: &csv::StringRecord,
    names: &[&str],
    name: &str,
) -> Result<usize, CliError> {
    let found = header.iter().position(|column| column == name);
    found.ok_or_else(|| {
        let admissible = names.join(", ");
        let what = format!(":1: no column `{name}`; admissible: {admissible}");
        refused(path, &what)
    })
}

/// The value that a field says: a number, or the choice that is written so.
fn value_of(parameter: &Parameter, field: &str) -> Value {
    let value = match &parameter.values {
        Values::Number { .. } => field.parse::<f64>().ok().map(Value::from),
        Values::Choices { choices, .. } => {
            let written = choices.iter().find(|choice| is_written(choice, field));
            // pandas writes True, and spreadsheets TRUE.
            let truth = field.to_ascii_lowercase();
            let truth =
                (choices.iter()).find(|choice| choice.is_boolean() && is_written(choice, &truth));
            written.or(truth).cloned()
        }
    };
    value.unwrap_or_else(|| Value::from(field))
}

/// Whether a field says this choice.
fn is_written(choice: &Value, field: &str) -> bool {
    match choice {
        Value::String(word) => word == field,
        Value::Bool(truth) => field.parse() == Ok(*truth),
        other => other.as_f64().is_some_and(|x| field.parse() == Ok(x)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_host::space::SpaceFile;

    const SPACE: &str =
        "[parameters.rate]\nlow = 0\nhigh = 1\n[parameters.kind]\nchoices = [\"a\", 2, true]";

    fn of(text: &str) -> Result<Vec<Study>, String> {
        let path = std::env::temp_dir().join(format!(
            "sordino-studies-{}-{:p}.csv",
            std::process::id(),
            &text
        ));
        std::fs::write(&path, text).unwrap();
        let read = read(&path, &SpaceFile::parse("s", SPACE).unwrap().space);
        std::fs::remove_file(&path).unwrap();
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn studies_are_read_in_any_order_of_lines_and_columns() {
        // Booleans as pandas and spreadsheets write them; a row of commas alone is blank.
        for truth in ["True", "TRUE"] {
            let table = format!("value,study,rate,kind\n,,,\n3,x,1,{truth}\n");
            assert_eq!(of(&table).unwrap()[0].values, [(vec![2.0, 1.0], 3.0)]);
        }
        assert!(
            of("value,study,rate,kind\n3,x,1,A\n").is_err(),
            "no boolean"
        );
        let studies = of("value,study,rate,kind\n1,x,0.5,a\n2, y ,0.25,2\n3,x,1,true\n").unwrap();
        assert_eq!(studies.len(), 2);
        assert_eq!(
            (studies[0].name.as_str(), studies[1].name.as_str()),
            ("x", "y")
        );
        // Parameters stand in the order of their names: kind, rate.
        assert_eq!(
            studies[0].values,
            [(vec![0.0, 0.5], 1.0), (vec![2.0, 1.0], 3.0)]
        );
        assert_eq!(studies[1].values, [(vec![1.0, 0.25], 2.0)]);
    }

    #[test]
    fn a_parameter_has_no_name_of_another_column() {
        let space = "[parameters.study]\nlow = 0\nhigh = 1\n";
        let space = SpaceFile::parse("s", space).unwrap().space;
        let path = std::env::temp_dir().join(format!("sordino-study-{}.csv", std::process::id()));
        std::fs::write(&path, "study,value\n0.5,1\n").unwrap();
        let said = read(&path, &space).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(said.contains("a parameter is named `study`"), "{said}");
    }

    #[test]
    fn refusals_name_line_column_and_what_is_admissible() {
        for (text, said) in [
            (
                "study,rate,kind,val\n",
                ":1: unknown column `val`; did you mean `value`?",
            ),
            ("study,rate,value\n", ":1: no column `kind`"),
            (
                "site,rate,kind,loss\n",
                ":1: unknown column `site`, and there is no column `study`, who tried it, nor `value`, what came out; admissible",
            ),
            (
                ",study,rate,kind,value\n",
                ":1: unknown column `` (an index of pandas: write the table with index=False); admissible",
            ),
            (
                "study,rate,kind,value\nx,2,a,1\n",
                ":2: `rate` is 2.0; admissible: a number from 0 to 1",
            ),
            (
                "study,rate,kind,value\nx,1,a,1\nx,1,b,1\n",
                ":3: `kind` is \"b\"; admissible: one of \"a\", 2, true",
            ),
            (
                "study,rate,kind,value\nx,1,a,nan\n",
                ":2: `value` is \"nan\"; admissible: a finite number",
            ),
            (
                "study,rate,kind,value\nx,1,a,1\n,,,\nx,1,a,failed\nx,1,a,NA\nx,1,a,\n",
                ":4: `value` is \"failed\"; admissible: a finite number; leave the rows of failed evaluations out (3 rows without a value)",
            ),
            ("", ": empty; admissible: "),
            (
                "study;rate;kind;value\n",
                ":1: separated by semicolons; admissible: commas",
            ),
            (
                "study\trate\tkind\tvalue\n",
                ":1: separated by tabs; admissible: commas",
            ),
            (
                "evaluation,rate,kind,value,best\n",
                "unknown column `evaluation` (as in the history.csv of `sordino optimize`: add a column `study`, drop `evaluation` and `best`)",
            ),
            (
                "study,rate,kind,value\nx,1.0000001,a,1\n",
                "admissible: a number from 0 to 1; nothing",
            ),
            (
                "study,rate,kind,value\nx,1.00000001,a,1\n",
                "; this is the bound 1 in single precision: write it in full, as 1;",
            ),
            ("study,rate,kind,value\n,1,a,1\n", ":2: `study` is empty"),
            (
                "study,rate,kind,value\nx,1,a\n",
                ":2: 3 fields; admissible: 4, as in the first line;",
            ),
        ] {
            let refused = of(text).unwrap_err();
            assert!(
                refused.contains(said) && refused.ends_with("nothing was published"),
                "{refused}"
            );
        }
    }
}

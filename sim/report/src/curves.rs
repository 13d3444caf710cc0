//! `rounds.csv` of any trust model: columns `run`, `method`, `round`, `regret`, and `epsilon` among
//! those that follow.

use std::path::Path;

use sordino_experiment::metrics::Estimate;

use super::chart::Point;
use super::read::{ReadError, RunFiles};

/// A mean over runs after a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanAt {
    /// The round it follows.
    pub round: f64,
    /// What is measured after it.
    pub measure: Estimate,
}

/// The mean curve of one method, with standard errors.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodCurve {
    /// Name of the method.
    pub method: String,
    /// Means in the order of the rounds.
    pub means: Vec<MeanAt>,
}

impl MethodCurve {
    /// Means in bands of one standard error to either side; of a single run, without a band.
    pub fn points(&self) -> Vec<Point> {
        self.means
            .iter()
            .map(|at| Point::mean(at.round, at.measure))
            .collect()
    }
}

/// ε of all releases up to a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpentBy {
    /// The round it follows.
    pub round: f64,
    /// ε of all releases up to it.
    pub epsilon: f64,
}

/// What the releases of one method have cost.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodLoss {
    /// Name of the method.
    pub method: String,
    /// ε in the order of the rounds.
    pub spent: Vec<SpentBy>,
}

/// The rows of one method.
#[derive(Clone, Debug, PartialEq)]
struct Rows {
    method: String,
    rounds: Vec<f64>,
    /// One list for each run, a value for each round.
    values: Vec<Vec<f64>>,
}

impl Rows {
    const fn new(method: String) -> Self {
        Rows {
            method,
            rounds: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Means over runs, round by round.
    fn means(&self) -> Vec<MeanAt> {
        let rounds = self.rounds.iter().enumerate();
        rounds
            .map(|(i, round)| {
                let runs = self.values.iter();
                let after: Vec<f64> = runs.filter_map(|run| run.get(i).copied()).collect();
                MeanAt {
                    round: *round,
                    measure: Estimate::of(&after),
                }
            })
            .collect()
    }
}

/// The column with the cost of all releases up to a round.
const EPSILON: &str = "epsilon";

/// Curves by run and method, as they stand in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// What is measured: the name of the column after `round`.
    pub measure: String,
    methods: Vec<Rows>,
    /// From the first run that states them.
    losses: Vec<MethodLoss>,
}

impl Curves {
    /// Reads the file of a run.
    ///
    /// **Errors**: a missing file, another header, a field that is not a number, with its line.
    pub fn read(files: RunFiles<'_>) -> Result<Curves, ReadError> {
        let (path, text) = files.text("rounds.csv")?;
        Self::parse(&path, &text)
    }

    /// Reads the text of the file at `path`.
    ///
    /// **Errors**: as [`Curves::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Curves, ReadError> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader
            .headers()
            .map_err(|error| ReadError::line(path, 1, error.to_string().replace('\n', " ")))?
            .clone();
        let places = ["run", "method", "round"].map(|name| column(&header, name));
        let [Some(run), Some(method), Some(round)] = places else {
            return Err(ReadError::line(
                path,
                1,
                "the header must name run, method, round and a measure",
            ));
        };
        // The measure that matters stands right after the round.
        let Some(measure) = header.get(round + 1) else {
            return Err(ReadError::line(
                path,
                1,
                "the header must name a measure after round",
            ));
        };
        let epsilon = column(&header, EPSILON);
        let mut curves = Curves {
            measure: measure.to_owned(),
            ..Curves::default()
        };
        let mut current_run = String::new();
        let mut current_method = String::new();
        for record in reader.records() {
            let record = record.map_err(|error| ReadError::csv(path, &error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let run = record.get(run).unwrap_or("");
            let method = record.get(method).unwrap_or("");
            let value = record.get(round + 1).unwrap_or("");
            let round = finite(path, line, record.get(round).unwrap_or(""))?;
            let value = finite(path, line, value)?;
            let spent = epsilon.and_then(|column| record.get(column));
            if let Some(field) = spent.filter(|field| !field.is_empty()) {
                let spent = number(path, line, field)?;
                // Without a finite bound there is nothing to draw.
                if spent.is_finite() {
                    curves.spend(method, round, spent);
                }
            }
            let place = curves
                .methods
                .iter()
                .position(|known| known.method == method)
                .unwrap_or_else(|| {
                    curves.methods.push(Rows::new(method.to_owned()));
                    curves.methods.len() - 1
                });
            let Rows { rounds, values, .. } = &mut curves.methods[place];
            if current_run != run || current_method != method {
                current_run = run.to_owned();
                current_method = method.to_owned();
                values.push(Vec::new());
            }
            let at = values.last().map_or(0, Vec::len);
            match rounds.get(at) {
                Some(known) if *known == round => {}
                None if values.len() == 1 => rounds.push(round),
                _ => {
                    let message = format!("round {round} is out of order");
                    return Err(ReadError::line(path, line, message));
                }
            }
            values
                .last_mut()
                .into_iter()
                .for_each(|values| values.push(value));
        }
        Ok(curves)
    }

    /// Keeps what a method has spent by a round, if no earlier run stated it.
    fn spend(&mut self, method: &str, round: f64, epsilon: f64) {
        let spent = SpentBy { round, epsilon };
        match self.losses.iter_mut().find(|known| known.method == method) {
            Some(known) if known.spent.last().is_some_and(|last| last.round < round) => {
                known.spent.push(spent);
            }
            Some(_) => {}
            None => self.losses.push(MethodLoss {
                method: method.to_owned(),
                spent: vec![spent],
            }),
        }
    }

    /// What releases have cost by round; only of methods whose ε is stated.
    pub fn losses(&self) -> &[MethodLoss] {
        &self.losses
    }

    /// The values of a method, one list for each run; empty if the method is not there.
    pub fn of(&self, method: &str) -> &[Vec<f64>] {
        self.methods
            .iter()
            .find(|rows| rows.method == method)
            .map_or(&[], |rows| &rows.values)
    }

    /// Names of the methods in the order of the file.
    pub fn names(&self) -> Vec<&str> {
        self.methods
            .iter()
            .map(|rows| rows.method.as_str())
            .collect()
    }

    /// The curves with only the first `runs` runs.
    pub fn first(mut self, runs: usize) -> Self {
        self.methods
            .iter_mut()
            .for_each(|rows| rows.values.truncate(runs));
        self
    }

    /// Adds the runs of another file, for methods that both have.
    pub fn join(&mut self, other: Curves) {
        for rows in other.methods {
            if let Some(own) = self
                .methods
                .iter_mut()
                .find(|own| own.method == rows.method && own.rounds == rows.rounds)
            {
                own.values.extend(rows.values);
            }
        }
    }

    /// Mean curves in the order of the file.
    pub fn means(&self) -> Vec<MethodCurve> {
        self.methods
            .iter()
            .map(|rows| MethodCurve {
                method: rows.method.clone(),
                means: rows.means(),
            })
            .collect()
    }

    /// Rounds of a method with the mean over runs after each of them; empty if the method is not
    /// there.
    pub fn mean(&self, method: &str) -> Vec<MeanAt> {
        self.methods
            .iter()
            .filter(|rows| rows.method == method)
            .flat_map(Rows::means)
            .collect()
    }
}

/// Place of the column with this name.
fn column(header: &csv::StringRecord, name: &str) -> Option<usize> {
    header.iter().position(|column| column == name)
}

/// The finite number that a field of a line holds.
fn finite(path: &Path, line: u64, field: &str) -> Result<f64, ReadError> {
    let value = number(path, line, field)?;
    if value.is_finite() {
        Ok(value)
    } else {
        Err(no_number(path, line, field))
    }
}

/// A number, which may be infinite.
fn number(path: &Path, line: u64, field: &str) -> Result<f64, ReadError> {
    field.parse().map_err(|_| no_number(path, line, field))
}

fn no_number(path: &Path, line: u64, field: &str) -> ReadError {
    let field = sordino_experiment::text::Quoted(field);
    ReadError::line(path, line, format!("`{field}` is no number"))
}

/// The rounds for which regret is stated: 2, 10 and the last.
pub fn told_rounds(rounds: u32) -> Vec<u32> {
    let mut told: Vec<u32> = [2, 10]
        .into_iter()
        .filter(|round| *round < rounds)
        .collect();
    told.push(rounds);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Curves, String> {
        Curves::parse(Path::new("rounds.csv"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn means_over_runs_of_one_and_of_several_files() {
        let mut curves =
            parse("run,method,round,x,y\n0,a,1,1.0,\n0,a,2,3,\n0,b,1,0,\n1,a,1,3,\n1,a,2,5,\n")
                .unwrap();
        assert_eq!(curves.measure, "x");
        let at = |round, mean, standard_error| MeanAt {
            round,
            measure: Estimate {
                mean,
                standard_error,
            },
        };
        let two = [at(1.0, 2.0, Some(1.0)), at(2.0, 4.0, Some(1.0))];
        assert_eq!(curves.means()[0].means, two);
        assert_eq!(
            curves.means()[0].points()[1],
            Point::mean(2.0, two[1].measure)
        );
        assert_eq!(curves.means()[1].means, [at(1.0, 0.0, None)]);
        assert_eq!(
            (curves.of("a").len(), curves.of("c").len(), curves.names()),
            (2, 0, vec!["a", "b"])
        );
        assert_eq!(curves.clone().first(1).of("a"), [[1.0, 3.0]]);
        curves.join(parse("run,method,y,round,x\n0,a,,1,5\n0,a,,2,7\n").unwrap());
        assert_eq!(curves.means()[0].means[0].measure.mean, 3.0);
    }

    #[test]
    fn a_cost_that_is_no_number_is_told_with_its_line() {
        let told = parse("run,method,round,x,epsilon\n0,a,1,1,.5\n0,a,2,1,7.O5\n").unwrap_err();
        assert_eq!(told, "rounds.csv:3: `7.O5` is no number");
    }

    #[test]
    fn what_releases_cost_is_read_from_the_first_run_that_tells_it() {
        let curves = parse(
            "run,method,round,x,epsilon\n0,a,1,1,.5\n0,a,2,1,inf\n1,a,1,1,.7\n1,a,2,1,.9\n1,b,1,1,\n",
        );
        let spent = [(1.0, 0.5), (2.0, 0.9)].map(|(round, epsilon)| SpentBy { round, epsilon });
        let expected = MethodLoss {
            method: "a".to_owned(),
            spent: spent.to_vec(),
        };
        assert_eq!(curves.unwrap().losses(), [expected]);
    }

    #[test]
    fn regret_is_told_early_later_and_at_the_end() {
        assert_eq!(told_rounds(40), [2, 10, 40]);
        assert_eq!(told_rounds(6), [2, 6]);
        assert_eq!(told_rounds(2), [2]);
    }

    #[test]
    fn refusals_name_the_line() {
        assert!(
            parse("run,round\n")
                .unwrap_err()
                .contains("rounds.csv:1: the header")
        );
        assert!(
            parse("run,method,round,x\n0,a,1,nan\n")
                .unwrap_err()
                .contains("rounds.csv:2: `nan` is no number")
        );
        let message = parse("run,method,round,x\n0,a,1,1\n1,a,2,1\n").unwrap_err();
        assert!(
            message.contains("rounds.csv:3: round 2 is out of order"),
            "{message}"
        );
        assert!(
            parse("run,method,round,x\n0,a,1\n")
                .unwrap_err()
                .contains("rounds.csv")
        );
    }
}

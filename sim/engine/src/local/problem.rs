//! What is optimised: a function over a finite domain, its kernel matrix, and the law of a reward.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sordino_core::digest::Digest;
use sordino_core::linalg::dot;
use sordino_core::local::KernelMatrix;
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};
use sordino_experiment::files::{digest_of, other_file, read_bounded};
use sordino_experiment::scenario::local::{KernelSum, LocalObjective, LocalScenario, RewardNoise};
use sordino_experiment::text::{Lines, Quoted};
use sordino_experiment::world::gp_sample::grid;

use crate::contract::ModelError;

/// Data files are read up to this length.
const BYTES_MAX: u64 = 16 << 20;

/// What all runs share.
pub enum Source {
    /// A kernel over points.
    KernelSum(KernelSum, Arc<KernelMatrix>),
    /// A table of readings.
    Readings(Arc<Readings>),
}

/// Readings of several columns; the column with the largest mean is to be found.
pub struct Readings {
    kernel: Arc<KernelMatrix>,
    /// Readings of all days, row-major.
    rows: Vec<f64>,
    columns: usize,
    values: Arc<Vec<f64>>,
}

/// One function with the law of its rewards.
pub struct Problem {
    /// Covariances of the candidates.
    pub kernel: Arc<KernelMatrix>,
    /// f of every candidate.
    pub values: Arc<Vec<f64>>,
    /// Largest value max f over the candidates.
    pub optimum: f64,
    /// Largest absolute value max |f| over the candidates.
    pub largest: f64,
    seed: RunSeed,
    law: Law,
}

enum Law {
    Uniform(f64),
    StudentT,
    Row(Arc<Readings>),
}

/// The data that the scenario reads, which must be named.
fn needed<'d>(scenario: &LocalScenario, data: Option<&'d Path>) -> Result<&'d Path, ModelError> {
    let what = scenario.objective.reads().unwrap_or("nothing");
    data.ok_or_else(|| {
        ModelError::input(format!(
            "this scenario reads {what}; name it with --data PATH"
        ))
    })
}

impl Source {
    /// Reads data, computes and checks the kernel matrix.
    pub fn load(scenario: &LocalScenario, data: Option<&Path>) -> Result<Source, ModelError> {
        match &scenario.objective {
            LocalObjective::KernelSum(config) => {
                let kernel = config.kernel.build::<f64>().map_err(ModelError::input)?;
                let matrix = KernelMatrix::new(&kernel, 1, &grid(config.points, 1))
                    .map_err(ModelError::input)?;
                Ok(Source::KernelSum(config.clone(), Arc::new(matrix)))
            }
            LocalObjective::LightSensor(_) => {
                let folder = needed(scenario, data)?;
                let files = read(scenario, folder)?;
                let train = table(&files[0], false)?;
                let test = table(&files[1], false)?;
                if train.1 != test.1 {
                    let message = format!(
                        "{}: the two files have {} and {} columns",
                        folder.display(),
                        train.1,
                        test.1
                    );
                    return Err(ModelError::input(message));
                }
                readings(folder, &train, test)
            }
            LocalObjective::Stocks(_) => {
                let file = &read(scenario, needed(scenario, data)?)?[0];
                let all = table(file, true)?;
                readings(&file.path, &all.clone(), all)
            }
        }
    }

    /// The function of one run. Readings are the same in every run; the noise is not.
    pub fn realize(&self, scenario: &LocalScenario, seed: RunSeed) -> Problem {
        let (kernel, values, law) = match self {
            Source::KernelSum(config, kernel) => {
                let stream = &mut seed.stream(Party::World, Purpose::Objective, 0);
                let mut values = vec![0.0; kernel.count()];
                for _ in 0..config.centers {
                    let centre = stream.below(config.points) as usize;
                    let weight: f64 = 2.0 * stream.unit::<f64>() - 1.0;
                    values
                        .iter_mut()
                        .zip(kernel.row(centre))
                        .for_each(|(f, k)| *f += weight * k);
                }
                let law = match config.noise {
                    RewardNoise::Uniform => Law::Uniform(scenario.users.noise_bound.unwrap_or(1.0)),
                    RewardNoise::StudentT => Law::StudentT,
                };
                (kernel.clone(), Arc::new(values), law)
            }
            Source::Readings(readings) => (
                readings.kernel.clone(),
                readings.values.clone(),
                Law::Row(readings.clone()),
            ),
        };
        let optimum = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let largest = values
            .iter()
            .fold(f64::MIN_POSITIVE, |most, f| most.max(f.abs()));
        Problem {
            kernel,
            values,
            optimum,
            largest,
            seed,
            law,
        }
    }
}

impl Problem {
    /// The reward of a candidate in a round: the noise is keyed by the round alone, so that methods
    /// are paired.
    pub fn reward(&self, round: u32, candidate: u32) -> f64 {
        let stream = &mut self
            .seed
            .stream(Party::World, Purpose::ObservationNoise, round);
        let f = self.values[candidate as usize];
        match &self.law {
            Law::Uniform(bound) => f + bound * (2.0 * stream.unit::<f64>() - 1.0),
            Law::StudentT => f + student_t3(stream),
            Law::Row(readings) => {
                let row = stream.below((readings.rows.len() / readings.columns) as u32) as usize;
                readings.rows[row * readings.columns + candidate as usize]
            }
        }
    }
}

/// Student's t with three degrees of freedom: a normal over the root of a mean of three squares.
fn student_t3(stream: &mut Stream) -> f64 {
    let z: [f64; 4] = std::array::from_fn(|_| normal::draw(stream));
    z[0] / ((z[1] * z[1] + z[2] * z[2] + z[3] * z[3]) / 3.0).sqrt()
}

/// Refuses a file; `what` follows its path.
fn refused(path: &Path, what: impl Display) -> ModelError {
    ModelError::input(format!("{}{what}", path.display()))
}

type Table = (Vec<f64>, usize);

/// A file that was read.
struct Read {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// The files of an objective that reads some, in the order in which they are used.
fn files(objective: &LocalObjective, data: &Path) -> Result<Vec<Read>, ModelError> {
    let paths = match objective {
        LocalObjective::KernelSum(_) => Vec::new(),
        LocalObjective::LightSensor(_) if data.is_file() => {
            let what = ": is one file, and this scenario reads two; name their folder";
            return Err(refused(data, what));
        }
        LocalObjective::LightSensor(_) => {
            let names = ["train_sensordata.csv", "test_sensordata.csv"];
            names.map(|name| data.join(name)).to_vec()
        }
        LocalObjective::Stocks(_) if data.is_dir() => vec![data.join("fin.csv")],
        LocalObjective::Stocks(_) => vec![data.to_owned()],
    };
    let read = paths.into_iter().map(|path| {
        let bytes = read_bounded(&path, BYTES_MAX)
            .map_err(|error| refused(&path, format!(": cannot be read: {error}")))?;
        Ok(Read { path, bytes })
    });
    read.collect()
}

/// SHA-256 of the file that an objective reads; of two, of their digests one after the other.
///
/// **Errors**: a file that cannot be read.
pub fn digest(objective: &LocalObjective, data: &Path) -> Result<Digest, ModelError> {
    Ok(digest_of_all(&files(objective, data)?))
}

fn digest_of_all(files: &[Read]) -> Digest {
    let digests: Vec<Digest> = files.iter().map(|file| digest_of(&file.bytes)).collect();
    match &digests[..] {
        [only] => *only,
        several => digest_of(
            &several
                .iter()
                .flat_map(|digest| digest.0)
                .collect::<Vec<u8>>(),
        ),
    }
}

/// The files that the scenario was made for.
fn read(scenario: &LocalScenario, data: &Path) -> Result<Vec<Read>, ModelError> {
    let files = files(&scenario.objective, data)?;
    let (LocalObjective::LightSensor(config) | LocalObjective::Stocks(config)) =
        &scenario.objective
    else {
        return Ok(files);
    };
    let why = other_file(
        "objective.digest",
        &digest_of_all(&files),
        config.digest.as_deref(),
    );
    match why {
        None => Ok(files),
        Some(why) => Err(refused(data, format!(": {why}"))),
    }
}

/// The numbers of a CSV file, row-major, and how many a row has. With `labelled` the first line and
/// column are names.
fn table(file: &Read, labelled: bool) -> Result<Table, ModelError> {
    let Read { path, bytes } = file;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(labelled)
        .from_reader(bytes.as_slice());
    let skip = usize::from(labelled);
    let mut numbers = Vec::new();
    let mut columns = 0;
    let mut lines = Lines::new(bytes);
    for record in reader.records() {
        let record = record.map_err(|error| refused(path, format!(": {error}")))?;
        let line = record
            .position()
            .map_or(0, |position| lines.of(position.byte()));
        columns = record.len().saturating_sub(skip);
        for (column, field) in record.iter().enumerate().skip(skip) {
            match field.trim().parse::<f64>() {
                Ok(x) if x.abs() <= 1e9 => numbers.push(x),
                _ => {
                    let column = column + 1;
                    let field = Quoted(field);
                    let what = format!(
                        ":{line}: column {column} is `{field}`; admissible: a number up to 1e9"
                    );
                    return Err(refused(path, what));
                }
            }
        }
    }
    if columns < 2 || numbers.len() < 2 * columns {
        let what = ": at least two rows of two columns are needed";
        return Err(refused(path, what));
    }
    Ok((numbers, columns))
}

/// The kernel is the covariance of z-scored `train` columns; f is the mean of each `test` column, a
/// reward a random row.
fn readings(path: &Path, train: &Table, test: Table) -> Result<Source, ModelError> {
    let columns = train.1;
    let count = train.0.len() / train.1;
    let scored: Vec<Vec<f64>> = (0..columns)
        .map(|j| {
            let column: Vec<f64> = train.0.iter().skip(j).step_by(columns).copied().collect();
            let mean = column.iter().sum::<f64>() / count as f64;
            let variance =
                column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count as f64;
            if !(variance > 0.0) {
                let message = format!("{}: column {} is constant", path.display(), j + 1);
                return Err(ModelError::input(message));
            }
            let std = variance.sqrt();
            Ok(column.iter().map(|x| (x - mean) / std).collect())
        })
        .collect::<Result<_, _>>()?;
    let mut entries = vec![0.0; columns * columns];
    for i in 0..columns {
        for j in 0..=i {
            let covariance = dot(&scored[i], &scored[j]) / count as f64;
            (entries[i * columns + j], entries[j * columns + i]) = (covariance, covariance);
        }
    }
    let kernel = KernelMatrix::from_table(columns, entries)
        .map_err(|error| ModelError::input(format!("{}: {error}", path.display())))?;
    let rows = (test.0.len() / columns) as f64;
    let values = (0..columns)
        .map(|j| test.0.iter().skip(j).step_by(columns).sum::<f64>() / rows)
        .collect();
    Ok(Source::Readings(Arc::new(Readings {
        kernel: Arc::new(kernel),
        rows: test.0,
        columns,
        values: Arc::new(values),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variance and tail of the draw, n = 200,000. P(|t| > 5.841) = 0.01 for three degrees of
    /// freedom; level 5 standard deviations of the share, 0.0011. Negative control: with four
    /// degrees of freedom the tail beyond 5.841 is 0.0043.
    #[test]
    fn student_t_has_the_tail_of_three_degrees_of_freedom() {
        let n = 200_000;
        let mut stream = Stream::from_seed(6);
        let far = (0..n)
            .filter(|_| student_t3(&mut stream).abs() > 5.841)
            .count();
        let share = far as f64 / f64::from(n);
        assert!((share - 0.01).abs() < 0.0011, "{share}");
        assert!((share - 0.0043).abs() > 0.0011);
    }

    #[test]
    fn tables_are_checked() {
        let folder =
            std::env::temp_dir().join(format!("sordino-local-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |text: &str| Read {
            path: folder.join("t.csv"),
            bytes: text.into(),
        };
        assert_eq!(
            table(&write("1,2\n3,4\n"), false).unwrap(),
            (vec![1.0, 2.0, 3.0, 4.0], 2)
        );
        assert_eq!(
            table(&write("d,a,b\nx,1,2\ny,3,4\n"), true).unwrap(),
            (vec![1.0, 2.0, 3.0, 4.0], 2)
        );
        for bad in ["1,2\n3\n", "1,NaN\n3,4\n", "1,x\n3,4\n", "", "1,2\n"] {
            assert!(table(&write(bad), false).is_err(), "{bad}");
        }
        let constant = table(&write("1,2\n1,4\n"), false).unwrap();
        let refused = readings(&folder, &constant, constant.clone())
            .err()
            .unwrap()
            .to_string();
        assert!(refused.contains("column 1 is constant"), "{refused}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! Uploads on a host, for callgrind: `upload_work server|leaky f32|f64 KIND selected|passed CALLS`.
//!
//! Only what happens inside [`counted`] is the upload; `tests/tests/it/upload_work.rs` has valgrind
//! count there and nowhere else. On a device this is `cargo fw`.

use std::hint::black_box;
use std::process::ExitCode;

use firmware_example::upload::{KINDS, Kind, REGIONS, Storage, Way, once};
use sordino_core::math::Scalar;

/// Features M of an upload.
const M: usize = 256;

/// The function whose instructions are counted.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    black_box(work)();
}

fn calls<T: Scalar>(way: Way, kind: Kind, selected: bool, calls: u32) -> Result<i64, String> {
    let mut sums = [0; REGIONS * M];
    let mut noise = [0; REGIONS * M];
    let mut broadcast = [T::from_f64(0.0); REGIONS * M];
    let mut vector = [T::from_f64(0.0); M];
    let mut seed = 0;
    for _ in 0..calls {
        let mut storage = Storage {
            sums: &mut sums,
            noise: &mut noise,
            broadcast: &mut broadcast,
            vector: &mut vector,
        };
        once(way, kind, selected, &mut seed, &mut storage, |work| {
            counted(work)
        })
        .map_err(|e| format!("{e:?}"))?;
    }
    Ok(sums.iter().map(|sum| sum.abs()).sum())
}

fn run(words: &[&str]) -> Result<String, String> {
    let [way, format, kind, coin, count] = words else {
        return Err("five words: server|leaky f32|f64 KIND selected|passed CALLS".to_owned());
    };
    let way = match *way {
        "server" => Way::Server,
        "leaky" => Way::Leaky,
        other => return Err(format!("no way {other}")),
    };
    let kind = KINDS
        .into_iter()
        .find(|known| format!("{known:?}") == *kind);
    let kind = kind.ok_or_else(|| format!("one of {KINDS:?}"))?;
    let selected = match *coin {
        "selected" => true,
        "passed" => false,
        other => return Err(format!("no coin {other}")),
    };
    let count = count.parse().map_err(|error| format!("{count}: {error}"))?;
    let sum = match *format {
        "f32" => calls::<f32>(way, kind, selected, count)?,
        "f64" => calls::<f64>(way, kind, selected, count)?,
        other => return Err(format!("no format {other}")),
    };
    Ok(format!("sum of magnitudes {sum}"))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

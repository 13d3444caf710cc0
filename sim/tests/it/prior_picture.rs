//! What the picture of a prior file shows.

use crate::prior::{publish, read};
use crate::util::{done, printed, scratch};

/// Four parameters of all kinds: two rows of two, round numbers, and once which way is better.
#[test]
fn a_picture_of_four_parameters_is_read_at_once() {
    let folder = scratch("picture-four");
    let space = "goal = \"minimize\"\nvalue = \"loss\"\n[parameters.rate]\nlow = 2e-5\nhigh = 0.7\nscale = \"log\"\n\
                 [parameters.depth]\nlow = 1\nhigh = 9\ninteger = true\n[parameters.kind]\nchoices = [\"adam\", \"sgd\"]\n\
                 [parameters.drop]\nlow = 0.03\nhigh = 0.57\n";
    std::fs::write(folder.join("space.toml"), space).unwrap();
    let mut studies = "study,rate,depth,kind,drop,value\n".to_owned();
    for row in 0..180 {
        let depth = 1 + row * 7 % 9;
        let kind = ["adam", "sgd"][row % 2];
        let drop = 0.03 + 0.053 * (row * 3 % 11) as f64;
        let value = (depth as f64 - 4.0).powi(2) + drop;
        let rate = 2e-5 * 1.04f64.powi(row as i32);
        studies += &format!("{},{rate},{depth},{kind},{drop},{value}\n", row / 6);
    }
    std::fs::write(folder.join("studies.csv"), studies).unwrap();
    done(&folder, &publish(&["p.safetensors"]));
    printed(
        &folder,
        &["prior", "show", "p.safetensors", "--out", "p.svg"],
    );
    let picture = read(&folder, "p.svg");
    assert_eq!(picture.matches("lower is better").count(), 1, "{picture}");
    assert!(!picture.contains("higher is better"));
    let has = |tick: &str| picture.contains(&format!(">{tick}</text>"));
    for tick in ["0.0001", "0.1", "2", "8", "adam", "sgd", "0.2", "0.4"] {
        assert!(has(tick), "{tick}: {picture}");
    }
    // Negative control: the ends of the ranges are no round numbers.
    for tick in ["2e-5", "0.00002", "0.7", "0.03", "0.57"] {
        assert!(!has(tick), "{tick}");
    }
}

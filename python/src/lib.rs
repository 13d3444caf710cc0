//! The native half of the Python module `sordino`: numbers, texts and lists in, the same out. The
//! Python half, `python/sordino/`, makes arrays and tables of them and documents what users call.
//!
//! | module | what it holds |
//! |---|---|
//! | [`error`] | the two exceptions, with the command line's texts |
//! | [`privacy`] | accountants and calibration, asked as `sordino privacy` asks them |
//! | [`run`] | a scenario into a run folder, with a Python function as objective |
//! | [`called`] | questions from the simulator's threads to the thread that called `run` |
//! | [`methods`] | methods of a federation written in Python |
//! | [`posterior`] | mean, deviation and draws given observations, for such methods |
//! | [`prior`] | files of what others learned |
//! | [`search`] | ask and tell over a named space, saved as lines of JSON |

use pyo3::prelude::*;

pub mod called;
pub mod error;
pub mod methods;
pub mod posterior;
pub mod prior;
pub mod privacy;
pub mod run;
pub mod search;

/// The module as Python imports it.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<error::InputError>())?;
    module.add(
        "LedgerWarning",
        module.py().get_type::<error::LedgerWarning>(),
    )?;
    module.add("RunError", module.py().get_type::<error::RunError>())?;
    module.add_function(wrap_pyfunction!(privacy::epsilon, module)?)?;
    module.add_function(wrap_pyfunction!(privacy::delta, module)?)?;
    module.add_function(wrap_pyfunction!(privacy::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(privacy::significant_up, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::explain, module)?)?;
    module.add_function(wrap_pyfunction!(run::scenarios, module)?)?;
    module.add_class::<posterior::Posterior>()?;
    module.add_function(wrap_pyfunction!(search::check_space, module)?)?;
    module.add_function(wrap_pyfunction!(search::space_of_toml, module)?)?;
    module.add_class::<prior::Prior>()?;
    module.add_function(wrap_pyfunction!(prior::publish_prior, module)?)?;
    module.add_function(wrap_pyfunction!(prior::publication_cost, module)?)?;
    module.add_class::<search::Search>()
}

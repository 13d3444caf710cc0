//! The native half of the Python module `sordino`: numbers, texts and lists in, the same out. The Python half,
//! `python/sordino/`, makes arrays and tables of them and documents what users call.
//!
//! | module | what it holds |
//! |---|---|
//! | [`error`] | the two exceptions, with the command line's texts |
//! | [`privacy`] | accountants and calibration, asked as `sordino privacy` asks them |
//! | [`run`] | a scenario into a run folder, with a Python function as objective |
//! | [`called`] | questions from the simulator's threads to the thread that called `run` |
//! | [`methods`] | methods of a federation written in Python |
//! | [`optimizer`] | ask and tell, saved as core's log |

use pyo3::prelude::*;

pub mod called;
pub mod error;
pub mod methods;
pub mod optimizer;
pub mod privacy;
pub mod run;

/// The module as Python imports it.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<error::InputError>())?;
    module.add("RunError", module.py().get_type::<error::RunError>())?;
    module.add_function(wrap_pyfunction!(privacy::epsilon, module)?)?;
    module.add_function(wrap_pyfunction!(privacy::delta, module)?)?;
    module.add_function(wrap_pyfunction!(privacy::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::explain, module)?)?;
    module.add_function(wrap_pyfunction!(run::scenarios, module)?)?;
    module.add_class::<optimizer::Optimizer>()
}

//! What a run and a sweep tell of before they begin: settings that do nothing.

use sordino_engine::{Model, parse};
use sordino_experiment::scenario::Shipped;
use sordino_experiment::scenario::unused::{Unused, keys_of, of_text};

/// What does nothing in a scenario: of what is `set` on the command line, and of what its file
/// gives and would not use without the settings either: whoever leaves methods out for once knows
/// what the file says of them. What a shipped scenario says beside its methods is there for others.
///
/// **Parameters**: `source` and `text`, which the scenario was read from with these `settings`.
pub fn unused(
    model: &dyn Model,
    source: &str,
    text: &str,
    settings: &[String],
    set: &[String],
) -> Vec<Unused> {
    let mut told = model.unused(&keys_of(set));
    if Shipped::find(source).is_none() {
        let read = |text: &str| Some(parse(source, text, settings).ok()?.resolved());
        let file = parse(source, text, &[]).ok();
        let idle = |key: &str| {
            file.as_ref()
                .is_none_or(|file| !file.unused(&[key]).is_empty())
        };
        let mut of_file = of_text(text, |keys| model.unused(keys), read);
        of_file.retain(|more| idle(&more.key) && told.iter().all(|told| told.key != more.key));
        told.extend(of_file);
    }
    told
}

//! What a run and a sweep tell of before they begin: settings that do nothing.

use sordino_engine::{Model, parse};
use sordino_experiment::scenario::Shipped;
use sordino_experiment::scenario::unused::{Unused, keys_of, of_text};

/// What does nothing in a scenario: of what is `set` on the command line, and of what its file
/// gives and does not use without what is set either: whoever leaves methods out for once knows
/// what the file says of them. What a shipped scenario says beside its methods is there for others.
///
/// **Parameters**: `source` and `text`, which the scenario was read from with these `settings`,
/// what is `set` among them.
pub fn unused(
    model: &dyn Model,
    source: &str,
    text: &str,
    settings: &[String],
    set: &[String],
) -> Vec<Unused> {
    let mut told = model.unused(&keys_of(set));
    if Shipped::find(source).is_some() {
        return told;
    }
    let taken = settings.iter().filter(|setting| !set.contains(setting));
    let file = parse(source, text, &taken.cloned().collect::<Vec<_>>());
    // Without what is set it may be no scenario at all.
    let Ok(file) = file else {
        return told;
    };
    let of_file = of_text(
        text,
        |keys| model.unused(keys),
        |text| Some(parse(source, text, settings).ok()?.resolved()),
    );
    let known: Vec<String> = told.iter().map(|told| told.key.clone()).collect();
    told.extend(
        of_file
            .into_iter()
            .filter(|more| !known.contains(&more.key) && is_idle(&*file, &more.key)),
    );
    told
}

fn is_idle(model: &dyn Model, key: &str) -> bool {
    model.unused(&[key]).iter().any(|told| told.key == key)
}

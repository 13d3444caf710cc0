//! What the front door needs: an example at every type that somebody calls, and at every public
//! module, or a sentence that leads to one. Read from the text, so that no rustdoc runs; that the
//! examples hold is the doctests' business.

use super::source::{occurrences, sources};

/// Modules of core whose types are what users build on.
const FRONT: [&str; 4] = ["federated", "optimizer", "privacy", "surrogate"];
/// How a doc leads to an example elsewhere.
const POINTER: &str = "**Example**: ";

/// A public type or module: its file, name, doc lines without their marker.
struct Documented {
    path: String,
    name: String,
    /// A function, or another name of a type: it may show, it need not.
    is_alias: bool,
    doc: Vec<String>,
}

impl Documented {
    /// The code of its examples. What must not compile shows nothing that works.
    fn example(&self) -> String {
        let mut code = String::new();
        let mut inside = false;
        let mut shown = false;
        for line in &self.doc {
            if let Some(language) = line.strip_prefix("```") {
                inside = !inside;
                shown = !language.contains("compile_fail");
            } else if inside && shown {
                code += line;
                code.push('\n');
            }
        }
        code
    }

    /// The last names of the links in its pointers; `super` and `self` stand for the module.
    fn pointers(&self) -> Vec<String> {
        let pointing = self.doc.iter().skip_while(|line| !line.contains(POINTER));
        let text: Vec<&str> = pointing
            .take_while(|line| !line.is_empty())
            .map(String::as_str)
            .collect();
        let text = text.join(" ");
        let Some((_, text)) = text.split_once(POINTER) else {
            return Vec::new();
        };
        let links = text
            .split("[`")
            .skip(1)
            .filter_map(|link| link.split('`').next());
        let modules = text.split("[the module](").skip(1).map(|_| "the module");
        links
            .chain(modules)
            .map(|link| link.rsplit("::").next().unwrap_or(link).to_owned())
            .collect()
    }

    /// Whether it lies in a module of the front door.
    fn is_in_front(&self) -> bool {
        let inner = self.path.trim_start_matches("core/src/");
        FRONT.iter().any(|module| {
            inner
                .strip_prefix(module)
                .is_some_and(|rest| rest.starts_with(['/', '.']))
        })
    }

    /// The folder of the module whose doc `the module` means: its own if it is one, else the one it
    /// is re-exported by.
    fn module(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// The doc of a file's module, and of every public type at its margin or made by a macro of its
/// own.
fn documented(path: &str, text: &str) -> (Documented, Vec<Documented>) {
    // An equation in a file of its own stands between the lines.
    let line = |line: &str| match line.strip_prefix("//!") {
        Some(text) => Some(text.trim().to_owned()),
        None => line.starts_with("#![doc").then(String::new),
    };
    let name = path
        .trim_end_matches("/mod.rs")
        .trim_end_matches(".rs")
        .rsplit('/')
        .next()
        .unwrap_or("")
        .to_owned();
    let doc = text.lines().map_while(line).collect();
    let module = Documented {
        path: path.to_owned(),
        name,
        is_alias: false,
        doc,
    };
    let mut types: Vec<Documented> = Vec::new();
    let mut doc: Vec<String> = Vec::new();
    let mut in_attribute = false;
    for line in text.lines() {
        in_attribute |= line.trim_start().starts_with('#');
        if in_attribute {
            in_attribute = !line.trim_end().ends_with(']');
            continue;
        }
        if let Some(text) = line.trim_start().strip_prefix("///") {
            doc.push(text.trim().to_owned());
            continue;
        }
        if line == "mod tests {" {
            break;
        }
        let words = [
            "pub struct ",
            "pub enum ",
            "pub trait ",
            "pub type ",
            "pub fn ",
            "pub const fn ",
        ];
        let declared = words.iter().find_map(|word| line.strip_prefix(word));
        // What a macro of this file makes begins its line with the name.
        let made = line
            .strip_prefix("    ")
            .filter(|line| line.contains(", \"") && line.starts_with(char::is_uppercase));
        if let Some(rest) = declared.or(made) {
            let name = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let is_alias = ["pub type ", "pub fn ", "pub const fn "]
                .iter()
                .any(|word| line.starts_with(word));
            types.push(Documented {
                path: path.to_owned(),
                name,
                is_alias,
                doc: core::mem::take(&mut doc),
            });
        } else {
            doc.clear();
        }
    }
    (module, types)
}

/// The files of the modules that `pub mod` lines lead to, from core's own page.
fn public_modules(files: &[(String, String)]) -> Vec<&(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![("core/src".to_owned(), "core/src/lib.rs".to_owned())];
    while let Some((folder, path)) = open.pop() {
        let Some(file) = files.iter().find(|(other, _)| *other == path) else {
            continue;
        };
        for line in file.1.lines() {
            let Some(name) = line
                .strip_prefix("pub mod ")
                .and_then(|rest| rest.strip_suffix(';'))
            else {
                continue;
            };
            let inner = format!("{folder}/{name}");
            for path in [format!("{inner}.rs"), format!("{inner}/mod.rs")] {
                open.push((inner.clone(), path));
            }
        }
        if path != "core/src/lib.rs" {
            found.push(file);
        }
    }
    found.sort();
    found
}

/// Whether the doc has an example of its own, or a pointer to one. `named`: the example must use
/// the name, because a type is shown by code that has it in it.
fn shown(item: &Documented, types: &[Documented], modules: &[Documented], named: bool) -> bool {
    if !item.example().is_empty() {
        return true;
    }
    let enough = |code: String| {
        !code.is_empty() && (!named || occurrences(&code, &item.name).next().is_some())
    };
    item.pointers().iter().any(|target| {
        let of_types = types
            .iter()
            .filter(|other| other.name == *target)
            .map(Documented::example);
        let the_module = |module: &Documented| {
            target == "the module"
                && (module.path == format!("{}.rs", item.module())
                    || module.path == format!("{}/mod.rs", item.module())
                    || module.path == item.path)
        };
        let of_modules = modules
            .iter()
            .filter(|other| the_module(other) || other.name == *target);
        of_types
            .chain(of_modules.map(Documented::example))
            .any(enough)
    })
}

fn check_examples(files: &[(String, String)]) -> Vec<String> {
    let core = |(path, _): &&(String, String)| path.starts_with("core/src/");
    let all: Vec<(Documented, Vec<Documented>)> = files
        .iter()
        .filter(core)
        .map(|(path, text)| documented(path, text))
        .collect();
    let (modules, types): (Vec<Documented>, Vec<Vec<Documented>>) = all.into_iter().unzip();
    let types: Vec<Documented> = types.into_iter().flatten().collect();
    let mut complaints = Vec::new();
    let front = types
        .iter()
        .filter(|item| item.is_in_front() && !item.is_alias);
    for item in front.filter(|item| !shown(item, &types, &modules, true)) {
        complaints.push(format!(
            "{}: `{}` has no example, and no pointer to one that uses it",
            item.path, item.name
        ));
    }
    let public: Vec<&str> = public_modules(files)
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    for module in modules
        .iter()
        .filter(|module| public.contains(&module.path.as_str()))
    {
        if !shown(module, &types, &modules, false) {
            complaints.push(format!(
                "{}: the module has no example, and no pointer to one",
                module.path
            ));
        }
    }
    complaints
}

#[test]
fn public_types_and_modules_have_examples() {
    let files = sources();
    assert!(
        public_modules(&files).len() > 50,
        "the walk found few modules"
    );
    let complaints = check_examples(&files);
    assert!(
        complaints.is_empty(),
        "{} complaints:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

/// A crate of one module, for controls.
fn of_one_module(text: &str) -> Vec<(String, String)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    vec![
        file("core/src/lib.rs", "pub mod privacy;\n"),
        file("core/src/privacy.rs", text),
    ]
}

#[test]
fn what_shows_nothing_is_reported() {
    let head = "//! Words.\n//!\n//! **Example**: that of [`A`].\n\n";
    let a =
        "/// Words.\n///\n/// ```\n/// A::new(B::One);\n/// ```\n#[derive(Debug)]\npub struct A;\n";
    let good = format!(
        "{head}{a}/// Words.\n///\n/// **Example**: that of [`A`].\npub enum B {{\n    One,\n}}\n"
    );
    assert_eq!(check_examples(&of_one_module(&good)), Vec::<String>::new());
    let bad = [
        // No example at all, an example that is not to compile, a pointer to nothing, and to what
        // does not show it.
        good.replace("///\n/// **Example**: that of [`A`].\npub enum", "pub enum"),
        format!("{good}/// Words.\n///\n/// ```compile_fail\n/// C;\n/// ```\npub struct C;\n"),
        format!("{good}/// Words.\n///\n/// **Example**: that of [`Nowhere`].\npub trait C {{}}\n"),
        format!("{good}/// Words.\n///\n/// **Example**: that of [`A`].\npub struct C;\n"),
        // Part of a name is not the name: the example of `A` says `One`.
        format!("{good}/// Words.\n///\n/// **Example**: that of [`A`].\npub struct On;\n"),
        // The module's.
        good.replace("//! **Example**: that of [`A`].\n", ""),
        good.replace(
            "//! **Example**: that of [`A`].",
            "//! **Example**: that of [`B`].",
        ),
    ];
    for text in bad {
        assert_eq!(check_examples(&of_one_module(&text)).len(), 1, "{text}");
    }
}

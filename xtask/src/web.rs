//! The page `web/`: built into one file, opened in a browser without a screen, compared with the
//! program: a simulation and a prior file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Report, cargo, root, target_folder};
use crate::{once, tools};

/// Where the module stands in the page.
const PLACE: &str = "{{MODULE}}";
/// Settings of the comparison, as the page takes them behind `#`; `check` opens scenario and table.
const DIALS: &str = "agents=20&rounds=6&q=0.5&z=0.9&seed=3&runs=2&check";
/// Why a module is refused that cannot be read.
const NO_MODULE: &str = "the module is no WebAssembly";
/// The page is longer than any that fits together, and has to be sent by somebody.
const BYTES_MAX: usize = 2 << 20;

/// Builds the page, then compares what a browser shows with what the program prints.
pub fn run(report: &mut Report) {
    let mut page = Err("the page was not built".to_owned());
    report.step("web page", || {
        page = build();
        page.clone().map(|path| path.display().to_string())
    });
    report.step("web page in a browser", || check(&page?));
}

fn check(page: &Path) -> Result<String, String> {
    tools::program("chromium", "chromium")?;
    once::build()?;
    let folder = target_folder().join("web/check");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (file, label) = published(&folder)?;
    let shown = browse(page, &file)?;
    let read = compare_file(&shown, &label)?;
    check_damaged(page, file)?;
    write(
        &folder.join("dials.toml"),
        &element(&shown, "<pre id=\"scenario\">", "</pre>")?,
    )?;
    write(
        &folder.join("dials.csv"),
        &element(&shown, "<pre id=\"table\">", "</pre>")?,
    )?;
    let mut sordino = Command::new(target_folder().join("debug/sordino"));
    sordino.args([
        "run",
        "dials.toml",
        "--data",
        "dials.csv",
        "--out",
        "run",
        "--format",
        "json",
    ]);
    let said = process::run(sordino.current_dir(&folder))?;
    Ok(format!("{}; {read}", compare(&shown, &said)?))
}

/// What the program says in this folder, where it also keeps its state.
fn sordino(folder: &Path, words: &[&str]) -> Result<String, String> {
    process::run(
        Command::new(target_folder().join("debug/sordino"))
            .args(words)
            .current_dir(folder)
            .env("XDG_STATE_HOME", folder.join("state")),
    )
}

/// A prior file of the example's studies, and what the program says of it.
fn published(folder: &Path) -> Result<(Vec<u8>, String), String> {
    let example = root().join("docs/examples/wards");
    for name in ["studies.csv", "space.toml"] {
        fs::copy(example.join(name), folder.join(name))
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let words = "prior publish --from studies.csv --space space.toml --epsilon 1 --dataset page --max-epsilon 1 --features 50 \
                 --out wards.safetensors";
    sordino(folder, &words.split_whitespace().collect::<Vec<_>>())?;
    let label = sordino(
        folder,
        &["prior", "show", "wards.safetensors", "--format", "json"],
    )?;
    let file = fs::read(folder.join("wards.safetensors")).map_err(|error| error.to_string())?;
    Ok((file, label))
}

/// What the page shows of a file is what the program says.
fn compare_file(shown: &str, label: &str) -> Result<String, String> {
    if attribute(shown, "file").as_deref() != Ok("open") {
        return Err(format!(
            "the page refuses a file: {:?}",
            element(shown, "<p id=\"file-said\"", "</p>")
        ));
    }
    let digest = attribute(shown, "file-digest")?;
    if !label.contains(&format!("\"digest\": \"{digest}\"")) {
        return Err(format!(
            "the page has the digest {digest} of a file, the program another"
        ));
    }
    for (name, key) in [("file-epsilon", "epsilon"), ("file-guess", "best_guess")] {
        let page = attribute(shown, name)?
            .parse::<f64>()
            .map_err(|error| format!("{name}: {error}"))?;
        let program = after(label, &format!("  \"{key}\": "))?;
        // The program tells a loss with twelve digits, rounded up.
        if !(page <= program && program - page <= 1e-11 * program) {
            return Err(format!(
                "{key} of a file: {page} in the page, {program} by the program"
            ));
        }
    }
    // Two of its three parameters are numbers.
    match attribute(shown, "file-charts")?.as_str() {
        "2" => Ok("a file's digest, ε and best guess equal to the program's".to_owned()),
        other => Err(format!(
            "{other} pictures of a file with two numbers among its parameters"
        )),
    }
}

/// A file of which one bit of a number differs is refused.
fn check_damaged(page: &Path, mut file: Vec<u8>) -> Result<(), String> {
    *file.last_mut().ok_or("an empty file")? ^= 1;
    let shown = browse(page, &file)?;
    let said = element(&shown, "<p id=\"file-said\"", "</p>")?;
    match attribute(&shown, "file").as_deref() {
        Ok("refused") if said.contains("Refused: digest") => Ok(()),
        state => Err(format!("a file that was changed: {state:?}, {said:?}")),
    }
}

/// The page in one file, with the module inlined; gives its path.
fn build() -> Result<PathBuf, String> {
    let words = [
        "build",
        "-q",
        "--profile",
        "device",
        "-p",
        "sordino-web",
        "--target",
        tools::WASM,
    ];
    process::run(&mut cargo(&words))?;
    let module = target_folder()
        .join(tools::WASM)
        .join("device/sordino_web.wasm");
    let module = fs::read(&module).map_err(|error| format!("{}: {error}", module.display()))?;
    let page =
        fs::read_to_string(root().join("web/page.html")).map_err(|error| error.to_string())?;
    if page.matches(PLACE).count() != 1 {
        return Err(format!("web/page.html does not hold {PLACE} once"));
    }
    let page = page.replace(PLACE, &base64(&without_names(&module)?));
    if let Some(found) = ["http:", "https:", "<link", "@import", "import(", "fetch("]
        .iter()
        .find(|word| page.contains(**word))
    {
        return Err(format!("web/page.html: `{found}`: nothing is loaded"));
    }
    if page.len() > BYTES_MAX {
        return Err(format!(
            "the page has {} bytes, more than {BYTES_MAX}",
            page.len()
        ));
    }
    let path = target_folder().join("web/sordino.html");
    write(&path, &page)?;
    println!("wrote {} ({} kB)", path.display(), page.len() / 1024);
    Ok(path)
}

/// The module without its custom sections, which hold lines and names for debuggers: two thirds of
/// it.
fn without_names(module: &[u8]) -> Result<Vec<u8>, String> {
    let (head, mut rest) = module
        .split_at_checked(8)
        .filter(|(head, _)| head.starts_with(b"\0asm"))
        .ok_or(NO_MODULE)?;
    let mut out = head.to_vec();
    while let [id, body @ ..] = rest {
        // LEB128: seven bits a byte, the last byte without its top bit.
        let digits = 1 + body
            .iter()
            .position(|byte| byte & 0x80 == 0)
            .ok_or(NO_MODULE)?;
        let length = body[..digits].iter().rev().fold(0usize, |length, byte| {
            length << 7 | usize::from(byte & 0x7f)
        });
        let (section, left) = rest
            .split_at_checked(1 + digits + length)
            .ok_or(NO_MODULE)?;
        if *id != 0 {
            out.extend_from_slice(section);
        }
        rest = left;
    }
    Ok(out)
}

/// What stands in the page after it computed.
fn browse(page: &Path, file: &[u8]) -> Result<String, String> {
    // The alphabet for addresses.
    let prior = base64(file).replace('+', "-").replace('/', "_");
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--timeout=120000",
        "--virtual-time-budget=60000",
    ]);
    let shown = process::run_quietly(
        browser
            .arg("--dump-dom")
            .arg(format!("file://{}#{DIALS}&prior={prior}", page.display())),
    )?;
    match attribute(&shown, "state").as_deref() {
        Ok("done") => Ok(shown),
        state => Err(format!("the page did not come to its end: {state:?}")),
    }
}

/// A number that the page shows under this name.
fn number(shown: &str, name: &str) -> Result<f64, String> {
    attribute(shown, name)?
        .parse()
        .map_err(|error: std::num::ParseFloatError| format!("{name}: {error}"))
}

/// Digests, ε, δ and regret of both.
fn compare(shown: &str, said: &str) -> Result<String, String> {
    for (id, method) in [("digest-alone", "ts"), ("digest-private", "dp-fts-de")] {
        let digest = element(shown, &format!("<code id=\"{id}\">"), "</code>")?;
        if !said.contains(&format!(
            "\"name\": \"{method}\",\n      \"digest\": \"{digest}\""
        )) {
            return Err(format!(
                "{method}: the page has the digest {digest}, the program another"
            ));
        }
    }
    let epsilon = number(shown, "epsilon")?;
    let delta = number(shown, "delta")?;
    for (name, value) in [("epsilon_pld", epsilon), ("delta", delta)] {
        let found = after(
            said,
            &format!("\"name\": \"{name}\",\n          \"value\": "),
        )?;
        if found != value {
            return Err(format!(
                "{name}: {value} in the page, {found} by the program"
            ));
        }
    }
    for (place, method) in [("regret0", "ts"), ("regret1", "dp-fts-de")] {
        let of = said
            .split(&format!("\"name\": \"{method}\""))
            .nth(1)
            .unwrap_or_default();
        let page = number(shown, place)?;
        let program = after(of, "\"name\": \"final_regret\",\n          \"mean\": ")?;
        // The program keeps five digits of every run.
        if !((page - program).abs() <= 1e-4 * program.abs()) {
            return Err(format!(
                "{method}: regret {page} in the page, {program} by the program"
            ));
        }
    }
    Ok(format!(
        "2 digests, ε = {epsilon} and δ equal to the program's"
    ))
}

/// The number behind the first occurrence of `mark`.
fn after(text: &str, mark: &str) -> Result<f64, String> {
    let rest = text
        .split(mark)
        .nth(1)
        .ok_or_else(|| format!("the program does not say {mark:?}"))?;
    let end = rest.find([',', '\n', '}']).unwrap_or(rest.len());
    rest[..end]
        .trim()
        .parse()
        .map_err(|error| format!("{mark:?}: {error}"))
}

/// What the page's root element has under `data-NAME`.
fn attribute(shown: &str, name: &str) -> Result<String, String> {
    element(shown, &format!("data-{name}=\""), "\"")
}

/// The text between two marks, as it was before it was written as HTML.
fn element(shown: &str, begin: &str, end: &str) -> Result<String, String> {
    let rest = shown
        .split(begin)
        .nth(1)
        .and_then(|rest| rest.split(end).next());
    let text = rest.ok_or_else(|| format!("the page does not hold {begin}"))?;
    Ok(text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Base64 with padding, RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, i| {
            word << 8 | u32::from(three.get(i).copied().unwrap_or(0))
        });
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= three.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }

    #[test]
    fn only_custom_sections_are_left_away() {
        let head = [0, b'a', b's', b'm', 1, 0, 0, 0];
        let long = [&[0, 0x82, 0x01][..], &[7; 130]].concat();
        let module = [&head[..], &[1, 2, 9, 9], &long, &[3, 1, 5]].concat();
        assert_eq!(
            without_names(&module).unwrap(),
            [&head[..], &[1, 2, 9, 9, 3, 1, 5]].concat()
        );
        assert!(without_names(&module[..20]).is_err() && without_names(b"no module").is_err());
    }

    #[test]
    fn a_page_that_differs_is_refused() {
        let shown = |epsilon: &str| {
            format!(
                "<html data-state=\"done\" data-epsilon=\"{epsilon}\" data-delta=\"0.5\" data-regret0=\"1\" \
                 data-regret1=\"2\"><code id=\"digest-alone\">aa</code><code id=\"digest-private\">bb</code>"
            )
        };
        let method = |name: &str, digest: &str, regret: u32| {
            format!(
                "      \"name\": \"{name}\",\n      \"digest\": \"{digest}\",\n          \"name\": \"final_regret\",\n          \
                 \"mean\": {regret}.0,\n"
            )
        };
        let losses = "          \"name\": \"epsilon_pld\",\n          \"value\": 1.5\n          \"name\": \"delta\",\n          \
                      \"value\": 0.5\n";
        let said =
            |private: &str| method("ts", "aa", 1) + &method("dp-fts-de", private, 2) + losses;
        assert!(compare(&shown("1.5"), &said("bb")).is_ok());
        assert!(
            compare(&shown("1.5"), &said("bc"))
                .is_err_and(|why| why.starts_with("dp-fts-de: the page has"))
        );
        assert!(
            compare(&shown("1.25"), &said("bb"))
                .is_err_and(|why| why.starts_with("epsilon_pld: 1.25"))
        );
    }
}

//! What a page of the documentation tells its reader to type, and which of it a test changes or
//! leaves out.

/// A command of a page, with the lines that a backslash continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it begins in the file, from 1.
    pub number: usize,
    /// The heading that it stands under.
    pub heading: String,
    /// The first line of its block.
    pub block: String,
    pub text: String,
    /// What a console shows below it.
    pub shown: Option<String>,
}

impl Line {
    /// A command that stands on no page.
    pub fn plain(text: &str) -> Line {
        let nowhere = || String::new();
        Line {
            number: 0,
            heading: nowhere(),
            block: nowhere(),
            text: text.to_owned(),
            shown: None,
        }
    }
}

/// The commands of the blocks `sh`, `bash` and `console`, in their order. Of a console, lines after
/// `$ ` are commands.
pub fn lines(text: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let mut language = None::<&str>;
    let mut heading = "";
    let mut block = None::<&str>;
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(fence) = line.strip_prefix("```") {
            language = if language.is_some() {
                None
            } else {
                Some(fence)
            };
            (block, is_open) = (None, false);
            continue;
        }
        match language {
            None => {
                heading = line
                    .strip_prefix('#')
                    .map_or(heading, |rest| rest.trim_start_matches('#').trim())
            }
            Some("sh" | "bash" | "console") => {
                let is_console = language == Some("console");
                let typed = if is_console {
                    line.strip_prefix("$ ")
                } else {
                    Some(line)
                };
                let last = found.last_mut();
                match (typed, last) {
                    (Some(more), Some(last)) if is_open => {
                        last.text.push_str(&format!(" {}", more.trim_start()))
                    }
                    (Some(typed), _) => found.push(Line {
                        number: index + 1,
                        heading: heading.to_owned(),
                        block: (*block.get_or_insert(typed)).to_owned(),
                        text: typed.to_owned(),
                        shown: is_console.then(String::new),
                    }),
                    (None, Some(last)) => last
                        .shown
                        .get_or_insert_default()
                        .push_str(&format!("{line}\n")),
                    (None, None) => {}
                }
                is_open = found.last().is_some_and(|last| last.text.ends_with('\\'));
                if let (true, Some(last)) = (is_open, found.last_mut()) {
                    last.text.pop();
                }
            }
            Some(_) => {}
        }
    }
    found.retain(|line| !line.text.trim().is_empty());
    found
}

/// How a test makes a command small, in words that any reader could type.
pub enum Change {
    /// These words in the place of those.
    Words {
        from: &'static str,
        to: &'static str,
        why: &'static str,
    },
    /// These words after a command that begins so.
    More {
        after: &'static str,
        more: &'static str,
        why: &'static str,
    },
}

/// What no test of this program runs.
pub struct LeftOut {
    /// How the line begins, or the first line, of one word, of a block that is left out as a whole.
    pub begins: &'static str,
    /// Why, and what runs it if anything does.
    pub why: &'static str,
}

/// A page, and what is special about it.
pub struct Page {
    /// From the repository's root.
    pub file: &'static str,
    /// What the page takes for granted: commands that are carried out before its first, and again
    /// wherever it begins anew.
    pub before: &'static [&'static str],
    /// Files that are the page's own blocks: the file, the language, and what the block holds.
    pub files: &'static [(&'static str, &'static str, &'static str)],
    /// Headings from which on the reader begins in a folder of its own.
    pub anew: &'static [&'static str],
    pub changes: &'static [Change],
    pub left_out: &'static [LeftOut],
}

/// The commands to run, as a test runs them.
///
/// **Errors**: changes, exceptions and headings that fit nothing on the page, and what has no
/// reason.
pub fn plan(page: &Page, text: &str) -> Result<Vec<Line>, String> {
    let mut changed = vec![false; page.changes.len()];
    let mut left = vec![false; page.left_out.len()];
    let mut planned = Vec::new();
    let all = lines(text);
    let begins = |name: &&&str| all.iter().any(|line| line.heading == **name);
    let missing = page.anew.iter().filter(|name| !begins(name));
    let missing: Vec<String> = missing.map(|name| format!("heading {name:?}")).collect();
    for mut line in all {
        let fits = |out: &LeftOut| {
            line.text.starts_with(out.begins)
                || line.block == out.begins && !out.begins.contains(' ')
        };
        if let Some(which) = page.left_out.iter().position(fits) {
            left[which] = true;
            continue;
        }
        line.text = without_comment(&line.text).to_owned();
        if line.text.is_empty() {
            continue;
        }
        for (change, used) in page.changes.iter().zip(&mut changed) {
            match change {
                Change::Words { from, to, .. } if line.text.contains(from) => {
                    line.text = line.text.replace(from, to)
                }
                Change::More { after, more, .. } if line.text.starts_with(after) => {
                    line.text = format!("{} {more}", line.text)
                }
                _ => continue,
            }
            *used = true;
        }
        planned.push(line);
    }
    let idle = page
        .changes
        .iter()
        .zip(&changed)
        .filter(|(_, used)| !**used)
        .map(|(change, _)| match change {
            Change::Words { from, .. } => format!("change of {from:?}"),
            Change::More { after, more, .. } => format!("change {more:?} after {after:?}"),
        });
    let gone = page
        .left_out
        .iter()
        .zip(&left)
        .filter(|(_, used)| !**used)
        .map(|(out, _)| format!("exception {:?}", out.begins));
    let idle: Vec<String> = idle.chain(gone).chain(missing).collect();
    if !idle.is_empty() {
        return Err(format!(
            "{}: no line of the page has to do with: {}",
            page.file,
            idle.join("; ")
        ));
    }
    let reasons = page.changes.iter().map(|change| match change {
        Change::Words { why, .. } | Change::More { why, .. } => *why,
    });
    match reasons
        .chain(page.left_out.iter().map(|out| out.why))
        .find(|why| why.len() < 15)
    {
        Some(why) => Err(format!("{}: {why:?} is no reason", page.file)),
        None => Ok(planned),
    }
}

/// A command without the comment at its end. No command of a page has ` #` in quotes.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    line.split(" #").next().unwrap_or_default().trim_end()
}

/// The one block of a language that holds this text.
pub fn block<'a>(text: &'a str, language: &str, holds: &str) -> Result<&'a str, String> {
    let fence = format!("```{language}\n");
    let blocks = text
        .split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let found: Vec<&str> = blocks.filter(|block| block.contains(holds)).collect();
    match found[..] {
        [block] => Ok(block),
        _ => Err(format!(
            "{holds:?} is in {} blocks of {language}",
            found.len()
        )),
    }
}

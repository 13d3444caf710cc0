//! How long a function may be and how short the text above an item: counted in tokens, so that
//! strings, macros and comments are what the compiler takes them for. And how long a line of a
//! comment may be, which rustfmt does not look at.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::over_sources;

/// A file that is longer is two concepts.
const FILE_TOKENS_MAX: usize = 6100;
/// A function whose body is longer cannot be seen at once.
const FUNCTION_TOKENS_MAX: usize = 1050;
/// A doc that is shorter is a riddle: characters of its text, without markers, lines joined.
const DOC_CHARACTERS_MIN: usize = 15;
/// A line of a comment that is longer is not read beside code: characters, with its indentation.
const COMMENT_CHARACTERS_MAX: usize = 100;
/// Written by `sordino prior export`, for a user and not for us.
const EXPORTED: &str = "firmware-example/ovens.rs";

/// Sees every token tree of a file, also inside macros, with those that follow it.
fn walk(tokens: TokenStream, see: &mut impl FnMut(&[TokenTree])) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        see(&trees[at..]);
        if let TokenTree::Group(group) = tree {
            walk(group.stream(), see);
        }
    }
}

fn tokens(path: &str, text: &str) -> TokenStream {
    text.parse()
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_punct(tree: Option<&TokenTree>, character: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

/// `fn name` … `{}`: its name, first line and the tokens of its body; nothing of pointers and of
/// functions without a body.
fn function(trees: &[TokenTree]) -> Option<(String, usize, usize)> {
    let [TokenTree::Ident(keyword), TokenTree::Ident(name), rest @ ..] = trees else {
        return None;
    };
    let mut body = rest.iter().take_while(|tree| !is_punct(Some(tree), ';'));
    let body = body.find_map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    })?;
    let line = keyword.span().start().line;
    (*keyword == "fn").then(|| (name.to_string(), line, weight(body.stream())))
}

/// Tokens, without those of doc comments: an explanation is not what makes code long.
fn weight(tokens: TokenStream) -> usize {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut count = 0;
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        if let Some((_, _, length)) = doc_line(&trees[at..]) {
            at += length;
            continue;
        }
        count += 1;
        if let TokenTree::Group(group) = tree {
            count += weight(group.stream());
        }
        at += 1;
    }
    count
}

fn check_file(path: &str, text: &str) -> Vec<String> {
    let count = weight(tokens(path, text));
    if count > FILE_TOKENS_MAX {
        return vec![format!(
            "{path}: {count} tokens, more than {FILE_TOKENS_MAX}"
        )];
    }
    Vec::new()
}

fn check_functions(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    walk(tokens(path, text), &mut |trees| {
        if let Some((name, line, count)) = function(trees)
            && count > FUNCTION_TOKENS_MAX
        {
            complaints.push(format!(
                "{path}:{line}: `{name}` has {count} tokens, more than {FUNCTION_TOKENS_MAX}"
            ));
        }
    });
    complaints
}

/// One line of a doc comment, `///`, `//!` or as the attribute that both are: its text, its line
/// and its trees.
fn doc_line(trees: &[TokenTree]) -> Option<(String, usize, usize)> {
    if !is_punct(trees.first(), '#') {
        return None;
    }
    let at = 1 + usize::from(is_punct(trees.get(1), '!'));
    let Some(TokenTree::Group(attribute)) = trees.get(at) else {
        return None;
    };
    let inner: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match &inner[..] {
        [TokenTree::Ident(doc), _, TokenTree::Literal(text)] if *doc == "doc" => {
            let line = text.span().start().line;
            Some((
                text.to_string()
                    .trim_start_matches('r')
                    .trim_matches('"')
                    .trim()
                    .to_owned(),
                line,
                at + 1,
            ))
        }
        _ => None,
    }
}

fn check_docs(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    // Trees of the doc that are still to be passed: it is judged once, from its first line.
    let mut passed = 0;
    walk(tokens(path, text), &mut |trees| {
        if passed > 0 {
            passed -= 1;
            return;
        }
        let mut at = 0;
        let mut whole = String::new();
        let mut first = None;
        while let Some((line_text, line, length)) = doc_line(&trees[at..]) {
            (whole, first) = (
                format!("{whole} {line_text}").trim().to_owned(),
                first.or(Some(line)),
            );
            at += length;
        }
        if let Some(line) = first
            && whole.chars().count() < DOC_CHARACTERS_MIN
        {
            complaints.push(format!(
                "{path}:{line}: `{whole}`: fewer than {DOC_CHARACTERS_MIN} characters"
            ));
        }
        // The trees after the first, and those inside of every attribute: the doc's brackets hold
        // three each.
        passed = trees[..at]
            .iter()
            .map(|tree| 1 + inside(tree))
            .sum::<usize>()
            .saturating_sub(1);
    });
    complaints
}

fn inside(tree: &TokenTree) -> usize {
    match tree {
        TokenTree::Group(group) => group
            .stream()
            .into_iter()
            .map(|tree| 1 + inside(&tree))
            .sum(),
        _ => 0,
    }
}

/// Lines of comments that are too long. A row of a table, a line of a code block and the target of
/// a link cannot be broken.
fn check_comments(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut in_block = false;
    for (at, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            in_block = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        let is_fence = comment.starts_with("```");
        in_block ^= is_fence;
        let is_target = comment.starts_with('[') && comment.contains("]: ");
        let may_be_long = in_block || is_fence || is_target || comment.starts_with('|');
        let count = line.chars().count();
        if count > COMMENT_CHARACTERS_MAX && !may_be_long && path != EXPORTED {
            complaints.push(format!(
                "{path}:{}: a comment of {count} characters, more than {COMMENT_CHARACTERS_MAX}",
                at + 1
            ));
        }
    }
    complaints
}

/// So many calls of three tokens, and a doc comment, which is none.
fn calls(count: usize) -> String {
    format!("/// Says enough of nothing.\n{}", "f();\n".repeat(count))
}

#[test]
fn files_are_short() {
    over_sources(check_file);
    let most = FILE_TOKENS_MAX / 3;
    assert!(check_file("x.rs", &calls(most)).is_empty());
    assert_eq!(check_file("x.rs", &calls(most + 1)).len(), 1);
}

#[test]
fn functions_are_short() {
    over_sources(check_functions);
    let of = |count: usize| {
        format!(
            "fn long<T>(x: [T; 2]) -> T\nwhere\n    T: Copy,\n{{\n{}}}\n",
            calls(count)
        )
    };
    let most = FUNCTION_TOKENS_MAX / 3;
    assert!(check_functions("x.rs", &of(most)).is_empty());
    assert_eq!(check_functions("x.rs", &of(most + 1)).len(), 1);
    let nested = format!("mod m {{\n    impl X {{\n{}    }}\n}}\n", of(most + 1));
    assert_eq!(check_functions("x.rs", &nested).len(), 1);
    let in_macro = format!("toy! {{\n{}}}\n", of(most + 1));
    assert_eq!(check_functions("x.rs", &in_macro).len(), 1);
    // No bodies, and braces that are none of a function's own.
    let good = format!(
        "trait X {{\n    fn f(&self) -> u32;\n{}}}\ntype F = fn(u32) -> u32;\nconst TEXT: &str = \"fn f() {{\";\n",
        "    const A: u32 = 0;\n".repeat(FUNCTION_TOKENS_MAX)
    );
    assert!(check_functions("x.rs", &good).is_empty());
}

#[test]
fn docs_say_something() {
    over_sources(check_docs);
    let bad = [
        "/// P.\npub fn count() {}\n",
        "struct X {\n    /// Its index.\n    index: u32,\n}\n",
        "//! Short.\n\nfn f() {}\n",
        "keys! {\n    /// M.\n    count: usize;\n}\n",
        "#[doc = \"A toy.\"]\nfn f() {}\n",
        "/// N.\n#[inline]\n/// M.\nfn f() {}\n/// A sentence that is long enough.\nfn g() {}\n/// Q.\nfn h() {}\n",
    ];
    let found: Vec<usize> = bad
        .iter()
        .map(|text| check_docs("x.rs", text).len())
        .collect();
    assert_eq!(found, [1, 1, 1, 1, 1, 3]);
    let good = "//! A file with a purpose.\n\n/// Two lines\n/// say enough.\nfn f() {}\n// P.\nfn g() {}\n\
                const TEXT: &str = \"/// P.\";\n#[allow(dead_code)]\nfn h() {}\n";
    assert_eq!(check_docs("x.rs", good), Vec::<String>::new());
}

#[test]
fn comments_fit_a_line() {
    over_sources(check_comments);
    let of = |marker: &str, count: usize| {
        let rest = count - marker.chars().count();
        format!("{marker}{}\n", "é".repeat(rest))
    };
    let most = COMMENT_CHARACTERS_MAX;
    for marker in ["// ", "    // ", "/// ", "//! ", "    /// * "] {
        assert!(check_comments("x.rs", &of(marker, most)).is_empty());
        assert_eq!(check_comments("x.rs", &of(marker, most + 1)).len(), 1);
    }
    for marker in ["/// | ", "//! [`a`]: ", "/// ```sh\n/// ", "let x = 1; // "] {
        assert!(check_comments("x.rs", &of(marker, most + 20)).is_empty());
    }
    // The block has an end, with its closing line or with the comment.
    for block in ["/// ```\n/// f();\n/// ```\n", "/// ```\nfn f() {}\n"] {
        let text = format!("{block}{}", of("// ", most + 1));
        assert_eq!(check_comments("x.rs", &text).len(), 1);
    }
}

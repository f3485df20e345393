//! Holds src/ to the order of rooms that ARCHITECTURE.md states: a room uses only rooms below it, no modules of one folder
//! use each other in a circle, and only the upper rooms know HTTP. Unit tests inside the files are exempt.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The path of a module, from the root of the crate.
type Module = Vec<String>;

#[test]
fn every_room_uses_only_rooms_below_it() {
    let tree = Tree::read();
    let levels = levels_of_architecture("rooms");
    let named: BTreeSet<_> = levels.iter().flatten().cloned().collect();
    assert_eq!(named, tree.children_of(&[]), "the rooms of ARCHITECTURE.md and of src/");
    let level = |room: &String| levels.iter().position(|rooms| rooms.contains(room));
    let mut uses = tree.uses_between_children_of(&[]);
    uses.retain(|(user, used)| level(user) >= level(used));
    assert!(uses.is_empty(), "each uses a room that is not below it: {uses:#?}");
}

#[test]
fn every_room_of_http_uses_only_rooms_below_it() {
    let (tree, http) = (Tree::read(), ["http".to_owned()]);
    let levels = levels_of_architecture("http-rooms");
    let named: BTreeSet<_> = levels.iter().flatten().cloned().collect();
    assert!(named.is_subset(&tree.children_of(&http)), "{named:?}");
    // A file without a level is below those that have one.
    let level = |room: &String| levels.iter().position(|rooms| rooms.contains(room));
    let mut uses = tree.uses_between_children_of(&http);
    uses.retain(|(user, used)| {
        level(used).is_some_and(|used| level(user).is_none_or(|user| user >= used))
    });
    assert!(uses.is_empty(), "each uses a room that is not below it: {uses:#?}");
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let tree = Tree::read();
    let mut circles = BTreeSet::new();
    for parent in &tree.modules {
        let mut uses = tree.uses_between_children_of(parent);
        // A module that uses no other, or that no other uses, is in no circle.
        loop {
            let before = uses.len();
            let users: BTreeSet<_> = uses.iter().map(|(user, _)| user.clone()).collect();
            let used: BTreeSet<_> = uses.iter().map(|(_, used)| used.clone()).collect();
            uses.retain(|(one, other)| users.contains(other) && used.contains(one));
            if uses.len() == before {
                break;
            }
        }
        for (user, used) in uses {
            circles.insert(format!("{}: {user} → {used}", parent.join("::")));
        }
    }
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn only_the_upper_rooms_and_outbound_know_http() {
    let crates =
        ["axum", "http", "http_body", "http_body_util", "hyper", "hyper_util", "tower_service"];
    let files = source_files();
    // `outbound` asks other servers. It does not know what Doorward answers.
    let outside = files.iter().filter(|(module, _)| {
        module
            .first()
            .is_some_and(|room| !["cli", "control", "http", "outbound"].contains(&room.as_str()))
    });
    let found: Vec<_> = outside
        .flat_map(|(module, code)| {
            let named = crates.into_iter().filter(|name| names_crate(code, name));
            named.map(|name| format!("{}: {name}", module.join("::")))
        })
        .collect();
    assert!(found.is_empty(), "each names a crate of HTTP: {found:#?}");
}

#[test]
fn a_crate_is_told_from_a_module_of_its_name() {
    for code in ["use axum::http::HeaderValue;", "let x = http::Method::GET;", "use hyper as h;"] {
        assert!(["axum", "http", "hyper"].iter().any(|name| names_crate(code, name)), "{code}");
    }
    for code in ["use crate::http::Error;", "use self::axum::x;", "let my_axum = 1; x.http();"] {
        assert!(!["axum", "http", "hyper"].iter().any(|name| names_crate(code, name)), "{code}");
    }
}

#[test]
fn every_use_is_read() {
    let text = "use crate::{Doorward, store::{self, users::UserStore as Users}, token};\nuse super::form;\n// crate::not\nlet x = crate::clock::now();";
    assert_eq!(
        paths_in(text),
        [
            "crate::Doorward",
            "crate::store::self",
            "crate::store::users::UserStore",
            "crate::token",
            "super::form",
            "crate::clock::now",
        ]
    );
}

/// The modules of the crate, and which modules each of them uses.
struct Tree {
    modules: BTreeSet<Module>,
    uses: BTreeSet<(Module, Module)>,
}

impl Tree {
    fn read() -> Self {
        let files = source_files();
        let modules: BTreeSet<Module> = files.keys().cloned().collect();
        let exported = exported_by_the_root(&files[&Vec::new()]);
        let mut uses = BTreeSet::new();
        for (module, text) in &files {
            for path in paths_in(text) {
                let absolute = absolute(&path, module);
                let absolute = match absolute.first().and_then(|name| exported.get(name)) {
                    Some(home) => home.clone(),
                    None => absolute,
                };
                let length = (0..=absolute.len())
                    .rev()
                    .find(|length| modules.contains(&absolute[..*length]));
                uses.insert((module.clone(), absolute[..length.unwrap_or(0)].to_vec()));
            }
        }
        Self { modules, uses }
    }

    fn children_of(&self, parent: &[String]) -> BTreeSet<String> {
        let below = self.modules.iter().filter_map(|module| module.strip_prefix(parent));
        below.filter_map(|rest| rest.first().cloned()).collect()
    }

    /// Which of a module's children use which others, they or what is in them.
    fn uses_between_children_of(&self, parent: &[String]) -> BTreeSet<(String, String)> {
        let child = |module: &Module| module.strip_prefix(parent)?.first().cloned();
        let pairs = self.uses.iter().filter_map(|(user, used)| Some((child(user)?, child(used)?)));
        pairs.filter(|(user, used)| user != used).collect()
    }
}

/// The code of each module.
fn source_files() -> BTreeMap<Module, String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    collect(&src, &mut Vec::new(), &mut files);
    files
}

/// Whether code names this crate: at the beginning of a path, or in a `use`.
fn names_crate(code: &str, name: &str) -> bool {
    let is_part_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        !before.ends_with(is_part_of_name)
            && (after.starts_with("::") || before.trim_end().ends_with("use"))
    })
}

/// Reads every source file below a folder, without its unit tests and comments.
fn collect(folder: &Path, module: &mut Module, files: &mut BTreeMap<Module, String>) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries.collect::<BTreeSet<PathBuf>>() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(name);
            collect(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && name != "main"
            && !name.ends_with("tests")
        {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code: String = text
                .lines()
                .map(|line| line.split("//").next().unwrap_or_default())
                .collect::<Vec<_>>()
                .join("\n");
            let mut module = module.clone();
            if name != "mod" && name != "lib" {
                module.push(name);
            }
            files.insert(module, code);
        }
    }
}

/// The paths that start with `crate::`, `super::` or `self::`, with groups in braces written out.
fn paths_in(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join(" ");
    let mut paths = Vec::new();
    let mut rest = code.as_str();
    while let Some(start) = ["crate::", "super::"].iter().filter_map(|root| rest.find(root)).min() {
        let is_visibility = rest[..start].ends_with("pub(in ");
        rest = &rest[start..];
        let end = end_of_path(rest);
        if !is_visibility {
            expand("", &rest[..end], &mut paths);
        }
        rest = &rest[end..];
    }
    paths
}

/// Where a path ends: behind its last name, or behind the brace that closes its group.
fn end_of_path(text: &str) -> usize {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return at,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ if depth > 0 || character.is_alphanumeric() || ['_', ':'].contains(&character) => {}
            _ => return at,
        }
    }
    text.len()
}

fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or_default().trim_end_matches(':');
        paths.push(format!("{prefix}{name}"));
        return;
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    let (mut depth, mut start) = (0, 0);
    for (at, character) in group.char_indices().chain([(group.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[start..at].trim().is_empty() {
                    expand(&format!("{prefix}{}", head.trim()), &group[start..at], paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// A path from the root of the crate.
fn absolute(path: &str, module: &Module) -> Module {
    let mut names = path.split("::").map(str::to_owned).filter(|name| name != "self").peekable();
    let mut absolute = Vec::new();
    if names.next_if_eq("crate").is_none() {
        absolute.clone_from(module);
        while names.next_if_eq("super").is_some() {
            absolute.pop();
        }
    }
    absolute.extend(names);
    absolute
}

/// Where the names live that the root of the crate exports.
fn exported_by_the_root(lib: &str) -> BTreeMap<String, Module> {
    let mut homes = BTreeMap::new();
    for export in lib.split("pub use self::").skip(1) {
        let mut paths = Vec::new();
        expand("", &export[..export.find(';').unwrap()], &mut paths);
        for path in paths {
            let names: Module = path.split("::").map(str::to_owned).collect();
            homes.insert(names.last().unwrap().clone(), names);
        }
    }
    homes
}

/// The levels of ARCHITECTURE.md, the uppermost first: the block with this mark.
fn levels_of_architecture(mark: &str) -> Vec<BTreeSet<String>> {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")).unwrap();
    let block = text.split(&format!("```{mark}\n")).nth(1).expect("a block with this mark");
    let block = block.split("```").next().unwrap_or_default();
    block.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

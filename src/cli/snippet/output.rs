//! Printing the files, or writing them into a folder.

use std::{fs, io, path::Path};

use anyhow::{Context, bail};

/// Prints all files, each below its name if there are several.
pub(super) fn print(files: &[(&str, String)]) {
    for (name, contents) in files {
        if files.len() > 1 {
            let comment = if name.ends_with(".lua") { "--" } else { "#" };
            print_line!("{comment} ---------- {name} ----------");
        }
        print_line!("{}", contents.trim_end());
    }
}

/// Writes all files, or none if one exists and differs.
pub(super) fn write(folder: &Path, files: &[(&str, String)], force: bool) -> anyhow::Result<()> {
    for (name, contents) in files {
        let path = folder.join(name);
        let differs = match fs::read(&path) {
            Ok(existing) => existing != contents.as_bytes(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        if differs && !force {
            bail!("{} exists and differs: use --force to overwrite it", path.display());
        }
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (name, contents) in files {
        let path = folder.join(name);
        fs::write(&path, contents).with_context(|| path.display().to_string())?;
        print_line!("{}", path.display());
    }
    Ok(())
}

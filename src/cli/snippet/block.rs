//! The parts of the files of `deploy/` that stand once for each guarded app.

/// A part of a file: a line and the lines that are indented below it.
pub(super) struct Block {
    /// A text that occurs once in the file, in the block.
    pub(super) anchor: &'static str,
    pub(super) start: Start,
}

/// The first line of a block.
pub(super) enum Start {
    /// The last line up to the anchor with this indentation.
    Indentation(usize),
    /// The line that the anchor is indented below.
    Parent,
}

impl Block {
    pub(super) const fn at(indentation: usize, anchor: &'static str) -> Self {
        Self { anchor, start: Start::Indentation(indentation) }
    }

    /// Replaces the block in a text. A text without the anchor stays as it is.
    pub(super) fn replace(&self, text: &str, write: impl FnOnce(&str) -> String) -> String {
        let Some((before, block, after)) = self.split(text) else { return text.to_owned() };
        format!("{before}{}{after}", write(block))
    }

    fn split<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
        let anchor = text.find(self.anchor)?;
        let lines: Vec<(usize, &str)> = text
            .split_inclusive('\n')
            .scan(0, |end, line| {
                let start = *end;
                *end += line.len();
                Some((start, line))
            })
            .collect();
        let at = lines.iter().rposition(|(start, _)| *start <= anchor)?;
        let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let is_first = |line: &str| {
            is_code(line)
                && match self.start {
                    Start::Indentation(wanted) => indentation(line) == wanted,
                    Start::Parent => indentation(line) < indentation(lines[at].1),
                }
        };
        let first = lines[..=at].iter().rposition(|(_, line)| is_first(line))?;
        let depth = indentation(lines[first].1);
        let is_inside = |line: &str| line.trim().is_empty() || indentation(line) > depth;
        let mut end = first + 1;
        while lines.get(end).is_some_and(|(_, line)| is_inside(line)) {
            end += 1;
        }
        let closes = |line: &str| line.trim() == "}" && indentation(line) == depth;
        if lines.get(end).is_some_and(|(_, line)| closes(line)) {
            end += 1;
        } else {
            while lines[end - 1].1.trim().is_empty() {
                end -= 1;
            }
        }
        let start = lines[first].0;
        let end = lines.get(end).map_or(text.len(), |(start, _)| *start);
        Some((&text[..start], &text[start..end], &text[end..]))
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_with_its_indentation_or_its_brace() {
        let text = "a {\n  b {\n    x;\n\n  }\n  c;\n}\n\nd:\n  - e\n\nf\n";
        let block = |block: Block| {
            let mut found = String::new();
            block.replace(text, |block| {
                found = block.to_owned();
                String::new()
            });
            found
        };
        assert_eq!(block(Block::at(2, "x;")), "  b {\n    x;\n\n  }\n");
        assert_eq!(block(Block { anchor: "x;", start: Start::Parent }), "  b {\n    x;\n\n  }\n");
        assert_eq!(block(Block::at(0, "c;")), "a {\n  b {\n    x;\n\n  }\n  c;\n}\n");
        assert_eq!(block(Block::at(2, "c;")), "  c;\n");
        assert_eq!(block(Block::at(0, "- e")), "d:\n  - e\n");
        assert_eq!(block(Block::at(0, "g")), "");
    }
}

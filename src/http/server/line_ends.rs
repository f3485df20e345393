//! Line feeds without a carriage return. hyper takes one in a head for the end of a line, and a proxy in front may not: both
//! would then see different requests (RFC 9112, section 2.2).

use super::connections::Phase;

/// What a connection has read last. At first, as after a line.
pub(super) struct LineEnds {
    last: [u8; Self::LAST],
}

/// Where a line feed without a carriage return is among new bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BareLineFeed {
    None,
    /// In a head, at this place.
    InHead(usize),
    /// In a body or in a later request.
    AfterHead,
}

impl LineEnds {
    /// The end of a head in which one byte is new, and the byte before it.
    const LAST: usize = HEAD_END.len();

    pub(super) fn new() -> Self {
        Self { last: [b'\n'; Self::LAST] }
    }

    /// Looks for a bare line feed among bytes that were read in this phase.
    pub(super) fn find(&mut self, new: &[u8], phase: Phase) -> BareLineFeed {
        let found = match has_bare_line_feed(self.last[Self::LAST - 1], new) {
            false => BareLineFeed::None,
            true => self.locate(new, phase),
        };
        let kept = new.len().min(Self::LAST);
        self.last.rotate_left(kept);
        self.last[Self::LAST - kept..].copy_from_slice(&new[new.len() - kept..]);
        found
    }

    fn locate(&self, new: &[u8], phase: Phase) -> BareLineFeed {
        // What was read before belongs to the same head only while a head arrives.
        let before = match phase {
            Phase::Body => return BareLineFeed::AfterHead,
            Phase::Head => &self.last[..],
            Phase::Answering | Phase::Writing | Phase::Idle => &[],
        };
        let bytes = [before, new].concat();
        // Empty lines before a request do not end its head.
        let start = bytes.iter().position(|b| !b"\r\n".contains(b)).unwrap_or(bytes.len());
        let end = bytes[start..].windows(HEAD_END.len()).position(|four| four == HEAD_END);
        let end = end.map_or(bytes.len(), |end| start + end + HEAD_END.len()) - before.len();
        let mut last = self.last[Self::LAST - 1];
        let bare = new[..end].iter().position(|b| {
            let last = std::mem::replace(&mut last, *b);
            *b == b'\n' && last != b'\r'
        });
        bare.map_or(BareLineFeed::AfterHead, BareLineFeed::InHead)
    }
}

const HEAD_END: &[u8] = b"\r\n\r\n";

/// Without an early end, so that it is compiled to vector instructions: every request comes here, and nearly none has one.
fn has_bare_line_feed(last: u8, new: &[u8]) -> bool {
    let Some((first, rest)) = new.split_first() else { return false };
    let is_bare = |last: u8, byte: u8| (byte == b'\n') & (last != b'\r');
    let among_rest =
        new.iter().zip(rest).fold(false, |found, (last, b)| found | is_bare(*last, *b));
    is_bare(last, *first) | among_rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the bytes in two parts, as the head of a new connection.
    fn found(bytes: &[u8], split: usize) -> BareLineFeed {
        let mut ends = LineEnds::new();
        match ends.find(&bytes[..split], Phase::Head) {
            BareLineFeed::None => ends.find(&bytes[split..], Phase::Head),
            found => found,
        }
    }

    #[test]
    fn a_bare_line_feed_in_a_head_is_found_however_it_arrives() {
        for head in [
            "GET / HTTP/1.1\nhost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a\n\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\n\n",
            "GET / HTTP/1.1\n\n",
            "\nGET / HTTP/1.1\r\n\r\n",
            "\r\n\r\nGET / HTTP/1.1\nhost: a\n\n",
            "GET / HTTP/1.1\r\na: b\nc: d\r\n\r\n{\n}",
        ] {
            for split in 0..=head.len() {
                let found = found(head.as_bytes(), split);
                assert!(matches!(found, BareLineFeed::InHead(_)), "{head:?} at {split}: {found:?}");
            }
        }
        assert_eq!(found(b"GET / HTTP/1.1\nhost: a\r\n\r\n", 0), BareLineFeed::InHead(14));
    }

    #[test]
    fn a_bare_line_feed_in_a_body_or_in_a_later_request_is_told_apart() {
        let head = "POST / HTTP/1.1\r\nhost: a\r\n\r\n";
        for after in ["{\n}", "\n", "{}GET / HTTP/1.1\nhost: a\n\n"] {
            let request = format!("\r\n{head}{after}");
            // Once the head is complete, the phase changes.
            for split in 0..request.len() - after.len() {
                let found = found(request.as_bytes(), split);
                assert_eq!(found, BareLineFeed::AfterHead, "{request:?} at {split}");
            }
        }
        let mut ends = LineEnds::new();
        assert_eq!(ends.find(b"GET / HTTP/1.1\r\n\r\n", Phase::Head), BareLineFeed::None);
        assert_eq!(ends.find(b"{\n}", Phase::Body), BareLineFeed::AfterHead);
        for phase in [Phase::Answering, Phase::Writing, Phase::Idle] {
            assert_eq!(ends.find(b"GET /\n", phase), BareLineFeed::InHead(5));
            assert_eq!(ends.find(b"\r\n\r\nGET /\n", phase), BareLineFeed::InHead(9));
        }
    }

    #[test]
    fn complete_lines_are_not_found_however_they_arrive() {
        let requests = b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n";
        for split in 0..=requests.len() {
            assert_eq!(found(requests, split), BareLineFeed::None, "{split}");
        }
        let mut ends = LineEnds::new();
        for byte in requests {
            assert_eq!(ends.find(&[*byte], Phase::Head), BareLineFeed::None);
        }
        assert_eq!(ends.find(b"", Phase::Head), BareLineFeed::None);
    }
}

//! A bounded queue of log lines and the thread that writes them, so that code that logs never waits for the reader.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// A bounded queue of log lines. A full queue drops and counts lines.
#[derive(Clone)]
pub(super) struct Queue {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the writing thread when there are lines.
    filled: Condvar,
    /// Wakes threads that wait until all lines are written.
    emptied: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<u8>,
    /// Bytes that the writing thread has taken and not yet written.
    in_flight: usize,
    /// Whether the writing thread waits for lines.
    idle: bool,
    dropped: Dropped,
}

#[derive(Default)]
struct Dropped {
    total: u64,
    /// How many of them have been reported.
    reported: u64,
}

impl State {
    fn length(&self) -> usize {
        self.lines.len() + self.in_flight
    }
}

impl Queue {
    /// Room for a burst of 20,000 lines.
    const MAX_BYTES: usize = 4 << 20;
    /// Reserved for warnings and errors.
    const RESERVE_BYTES: usize = 1 << 20;
    /// The size of one write. A slow reader frees the queue in steps of this size.
    const CHUNK_BYTES: usize = 64 << 10;
    /// How long the thread collects lines before it writes them. Waking up for each line would take as much CPU time as a
    /// look-up in PostgreSQL.
    const BATCH_DELAY: Duration = Duration::from_millis(5);

    /// Starts a thread that writes the lines of the queue to `sink`.
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let queue = Self { shared: Arc::default() };
        let writer = queue.clone();
        thread::Builder::new().name("log".into()).spawn(move || writer.write_to(sink))?;
        Ok(queue)
    }

    /// Waits until all lines are written, at most this long. Returns false if some are not.
    pub(super) fn flush(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        while state.length() > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.emptied.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// How many lines have been dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.state().dropped.total
    }

    /// Adds a line, or drops it if the queue would have more than `max_bytes`.
    fn add(&self, line: &[u8], max_bytes: usize) {
        let mut state = self.state();
        if state.length() + line.len() > max_bytes {
            state.dropped.total += 1;
            return;
        }
        state.lines.extend_from_slice(line);
        if mem::take(&mut state.idle) {
            self.shared.filled.notify_one();
        }
    }

    fn write_to(&self, mut sink: impl Write) {
        loop {
            let lines = self.next();
            for chunk in lines.chunks(Self::CHUNK_BYTES) {
                // There is nowhere to report that the log cannot be written.
                let lost = write_all(&mut sink, chunk).is_err();
                let mut state = self.state();
                state.in_flight -= chunk.len();
                if lost {
                    let lines = chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
                    state.dropped.total += lines;
                    // A report would not be written either.
                    state.dropped.reported += lines;
                }
            }
            self.report_dropped();
        }
    }

    /// Waits for lines and removes all of them from the queue.
    fn next(&self) -> Vec<u8> {
        self.wait_until_filled();
        thread::sleep(Self::BATCH_DELAY);
        let mut state = self.state();
        let lines = mem::take(&mut state.lines);
        state.in_flight = lines.len();
        lines
    }

    fn wait_until_filled(&self) {
        let mut state = self.state();
        while state.lines.is_empty() {
            self.shared.emptied.notify_all();
            state.idle = true;
            state = self.shared.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn report_dropped(&self) {
        let mut state = self.state();
        let dropped = state.dropped.total - state.dropped.reported;
        state.dropped.reported = state.dropped.total;
        drop(state);
        if dropped > 0 {
            tracing::warn!(dropped, "dropped log lines because the reader of the log is too slow");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes everything, even to a pipe that another process has made non-blocking.
fn write_all(sink: &mut impl Write, mut chunk: &[u8]) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(10);
    while !chunk.is_empty() {
        match sink.write(chunk) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => chunk = &chunk[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter { queue: self, max_bytes: Self::MAX_BYTES }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> LineWriter<'a> {
        let reserve = if *event.level() <= Level::WARN { 0 } else { Self::RESERVE_BYTES };
        LineWriter { queue: self, max_bytes: Self::MAX_BYTES - reserve }
    }
}

/// Adds one line to the queue. The subscriber writes each line with one call.
pub(super) struct LineWriter<'a> {
    queue: &'a Queue,
    max_bytes: usize,
}

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.queue.add(line, self.max_bytes);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const FLUSH_TIMEOUT: Duration = Duration::from_secs(30);

    /// A sink that blocks until it is opened, and sends what is written to it to the test.
    struct Gate {
        written: Sender<Vec<u8>>,
        open: Receiver<()>,
    }

    impl Write for Gate {
        fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
            // An error means that the opener was dropped: the sink stays open.
            let _ = self.open.recv();
            let _ = self.written.send(chunk.to_vec());
            Ok(chunk.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gated() -> (Queue, Sender<()>, Receiver<Vec<u8>>) {
        let ((written, read), (opener, open)) = (channel(), channel());
        (Queue::start(Gate { written, open }).unwrap(), opener, read)
    }

    #[test]
    fn a_burst_of_ten_thousand_lines_is_written_whole_and_in_order() {
        let (queue, opener, read) = gated();
        let line = |number: usize| format!("{number:0>200}\n").into_bytes();
        for number in 0..10_000 {
            queue.make_writer().write_all(&line(number)).unwrap();
        }
        assert_eq!(queue.dropped(), 0);
        drop(opener);
        assert!(queue.flush(FLUSH_TIMEOUT));
        let written: Vec<u8> = read.try_iter().flatten().collect();
        assert!(written == (0..10_000).flat_map(line).collect::<Vec<_>>());
    }

    #[test]
    fn without_a_reader_lines_are_dropped_and_logging_does_not_block() {
        let (queue, opener, read) = gated();
        let line = [b'x'; 1024];
        for _ in 0..5000 {
            queue.make_writer().write_all(&line).unwrap();
        }
        let kept = Queue::MAX_BYTES / line.len();
        assert_eq!(queue.dropped(), 5000 - kept as u64);
        assert!(!queue.flush(Duration::ZERO));
        drop(opener);
        assert!(queue.flush(FLUSH_TIMEOUT));
        assert_eq!(read.try_iter().map(|chunk| chunk.len()).sum::<usize>(), kept * line.len());
        queue.make_writer().write_all(&line).unwrap();
        assert!(queue.flush(FLUSH_TIMEOUT));
        assert_eq!(read.try_iter().map(|chunk| chunk.len()).sum::<usize>(), line.len());
    }
}

//! Runs the dialogue with a mail server on a thread of its own, so that nothing that a server sends can keep a thread busy that
//! answers requests. The thread exists while there is a mail to send or a connection.

use std::{
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Handle},
    sync::{Mutex, oneshot},
};

use super::{Failure, Progress, SendError, Smtp, Step, TransportError};
use crate::mail::{Composed, MailSettings, SmtpServer};

/// A mail server, and the thread that speaks with it.
pub(crate) struct SmtpThread {
    smtp: Arc<Mutex<Smtp>>,
    thread: Option<Thread>,
}

impl SmtpThread {
    pub(crate) fn new(server: SmtpServer, settings: &MailSettings) -> Result<Self, TransportError> {
        Ok(Self { smtp: Arc::new(Mutex::new(Smtp::new(server, settings)?)), thread: None })
    }

    pub(crate) fn report_to(&mut self, progress: Progress) {
        if let Some(smtp) = Arc::get_mut(&mut self.smtp) {
            smtp.get_mut().report_to(progress);
        }
    }

    pub(crate) async fn send(&mut self, mail: Composed) -> Result<(), SendError> {
        let smtp = Arc::clone(&self.smtp);
        let thread = self.thread().map_err(|error| {
            let text = format!("the system cannot start a thread: {error}");
            SendError::Unreachable(Failure::new(Step::Connect, text))
        })?;
        thread.run(async move { smtp.lock().await.send(&mail).await }).await
    }

    /// Closes a connection that nobody has used for this long. Without one, the thread ends.
    pub(crate) async fn close_if_idle(&mut self, idle: Duration, now: Instant) {
        let Some(thread) = &self.thread else { return };
        let smtp = Arc::clone(&self.smtp);
        let close = async move {
            let mut smtp = smtp.lock().await;
            smtp.close_if_idle(idle, now).await;
            smtp.is_connected()
        };
        if !thread.run(close).await {
            self.thread = None;
        }
    }

    pub(crate) async fn check(&self) -> Result<(), Failure> {
        self.smtp.lock().await.check().await
    }

    fn thread(&mut self) -> io::Result<&Thread> {
        match &mut self.thread {
            Some(thread) => Ok(thread),
            none => Ok(none.insert(Thread::start()?)),
        }
    }
}

/// A thread with a runtime that runs nothing else. It ends when this is dropped.
struct Thread {
    runtime: Handle,
    _stop: oneshot::Sender<()>,
}

impl Thread {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new().name("mail".into()).spawn(move || {
            // An error says that the sender was dropped.
            let _ = runtime.block_on(stopped);
            // A look-up of an address may still run on another thread.
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, _stop: stop })
    }

    /// Runs this on the thread to its end, even if the caller does not wait for it.
    async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        match self.runtime.spawn(work).await {
            Ok(done) => done,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_runs_on_the_thread_and_the_thread_ends_when_it_is_dropped() {
        let thread = Thread::start().unwrap();
        let name = thread.run(async { thread::current().name().map(str::to_owned) }).await;
        assert_eq!(name.as_deref(), Some("mail"));
        // Dropped with the runtime, which the thread owns.
        let (end, ended) = oneshot::channel::<()>();
        let runtime = thread.runtime.clone();
        drop(runtime.spawn(async move {
            let _end = end;
            std::future::pending::<()>().await;
        }));
        drop(thread);
        ended.await.unwrap_err();
    }
}

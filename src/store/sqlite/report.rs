//! What SQLite says about its file. The check for damage reads the whole file, so its time is limited.

use std::{fs, sync::mpsc, thread, time::Duration};

use rusqlite::{Connection, ErrorCode};

use crate::store::DatabaseReport;

/// The most time for the check. A reading connection is busy meanwhile; the other one serves requests.
const CHECK_LIMIT: Duration = Duration::from_secs(5);

pub(super) fn report(db: &Connection) -> rusqlite::Result<DatabaseReport> {
    let (damage, is_check_unfinished) = match check(db) {
        Ok(damage) => (damage, false),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            (Vec::new(), true)
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            (vec![error.to_string()], false)
        }
        Err(error) => return Err(error),
    };
    let log = db.path().map(|file| format!("{file}-wal"));
    Ok(DatabaseReport {
        version: format!("SQLite {}", rusqlite::version()),
        damage,
        is_check_unfinished,
        log_bytes: log.and_then(|log| fs::metadata(log).ok()).map(|log| log.len()),
        ..DatabaseReport::default()
    })
}

/// The first damages, if there are any.
fn check(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let (done, is_done) = mpsc::channel::<()>();
    let interrupt = db.get_interrupt_handle();
    let watch = thread::spawn(move || {
        if is_done.recv_timeout(CHECK_LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            interrupt.interrupt();
        }
    });
    let lines = (|| {
        let mut statement = db.prepare("PRAGMA quick_check(3)")?;
        let lines = statement.query_map([], |row| row.get(0))?;
        lines.collect::<rusqlite::Result<Vec<String>>>()
    })();
    // The thread ends before another statement could be interrupted.
    drop(done);
    let _ = watch.join();
    Ok(lines?.into_iter().filter(|line| line != "ok").collect())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::OpenOptions,
        io::{Seek, SeekFrom, Write},
    };

    use super::*;

    #[test]
    fn a_damaged_page_is_found_and_a_sound_file_is_not_suspected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("CREATE TABLE t (x TEXT); CREATE INDEX i ON t (x);").unwrap();
        for number in 0..2000 {
            db.execute("INSERT INTO t VALUES (?1)", [format!("row {number}")]).unwrap();
        }
        assert_eq!(report(&db).unwrap().damage, [""; 0]);
        drop(db);
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.seek(SeekFrom::End(-4096)).unwrap();
        file.write_all(&[0x5a; 4096]).unwrap();
        let report = report(&Connection::open(&path).unwrap()).unwrap();
        assert!(!report.damage.is_empty() && !report.is_check_unfinished, "{report:?}");
    }
}

//! Memory, CPU time and descriptors of the process, as far as the system tells.

use std::{fmt, fs, time::Duration};

use rustix::{
    process::{Resource, getrlimit},
    time::{ClockId, clock_gettime},
};

use super::Exposition;

pub(super) struct Process {
    cpu: Duration,
    /// `None` where there is no `/proc`.
    resident_bytes: Option<u64>,
    open_descriptors: Option<u64>,
    max_descriptors: Option<u64>,
}

impl Process {
    pub(super) fn read() -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let status = fs::read_to_string("/proc/self/status").ok();
        // The folder that is being read is open itself.
        let descriptors =
            fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64 - 1);
        Self {
            cpu: Duration::new(cpu.tv_sec.unsigned_abs(), u32::try_from(cpu.tv_nsec).unwrap_or(0)),
            resident_bytes: status.as_deref().and_then(resident_bytes),
            open_descriptors: descriptors,
            max_descriptors: getrlimit(Resource::Nofile).current,
        }
    }

    pub(super) fn write(&self, metrics: &mut Exposition<'_>) -> fmt::Result {
        metrics.fractional_counter(
            "process_cpu_seconds",
            "CPU time of the process in seconds",
            self.cpu.as_secs_f64(),
        )?;
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Memory of the process that is not paged out, in bytes",
                self.resident_bytes,
            ),
            ("process_open_fds", "Descriptors that are open", self.open_descriptors),
            ("process_max_fds", "Descriptors that may be open", self.max_descriptors),
        ] {
            if let Some(value) = value {
                metrics.gauge(name, help, value)?;
            }
        }
        Ok(())
    }
}

/// The line `VmRSS` of `/proc/self/status`.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_read_from_the_status() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t   10240 kB\nThreads:\t1\n"), Some(10 << 20));
        assert_eq!(resident_bytes("Name:\tx\n"), None);
    }
}

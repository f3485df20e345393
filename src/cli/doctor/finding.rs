//! What `doorward doctor` finds: each kind has a fixed name and a severity, and each finding says what to do.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// People cannot use the service, or it is not secure.
    Error,
    /// It works, and will cause trouble.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// The kinds of findings. `docs/commands.md` explains each.
macro_rules! kinds {
    ($($kind:ident $name:literal $severity:ident,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kind { $($kind,)+ }

        impl Kind {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The name, for programs and the documentation.
            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            pub(super) fn severity(self) -> Severity {
                match self { $(Self::$kind => Severity::$severity,)+ }
            }
        }
    };
}

kinds! {
    SettingsInvalid "settings-invalid" Error,
    VariableIgnored "variable-ignored" Warning,
    SettingsChanged "settings-changed" Warning,
    ServerNotRunning "server-not-running" Warning,
    ServerUnreachable "server-unreachable" Error,
    ServerNotReady "server-not-ready" Error,
    ServerVersion "server-version" Warning,
    ServerNotAnswering "server-not-answering" Error,
    OpenFiles "open-files" Warning,
    PortTaken "port-taken" Error,
    ExposedWithoutTls "exposed-without-tls" Error,
    ListenEverywhere "listen-everywhere" Warning,
    MetricsEverywhere "metrics-everywhere" Warning,
    TokenLifetime "token-lifetime" Warning,
    PublicUrlMissing "public-url-missing" Warning,
    PublicUrlPlain "public-url-plain" Error,
    PublicUrlUnreachable "public-url-unreachable" Error,
    PublicUrlElsewhere "public-url-elsewhere" Error,
    ProxyUntrusted "proxy-untrusted" Error,
    ProxyHidesClients "proxy-hides-clients" Error,
    ProxyForgeable "proxy-forgeable" Error,
    ProxiesTooWide "proxies-too-wide" Error,
    ProxyScheme "proxy-scheme" Warning,
    CertificateExpired "certificate-expired" Error,
    CertificateExpiresSoon "certificate-expires-soon" Warning,
    CertificateName "certificate-name" Error,
    CertificateUntrusted "certificate-untrusted" Error,
    ClockDatabase "clock-database" Error,
    ClockPublic "clock-public" Warning,
    ClockSetBack "clock-set-back" Warning,
    HashWeak "hash-weak" Warning,
    HashSlow "hash-slow" Warning,
    HashMemory "hash-memory" Error,
    FolderWritable "folder-writable" Error,
    FileReadable "file-readable" Error,
    FileOwner "file-owner" Error,
    SecretReadable "secret-readable" Error,
    SecretMissing "secret-missing" Error,
    SettingsWritable "settings-writable" Error,
    DiskReadOnly "disk-read-only" Error,
    DiskFull "disk-full" Error,
    DiskLow "disk-low" Warning,
    InodesLow "inodes-low" Warning,
    ReserveSpent "reserve-spent" Warning,
    NetworkFileSystem "network-file-system" Error,
    BackupMissing "backup-missing" Warning,
    BackupOld "backup-old" Warning,
    DatabaseUnavailable "database-unavailable" Error,
    DatabaseDamaged "database-damaged" Error,
    DatabaseLog "database-log" Warning,
    DatabaseSuperuser "database-superuser" Warning,
    SchemaOld "schema-old" Warning,
    DatabaseConnections "database-connections" Warning,
    StandbyMissing "standby-missing" Error,
    KeyMissing "key-missing" Error,
    KeyOld "key-old" Warning,
    AuditSecret "audit-secret" Error,
    CheckpointFile "checkpoint-file" Error,
    WitnessRefuses "witness-refuses" Error,
    WitnessUnreachable "witness-unreachable" Warning,
    MailMissing "mail-missing" Warning,
    MailUnreachable "mail-unreachable" Error,
    MailWaiting "mail-waiting" Warning,
    MailGivenUp "mail-given-up" Warning,
    GuardsChanged "guards-changed" Warning,
    GuardWarning "guard-warning" Warning,
    GuardBrowsers "guard-browsers" Warning,
    LoginUnusable "login-unusable" Error,
    LoginWarning "login-warning" Warning,
}

/// One finding.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    severity: Severity,
    name: &'static str,
    problem: String,
    advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, name, problem, advice } = self;
        write!(f, "{severity}: {problem} [{name}]\n    {advice}")
    }
}

/// What was checked, and what was found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    findings: Vec<Finding>,
    notes: Vec<String>,
    checked: Vec<String>,
}

impl Report {
    /// Adds a finding: what is wrong, and what to do.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let (name, severity) = (kind.name(), kind.severity());
        let (problem, advice) = (problem.into(), advice.into());
        self.findings.push(Finding { severity, name, problem, advice });
    }

    /// Whether there is a finding of this kind.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.findings.iter().any(|finding| finding.name == kind.name())
    }

    /// Records what is no mistake, but what an operator may not expect.
    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Records what was checked, or why it could not be.
    pub(super) fn checked(&mut self, what: impl Into<String>) {
        self.checked.push(what.into());
    }

    /// Sorts the findings: errors first.
    pub(super) fn finish(&mut self) {
        self.findings.sort_by_key(|finding| finding.severity);
    }

    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub(super) fn checks(&self) -> &[String] {
        &self.checked
    }

    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.findings.iter().map(|finding| finding.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_documented_with_its_severity() {
        let docs = include_str!("../../../docs/commands.md");
        for kind in Kind::ALL {
            let row = format!("\n| `{}` | {} | ", kind.name(), kind.severity());
            assert!(docs.contains(&row), "docs/commands.md has no row{row}");
        }
        let rows = docs
            .lines()
            .filter(|line| line.contains("` | error | ") || line.contains("` | warning | "));
        assert_eq!(rows.count(), Kind::ALL.len(), "docs/commands.md has a row too many");
    }

    #[test]
    fn errors_come_first() {
        let mut report = Report::default();
        report.add(Kind::DiskLow, "a", "b");
        report.add(Kind::DiskFull, "c", "d");
        report.finish();
        assert_eq!(report.names(), ["disk-full", "disk-low"]);
        assert_eq!(report.findings()[0].to_string(), "error: c [disk-full]\n    d");
    }
}

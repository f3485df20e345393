//! The browser and the system that a `User-Agent` header names.

use crate::language::Language;

/// What a person recognises a sign-in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The browser or program.
    pub program: Option<&'static str>,
    /// The system it runs on.
    pub system: Option<System>,
}

/// A system or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Windows,
    MacOs,
    Linux,
    ChromeOs,
    Android,
    IPhone,
    IPad,
}

impl System {
    /// Its name, the same in every language.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windows => "Windows",
            Self::MacOs => "macOS",
            Self::Linux => "Linux",
            Self::ChromeOs => "ChromeOS",
            Self::Android => "Android",
            Self::IPhone => "iPhone",
            Self::IPad => "iPad",
        }
    }
}

/// A browser names those that it is compatible with too, so the more specific ones come first.
const PROGRAMS: &[(&str, &str)] = &[
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("EdgiOS/", "Edge"),
    ("OPR/", "Opera"),
    ("OPT/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("YaBrowser/", "Yandex Browser"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("DuckDuckGo/", "DuckDuckGo"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("Wget/", "Wget"),
    ("HTTPie/", "HTTPie"),
    ("python-requests/", "Python"),
    ("python-httpx/", "Python"),
    ("Python-urllib/", "Python"),
    ("Go-http-client/", "Go"),
    ("okhttp/", "OkHttp"),
    ("PostmanRuntime/", "Postman"),
    ("node", "Node.js"),
];

/// An iPhone names macOS, Android names Linux, so the more specific ones come first.
const SYSTEMS: &[(&str, System)] = &[
    ("iPhone", System::IPhone),
    ("iPad", System::IPad),
    ("Android", System::Android),
    ("CrOS", System::ChromeOs),
    ("Windows", System::Windows),
    ("Macintosh", System::MacOs),
    ("Mac OS X", System::MacOs),
    ("Linux", System::Linux),
    ("X11", System::Linux),
];

impl Device {
    /// The device that a `User-Agent` header names.
    pub fn of(user_agent: &str) -> Self {
        let has = |mark: &str| user_agent.contains(mark);
        Self {
            program: PROGRAMS.iter().find(|(mark, _)| has(mark)).map(|(_, name)| *name),
            system: SYSTEMS.iter().find(|(mark, _)| has(mark)).map(|(_, system)| *system),
        }
    }

    /// The device in words, such as "Firefox on Linux".
    pub fn in_words(self, language: Language) -> String {
        match (self.program, self.system, language) {
            (Some(program), Some(system), Language::English) => {
                format!("{program} on {}", system.name())
            }
            (Some(program), Some(system), Language::German) => match system {
                System::IPhone | System::IPad => format!("{program} auf dem {}", system.name()),
                _ => format!("{program} unter {}", system.name()),
            },
            (Some(program), None, _) => program.into(),
            (None, Some(system), _) => system.name().into(),
            (None, None, Language::English) => "Unknown device".into(),
            (None, None, Language::German) => "Unbekanntes Gerät".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_in_words() {
        for (user_agent, english, german) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
                "Firefox on Linux",
                "Firefox unter Linux",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
                "Safari auf dem iPhone",
            ),
            (
                "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0.0.0 Mobile/15E148 Safari/604.1",
                "Chrome on iPad",
                "Chrome auf dem iPad",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
                "Edge on Windows",
                "Edge unter Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
                "Chrome on macOS",
                "Chrome unter macOS",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
                "Safari on macOS",
                "Safari unter macOS",
            ),
            (
                "Mozilla/5.0 (Linux; Android 14; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36",
                "Samsung Internet on Android",
                "Samsung Internet unter Android",
            ),
            (
                "Mozilla/5.0 (Android 14; Mobile; rv:128.0) Gecko/128.0 Firefox/128.0",
                "Firefox on Android",
                "Firefox unter Android",
            ),
            (
                "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
                "Chrome on ChromeOS",
                "Chrome unter ChromeOS",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 OPR/112.0.0.0",
                "Opera on Windows",
                "Opera unter Windows",
            ),
            ("curl/8.14.1", "curl", "curl"),
            ("python-requests/2.32.3", "Python", "Python"),
            ("Reports/3.1 (Linux)", "Linux", "Linux"),
            ("", "Unknown device", "Unbekanntes Gerät"),
            ("<script>alert(1)</script>", "Unknown device", "Unbekanntes Gerät"),
        ] {
            let device = Device::of(user_agent);
            assert_eq!(device.in_words(Language::English), english, "{user_agent}");
            assert_eq!(device.in_words(Language::German), german, "{user_agent}");
        }
    }
}

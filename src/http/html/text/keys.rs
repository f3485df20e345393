//! The texts of the page about API keys.

use crate::language::{Language, texts};

texts! {
    /// The texts about API keys in one language.
    pub struct KeyTexts {
        keys: "API keys", "API-Schlüssel";
        /// The words of the link to the page, and what it is for.
        show_keys: "Show and make keys", "Schlüssel ansehen und anlegen";
        keys_explanation:
            "With a key, a program of yours gets to your apps.",
            "Mit einem Schlüssel erreicht ein Programm von Ihnen Ihre Apps.";
        new_key: "New key", "Neuer Schlüssel";
        explanation:
            "A program that has the key gets to your apps as you, without your password. It can never do more than you.",
            "Ein Programm mit dem Schlüssel erreicht Ihre Apps in Ihrem Namen, ohne Ihr Passwort. Es darf nie mehr als Sie.";
        no_apps: "No app here takes keys.", "Hier nimmt keine App Schlüssel an.";
        name_hint:
            "What it is for, such as “Backup of the calendar”.",
            "Wofür er ist, zum Beispiel „Sicherung des Kalenders“.";
        for_app: "App", "App";
        every_app: "Every app that takes keys", "Jede App, die Schlüssel annimmt";
        valid_for: "Valid for", "Gültig für";
        create: "Make key", "Schlüssel anlegen";
        made:
            "This is your new key. Keep it where only your program reads it. It is not shown again.",
            "Das ist Ihr neuer Schlüssel. Bewahren Sie ihn dort auf, wo nur Ihr Programm ihn liest. Er wird nicht noch einmal gezeigt.";
        how_to_use:
            "Use it as the password, with any user name, or send it as a bearer token.",
            "Verwenden Sie ihn als Passwort mit einem beliebigen Benutzernamen, oder senden Sie ihn als Bearer-Token.";
        your_keys: "Your keys", "Ihre Schlüssel";
        your_keys_explanation:
            "A key that you revoke stops working at once.",
            "Ein zurückgezogener Schlüssel gilt sofort nicht mehr.";
        no_keys: "You have no keys.", "Sie haben keine Schlüssel.";
        more_keys:
            "There are more. They appear when others are gone.",
            "Es gibt weitere. Sie erscheinen, wenn andere weg sind.";
    }

    impl KeyTexts {
        days(count: u64): "{count} days", "{count} Tage";
        /// The time.
        expired(day: &str): "Expired {day}", "Abgelaufen {day}";
        revoked(day: &str): "Revoked {day}", "Zurückgezogen {day}";
        /// With the name of the key.
        revoke_key(name: &str): "Revoke: {name}", "Zurückziehen: {name}";
    }
}

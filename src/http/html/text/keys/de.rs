//! The texts about API keys in German.

use super::KeyTexts;

pub(in super::super) const TEXTS: KeyTexts = KeyTexts {
    keys: "API-Schlüssel",
    show_keys: "Schlüssel ansehen und anlegen",
    keys_explanation: "Mit einem Schlüssel erreicht ein Programm von Ihnen Ihre Apps.",
    new_key: "Neuer Schlüssel",
    explanation: "Ein Programm mit dem Schlüssel erreicht Ihre Apps in Ihrem Namen, ohne Ihr Passwort. Es darf nie mehr als Sie.",
    no_apps: "Hier nimmt keine App Schlüssel an.",
    name_hint: "Wofür er ist, zum Beispiel „Sicherung des Kalenders“.",
    for_app: "App",
    every_app: "Jede App, die Schlüssel annimmt",
    valid_for: "Gültig für",
    days: |count| format!("{count} Tage"),
    create: "Schlüssel anlegen",
    made: "Das ist Ihr neuer Schlüssel. Bewahren Sie ihn dort auf, wo nur Ihr Programm ihn liest. Er wird nicht noch einmal gezeigt.",
    how_to_use: "Verwenden Sie ihn als Passwort mit einem beliebigen Benutzernamen, oder senden Sie ihn als Bearer-Token.",
    your_keys: "Ihre Schlüssel",
    your_keys_explanation: "Ein zurückgezogener Schlüssel gilt sofort nicht mehr.",
    no_keys: "Sie haben keine Schlüssel.",
    more_keys: "Es gibt weitere. Sie erscheinen, wenn andere weg sind.",
    expired: |day| format!("Abgelaufen {day}"),
    revoked: |day| format!("Zurückgezogen {day}"),
    revoke_key: |name| format!("Zurückziehen: {name}"),
};

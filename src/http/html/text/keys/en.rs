//! The texts about API keys in English.

use super::KeyTexts;

pub(in super::super) const TEXTS: KeyTexts = KeyTexts {
    keys: "API keys",
    show_keys: "Show and make keys",
    keys_explanation: "With a key, a program of yours gets to your apps.",
    new_key: "New key",
    explanation: "A program that has the key gets to your apps as you, without your password. It can never do more than you.",
    no_apps: "No app here takes keys.",
    name_hint: "What it is for, such as “Backup of the calendar”.",
    for_app: "App",
    every_app: "Every app that takes keys",
    valid_for: "Valid for",
    days: |count| format!("{count} days"),
    create: "Make key",
    made: "This is your new key. Keep it where only your program reads it. It is not shown again.",
    how_to_use: "Use it as the password, with any user name, or send it as a bearer token.",
    your_keys: "Your keys",
    your_keys_explanation: "A key that you revoke stops working at once.",
    no_keys: "You have no keys.",
    more_keys: "There are more. They appear when others are gone.",
    expired: |day| format!("Expired {day}"),
    revoked: |day| format!("Revoked {day}"),
    revoke_key: |name| format!("Revoke: {name}"),
};

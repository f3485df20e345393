//! Entries of each system, and what is wrong with bad ones.

use serde_json::{Value, json};

use super::*;
use crate::{credential::password::FirebaseKeys, federation::LoginSet};

const BCRYPT: &str = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe";
const SIGNER_KEY: &str =
    "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==";
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn context() -> Context {
    let firebase = FirebaseKeys::parse(SIGNER_KEY, "Bw==", 8, 14);
    Context {
        source: "import".into(),
        hashes: HashOptions::default(),
        firebase,
        logins: ProviderLogins::new(&[], &LoginSet::default()).unwrap(),
    }
}

fn read(system: Option<System>, fields: Value) -> Result<UserRecord, Vec<Fault>> {
    let Value::Object(fields) = fields else { panic!("{fields}") };
    let mut notes = Notes::default();
    let raw = match system {
        Some(system) => system.read(fields, NOW).unwrap(),
        None => Raw::from_fields(fields, &mut notes),
    };
    raw.validate(&context(), &mut notes).map(|valid| valid.user)
}

fn hash(user: &UserRecord) -> &str {
    user.hash.as_ref().unwrap().as_str()
}

fn totp(user: &UserRecord) -> Option<&str> {
    user.totp_secret.as_ref().map(|secret| secret.as_str())
}

#[test]
fn a_secret_of_an_app_that_is_not_one_is_refused_and_not_repeated() {
    for secret in ["GEZDGNBV", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1", "otpauth://totp/x?secret=A"] {
        let faults = read(None, json!({"email": "a@example.com", "totpSecret": secret}));
        let [fault] = &faults.unwrap_err()[..] else { panic!("one fault") };
        assert_eq!(fault.field, "totpSecret");
        assert!(fault.problem.starts_with("is not a secret of 16 to 64 bytes in base32: "));
        assert!(!fault.problem.contains(secret));
    }
    assert_eq!(totp(&read(None, json!({"email": "a@b.co", "totpSecret": ""})).unwrap()), None);
}

#[test]
fn every_field_of_an_export_is_read() {
    let user = read(
        None,
        json!({
            "id": "0190a0a0-0000-4000-8000-00000000000A", "name": " Ada ", "email": "Ada@Example.com", "verified": true,
            "roles": ["staff", "admin"], "disabled": true, "createdAt": "2024-05-06T07:08:09.123Z",
            "updatedAt": 1_714_979_289_124_i64, "lastLoginAt": null, "hash": BCRYPT,
            "totpSecret": "gezd gnbv gy3t qojq gezd gnbv gy3t qojq",
        }),
    )
    .unwrap();
    assert_eq!(totp(&user), Some("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"));
    assert_eq!(user.id, "0190a0a0-0000-4000-8000-00000000000a");
    assert_eq!((user.name.as_str(), user.email.as_str()), ("Ada", "Ada@Example.com"));
    assert!(user.verified && user.disabled);
    assert_eq!(user.roles, ["staff", "admin"]);
    assert_eq!(
        (user.created_at, user.updated_at),
        (Some(1_714_979_289_123), Some(1_714_979_289_124))
    );
    assert_eq!((user.last_login_at, hash(&user)), (None, BCRYPT));
}

#[test]
fn names_of_fields_are_read_in_other_spellings() {
    let user = read(
        None,
        json!({
            "ID": 7, "Name": "Ada", "E-Mail": "ada@example.com", "email_verified": "yes", "Created At": "2024-05-06",
            "last_login_at": "", "Password_Hash": BCRYPT,
        }),
    );
    let user = user.unwrap();
    assert_eq!((user.name.as_str(), user.email.as_str()), ("Ada", "ada@example.com"));
    assert!(user.verified && user.created_at.is_some() && hash(&user) == BCRYPT);
    let both = json!({"address": "other@example.com", "email": "ada@example.com", "Email": ""});
    assert_eq!(read(None, both).unwrap().email, "ada@example.com");
    let mut notes = Notes::default();
    let Value::Object(fields) = json!({"mail": "a@example.com", "phone": "1"}) else { panic!() };
    Raw::from_fields(fields, &mut notes);
    assert_eq!(notes.ignored, ["mail", "phone"].map(str::to_owned).into());
}

#[test]
fn a_csv_file_without_addresses_is_refused_as_a_whole() {
    let check = |text, system| check_columns(&file::columns(text).unwrap(), system);
    check("id,EMAIL\n1,a@example.com\n", None).unwrap();
    check("Id,Email\n", Some(System::Aspnet)).unwrap();
    for (text, system) in [
        ("id,mail\n1,a@example.com\n", None),
        ("id,mail\n", None),
        ("id, mail\n\"not closed", Some(System::Supabase)),
    ] {
        let error = check(text, system).unwrap_err().to_string();
        let names_columns = error.ends_with("The columns are id, mail");
        assert!(error.starts_with("no column is called email") && names_columns, "{error}");
    }
}

#[test]
fn ids_that_are_no_uuids_become_the_same_uuid_each_time() {
    let id = |fields| read(None, fields).unwrap().id;
    let one = id(json!({"id": 7, "email": "a@example.com"}));
    // As uuid.uuid5 of Python computes it.
    assert_eq!(one, "05e340db-c5e4-59cc-8b8a-2f7aed526e09");
    assert_eq!(one, id(json!({"id": "7", "email": "b@example.com"})));
    assert_ne!(one, id(json!({"id": "8", "email": "a@example.com"})));
    let without = id(json!({"email": "A@example.com"}));
    assert_eq!(without, id(json!({"id": "", "email": "a@EXAMPLE.com"})));
}

#[test]
fn every_fault_of_a_line_is_reported_and_no_hash_is_shown() {
    let faults = read(
        None,
        json!({
            "id": [], "name": "x", "email": "nobody", "verified": "perhaps", "roles": "two/ok b@d",
            "createdAt": "soon", "hash": "$2b$10$tooshort",
        }),
    )
    .unwrap_err();
    let fields: Vec<_> = faults.iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["email", "name", "id", "roles", "verified", "createdAt", "hash"]);
    assert!(faults.iter().all(|fault| !fault.problem.contains("tooshort")), "{faults:?}");
    let faults = read(None, json!({"name": "Nobody"})).unwrap_err();
    assert_eq!(faults, [Fault::new("email", "is missing: add one, or remove the user")]);
}

#[test]
fn a_user_without_a_name_is_called_by_the_address() {
    let name = |email| read(None, json!({ "email": email })).unwrap().name;
    assert_eq!(name("ada@example.com"), "ada");
    assert_eq!(name("a@example.com"), "a@example.com");
}

#[test]
fn exports_of_other_systems_are_read() {
    let firebase = json!({
        "localId": "abc", "email": "ada@example.com", "emailVerified": true, "displayName": "Ada",
        "passwordHash": "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
        "salt": "42xEC+ixf3L2lw==", "createdAt": "1714979289123", "customAttributes": "{\"roles\":[\"staff\"]}",
    });
    let user = read(Some(System::Firebase), firebase).unwrap();
    assert!(hash(&user).starts_with("$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxsp") && user.verified);
    assert_eq!((user.roles, user.created_at), (vec!["staff".to_owned()], Some(1_714_979_289_123)));

    let django = json!({
        "model": "auth.user", "pk": 3, "fields": {
            "username": "ada", "first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com", "is_active": false,
            "password": format!("bcrypt${BCRYPT}"), "date_joined": "2024-05-06T07:08:09.123Z", "groups": [["staff"]],
        },
    });
    let user = read(Some(System::Django), django).unwrap();
    assert_eq!((user.name.as_str(), hash(&user), user.disabled), ("Ada Lovelace", BCRYPT, true));
    assert_eq!(user.roles, ["staff"]);
    let unclear = json!({"id": "3", "email": "ada@example.com", "is_active": "N"});
    assert!(read(Some(System::Django), unclear).is_err(), "a flag that cannot be read is a fault");
    let group = json!({"model": "auth.group", "pk": 1, "fields": {"name": "staff"}});
    let Value::Object(group) = group else { panic!() };
    assert!(System::Django.read(group, NOW).is_none());
    let row = json!({"id": "3", "username": "ada@example.com", "email": "ada@example.com", "password": "!x", "is_active": "t"});
    let user = read(Some(System::Django), row).unwrap();
    assert!(user.hash.is_none() && !user.disabled && user.name == "ada");

    let aspnet = json!({
        "Id": "0190a0a0-0000-4000-8000-00000000000a", "UserName": "ada", "Email": "ada@example.com", "EmailConfirmed": "True",
        "PasswordHash": "AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw", "LockoutEnd": "9999-12-31 00:00:00 +00:00",
    });
    let user = read(Some(System::Aspnet), aspnet).unwrap();
    assert!(hash(&user).starts_with("$pbkdf2-sha512$i=50,l=16$") && user.verified && user.disabled);

    for column in ["password", "passwordHash"] {
        let pocketbase = json!({
            "id": "abcdefghijklmno", "email": "ada@example.com", "name": "Ada", "verified": "1", column: BCRYPT,
            "created": "2024-05-06 07:08:09.123Z",
        });
        let user = read(Some(System::Pocketbase), pocketbase).unwrap();
        assert_eq!(
            (hash(&user), user.verified, user.created_at),
            (BCRYPT, true, Some(1_714_979_289_123))
        );
    }

    let supabase = json!({
        "id": "0190a0a0-0000-4000-8000-00000000000a", "email": "ada@example.com", "encrypted_password": BCRYPT,
        "email_confirmed_at": "2024-05-06 07:08:09.123456+00", "raw_user_meta_data": "{\"full_name\":\"Ada\"}",
        "raw_app_meta_data": "{\"provider\":\"email\"}", "banned_until": "2999-01-01 00:00:00+00",
    });
    let user = read(Some(System::Supabase), supabase).unwrap();
    assert_eq!((user.name.as_str(), user.verified, user.disabled), ("Ada", true, true));

    let keycloak = |data: &str, secret: &str| {
        json!({
            "id": "0190a0a0-0000-4000-8000-00000000000a", "username": "ada", "email": "ada@example.com", "emailVerified": true,
            "enabled": true, "createdTimestamp": 1_714_979_289_123_i64, "realmRoles": ["default-roles-x", "staff"],
            "credentials": [{"type": "otp"}, {"type": "password", "credentialData": data, "secretData": secret}],
        })
    };
    let secret =
        "{\"value\":\"pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0=\",\"salt\":\"c2FsdHNhbHQ=\"}";
    let data = "{\"hashIterations\":27500,\"algorithm\":\"pbkdf2-sha256\"}";
    let user = read(Some(System::Keycloak), keycloak(data, secret)).unwrap();
    assert!(hash(&user).starts_with("$pbkdf2-sha256$i=27500,l=32$c2FsdHNhbHQ$"), "{}", hash(&user));
    assert_eq!(user.roles, ["staff"]);
    let data = "{\"hashIterations\":5,\"algorithm\":\"argon2\",\"additionalParameters\":{\"hashLength\":[\"32\"],\
                \"memory\":[\"7168\"],\"type\":[\"id\"],\"version\":[\"1.3\"],\"parallelism\":[\"1\"]}}";
    let user = read(Some(System::Keycloak), keycloak(data, secret)).unwrap();
    assert!(
        hash(&user).starts_with("$argon2id$v=19$m=7168,t=5,p=1$c2FsdHNhbHQ$"),
        "{}",
        hash(&user)
    );
    let faults = read(Some(System::Keycloak), keycloak("{}", secret)).unwrap_err();
    assert_eq!(faults[0].field, "hash");
    assert_eq!(totp(&user), None);

    let app = |data: &str, secret: &str| {
        let fields = json!({
            "email": "ada@example.com",
            "credentials": [{"type": "otp", "credentialData": data, "secretData": secret}],
        });
        totp(&read(Some(System::Keycloak), fields).unwrap()).map(str::to_owned)
    };
    let usual =
        "\"subType\":\"totp\",\"digits\":6,\"counter\":0,\"period\":30,\"algorithm\":\"HmacSHA1\"";
    let secret = "{\"value\":\"12345678901234567890\"}";
    let expected = Some("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ".to_owned());
    assert_eq!(app(&format!("{{{usual}}}"), secret), expected);
    let encoded = format!("{{{usual},\"secretEncoding\":\"BASE32\"}}");
    let secret_in_base32 = "{\"value\":\"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\"}";
    assert_eq!(app(&encoded, secret_in_base32), expected);
    for (usual_part, other) in
        [("\"totp\"", "\"hotp\""), (":6,", ":8,"), (":30,", ":60,"), ("HmacSHA1", "HmacSHA256")]
    {
        let data = format!("{{{}}}", usual.replace(usual_part, other));
        assert_eq!(app(&data, secret), None, "{data}");
    }
}

#[test]
fn identities_of_the_own_format_are_checked() {
    let user = |identities: Value| {
        read(None, json!({"email": "a@example.com", "roles": "staff", "identities": identities}))
    };
    let full = json!({
        "login": "work", "issuer": "https://sso.example.com", "subject": "1", "display": "ada", "roles": ["staff"],
        "createdAt": "2024-05-06T07:08:09.123Z", "lastUsedAt": null,
    });
    for list in [json!([full]), json!(json!([full]).to_string())] {
        let identities = user(list).unwrap().identities;
        let [identity] = &identities[..] else { panic!("one identity") };
        let read = (identity.login.as_deref(), &*identity.issuer, &*identity.subject);
        assert_eq!(read, (Some("work"), "https://sso.example.com", "1"));
        assert_eq!((identity.created_at, identity.last_used_at), (Some(1_714_979_289_123), None));
        assert_eq!(
            (identity.display.as_deref(), &identity.roles[..]),
            (Some("ada"), &["staff".to_owned()][..])
        );
    }
    assert!(user(json!("")).unwrap().identities.is_empty());
    let of = |subject: &str| json!({"issuer": "https://a.example", "subject": subject});
    let many: Vec<_> = (0..6).map(|number| of(&number.to_string())).collect();
    for (identities, problem) in [
        (json!("x"), "is not a list of objects with issuer and subject"),
        (json!([{"subject": "1"}]), "is not a list of objects with issuer and subject"),
        (json!([{"issuer": "google", "subject": "1"}]), "has an issuer that is not a URL"),
        (json!([of("")]), "has a subject that is not 1 to 255 bytes long"),
        (json!([of(&"x".repeat(256))]), "has a subject that is not"),
        (
            json!([{"issuer": "https://a.example", "subject": "1", "login": "A"}]),
            "has a login that is not",
        ),
        (
            json!([{"issuer": "https://a.example", "subject": "1", "roles": ["admin"]}]),
            "gives a role that the user does not have",
        ),
        (json!([of("1"), of("2"), of("1")]), "has an identity twice"),
        (json!(many), "has more than 5 identities"),
    ] {
        let faults = user(identities).unwrap_err();
        let [fault] = &faults[..] else { panic!("{faults:?}") };
        assert!(fault.field == "identities" && fault.problem.starts_with(problem), "{fault:?}");
    }
}

#[test]
fn identities_in_exports_of_other_systems_are_read() {
    let email = "ada@example.com";
    let of_supabase = json!([
        {"provider": "email", "provider_id": "0190a0a0", "identity_data": {"sub": "0190a0a0"}},
        {"provider": "google", "provider_id": "1", "identity_data": {"sub": "1", "email": "ada@gmail.com"}},
        {"provider": "apple", "id": "2", "identity_data": {"sub": "2"}},
        {"provider": "azure", "provider_id": "3", "identity_data": {"sub": "3"}},
    ]);
    let of_pocketbase = json!([
        {"provider": "google", "providerId": "1"},
        {"provider": "apple", "providerId": 2},
        {"provider": "microsoft", "providerId": "3"},
    ]);
    for (system, fields, display) in [
        (
            System::Keycloak,
            json!({"email": email, "federatedIdentities": [
                {"identityProvider": "google", "userId": "1", "userName": "ada@gmail.com"},
                {"identityProvider": "apple", "userId": "2"},
                {"identityProvider": "microsoft", "userId": "3", "userName": "ada"},
            ]}),
            Some("ada@gmail.com"),
        ),
        (
            System::Supabase,
            json!({"email": email, "identities": of_supabase.to_string()}),
            Some("ada@gmail.com"),
        ),
        (
            System::Supabase,
            json!({"email": email, "identities": of_supabase}),
            Some("ada@gmail.com"),
        ),
        (
            System::Pocketbase,
            json!({"email": email, "externalAuths": of_pocketbase.to_string()}),
            None,
        ),
        (
            System::Firebase,
            json!({"email": email, "localId": "x", "providerUserInfo": [
                {"providerId": "password", "rawId": email, "email": email},
                {"providerId": "google.com", "rawId": "1", "email": "ada@gmail.com"},
                {"providerId": "apple.com", "rawId": "2"},
                {"providerId": "microsoft.com", "rawId": "3"},
            ]}),
            Some("ada@gmail.com"),
        ),
    ] {
        let (Value::Object(fields), mut notes) = (fields, Notes::default()) else { panic!() };
        let valid = system.read(fields, NOW).unwrap().validate(&context(), &mut notes).unwrap();
        let read: Vec<_> = valid
            .user
            .identities
            .iter()
            .map(|identity| {
                (identity.issuer.as_str(), identity.subject.as_str(), identity.display.as_deref())
            })
            .collect();
        let expected = [
            ("https://accounts.google.com", "1", display),
            ("https://appleid.apple.com", "2", None),
        ];
        assert_eq!(read, expected, "{system:?}");
        let left: Vec<_> =
            notes.left_out.into_iter().map(|((_, why), count)| (why, count)).collect();
        assert_eq!(left, [(provider::LeftOut::Microsoft, 1)], "{system:?}");
    }
}

#[test]
fn a_user_whose_address_id_or_identity_occurs_before_is_bad() {
    let user = |line, id: &str, email: &str| Located {
        position: Position::Line(line),
        user: read(None, json!({"id": id, "email": email})).unwrap(),
        is_id_derived: true,
    };
    let mut users = vec![
        user(2, "1", "a@example.com"),
        user(3, "1", "b@example.com"),
        user(4, "2", "A@example.com"),
    ];
    let mut bad = Vec::new();
    find_duplicates(&mut users, &mut bad);
    let bad: Vec<_> = bad.iter().map(|bad| (bad.position, bad.fault.field)).collect();
    assert_eq!(bad, [(Position::Line(3), "id"), (Position::Line(4), "email")]);
    assert_eq!(users.len(), 1);
    let with_identity = |line, subject: &str| {
        let identity = json!([{"issuer": "https://a.example", "subject": subject}]);
        let email = format!("{line}@example.com");
        let user = read(None, json!({"email": email, "identities": identity})).unwrap();
        Located { position: Position::Line(line), user, is_id_derived: true }
    };
    let mut users = vec![with_identity(2, "1"), with_identity(3, "2"), with_identity(4, "1")];
    let mut bad = Vec::new();
    find_duplicates(&mut users, &mut bad);
    let [bad] = &bad[..] else { panic!("one is bad") };
    assert_eq!((bad.position, bad.fault.field), (Position::Line(4), "identities"));
    assert!(bad.fault.problem.starts_with("has one that is the same as that of line 2: "));
}

#[test]
fn text_of_a_file_cannot_control_the_terminal() {
    let text = "id,\u{1b}]0;owned\u{7}\u{9b}2J,na\u{202e}me\n1,2,3\n";
    let error = check_columns(&file::columns(text).unwrap(), None).unwrap_err().to_string();
    assert!(error.ends_with("are id, \\u{1b}]0;owned\\u{7}\\u{9b}2J, na\\u{202e}me"), "{error}");
    let faults = read(None, json!({"email": "a@example.com", "name": "Ada\u{202e}ecalevoL"}));
    assert_eq!(
        faults.unwrap_err(),
        [Fault::new("name", "Invalid name: correct it, or leave it empty")]
    );
}

#[test]
fn a_file_of_very_many_columns_is_refused_and_many_fields_of_json_are_ignored() {
    let header = |columns: usize| {
        let names: Vec<_> = (1..columns).map(|number| format!("c{number}")).collect();
        format!("email,{}\na@example.com{}\n", names.join(","), ",".repeat(columns - 1))
    };
    let error = file::entries(&header(20_000), Format::Csv).err().unwrap().to_string();
    assert!(error.starts_with("the header has 20000 columns, at most 1000 are read"), "{error}");
    assert_eq!(file::entries(&header(1000), Format::Csv).unwrap().len(), 1);
    let mut notes = Notes::default();
    for _ in 0..20 {
        let fields = (0..20_000).map(|number| (format!("c{number}"), Value::Null));
        Raw::from_fields(fields.collect(), &mut notes);
    }
    assert_eq!(notes.ignored.len(), 20_000);
}

#[test]
fn an_export_of_auth0_is_read() {
    let user = read(
        None,
        json!({
            "_id": {"$oid": "60425dc43519d90068f82973"}, "email_verified": true, "email": "ada@example.com",
            "passwordHash": BCRYPT, "password_set_date": {"$date": "2021-03-05T16:35:16.775Z"}, "tenant": "dev",
            "connection": "Username-Password-Authentication", "_tmp_is_unique": true,
            "createdAt": {"$date": "2021-03-05T16:35:16.775Z"},
        }),
    )
    .unwrap();
    assert_eq!(
        user.id,
        read(None, json!({"id": "60425dc43519d90068f82973", "email": "x@example.com"})).unwrap().id
    );
    assert_eq!(
        (user.verified, hash(&user), user.created_at),
        (true, BCRYPT, Some(1_614_962_116_775))
    );
    let faults = read(None, json!({"_id": {"oid": 1}, "email": "ada@example.com"})).unwrap_err();
    assert_eq!(faults, [Fault::new("id", "is neither text nor a number")]);
}

#[test]
fn a_user_whose_id_somebody_else_has_is_bad() {
    let user = |line, id: &str| Located {
        position: Position::Line(line),
        user: read(None, json!({"id": id, "email": format!("{line}@example.com")})).unwrap(),
        is_id_derived: id.len() < 36,
    };
    let mut outcomes = vec![ImportOutcome::IdentityTaken { email: "ada@example.com".into() }];
    let (mut users, mut bad) = (vec![user(2, "1")], Vec::new());
    find_taken_ids(&mut users, &mut outcomes, &mut bad);
    assert!(users.is_empty() && outcomes.is_empty());
    assert_eq!(bad[0].fault.field, "identities");
    assert!(
        bad[0].fault.problem.starts_with("one is that of another user: ada@example.com has it: ")
    );
    let taken = || ImportOutcome::IdTaken { email: "ada@example.com".into() };
    let mut users =
        vec![user(2, "1"), user(3, "2"), user(4, "0190a0a0-0000-4000-8000-00000000000a")];
    let mut outcomes = vec![taken(), ImportOutcome::Added, taken()];
    let mut bad = Vec::new();
    find_taken_ids(&mut users, &mut outcomes, &mut bad);
    assert_eq!((users.len(), outcomes), (1, vec![ImportOutcome::Added]));
    let [derived, own] = &bad[..] else { panic!("{}", bad.len()) };
    assert_eq!((derived.position, own.position), (Position::Line(2), Position::Line(4)));
    assert!(
        derived
            .fault
            .problem
            .contains("ada@example.com has it: if the file is from another system")
    );
    assert!(!own.fault.problem.contains("--source"), "a UUID does not depend on it");
}

#[test]
fn faults_of_one_kind_differ_in_what_is_said_about_their_line_only() {
    let kind = |problem: &str| Fault::new("id", problem).kind();
    assert_eq!(
        kind("is the same as that of line 3: remove one of them"),
        "is the same as that of line"
    );
    assert_eq!(kind("has 3 columns, the header has 7"), kind("has 4 columns, the header has 7"));
    assert_eq!(kind("is that of another user: a@example.com has it"), "is that of another user");
    assert_ne!(kind("is missing: add one"), kind("is not an e-mail address: correct it"));
}

#[test]
fn a_source_has_no_colon_which_separates_it_from_the_id() {
    for name in ["shop", "shop-2.old_one"] {
        assert_eq!(parse_source(name), Ok(name.to_owned()));
    }
    for name in ["", "a:b", "a b", &"x".repeat(65)] {
        assert!(parse_source(name).is_err(), "{name}");
    }
}

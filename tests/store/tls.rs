//! Encrypted connections to PostgreSQL: which certificates each `sslmode` accepts.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
    process::Command,
};

use doorward::internals::store::{Error, PostgresOptions, PostgresUrl, Store};

use crate::own_postgres;

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .current_dir(folder)
        .args(arguments.split_whitespace())
        .output()
        .expect("openssl is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Two authorities, and a certificate of the first for `localhost` alone.
fn make_certificates(folder: &Path) {
    for authority in ["ours", "theirs"] {
        openssl(
            folder,
            &format!(
                "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={authority} -keyout {authority}.key \
                 -out {authority}.crt"
            ),
        );
    }
    openssl(
        folder,
        "req -newkey rsa:2048 -nodes -subj /CN=server -addext subjectAltName=DNS:localhost \
         -keyout server.key -out server.csr",
    );
    openssl(
        folder,
        "x509 -req -in server.csr -CA ours.crt -CAkey ours.key -CAcreateserial -days 2 \
         -copy_extensions copy -out server.crt",
    );
}

/// Turns encryption on, with the certificate in the folder.
async fn encrypt(url: &str, folder: &Path) {
    let (operator, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let row = operator.query_one("SHOW data_directory", &[]).await.unwrap();
    let data = Path::new(row.get::<_, &str>(0)).to_owned();
    let owner = fs::metadata(&data).unwrap();
    for file in ["server.crt", "server.key"] {
        let copy = data.join(file);
        fs::copy(folder.join(file), &copy).unwrap();
        chown(&copy, Some(owner.uid()), Some(owner.gid())).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    }
    operator.batch_execute("ALTER SYSTEM SET ssl = on").await.unwrap();
    operator.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    while operator.query_one("SHOW ssl", &[]).await.unwrap().get::<_, &str>(0) != "on" {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn try_to_open(url: &str) -> Result<Store, Error> {
    let url = PostgresUrl::parse(url).unwrap();
    Ok(Store::open_postgres(&url, PostgresOptions::default()).await?.0)
}

#[tokio::test]
async fn each_sslmode_accepts_only_the_certificates_that_it_should() {
    let Some(server) = own_postgres() else { return };
    let url = server.fresh_database();
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    encrypt(&url, folder.path()).await;
    let by_name = url.replace("127.0.0.1", "localhost");
    let roots = |authority: &str| {
        let file = folder.path().join(authority).display().to_string();
        format!("sslrootcert={}", file.replace('/', "%2F"))
    };
    let (ours, theirs) = (roots("ours.crt"), roots("theirs.crt"));
    for accepted in [
        format!("{url}?sslmode=disable"),
        format!("{url}?sslmode=prefer"),
        format!("{url}?sslmode=require"),
        format!("{url}?sslmode=verify-ca&{ours}"),
        format!("{by_name}?sslmode=verify-full&{ours}"),
    ] {
        let store = try_to_open(&accepted).await;
        assert!(!store.expect(&accepted).has_users().await.unwrap());
    }
    for (refused, cause) in [
        (format!("{url}?sslmode=verify-full&{ours}"), "certificate not valid for name"),
        (format!("{by_name}?sslmode=verify-full&{theirs}"), "UnknownIssuer"),
        (format!("{url}?sslmode=verify-ca&{theirs}"), "UnknownIssuer"),
        (format!("{by_name}?sslmode=verify-full"), "UnknownIssuer"),
    ] {
        let error = try_to_open(&refused).await.err().expect(&refused).to_string();
        assert!(error.contains(cause), "{refused}: {error}");
    }
    let missing = format!("{url}?sslmode=verify-ca&{}", roots("none.crt"));
    let error = try_to_open(&missing).await.err().unwrap().to_string();
    assert!(error.contains("sslrootcert: "), "{error}");
}

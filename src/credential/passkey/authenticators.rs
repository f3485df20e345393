//! Names of common authenticators, so that people recognise their passkeys in a list. An authenticator may claim to be any model:
//! nothing is decided by it.

use uuid::{Uuid, uuid};

/// The name of the model with this AAGUID, if it is a common one.
pub fn authenticator_name(aaguid: Uuid) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == aaguid).map(|(_, name)| *name)
}

const NAMES: &[(Uuid, &str)] = &[
    // Systems and browsers.
    (uuid!("fbfc3007-154e-4ecc-8c0b-6e020557d7bd"), "Apple Passwords"),
    (uuid!("dd4ec289-e01d-41c9-bb89-70fa845d4bf2"), "iCloud Keychain"),
    (uuid!("ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"), "Google Password Manager"),
    (uuid!("08987058-cadc-4b81-b6e1-30de50dcbe96"), "Windows Hello"),
    (uuid!("9ddd1817-af5a-4672-a2b9-3e3dd95000a9"), "Windows Hello"),
    (uuid!("6028b017-b1d4-4c02-b4b3-afcdafc96bb2"), "Windows Hello"),
    (uuid!("d3452668-01fd-4c12-926c-83a4204853aa"), "Microsoft Password Manager"),
    (uuid!("53414d53-554e-4700-0000-000000000000"), "Samsung Pass"),
    (uuid!("adce0002-35bc-c60a-648b-0b25f1f05503"), "Chrome on Mac"),
    (uuid!("771b48fd-d3d4-4f74-9232-fc157ab0507a"), "Edge on Mac"),
    (uuid!("b5397666-4885-aa6b-cebf-e52262a439a2"), "Chromium"),
    // Password managers.
    (uuid!("bada5566-a7aa-401f-bd96-45619a55120d"), "1Password"),
    (uuid!("d548826e-79b4-db40-a3d8-11116f7e8349"), "Bitwarden"),
    (uuid!("531126d6-e717-415c-9320-3d9aa6981239"), "Dashlane"),
    (uuid!("f3809540-7f14-49c1-a8b3-8f813b225541"), "Enpass"),
    (uuid!("eaecdef2-1c31-5634-8639-f1cbd9c00a08"), "KeePassDX"),
    (uuid!("fdb141b2-5d84-443e-8a35-4698c205a502"), "KeePassXC"),
    (uuid!("0ea242b4-43c4-4a1b-8b17-dd6d0b6baec6"), "Keeper"),
    (uuid!("b78a0a55-6ef8-d246-a042-ba0f6d55050c"), "LastPass"),
    (uuid!("b84e4048-15dc-4dd0-8640-f4f60813c8af"), "NordPass"),
    (uuid!("50726f74-6f6e-5061-7373-50726f746f6e"), "Proton Pass"),
    // Security keys.
    (uuid!("cb69481e-8ff7-4039-93ec-0a2729a154a8"), "YubiKey 5"),
    (uuid!("ee882879-721c-4913-9775-3dfcce97072a"), "YubiKey 5"),
    (uuid!("fa2b99dc-9e39-4257-8f92-4a30d23c4118"), "YubiKey 5 NFC"),
    (uuid!("2fc0579f-8113-47ea-b116-bb5a8db9202a"), "YubiKey 5 NFC"),
    (uuid!("a25342c0-3cdc-4414-8e46-f4807fca511c"), "YubiKey 5 NFC"),
    (uuid!("d7781e5d-e353-46aa-afe2-3ca49f13332a"), "YubiKey 5 NFC"),
    (uuid!("c5ef55ff-ad9a-4b9f-b580-adebafe026d0"), "YubiKey 5Ci"),
    (uuid!("73bb0cd4-e502-49b8-9c6f-b59445bf720b"), "YubiKey 5 FIPS"),
    (uuid!("c1f9a0bc-1dd2-404a-b27f-8e29047a43fd"), "YubiKey 5 NFC FIPS"),
    (uuid!("d8522d9f-575b-4866-88a9-ba99fa02f35b"), "YubiKey Bio"),
    (uuid!("90636e1f-ef82-43bf-bdcf-5255f139d12f"), "YubiKey Bio"),
    (uuid!("f8a011f3-8c0a-4d15-8006-17111f9edc7d"), "Security Key by Yubico"),
    (uuid!("b92c3f9a-c014-4056-887f-140a2501163b"), "Security Key by Yubico"),
    (uuid!("6d44ba9b-f6ec-2e49-b930-0c8fe920cb73"), "Security Key NFC by Yubico"),
    (uuid!("149a2021-8ef6-4133-96b8-81f8d5b7f1f5"), "Security Key NFC by Yubico"),
    (uuid!("a4e9fc6d-4cbe-4758-b8ba-37598bb5bbaa"), "Security Key NFC by Yubico"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_one_name_and_an_unknown_one_none() {
        for (aaguid, name) in NAMES {
            assert_eq!(authenticator_name(*aaguid), Some(*name), "{aaguid} is there twice");
        }
        assert_eq!(authenticator_name(Uuid::nil()), None);
    }
}

//! What an authenticator says about itself and a credential (WebAuthn Level 3, section 6.1).

use uuid::Uuid;

use super::cbor::{self, Value};

pub struct AuthenticatorData<'a> {
    pub rp_id_hash: &'a [u8; 32],
    pub flags: Flags,
    pub sign_count: u32,
    /// The new credential, of a registration.
    pub credential: Option<NewCredential<'a>>,
}

pub struct NewCredential<'a> {
    pub aaguid: Uuid,
    pub id: &'a [u8],
    /// A COSE key.
    pub public_key: &'a [u8],
}

#[derive(Clone, Copy)]
pub struct Flags(u8);

impl Flags {
    pub fn user_present(self) -> bool {
        self.has(0)
    }

    pub fn user_verified(self) -> bool {
        self.has(2)
    }

    pub fn backup_eligible(self) -> bool {
        self.has(3)
    }

    pub fn backed_up(self) -> bool {
        self.has(4)
    }

    fn has(self, bit: u8) -> bool {
        self.0 >> bit & 1 == 1
    }
}

impl<'a> AuthenticatorData<'a> {
    /// `None` if a part that the flags announce is missing or malformed, or something follows.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (rp_id_hash, rest) = bytes.split_first_chunk()?;
        let (&[flags], rest) = rest.split_first_chunk()?;
        let (sign_count, mut rest) = rest.split_first_chunk()?;
        let flags = Flags(flags);
        let mut credential = None;
        if flags.has(6) {
            let (aaguid, behind) = rest.split_first_chunk()?;
            let (length, behind) = behind.split_first_chunk()?;
            let (id, behind) = behind.split_at_checked(u16::from_be_bytes(*length).into())?;
            let (Value::Map(_), behind_key) = cbor::parse_first(behind)? else { return None };
            rest = behind_key;
            let public_key = &behind[..behind.len() - rest.len()];
            credential = Some(NewCredential { aaguid: Uuid::from_bytes(*aaguid), id, public_key });
        }
        if flags.has(7) {
            // The outputs of extensions. None is asked for.
            let (Value::Map(_), behind) = cbor::parse_first(rest)? else { return None };
            rest = behind;
        }
        let sign_count = u32::from_be_bytes(*sign_count);
        rest.is_empty().then_some(Self { rp_id_hash, flags, sign_count, credential })
    }
}

//! Pairwise masks: what sites add to their sums of messages so that a server reads totals alone.
//!
//! Two sites a, b with X25519 keys have a secret s in common, of which for each context
//!
//! ```text
//! key = HKDF-SHA256(s, salt = SALT, info = the smaller public key | the larger | length | context)
//! ```
//!
//! is the key of a ChaCha20 stream (RFC 8439; nonce and counter from 0). One site adds its 64-bit words to
//! its sum, the other subtracts them, modulo 2^64. The sum over all sites is free of masks; that over some of
//! them is uniform to whoever lacks a secret between one of these and one of the others.

use std::collections::HashSet;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};
use zeroize::Zeroizing;

use crate::error::{Error, filled};
use crate::noise::{NoiseError, fresh_key};

const SALT: &[u8] = b"curvedp pairwise masks 1";
/// Most words of a mask: far below where the stream's counter ends.
const MOST_WORDS: usize = 1 << 32;

/// A public key of a peer, and whether its words are added or subtracted.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its public key.
    pub public: [u8; 32],
    /// False to subtract.
    pub adds: bool,
}

/// The reason why a mask is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum MaskError {
    /// A mask of nobody is 0.
    #[error("a mask needs a peer: without one it hides nothing")]
    NoPeer,
    /// The common secret would be the same for every key.
    #[error("the public key of peer {0} is of low order: it has no secret in common with any key")]
    LowOrder(usize),
    /// The words of a peer that is named twice may cancel.
    #[error("the public key of peer {0} is that of an earlier peer")]
    Repeated(usize),
    /// Everybody who knows the public key has the same secret: none.
    #[error("the public key of peer {0} is this key's own")]
    Own(usize),
    /// Two sums with one mask tell their difference.
    #[error("this key has given a mask for the same context: a context serves once")]
    UsedContext,
}

/// An X25519 key pair. It is neither shown nor copied, and wiped when it is dropped.
pub struct MaskKey {
    secret: StaticSecret,
    public: [u8; 32],
    used: HashSet<Box<[u8]>>,
}

impl MaskKey {
    /// A fresh pair from the operating system.
    ///
    /// # Errors
    /// [`NoiseError::Entropy`] if the operating system gives no random bytes.
    pub fn fresh() -> Result<Self, NoiseError> {
        Ok(Self::from_secret(fresh_key()?))
    }

    /// The pair of 32 random bytes that the caller keeps. Which contexts the pair served before it was
    /// made anew is the caller's to know: two sums with one mask tell their difference.
    #[must_use]
    pub fn from_secret(secret: [u8; 32]) -> Self {
        let secret = StaticSecret::from(secret);
        let public = PublicKey::from(&secret).to_bytes();
        Self { secret, public, used: HashSet::new() }
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// Sum modulo 2^64 of the words that this site shares with each peer, added or subtracted.
    ///
    /// # Errors
    /// [`MaskError`]; [`Error::Parameter`] for a length above 2^32; [`Error::Memory`]. A context that was
    /// refused may be tried again.
    pub fn mask(
        &mut self,
        peers: &[Peer],
        context: &[u8],
        length: usize,
    ) -> Result<Vec<u64>, Error> {
        if length > MOST_WORDS {
            let (name, allowed) = ("length", "at most 2^32");
            return Err(Error::Parameter { name, allowed, value: length as f64 });
        }
        let shared = self.shared(peers)?;
        if self.used.contains(context) {
            return Err(MaskError::UsedContext.into());
        }
        let mut mask = filled(0, length)?;
        self.used.insert(context.into());
        for (peer, shared) in peers.iter().zip(&shared) {
            let (low, high) = (self.public.min(peer.public), self.public.max(peer.public));
            let size = (length as u64).to_le_bytes();
            let key = derived_key(SALT, shared.as_bytes(), &[&low, &high, &size, context]);
            add_words(&key, peer.adds, &mut mask);
        }
        Ok(mask)
    }

    fn shared(&self, peers: &[Peer]) -> Result<Vec<SharedSecret>, MaskError> {
        if peers.is_empty() {
            return Err(MaskError::NoPeer);
        }
        let mut shared = Vec::with_capacity(peers.len());
        for (i, peer) in peers.iter().enumerate() {
            if peer.public == self.public {
                return Err(MaskError::Own(i));
            }
            if peers[..i].iter().any(|other| other.public == peer.public) {
                return Err(MaskError::Repeated(i));
            }
            let secret = self.secret.diffie_hellman(&PublicKey::from(peer.public));
            if !secret.was_contributory() {
                return Err(MaskError::LowOrder(i));
            }
            shared.push(secret);
        }
        Ok(shared)
    }
}

/// The first 32 bytes of HKDF-SHA256 (RFC 5869).
fn derived_key(salt: &[u8], input: &[u8], info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let keyed =
        |key: &[u8]| Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    let extracted =
        Zeroizing::<[u8; 32]>::new(keyed(salt).chain_update(input).finalize().into_bytes().into());
    let mut mac = keyed(&*extracted);
    for part in info {
        mac.update(part);
    }
    mac.update(&[1]);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// Adds the words of a key's stream, or subtracts them.
fn add_words(key: &[u8; 32], adds: bool, out: &mut [u64]) {
    const WORDS: usize = 128;
    let mut cipher = ChaCha20::new(key.into(), &[0; 12].into());
    let mut bytes = Zeroizing::new([0; 8 * WORDS]);
    for part in out.chunks_mut(WORDS) {
        bytes.fill(0);
        cipher.apply_keystream(&mut bytes[..8 * part.len()]);
        for (to, word) in part.iter_mut().zip(bytes.as_chunks().0) {
            let word = u64::from_le_bytes(*word);
            *to = if adds { to.wrapping_add(word) } else { to.wrapping_sub(word) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        assert_eq!(hex.len(), 2 * N);
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
    }

    fn keys(count: u8) -> Vec<MaskKey> {
        (1..=count).map(|i| MaskKey::from_secret([i; 32])).collect()
    }

    /// Peers of site `own` among these keys: sites before it subtract.
    fn peers(public: &[[u8; 32]], own: usize) -> Vec<Peer> {
        let others = public.iter().enumerate().filter(|(i, _)| *i != own);
        others.map(|(i, public)| Peer { public: *public, adds: own < i }).collect()
    }

    fn masks(keys: &mut [MaskKey], context: &[u8], length: usize) -> Vec<Vec<u64>> {
        let public: Vec<_> = keys.iter().map(|key| *key.public()).collect();
        let each = keys.iter_mut().enumerate();
        each.map(|(i, key)| key.mask(&peers(&public, i), context, length).unwrap()).collect()
    }

    fn total(masks: &[Vec<u64>]) -> Vec<u64> {
        (0..masks[0].len())
            .map(|j| masks.iter().fold(0, |sum: u64, mask| sum.wrapping_add(mask[j])))
            .collect()
    }

    #[test]
    fn key_agreement_is_that_of_rfc_7748() {
        let alice = bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
        let bob = bytes("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
        let publics = [
            bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"),
            bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"),
        ];
        let common = bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        for (own, secret) in [alice, bob].into_iter().enumerate() {
            let key = MaskKey::from_secret(secret);
            assert_eq!(*key.public(), publics[own]);
            let peer = Peer { public: publics[1 - own], adds: true };
            assert_eq!(*key.shared(&[peer]).unwrap()[0].as_bytes(), common);
        }
    }

    #[test]
    fn derived_keys_are_those_of_rfc_5869() {
        let salt: [u8; 13] = std::array::from_fn(|i| i as u8);
        let info: [u8; 10] = std::array::from_fn(|i| 0xf0 + i as u8);
        let found = derived_key(&salt, &[0x0b; 22], &[&info[..4], &info[4..]]);
        let told = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf";
        assert_eq!(*found, bytes(told));
    }

    #[test]
    fn words_are_those_of_rfc_8439() {
        let told: [u8; 64] = bytes(
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7\
             da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        );
        let mut words = [0; 8];
        add_words(&[0; 32], true, &mut words);
        assert_eq!(words.map(u64::to_le_bytes).as_flattened(), told);
        add_words(&[0; 32], false, &mut words);
        assert_eq!(words, [0; 8]);
    }

    #[test]
    fn masks_of_all_cancel_and_those_of_some_do_not() {
        for count in [2, 5, 20] {
            let masks = masks(&mut keys(count), b"round 1", 300);
            assert_eq!(total(&masks), [0; 300]);
            assert!(total(&masks[1..]).iter().all(|word| *word != 0));
        }
    }

    #[test]
    fn all_that_a_mask_depends_on_changes_it() {
        let first = |first: u8, context: &[u8], length| {
            let mut keys = [MaskKey::from_secret([first; 32]), MaskKey::from_secret([9; 32])];
            masks(&mut keys, context, length)[0][0]
        };
        let found = [first(1, b"a", 8), first(2, b"a", 8), first(1, b"b", 8), first(1, b"a", 9)];
        let different: HashSet<_> = found.iter().collect();
        assert_eq!(different.len(), found.len());
        assert_eq!(found[0], first(1, b"a", 8));
    }

    #[test]
    fn points_of_low_order_are_refused() {
        let ends = |low: u8| {
            let mut point = [0xff; 32];
            (point[0], point[31]) = (low, 0x7f);
            point
        };
        let mut points = vec![
            [0; 32],
            std::array::from_fn(|i| u8::from(i == 0)),
            bytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
            bytes("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
            ends(0xec),
            ends(0xed),
            ends(0xee),
        ];
        points.extend(points.clone().into_iter().map(|mut point| {
            point[31] |= 0x80;
            point
        }));
        let good = *MaskKey::from_secret([2; 32]).public();
        let mut key = MaskKey::from_secret([1; 32]);
        for public in points {
            let peers = [good, public].map(|public| Peer { public, adds: true });
            assert_eq!(key.mask(&peers, b"", 4), Err(MaskError::LowOrder(1).into()), "{public:?}");
        }
        assert!(key.mask(&[Peer { public: good, adds: true }], b"", 4).is_ok());
    }

    #[test]
    fn masks_that_hide_nothing_are_refused() {
        let mut key = MaskKey::from_secret([1; 32]);
        let peer = |public, adds| Peer { public, adds };
        let (own, other) = (*key.public(), *MaskKey::from_secret([2; 32]).public());
        let cases: [(&[Peer], MaskError); 3] = [
            (&[], MaskError::NoPeer),
            (&[peer(other, true), peer(own, true)], MaskError::Own(1)),
            (&[peer(other, true), peer(other, false)], MaskError::Repeated(1)),
        ];
        for (peers, error) in cases {
            assert_eq!(key.mask(peers, b"1", 4), Err(error.into()));
        }
        assert!(key.mask(&[peer(other, true)], b"1", 4).is_ok());
        let again = key.mask(&[peer(other, true)], b"1", 4);
        assert_eq!(again, Err(MaskError::UsedContext.into()));
        assert!(key.mask(&[peer(other, true)], b"2", 4).is_ok());
        assert!(matches!(key.mask(&[], b"3", MOST_WORDS + 1), Err(Error::Parameter { .. })));
    }
}

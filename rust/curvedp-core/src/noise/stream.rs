//! The source of randomness: ChaCha20 (20 rounds) keyed by the operating system, in the original form
//! with a 64-bit nonce, which numbers sub-streams, and a 64-bit block counter.
//!
//! A [`Stream`] is made for one release and dropped with it. [`Stream::from_os`] asks the operating
//! system for a new key every time, so a forked child that draws a release after the fork shares no
//! key with its parent. Neither `Clone` nor `Debug` is implemented: a key is not shown or used
//! twice.

use super::{NoiseError, tails};
use crate::exact::Enclosure;
use chacha20::ChaCha20Legacy;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use rand::TryRng;
use rand::rand_core::Infallible;
use rand::rngs::SysRng;
use rand_distr::{Distribution, Exp1, StandardNormal};

/// A stream of random numbers.
pub struct Stream {
    rng: Keystream,
}

/// Bytes with which a stream may begin that were made together with those of others: [`starts`].
pub(super) const START: usize = 128;

/// 64-bit words of a keystream, made 16 blocks at a time: as many as the widest implementation of the
/// cipher computes together. The first time it is 4, since most streams give no more than a few words.
struct Keystream {
    key: [u8; 32],
    stream_id: u64,
    cipher: ChaCha20Legacy,
    bytes: [u8; Self::BYTES],
    /// Bytes made.
    end: usize,
    /// Bytes used of them.
    next: usize,
    /// Bytes made before and with them.
    made: u64,
}

impl Keystream {
    const BYTES: usize = 1024;
    const FIRST: usize = 256;

    #[inline(never)]
    fn refill(&mut self) {
        self.end = if self.end < Self::FIRST { Self::FIRST } else { Self::BYTES };
        self.bytes[..self.end].fill(0);
        self.cipher.apply_keystream(&mut self.bytes[..self.end]);
        self.next = 0;
        self.made += self.end as u64;
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        if self.next >= self.end {
            self.refill();
        }
        let word = self.bytes[self.next..].first_chunk().expect("words divide the buffer");
        self.next += 8;
        u64::from_le_bytes(*word)
    }
}

impl TryRng for Keystream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word() as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for part in out.chunks_mut(8) {
            part.copy_from_slice(&self.word().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

/// A fresh 256-bit key from the operating system.
///
/// # Errors
/// [`NoiseError::Entropy`] if the operating system gives none.
pub fn fresh_key() -> Result<[u8; 32], NoiseError> {
    let mut key = [0; 32];
    SysRng
        .try_fill_bytes(&mut key)
        .map_err(|error| NoiseError::Entropy { reason: error.to_string() })?;
    Ok(key)
}

impl Stream {
    /// A stream with a fresh key from the operating system.
    ///
    /// # Errors
    /// [`NoiseError::Entropy`] if the operating system gives no random bytes.
    pub fn from_os() -> Result<Self, NoiseError> {
        Ok(Self::from_key(fresh_key()?, 0))
    }

    /// Sub-stream `stream_id` of a key: the 2^64 sub-streams of a key do not overlap.
    #[must_use]
    pub fn from_key(key: [u8; 32], stream_id: u64) -> Self {
        let (cipher, bytes) = (cipher(&key, stream_id), [0; Keystream::BYTES]);
        Self { rng: Keystream { key, stream_id, cipher, bytes, end: 0, next: 0, made: 0 } }
    }

    /// Makes this the stream that [`Stream::from_key`] would return, in the same place: for the streams of
    /// many groups in turn.
    #[inline]
    pub fn restart(&mut self, key: &[u8; 32], stream_id: u64) {
        self.rng.cipher = cipher(key, stream_id);
        (self.rng.key, self.rng.stream_id) = (*key, stream_id);
        (self.rng.end, self.rng.next, self.rng.made) = (0, 0, 0);
    }

    /// [`Stream::restart`] with `start` before all else.
    #[inline]
    pub(super) fn restart_after(&mut self, start: &[u8; START], key: &[u8; 32], stream_id: u64) {
        self.restart(key, stream_id);
        self.rng.bytes[..START].copy_from_slice(start);
        (self.rng.end, self.rng.made) = (START, START as u64);
    }

    /// A stream that begins with at most 16 given words.
    #[cfg(test)]
    pub(super) fn after_words(words: &[u64]) -> Self {
        let mut start = [0x55; START];
        for (to, word) in start.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let mut stream = Self::from_key([0; 32], 0);
        stream.restart_after(&start, &[0; 32], 0);
        stream
    }

    /// A key for streams of their own, drawn from this one.
    pub fn child_key(&mut self) -> [u8; 32] {
        let mut key = [0; 32];
        key.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&self.bits().to_le_bytes()));
        key
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.rng.word()
    }

    /// A number that is uniform on (0, 1).
    #[inline]
    pub fn variable(&mut self) -> Variable {
        let rng = &self.rng;
        let number = (rng.made - (rng.end - rng.next) as u64) / 8;
        Variable {
            first: self.rng.word(),
            number,
            known: u32::MAX,
            #[cfg(test)]
            one_at: None,
        }
    }

    /// Uniform on the 2^52 odd multiples of 2^-53 in (0, 1): never 0 and never 1.
    #[inline]
    pub fn uniform_open(&mut self) -> f64 {
        uniform_open(self.bits())
    }

    /// Standard normal: ziggurat with exact wedges below 4, an exact tail from there to 40.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let z: f64 = StandardNormal.sample(&mut self.rng);
        if z.abs() < tails::NORMAL_TAIL { z } else { tails::normal_tail(self).copysign(z) }
    }

    /// Standard exponential: ziggurat with exact wedges, both ends in full. It goes from 2^-1000 to 700, and
    /// neighbouring values differ by less than 2^-40 of themselves.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        let e: f64 = Exp1.sample(&mut self.rng);
        if e < tails::EXPONENTIAL_HEAD {
            tails::exponential_head(self)
        } else if e < tails::EXPONENTIAL_TAIL {
            e
        } else {
            tails::exponential_tail(self)
        }
    }

    /// 1 or -1 with equal probability.
    #[inline]
    pub fn sign(&mut self) -> f64 {
        if self.bits() >> 63 == 0 { 1.0 } else { -1.0 }
    }

    /// Fills `out` with independent standard normals.
    #[inline]
    pub fn fill_normal(&mut self, out: &mut [f64]) {
        for x in out {
            *x = self.normal();
        }
    }
}

/// A number that is uniform on (0, 1), with as many bits as are asked for: after the first word come words far
/// behind in the keystream, in a place that is its own. So what is drawn later is the same whether they are
/// read or not.
#[derive(Clone, Copy)]
pub struct Variable {
    /// The first 64 bits.
    pub first: u64,
    /// Words of the stream before the first one.
    number: u64,
    /// Bits that can be known: more than there are, but in tests.
    known: u32,
    /// The number of zeros that it begins with, where a test says so.
    #[cfg(test)]
    one_at: Option<u32>,
}

/// Where the further words of variables begin in the keystream, in bytes.
const FURTHER: u64 = 1 << 62;

/// Bytes for the further words of a variable.
const FURTHER_BYTES: u64 = 8 * 64;

impl Variable {
    /// The first `words.len()` words of a variable of this stream, and the number of bits that can be known.
    pub(super) fn read(&self, stream: &Stream, words: &mut [u64]) -> u32 {
        words[0] = self.first;
        if words.len() > 1 && self.known > 64 {
            let mut bytes = [0; FURTHER_BYTES as usize];
            let bytes = &mut bytes[..8 * (words.len() - 1)];
            let mut cipher = cipher(&stream.rng.key, stream.rng.stream_id);
            cipher.seek(FURTHER + FURTHER_BYTES * self.number);
            cipher.apply_keystream(bytes);
            for (to, from) in words[1..].iter_mut().zip(bytes.as_chunks().0) {
                *to = u64::from_le_bytes(*from);
            }
        }
        #[cfg(test)]
        if let Some(zeros) = self.one_at.map(|zeros| zeros as usize) {
            let whole = (zeros / 64).min(words.len());
            words[..whole].fill(0);
            if let Some(word) = words.get_mut(zeros / 64) {
                *word = *word >> (zeros % 64) | 1 << 63 >> (zeros % 64);
            }
        }
        self.known
    }

    /// The first 64 bits; none if fewer can be known.
    #[inline]
    pub(super) fn first_word(&self, stream: &Stream) -> Option<u64> {
        let mut word = [0];
        (self.read(stream, &mut word) >= 64).then_some(word[0])
    }

    /// The number.
    pub(crate) fn at<const N: usize>(&self, stream: &Stream) -> Enclosure<N> {
        let mut words = [0; N];
        let known = self.read(stream, &mut words[..N - 1]);
        Enclosure::fraction(&words, known)
    }

    /// One that begins with zeros, a 1, and bits of its own.
    #[cfg(test)]
    pub(super) fn after_zeros(count: u32) -> Self {
        let first = if count < 64 { 1 << 63 >> count } else { 0 };
        Self { first, number: 77, known: u32::MAX, one_at: Some(count) }
    }

    /// The variable with its first bits alone, said to be `trust` more.
    #[cfg(test)]
    pub(super) fn shortened(&self, bits: u32, trust: u32) -> Self {
        Self { first: self.first >> (64 - bits) << (64 - bits), known: bits + trust, ..*self }
    }

    /// One of which only the first bits are known.
    #[cfg(test)]
    pub(crate) fn prefix(bits: u64, count: u32) -> Self {
        Self { first: bits << (64 - count), number: 0, known: count, one_at: None }
    }
}

/// Pieces `first..first + count` of [`START`] bytes of sub-stream `stream_id` of a key.
pub(super) fn starts(key: &[u8; 32], stream_id: u64, first: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; START * count];
    let mut cipher = cipher(key, stream_id);
    cipher.seek(START as u64 * first);
    cipher.apply_keystream(&mut bytes);
    bytes
}

fn cipher(key: &[u8; 32], stream_id: u64) -> ChaCha20Legacy {
    ChaCha20Legacy::new(key.into(), &stream_id.to_le_bytes().into())
}

/// The upper 52 of 64 random bits as an odd multiple of 2^-53.
#[inline(always)]
fn uniform_open(bits: u64) -> f64 {
    const TWO_MINUS_53: f64 = 1.0 / 9_007_199_254_740_992.0;
    ((bits >> 11) | 1) as f64 * TWO_MINUS_53
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniforms_stay_inside_the_open_interval() {
        assert!(uniform_open(0) > 0.0);
        assert!(uniform_open(u64::MAX) < 1.0);
        assert_eq!(uniform_open(1 << 63), 0.5 + 2f64.powi(-53));
    }

    #[test]
    fn fresh_keys_differ_and_sub_streams_differ() {
        assert_ne!(fresh_key().unwrap(), fresh_key().unwrap());
        let mut own = Stream::from_os().unwrap();
        let mut other = Stream::from_os().unwrap();
        assert_ne!(own.bits(), other.bits());
        let first: Vec<u64> = (0..4).map(|id| Stream::from_key([7; 32], id).bits()).collect();
        for i in 0..4 {
            for j in 0..i {
                assert_ne!(first[i], first[j]);
            }
        }
    }

    #[test]
    fn one_key_gives_one_sequence() {
        let mut a = Stream::from_key([1; 32], 5);
        let mut b = Stream::from_key([1; 32], 5);
        for _ in 0..1000 {
            assert_eq!(a.normal().to_bits(), b.normal().to_bits());
        }
    }

    /// First keystream words of ChaCha20 with zero key, counter and nonce (RFC 8439, A.1, vector
    /// 1).
    #[test]
    fn the_generator_is_chacha20() {
        let mut stream = Stream::from_key([0; 32], 0);
        assert_eq!(stream.bits(), 0x903d_f1a0_ade0_b876);
        assert_eq!(stream.bits(), 0x28bd_8653_e56a_5d40);
    }

    #[test]
    fn keystreams_are_those_of_an_independent_implementation() {
        use rand::{Rng, SeedableRng};
        for id in [0, 1, 77, u64::MAX] {
            let key = [id as u8 ^ 0x5a; 32];
            let mut other = rand_chacha::ChaCha20Rng::from_seed(key);
            other.set_stream(id);
            let mut own = Stream::from_key(key, id);
            for _ in 0..5000 {
                assert_eq!(own.bits(), other.next_u64());
            }
        }
    }

    #[test]
    fn a_restarted_stream_is_a_new_one() {
        let mut stream = Stream::from_key([9; 32], 7);
        for (words, id) in [(3, 1), (100, 2), (0, 3), (500, 1)] {
            stream.restart(&[1; 32], id);
            let mut other = Stream::from_key([1; 32], id);
            assert!((0..words).all(|_| stream.bits() == other.bits()));
        }
    }

    #[test]
    fn a_start_comes_before_the_sub_stream() {
        let (words, key) = (START / 8, [1; 32]);
        let mut stream = Stream::from_key([9; 32], 7);
        for (used, number) in [(3, 1), (100, 2), (0, 3), (500, 1)] {
            let start = starts(&key, 4, number, 1);
            stream.restart_after(start.first_chunk().unwrap(), &key, number);
            let mut all = Stream::from_key(key, 4);
            (0..number as usize * words).for_each(|_| _ = all.bits());
            assert!((0..words.min(used)).all(|_| stream.bits() == all.bits()));
            let mut rest = Stream::from_key(key, number);
            assert!((words..used).all(|_| stream.bits() == rest.bits()));
        }
    }

    #[test]
    fn starts_follow_one_another() {
        let all = starts(&[2; 32], 3, 0, 5);
        assert_eq!(all[2 * START..], starts(&[2; 32], 3, 2, 3));
    }

    #[test]
    fn moments_of_normal_exponential_and_sign() {
        let mut stream = Stream::from_key([3; 32], 0);
        let n = 400_000;
        let mut sums = [0.0; 6];
        for _ in 0..n {
            let (z, e, s, u) =
                (stream.normal(), stream.exponential(), stream.sign(), stream.uniform_open());
            for (sum, term) in
                sums.iter_mut().zip([z, z * z, z.powi(4), e - 1.0, e * e - 2.0, s + u - 0.5])
            {
                *sum += term / f64::from(n);
            }
        }
        let expected = [0.0, 1.0, 3.0, 0.0, 0.0, 0.0];
        let deviation = [1.0, 1.42, 9.8, 1.0, 4.5, 1.05];
        for k in 0..6 {
            assert!((sums[k] - expected[k]).abs() < 5.0 * deviation[k] / f64::from(n).sqrt());
        }
    }
}

//! Streams of many groups: numbered sub-streams of one fresh key, or keys derived from a secret.
//!
//! With a secret s, group g draws from the stream whose key is
//!
//! ```text
//! HMAC-SHA256(s, context | id | center | radius | scale | records)
//! ```
//!
//! each part preceded by its length in bytes, records as they were before projection. So a group's noise
//! is the same whenever the same records are released in the same way, and independent (as far as
//! HMAC-SHA256 is a pseudo-random function) as soon as a single bit of any of it differs: changed records
//! never meet old noise, and two groups never share any.

use std::ops::Range;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::stream::{START, Stream, starts};

/// Source of randomness of the groups of a batch.
pub enum GroupKeys {
    /// Every group has streams of its own from a key that is used for nothing else. Stream i begins with
    /// piece i of sub-stream 0, which is made for many groups at once, and goes on with sub-stream i + 1.
    Numbered([u8; 32]),
    /// Every group has a key of its own.
    Derived(DerivedKeys),
}

/// Keys derived from a secret; see the module's description.
pub struct DerivedKeys {
    keyed: Hmac<Sha256>,
}

/// Identity of a group.
#[derive(Clone, Copy)]
pub enum GroupId<'a> {
    /// By a name.
    Name(&'a [u8]),
    /// By its number.
    Number(u64),
}

/// All that a group's noise depends on, besides the secret and the context.
#[derive(Clone, Copy)]
pub struct GroupInput<'a> {
    /// The group's name.
    pub id: GroupId<'a>,
    /// Centre of its ball.
    pub center: &'a [f64],
    /// Radius of its ball.
    pub radius: f64,
    /// Scale of its noise.
    pub scale: f64,
    /// Its records, row by row.
    pub records: &'a [f64],
}

impl DerivedKeys {
    /// Keys for `secret`; `context` stands for all parameters that the groups share.
    #[must_use]
    pub fn new(secret: &[u8; 32], context: &[u8]) -> Self {
        let mut keyed = Hmac::new_from_slice(secret).expect("HMAC takes keys of any length");
        update(&mut keyed, context);
        Self { keyed }
    }

    fn key(&self, input: &GroupInput) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        match input.id {
            GroupId::Name(name) => update(&mut mac, name),
            GroupId::Number(number) => update(&mut mac, &number.to_le_bytes()),
        }
        update_floats(&mut mac, input.center);
        update_floats(&mut mac, &[input.radius]);
        update_floats(&mut mac, &[input.scale]);
        update_floats(&mut mac, input.records);
        mac.finalize().into_bytes().into()
    }
}

impl GroupKeys {
    /// Keys of a part of the call, independent of those of other parts; for calls that use these alone.
    #[must_use]
    pub fn part(&self, number: u64) -> Self {
        let told = |mut mac: Hmac<Sha256>| {
            update(&mut mac, b"part");
            update(&mut mac, &number.to_le_bytes());
            mac
        };
        match self {
            Self::Numbered(key) => {
                let keyed = Hmac::new_from_slice(key).expect("HMAC takes keys of any length");
                Self::Numbered(told(keyed).finalize().into_bytes().into())
            }
            Self::Derived(keys) => Self::Derived(DerivedKeys { keyed: told(keys.keyed.clone()) }),
        }
    }

    /// The streams of consecutive groups of the call, of which every one draws from `stages`.
    #[must_use]
    pub fn streams<'a>(
        &self,
        groups: Range<usize>,
        stages: u64,
        input: impl Fn(usize) -> GroupInput<'a>,
    ) -> GroupStreams {
        let source = match self {
            Self::Numbered(key) => {
                let (first, count) = (groups.start as u64 * stages, groups.len() * stages as usize);
                Source::Numbered { key: *key, first, starts: starts(key, 0, first, count) }
            }
            Self::Derived(keys) => {
                Source::Derived(groups.map(|group| keys.key(&input(group))).collect())
            }
        };
        GroupStreams { source, stages }
    }
}

/// Stream `number` of [`GroupKeys::Numbered`]: of stage s of group g, if all groups draw from S stages, it is
/// g S + s.
#[must_use]
pub fn numbered_stream(key: [u8; 32], number: u64) -> Stream {
    let starts = starts(&key, 0, number, 1);
    let source = Source::Numbered { key, first: number, starts };
    GroupStreams { source, stages: 1 }.stream(0, 0)
}

/// The streams of consecutive groups.
pub struct GroupStreams {
    source: Source,
    stages: u64,
}

enum Source {
    Numbered { key: [u8; 32], first: u64, starts: Vec<u8> },
    Derived(Vec<[u8; 32]>),
}

impl GroupStreams {
    /// The randomness of a stage of the i-th group.
    #[must_use]
    pub fn stream(&self, i: usize, stage: u64) -> Stream {
        let mut stream = Stream::from_key([0; 32], 0);
        self.restart(i, stage, &mut stream);
        stream
    }

    /// The same, in place of another stream.
    pub fn restart(&self, i: usize, stage: u64, stream: &mut Stream) {
        debug_assert!(stage < self.stages);
        match &self.source {
            Source::Numbered { key, first, starts } => {
                let number = i as u64 * self.stages + stage;
                let start = starts[START * number as usize..].first_chunk();
                let start = start.expect("a start for each stream");
                stream.restart_after(start, key, first + number + 1);
            }
            Source::Derived(keys) => stream.restart(&keys[i], stage),
        }
    }
}

fn update(mac: &mut Hmac<Sha256>, bytes: &[u8]) {
    mac.update(&(bytes.len() as u64).to_le_bytes());
    mac.update(bytes);
}

fn update_floats(mac: &mut Hmac<Sha256>, values: &[f64]) {
    const CHUNK: usize = 64;
    mac.update(&(8 * values.len() as u64).to_le_bytes());
    let mut bytes = [0; 8 * CHUNK];
    for chunk in values.chunks(CHUNK) {
        for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(chunk) {
            *bytes = value.to_le_bytes();
        }
        mac.update(&bytes[..8 * chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input<'a>(id: &'a [u8], records: &'a [f64]) -> GroupInput<'a> {
        let id = GroupId::Name(id);
        GroupInput { id, center: &[0.0, 1.0], radius: 0.5, scale: 0.1, records }
    }

    #[test]
    fn every_part_of_the_input_changes_the_noise() {
        let records = [1.0, 2.0, 3.0, 4.0];
        let first = |context: &[u8], secret: u8, input: GroupInput<'_>| {
            let keys = GroupKeys::Derived(DerivedKeys::new(&[secret; 32], context));
            keys.streams(0..1, 1, |_| input).stream(0, 0).bits()
        };
        let usual = || input(b"a", &records);
        let same = first(b"mean", 1, usual());
        assert_eq!(same, first(b"mean", 1, usual()));
        let changed = [1.0, 2.0, 3.0, f64::from_bits(4.0_f64.to_bits() + 1)];
        let longer = [1.0, 2.0, 3.0, 4.0, 0.0];
        let others = [
            first(b"mean", 2, usual()),
            first(b"means", 1, usual()),
            first(b"mean", 1, input(b"b", &records)),
            first(b"mean", 1, input(b"", &records)),
            first(b"mean", 1, input(b"a", &changed)),
            first(b"mean", 1, input(b"a", &longer)),
            first(b"mean", 1, input(b"a", &records[..3])),
            first(b"mean", 1, GroupInput { center: &[1.0, 0.0], ..usual() }),
            first(b"mean", 1, GroupInput { radius: 0.6, ..usual() }),
            first(b"mean", 1, GroupInput { scale: 0.2, ..usual() }),
        ];
        for (i, other) in others.iter().enumerate() {
            assert_ne!(same, *other, "{i}");
            assert!(others[..i].iter().all(|x| x != other), "{i}");
        }
    }

    #[test]
    fn parts_cannot_be_moved_from_one_to_the_next() {
        let keys = |context: &[u8]| GroupKeys::Derived(DerivedKeys::new(&[7; 32], context));
        let first =
            |context, id| keys(context).streams(0..1, 1, |_| input(id, &[])).stream(0, 0).bits();
        let ab = first(b"a", b"b");
        assert_ne!(ab, first(b"ab", b""));
        assert_ne!(ab, first(b"", b"ab"));
    }

    #[test]
    fn numbered_groups_draw_from_streams_of_their_own_however_they_are_cut() {
        let keys = GroupKeys::Numbered([3; 32]);
        let streams = |groups| keys.streams(groups, 3, |_| input(b"", &[]));
        let (all, part) = (streams(0..6), streams(2..6));
        let mut seen = Vec::new();
        for (group, stage) in [(2, 0), (2, 1), (2, 2), (3, 0), (5, 2)] {
            let (mut whole, mut other) = (all.stream(group, stage), part.stream(group - 2, stage));
            let mut numbered = numbered_stream([3; 32], 3 * group as u64 + stage);
            let words: Vec<u64> = (0..100).map(|_| whole.bits()).collect();
            assert!(words.iter().all(|w| *w == other.bits() && *w == numbered.bits()));
            seen.extend(words);
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }
}

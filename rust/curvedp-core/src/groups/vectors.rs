//! Noise for a vector of each group, such as a count of its records.

use super::Groups;
use crate::error::Error;
use crate::exact::Effort;
use crate::noise::{GroupKeys, Profile, Stream, add_on_grid};
use crate::parallel::{Interrupt, for_rows};

/// Groups in a task.
const TASK: usize = 256;

/// Adds noise to a vector of `width` numbers for each group, on a grid: law and step of `laws` that the group's
/// design has the number of; none where it has no design. The randomness is that of the only stage of the groups.
///
/// # Panics
/// If there are fewer laws than designs in use, or no vector of that width for each group.
pub fn add_to_vectors(
    groups: &Groups,
    laws: &[(Profile, f64)],
    keys: &GroupKeys,
    (vectors, width): (&mut [f64], usize),
    interrupt: Interrupt,
) -> Result<(), Error> {
    assert!(vectors.len() == groups.count() * width, "a vector for each group");
    let effort = if groups.count() == 1 { Effort::Steady } else { Effort::Least };
    for_rows(vectors, width, TASK, interrupt, |first, part| {
        let streams =
            keys.streams(first..first + part.len() / width, 1, |group| groups.input(group));
        let mut stream = Stream::from_key([0; 32], 0);
        for (i, vector) in part.chunks_exact_mut(width).enumerate() {
            if let Ok(own) = usize::try_from(groups.choice[first + i]) {
                let (profile, step) = laws[own];
                streams.restart(i, 0, &mut stream);
                add_on_grid(profile, vector, step, &mut stream, effort);
            }
        }
    })
}

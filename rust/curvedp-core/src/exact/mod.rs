//! Decisions about real numbers: a number is enclosed in an interval with integers at its ends, and what the
//! interval does not decide is asked again with more words (docs/proofs/exact-draws.md).
//!
//! All of it is integer arithmetic. Doubles and a library of functions only guess where to look; a bad guess
//! makes an enclosure wide, not wrong.

mod enclosure;
pub mod entries;
mod functions;
pub mod matrices;
#[cfg(test)]
mod tests;

pub use enclosure::Enclosure;

/// An enclosure is too wide to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided;

/// A question about real numbers that are known to any precision.
pub trait Question {
    /// What it decides.
    type Answer;

    /// The answer, if enclosures of N words decide it.
    ///
    /// # Errors
    /// [`Undecided`] if they do not.
    fn ask<const N: usize>(&self) -> Result<Self::Answer, Undecided>;
}

/// Words of the widest enclosures.
pub const MOST_WORDS: usize = 32;

/// Where the answer to a question is sought first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// In three words, and nothing that could be skipped is: the same steps whatever the answer, except with a
    /// probability of about 2^-60 and for wide noise on hyperbolic space and matrices, which takes other steps or
    /// more words.
    Steady,
    /// In doubles or two words, and only where nothing cheaper decides.
    Least,
}

/// The answer to a question about random numbers, which does not depend on the effort.
///
/// # Panics
/// If [`MOST_WORDS`] words do not decide: for each question that is asked, an event of probability below 2^-100
/// (docs/proofs/exact-draws.md, "Completeness").
pub fn decide<Q: Question>(question: &Q, effort: Effort) -> Q::Answer {
    try_decide(question, effort).expect("the widest enclosures decide")
}

/// The answer to a question about public numbers, for which there may be none.
///
/// # Errors
/// [`Undecided`] if [`MOST_WORDS`] words do not decide.
pub fn try_decide<Q: Question>(question: &Q, effort: Effort) -> Result<Q::Answer, Undecided> {
    let first = match effort {
        Effort::Least => question.ask::<2>(),
        Effort::Steady => Err(Undecided),
    };
    first
        .or_else(|_| question.ask::<3>())
        .or_else(|_| question.ask::<8>())
        .or_else(|_| question.ask::<MOST_WORDS>())
}

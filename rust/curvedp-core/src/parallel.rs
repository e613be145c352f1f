//! Threads: one lazily built rayon pool per process.
//!
//! A forked child inherits the pool object but none of its threads, so the pool is keyed by the
//! process id and a child builds its own. Work is cut the same way whatever the number of threads.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Error;

struct Pool {
    process: u32,
    threads: usize,
    pool: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { process: 0, threads: 0, pool: None });

/// Sets the number of threads for later calls; 0 restores the default (`RAYON_NUM_THREADS`, or one
/// thread per processor).
pub fn set_num_threads(threads: usize) {
    if let Ok(mut state) = POOL.lock() {
        state.threads = threads;
        state.pool = None;
    }
}

/// The number of threads that a large batch uses.
pub fn num_threads() -> usize {
    current().map_or(1, |pool| pool.current_num_threads())
}

/// The pool of this process, or none where none can be had (the caller then works alone): when the
/// lock was held by a thread that did not survive a fork, or when threads cannot be started.
fn current() -> Option<Arc<ThreadPool>> {
    const TRIES: usize = 1000;
    let mut state = (0..TRIES).find_map(|_| {
        let attempt = POOL.try_lock().ok();
        if attempt.is_none() {
            std::thread::yield_now();
        }
        attempt
    })?;
    let process = std::process::id();
    if state.process != process {
        // dropping an inherited pool would wait for threads that do not exist here
        std::mem::forget(state.pool.take());
        state.process = process;
    }
    if state.pool.is_none() {
        let built = ThreadPoolBuilder::new().num_threads(state.threads).build();
        state.pool = built.ok().map(Arc::new);
    }
    state.pool.clone()
}

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the work of the calling thread on it (true), or spreads it over the pool again (false). For callers
/// that run one such thread per processor themselves.
pub fn set_alone(alone: bool) {
    ALONE.set(alone);
}

/// The pool, if it has more than one thread: handing work to a single one would only cost time.
fn helpers() -> Option<Arc<ThreadPool>> {
    if ALONE.get() { None } else { current().filter(|pool| pool.current_num_threads() > 1) }
}

/// Asked between pieces of long work; true ends it with [`Error::Interrupted`].
pub type Interrupt<'a> = &'a dyn Fn() -> bool;

/// Number of pieces of work between two looks at the interrupt flag, adapted so that they last about
/// [`Pace::LOOK`]: the cost of a piece differs by four orders of magnitude between manifolds. Results do not
/// depend on it.
pub struct Pace {
    pieces: usize,
    since: Instant,
}

impl Pace {
    const LOOK: Duration = Duration::from_millis(50);

    /// The pace of work that begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { pieces: 8, since: Instant::now() }
    }

    /// Pieces before the next look.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// Sets the number of pieces before the next look; to be called after each look, whose time it measures.
    pub fn adapt(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < Self::LOOK / 4 {
            self.pieces = (self.pieces * 4).min(1 << 16);
        } else if elapsed > Self::LOOK * 2 {
            self.pieces = (self.pieces / 2).max(1);
        }
        self.since = Instant::now();
    }
}

/// Calls `task(i)` for every i of a range, on the threads of the pool. The only loop over threads: all
/// others come here, so that it is compiled once.
fn share(pool: &ThreadPool, range: Range<usize>, task: &(dyn Fn(usize) + Sync)) {
    pool.install(|| range.into_par_iter().for_each(task));
}

/// Calls `task` for every piece, on the threads of the pool, and returns the results in order.
fn share_pieces<P: Send, T: Send>(
    pool: &ThreadPool,
    pieces: impl Iterator<Item = P>,
    task: impl Fn(usize, P) -> T + Sync,
) -> impl Iterator<Item = T> {
    let slots: Vec<_> = pieces.map(|piece| Mutex::new((Some(piece), None))).collect();
    share(pool, 0..slots.len(), &|i| {
        if let Ok(mut slot) = slots[i].lock() {
            slot.1 = slot.0.take().map(|piece| task(i, piece));
        }
    });
    let result = |slot: Mutex<(_, Option<T>)>| slot.into_inner().ok().and_then(|slot| slot.1);
    slots.into_iter().map(move |slot| result(slot).expect("every task was run"))
}

/// Calls `task(i)` for every i below `count`, on all threads, and returns the results in order.
pub fn map<T: Send>(
    count: usize,
    interrupt: Interrupt,
    task: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let mut results = Vec::with_capacity(count);
    let pool = if count > 1 { helpers() } else { None };
    let mut start = 0;
    let mut pace = Pace::start();
    while start < count {
        let end = (start + pace.pieces).min(count);
        match &pool {
            Some(pool) => results.extend(share_pieces(pool, start..end, |_, i| task(i))),
            None => results.extend((start..end).map(&task)),
        }
        start = end;
        if start < count && interrupt() {
            return Err(Error::Interrupted);
        }
        pace.adapt();
    }
    Ok(results)
}

/// Cuts `out` into pieces of `rows` rows of `width` entries and calls `task(first_row, piece)` for each,
/// on all threads.
pub fn for_rows(
    out: &mut [f64],
    width: usize,
    rows: usize,
    interrupt: Interrupt,
    task: impl Fn(usize, &mut [f64]) + Sync,
) -> Result<(), Error> {
    assert!(out.len().is_multiple_of(width), "no whole number of rows");
    let piece = rows * width;
    if out.len() <= piece {
        task(0, out);
        return Ok(());
    }
    let pool = helpers();
    let mut pace = Pace::start();
    let mut first = 0;
    let mut rest = out;
    loop {
        let (part, after) = rest.split_at_mut((piece * pace.pieces).min(rest.len()));
        let run = |i: usize, piece: &mut [f64]| task(first + i * rows, piece);
        let pieces = part.chunks_mut(piece);
        match &pool {
            Some(pool) => share_pieces(pool, pieces, run).for_each(drop),
            None => pieces.enumerate().for_each(|(i, piece)| run(i, piece)),
        }
        if after.is_empty() {
            return Ok(());
        }
        if interrupt() {
            return Err(Error::Interrupted);
        }
        first += pace.pieces * rows;
        rest = after;
        pace.adapt();
    }
}

/// Runs `work` on a thread of the pool while the calling thread polls the interrupt flag every 50 ms.
/// For work of many short passes: begun on a thread of the pool, they need not enter it one by one.
///
/// If the flag is raised and `work` finishes without reading it, the result is still
/// [`Error::Interrupted`]: a Ctrl-C that was taken notice of is never lost.
pub fn attended<T: Send>(
    interrupt: Interrupt,
    work: impl FnOnce(Interrupt) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let pool = match helpers() {
        // a thread of the pool must not wait for another
        Some(pool) if rayon::current_thread_index().is_none() => pool,
        _ => return work(interrupt),
    };
    let raised = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    pool.in_place_scope(|scope| {
        let raised = &raised;
        scope.spawn(move |_| {
            // the receiver is there until the result is
            let _ = sender.send(work(&|| raised.load(Ordering::Relaxed)));
        });
        loop {
            match receiver.recv_timeout(Pace::LOOK) {
                Ok(_) if raised.load(Ordering::Relaxed) => return Err(Error::Interrupted),
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) if !raised.load(Ordering::Relaxed) => {
                    raised.store(interrupt(), Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // the work panicked, and so does the scope
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Interrupted),
            }
        }
    })
}

/// Calls `task` for every piece on all threads and returns the results in order, without looking at the
/// interrupt flag: for work of milliseconds, between which callers look themselves.
pub fn pass<P: Send, T: Send>(pieces: Vec<P>, task: impl Fn(P) -> T + Sync + Send) -> Vec<T> {
    match if pieces.len() > 1 { helpers() } else { None } {
        Some(pool) => share_pieces(&pool, pieces.into_iter(), |_, piece| task(piece)).collect(),
        None => pieces.into_iter().map(task).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn work_of_a_thread_that_is_alone_stays_on_it() {
        set_num_threads(2);
        let own = std::thread::current().id();
        let threads = || map(100, &|| false, |_| std::thread::current().id()).unwrap();
        set_alone(true);
        assert!(threads().iter().all(|id| *id == own));
        assert_eq!(attended(&|| false, |_| Ok(std::thread::current().id())), Ok(own));
        let elsewhere =
            std::thread::spawn(|| attended(&|| false, |_| Ok(std::thread::current().id())));
        let spawned = elsewhere.thread().id();
        assert_ne!(elsewhere.join().unwrap(), Ok(spawned));
        set_alone(false);
        assert!(threads().iter().all(|id| *id != own));
        set_num_threads(0);
    }

    #[test]
    fn attended_work_is_stopped_from_outside_and_may_end_or_panic() {
        set_num_threads(2);
        let endless = |interrupt: Interrupt| {
            while !interrupt() {
                std::thread::yield_now();
            }
            Err::<(), Error>(Error::Interrupted)
        };
        assert_eq!(attended(&|| true, endless), Err(Error::Interrupted));
        let heedless = |_: Interrupt| {
            std::thread::sleep(4 * Pace::LOOK);
            Ok(())
        };
        let looks = Cell::new(0);
        let counted = || looks.replace(looks.get() + 1) < 9;
        assert_eq!(attended(&counted, heedless), Err(Error::Interrupted));
        assert_eq!(looks.get(), 1); // who has raised the flag is not asked again
        assert_eq!(attended(&|| false, |_| Ok(pass(vec![1, 2, 3], |x| x * x))), Ok(vec![1, 4, 9]));
        let nested = |interrupt: Interrupt| attended(interrupt, |_| Ok(7));
        assert_eq!(attended(&|| false, nested), Ok(7));
        let panicking = || attended(&|| false, |_| -> Result<(), Error> { panic!("inside") });
        assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
        set_num_threads(0);
    }
}

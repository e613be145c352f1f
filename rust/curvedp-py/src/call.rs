//! Calls of kernels from Python: without the interpreter lock, stoppable by Ctrl-C, and with every failure
//! turned into a Python exception.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use curvedp_core::error::Error;
use curvedp_core::parallel::Interrupt;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// A panic message could hold a record's value: print nothing but the place.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|info| {
        if let Some(place) = info.location() {
            eprintln!("curvedp: internal error at {}:{}", place.file(), place.line());
        }
    }));
}

/// The Python exception for an error of the core.
pub fn to_python(error: Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Memory => PyMemoryError::new_err("out of memory"),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Runs `kernel` with the interpreter lock released.
pub fn run<T: Send>(
    py: Python<'_>,
    kernel: impl FnOnce(Interrupt) -> Result<T, Error> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let raised = RefCell::new(None);
        let interrupt = || {
            Python::attach(|py| py.check_signals().map_err(|e| raised.replace(Some(e))).is_err())
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| kernel(&interrupt)));
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(raised.take().unwrap_or_else(|| to_python(error))),
            Err(_) => Err(PyRuntimeError::new_err("internal error in a curvedp kernel")),
        }
    })
}

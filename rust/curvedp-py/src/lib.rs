//! The extension module `curvedp._core`: a thin binding over `curvedp_core`.

#[pyo3::pymodule]
mod _core {}

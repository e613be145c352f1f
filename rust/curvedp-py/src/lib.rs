//! The extension module `curvedp._core`: a thin binding over `curvedp_core`.

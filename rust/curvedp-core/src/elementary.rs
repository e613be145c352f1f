//! Elementary functions without branches, so that a plain loop over an array vectorises.

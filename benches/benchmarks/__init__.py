"""asv benchmarks of the kernels, the mean and the samplers."""

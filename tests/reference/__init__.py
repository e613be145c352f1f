"""Plain NumPy twins of the compiled kernels: one point at a time, slow, obviously right."""

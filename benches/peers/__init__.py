"""Code that people would write or call today: vectorised NumPy, one formula a file."""

"""One runnable file for each paper whose tables and figures are reproduced."""

"""Means without a public ball and without a public number of records: sums of bounded messages.

    records -> one message each: an integer vector of bounded norm -> sum + Gaussian noise
            -> start, counts of distances, clipped logarithms -> mean, ball, count, error

A message is a function of one record and of numbers that were released before, so noise for the
bound of its norm protects it, whatever the records are; everything after the noise is computed from
releases. Proofs: docs/proofs/sums-of-messages.md.
"""

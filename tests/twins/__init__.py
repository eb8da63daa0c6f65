"""What tests compare with: the paper's loops and the learners written out literally, and the laws.

A twin is written from the printed text alone, slowly and plainly. It takes nothing from the package
but types, worlds and, for learners, the stream of random bits.
"""

"""The paper: its algorithms as plans that ask and are answered, and what they promise.

No randomness, clock or files: the same answers always give the same requests.
"""

"""The paper: one conversation, its algorithms as plans, and what they promise.

No luck, no clock, no files: the same answers always give the same requests.
"""

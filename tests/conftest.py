"""What holds for all tests: the same invented problems in every run, and a Ctrl-C that is heard."""

import signal

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

# A job in the background of a shell starts with Ctrl-C ignored, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

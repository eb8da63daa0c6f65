"""The claims of the paper, one function each, by theme; every module here is imported."""

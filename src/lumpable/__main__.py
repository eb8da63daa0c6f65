"""`python -m lumpable` is `lumpable`."""

from lumpable.cli import main

if __name__ == "__main__":
    main(prog_name="lumpable")

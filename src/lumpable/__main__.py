"""`python -m lumpable` is `lumpable`."""

from lumpable.cli.main import main

if __name__ == "__main__":
    main(prog_name="lumpable")

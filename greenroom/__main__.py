"""The command `greenroom`, also `python -m greenroom`."""

import sys

from greenroom._version import __version__


def main() -> None:
    """Answer `--version` at once; hand everything else to the command line in `greenroom.cli`."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    # Imported here because this brings Trio and the terminal library, which cost many times a bare start of Python.
    from greenroom import cli

    sys.exit(cli.main())


if __name__ == "__main__":
    main()

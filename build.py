#!/usr/bin/env python3
"""The one command of tabgrad: sets up what is missing, then builds, serves or tests.

Needs Python 3.11 and nothing else. As root on Debian 12 or 13 it installs the system
packages it wants; elsewhere it names what is missing and the command that installs it.
Downloads, toolchain and virtual environment go to $TABGRAD_CACHE (~/.cache/tabgrad).
"""

import sys

OLDEST = (3, 11)
if sys.version_info < OLDEST:
    sys.exit("build.py needs Python 3.11 or newer, this is " + sys.version.split()[0])

from tools.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

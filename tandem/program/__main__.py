"""`python -m tandem.program`, as which processes of the site start others."""

from __future__ import annotations

import sys

from tandem.program.main import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m flowerd`` is `flowerd`."""

import sys

from flowerd.main import main

if __name__ == "__main__":
    sys.exit(main())

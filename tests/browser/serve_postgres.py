"""A PostgreSQL for the tests of the page, until standard input ends; it prints its address."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from postgres import separate

if __name__ == "__main__":
    with separate() as (_server, url):
        print(url, flush=True)
        sys.stdin.read()

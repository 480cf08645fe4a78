"""``python -m ingest`` is the command line too."""

from ingest.cli import main

if __name__ == "__main__":
    main()

"""``python -m benchmarks.nightly``."""

from benchmarks.nightly.run import main

raise SystemExit(main())

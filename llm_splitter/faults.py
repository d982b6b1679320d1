"""What is never taken for the fault of one document."""

NEVER_CAUGHT = (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError)
"""These pass through. Everything else a splitter raises is, if asked for, one document's failure: a panic in a
Rust extension, too, which is a ``BaseException`` but no ``Exception``."""

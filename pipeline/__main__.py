"""The program `llm-splitter`, which is `python -m pipeline`: a way in that is there before the slow imports are."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipeline.exit_codes import ExitCode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, `sys.argv` by default, and return its exit code."""
    try:
        from pipeline.command_line import run  # noqa: PLC0415 - takes a second, in which Ctrl-C may come

        return run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("llm-splitter: interrupted; nothing was published\n")
        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

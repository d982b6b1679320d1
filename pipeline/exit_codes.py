"""What the process says to whoever started it."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended.

    Attributes:
        FINE: All went well; single documents may have failed, which the failure rows tell.
        JOB_FAILED: The job stopped, or its database did not work, and nothing was published; or it chunked nothing
            while there were failures, which can be read; or `verify` found something.
        WRONG_SETTINGS: Nothing ran.
        TOO_MANY_FAILURES: More than `max_failures` allows; nothing was published.
        INTERRUPTED: By the user; nothing was published.
        TERMINATED: By SIGTERM, which service managers and `timeout` send; nothing was published.
    """

    FINE = 0
    JOB_FAILED = 1
    WRONG_SETTINGS = 2
    TOO_MANY_FAILURES = 3
    INTERRUPTED = 130
    TERMINATED = 143

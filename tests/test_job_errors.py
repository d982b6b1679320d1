"""The error that stopped a job, as whoever raised it said it."""

import traceback

import pytest

from pipeline.job_errors import cause_of, is_interrupt


def as_text(error):
    """What a worker in another process makes of an error."""
    return RuntimeError("".join(traceback.format_exception(raised(error))) + "\n")


def raised(error):
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


class OwnError(Exception):
    pass


ERRORS = [
    (OwnError("no [while running 'Write/Publish']"), ("OwnError", "no")),
    (OwnError("two\nlines"), ("OwnError", "two\nlines")),
    (OSError(28, "No space left on device", "out/x"), ("OSError", "[Errno 28] No space left on device: 'out/x'")),
    (MemoryError(), ("MemoryError", "")),
]


@pytest.mark.parametrize(("error", "cause"), ERRORS, ids=lambda value: type(value).__name__)
def test_the_error_itself(error, cause):
    assert cause_of(error) == cause


@pytest.mark.parametrize(("error", "cause"), ERRORS, ids=lambda value: type(value).__name__)
def test_the_same_as_text_from_another_process(error, cause):
    assert cause_of(as_text(error)) == cause


def test_of_a_chain_the_last():
    error = OwnError("second")
    error.__cause__ = raised(KeyError("first"))
    assert cause_of(as_text(error)) == ("OwnError", "second")


def test_words():
    assert str(cause_of(OwnError("no"))) == "OwnError: no"
    assert str(cause_of(MemoryError())) == "MemoryError"


def test_an_interrupt_inside_a_step():
    wrapped = RuntimeError("KeyboardInterrupt [while running 'Chunk']")
    wrapped.__cause__ = KeyboardInterrupt()
    assert is_interrupt(wrapped)
    assert is_interrupt(KeyboardInterrupt())
    assert not is_interrupt(RuntimeError("KeyboardInterrupt"))

"""What is wrong with a job's settings, a line each: where it stands, the value, what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_ALLOWED = {
    "bool": "must be true or false",
    "byte_size": "must be a size such as 64MiB, 500MB or a number of bytes",
    "int": "must be a whole number",
    "float": "must be a number",
    "string": "must be text",
    "missing": "is needed",
}


class SettingsError(ValueError):
    """Settings that no job can run with.

    Attributes:
        problems: one line for each thing that is wrong.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def explain(error: ValidationError, known: Collection[str], origins: Mapping[str, str]) -> SettingsError:
    """The same error in lines for a person.

    Args:
        error: what pydantic found.
        known: names of the settings there are.
        origins: where each given setting was written, such as `--chunk-size` or `job.yaml: chunk_size`.
    """
    return SettingsError(*_lines(error.errors(include_url=False), known, origins))


def _lines(details: Iterable[ErrorDetails], known: Collection[str], origins: Mapping[str, str]) -> Iterable[str]:
    for detail in details:
        if detail["loc"]:
            yield _setting_line(detail, known, origins)
        else:
            yield problem_line(str(detail["ctx"]["error"]), known, origins)


def _setting_line(detail: ErrorDetails, known: Collection[str], origins: Mapping[str, str]) -> str:
    key, *inner = map(str, detail["loc"])
    place = origins[inner[0]] if inner and inner[0] in origins else ".".join([origins.get(key, key), *inner])
    if detail["type"] == "extra_forbidden":
        return f"{place}: unknown setting; {_suggestion(key, known)}"
    if detail["type"] == "missing":
        return f"{place}: is needed (--{key.replace('_', '-')} or a line `{key}:` in the settings file)"
    return f"{place}: {_shown(detail['input'])} is not allowed, {_allowed(detail)}"


def problem_line(message: str, known: Collection[str], origins: Mapping[str, str] | None = None) -> str:
    """A message that begins with a setting's name, behind the place where that setting was written.

    Args:
        message: such as `chunk_size must be at least 1, got 0`.
        known: names of the settings there are.
        origins: where settings were written.

    >>> problem_line("chunk_size must be at least 1, got 0", ["chunk_size"], {"chunk_size": "--chunk-size"})
    '--chunk-size: must be at least 1, got 0'
    """
    message = " ".join(message.split())
    first, _, rest = message.partition(" ")
    name = first.rstrip(":")
    return f"{(origins or {}).get(name, name)}: {rest}" if name in known else message


def _suggestion(key: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(key.lower().replace("-", "_"), known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"known settings: {', '.join(known)}"


def _allowed(detail: ErrorDetails) -> str:
    kind = detail["type"]
    context: Mapping[str, Any] = detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return f"must be one of {context['expected'].replace(' or ', ', ')}"
    return next((text for start, text in _ALLOWED.items() if kind.startswith(start)), detail["msg"])


def without_passwords(shown: str) -> str:
    """Text with the passwords of URLs and connection strings masked.

    >>> without_passwords("postgresql://app:se@cret@db/x")
    'postgresql://***@db/x'
    """
    masked = re.sub(r"://[^\s'\"]*@", "://***@", shown)
    return re.sub(r"(\bpassword\s*=).*", r"\1***", masked, flags=re.IGNORECASE)


def _shown(value: object, limit: int = 80) -> str:
    shown = without_passwords(repr(value))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"

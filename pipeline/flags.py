"""The settings as command-line flags: one for each field of a settings model, described by the field."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin

from cyclopts import Group, Parameter
from pydantic import BaseModel, ByteSize
from pydantic.fields import FieldInfo


def flags(model: type[BaseModel]) -> Any:
    """A typed dictionary with a flag for each setting; those that are not given stay absent from it.

    Values stay as written, so that the model checks them in one place, wherever they come from.

    Args:
        model: the settings; each class it inherits from is a section of the help, under the class's title.
    """
    fields = {
        name: Annotated[_written_as(field), _parameter(field, group)]
        for group, names in _sections(model)
        for name, field in names.items()
    }
    return TypedDict(f"{model.__name__}Flags", fields, total=False)  # type: ignore[operator]


def unwrapped(docstring: str) -> str:
    r"""A docstring whose paragraphs, and descriptions of arguments, are a line each, to be wrapped anew.

    >>> unwrapped("One\ntwo.\n\nArgs:\n    a: Three\n        four.")
    'One two.\n\nArgs:\n    a: Three four.'
    """
    lines: list[str] = []
    for line in inspect.cleandoc(docstring).splitlines():
        depth = len(line) - len(line.lstrip())
        before = lines[-1] if lines else ""
        goes_on = depth >= 8 or (depth == 0 and before[:1].strip() and before != "Args:")
        if line.strip() and before.strip() and goes_on:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _sections(model: type[BaseModel]) -> Iterable[tuple[Group, dict[str, FieldInfo]]]:
    for order, kind in enumerate(reversed(model.__mro__)):
        own = inspect.get_annotations(kind)
        fields = {name: field for name, field in model.model_fields.items() if name in own and not _is_section(field)}
        if issubclass(kind, BaseModel) and fields:
            yield Group(kind.model_config.get("title") or kind.__name__, sort_key=order), fields


def _is_section(field: FieldInfo) -> bool:
    """Whether a setting is a group of settings itself, which has flags of its own where it is used."""
    return any(isinstance(kind, type) and issubclass(kind, BaseModel) for kind in get_args(field.annotation))


def _parameter(field: FieldInfo, group: Group) -> Parameter:
    return Parameter(
        help=f"{field.description}{_choices(field)}{_default(field)}",
        group=group,
        consume_multiple=_holds_many(field),
        negative_iterable=(),
    )


def _written_as(field: FieldInfo) -> Any:
    if field.annotation is bool:
        return bool
    return list[str] if _holds_many(field) else str


def _holds_many(field: FieldInfo) -> bool:
    return get_origin(field.annotation) in (tuple, dict)


def _choices(field: FieldInfo) -> str:
    if get_origin(field.annotation) is not Literal:
        return ""
    return f" [choices: {', '.join(map(_shown, get_args(field.annotation)))}]"


def shown_default(field: FieldInfo) -> str:
    """A setting's default as a person would write it; nothing where there is none."""
    if field.is_required() or field.default in (None, (), {}):
        return ""
    return _shown(field.default)


def _default(field: FieldInfo) -> str:
    return f" [default: {shown}]" if (shown := shown_default(field)) else ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, ByteSize):
        return value.human_readable().replace(".0", "")
    return repr(str(value)).strip("'\"")

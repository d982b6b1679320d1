"""Settings files: YAML text -> a plain mapping, with nothing silently dropped."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from pipeline.config_errors import SettingsError


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice, of which PyYAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} is given twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def read_config_file(path: str | Path) -> dict[str, Any]:
    """The settings in a YAML file, as written there; `{}` for a file with nothing but comments.

    Args:
        path: a local file.

    Raises:
        SettingsError: the file cannot be read, is not YAML, or holds something other than settings.
    """
    try:
        settings = yaml.load(Path(path).read_bytes(), _StrictLoader)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"{path}: {_yaml_problem(error)}") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise SettingsError(f"{path}: must hold settings, one `key: value` a line")
    return settings


def _yaml_problem(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{place}not valid YAML: {getattr(error, 'problem', None) or ' '.join(str(error).split())}"

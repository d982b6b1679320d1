"""`llm-splitter search CONFIG QUESTION`: the passages nearest to a question, shown in their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from pipeline.commands.arguments import settings_errors, settings_file
from pipeline.commands.database import DatabaseFlags, job_with_database
from pipeline.commands.load import LoadFlags
from pipeline.config_errors import SettingsError
from pipeline.extras import require

if TYPE_CHECKING:
    from pipeline.search import Passage


def search_command(
    *words: Annotated[str, Parameter(show=False)],
    most: Annotated[int, Parameter(alias="-n")] = 3,
    database: Annotated[DatabaseFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
    settings: Annotated[LoadFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
) -> int:
    """Find the passages nearest to a question, and show each in its document.

    CONFIG is the settings file that the rows were loaded with.

    Try it:

      llm-splitter search job.yaml "why did the lamp go out"

    Args:
        words: The settings file, and what to look for.
        most: How many passages to show.
        database: Settings of the section `database`.
        settings: The same names as in the file.
    """
    if most < 1:
        raise SettingsError(f"--most: is {most}; it must be at least 1 passage")
    file, question = _file_and_question(words)
    if file is None and question.endswith((".yaml", ".yml")):
        raise SettingsError(f"QUESTION: is needed behind {question}: what to look for, in quotes")
    if file is None and not settings and not database:
        raise SettingsError("CONFIG: is needed, the settings that the rows were loaded with, before the question")
    job = job_with_database(file, settings, database)
    with settings_errors([*settings, *database]):
        require("search", "pgvector", "psycopg", "pgvector")
        from pipeline.search import search  # noqa: PLC0415 - Beam takes seconds to load, help should not wait

        passages = search(job, question, most)
    console = Console(highlight=False)
    for number, passage in enumerate(passages, 1):
        console.print(_shown(number, passage))
    if not passages:
        console.print("nothing found: no row has a vector")
    return 0


def _file_and_question(words: tuple[str, ...]) -> tuple[str | None, str]:
    if not 1 <= len(words) <= 2:
        raise SettingsError(f"search: takes a settings file and a question in quotes, not {len(words)} words")
    file, _ = settings_file(words[0]) if len(words) == 2 else (None, ())
    return file, words[-1]


def _shown(number: int, passage: Passage) -> Text:
    hit = passage.hit
    shown: list[Any] = [
        (f"{number}  {hit.doc_id}", "bold cyan"),
        (f"  [{hit.start}:{hit.end}]  distance {hit.distance:.3f}\n", "cyan"),
    ]
    if passage.note:
        shown.append((f"{passage.note}\n", "red"))
    before = passage.before.rpartition("\n\n")[2] if passage.before else ""
    shown += [(before, "dim"), (passage.text, "black on yellow"), (passage.behind.partition("\n\n")[0], "dim"), "\n"]
    return Text.assemble(*shown, overflow="fold")

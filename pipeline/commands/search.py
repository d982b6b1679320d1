"""`llm-splitter search QUESTION`: the passages nearest to a question, shown in their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from pipeline.commands.database import DatabaseFlags, database_errors, job_with_database
from pipeline.commands.load import LoadFlags

if TYPE_CHECKING:
    from pipeline.search import Passage

_DEFAULT = "configs/pgvector.yaml"


def search_command(
    question: str,
    config: str = _DEFAULT,
    /,
    *,
    most: Annotated[int, Parameter(alias="-n")] = 3,
    database: Annotated[DatabaseFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
    settings: Annotated[LoadFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
) -> int:
    """Find the passages nearest to a question, and show each in its document.

    Try it:

      llm-splitter load configs/pgvector.yaml

      llm-splitter search "why did the lamp go out"

    Args:
        question: What to look for.
        config: The settings that the rows were loaded with.
        most: How many passages to show.
        database: Settings of the section `database`.
        settings: The same names as in the file.
    """
    job, _ = job_with_database(config, (), settings, database)
    with database_errors():
        from pipeline.search import search  # noqa: PLC0415 - Beam takes seconds to load, help should not wait

        passages = search(job, question, most)
    console = Console(highlight=False)
    for number, passage in enumerate(passages, 1):
        console.print(_shown(number, passage))
    if not passages:
        console.print("nothing found: no row has a vector")
    return 0


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

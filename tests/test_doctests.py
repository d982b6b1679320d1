"""The examples in docstrings are true.

Examples may use the public names, as if imported. One that names what is made nowhere (`documents`, `pipeline`,
`connection`) is a sketch of a use in a running pipeline or on a server, and is left out; so is one that reads files
which are not there, marked `# doctest: +SKIP`.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import pkgutil

import pytest

import llm_splitter
import pipeline

PUBLIC = {name: getattr(llm_splitter, name) for name in llm_splitter.__all__}
PUBLIC |= {name: getattr(pipeline, name) for name in pipeline._HOMES}


def modules() -> list[str]:
    return [
        found.name
        for package in (llm_splitter, pipeline)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]


def unknown_names(examples: doctest.DocTest) -> set[str]:
    """Names that the examples use and nobody has made."""
    sources = [example.source for example in examples.examples if doctest.SKIP not in example.options]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {*dir(builtins), *examples.globs}
    made |= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    return {node.id for node in names} - made


def examples_of(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    found = doctest.DocTestFinder().find(module, globs={**PUBLIC, **vars(module)})
    return [examples for examples in found if examples.examples]


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    for examples in examples_of(name):
        if not unknown_names(examples):
            runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
            assert runner.run(examples).failed == 0


def test_few_examples_are_sketches():
    found = [unknown_names(examples) for name in modules() for examples in examples_of(name)]
    assert sum(map(bool, found)) < len(found) / 5

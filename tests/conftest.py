"""Settings shared by all tests."""

import os

from hypothesis import HealthCheck, settings

_QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}

# The default run draws the same examples each time; `HYPOTHESIS_PROFILE=thorough pytest` looks for new ones.
settings.register_profile("default", derandomize=True, max_examples=40, **_QUIET)
settings.register_profile("thorough", max_examples=1500, **_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser):
    parser.addoption("--regenerate-golden", action="store_true", help="write tests/golden anew instead of comparing")

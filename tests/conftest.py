"""What holds for every test: stores that agree with their histories, an odd time zone, `--long`, where chromium is."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agreement import Watch, reason_to_disagree, watched

pytest.register_assert_rewrite("workbench.store.validation")  # so that a failure there shows both sides

BROWSER_TESTS = Path(__file__).parent / "browser"
GET_CHROMIUM = "apt-get install -y --no-install-recommends chromium fonts-dejavu-core"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register `--long`."""
    parser.addoption("--long", action="store_true", help="run the tests that take minutes as well")


def pytest_configure() -> None:
    """Leave UTC, so that a test which reads local time fails everywhere and not only at its author's desk."""
    os.environ["TZ"] = "Pacific/Chatham"
    if hasattr(time, "tzset"):
        time.tzset()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keep browser tests in a pytest call of their own: Playwright leaves an event loop running."""
    if collection_path != BROWSER_TESTS:
        return None
    asked = [(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(BROWSER_TESTS) for path in asked) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is marked `long`, unless `--long` was given."""
    if config.getoption("--long"):
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: pytest --long"))


@pytest.fixture(scope="session")
def watch() -> Iterator[Watch]:
    """Sees every store that a test opens."""
    with watched() as watch:
        yield watch


@pytest.fixture(autouse=True)
def stores_agree_with_their_histories(request: pytest.FixtureRequest, watch: Watch) -> Iterator[None]:
    """`verify()` is clean for every store that the test used, unless it is marked `damages`."""
    reason = reason_to_disagree(request.node)
    yield
    found = watch.take_found()
    assert reason is not None or found == []


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser; without one the test is skipped, or fails where CI is set."""
    found = shutil.which("chromium")
    if found is None:
        message = f"no chromium on PATH; to get it: {GET_CHROMIUM}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return found

"""A workbench with the flow that is interrupted, and Python's own handler of SIGINT around every test."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.interrupts.program import register
from workbench import Workbench


@pytest.fixture(autouse=True)
def handler_is_put_back() -> Iterator[None]:
    """What a section of the engine does to the handler is undone when it is over."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.fixture
def wb() -> Iterator[Workbench]:
    """A workbench with the flow, its child and its activity."""
    with Workbench() as opened:
        register(opened)
        yield opened

"""A real kernel: cells are sent to it as JupyterLab sends them, and what it asks for is typed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

SECONDS = 60


class Shown:
    """What one cell showed: its streams, the plain text and HTML of what it displayed, and its error."""

    def __init__(self) -> None:
        self.stdout = ""
        self.stderr = ""
        self.texts: list[str] = []
        self.html: list[str] = []
        self.error: str | None = None
        self.traceback = ""

    def add(self, message: dict[str, Any]) -> None:
        """Keep one message of the kernel."""
        content = message["content"]
        if message["msg_type"] == "stream":
            name = content["name"]
            setattr(self, name, getattr(self, name) + content["text"])
        elif message["msg_type"] in ("execute_result", "display_data"):
            self.texts.append(content["data"].get("text/plain", ""))
            self.html.append(content["data"].get("text/html", ""))
        elif message["msg_type"] == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
            self.traceback = "\n".join(content["traceback"])

    @property
    def is_empty(self) -> bool:
        """Whether it showed nothing at all."""
        return not (self.stdout or self.stderr or self.texts or self.error)


class Kernel:
    """Runs cells."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client

    def run(self, cell: str, *answers: str) -> Shown:
        """Run a cell; `answers` are typed, one after the other, when it asks for input."""
        shown = Shown()
        typed = iter(answers)
        self._client.execute_interactive(
            cell,
            allow_stdin=True,
            output_hook=shown.add,
            stdin_hook=lambda _: self._client.input(next(typed)),
            timeout=SECONDS,
        )
        assert list(typed) == []
        return shown


@pytest.fixture(scope="session")
def started_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel with a home of its own."""
    home = tmp_path_factory.mktemp("kernel")
    environment = {**os.environ, "IPYTHONDIR": str(home), "HOME": str(home)}
    manager, client = start_new_kernel(
        startup_timeout=SECONDS, kernel_name="python3", env=environment, cwd=str(home), stderr=subprocess.DEVNULL
    )
    kernel = Kernel(client)
    kernel.run("%colors nocolor\n%load_ext workbench")
    yield kernel
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


@pytest.fixture
def kernel(started_kernel: Kernel) -> Iterator[Kernel]:
    """The kernel with no variable in it."""
    yield started_kernel
    started_kernel.run("%reset -f")

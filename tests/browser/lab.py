"""JupyterLab or Notebook 7 on a free port of this machine, with a home of its own, for as long as the tests run."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TOKEN = "panels"  # noqa: S105 (of a server that lives as long as the test)
START_SECONDS = 90
APPLICATIONS = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/apputils-extension:themes": {"adaptive-theme": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}


@contextmanager
def jupyter(root: Path, application: str = "jupyterlab") -> Iterator[str]:
    """Serve the notebooks in `root`; gives the address. Fails with the server's log when it does not come up.

    `application` is the module that is run: `jupyterlab`, or `notebook` for Notebook 7.
    """
    home = Path(tempfile.mkdtemp(prefix="lab-"))
    try:
        with (home / "lab.log").open("w") as log:
            port = _free_port()
            server = subprocess.Popen(_command(application, root, port), stdout=log, stderr=log, env=_environment(home))
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_up(address, server, home / "lab.log")
            yield address
        finally:
            _stop(server)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _command(application: str, root: Path, port: int) -> list[str]:
    return [
        sys.executable,
        "-m",
        application,
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={root}",
        f"--{APPLICATIONS[application]}.expose_app_in_browser=True",
    ]


def _environment(home: Path) -> dict[str, str]:
    overrides = home / "config" / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir(parents=True)
    overrides.write_text(json.dumps(SETTINGS))
    places = {
        "HOME": "",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    return {**os.environ, **{name: str(home / folder) for name, folder in places.items()}}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_until_up(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{address}/api/status?token={TOKEN}", timeout=2):  # noqa: S310
                return
        except OSError:
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not come up:\n{log.read_text()}") from None
            time.sleep(0.1)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()

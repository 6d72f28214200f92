"""How to register two versions of an orchestration, so that instances in flight stay on the code they began with."""

from __future__ import annotations

import json
from collections.abc import Iterator

from workbench.recordings.report import CheckReport
from workbench.runtime.registry import DEFAULT_VERSION, version_order

WHY = "# an instance stays on the version that it began with; new ones get the highest"


def snippet(report: CheckReport) -> str:
    """The registrations for our face and for duroxide's; empty when every instance in flight can take the code."""
    staying: dict[str, set[str]] = {}
    for row in report.must_stay:
        staying.setdefault(row.orchestration, set()).add(row.recorded_version or DEFAULT_VERSION)
    if not staying:
        return ""
    pinned = [each for name in staying for each in _pinned(report, name, staying[name])]
    ours = [f"wb.orchestration({_text(name)}, version={_text(version)})({code})" for name, version, code in pinned]
    theirs = [
        f"runtime.register_orchestration_versioned({_text(name)}, {_text(version)}, {code})"
        for name, version, code in pinned
    ]
    return "\n".join([WHY, *ours, "# the same for workbench.Runtime and for duroxide", *theirs])


def _pinned(report: CheckReport, name: str, old: set[str]) -> Iterator[tuple[str, str, str]]:
    """Name, version and function of each registration, in ascending order of versions."""
    given = report.code_names.get(name) or report.code_names.get("", {})
    newest = max((version for version in given if version), key=version_order, default="")
    highest_old = max(old, key=version_order)
    new_name = _identifier(given.get(newest, ""), "new_code")
    if version_order(newest) <= version_order(highest_old):
        newest = _next(highest_old)
    for version in sorted(old, key=version_order):
        known = given.get(version, "") if version != newest else ""
        shared = list(given.values()).count(known) > 1  # two files may each have an `order_flow`
        yield name, version, _identifier("" if shared else known, f"{new_name}_{version.replace('.', '_')}")
    yield name, newest, new_name


def _next(version: str) -> str:
    """The version with its middle number one higher; `1.1.0` behind what is no version."""
    parts = version.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return "1.1.0"
    return f"{parts[0]}.{int(parts[1]) + 1}.0"


def _text(value: str) -> str:
    """The value as Python source, in double quotes and without a character that could be anything else."""
    return json.dumps(value)


def _identifier(name: str, otherwise: str) -> str:
    """The name if it can be written down, else another one that can."""
    found = name if name.isidentifier() else otherwise
    return found if found.isidentifier() else "old_code"

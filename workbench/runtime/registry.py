"""Names and versions of orchestrations and activities; running a cell again says whether their code changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from workbench.runtime.errors import NotAFunction, RegistrationConflict, UnknownActivity, UnknownOrchestration
from workbench.runtime.fingerprint import fingerprint
from workbench.runtime.payload import storable
from workbench.runtime.tasks import RESERVED_PREFIX

DEFAULT_VERSION = "1.0.0"
Registration = Literal["new", "same", "changed"]


class Registered(msgspec.Struct, frozen=True):
    """A function under its name; `version` is empty for activities."""

    name: str
    version: str
    function: Callable[..., Any]
    fingerprint: str


class Registry:
    """What is registered. Re-running a notebook cell replaces a function; another module may not take its name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orchestrations: dict[str, dict[str, Registered]] = {}
        self._activities: dict[str, Registered] = {}

    def add_orchestration(
        self, name: str, function: Callable[..., Any], version: str = DEFAULT_VERSION
    ) -> Registration:
        """Register an orchestration; says whether its code is new, the same, or changed.

        Raises `RegistrationConflict` when another module has the name and version.
        """
        check_version(version)
        storable("the name of an orchestration", name)
        with self._lock:
            versions = self._orchestrations.setdefault(name, {})
            return _register(versions, version, f"orchestration {name!r} version {version}", name, version, function)

    def add_activity(self, name: str, function: Callable[..., Any]) -> Registration:
        """Register an activity; says whether its code is new, the same, or changed."""
        storable("the name of an activity", name)
        if name.startswith(RESERVED_PREFIX):
            raise RegistrationConflict(f"activity name {name!r} uses reserved prefix {RESERVED_PREFIX!r}")
        with self._lock:
            return _register(self._activities, name, f"activity {name!r}", name, "", function)

    def orchestration(self, name: str, version: str | None = None) -> Registered:
        """The orchestration of that version (None: the highest). Raises `UnknownOrchestration`."""
        versions = self._orchestrations.get(name)
        if not versions:
            raise UnknownOrchestration(name, None, tuple(sorted(self._orchestrations)))
        wanted = version or max(versions, key=version_order)
        if wanted not in versions:
            known = tuple(f"{name} {each}" for each in sorted(versions, key=version_order))
            raise UnknownOrchestration(name, wanted, known)
        return versions[wanted]

    def activity(self, name: str) -> Registered:
        """The activity of that name. Raises `UnknownActivity`."""
        found = self._activities.get(name)
        if found is None:
            raise UnknownActivity(name, self.activity_names())
        return found

    def activity_names(self) -> tuple[str, ...]:
        """The names of all registered activities, sorted."""
        return tuple(sorted(self._activities))

    def name_of(self, function: Callable[..., Any]) -> Registered:
        """The latest registration of an orchestration function. Raises `UnknownOrchestration`."""
        for versions in self._orchestrations.values():
            for registered in sorted(versions.values(), key=lambda each: version_order(each.version), reverse=True):
                if registered.function is function:
                    return registered
        name = getattr(function, "__name__", repr(function))
        raise UnknownOrchestration(name, None, tuple(sorted(self._orchestrations)))


def _register(
    table: dict[str, Registered], key: str, what: str, name: str, version: str, function: Callable[..., Any]
) -> Registration:
    check_function(f"{what} is registered with a function", function)
    before = table.get(key)
    module = getattr(function, "__module__", None)
    if before is not None and getattr(before.function, "__module__", None) != module:
        there = getattr(before.function, "__module__", None)
        raise RegistrationConflict(
            f"{what} is registered by module {there!r}; module {module!r} must take another name"
        )
    now = Registered(name, version, function, fingerprint(function))
    table[key] = now
    if before is None:
        return "new"
    return "same" if before.fingerprint == now.fingerprint else "changed"


def check_function(what: str, function: object) -> None:
    """Raise `NotAFunction` for what cannot be called, and for a class; `what` begins its text."""
    if not callable(function) or isinstance(function, type):
        raise NotAFunction(what, function)


def check_version(version: object) -> None:
    """Raise `RegistrationConflict` for what is no version of an orchestration."""
    parts = version.split(".") if isinstance(version, str) else []
    if not all(part.isascii() and part.isdigit() for part in parts) or len(parts) != 3:
        raise RegistrationConflict(f"a version is three numbers such as '1.0.0', not {version!r}")


def version_order(version: str) -> tuple[int, ...]:
    """A version as numbers, for comparing."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))

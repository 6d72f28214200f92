"""What `--code` on the command line names: a module or a file, and the functions in it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from workbench.recordings.checking import Codes
from workbench.recordings.modules import load_module
from workbench.runtime.errors import WorkbenchError
from workbench.runtime.execution import Code

FORM = "MODULE:FUNCTION or FILE.py:FUNCTION"


def load_function(place: str) -> Code:
    """The function that `flows:order_flow` or `src/flows.py:order_flow` names; the current folder is on the path.

    Raises `WorkbenchError` when there is none, with what the import said.
    """
    module_name, function_name = _split(place)
    if not module_name or not function_name:
        raise WorkbenchError(f"--code takes {FORM}, such as flows:order_flow, not {place!r}")
    function = getattr(load_module(module_name), function_name, None)
    if not callable(function):
        raise WorkbenchError(f"module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]


def load_codes(places: Sequence[str]) -> Codes:
    """What `check` takes, from the `--code` options of a command line.

    `flows.py:order_flow` alone is the function for every recording; `flows.py` alone stands for its functions, by
    name (see `functions_of`). With `OrderFlow=` in front it is the code of that orchestration, with `OrderFlow@1.1.0=`
    that version of it; these may be given several times.
    """
    named = [_named(place) for place in places]
    if not any(name for name, _, _ in named):
        if len(places) != 1:
            raise WorkbenchError("several --code need a name each: --code OrderFlow=flows.py:order_flow")
        place = places[0]
        return load_function(place) if _split(place)[1] else functions_of(load_module(place))
    codes: dict[str, Any] = {}
    for name, version, place in named:
        if not name:
            raise WorkbenchError(f"--code {place} has no name, the others do: --code OrderFlow={place}")
        _add(codes, name, version, load_function(place))
    return codes


def _add(codes: dict[str, Any], name: str, version: str, function: Code) -> None:
    before = codes.get(name)
    if not version and before is None:
        codes[name] = function
    elif version and (before is None or (isinstance(before, dict) and version not in before)):
        codes[name] = {**(before or {}), version: function}
    else:
        raise WorkbenchError(f"--code gives {name!r} twice: name the versions, --code {name}@1.1.0=…")


def functions_of(module: ModuleType) -> Mapping[str, Code]:
    """The functions of a module by the names of orchestrations: `OrderFlow` is `order_flow` or `OrderFlow`."""
    return _ByName({_plain(name): each for name, each in vars(module).items() if inspect.isfunction(each)})


class _ByName(dict[str, Code]):
    """A dictionary in which letter case and underscores of a name do not count."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(_plain(key), default)


def _named(place: str) -> tuple[str, str, str]:
    """Name, version and place of a `--code` option; the first two may be empty."""
    front, sign, rest = place.partition("=")
    if not sign:
        return "", "", place
    name, _, version = front.rpartition("@") if "@" in front else (front, "", "")
    return name, version, rest


def _split(place: str) -> tuple[str, str]:
    """Module (or file) and function; on Windows a drive has a colon too."""
    module, colon, function = place.rpartition(":")
    if not colon or "/" in function or "\\" in function:
        return place, ""
    return module, function


def _plain(name: str) -> str:
    return name.replace("_", "").lower()

"""Magics for notebooks: `%load_ext workbench`, then `%%orchestration`, `%%activity`, `%turn` and `%kv`."""

# IPython's decorators have no types.
# mypy: allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from workbench.run import Run
from workbench.runtime.errors import UnknownInstance
from workbench.runtime.kv import Tables
from workbench.runtime.registry import DEFAULT_VERSION
from workbench.runtime.turn import Turn
from workbench.session import Workbench, open_workbenches
from workbench.views.dry_run import ChangedCode
from workbench.views.kv_now import KeyValuesNow

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

Function = Callable[..., Any]
PARAMETERS = 2


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext workbench`."""
    shell.register_magics(WorkbenchMagics)


@magics_class
class WorkbenchMagics(Magics):
    """Which workbench: the variable named with `--on`, else the last made of those that variables hold."""

    @magic_arguments()
    @argument("name", nargs="?", help="the name to register; without it the function's own")
    @argument("--version", default=DEFAULT_VERSION, help="its version (1.0.0)")
    @argument("--on", metavar="WB", help="the variable that holds the workbench")
    @cell_magic
    def orchestration(self, line: str, cell: str) -> None:
        """Define and register the orchestrations of this cell: its functions of two parameters, such as (ctx, input).

        Run again with changed code, it replays the instances in flight against the new code, commits nothing, and
        says of each *same* or where it would diverge. Run again with the same code, it says nothing.
        """
        given = parse_argstring(self.orchestration, line)
        workbench = self._workbench(given.on)
        for name, function in self._defined(cell, _unquoted(given.name)):
            if workbench.registry.add_orchestration(name, function, given.version) == "changed":
                report = workbench.dry_run(function, name, given.version)
                display(ChangedCode(name=name, version=given.version, report=report))

    @magic_arguments()
    @argument("name", nargs="?", help="the name to register; without it the function's own")
    @argument("--on", metavar="WB", help="the variable that holds the workbench")
    @cell_magic
    def activity(self, line: str, cell: str) -> None:
        """Define and register the activities of this cell: its functions of two parameters, such as (ctx, input)."""
        given = parse_argstring(self.activity, line)
        workbench = self._workbench(given.on)
        for name, function in self._defined(cell, _unquoted(given.name)):
            workbench.registry.add_activity(name, function)

    @magic_arguments()
    @argument("run", nargs="?", help="a variable that holds a run, or an instance id; else the last one started")
    @line_magic
    def turn(self, line: str) -> Turn:
        """Make one turn of a run and show it."""
        given = parse_argstring(self.turn, line)
        return self._run(_unquoted(given.run)).turn()

    @magic_arguments()
    @argument("names", nargs="*", metavar="[RUN] [KEY]", help="a run, as for %%turn; and a key, else all of them")
    @line_magic
    def kv(self, line: str) -> KeyValuesNow:
        """Show the key-value store of a run as it stands: snapshot | delta | what a client reads."""
        names = [_bare(each) for each in parse_argstring(self.kv, line).names]
        if len(names) > PARAMETERS:
            raise UsageError("%kv takes a run and a key; put a key with blanks in quotes")
        run = self._found(names[0]) if names else None
        keys = names if run is None else names[1:]
        if len(keys) == PARAMETERS:
            raise UsageError(self._no_run(keys[0]))
        run = run or self._run(None)
        tables = Tables() if run.status == "Pending" else run.recording().kv_tables
        model = self._workbench_of(run).kv_model
        return KeyValuesNow(instance_id=run.instance_id, kv_model=model, tables=tables, key=next(iter(keys), None))

    @property
    def _shell(self) -> InteractiveShell:
        assert self.shell is not None  # noqa: S101 (magics are registered with a shell)
        return self.shell

    # Which workbench, which run.

    def _workbenches(self) -> list[Workbench]:
        """Those that variables hold, the last made first."""
        held = {id(value) for name, value in self._shell.user_ns.items() if not name.startswith("_")}
        return [each for each in reversed(open_workbenches()) if id(each) in held]

    def _workbench(self, variable: str | None) -> Workbench:
        if variable is not None:
            named = self._shell.user_ns.get(variable)
            if not isinstance(named, Workbench):
                raise UsageError(f"--on {variable}: no variable of that name holds a Workbench")
            return named
        found = self._workbenches()
        if not found:
            raise UsageError("there is no open workbench here; make one first: wb = Workbench()")
        return found[0]

    def _workbench_of(self, run: Run) -> Workbench:
        return next(each for each in open_workbenches() if run.is_on(each.provider))

    def _run(self, name: str | None) -> Run:
        if name is not None:
            run = self._found(name)
            if run is None:
                raise UsageError(self._no_run(name))
            return run
        started = [each.last_started for each in self._workbenches() if each.last_started is not None]
        if not started:
            raise UsageError('no run was started here; start one first: run = wb.start("Name")')
        return max(started).run

    def _found(self, name: str) -> Run | None:
        """The run that a variable of this name holds, or the instance with this id."""
        value = self._shell.user_ns.get(name)
        if isinstance(value, Run):
            return value
        for workbench in self._workbenches():
            try:
                return workbench.run(name)
            except UnknownInstance:
                continue
        return None

    def _no_run(self, name: str) -> str:
        known = [str(each) for workbench in self._workbenches() for each in workbench.instances["instance_id"]]
        return f"{name} is no variable that holds a run and no instance; instances: {', '.join(known) or 'none'}"

    # The functions of a cell.

    def _defined(self, cell: str, name: str | None) -> list[tuple[str, Function]]:
        """Run the cell in the notebook's namespace; its functions of two parameters, with their names."""
        before = dict(self._shell.user_ns)
        defined = [(each, self._shell.user_ns[each]) for each in self._run_cell(cell)]
        found = [(each, function) for each, function in defined if before.get(each) is not function and _fits(function)]
        if not found:
            raise UsageError("this cell defines no function of two parameters, such as def order(ctx, input)")
        if name is None:
            return found
        if len(found) > 1:
            names = ", ".join(each for each, _ in found)
            raise UsageError(f"the name {name} is for one function, and this cell defines {names}")
        return [(name, function) for _, function in found]

    def _run_cell(self, cell: str) -> Iterator[str]:
        """Compile as a cell of its own, so that the lines of its functions are found; gives the names it defines."""
        shell = self._shell
        blank = len(cell) - len(cell.lstrip("\n"))
        source = "\n" * (1 + blank) + shell.transform_cell(cell)  # the line of the magic is line 1 of the cell
        file = shell.compile.cache(source, shell.execution_count, raw_code=cell)
        tree = shell.transform_ast(shell.compile.ast_parse(source, filename=file))
        shell.ex(shell.compile(tree, file, "exec"))
        for node in tree.body:
            if type(node).__name__ in ("FunctionDef", "AsyncFunctionDef"):
                yield node.name


def _fits(function: Function) -> bool:
    """Whether it takes a context and an input."""
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


def _unquoted(name: str | None) -> str | None:
    return None if name is None else _bare(name)


def _bare(name: str) -> str:
    """A name without the quotes that it stands in, for blanks."""
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"" else name

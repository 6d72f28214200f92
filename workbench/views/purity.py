"""What dry runs found, in words: whether the code is pure, and what it depends on besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.recordings.purity import Impurity, Purity
from workbench.views import layout, page, words

if TYPE_CHECKING:
    import pandas as pd

INSTEAD = {
    "clock": "use yield ctx.utc_now()",
    "chance": "use yield ctx.new_guid(), or ask an activity",
    "environment": "give it as input, or read it in an activity",
    "state": "keep it in the function itself, or as a key-value",
    "set order": "iterate in a fixed order, sorted(…)",
    "unknown": "let the code depend on nothing but its input, its results and ctx",
}


def line(purity: Purity) -> str:
    """`Echo · a · impure: time.time_ns() on clock, line 2`."""
    who = [words.shown(each) for each in (purity.orchestration, purity.instance_id)]
    return " · ".join([*who, verdict(purity)])


def verdict(purity: Purity) -> str:
    """Pure as far as was tried, or what it depends on."""
    proven = [in_words(each) for each in purity.impurities if each.proven]
    if proven:
        return "impure: " + "; ".join(proven)
    return f"pure in {purity.runs_here + purity.fresh_runs} dry runs"


def in_words(impurity: Impurity) -> str:
    """What it is, and on which line."""
    what = words.shown(impurity.what)
    return what if impurity.place is None else f"{what} on {impurity.place}"


def text(purity: Purity) -> str:
    """The line, then row by row what was tried and what each finding rests on."""
    return "\n".join([line(purity), *layout.sentences(rows(purity))])


def rows(purity: Purity) -> list[tuple[str, tuple[str, ...]]]:
    """Labelled rows."""
    found: list[tuple[str, tuple[str, ...]]] = []
    proven = [each for each in purity.impurities if each.proven]
    for each in proven:
        found.append(("impure", (in_words(each),)))
        if each.values is not None:
            before, after = map(words.shown, each.values)
            found.append(("", (f"it was {before} before a run, and {after} after it",)))
    for parting in dict.fromkeys(each.parting for each in proven if each.parting is not None):
        found.append(("shown by", (f"{parting.runs}, at {parting.address}:",)))
        found += [("", (words.shown(side),)) for side in (parting.one, parting.other)]
    if proven:
        found.append(("to do", tuple(dict.fromkeys(INSTEAD[each.hazard] for each in proven))))
    seen = [in_words(each) for each in purity.impurities if not each.proven]
    if seen:
        found.append(("seen", (*seen, "no difference in these runs")))
    found.append(("tried", (_tried(purity),)))
    return found


def _tried(purity: Purity) -> str:
    here = f"{purity.runs_here} runs in this process"
    if purity.fresh_runs:
        return f"{here}, {purity.fresh_runs} in fresh processes with other hash seeds"
    if purity.not_fresh:
        return f"{here}; could not be tried in a fresh process: {words.shown(purity.not_fresh)}"
    return here


def html(purity: Purity) -> str:
    """The same rows in a card."""
    columns = [page.Column("", "label", is_head=True), page.Column("", "break")]
    table = [page.TableRow((label, "; ".join(texts))) for label, texts in rows(purity)]
    badge = ("✓ pure", "badge-good") if purity.is_pure else ("✗ impure", "badge-bad")
    return page.rendering(page.head("dry runs", line(purity), *badge), page.table("", columns, table, with_head=False))


def frame(purity: Purity) -> pd.DataFrame:
    """A row for each finding."""
    import msgspec
    import pandas as pd

    names = [each.name for each in msgspec.structs.fields(Impurity)]
    return pd.DataFrame([msgspec.structs.asdict(each) for each in purity.impurities], columns=names)

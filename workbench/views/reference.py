"""The reference engine's verdict: whether duroxide would go on with this code, and in its own words why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.recordings.reference import ReferenceVerdict
from workbench.views import page, words

if TYPE_CHECKING:
    import pandas as pd


def line(verdict: ReferenceVerdict) -> str:
    """`duroxide accepts: completed with "early"`, or `duroxide refuses at event 3: nondeterministic: …`."""
    if not verdict.accepted:
        place = "" if verdict.event_id is None else f" at event {verdict.event_id}"
        return f"duroxide refuses{place}: nondeterministic: {words.engine_message(verdict.message or '')}"
    if verdict.status == "Running":
        return "duroxide accepts: the instance goes on"
    return f"duroxide accepts: {words.outcome_in_words(verdict.status, verdict.output)}"


text = line


def html(verdict: ReferenceVerdict) -> str:
    """The line in a frame."""
    badge = ("✓ accepts", "badge-good") if verdict.accepted else ("✗ refuses", "badge-bad")
    return page.rendering(page.head("duroxide", line(verdict).partition(": ")[2], *badge))


def frame(verdict: ReferenceVerdict) -> pd.DataFrame:
    """One row."""
    import msgspec
    import pandas as pd

    return pd.DataFrame([msgspec.structs.asdict(verdict)])

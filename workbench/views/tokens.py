"""Python source in colours: every token escaped, four kinds of it in a class of their own."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.views.markup import Html, element, escape

_CSS = {"Keyword": "keyword", "String": "string", "Number": "literal", "Comment": "comment"}


def coloured(lines: Sequence[str]) -> list[Html]:
    """The lines as HTML, one piece each."""
    # Only who looks at code waits for it.
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    pieces: list[list[Html]] = [[]]
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(lines)):
        css = next((_CSS[name] for name in map(str, kind[:]) if name in _CSS), "")
        for position, part in enumerate(text.split("\n")):
            if position:
                pieces.append([])
            if part:
                pieces[-1].append(element("span", part, css=css) if css else escape(part))
    return [Html("".join(each)) for each in pieces[: len(lines)]]

"""HTML by construction: whatever is not `Html` already is escaped, and there is no other way to build it."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable
from urllib.parse import quote

from workbench.views.characters import ISOLATE, ISOLATE_END, visible

_ISOLATED = re.compile(f"{ISOLATE}([^{ISOLATE}{ISOLATE_END}]*){ISOLATE_END}")
_VOID = frozenset({"br", "img"})
_LONGEST_NAME = 120


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(text: str) -> Html:
    """A text as HTML that shows exactly it, whatever it holds; parts in another direction stand in `<bdi>`."""
    if isinstance(text, Html):
        return text
    pieces: list[str] = []
    end = 0
    for match in _ISOLATED.finditer(text):
        pieces += [_escaped(text[end : match.start()]), "<bdi>", _escaped(match.group(1)), "</bdi>"]
        end = match.end()
    return Html("".join([*pieces, _escaped(text[end:])]))


def _escaped(text: str) -> str:
    return html.escape(visible(text), quote=True)


def element(tag: str, *children: str, css: str = "", **attributes: str | None) -> Html:
    """An element; children and attribute values are escaped.

    `css` are class names without their `workbench-` prefix; `data_focus="1.2"` becomes `data-focus="1.2"`, a value of
    None leaves the attribute out.
    """
    named = {"class": " ".join(f"workbench-{each}" for each in css.split()) or None, **attributes}
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for name, value in named.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{join(children)}</{tag}>")


def join(children: Iterable[str], between: str = "") -> Html:
    """Pieces after one another, each escaped unless it is HTML already."""
    return Html(escape(between).join(escape(child) for child in children))


def focusable(content: str, address: str, label: str | None = None, current: bool = False, css: str = "") -> Html:
    """Something that moves the focus to `address` in a live panel, by click or Enter, and is only text elsewhere.

    `label` is its name for screen readers where the content does not say enough; `current` marks the focus.
    """
    return element(
        "span",
        content,
        css=f"link {css}".strip(),
        role="button",
        tabindex="0",
        data_focus=address,
        aria_label=label,
        aria_current="true" if current else None,
    )


def key_address(key: str) -> str:
    """The address of a key: `key:counter`; percent-encoded, and a very long one by its beginning and a digest."""
    return _named("key", key)


def instance_address(instance_id: str) -> str:
    """The address of another instance: `open:order-42`, likewise."""
    return _named("open", instance_id)


def _named(kind: str, name: str) -> str:
    encoded = quote(name[:_LONGEST_NAME], safe="", errors="surrogatepass")
    if len(name) <= _LONGEST_NAME:
        return f"{kind}:{encoded}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{kind}:{encoded[:24]}~{digest}"


def key_at(address: str, keys: Iterable[str]) -> str | None:
    """The key among `keys` that an address names, or None."""
    return next((key for key in keys if key_address(key) == address), None)

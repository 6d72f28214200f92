"""`HtmlView`: the one widget of ours. It shows HTML that a view made and reports what is clicked in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

# Redrawing keeps the keyboard where it was: on the element with the same `data-focus`. The outermost element of
# the panel keeps bare keys from JupyterLab, whose command mode would delete cells on `d d` (jupyter facts B6).
_ESM = """
const PANEL = ".workbench-panel";
const TYPING = "input:not([type=checkbox]):not([type=range]), textarea, select";

function guard(host) {
  if (!host || host.dataset.guarded) return;
  host.dataset.guarded = "yes";
  host.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Escape") return;
    event.stopPropagation();
  });
}

function render({ model, el }) {
  el.classList.add("workbench-live");
  const draw = () => {
    const held = el.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    el.innerHTML = model.get("html");
    if (held) el.querySelector(`[data-focus="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  };
  const report = (event) => {
    const target = event.target.closest?.("[data-focus]");
    if (!target || !el.contains(target)) return;
    event.preventDefault();
    model.send({ focus: target.dataset.focus });
  };
  const onKey = (event) => {
    if (event.target.matches?.(TYPING)) return;
    if (event.key === "Enter" || event.key === " ") report(event);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !event.target.closest?.("[data-focus]")) return;
    event.preventDefault();
    model.send({ step });
  };
  el.addEventListener("click", report);
  el.addEventListener("keydown", onKey);
  model.on("change:html", draw);
  draw();
  requestAnimationFrame(() => guard(el.closest(PANEL)));
  return () => {
    el.removeEventListener("click", report);
    el.removeEventListener("keydown", onKey);
    model.off("change:html", draw);
  };
}
export default { render };
"""


class HtmlView(anywidget.AnyWidget):
    """HTML made by a view.

    `on_focus` is told the `data-focus` of what was clicked or entered, `on_step` ±1 for an arrow key on such an
    element.
    """

    _esm = _ESM
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        html: str = "",
        on_focus: Callable[[str], None] | None = None,
        on_step: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(html=html)
        self._on_focus = on_focus
        self._on_step = on_step
        self.on_msg(self._receive)

    def _receive(self, _widget: object, content: dict[str, Any], _buffers: object) -> None:
        if "focus" in content and self._on_focus is not None:
            self._on_focus(str(content["focus"]))
        elif "step" in content and self._on_step is not None:
            self._on_step(int(content["step"]))

    def __repr__(self) -> str:
        return f"HtmlView({len(self.html)} characters)"

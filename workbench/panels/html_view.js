// Shows HTML that a view made, reports what is clicked or entered in it, and keeps the keyboard where it was.

const PANEL = ".workbench-panel";
const TARGET = "[data-focus]";
const TYPING = "input:not([type=checkbox])";

const saves = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";

// JupyterLab's shortcuts work on whatever has the keyboard: `d d` on a button deletes the cell. So no key leaves the
// panel but saving and Escape, which also gives the keyboard back. What the browser does with a key is left alone.
function guard(panel) {
  if (panel.dataset.guarded) return; // by another view of it, which has a module of its own
  panel.dataset.guarded = "yes";
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") panel.parentElement.closest("[tabindex]")?.focus({ preventScroll: true });
    else if (!saves(event)) event.stopPropagation();
  });
  // A text box of ipywidgets keeps every key to itself, these two as well.
  panel.addEventListener("keydown", (event) => {
    if (!event.target.matches(TYPING) || !(saves(event) || event.key === "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    panel.dispatchEvent(new KeyboardEvent("keydown", event));
  }, { capture: true });
  // A button that is disabled while it has the keyboard would lose it to the notebook.
  new MutationObserver(() => {
    const held = document.activeElement;
    if (held?.disabled && panel.contains(held)) panel.querySelector("[aria-current]")?.focus({ preventScroll: true });
  }).observe(panel, { subtree: true, attributes: true, attributeFilter: ["disabled"] });
}

const targets = (el) => [...el.querySelectorAll(TARGET)].filter((each) => each.checkVisibility?.() ?? true);

// What an address names: a turn, an operation or a key.
const kind = (element) => (element.dataset.focus.startsWith("key:") ? "key" : element.dataset.focus.split(".").length);
const alikeIn = (el, held) => targets(el).filter((each) => kind(each) === kind(held));

function place(el) {
  const open = [...el.querySelectorAll("details")].map((each) => each.open);
  const held = document.activeElement;
  if (!el.contains(held)) return { open };
  if (held.matches("summary")) return { open, summary: [...el.querySelectorAll("summary")].indexOf(held) };
  if (!held.matches(TARGET)) return { open };
  const alike = alikeIn(el, held);
  const same = alike.filter((each) => each.dataset.focus === held.dataset.focus);
  return {
    open,
    held,
    current: held.hasAttribute("aria-current"),
    position: alike.indexOf(held),
    among: same.indexOf(held),
  };
}

// The keyboard goes with the focus if it was on it, else stays on the same thing, else goes to the nearest of its kind.
function restore(el, { open, summary, held, current, position, among }) {
  el.querySelectorAll("details").forEach((each, at) => { each.open = open[at] ?? false; });
  if (summary !== undefined) el.querySelectorAll("summary")[summary]?.focus({ preventScroll: true });
  if (!held) return;
  const alike = alikeIn(el, held);
  const same = alike.filter((each) => each.dataset.focus === held.dataset.focus);
  const next = (current && alike.find((each) => each.hasAttribute("aria-current")))
    || same[among] || same[0] || alike[Math.min(position, alike.length - 1)]
    || targets(el)[0] || el.closest(PANEL)?.querySelector("[aria-current]");
  next?.focus({ preventScroll: true });
}

function render({ model, el }) {
  el.classList.add("workbench-live");
  let dark;
  let frame;
  const tellTheme = () => {
    const now = document.body.dataset.jpThemeLight === "false";
    if (now === dark) return;
    dark = now;
    model.send({ dark });
  };
  const draw = () => {
    const kept = place(el);
    el.innerHTML = model.get("html");
    restore(el, kept);
    tellTheme();
  };
  const target = (event) => event.target.closest?.(TARGET);
  const report = (event) => {
    if (!target(event)) return;
    event.preventDefault();
    target(event).focus({ preventScroll: true });
    model.send({ focus: target(event).dataset.focus });
  };
  const walk = (event, by) => {
    const all = targets(el);
    event.preventDefault();
    all[all.indexOf(target(event)) + by]?.focus();
  };
  const onKey = (event) => {
    if (!target(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") report(event);
    if (event.key === "ArrowDown") walk(event, 1);
    if (event.key === "ArrowUp") walk(event, -1);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    model.send({ step });
  };
  const attach = () => {
    const panel = el.closest(PANEL);
    if (panel) guard(panel);
    else frame = requestAnimationFrame(attach); // the view is made before it is put into its panel
  };
  el.addEventListener("click", report);
  el.addEventListener("keydown", onKey);
  model.on("change:html", draw);
  draw();
  attach();
  return () => {
    cancelAnimationFrame(frame);
    el.removeEventListener("click", report);
    el.removeEventListener("keydown", onKey);
    model.off("change:html", draw);
  };
}

export default { render };

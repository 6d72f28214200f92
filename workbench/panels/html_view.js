// Shows HTML that a view made, reports what is clicked or entered in it, and keeps the keyboard where it was.

const PANEL = ".workbench-panel";
const TARGET = "[data-focus]";

const saves = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";

// The shortcuts of JupyterLab and Notebook 7 work on whatever has the keyboard: `d d` on a button deletes the cell. So
// no key is theirs in the panel but saving and Escape, which also gives the keyboard back: these two are made anew
// outside. Notebook 7 looks at a key before the panel does, and minds an attribute of what has the keyboard. What the
// browser does with a key is left alone.
function guard(panel) {
  if (panel.dataset.guarded) return; // by another view of it, which has a module of its own
  panel.dataset.guarded = "yes";
  panel.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
  panel.addEventListener("keydown", (event) => {
    const outside = panel.parentElement;
    if (event.key === "Escape") outside.closest("[tabindex]")?.focus({ preventScroll: true });
    else if (!saves(event)) return;
    event.preventDefault();
    event.stopPropagation();
    outside.dispatchEvent(new KeyboardEvent("keydown", event));
  }, { capture: true });
  panel.addEventListener("keydown", (event) => event.stopPropagation());
  // A button that is disabled while it has the keyboard would lose it to the notebook.
  new MutationObserver(() => {
    const held = document.activeElement;
    if (held?.disabled && panel.contains(held)) panel.querySelector("[aria-current]")?.focus({ preventScroll: true });
  }).observe(panel, { subtree: true, attributes: true, attributeFilter: ["disabled"] });
}

// The address of a moment gets a button that copies it. `execCommand` works without leave and without https; where
// neither works the address is left selected, for Ctrl+C.
async function copy(address, button) {
  const selection = window.getSelection();
  selection.selectAllChildren(address);
  let done = document.execCommand("copy");
  if (!done) done = await navigator.clipboard?.writeText(address.textContent).then(() => true, () => false);
  if (done) selection.removeAllRanges();
  button.textContent = button.ariaLabel = done ? "copied" : "press Ctrl+C";
}

function offerCopy(el) {
  el.querySelectorAll(".workbench-address").forEach((address) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "workbench-copy";
    button.textContent = "copy";
    button.ariaLabel = `Copy the address ${address.textContent}`;
    button.ariaLive = "polite";
    button.addEventListener("click", () => copy(address, button));
    address.after(button);
  });
}

const targets = (el) => [...el.querySelectorAll(TARGET)].filter((each) => each.checkVisibility?.() ?? true);

// What an address names: a turn, an operation or a key.
const kind = ({ dataset: { focus } }) => (/^[0-9.]+$/.test(focus) ? focus.split(".").length : focus.split(":")[0]);
const alikeIn = (el, held) => targets(el).filter((each) => kind(each) === kind(held));

function place(el) {
  const open = [...el.querySelectorAll("details")].map((each) => each.open);
  const held = document.activeElement;
  if (!el.contains(held)) return { open };
  if (held.matches(".workbench-copy")) return { open, copying: true };
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
function restore(el, { open, copying, summary, held, current, position, among }) {
  el.querySelectorAll("details").forEach((each, at) => { each.open = open[at] ?? false; });
  if (copying) el.querySelector(".workbench-copy")?.focus({ preventScroll: true });
  if (summary !== undefined) el.querySelectorAll("summary")[summary]?.focus({ preventScroll: true });
  if (!held) return;
  const alike = alikeIn(el, held);
  const same = alike.filter((each) => each.dataset.focus === held.dataset.focus);
  const next = (current && alike.find((each) => each.hasAttribute("aria-current")))
    || same[among] || same[0] || alike[Math.min(position, alike.length - 1)]
    || targets(el)[0] || el.closest(PANEL)?.querySelector("[aria-current]");
  next?.focus({ preventScroll: true });
}

// In a grid the arrow keys go from cell to cell, Home and End along its row, and Tab reaches only the current cell.
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const EDGES = { Home: 0, End: -1 };

function cellBeside(cell, key) {
  const table = cell.closest("[role=grid]");
  const row = cell.parentElement;
  if (key in EDGES) return [...row.cells].at(EDGES[key]);
  const [down, right] = MOVES[key] ?? [];
  if (down === undefined) return undefined;
  return table.rows[row.rowIndex + down]?.cells[cell.cellIndex + right];
}

function reachOne(grid) {
  const cells = [...grid.querySelectorAll(TARGET)];
  const rank = (cell) => cell.hasAttribute("aria-current") + (cell.tagName === "TD");
  const best = cells.filter((cell) => cell.hasAttribute("aria-current")).sort((a, b) => rank(b) - rank(a))[0];
  cells.forEach((cell) => { cell.tabIndex = -1; });
  const chosen = best ?? cells[0];
  if (!chosen) return;
  chosen.tabIndex = 0;
  if (!best) return;
  const scroll = grid.parentElement; // only the grid's own box is scrolled, never the notebook
  const [inner, outer] = [chosen.getBoundingClientRect(), scroll.getBoundingClientRect()];
  const head = grid.tHead?.offsetHeight ?? 0;
  if (inner.top < outer.top + head) scroll.scrollTop -= outer.top + head - inner.top;
  if (inner.bottom > outer.bottom) scroll.scrollTop += inner.bottom - outer.bottom + inner.height;
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
  const mark = () => {
    const current = model.get("current");
    if (current.length) {
      el.querySelectorAll(TARGET).forEach((each) => {
        if (current.includes(each.dataset.focus)) each.setAttribute("aria-current", "true");
        else each.removeAttribute("aria-current");
      });
    }
    el.querySelectorAll("[role=grid]").forEach(reachOne);
  };
  const draw = () => {
    const kept = place(el);
    el.innerHTML = model.get("html");
    offerCopy(el);
    mark();
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
    const cell = target(event).closest("[role=grid] :is(td, th)");
    if (cell && (event.key in MOVES || event.key in EDGES)) {
      event.preventDefault();
      cellBeside(cell, event.key)?.focus();
      return;
    }
    if (event.key === "ArrowDown") walk(event, 1);
    if (event.key === "ArrowUp") walk(event, -1);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    model.send({ step });
  };
  const attach = () => {
    const panel = el.closest(PANEL);
    if (panel) {
      guard(panel);
      mark(); // only now it has a place to scroll in
    } else frame = requestAnimationFrame(attach); // the view is made before it is put into its panel
  };
  el.addEventListener("click", report);
  el.addEventListener("keydown", onKey);
  model.on("change:html", draw);
  model.on("change:current", mark);
  draw();
  attach();
  return () => {
    cancelAnimationFrame(frame);
    el.removeEventListener("click", report);
    el.removeEventListener("keydown", onKey);
    model.off("change:html", draw);
    model.off("change:current", mark);
  };
}

export default { render };

// A saved stepper: shows one turn after another, out of pieces that many turns share.

const { pieces, turns } = JSON.parse(document.getElementById("turns").textContent);
const byId = (id) => document.getElementById(id);
const parts = ["head", "strip", "body"].map(byId);
const slider = byId("slider");
const position = new Map(turns.map(({ address }, at) => [address, at]));
let shown = Number(slider.value);

function show(at) {
  shown = Math.max(0, Math.min(at, turns.length - 1));
  const turn = turns[shown];
  const inStrip = byId("strip").contains(document.activeElement);
  parts.forEach((part, which) => { part.innerHTML = turn.parts[which].map((piece) => pieces[piece]).join(""); });
  slider.value = shown;
  slider.setAttribute("aria-valuetext", `turn ${turn.address}, ${shown + 1} of ${turns.length}`);
  byId("place").textContent = `turn ${turn.address} · ${shown + 1} of ${turns.length}`;
  byId("first").disabled = byId("previous").disabled = shown === 0;
  byId("last").disabled = byId("next").disabled = shown === turns.length - 1;
  document.querySelectorAll("#table [data-focus]").forEach((cell) => {
    const here = cell.dataset.focus.split("/")[0] === turn.address;
    if (here) cell.setAttribute("aria-current", "true");
    else cell.removeAttribute("aria-current");
  });
  history.replaceState(null, "", `#${turn.address}`);
  if (inStrip) byId("strip").querySelector("[aria-current]")?.focus({ preventScroll: true });
  else if (document.activeElement?.disabled || document.activeElement === document.body) slider.focus({ preventScroll: true });
}

const addressOf = (element) => element?.closest?.("[data-focus]")?.dataset.focus.split("/")[0].split(".").slice(0, 2).join(".");

function follow(event) {
  const at = position.get(addressOf(event.target));
  if (at === undefined) return false;
  event.preventDefault();
  show(at);
  return true;
}

const steps = { ArrowRight: () => shown + 1, ArrowLeft: () => shown - 1, PageDown: () => shown + 10,
  PageUp: () => shown - 10, Home: () => 0, End: () => turns.length - 1 };

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if ((event.key === "Enter" || event.key === " ") && follow(event)) return;
  const scrolls = event.target.closest?.(".workbench-scroll");
  if (!(event.key in steps) || scrolls) return;
  event.preventDefault();
  show(steps[event.key]());
});
addEventListener("click", follow);
addEventListener("hashchange", () => show(position.get(location.hash.slice(1)) ?? shown));
slider.addEventListener("input", () => show(Number(slider.value)));
byId("first").addEventListener("click", () => show(0));
byId("previous").addEventListener("click", () => show(shown - 1));
byId("next").addEventListener("click", () => show(shown + 1));
byId("last").addEventListener("click", () => show(turns.length - 1));

const dark = matchMedia("(prefers-color-scheme: dark)");
const useTheme = () => { document.documentElement.dataset.jpThemeLight = String(!dark.matches); };
dark.addEventListener("change", useTheme);
useTheme();
byId("controls").hidden = false;
show(position.get(location.hash.slice(1)) ?? shown);

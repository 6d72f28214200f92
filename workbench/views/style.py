"""Colours and CSS. Colour never stands alone: signs, words and strike-through say the same.

Text is always in the theme's own text colour; the accents below are for borders, bars and, mixed into the theme's
background, for tints. Blue and vermillion stay apart for every common kind of colour blindness; where yellow and
vermillion do not, the sign column tells them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Accent(NamedTuple):
    """A colour in the light and the dark theme, and how much of it a tint has, in percent."""

    light: str
    dark: str
    light_tint: int
    dark_tint: int


PALETTE: Final = {
    "added": Accent("#0072B2", "#56B4E9", 16, 22),
    "removed": Accent("#D55E00", "#F08A45", 16, 20),
    "changed": Accent("#F0E442", "#F0E442", 34, 18),
}

TOKENS: Final = {
    "keyword": ("#00690A", "#7FD787"),
    "string": ("#A31515", "#FF9E9E"),
    "number": ("#005A9E", "#8CC8F5"),
}
"""Colours of code that reach a contrast of 4.5 on every tint too, which the editor's own do not."""

_DARK = '[data-jp-theme-light="false"] .workbench, .vscode-dark .workbench'


def css() -> str:
    """The style sheet, the same for every rendering."""
    return f"{_variables()}{_RULES}"


def _variables() -> str:
    light = [f"--workbench-{name}:{accent.light};" for name, accent in PALETTE.items()]
    dark = [f"--workbench-{name}:{accent.dark};" for name, accent in PALETTE.items()]
    light += [f"--workbench-{name}-tint:{_tint(name, each.light_tint)};" for name, each in PALETTE.items()]
    dark += [f"--workbench-{name}-tint:{_tint(name, each.dark_tint)};" for name, each in PALETTE.items()]
    light += [f"--workbench-{name}:{colours[0]};" for name, colours in TOKENS.items()]
    dark += [f"--workbench-{name}:{colours[1]};" for name, colours in TOKENS.items()]
    return f".workbench{{{''.join(light)}}}\n{_DARK}{{{''.join(dark)}}}\n"


def _tint(name: str, percent: int) -> str:
    return f"color-mix(in srgb,var(--workbench-{name}) {percent}%,var(--workbench-ground))"


_RULES = """\
.workbench{--workbench-ground:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
--workbench-raised:color-mix(in srgb,var(--jp-layout-color2,#8884) 50%,var(--workbench-ground));
--workbench-text:var(--jp-ui-font-color1,var(--vscode-editor-foreground,CanvasText));
--workbench-quiet:var(--jp-ui-font-color2,color-mix(in srgb,var(--workbench-text) 75%,var(--workbench-ground)));
--workbench-line:var(--jp-border-color2,color-mix(in srgb,CanvasText 16%,Canvas));
--workbench-mono:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace);
background:var(--workbench-ground);color:var(--workbench-text);border:1px solid var(--workbench-line);
border-radius:6px;font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);max-width:1080px;overflow:hidden}
.workbench *{box-sizing:border-box}
.workbench .workbench-head{display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 10px;padding:10px 14px}
.workbench .workbench-name{font-size:15px;font-weight:600}
.workbench .workbench-address{color:var(--workbench-text);user-select:all;overflow-wrap:anywhere}
.workbench .workbench-mark{border:1px solid var(--workbench-line);border-radius:10px;padding:0 8px;
background:var(--workbench-changed-tint);color:var(--workbench-text)}
.workbench .workbench-quiet{color:var(--workbench-quiet)}
.workbench .workbench-badge{margin-left:auto;border:1px solid var(--workbench-line);border-radius:10px;
padding:0 9px;overflow-wrap:anywhere}
.workbench .workbench-badge-good{border-color:var(--workbench-added)}
.workbench .workbench-badge-bad{border-color:var(--workbench-removed);background:var(--workbench-removed-tint);
font-weight:600}
.workbench .workbench-row{display:flex;flex-wrap:wrap;gap:1px;background:var(--workbench-line);
border-top:1px solid var(--workbench-line)}
.workbench .workbench-part{flex:1 1 30em;min-width:0;padding:10px 14px;overflow-x:auto;
background:var(--workbench-ground);container-type:inline-size}
.workbench .workbench-narrow{flex:1 1 17em}
.workbench .workbench-wide{flex:1.7 1 34em}
.workbench .workbench-sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30em),1fr));
gap:0 1px;background:var(--workbench-line);border-top:1px solid var(--workbench-line)}
.workbench .workbench-side{display:grid;grid-template-rows:subgrid;grid-row:span 5;min-width:0;
background:var(--workbench-ground);box-shadow:0 -1px 0 var(--workbench-line)}
.workbench .workbench-side>.workbench-part{padding:6px 14px}
.workbench .workbench-side>.workbench-empty{padding:0}
.workbench .workbench-title{font-weight:600;color:var(--workbench-quiet);margin:0 0 5px}
.workbench .workbench-after{margin:6px 0 0}
.workbench .workbench-mono{font-family:var(--workbench-mono)}
.workbench .workbench-break{overflow-wrap:anywhere}
.workbench.workbench .workbench-table{border-collapse:collapse;width:100%;margin:0;border:0;table-layout:auto;
font-size:13px;color:inherit}
.workbench.workbench .workbench-table caption{caption-side:top;text-align:left;font-weight:600;padding:0 0 5px;
color:var(--workbench-quiet)}
.workbench.workbench .workbench-table tr{background:none;text-align:left}
.workbench.workbench .workbench-table :is(th,td){padding:2px 12px 2px 0;text-align:left;vertical-align:top;
border:0;font-weight:400;white-space:normal;line-height:1.5;background:none;max-width:none}
.workbench.workbench .workbench-table thead th{font-weight:600;font-size:12px;color:var(--workbench-quiet);
border-bottom:1px solid var(--workbench-line);vertical-align:bottom;white-space:nowrap}
.workbench.workbench .workbench-table .workbench-sign{width:24px;padding-left:7px;padding-right:6px;font-weight:700;
font-family:var(--workbench-mono);border-left:3px solid transparent;white-space:nowrap}
.workbench.workbench .workbench-table .workbench-whole{white-space:nowrap}
.workbench.workbench .workbench-table .workbench-right{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}
.workbench.workbench .workbench-table .workbench-mono{font-family:var(--workbench-mono)}
.workbench.workbench .workbench-table thead th.workbench-mono{font-family:inherit}
.workbench.workbench .workbench-table .workbench-half{width:42%}
.workbench.workbench .workbench-table td:is(.workbench-mono,.workbench-break){overflow-wrap:anywhere;min-width:6em}
.workbench.workbench .workbench-table th.workbench-mono{overflow-wrap:break-word}
.workbench.workbench .workbench-table .workbench-label{width:6.5em;color:var(--workbench-quiet);white-space:nowrap}
.workbench.workbench .workbench-table tr.workbench-added{background:var(--workbench-added-tint)}
.workbench.workbench .workbench-table tr.workbench-removed{background:var(--workbench-removed-tint)}
.workbench.workbench .workbench-table tr.workbench-changed{background:var(--workbench-changed-tint)}
.workbench.workbench .workbench-table .workbench-added .workbench-sign{border-left-color:var(--workbench-added)}
.workbench.workbench .workbench-table .workbench-removed .workbench-sign{border-left-color:var(--workbench-removed)}
.workbench.workbench .workbench-table .workbench-changed .workbench-sign{border-left-color:var(--workbench-changed)}
.workbench :is(.workbench-added,.workbench-removed,.workbench-changed,.workbench-card) .workbench-quiet,
.workbench.workbench :is(.workbench-card) .workbench-table .workbench-label{color:var(--workbench-text)}
.workbench del{text-decoration:line-through;text-decoration-thickness:1.5px}
.workbench ins{text-decoration:none;font-weight:700}
.workbench .workbench-card{margin:10px 14px;padding:9px 14px;border:1px solid var(--workbench-removed);
border-left-width:4px;border-radius:4px;background:var(--workbench-removed-tint)}
.workbench.workbench .workbench-card .workbench-table{table-layout:fixed}
.workbench .workbench-card-title{font-size:14px;font-weight:600;margin:0 0 6px;overflow-wrap:anywhere}
.workbench .workbench-card ul{margin:0;padding:0;list-style:none}
.workbench.workbench pre.workbench-code{margin:0;padding:0;border:0;background:none;color:inherit;overflow-x:auto;
font:13px/1.55 var(--workbench-mono);white-space:pre}
.workbench .workbench-code>span{display:block;padding:0 8px 0 5px;border-left:3px solid transparent;width:max-content;
min-width:100%}
.workbench .workbench-code>.workbench-here{background:var(--workbench-changed-tint);
border-left-color:var(--workbench-changed)}
.workbench .workbench-code>.workbench-looked-at{outline:1px solid var(--workbench-added);outline-offset:-1px}
.workbench .workbench-code>.workbench-diverged{background:var(--workbench-removed-tint);
border-left-color:var(--workbench-removed)}
.workbench .workbench-card .workbench-code>span{background:none;border-left:0;padding-left:0}
.workbench .workbench-card .workbench-code>.workbench-diverged{font-weight:700}
.workbench .workbench-number{color:var(--workbench-quiet)}
.workbench :is(.workbench-here,.workbench-diverged,.workbench-card) .workbench-number{color:var(--workbench-text)}
.workbench .workbench-keyword{color:var(--workbench-keyword);font-weight:600}
.workbench .workbench-string{color:var(--workbench-string)}
.workbench .workbench-literal{color:var(--workbench-number)}
.workbench .workbench-comment{font-style:italic}
.workbench .workbench-link{border-radius:3px}
.workbench .workbench-link:focus-visible{outline:2px solid var(--workbench-added);outline-offset:1px}
.workbench .workbench-table .workbench-link[aria-current]{outline:1px solid var(--workbench-added);outline-offset:2px}
.workbench .workbench-head .workbench-link[aria-current]{font-weight:700;color:var(--workbench-text)}
.workbench-live .workbench-link{cursor:pointer}
.workbench-live :is(.workbench-head,.workbench-after,caption,td:is(.workbench-note,.workbench-break))
.workbench-link,
.workbench-pinned .workbench-link{text-decoration:underline dotted;text-underline-offset:3px}
.workbench-live .workbench-link:hover{text-decoration:underline}
.workbench .workbench-strip{display:flex;flex-wrap:wrap;gap:4px;padding:0 14px 10px;align-items:center}
.workbench .workbench-turn{display:inline-flex;gap:6px;justify-content:space-between;min-width:5.6em;
padding:1px 9px;border:1px solid var(--workbench-line);border-radius:4px;background:var(--workbench-raised);
font-variant-numeric:tabular-nums;white-space:nowrap}
.workbench .workbench-turn[aria-current]{background:var(--workbench-changed-tint);
border-color:var(--workbench-added);box-shadow:0 0 0 1px var(--workbench-added)}
.workbench .workbench-turn.workbench-diverged{border-color:var(--workbench-removed);font-weight:600;
background:var(--workbench-removed-tint)}
.workbench .workbench-turn.workbench-diverged[aria-current]{box-shadow:0 0 0 1px var(--workbench-removed)}
.workbench .workbench-bar{display:inline-block;width:100%;min-width:7em;height:10px;border-radius:5px;overflow:hidden;
border:1px solid var(--workbench-line);background:var(--workbench-raised);vertical-align:middle}
.workbench .workbench-bar>span{display:block;height:100%;min-width:1px;background:var(--workbench-added)}
.workbench .workbench-bar-over>span{background:var(--workbench-removed)}
.workbench details{margin:6px 0 0}
.workbench summary{cursor:pointer;color:var(--workbench-quiet)}
.workbench .workbench-table .workbench-fit{width:1%;white-space:nowrap}
@container (max-width:54em){.workbench.workbench .workbench-table tbody th.workbench-mono{overflow-wrap:anywhere;
min-width:6em}}
@container (max-width:48em){.workbench.workbench .workbench-table thead th{white-space:normal}}
@container (max-width:44em){.workbench.workbench .workbench-table .workbench-optional{display:none}}
"""

import { CONTENDERS } from "../scenario/model.ts";

export const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --page: #fff; --box: #f6f8fa; --link: #0550ae;
  --default: #24292f; --paper: #d1500a; --paper-scaled: #a87400; --affinity: #c4458f; --upstream: #6f42c1; --isochrone: #0b62c4; --optimum: #00875f; --null: #7a828b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b1; --line: #3d444d; --page: #0d1117; --box: #151b23; --link: #79b8ff;
  --default: #e6edf3; --paper: #f0783e; --paper-scaled: #e3b341; --affinity: #f778ba; --upstream: #b392f0; --isochrone: #58a6ff; --optimum: #3fd0a0; --null: #9da7b1; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 74rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; } h2 { margin: 2.75rem 0 .75rem; font-size: 1.3rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin: 1.75rem 0 .5rem; font-size: 1.05rem; }
p, li { max-width: 52rem; } .question { font-size: 1.1rem; } .soft { color: var(--soft); }
code, pre { font: .875em/1.45 ui-monospace, monospace; background: var(--box); border-radius: 4px; } code { padding: .1em .3em; }
pre { padding: .75rem 1rem; overflow-x: auto; } pre code { padding: 0; background: none; }
.scroll { overflow-x: auto; margin: .75rem 0 1.25rem; } .scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .35rem; } caption span { display: block; position: sticky; left: 0; max-width: min(52rem, calc(100vw - 3.5rem)); }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); } thead th { vertical-align: bottom; min-width: 4.5rem; max-width: 11rem; } tbody th { font-weight: 600; white-space: nowrap; } tbody th.long { white-space: normal; }
td { min-width: 4.5rem; white-space: nowrap; } td.long { min-width: 15rem; white-space: normal; } tbody th { min-width: 6rem; } tbody th.long { min-width: 9rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); font-size: .9375rem; margin: .75rem 0; } dt, dd { margin: 0; padding: .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; } dt { font-weight: 600; padding-right: 1.25rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem; margin: .5rem 0 1rem; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); font-size: .875rem; max-width: 52rem; }
svg { display: block; width: 100%; height: auto; } .panels svg { max-width: 30rem; } svg.wide { max-width: 60rem; min-width: 38rem; } svg text { font: 11px system-ui, sans-serif; fill: var(--soft); } svg .title { font-size: 13px; font-weight: 600; fill: var(--ink); }
svg .label { fill: var(--ink); } .axis line { stroke: var(--soft); stroke-width: 1; } .axis .grid { stroke: var(--line); stroke-width: .75; }
.change { stroke: var(--soft); stroke-dasharray: 2 3; }
.series { stroke: var(--c); fill: none; stroke-width: 1.6; } .series path { stroke-width: 1.1; } .series .mark { fill: var(--c); stroke: var(--page); stroke-width: .8; } .series .cross { stroke-width: 1.8; } .series .hollow { fill: var(--page); stroke: var(--c); stroke-width: 1.4; }
.c-isochrone polyline { stroke-width: 2.4; } .c-paper-scaled polyline { stroke-dasharray: 7 2; } .c-optimum polyline { stroke-dasharray: 2 2; }
.reference { fill: none; stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 5 4; }
${CONTENDERS.map((id) => `.c-${id} { --c: var(--${id}); }`).join(" ")}
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: .5rem 0; font-size: .875rem; } .legend li { display: flex; align-items: center; gap: .4rem; max-width: none; }
.legend svg { width: 2rem; }
details { margin: .75rem 0; } summary { cursor: pointer; color: var(--link); } summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.finding { border-left: 4px solid var(--isochrone); background: var(--box); padding: .6rem 1rem; margin: 1rem 0; } .finding p { margin: .3rem 0; } .finding ul { margin: .3rem 0 .6rem; padding-left: 1.25rem; } a { color: var(--link); }
@media (max-width: 40rem) { dl { display: block; } dt { border-bottom: 0; padding-bottom: 0; } dd { padding-top: 0; } td.long { min-width: 12rem; } }
@media print { html { font-size: 10pt; } svg.wide { min-width: 0; } :root { color-scheme: light; } main { max-width: none; padding: 0; } body { font-size: 10pt; } .scroll { overflow: visible; } table { font-size: 8pt; } thead th, tbody th, tbody th.long, td, td.long { min-width: 0; white-space: normal; padding-right: .5rem; } figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } .panels { grid-template-columns: repeat(2, 1fr); } details:not([open]) { display: none; } .finding { break-inside: avoid; } }
`;

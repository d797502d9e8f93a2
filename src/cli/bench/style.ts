/** How the page looks: on a phone, on paper, in light and dark. */

/** Colours that the colour-blind can tell apart (Okabe and Ito), and those for a dark ground. */
const LIGHT = [
  ...["#c2410c", "#6b7280", "#0072b2", "#009e73", "#8a6d00"],
  ...["#1d4ed8", "#a21caf", "#b91c7c", "#0f766e", "#57534e"],
];
const DARK = [
  ...["#ff8a4c", "#a3aab5", "#56b4e9", "#34d399", "#f0e442"],
  ...["#8ab4ff", "#e879f9", "#f472b6", "#5eead4", "#d6d3d1"],
];

const variables = (colors: readonly string[]) =>
  colors.map((color, i) => `--c${i}:${color};`).join("");

/** The sheet. */
export const STYLE = `
:root{color-scheme:light dark;--ground:#fff;--text:#1c1917;--faint:#57534e;--rule:#d6d3d1;
--warn:#fef3c7;${variables(LIGHT)}}
@media (prefers-color-scheme:dark){:root{--ground:#171412;--text:#f5f5f4;--faint:#a8a29e;
--rule:#44403c;--warn:#422006;${variables(DARK)}}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:62rem;background:var(--ground);color:var(--text);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem}
h3{font-size:1rem;margin:1rem 0 .25rem}p{margin:.5rem 0}.faint{color:var(--faint);font-size:.9rem}
.warning{background:var(--warn);padding:.5rem .75rem;border-radius:.25rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.5rem}
figure{margin:0;max-width:34rem}figcaption{font-weight:600;margin-bottom:.25rem}
svg{width:100%;height:auto;display:block;overflow:visible}
svg text{fill:var(--text);font:12px system-ui,sans-serif}
svg .grid{stroke:var(--rule);stroke-width:1}
.line line,.line polyline{stroke:var(--c);fill:none;stroke-width:2}.line circle{fill:var(--c)}
.line .range{stroke-width:1.5;opacity:.6}.line .dot{opacity:.35}.line .median{stroke-width:3}
.foreign polyline{stroke-dasharray:5 4}rect{fill:var(--c)}
${LIGHT.map((_, i) => `.c${i}{--c:var(--c${i})}`).join("")}
ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;margin:.25rem 0;
font-size:.85rem}
.swatch{display:inline-block;width:.8rem;height:.8rem;background:var(--c);margin-right:.35rem;
border-radius:2px;vertical-align:-.08rem}
.table{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;
font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--rule);text-align:right;
white-space:nowrap}
th:first-child,td:first-child,.words td,.words th{text-align:left}.words td{white-space:normal}
tr.ours td{font-weight:600}code,pre{font:.85rem ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
@media print{body{max-width:none;padding:0;font-size:10pt}figure,table{break-inside:avoid}
:root{--ground:#fff;--text:#000;--faint:#444;--rule:#bbb;--warn:#fff;${variables(LIGHT)}}
.table{overflow:visible}*{print-color-adjust:exact}}
`;

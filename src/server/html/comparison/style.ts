/** CSS classes of the curves, in the order of the policies. The first one is for the recorded policy. */
export const inks: readonly string[] = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']

// The colours are the same as in the page (src/ui/tokens.css).
export const style = `:root{color-scheme:light dark;--ground:light-dark(#fdfcfa,#121316);--panel:light-dark(#f5f3ee,#1a1b1f);--ink:light-dark(#1d1b18,#ecebe8);--faint:light-dark(#56514a,#aeadaa);--line:light-dark(#e9e5dd,#27292e);--p0:light-dark(#1d1b18,#ecebe8);--p1:light-dark(#1746b0,#7ba8ff);--p2:light-dark(#bd0a2e,#ff8089);--p3:light-dark(#00756a,#3fc4b1);--p4:light-dark(#7548c4,#c6b4ff);--p5:light-dark(#855700,#e5ab40)}
*{box-sizing:border-box}
html{background:var(--ground);color:var(--ink);-webkit-text-size-adjust:100%}
body{margin:0;font:.875rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif}
main{max-width:60rem;margin-inline:auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.375rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}
h2,figcaption{font-size:1.0625rem;font-weight:600;margin:0 0 .5rem}
p{margin:0 0 .75rem;max-width:50rem}
.note{color:var(--faint)}
code{font:.8125rem ui-monospace,'SF Mono','Cascadia Mono','Roboto Mono','Noto Sans Mono','DejaVu Sans Mono',Menlo,Consolas,monospace;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin-block:1rem;background:linear-gradient(var(--ground) 0 0) 100% 0/1rem 100% no-repeat local,linear-gradient(270deg,color-mix(in srgb,var(--faint) 40%,transparent),transparent) 100% 0/1rem 100% no-repeat}
.wide:focus-visible,summary:focus-visible{outline:2px solid var(--p1);outline-offset:2px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.3rem .75rem .3rem 0;text-align:right;border-bottom:1px solid var(--line);vertical-align:baseline}
thead th{color:var(--faint);font-weight:400;font-size:.8125rem}
th:first-child,.text{text-align:left}
th:first-child{position:sticky;left:0;background:var(--ground)}
th:has(.ink){min-width:6.5rem;white-space:normal;overflow-wrap:anywhere}
td.text{white-space:normal;min-width:7rem}
tbody th{font-weight:600}
.ink{display:inline-block;width:.7em;height:.7em;margin-inline-end:.5em;border-radius:2px;background:currentcolor}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0 0 1.5rem;padding:0;list-style:none;color:var(--faint)}
.legend svg{width:28px;height:8px;margin-inline-end:.5rem}
figure{margin:0 0 2rem}
.chart{display:grid;grid-template-columns:auto 1fr;gap:.25rem .5rem}
.scale{display:flex;flex-direction:column;justify-content:space-between;margin-block:-.6em;text-align:right;color:var(--faint);font-size:.75rem;font-variant-numeric:tabular-nums}
.plot{position:relative;height:13rem}
.plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.calls{grid-column:2;display:flex;justify-content:space-between;color:var(--faint);font-size:.75rem}
path{fill:none;stroke:currentcolor;stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round;vector-effect:non-scaling-stroke}
.grid{stroke:var(--line);stroke-width:1}
.plot i{position:absolute;transform:translate(-50%,-50%);font:normal .75rem/1 system-ui,sans-serif;text-shadow:0 0 2px var(--ground),0 0 2px var(--ground)}
.p0{color:var(--p0)}.p1{color:var(--p1)}.p2{color:var(--p2)}.p3{color:var(--p3)}.p4{color:var(--p4)}.p5{color:var(--p5)}
path.p1,.p1>path{stroke-dasharray:7 4}path.p2,.p2>path{stroke-dasharray:2 4}path.p3,.p3>path{stroke-dasharray:9 3 2 3}path.p4,.p4>path{stroke-dasharray:4 3}path.p5,.p5>path{stroke-dasharray:12 4}
summary{cursor:pointer}
@media print{main{max-width:none}.wide{overflow:visible}}
`

// The page from top to bottom.

function addHeader() {
  const facts = [];
  for (const c of report.compilations) {
    const machine = c.machine;
    facts.push(`${c.model}: ${c.producer}, ${c.precision}, ${c.optimizer}, batch ${c.batch}` +
      (c.grad_accumulation > 1 ? ` x ${c.grad_accumulation}` : "") +
      (machine ? `. Planned for ${format(machine.threads)} threads, ${format(machine.matmul_f32 * 1e-9, 3)} GFLOP/s in matmuls, ${
        format(machine.vector_f32 * 1e-9, 3)} in vectors, ${format(machine.memory_bandwidth * 1e-9, 3)} GB/s from memory, ${
        format(machine.cache_bandwidth * 1e-9, 3)} from the caches` : ""));
  }
  document.body.append(make(`<a class="skip" href="#main">to the content</a>`),
    make(`<header><h1>${esc(report.title)}</h1>${[...new Set(facts)].map((f) => `<p class="muted">${esc(f)}.</p>`).join("")}</header>`));
}

addHeader();
const nav = make(`<nav aria-label="sections"><ul></ul></nav>`);
document.body.append(nav, main, make(`<footer>Made by Ingot. This file is complete: it needs no network.</footer>`));
addSummary();
addCurves();
addBreakdown();
addDiagnoses();
addRooflines();
addMemory();
addGraph();
addRemarks();
nav.querySelector("ul").innerHTML = links.map(([id, title]) => `<li><a href="#${id}">${esc(title)}</a></li>`).join("");
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  redrawAll();
});
// The first drawing does not know of the scroll bar, which takes some of the width.
redrawAll();
document.documentElement.dataset.ready = "yes";

// Kernels against what the machine can do at most.

/** The kernels of a profile or, without one, of a compilation at their bounds. */
function kernelsOf(profile, compilation) {
  if (profile)
    return profile.kernels.map((kernel) => ({
      // The median says what a kernel can do, also on a machine that is sometimes taken by others.
      ...kernel, time: kernel.p50_us, total: kernel.total_us / Math.max(1, profile.steps), measured: true,
    }));
  const step = compilation.functions.train_step || Object.values(compilation.functions)[0];
  return step.kernels.map((kernel) => ({ ...kernel, time: kernel.bound_us, total: kernel.bound_us, calls: 1 }));
}

/** Which rate of a machine limits the arithmetic of a kernel. */
function computeKind(kernel) {
  return ["matmul", "convolution", "attention"].includes(kernel.kind) ? kernel.kind : "vector";
}

/** The roofs of a machine for these kernels: operations per second by name, and bytes per second. */
function roofsOf(compilation, kernels) {
  const machine = compilation && compilation.machine;
  if (!machine) return null;
  const half = { bf16: "bf16", fp8: "bf16", fp16: "f16" }[compilation.precision];
  const rateOf = (kind) => (kind !== "vector" && half && machine[`${kind}_${half}`]) || machine[kind + "_f32"];
  const kinds = [...new Set(["matmul", "vector", ...kernels.map(computeKind)])]
    .filter((kind) => kind === "vector" || kernels.some((k) => computeKind(k) === kind));
  return {
    compute: kinds.map((kind) => [kind === "vector" ? "other arithmetic" : kind, rateOf(kind)]).filter(([, rate]) => rate > 0),
    memory: [["cache", machine.cache_bandwidth], ["memory", machine.memory_bandwidth]].filter(([, rate]) => rate > 0),
  };
}

function drawRoofline(card, kernels, roofs) {
  const holder = card.querySelector(".holder"), readout = card.querySelector(".readout");
  const shown = kernels.filter((k) => k.flops > 0 && k.bytes > 0 && k.time > 0).sort((a, b) => b.total - a.total);
  const total = kernels.reduce((sum, k) => sum + k.total, 0);
  const rest = kernels.filter((k) => !shown.includes(k));
  const restShare = rest.reduce((sum, k) => sum + k.total, 0) / Math.max(total, 1e-12);
  card.querySelector(".rest").textContent = rest.length
    ? `Kernels without arithmetic, ${formatShare(restShare)} of the time, are not in the picture: ${rest.length}.` : "";
  if (!shown.length) return;
  const width = widthOf(holder), height = Math.max(340, Math.min(460, Math.round(width * 0.45)));
  const box = { left: 74, right: width - 14, top: 14, bottom: height - 38 };
  const intensities = shown.map((k) => k.flops / k.bytes), rates = shown.map((k) => (k.flops / k.time) * 1e-3);
  const best = roofs ? Math.max(...roofs.compute.map(([, rate]) => rate * 1e-9)) : 0;
  const ridge = roofs && roofs.memory.length ? (best * 1e9) / roofs.memory[roofs.memory.length - 1][1] : 0;
  const x = makeAxis(Math.min(...intensities) / 1.6, Math.max(...intensities, ridge) * 1.6, box.left, box.right, true);
  const y = makeAxis(Math.min(...rates) / 1.6, Math.max(...rates, best) * 1.6, box.bottom, box.top, true);
  let text = drawAxes(x, y, box, { x: format, y: (v) => format(v) });
  text += `<text x="${(box.left + box.right) / 2}" y="${height - 4}" text-anchor="middle">operations per byte</text>` +
    `<text x="12" y="${(box.top + box.bottom) / 2}" text-anchor="middle" transform="rotate(-90 12 ${
      (box.top + box.bottom) / 2})">GFLOP/s</text>`;
  const start = Math.exp(Math.log(Math.min(...intensities) / 1.6)), end = Math.max(...intensities, ridge) * 1.6;
  const clip = "roofline" + Math.random().toString(36).slice(2);
  text += `<clipPath id="${clip}"><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${
    box.bottom - box.top}"/></clipPath>`;
  // Large ones first, so that small ones stay on top.
  const radius = (k) => 3 + 17 * Math.sqrt(k.total / Math.max(total, 1e-12));
  const circles = shown.map((k) => [x(k.flops / k.bytes), y((k.flops / k.time) * 1e-3), radius(k)]);
  const roofLines = [];
  if (roofs) {
    for (const [name, rate] of roofs.memory) {
      // A slope, up to the highest of the flat roofs.
      const knee = Math.min(end, (best * 1e9) / rate);
      if (knee <= start) continue;
      const from = [x(start), y(start * rate * 1e-9)], to = [x(knee), y(knee * rate * 1e-9)];
      const angle = (Math.atan2(to[1] - from[1], to[0] - from[0]) * 180) / Math.PI;
      roofLines.push({ from, to, angle, dash: name === "cache" ? "5 4" : "", name, rate: `${format(rate * 1e-9, 3)} GB/s` });
    }
    const fastest = roofs.memory.length ? Math.max(...roofs.memory.map(([, rate]) => rate)) : 1e30;
    for (const [name, rate] of roofs.compute) {
      const from = Math.max(start, rate / fastest);
      if (from >= end) continue;
      const level = y(rate * 1e-9);
      roofLines.push({ from: [x(from), level], to: [box.right, level], angle: 0, dash: "",
        name, rate: `${format(rate * 1e-9, 3)} GFLOP/s` });
    }
  }
  for (const { from, to, dash } of roofLines)
    text += `<path class="roof" clip-path="url(#${clip})" d="M${from[0].toFixed(1)} ${from[1].toFixed(1)}L${to[0].toFixed(1)} ${
      to[1].toFixed(1)}" style="stroke:var(--text)" stroke-width="1.6" stroke-dasharray="${dash}" fill="none"/>`;
  shown.forEach((k, i) => {
    const [cx, cy, r] = circles[i];
    text += `<circle data-index="${i}" cx="${cx.toFixed(1)}" cy="${cy.toFixed(1)}" r="${r.toFixed(1)}" style="fill:${partColor(k.part)};fill-opacity:.6;stroke:${partColor(k.part)}"/>`;
  });
  const spots = roofLines.map(({ from, to }) => Array.from({ length: 81 }, (_, i) =>
    [from[0] + ((to[0] - from[0]) * i) / 80, from[1] + ((to[1] - from[1]) * i) / 80]));
  const label = makeLabeler(circles, spots, box);
  const isNarrow = width < 620;
  roofLines.forEach(({ from, to, angle, name, rate }, own) => {
    const places = [];
    // Along the line from its end, above it and below, and farther from it where roofs are close to each other.
    for (const [price, sides] of [[0, [-7, 16]], [4, [-22, 31]], [8, [-37, 46]], [12, [-52, 61]]])
      for (let part = 0.96; part > 0.04; part -= 0.04)
        for (const side of sides) {
          const turn = (angle * Math.PI) / 180;
          places.push({ angle, price, x: from[0] + (to[0] - from[0]) * part - Math.sin(turn) * side,
            y: from[1] + (to[1] - from[1]) * part + Math.cos(turn) * side });
        }
    text += label(isNarrow ? name : `${name}, ${rate}`, places, own);
  });
  const svg = make(`<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" tabindex="0" role="img"
    aria-label="${shown.length} kernels by operations per byte and operations per second; arrow keys go through them">${
    text}<g class="marks"></g></svg>`);
  holder.replaceChildren(svg);
  card.querySelector(".roofs").textContent = isNarrow && roofLines.length
    ? `Roofs: ${roofLines.map(({ name, rate }) => `${name} ${rate}`).join(", ")}.` : "";
  const atRest = "The mouse, or the arrow keys in the chart, choose a kernel.";
  readout.textContent = atRest;
  let at = -1;
  const choose = (index) => {
    at = index;
    const marks = svg.querySelector(".marks");
    marks.innerHTML = "";
    readout.textContent = index < 0 ? atRest : "";
    if (index < 0) return;
    const k = shown[index];
    marks.innerHTML = `<circle cx="${x(k.flops / k.bytes)}" cy="${y((k.flops / k.time) * 1e-3)}" r="${radius(k) + 3}"
      fill="none" style="stroke:var(--text)" stroke-width="2"/>`;
    const bound = k.measured && k.bound_us > 0 ? `, ${formatShare(k.bound_us / k.time)} of the best` : "";
    readout.textContent = `${k.name}: ${format(k.time)} µs, ${formatShare(k.total / total)} of the time, ${
      format((k.flops / k.time) * 1e-3)} GFLOP/s, ${format((k.bytes / k.time) * 1e-3)} GB/s${bound}`;
  };
  svg.addEventListener("pointermove", (event) => {
    const index = event.target.dataset && event.target.dataset.index;
    if (index !== undefined) choose(Number(index));
  });
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -1e9, End: 1e9 };
    if (event.key === "Escape") choose(-1);
    if (!(event.key in moves)) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(shown.length - 1, at + moves[event.key])));
  });
  svg.addEventListener("blur", () => choose(-1));
}

function addRooflines() {
  const profiled = report.runs.filter((run) => run.profile && run.profile.kernels.length)
    .map((run) => ({ title: run.name, profile: run.profile, compilation: findCompilation(run) }));
  const planned = report.compilations.filter((c) => !findProfile(c))
    .map((c) => ({ title: nameOf(c), profile: null, compilation: c }));
  const all = [...profiled, ...planned];
  if (!all.length) return;
  const section = addSection("kernels", "Kernels",
    "A point is a kernel: the farther right, the more it computes with each byte, and the closer to the roof, the closer " +
    "to what the machine can do, by the median of its calls. Each kind of arithmetic has a roof of its own. Its area is its part of the time. Bounds are of data in memory: " +
    "kernels whose data is in a cache are above them.");
  for (const { title, profile, compilation } of all) {
    const kernels = kernelsOf(profile, compilation);
    const what = profile ? "as profiled" : "as planned: the bounds of the cost model";
    const roofs = roofsOf(compilation, kernels.filter((k) => k.flops > 0));
    const parts = [...new Set(kernels.map((k) => k.part).filter(Boolean))];
    const card = addCard(section, `<h3>${esc(title)}, ${what}</h3><div class="legend">${parts.map((part) =>
      `<span><span class="key" style="background:${partColor(part)}"></span>${esc(part)}</span>`).join("")}</div>
      <div class="holder"></div><p class="readout" aria-live="polite"></p><p class="muted roofs"></p><p class="muted rest"></p>${
      roofs ? "" : '<p class="muted">The roofs are in the report of the compiler (<code>ingotc --report</code>), which was not given.</p>'}`);
    card.classList.add("roofline");
    drawAlways(() => drawRoofline(card, kernels, roofs));
    addKernelTable(addCard(section, "", "long"), kernels);
  }
}

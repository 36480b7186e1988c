// Memory over the step, by what it is for.

const memoryLayers = [
  ["weights", "--weights"], ["optimizer", "--moments"], ["input", "--input"], ["gradient", "--gradient"],
  ["communication", "--communication"], ["workspace", "--workspace"], ["staging", "--staging"], ["output", "--output"],
  ["activation", "--activation"],
];

/** The bytes of each layer while each kernel runs. */
function layersOf(step) {
  const count = step.kernels.length;
  const layers = memoryLayers.map(() => new Float64Array(count + 1));
  const add = (layer, bytes, first, last) => {
    if (layer < 0 || first >= count) return;
    layers[layer][first] += bytes;
    layers[layer][Math.min(last + 1, count)] -= bytes;
  };
  add(0, step.memory.weights_bytes || 0, 0, count);
  add(1, step.memory.optimizer_bytes || 0, 0, count);
  const index = Object.fromEntries(memoryLayers.map(([name], i) => [name, i]));
  step.intervals.forEach(([, bytes, first, last], i) => add(index[step.interval_kinds[i]] ?? -1, bytes, first, last));
  for (const layer of layers) for (let i = 1; i <= count; ++i) layer[i] += layer[i - 1];
  return layers;
}

/** When each kernel ends, in ms: as profiled if it was, else as the cost model estimates. */
function timesOf(step, name, profile) {
  const measured = new Map();
  if (profile)
    for (const kernel of profile.kernels) if (kernel.function === name) measured.set(kernel.kernel, kernel.p50_us);
  const known = step.kernels.filter((_, i) => measured.has(i)).length;
  const isMeasured = known > 0.9 * step.kernels.length;
  let end = 0;
  // Kernels that take almost no time are to be seen, too.
  const ends = step.kernels.map((k, i) =>
    (end += Math.max((isMeasured && measured.get(i)) || k.bound_us || 0, 0.5) * 1e-3));
  return { ends, isMeasured };
}

function drawMemory(card, step, name, profile) {
  const holder = card.querySelector(".holder"), readout = card.querySelector(".readout");
  const layers = layersOf(step);
  const { ends, isMeasured } = timesOf(step, name, profile);
  const count = step.kernels.length;
  const total = (i) => layers.reduce((sum, layer) => sum + layer[i], 0);
  let peak = 0;
  for (let i = 1; i < count; ++i) if (total(i) > total(peak)) peak = i;
  const width = widthOf(holder), height = 280;
  const box = { left: 78, right: width - 10, top: 20, bottom: height - 38 };
  const x = makeAxis(0, ends[count - 1], box.left, box.right);
  const y = makeAxis(0, Math.max(total(peak), 1), box.bottom, box.top);
  y.ticks = niceTicks(0, Math.max(total(peak), 1) / 1048576, 4).map((v) => v * 1048576);
  let text = drawAxes(x, y, box, { x: (v) => format(v) + " ms", y: formatBytes });
  const begin = (i) => (i ? ends[i - 1] : 0);
  const sums = new Float64Array(count);
  const paths = [];
  memoryLayers.forEach(([, color], layer) => {
    let top = "", bottom = "";
    let any = false;
    for (let i = 0; i < count; ++i) {
      const from = y(sums[i]).toFixed(1);
      any = any || layers[layer][i] > 0;
      sums[i] += layers[layer][i];
      const left = x(begin(i)).toFixed(1), right = x(ends[i]).toFixed(1);
      top += `${i ? "L" : "M"}${left} ${y(sums[i]).toFixed(1)}H${right}`;
      bottom = `L${right} ${from}H${left}` + bottom;
    }
    if (any) paths.push(`<path d="${top}${bottom}Z" style="fill:var(${color})"/>`);
  });
  text += paths.join("");
  const middle = (x(begin(peak)) + x(ends[peak])) / 2;
  const anchor = middle > width * 0.8 ? "end" : middle < width * 0.2 ? "start" : "middle";
  text += `<path class="cursor" style="stroke:var(--text)" d="M${middle.toFixed(1)} ${box.top - 4}V${box.bottom}"/>` +
    `<text class="strong" x="${middle.toFixed(1)}" y="${box.top - 8}" text-anchor="${anchor}">peak ${
      formatBytes(total(peak))}, kernel ${peak}</text>` +
    `<text x="${(box.left + box.right) / 2}" y="${height - 4}" text-anchor="middle">${
      isMeasured ? "time as profiled" : "time as the cost model estimates it"}</text>`;
  const svg = make(`<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" tabindex="0" role="img"
    aria-label="memory over the step; at its peak ${formatBytes(total(peak))} in kernel ${peak}">${text}<g class="marks"></g></svg>`);
  holder.replaceChildren(svg);
  const atRest = "The mouse, or the arrow keys in the chart, say what a kernel needs.";
  readout.textContent = atRest;
  addCursor(svg, step.kernels.map((_, i) => (x(begin(i)) + x(ends[i])) / 2), (i) => {
    const marks = svg.querySelector(".marks");
    marks.innerHTML = i < 0 ? "" : `<path class="cursor" d="M${((x(begin(i)) + x(ends[i])) / 2).toFixed(1)} ${box.top}V${box.bottom}"/>`;
    const uses = memoryLayers.map(([kind], layer) => [kind, i < 0 ? 0 : layers[layer][i]]).filter(([, bytes]) => bytes > 0);
    readout.textContent = i < 0 ? atRest : `kernel ${i}, ${step.kernels[i].name}: ${formatBytes(total(i))}: ${
      uses.map(([kind, bytes]) => `${kind} ${formatBytes(bytes)}`).join(", ")}`;
  });
}

function addMemory() {
  const all = report.compilations.flatMap((c) =>
    Object.entries(c.functions).filter(([name, f]) => f.kernels.length && /^(train|accumulate|uncompressed)_step/.test(name))
      .map(([name, step]) => ({ compilation: c, name, step })));
  if (!all.length) return;
  const section = addSection("memory", "Memory", "All memory that the step uses, at the moment it uses it.");
  for (const { compilation, name, step } of all) {
    const layers = layersOf(step);
    const used = memoryLayers.filter((_, layer) => layers[layer].some((bytes) => bytes > 0));
    const title = `${nameOf(compilation)}, ${name}`;
    const live = step.live.slice(0, 15).map((tensor) => `<tr><td class="text">${esc(tensor.kind)}</td><td class="text">${
      esc(tensor.onnx_nodes[tensor.onnx_nodes.length - 1] || "")}</td><td>${formatBytes(tensor.bytes)}</td></tr>`);
    const card = addCard(section, `<h3>${esc(title)}</h3><div class="legend">${used.map(([kind, color]) =>
      `<span><span class="key" style="background:var(${color})"></span>${kind}</span>`).join("")}</div>
      <div class="holder"></div><p class="readout" aria-live="polite"></p>${live.length ? `<details><summary>the largest at the
      peak</summary><div class="scroll"><table><thead><tr><th class="text">kind</th><th class="text">ONNX node</th><th>size</th>
      </tr></thead><tbody>${live.join("")}</tbody></table></div></details>` : ""}`);
    card.dataset.function = name;
    drawAlways(() => drawMemory(card, step, name, findProfile(compilation)));
  }
}

// The graph of the model: a box is a kernel of the forward pass, with the nodes that it computes.

const boxWidth = 236, headHeight = 22, rowHeight = 17, rowGap = 46, columnGap = 30, mostRows = 10;

/** The kernels of the step that compute nodes, and for each node the first of the forward pass that does. */
function groupNodes(compilation) {
  const step = compilation.functions.train_step || Object.values(compilation.functions)[0];
  const nodes = compilation.graph;
  const place = new Map(nodes.map((node, i) => [node.name, i]));
  const owner = new Array(nodes.length).fill(-1);
  const hasParts = step.kernels.some((k) => k.part === "forward");
  step.kernels.forEach((kernel, k) => {
    if (hasParts && kernel.part !== "forward") return;
    for (const name of kernel.onnx_nodes) {
      const i = place.get(name);
      if (i !== undefined && owner[i] < 0) owner[i] = k;
    }
  });
  const boxes = [], byKernel = new Map(), boxOf = new Array(nodes.length);
  nodes.forEach((node, i) => {
    let box = owner[i] >= 0 ? byKernel.get(owner[i]) : undefined;
    if (!box) {
      box = { kernel: owner[i] >= 0 ? step.kernels[owner[i]] : null, index: owner[i], nodes: [], before: new Set(), after: new Set() };
      box.id = boxes.length;
      boxes.push(box);
      if (owner[i] >= 0) byKernel.set(owner[i], box);
    }
    box.nodes.push(node);
    boxOf[i] = box;
  });
  nodes.forEach((node, i) => {
    for (const input of node.inputs)
      if (boxOf[input] !== boxOf[i]) {
        boxOf[i].before.add(boxOf[input].id);
        boxOf[input].after.add(boxOf[i].id);
      }
  });
  return { step, boxes };
}

/** Places boxes in layers, each below all that it needs, and in a layer near what it is connected to. */
function placeBoxes(boxes) {
  const open = boxes.map((box) => box.before.size);
  const done = new Array(boxes.length).fill(false);
  const ready = boxes.filter((box) => open[box.id] === 0).map((box) => box.id);
  let next = 0;
  const layers = [];
  for (let count = 0; count < boxes.length; ++count) {
    // Nodes that several kernels compute may close a circle: it is opened at its first box.
    while (!ready.length) {
      while (done[next]) ++next;
      ready.push(next);
    }
    const id = ready.shift();
    if (done[id]) {
      --count;
      continue;
    }
    done[id] = true;
    const box = boxes[id];
    box.layer = 0;
    for (const from of box.before) if (boxes[from].layer !== undefined) box.layer = Math.max(box.layer, boxes[from].layer + 1);
    (layers[box.layer] ||= []).push(box);
    for (const to of box.after) if (!done[to] && --open[to] === 0) ready.push(to);
  }
  let y = 20, widest = 0;
  for (const layer of layers) widest = Math.max(widest, layer.length);
  const width = Math.max(1, Math.min(widest, 12)) * (boxWidth + columnGap) + columnGap;
  for (const layer of layers) {
    for (const box of layer) {
      const near = [...box.before].map((id) => boxes[id].x).filter((v) => v !== undefined);
      box.wish = near.length ? near.reduce((a, b) => a + b, 0) / near.length : width / 2;
    }
    layer.sort((a, b) => a.wish - b.wish || a.id - b.id);
    // A wide layer takes several rows.
    for (let first = 0; first < layer.length; first += 12) {
      const row = layer.slice(first, first + 12);
      let left = columnGap + boxWidth / 2;
      for (const box of row) {
        box.x = Math.max(left, box.wish);
        left = box.x + boxWidth + columnGap;
      }
      let right = width - columnGap - boxWidth / 2;
      for (const box of [...row].reverse()) {
        box.x = Math.min(right, box.x);
        right = box.x - boxWidth - columnGap;
      }
      let height = 0;
      for (const box of row) {
        box.y = y;
        box.height = headHeight + rowHeight * Math.min(box.nodes.length, mostRows + 1) + 6;
        height = Math.max(height, box.height);
      }
      y += height + rowGap;
    }
  }
  return { width, height: y - rowGap + 20 };
}

function addGraph() {
  const all = report.compilations.filter((c) => c.graph && c.graph.length);
  if (!all.length) return;
  const section = addSection("graph", "The model",
    "An outline is a kernel of the forward pass and holds the ONNX nodes that it computes; a dashed one is a node that needs " +
    "none. The darker its bar, the more of the time its nodes take, the backward pass included. Arrow keys choose a kernel.");
  for (const compilation of all) drawGraph(section, compilation);
}

function drawGraph(section, compilation) {
  const { step, boxes } = groupNodes(compilation);
  const { width, height } = placeBoxes(boxes);
  const profile = findProfile(compilation);
  const measured = new Map();
  if (profile)
    for (const k of profile.kernels)
      if (compilation.functions[k.function] === step) measured.set(step.kernels[k.kernel], k.total_us / Math.max(1, profile.steps));
  const timeOf = (kernel) => (profile ? measured.get(kernel) || 0 : kernel.bound_us || 0);
  const total = step.kernels.reduce((sum, k) => sum + timeOf(k), 0) || 1;
  for (const box of boxes) {
    const names = new Set(box.nodes.map((node) => node.name));
    // A kernel of several nodes counts for the one that it is named after.
    box.kernels = step.kernels.filter((k) => k.onnx_nodes.length && names.has(k.onnx_nodes[k.onnx_nodes.length - 1]));
    box.time = box.kernels.reduce((sum, k) => sum + timeOf(k), 0);
  }
  const most = Math.max(...boxes.map((box) => box.time), 1e-12);
  let text = "";
  for (const box of boxes)
    for (const id of box.before) {
      const from = boxes[id];
      const y1 = from.y + from.height, bend = Math.max(18, Math.min(60, Math.abs(box.y - y1) / 2));
      text += `<path class="edge" data-from="${id}" data-to="${box.id}" d="M${from.x.toFixed(1)} ${y1}C${from.x.toFixed(1)} ${
        (y1 + bend).toFixed(1)} ${box.x.toFixed(1)} ${(box.y - bend).toFixed(1)} ${box.x.toFixed(1)} ${box.y}"/>`;
    }
  for (const box of boxes) {
    const left = box.x - boxWidth / 2;
    const name = box.kernel ? `${box.index} ${box.kernel.kind}` : "no kernel";
    const shown = box.nodes.slice(0, mostRows);
    const rest = box.nodes.length - shown.length;
    text += `<g class="kernel ${box.kernel ? "" : "free"}" data-id="${box.id}"><rect class="outline" x="${left.toFixed(1)}" y="${
      box.y}" width="${boxWidth}" height="${box.height}" rx="7"/><rect class="heat" x="${(left + 1).toFixed(1)}" y="${box.y + 1}" width="${
      boxWidth - 2}" height="${headHeight - 4}" rx="6" style="fill:color-mix(in srgb, var(--backward) ${
      Math.round((92 * box.time) / most)}%, transparent)"/><text x="${(left + 9).toFixed(1)}" y="${box.y + 14}">${
      esc(shorten(name, 24))}</text><text x="${(left + boxWidth - 9).toFixed(1)}" y="${box.y + 14}" text-anchor="end">${
      formatShare(box.time / total)}</text>${shown.map((node, i) => `<text class="node" x="${(left + 9).toFixed(1)}" y="${
      box.y + headHeight + 11 + rowHeight * i}">${esc(shorten(node.name || node.op, 34))}</text>`).join("")}${
      rest > 0 ? `<text x="${(left + 9).toFixed(1)}" y="${box.y + headHeight + 11 + rowHeight * mostRows}">and ${rest} more</text>` : ""}</g>`;
  }
  const title = `${nameOf(compilation)}: ${format(compilation.graph.length, 9)} nodes in ${
    format(boxes.filter((b) => b.kernel).length, 9)} kernels`;
  const card = addCard(section, `<h3>${esc(title)}</h3><div class="bar"><button type="button" data-zoom="0.8">smaller</button>
    <button type="button" data-zoom="1.25">larger</button><button type="button" data-zoom="0">whole width</button>
    <label>find <input type="search" aria-label="name of a node"></label><span class="readout" aria-live="polite"></span></div>
    <div class="graph"><div class="canvas"><svg viewBox="0 0 ${width} ${height}" tabindex="0" role="img"
    aria-label="${esc(title)}; arrow keys choose a kernel">${text}</svg></div><div class="details" aria-live="polite"></div></div>`, "long");
  const canvas = card.querySelector(".canvas"), svg = card.querySelector("svg"), details = card.querySelector(".details");
  let zoom = 1, chosen = -1;
  const resize = () => {
    svg.setAttribute("width", Math.round(width * zoom));
    svg.setAttribute("height", Math.round(height * zoom));
  };
  const fit = () => Math.min(1, Math.max(0.15, (canvas.clientWidth - 4) / width));
  const center = (box) => {
    canvas.scrollLeft = box.x * zoom - canvas.clientWidth / 2;
    canvas.scrollTop = (box.y + box.height / 2) * zoom - canvas.clientHeight / 2;
  };
  for (const button of card.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => {
      const factor = Number(button.dataset.zoom);
      zoom = factor ? Math.max(0.1, Math.min(3, zoom * factor)) : fit();
      resize();
      if (chosen >= 0) center(boxes[chosen]);
    });
  const describe = (box) => {
    const rows = [["nodes", box.nodes.map((node) => `${node.name} (${node.op})`).join(", ")]];
    for (const kernel of box.kernels) {
      const bound = kernel.bound_us ? `, at least ${format(kernel.bound_us)} µs` : "";
      const time = profile ? `${format(timeOf(kernel))} µs${bound}` : bound.slice(2) || "–";
      rows.push([kernel.part || kernel.kind, `${kernel.name}: ${time}, ${format(kernel.bytes * 1e-6, 3)} MB, ${
        format(kernel.flops * 1e-6, 3)} MFLOP`]);
    }
    return `<h3>${box.kernel ? esc(box.kernel.name) : "no kernel"}</h3><p class="muted">${formatShare(box.time / total)} of the step's
      kernels</p><dl>${rows.map(([a, b]) => `<dt>${esc(a)}</dt><dd>${esc(b)}</dd>`).join("")}</dl>`;
  };
  const choose = (id, scrolls) => {
    chosen = id;
    for (const marked of svg.querySelectorAll(".chosen")) marked.classList.remove("chosen");
    details.innerHTML = id < 0 ? '<p class="muted">Choose a kernel to see what it computes.</p>' : describe(boxes[id]);
    if (id < 0) return;
    svg.querySelector(`.kernel[data-id="${id}"]`).classList.add("chosen");
    for (const edge of svg.querySelectorAll(`.edge[data-from="${id}"], .edge[data-to="${id}"]`)) edge.classList.add("chosen");
    if (scrolls) center(boxes[id]);
  };
  svg.addEventListener("click", (event) => {
    const group = event.target.closest(".kernel");
    choose(group ? Number(group.dataset.id) : -1);
  });
  const order = [...boxes].sort((a, b) => a.y - b.y || a.x - b.x);
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
    if (event.key === "Escape") choose(-1);
    if (!(event.key in moves)) return;
    event.preventDefault();
    const at = chosen < 0 ? -1 : order.indexOf(boxes[chosen]);
    choose(order[Math.max(0, Math.min(order.length - 1, at + moves[event.key]))].id, true);
  });
  card.querySelector("input").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    const found = wanted ? boxes.filter((box) => box.nodes.some((node) => node.name.toLowerCase().includes(wanted))) : [];
    for (const group of svg.querySelectorAll(".kernel"))
      group.classList.toggle("found", found.some((box) => box.id === Number(group.dataset.id)));
    card.querySelector(".bar .readout").textContent = wanted ? `in ${found.length} kernels` : "";
    if (found.length) choose(found[0].id, true);
  });
  choose(-1);
  zoom = Math.max(0.55, fit());
  resize();
  if (order.length) canvas.scrollLeft = order[0].x * zoom - canvas.clientWidth / 2;
}

// Tables that can be sorted and filtered: kernels and remarks.

/** Puts a table with sortable columns into an element. A column is [title, text or number of a row, HTML of a row]. */
function addTable(parent, columns, rows, { sortBy, most, caption }) {
  const state = { column: sortBy, falling: true, all: false, rows };
  const isText = (i) => rows.length > 0 && typeof columns[i][1](rows[0]) !== "number";
  // Long texts take several lines, and leave the others theirs.
  const kinds = columns.map(([, get], i) =>
    !isText(i) ? "" : rows.some((row) => String(get(row)).length > 26) ? "text long" : "text");
  const holder = make(`<div class="scroll"></div>`);
  const more = make(`<button type="button"></button>`);
  more.addEventListener("click", () => {
    state.all = !state.all;
    draw();
  });
  parent.append(holder, more);
  function draw() {
    let sorted = [...state.rows];
    if (state.column >= 0) {
      const get = columns[state.column][1];
      sorted.sort((a, b) => {
        const [x, y] = [get(a), get(b)];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return state.falling ? -order : order;
      });
    }
    const shown = state.all ? sorted : sorted.slice(0, most);
    more.hidden = sorted.length <= most;
    more.textContent = state.all ? `the first ${most}` : `all ${sorted.length}`;
    const head = columns.map(([title], i) => {
      const order = i === state.column ? (state.falling ? "descending" : "ascending") : "none";
      const arrow = i === state.column ? (state.falling ? " ▾" : " ▴") : "";
      return `<th scope="col" class="${isText(i) ? "text" : ""}" aria-sort="${order}"><button type="button" data-column="${i}">${
        esc(title)}${arrow}</button></th>`;
    });
    const body = shown.map((row) => `<tr>${columns.map(([, get, show], i) =>
      `<td class="${kinds[i]}">${show ? show(row) : esc(get(row))}</td>`).join("")}</tr>`);
    const focused = document.activeElement && document.activeElement.dataset && document.activeElement.dataset.column;
    const isInside = holder.contains(document.activeElement);
    holder.innerHTML = `<table><caption>${esc(caption(sorted.length))}</caption><thead><tr>${head.join("")}</tr></thead><tbody>${
      body.join("")}</tbody></table>`;
    for (const button of holder.querySelectorAll("th button"))
      button.addEventListener("click", () => {
        const column = Number(button.dataset.column);
        state.falling = column === state.column ? !state.falling : !isText(column);
        state.column = column;
        draw();
      });
    if (isInside && focused !== undefined) holder.querySelector(`[data-column="${focused}"]`).focus();
  }
  draw();
  return (list) => {
    state.rows = list;
    draw();
  };
}

function addKernelTable(card, kernels) {
  const total = kernels.reduce((sum, k) => sum + k.total, 0);
  const most = Math.max(...kernels.map((k) => k.total), 1e-12);
  const isMeasured = kernels.some((k) => k.measured);
  const number = (get) => {
    const show = makeColumnFormat(kernels.map(get));
    return [get, (k) => show(get(k))];
  };
  const columns = [
    ["kernel", (k) => k.name, (k) => `<span title="${esc(k.onnx_nodes.join("\n"))}">${esc(shorten(k.name, 80))}</span>`],
    ["part", (k) => k.part || ""],
    [isMeasured ? "ms/step" : "ms at least", ...number((k) => k.total * 1e-3)],
    ["share", (k) => k.total / Math.max(total, 1e-12), (k) => `<span class="share" style="width:${
      ((50 * k.total) / most).toFixed(1)}px;background:${partColor(k.part)}"></span>${formatColumnShare(k.total / total)}`],
  ];
  if (isMeasured)
    columns.push(["calls", (k) => k.calls, (k) => format(k.calls, 9)], ["P50 µs", ...number((k) => k.p50_us)],
      ["P90 µs", ...number((k) => k.p90_us)], ["P99 µs", ...number((k) => k.p99_us)]);
  columns.push(["MB", ...number((k) => k.bytes * 1e-6)], ["MFLOP", ...number((k) => k.flops * 1e-6)]);
  if (isMeasured)
    columns.push(["GB/s", ...number((k) => (k.bytes / k.time) * 1e-3)], ["GFLOP/s", ...number((k) => (k.flops / k.time) * 1e-3)]);
  if (!isMeasured || kernels.some((k) => k.bound_us > 0))
    columns.push(isMeasured
      ? ["of the best", (k) => (k.bound_us || 0) / k.time, (k) => (k.bound_us > 0 ? formatColumnShare(k.bound_us / k.time) : "–")]
      : ["operations/byte", ...number((k) => k.flops / Math.max(k.bytes, 1))]);
  addTable(card, columns, kernels, {
    sortBy: 2, most: 25, caption: (count) => `${format(count, 9)} kernels and library calls`,
  });
}

/** The facts of a remark; of long ones, such as lists of names, the beginning, and the rest when it is asked for. */
function showFacts(remark) {
  const text = [remark.reason, remark.facts].filter(Boolean).join("; ");
  const most = 160;
  if (text.length <= most + 40) return esc(text);
  const cut = text.lastIndexOf(" ", most);
  const end = cut > most / 2 ? cut : most;
  return `${esc(text.slice(0, end))} <details class="rest"><summary>${format(text.length - end, 9)} more characters</summary>${
    esc(text.slice(end))}</details>`;
}

function addRemarks() {
  const remarks = report.runs.flatMap((run) =>
    (run.remarks || []).map((remark) => ({
      ...remark, run: run.name,
      reason: (remark.args.find(([key]) => key === "Reason") || ["", ""])[1],
      facts: remark.args.filter(([key]) => key !== "Reason").map(([key, value]) => `${key} ${value}`).join(", "),
    })));
  if (!remarks.length) return;
  const section = addSection("remarks", "Decisions of the compiler",
    "Passed: applied. Missed: considered, and not applied for the reason given. Analysis: a fact.");
  const bar = make(`<div class="bar"><label>kind <select><option value="">all</option>${
    [...new Set(remarks.map((r) => r.kind))].sort().map((kind) => `<option>${esc(kind)}</option>`).join("")}</select></label>
    <label>contains <input type="search" aria-label="text that remarks contain"></label></div>`);
  section.append(bar);
  const card = addCard(section, "", "long");
  const columns = [
    ["kind", (r) => r.kind], ["pass", (r) => r.Pass || ""], ["decision", (r) => r.Name || ""],
    ["in", (r) => r.Function || "", (r) => esc(shorten(r.Function || "", 40))],
    ["facts", (r) => r.facts, showFacts],
  ];
  if (report.runs.filter((run) => run.remarks).length > 1) columns.unshift(["run", (r) => r.run]);
  const update = addTable(card, columns, remarks, {
    sortBy: -1, most: 40, caption: (count) => `${format(count, 9)} remarks`,
  });
  const filter = () => {
    const kind = bar.querySelector("select").value, text = bar.querySelector("input").value.toLowerCase();
    update(remarks.filter((r) => (!kind || r.kind === kind) &&
      (!text || Object.values(r).join(" ").toLowerCase().includes(text))));
  };
  bar.querySelector("select").addEventListener("change", filter);
  bar.querySelector("input").addEventListener("input", filter);
}

// Metrics of the runs over steps or time.

const metricNames = {
  loss: ["loss", ""], eval_loss: ["loss of evaluations", ""], eval_accuracy: ["accuracy of evaluations", "accuracy"],
  train_accuracy: ["accuracy of training steps", "accuracy"],
  lr: ["learning rate", ""], grad_norm: ["norm of the gradient", ""], step_ms: ["time of a step", "ms"],
  samples_per_s: ["samples per second", ""], "stats.tokens_per_s": ["tokens per second", ""],
  "stats.data_share": ["part of the time that waits for data", "share"],
  "stats.exposed_share": ["part of the time that waits for collectives", "share"],
  "stats.roofline_share": ["part of the best by the roofline model", "share"],
  "stats.processors": ["processors in use", ""], "stats.resident_bytes": ["resident memory", "bytes"],
  loss_scale: ["loss scale", ""], "stats.gflops": ["arithmetic", "GFLOP/s"],
  "stats.peak_resident_bytes": ["most resident memory so far", "bytes"],
  "stats.step_ms_p50": ["time of a step, median", "ms"], "stats.step_ms_p90": ["time of a step, P90", "ms"],
  "stats.step_ms_p99": ["time of a step, P99", "ms"], "stats.step_ms_max": ["longest step", "ms"],
  "stats.read_bytes_per_s": ["read from storage per second", "bytes"],
  "stats.written_bytes_per_s": ["written to storage per second", "bytes"],
  "stats.sent_bytes_per_s": ["sent in collectives per second", "bytes"],
  data_wait_ms: ["wait for the batch of a step", "ms"], decode_ms: ["time to make a batch", "ms"],
  queue: ["batches that were ready", ""], padding: ["part of the rows that is padding", "share"],
};
const firstMetrics = Object.keys(metricNames).slice(0, 15);
const neverShown = new Set(["epoch", "elapsed_s", "stats.steps"]);

function formatMetric(name, value) {
  const unit = (metricNames[name] || ["", ""])[1];
  if (unit === "share") return formatShare(value);
  if (unit === "accuracy") return format(100 * value) + " %";
  if (unit === "bytes") return formatBytes(value);
  return format(value) + (unit ? " " + unit : "");
}

/** The seconds at a step, between those that the log has. */
function timeAt(run, step) {
  const elapsed = run.log.series.elapsed_s;
  if (!elapsed) return step;
  const { x, y } = elapsed;
  let low = 0, high = x.length - 1;
  if (step <= x[0]) return (y[0] * step) / x[0];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] <= step) low = middle;
    else high = middle;
  }
  if (x[high] === x[low]) return y[low];
  return y[low] + ((y[high] - y[low]) * (step - x[low])) / (x[high] - x[low]);
}

/** A moving average in which older points count `weight` times less with each step. */
function smooth(values, weight) {
  let sum = 0, count = 0;
  return values.map((value) => {
    sum = sum * weight + value;
    count = count * weight + 1;
    return sum / count;
  });
}

/** The marks of a checkpoint: best, latest. */
function marksOf(saved, step) {
  return ["best", "latest"].filter((mark) => saved[mark] === step);
}

function describeCheckpoint(saved, step) {
  const marks = marksOf(saved, step);
  return `checkpoint ${saved.folder}/step-${step}${marks.length ? ` (${marks.join(", ")})` : ""}`;
}

/** The row of a checkpoint in the table below the curves. */
function checkpointId(run, step) {
  return `checkpoint-${report.runs.indexOf(run)}-${step}`;
}

/** Marks on the axis where runs have checkpoints. */
function drawCheckpoints(lines, x, box) {
  return lines.map(({ run }) => {
    const saved = run.log.checkpoints;
    if (!saved) return "";
    return saved.steps.map((step) => {
      const at = x(choices.time ? timeAt(run, step) : step);
      if (!(at >= box.left - 1 && at <= box.right + 1)) return "";
      const place = `M${at.toFixed(1)} ${box.bottom - 1}l-4 -8h8z`;
      return `<a href="#${checkpointId(run, step)}" class="checkpoint" tabindex="-1"><path d="${place}" style="fill:${
        runStyle(run).color}"/><title>${esc(`${run.name}, step ${step}: ${describeCheckpoint(saved, step)}`)}</title></a>`;
    }).join("");
  }).join("");
}

function addCheckpoints(section, runs) {
  const saved = runs.filter((run) => run.log.checkpoints);
  if (!saved.length) return;
  const rows = saved.flatMap((run) => run.log.checkpoints.steps.map((step) => {
    const { folder } = run.log.checkpoints;
    return `<tr id="${checkpointId(run, step)}"><td class="text">${esc(run.name)}</td><td>${format(step, 9)}</td>
      <td class="text"><code>${esc(folder)}/step-${step}</code></td>
      <td class="text">${marksOf(run.log.checkpoints, step).join(", ")}</td></tr>`;
  }));
  addCard(section, `<h3>checkpoints</h3><p class="muted">Those that were there when this page was made; triangles in the
    curves lead here.</p><div class="scroll"><table style="width:auto"><thead><tr><th class="text" scope="col">run</th>
    <th scope="col">step</th><th class="text" scope="col">folder</th><th class="text" scope="col">mark</th></tr></thead>
    <tbody>${rows.join("")}</tbody></table></div>`, "checkpoints");
}

const choices = { time: false, log: false, weight: 0.6 };

function drawCurve(card, name) {
  const runs = report.runs.filter((run) => run.log && run.log.series[name] && !hidden.has(run));
  const holder = card.querySelector(".holder"), readout = card.querySelector(".readout");
  readout.textContent = "";
  if (!runs.length) {
    holder.replaceChildren();
    return;
  }
  const lines = runs.map((run) => {
    const series = run.log.series[name];
    const x = choices.time ? series.x.map((step) => timeAt(run, step)) : series.x;
    const isSmooth = choices.weight > 0 && !series.evaluation && series.y.length > 60 && name !== "lr";
    return { run, series, x, y: series.y, smooth: isSmooth ? smooth(series.y, choices.weight) : null };
  });
  const values = lines.flatMap((line) => [...line.y, ...(line.series.low || []), ...(line.series.high || [])]);
  let least = Math.min(...values), most = Math.max(...values);
  const isLog = choices.log && least > 0;
  const unit = (metricNames[name] || [])[1];
  // Shares, bytes and times are read from zero.
  if (!isLog && least >= 0 && (["share", "bytes", "ms"].includes(unit) || least < 0.4 * most)) least = 0;
  // A line that is constant has room on both sides.
  if (!isLog && least === most) [least, most] = [Math.min(0, 1.25 * least), Math.max(0, 1.25 * most)];
  const width = widthOf(holder), height = 216;
  const labels = [least, most, (least + most) / 2].map((v) => formatMetric(name, v).length);
  const box = { left: Math.min(90, 14 + 6 * Math.max(...labels)), right: width - 10, top: 8, bottom: height - 38 };
  const x = makeAxis(Math.min(...lines.map((l) => l.x[0])), Math.max(...lines.map((l) => l.x[l.x.length - 1])),
    box.left, box.right);
  const y = makeAxis(least, most, box.bottom, box.top, isLog);
  // Round numbers of MiB, not of bytes.
  if (unit === "bytes" && !isLog) {
    const scale = Math.pow(1024, Math.floor(Math.log(Math.max(most, 1)) / Math.log(1024)));
    y.ticks = niceTicks(least / scale, most / scale, 4).map((v) => v * scale);
  }
  let text = drawAxes(x, y, box, {
    title: choices.time ? "time" : "steps",
    x: (v) => (choices.time ? formatSeconds(v) : format(v)),
    y: (v) => formatMetric(name, v),
  });
  const path = (xs, ys) => xs.map((v, i) => `${i ? "L" : "M"}${x(v).toFixed(1)} ${y(ys[i]).toFixed(1)}`).join("");
  for (const line of lines) {
    const { color, dash } = runStyle(line.run);
    const { low, high } = line.series;
    if (low)
      text += `<path d="${path(line.x, high)}${path(line.x, low).split(/(?=[ML])/).reverse().join("").replace(/M/g, "L")}Z"
        style="fill:${color};fill-opacity:.13"/>`;
    const stroke = (ys, more) =>
      `<path d="${path(line.x, ys)}" fill="none" style="stroke:${color}" stroke-linejoin="round" ${more}/>`;
    if (line.smooth) text += stroke(line.y, 'stroke-width="1" stroke-opacity=".28"');
    text += stroke(line.smooth || line.y, `stroke-width="1.8" stroke-dasharray="${dash}"`);
    if (line.x.length < 25)
      for (let i = 0; i < line.x.length; ++i)
        text += `<circle cx="${x(line.x[i]).toFixed(1)}" cy="${y(line.y[i]).toFixed(1)}" r="2.6" style="fill:${color}"/>`;
  }
  text += drawCheckpoints(lines, x, box);
  const said = lines.map((l) => `${l.run.name} ${formatMetric(name, l.series.y[0])} to ${formatMetric(name, l.series.last)}`);
  const title = card.querySelector("h3").textContent;
  const svg = make(`<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" tabindex="0" role="img"
    aria-label="${esc(title + ": " + said.join(", "))}">${text}<g class="marks"></g></svg>`);
  holder.replaceChildren(svg);
  // The cursor stops where the run with the most points has one.
  const guide = lines.reduce((a, b) => (b.x.length > a.x.length ? b : a));
  addCursor(svg, guide.x.map(x), (index) => {
    const marks = svg.querySelector(".marks");
    marks.innerHTML = "";
    readout.textContent = "";
    if (index < 0) return;
    const at = guide.x[index];
    let drawn = `<path class="cursor" d="M${x(at).toFixed(1)} ${box.top}V${box.bottom}"/>`;
    const parts = [];
    for (const line of lines) {
      let near = 0;
      for (let i = 1; i < line.x.length; ++i)
        if (Math.abs(line.x[i] - at) < Math.abs(line.x[near] - at)) near = i;
      const shown = (line.smooth || line.y)[near];
      drawn += `<circle cx="${x(line.x[near]).toFixed(1)}" cy="${y(shown).toFixed(1)}" r="3.5"
        style="fill:${runStyle(line.run).color}"/>`;
      const saved = line.run.log.checkpoints;
      const step = saved && saved.steps.find((s) => s === line.series.x[near]);
      parts.push(`${line.run.name} ${formatMetric(name, line.y[near])}` +
        (step === undefined ? "" : `, ${describeCheckpoint(saved, step)}`));
    }
    marks.innerHTML = drawn;
    readout.textContent = `${choices.time ? formatSeconds(at) : "step " + format(at, 9)}: ${parts.join(", ")}`;
  });
}

function addCurves() {
  const logged = report.runs.filter((run) => run.log);
  if (!logged.length) return;
  const section = addSection("curves", "Curves",
    "The mouse, or the arrow keys in a chart that has the focus, read values. Pale lines are the values, strong ones " +
    "their moving average; a band is the range where a point stands for several steps.");
  const bar = make(`<div class="bar" role="group" aria-label="what curves show"></div>`);
  if (logged.length > 1)
    for (const run of logged) {
      const { color, dash } = runStyle(run);
      const label = make(`<label><input type="checkbox" checked><svg width="26" height="8" aria-hidden="true"><path
        d="M0 4H26" style="stroke:${color}" stroke-width="3" stroke-dasharray="${dash}"/></svg>${esc(run.name)}</label>`);
      label.querySelector("input").addEventListener("change", (event) => {
        if (event.target.checked) hidden.delete(run);
        else hidden.add(run);
        redrawAll();
      });
      bar.append(label);
    }
  const addSwitch = (text, key) => {
    const button = make(`<button type="button" aria-pressed="false">${text}</button>`);
    button.addEventListener("click", () => {
      choices[key] = !choices[key];
      button.setAttribute("aria-pressed", choices[key]);
      redrawAll();
    });
    bar.append(button);
  };
  addSwitch("over time", "time");
  addSwitch("logarithmic", "log");
  const slider = make(`<label>smoothing <input type="range" min="0" max="0.98" step="0.02" value="${choices.weight}"></label>`);
  slider.querySelector("input").addEventListener("input", (event) => {
    choices.weight = Number(event.target.value);
    redrawAll();
  });
  bar.append(slider);
  section.append(bar);
  const names = new Set(logged.flatMap((run) => Object.keys(run.log.series)));
  const evaluations = [...names].filter((n) => n.startsWith("eval_") && !metricNames[n]);
  const first = [...firstMetrics.slice(0, 3), ...evaluations, ...firstMetrics.slice(3)].filter((n) => names.has(n));
  const others = [...names].filter((n) => !first.includes(n) && !neverShown.has(n));
  const addAll = (parent, list) => {
    const grid = make(`<div class="grid"></div>`);
    parent.append(grid);
    for (const name of list) {
      const title = (metricNames[name] || [name.replace(/^stats\./, "").replaceAll("_", " ")])[0];
      const card = addCard(grid, `<h3>${esc(title)}</h3><div class="holder"></div><p class="readout" aria-live="polite"></p>`);
      card.classList.add("curve");
      card.dataset.metric = name;
      drawAlways(() => drawCurve(card, name));
    }
  };
  addAll(section, first);
  addCheckpoints(section, logged);
  if (others.length) {
    const more = make(`<details><summary>${others.length} more</summary></details>`);
    section.append(more);
    addAll(more, others);
    more.addEventListener("toggle", redrawAll);
  }
}

// What runs are, what their steps consist of, and what limits them.

function addSummary() {
  if (!report.runs.length) return;
  const section = addSection("runs", report.runs.length === 1 ? "Run" : "Runs");
  const losses = makeColumnFormat(report.runs.map((run) => run.log && run.log.series.loss && run.log.series.loss.last));
  const columns = [
    ["steps", (run) => run.log && format(run.log.last_step, 9)],
    ["loss at the end", (run) => metric(run, "loss", "last", losses)],
    ["best evaluation", bestEvaluation],
    ["median step", (run) => metric(run, "step_ms", "median")],
    ["samples/s", (run) => metric(run, "samples_per_s", "median")],
    ["waits for data", (run) => metric(run, "stats.data_share", "median")],
    ["of the roofline", (run) => metric(run, "stats.roofline_share", "median")],
    ["most memory", (run) => metric(run, "stats.peak_resident_bytes", "greatest")],
    ["limited by", (run) => run.diagnosis && (run.diagnosis.findings.length
      ? esc(run.diagnosis.findings[0].cause) : "its computation")],
  ].filter(([, get]) => report.runs.some((run) => get(run)));
  const cells = columns.map(([, get]) => tickTexts(report.runs.map((run) => get(run) || "–"), String));
  const rows = report.runs.map((run, row) => {
    const { color } = runStyle(run);
    const name = `<th scope="row" class="text"><span class="swatch" style="border-color:${color}"></span> ${esc(run.name)}</th>`;
    return `<tr>${name}${cells.map((column) => `<td>${column[row]}</td>`).join("")}</tr>`;
  });
  addCard(section, `<div class="scroll"><table><thead><tr><th class="text" scope="col">run</th>${columns
    .map(([title]) => `<th scope="col">${title}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`);
  for (const run of report.runs) {
    const log = run.log;
    if (!log) continue;
    const facts = [];
    if (log.header) facts.push(esc(log.header));
    if (log.started) facts.push("started " + esc(log.started.replace("T", " ").replace("Z", " UTC")));
    if (log.not_finite) facts.push(`${format(log.not_finite, 9)} values are not finite and are left out`);
    if (log.damaged) facts.push(`${format(log.damaged, 9)} lines of the log are damaged`);
    if (!facts.length) continue;
    const name = report.runs.length > 1 ? `<b>${esc(run.name)}</b>: ` : "";
    section.append(make(`<p class="muted">${name}${facts.join("; ")}.</p>`));
    if (log.configuration)
      section.append(make(`<details><summary>configuration${report.runs.length > 1 ? " of " + esc(run.name) : ""}</summary>
        <pre tabindex="0">${esc(log.configuration)}</pre></details>`));
  }
  for (const run of report.runs) addTables(section, run);
}

function metric(run, name, field, show = (value) => formatMetric(name, value)) {
  const series = run.log && run.log.series[name];
  return series && show(series[field]);
}

function bestEvaluation(run) {
  const series = run.log && run.log.series;
  if (!series) return "";
  if (series.eval_accuracy) return formatMetric("eval_accuracy", series.eval_accuracy.greatest);
  return series.eval_loss ? "loss " + format(series.eval_loss.least) : "";
}

/** Tables that evaluations write, such as confusion matrices: the last of each. */
function addTables(section, run) {
  for (const [name, rows] of Object.entries((run.log && run.log.tables) || {})) {
    if (!Array.isArray(rows) || !rows.every(Array.isArray)) continue;
    const most = Math.max(...rows.flat(), 1e-9);
    const names = run.log.classes || [];
    const nameOf = (i) => esc(names[i] === undefined ? String(i) : names[i]);
    const cells = rows.map((row, i) => `<tr><th scope="row">${nameOf(i)}</th>${row.map((value) => `<td class="heat"
      style="background:color-mix(in srgb, var(--accent) ${Math.round((60 * value) / most)}%, transparent)">${format(value)}</td>`)
      .join("")}</tr>`);
    const head = rows[0].map((_, i) => `<th scope="col">${nameOf(i)}</th>`).join("");
    const title = name.replaceAll("_", " ") + (report.runs.length > 1 ? " of " + run.name : "");
    section.append(make(`<details><summary>${esc(title)}</summary><div class="scroll"><table style="width:auto"><thead><tr>
      <td></td>${head}</tr></thead><tbody>${cells.join("")}</tbody></table></div></details>`));
  }
}

/** The parts of a step, from the profile, or else from the diagnosis. */
function partsOf(run) {
  if (run.profile && run.profile.parts.length) return run.profile.parts;
  if (!run.diagnosis) return null;
  const names = { data_ms: "waits for data", exposed_communication_ms: "exposed communication", launch_ms: "launch" };
  return Object.entries(run.diagnosis)
    .filter(([key, value]) => key.endsWith("_ms") && key !== "step_ms" && value > 0)
    .map(([key, value]) => ({ name: names[key] || key.slice(0, -3).replaceAll("_", " "), ms: value }));
}

function addBreakdown() {
  const runs = report.runs.filter((run) => partsOf(run));
  if (!runs.length) return;
  const section = addSection("steps", "The step",
    "The mean of the steps that were profiled." + (runs.length > 1 ? " The run whose steps take longest has a bar of the full width." : ""));
  const totals = runs.map((run) => partsOf(run).reduce((sum, part) => sum + part.ms, 0));
  const longest = Math.max(...totals);
  const names = [...new Set(runs.flatMap((run) => partsOf(run).map((part) => part.name)))];
  let bars = "";
  runs.forEach((run, i) => {
    const profile = run.profile && run.profile.parts.length ? run.profile : null;
    const about = profile
      ? `${format(profile.steps, 9)} steps` + (profile.step_ms ? `, P50 ${format(profile.step_ms.p50)}, P90 ${
        format(profile.step_ms.p90)}, P99 ${format(profile.step_ms.p99)} ms` : "")
      : `${format(run.diagnosis.steps, 9)} steps of a diagnosis`;
    bars += `<h3>${esc(run.name)}: ${format(totals[i])} ms <span class="muted">(${about})</span></h3><div class="stack"
      role="img" aria-label="${esc(partsOf(run).map((p) => `${p.name} ${format(p.ms)} ms`).join(", "))}"
      style="width:${((100 * totals[i]) / longest).toFixed(2)}%">${partsOf(run).map((part) => {
    const share = part.ms / totals[i];
    return `<div style="width:${(100 * share).toFixed(2)}%;background:${partColor(part.name)}" title="${
      esc(part.name)}: ${format(part.ms)} ms, ${formatShare(share)}">${share > 0.09 ? formatShare(share) : ""}</div>`;
  }).join("")}</div>`;
  });
  const formats = runs.map((run) => makeColumnFormat(partsOf(run).map((part) => part.ms)));
  const rows = names.map((name) => `<tr><th scope="row" class="text"><span class="key" style="background:${
    partColor(name)}"></span>${esc(name)}</th>${runs.map((run, i) => {
    const part = partsOf(run).find((p) => p.name === name);
    return part ? `<td>${formats[i](part.ms)}</td><td>${formatColumnShare(part.ms / totals[i])}</td>` : "<td>–</td><td>–</td>";
  }).join("")}</tr>`);
  const head = runs.map((run) => `<th scope="col">${runs.length > 1 ? esc(run.name) + ", ms" : "ms"}</th><th scope="col">share</th>`);
  addCard(section, `${bars}<div class="scroll"><table><thead><tr><th class="text" scope="col">part</th>${head.join("")}</tr>
    </thead><tbody>${rows.join("")}</tbody></table></div>`);
}

function addDiagnoses() {
  const runs = report.runs.filter((run) => run.diagnosis);
  if (!runs.length) return;
  const section = addSection("diagnosis", "What to change", "What --diagnose found, in the order of the expected gain.");
  for (const run of runs) {
    const title = report.runs.length > 1 ? `<h3>${esc(run.name)}</h3>` : "";
    const findings = run.diagnosis.findings.map((finding) => {
      const advise = (list, before) => (list || []).flatMap((item) => Object.entries(item)).map(([option, value]) =>
        `<code>${esc(before + option + (option.startsWith("--") ? " " : "=") + value)}</code>`);
      const advice = [...advise(finding.trainer, ""), ...advise(finding.ingotc, "ingotc ")];
      const gain = Number.isFinite(finding.gain) ? `: saves about ${formatShare(finding.gain)} of the time of a sample` : "";
      return `<div class="finding"><b>${esc(finding.cause)}</b>: ${esc(finding.evidence)}.${
        advice.length ? `<br>Try ${advice.join(" or ")}${gain}.` : ""}</div>`;
    });
    const busy = run.diagnosis.others > 0.2 ? `<p class="muted">Other processes took ${
      formatShare(run.diagnosis.others)} of the machine: times are longer than they need to be.</p>` : "";
    addCard(section, title + (findings.join("") || "<p>Nothing to gain by options: the step computes all the time.</p>") + busy);
  }
}

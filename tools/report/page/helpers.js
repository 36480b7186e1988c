// What all parts of the page use: the data, text, numbers and elements.

// A page that is broken says so to whoever looks, and to tests.
addEventListener("error", (event) => {
  document.documentElement.dataset.error = event.message;
});

const report = JSON.parse(document.getElementById("data").textContent);

/** Text that is safe in HTML, in and between tags. */
function esc(text) {
  return String(text).replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");
}

/** The element that a text in HTML describes. */
function make(html) {
  const template = document.createElement("template");
  template.innerHTML = html.trim();
  return template.content.firstElementChild;
}

/** A number with `digits` significant digits, without powers of ten where that is readable. */
function format(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  const text = value.toFixed(Math.min(decimals, 10));
  const short = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const [whole, part] = short.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  return part ? grouped + "." + part : grouped;
}

/** Formats the numbers of a column with equal decimals: `digits` significant ones of the greatest. */
function makeColumnFormat(values, digits = 4) {
  const sizes = values.filter(Number.isFinite).map(Math.abs);
  const greatest = Math.max(...sizes, 0);
  if (!greatest || greatest >= 1e6 || greatest < 1e-4) return (value) => format(value, digits);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(greatest)));
  const least = Math.pow(10, -decimals);
  const group = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  return (value) => {
    if (!Number.isFinite(value)) return "–";
    // What would round to zero is not zero.
    if (value > 0 && value < least / 2) return "<" + least.toFixed(decimals);
    const [whole, part] = value.toFixed(decimals).split(".");
    return part ? group(whole) + "." + part : group(whole);
  };
}

/** A part of the whole in a column: one decimal always. */
function formatColumnShare(part) {
  return Number.isFinite(part) ? (100 * part).toFixed(1) + " %" : "–";
}

function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    ++unit;
  }
  return format(bytes, 3) + " " + units[unit];
}

function formatShare(part) {
  return Number.isFinite(part) ? (100 * part).toFixed(part > 0 && part < 0.0995 ? 1 : 0) + " %" : "–";
}

function formatSeconds(seconds) {
  if (seconds < 120) return format(seconds, 3) + " s";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return minutes + " min " + Math.round(seconds % 60) + " s";
  return Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}

/** The last part of a name of ONNX, which is what tells nodes apart. */
function shorten(text, most) {
  return text.length <= most ? text : "…" + text.slice(text.length - most + 1);
}

const main = document.createElement("main");
main.id = "main";
const links = [];

/** Adds a section with a heading, which the navigation lists. */
function addSection(id, title, description) {
  const section = make(`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${esc(title)}</h2></section>`);
  if (description) section.append(make(`<p class="muted">${esc(description)}</p>`));
  main.append(section);
  links.push([id, title]);
  return section;
}

/** Adds a white area to a part of the page. */
function addCard(parent, html = "", kind = "") {
  const card = make(`<div class="card ${kind}">${html}</div>`);
  parent.append(card);
  return card;
}

const dashes = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 3", "10 2 4 2"];
/** Color and dashes of a run: lines differ without color, too. */
function runStyle(run) {
  const index = report.runs.indexOf(run);
  return { color: `var(--run${index % 8})`, dash: dashes[index % 8] };
}

const hidden = new Set();
const redraws = [];
/** Calls the function now, and whenever sizes or choices change. */
function drawAlways(draw) {
  redraws.push(draw);
  draw();
}
function redrawAll() {
  for (const draw of redraws) draw();
}

/** The compilation that belongs to a run; the only one if there is one for all. */
function findCompilation(run) {
  const own = report.compilations.find((c) => report.runs[c.run] === run);
  return own || (report.compilations.length === 1 ? report.compilations[0] : undefined);
}

/** What a compilation is called where there are several. */
function nameOf(compilation) {
  const run = report.runs[compilation.run];
  return report.compilations.length > 1 && run ? `${run.name}, ${compilation.model}` : compilation.model;
}

/** The run whose profile shows a compilation. */
function findProfile(compilation) {
  const own = report.runs[compilation.run];
  if (own) return own.profile;
  const all = report.runs.filter((run) => run.profile);
  return all.length === 1 ? all[0].profile : undefined;
}

const partColors = {
  forward: "--forward", backward: "--backward", optimizer: "--optimizer", communication: "--communication",
  "exposed communication": "--communication", synchronization: "--other", "between kernels": "--between",
  launch: "--between", "waits for data": "--data", "rest of the step": "--rest", rest: "--rest", saving: "--saving",
  "other kernels": "--other",
};
function partColor(part) {
  return `var(${partColors[part] || "--other"})`;
}

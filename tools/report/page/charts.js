// Axes, and the cursor that the mouse or arrow keys move over a chart.

/** Round numbers in a range, about `count` of them. */
function niceTicks(least, most, count) {
  if (!(most > least)) return [least];
  const rough = (most - least) / count;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999) || 10 * power;
  const ticks = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most + step * 1e-9; ++i) ticks.push(i * step);
  return ticks;
}

function logTicks(least, most) {
  const ticks = [];
  const first = Math.floor(Math.log10(least)), last = Math.ceil(Math.log10(most));
  const each = Math.max(1, Math.ceil((last - first) / 6));
  for (let power = first; power <= last; power += each)
    for (const factor of last - first <= 2 ? [1, 2, 5] : [1]) {
      const tick = factor * Math.pow(10, power);
      if (tick >= least * 0.999 && tick <= most * 1.001) ticks.push(tick);
    }
  return ticks.length > 1 ? ticks : [least, most];
}

/** An axis from numbers to pixels. */
function makeAxis(least, most, from, to, log = false) {
  if (log) {
    const a = Math.log(least), b = Math.log(most > least ? most : least * 10);
    const axis = (value) => from + ((to - from) * (Math.log(value) - a)) / (b - a);
    axis.ticks = logTicks(least, most > least ? most : least * 10);
    return axis;
  }
  const end = most > least ? most : least + (Math.abs(least) || 1);
  const axis = (value) => from + ((to - from) * (value - least)) / (end - least);
  axis.ticks = niceTicks(least, end, Math.max(2, Math.round(Math.abs(to - from) / (to > from ? 62 : 42))));
  return axis;
}

/** Lines and numbers of a pair of axes. */
function drawAxes(x, y, box, names) {
  let text = "";
  for (const tick of y.ticks)
    text += `<path class="gridline" d="M${box.left} ${y(tick).toFixed(1)}H${box.right}"/>` +
      `<text x="${box.left - 6}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${esc(names.y(tick))}</text>`;
  let last = -1e9;
  for (const tick of x.ticks) {
    if (x(tick) - last < 44) continue;
    last = x(tick);
    text += `<path class="axis" d="M${last.toFixed(1)} ${box.bottom}v4"/>` +
      `<text x="${last.toFixed(1)}" y="${box.bottom + 16}" text-anchor="middle">${esc(names.x(tick))}</text>`;
  }
  return text + `<path class="axis" d="M${box.left} ${box.bottom}H${box.right}"/>`;
}

/**
 * Lets the mouse and the arrow keys choose one of the places of a chart, in pixels from its left; `choose` is called
 * with the index, or -1 when none is chosen any more.
 */
function addCursor(svg, places, choose) {
  let at = -1;
  const set = (index) => {
    at = index;
    choose(index);
  };
  svg.addEventListener("pointermove", (event) => {
    const area = svg.getBoundingClientRect();
    const x = ((event.clientX - area.left) * svg.viewBox.baseVal.width) / area.width;
    let best = 0;
    for (let i = 1; i < places.length; ++i)
      if (Math.abs(places[i] - x) < Math.abs(places[best] - x)) best = i;
    if (places.length) set(best);
  });
  svg.addEventListener("pointerleave", () => set(-1));
  svg.addEventListener("blur", () => set(-1));
  svg.addEventListener("keydown", (event) => {
    const large = Math.max(1, Math.round(places.length / 10));
    const moves = { ArrowRight: 1, ArrowLeft: -1, PageDown: large, PageUp: -large, Home: -1e9, End: 1e9 };
    if (event.key === "Escape") set(-1);
    if (!(event.key in moves) || !places.length) return;
    event.preventDefault();
    set(Math.max(0, Math.min(places.length - 1, at + moves[event.key])));
  });
}

/** Keeps two points from leaving the chart's width, which changes with the window. */
function widthOf(element) {
  return Math.max(260, Math.floor(element.clientWidth || 390));
}

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
    axis.isLog = true;
    return axis;
  }
  const end = most > least ? most : least + (Math.abs(least) || 1);
  const axis = (value) => from + ((to - from) * (value - least)) / (end - least);
  axis.ticks = niceTicks(least, end, Math.max(2, Math.round(Math.abs(to - from) / (to > from ? 62 : 42))));
  return axis;
}

/** The texts of ticks, with equal decimals. */
function tickTexts(ticks, show) {
  const texts = ticks.map((tick) => String(show(tick)));
  const parts = texts.map((text) => /^(-?[\d\u202f]+)(?:\.(\d+))?( .*)?$/.exec(text));
  if (!parts.every((part) => part && part[3] === parts[0][3])) return texts;
  const decimals = Math.max(...parts.map((part) => (part[2] || "").length));
  return parts.map(([, whole, part = "", unit = ""]) => whole + (decimals ? "." + part.padEnd(decimals, "0") : "") + unit);
}

/** Lines, numbers and, where there is one, the name of a pair of axes. */
function drawAxes(x, y, box, names) {
  let text = names.title
    ? `<text class="name" x="${(box.left + box.right) / 2}" y="${box.bottom + 31}" text-anchor="middle">${esc(names.title)}</text>` : "";
  const values = y.isLog ? y.ticks.map(names.y) : tickTexts(y.ticks, names.y);
  y.ticks.forEach((tick, i) => {
    text += `<path class="gridline" d="M${box.left} ${y(tick).toFixed(1)}H${box.right}"/>` +
      `<text x="${box.left - 6}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${esc(values[i])}</text>`;
  });
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

/** Whether a line along a side of one of two rectangles, lists of four corners, separates them. */
function areApart(one, other) {
  return [one, other].some((box) => box.some(([x, y], i) => {
    const [u, v] = box[(i + 1) % 4];
    const along = [one, other].map((each) => each.map(([p, q]) => p * (v - y) - q * (u - x)));
    return Math.max(...along[0]) <= Math.min(...along[1]) || Math.max(...along[1]) <= Math.min(...along[0]);
  }));
}

/**
 * Places for texts that keep clear of points, lines and each other. A place is a middle with an angle and the price of
 * being there; the first of those `places` that cost least is taken. Texts never lie over each other where one of the
 * places allows it. Points are circles [x, y, r], lines are lists of points [x, y].
 */
function makeLabeler(circles, lines, box) {
  const taken = [];
  const half = (text) => 2.9 * text.length + 2;
  const turned = ({ x, y, angle }) => {
    const [dx, dy] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
    return (along, below) => [x + dx * along - dy * below, y + dy * along + dx * below];
  };
  /** Points along the middle line of a text. */
  const spine = (text, place) => {
    const at = turned(place), points = [];
    for (let along = -half(text); along <= half(text); along += 5) points.push(at(along, -4));
    return points;
  };
  /** The corners of a text of 11 pixels with its outline; y is that of its base line. */
  const cornersOf = (text, place) => {
    const at = turned(place), side = half(text) + 2;
    return [at(-side, -13), at(side, -13), at(side, 5), at(-side, 5)];
  };
  const isNear = ([x, y], [u, v], distance) => (x - u) * (x - u) + (y - v) * (y - v) < distance * distance;
  const cost = (points, corners, own) => {
    let sum = 1000 * taken.filter((other) => !areApart(other, corners)).length;
    for (const [x, y] of corners) if (x < box.left || x > box.right || y < box.top || y > box.bottom) sum += 50;
    for (const point of points) {
      for (const [u, v, r] of circles) if (isNear(point, [u, v], r + 8)) sum += 1;
      lines.forEach((line, i) => {
        if (i !== own && line.some((spot) => isNear(point, spot, 8))) sum += 2;
      });
    }
    return sum;
  };
  /** The text at the best of the places, in SVG. `own` is the index of the line that it may touch. */
  return (text, places, own) => {
    let best = null;
    for (const place of places) {
      const corners = cornersOf(text, place);
      const price = place.price + cost(spine(text, place), corners, own);
      if (!best || price < best.price) best = { place, corners, price };
      if (price === 0) break;
    }
    taken.push(best.corners);
    const { x, y, angle } = best.place;
    return `<text class="label" data-price="${best.price}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="middle" transform="rotate(${
      angle.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)})">${esc(text)}</text>`;
  };
}

/** Keeps two points from leaving the chart's width, which changes with the window. */
function widthOf(element) {
  return Math.max(260, Math.floor(element.clientWidth || 390));
}

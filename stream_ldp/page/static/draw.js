// Elements, numbers and charts. Text is always set as text, so a value that looks like markup stays a value.
const SVG = "http://www.w3.org/2000/svg";

export function el(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children.flat());
  return element;
}

export function fill(element, children) {
  element.replaceChildren(...children.flat());
}

export const whole = (number) => Math.round(number).toLocaleString("en");

// Two digits of the error, and as many of the number.
export function shown(value, error) {
  const digits = error > 0 ? Math.min(6, Math.max(1, 1 - Math.floor(Math.log10(error)))) : 4;
  return value.toFixed(digits);
}

export function spread(value, error) {
  return error === undefined || error === null ? shown(value, 0) : `${shown(value, error)} ± ${shown(error, error)}`;
}

// Never below the true one.
export const epsilon = (value) => (Math.ceil(value * 1000) / 1000).toFixed(3);

export const clock = (date) => date.toISOString().slice(11, 19);

export function moment(window) {
  const [start, end] = [window.start_ms, window.end_ms].map((ms) => new Date(ms).toISOString());
  const same = start.slice(0, 10) === end.slice(0, 10);
  return `${start.slice(0, 10)} ${start.slice(11, 19)} – ${same ? "" : `${end.slice(0, 10)} `}${end.slice(11, 19)}`;
}

export function table(name, head, rows) {
  return el("details", { "data-name": name }, el("summary", {}, "As a table"),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, head.map((each) => el("th", { scope: "col" }, each)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, index) =>
        index === 0 ? el("th", { scope: "row" }, cell) : el("td", {}, cell))))))));
}

export function figure(title, drawing, { wide = false, note, data } = {}) {
  const parts = [el("figcaption", {}, title)];
  if (note) parts.push(el("p", { class: "note" }, note));
  parts.push(el("div", { class: "scroll" }, drawing));
  if (data) parts.push(data);
  return el("figure", wide ? { class: "wide" } : {}, parts);
}

const width = (text) => Math.min(180, 7.2 * text.length + 10);
const cut = (text, most = 24) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// Bars with the interval of two standard errors; `error` may be missing.
export function bars(title, rows) {
  const left = Math.max(...rows.map((row) => width(cut(row.name))), 40);
  const top = Math.max(...rows.map((row) => row.value + 2 * (row.error ?? 0)), 1e-9);
  const scale = 240 / top;
  const height = 26;
  const marks = rows.flatMap((row, index) => {
    const y = index * height;
    const end = left + Math.max(0, row.value) * scale;
    const low = left + Math.max(0, row.value - 2 * (row.error ?? 0)) * scale;
    const high = left + Math.max(0, row.value + 2 * (row.error ?? 0)) * scale;
    return [
      svg("text", { x: left - 6, y: y + 17, "text-anchor": "end" }, cut(row.name)),
      svg("rect", { class: "bar", x: left, y: y + 5, width: Math.max(0, end - left), height: 16, rx: 2, "fill-opacity": 0.55 }),
      ...(row.error ? [svg("line", { class: "whisker", x1: low, x2: high, y1: y + 13, y2: y + 13 }),
        svg("line", { class: "whisker", x1: low, x2: low, y1: y + 9, y2: y + 17 }),
        svg("line", { class: "whisker", x1: high, x2: high, y1: y + 9, y2: y + 17 })] : []),
      svg("text", { x: left + 250, y: y + 17 }, row.text ?? spread(row.value, row.error)),
    ];
  });
  const wide = left + 390;
  return svg("svg", { role: "img", "aria-label": `${title}: ${rows.slice(0, 5).map((row) => `${row.name} ${spread(row.value, row.error)}`).join(", ")}`,
    viewBox: `0 0 ${wide} ${rows.length * height + 4}`, width: wide, height: rows.length * height + 4 }, marks);
}

// A histogram as steps within the band of two standard errors of each part of the range.
export function band(title, rows, [least, largest]) {
  const [wide, tall, left, bottom] = [640, 200, 46, 24];
  const top = Math.max(...rows.map((row) => row.value + 2 * row.error), 1e-9) * 1.08;
  const x = (index) => left + (index / rows.length) * (wide - left - 8);
  const y = (value) => tall - bottom - (Math.max(0, value) / top) * (tall - bottom - 8);
  const steps = (value) => rows.map((row, index) => `${x(index).toFixed(1)},${y(value(row)).toFixed(1)} ${x(index + 1).toFixed(1)},${y(value(row)).toFixed(1)}`);
  const around = [...steps((row) => row.value + 2 * row.error), ...steps((row) => row.value - 2 * row.error).reverse().map((step) => step.split(" ").reverse().join(" "))];
  return svg("svg", { role: "img", "aria-label": `${title}: ${rows.slice(0, 5).map((row) => `${row.name} ${spread(row.value, row.error)}`).join(", ")}`,
    viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
    svg("polygon", { class: "band", points: around.join(" "), "fill-opacity": 0.25 }),
    svg("polyline", { class: "step", points: steps((row) => row.value).join(" ") }),
    svg("text", { x: left, y: tall - 6 }, `${least}`),
    svg("text", { x: wide - 8, y: tall - 6, "text-anchor": "end" }, `${largest}`),
    svg("text", { x: left - 6, y: 18, "text-anchor": "end" }, top.toPrecision(2)));
}

// A heat map: the more, the more ink. `text(row, column)` writes the number into the cell.
export function heatMap(title, rows, columns, value, text) {
  const left = Math.max(...rows.map((name) => width(cut(name))), 30);
  const cell = Math.max(74, ...columns.map((name) => width(cut(name, 12))));
  const height = 40;
  const most = Math.max(...rows.flatMap((_, i) => columns.map((__, j) => Math.abs(value(i, j)))), 1e-12);
  const marks = [
    ...columns.map((name, j) => svg("text", { x: left + (j + 0.5) * cell, y: 14, "text-anchor": "middle" }, cut(name, 12))),
    ...rows.flatMap((name, i) => [
      svg("text", { x: left - 6, y: 22 + (i + 0.5) * height + 4, "text-anchor": "end" }, cut(name)),
      ...columns.flatMap((column, j) => {
        const share = Math.max(0, value(i, j)) / most;
        const [x, y] = [left + j * cell, 22 + i * height];
        const lines = text(i, j);
        return [
          svg("rect", { class: "cell", x: x + 1, y: y + 1, width: cell - 2, height: height - 2, rx: 3, "fill-opacity": (0.04 + 0.96 * share).toFixed(3) },
            svg("title", {}, `${name}, ${column}: ${lines.join(" ")}`)),
          svg("rect", { class: "frame", x: x + 1, y: y + 1, width: cell - 2, height: height - 2, rx: 3 }),
          ...lines.map((line, k) => svg("text", { class: share > 0.55 ? "on" : "", x: x + cell / 2, y: y + (lines.length === 1 ? 24 : 17 + 15 * k), "text-anchor": "middle" }, line)),
        ];
      }),
    ]),
  ];
  const [wide, tall] = [left + cell * columns.length + 4, 24 + height * rows.length];
  return svg("svg", { role: "img", "aria-label": `${title}: ${rows.length} rows by ${columns.length} columns; the table below has the numbers`,
    viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall }, marks);
}

// Points in runs without a gap: where windows have no answer, since nobody reported, no line leads across.
function runs(points, step) {
  return points.reduce((found, point) => {
    const run = found[found.length - 1];
    if (run && point[0] - run[run.length - 1][0] <= 1.5 * step) run.push(point);
    else found.push([point]);
    return found;
  }, []);
}

// Lines over time, one a name; each has {name, points: [[time, value], ...]}, a point a window.
export function lines(title, tracks) {
  const [wide, tall, left, bottom] = [640, 200, 46, 24];
  const times = tracks.flatMap((track) => track.points.map(([time]) => time));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const top = Math.max(...tracks.flatMap((track) => track.points.map(([, value]) => value)), 1e-9) * 1.08;
  const x = (time) => left + (last === first ? 0.5 : (time - first) / (last - first)) * (wide - left - 8);
  const y = (value) => 6 + (1 - value / top) * (tall - bottom - 6);
  const step = Math.min(...tracks.flatMap(({ points }) => points.slice(1).map(([time], index) => time - points[index][0])));
  const ticks = [0, 0.5, 1].map((share) => share * top / 1.08);
  const drawing = svg("svg", { role: "img", "aria-label": `${title}, ${times.length ? tracks[0].points.length : 0} windows; the table below has the numbers`,
    viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
  ticks.flatMap((value) => [
    svg("line", { class: "frame", x1: left, x2: wide - 8, y1: y(value), y2: y(value) }),
    svg("text", { class: "faint", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toPrecision(2)),
  ]),
  svg("text", { class: "faint", x: left, y: tall - 6 }, clock(new Date(first))),
  svg("text", { class: "faint", x: wide - 8, y: tall - 6, "text-anchor": "end" }, clock(new Date(last))),
  tracks.flatMap((track, index) => [
    ...runs(track.points, step).map((run) => svg("polyline", { class: `track s${index % 6}`, points: run.map(([time, value]) => `${x(time)},${y(value)}`).join(" ") })),
    // A line of one point cannot be seen.
    ...[...runs(track.points, step).filter((run) => run.length === 1).flat(), ...track.points.slice(-1)].map(([time, value]) => svg("circle", { class: `track s${index % 6}`, cx: x(time), cy: y(value), r: 3 })),
  ]));
  const legend = el("ul", { class: "legend" }, tracks.map((track, index) => el("li", {},
    svg("svg", { width: 18, height: 8, "aria-hidden": "true" }, svg("line", { class: `track s${index % 6}`, x1: 0, x2: 18, y1: 4, y2: 4 })), track.name)));
  return el("div", {}, drawing, legend);
}

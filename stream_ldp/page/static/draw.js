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
export const epsilon = (value) => (value === null ? "unbounded" : (Math.ceil(value * 1000 - 1e-6) / 1000).toFixed(3));

// How certain an attacker who starts at 50:50 can become: never below the true one.
function guess(value) {
  const tenths = value === null ? 1000 : Math.ceil(1000 / (1 + Math.exp(-value)) - 1e-6);
  return tenths < 1000 ? `${(tenths / 10).toFixed(1)} %` : "over 99.9 %";
}

// The fact that says what all reports of a user reveal: an epsilon, or those of which each user has chosen one.
export function lifetime(values, assumption) {
  const all = [values].flat();
  return ["lifetime epsilon", `${all.map(epsilon).join(" or ")}; best guess ${all.map(guess).join(" or ")} right, from 50:50. Protects ${assumption}`];
}

// Standard errors on each side of a confidence interval of 95 %.
const Z = 1.96;
export const INTERVALS = "95 % confidence intervals; ± is the standard error.";
export const BANDS = "Bands are 95 % confidence intervals.";

// Charts of a telephone are narrow: to scale down those of a screen would make their text too small to read.
export const NARROW = matchMedia("(max-width: 40rem)");
const chartWidth = () => (NARROW.matches ? 330 : 640);
// A chart of lines fills its card: it is drawn in the width that there is, so that its text keeps its size.
const lineWidth = () => (NARROW.matches ? 330 : Math.min(1080, document.querySelector("main").clientWidth - 60));
const barWidth = () => (NARROW.matches ? 110 : 240);

// Round numbers from one end of an axis to the other: at most six, whose step is 1, 2 or 5 of some power of ten.
export function ticks(least, top) {
  const rough = (top - least) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
  const first = Math.floor(least / step + 1e-9);
  return Array.from({ length: Math.ceil(top / step - 1e-9) - first + 1 }, (_, index) => (first + index) * step);
}

// As few digits as an axis needs.
const tick = (value) => value.toLocaleString("en", { maximumSignificantDigits: 2 });

// The zone of all times: UTC, or that of the browser, as the reader has chosen.
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
export const zones = [...new Set(["UTC", here])];
const zone = { name: "UTC" };
export const zoneName = () => zone.name;
export function setZone(name) {
  zone.name = name;
}

function iso(ms) {
  const date = new Date(ms);
  return new Date(zone.name === "UTC" ? ms : ms - date.getTimezoneOffset() * 60_000).toISOString();
}

export const clock = (date) => iso(date.getTime()).slice(11, 19);

export function moment(window) {
  const [start, end] = [window.start_ms, window.end_ms].map(iso);
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
  // A figure may be of text alone.
  if (drawing.matches?.("svg") || drawing.querySelector?.("svg")) parts.push(picture(title, drawing));
  return el("figure", wide ? { class: "wide" } : {}, parts);
}

// Twice the points of the drawing, for slides.
const PICTURE_SCALE = 2;
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "font-family", "font-size"];

// A button that saves a drawing as PNG; what styles it stands in a file of the page, and has to be in the picture itself.
function picture(title, drawing) {
  const button = el("button", { type: "button", class: "quiet", "aria-label": `Save ${title} as PNG` }, "PNG");
  button.addEventListener("click", () => {
    const from = drawing.matches("svg") ? drawing : drawing.querySelector("svg");
    const copy = from.cloneNode(true);
    const [shown, copied] = [from, copy].map((root) => [root, ...root.querySelectorAll("*")]);
    shown.forEach((each, index) => {
      const style = getComputedStyle(each);
      for (const name of STYLES) copied[index].setAttribute(name, style.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", SVG);
    const image = new Image();
    image.addEventListener("load", () => {
      const canvas = el("canvas", { width: image.width * PICTURE_SCALE, height: image.height * PICTURE_SCALE });
      const context = canvas.getContext("2d");
      context.fillStyle = getComputedStyle(drawing.closest("figure")).backgroundColor;
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => {
        const link = el("a", { href: URL.createObjectURL(blob), download: `${title.replaceAll(/[^\w]+/g, "-")}.png` });
        link.click();
        URL.revokeObjectURL(link.href);
      });
    });
    image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  });
  return button;
}

const width = (text) => Math.min(180, 6.8 * text.length + 10);
const cut = (text, most = 24) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const described = (title, rows) => `${title}: ${rows.slice(0, 5).map((row) => `${row.name} ${row.text ?? spread(row.value, row.error)}`).join(", ")}`;

function whisker(low, high, y) {
  return [
    svg("line", { class: "whisker", x1: low, x2: high, y1: y, y2: y }),
    ...[low, high].map((x) => svg("line", { class: "whisker", x1: x, x2: x, y1: y - 4, y2: y + 4 })),
  ];
}

// A line of text and marks for each row; `marks` draws those of a row between two ends, about a height.
function rowsOf(title, rows, marks) {
  const left = Math.max(...rows.map((row) => width(cut(row.name))), 40);
  const [long, height] = [barWidth(), 26];
  const texts = rows.map((row) => row.text ?? spread(row.value, row.error));
  const wide = left + long + 14 + Math.max(...texts.map(width), 100);
  return svg("svg", { role: "img", "aria-label": described(title, rows), viewBox: `0 0 ${wide} ${rows.length * height + 4}`, width: wide, height: rows.length * height + 4 },
    rows.flatMap((row, index) => [
      svg("text", { x: left - 6, y: index * height + 17, "text-anchor": "end" }, cut(row.name)),
      ...marks(row, left, left + long, index * height + 13),
      svg("text", { x: left + long + 10, y: index * height + 17 }, texts[index]),
    ]));
}

// Bars with confidence intervals; `error` may be missing.
export function bars(title, rows) {
  const top = Math.max(...rows.map((row) => row.value + Z * (row.error ?? 0)), 1e-9);
  return rowsOf(title, rows, (row, left, right, y) => {
    const x = (value) => left + (Math.max(0, value) / top) * (right - left);
    return [
      svg("rect", { class: "bar", x: left, y: y - 8, width: x(row.value) - left, height: 16, rx: 2, "fill-opacity": 0.55 },
        svg("title", {}, `${row.name}: ${row.text ?? spread(row.value, row.error)}`)),
      ...(row.error ? whisker(x(row.value - Z * row.error), x(row.value + Z * row.error), y) : []),
    ];
  });
}

// Numbers as points with confidence intervals, each within its own `range`; `interval` where the errors are not alike.
export function ranges(title, rows) {
  return rowsOf(title, rows, ({ value, error, interval, range: [least, largest] }, left, right, y) => {
    const x = (number) => left + ((Math.min(largest, Math.max(least, number)) - least) / (largest - least)) * (right - left);
    const [low, high] = interval ?? [value - Z * error, value + Z * error];
    return [
      svg("line", { class: "frame", x1: left, x2: right, y1: y, y2: y }),
      svg("circle", { class: "bar", cx: x(value), cy: y, r: 3 }),
      ...whisker(x(low), x(high), y),
    ];
  });
}

// A histogram as steps within the band of the confidence intervals of each part of the range, a row with its width.
export function band(title, rows, [least, largest]) {
  const [wide, tall, left, bottom] = [chartWidth(), 200, 46, 24];
  const marks = ticks(0, Math.max(...rows.map((row) => row.value + Z * row.error), 1e-9));
  const top = marks[marks.length - 1];
  const ends = rows.reduce((before, row) => [...before, before.at(-1) + row.width], [0]);
  const x = (index) => left + (ends[index] / ends.at(-1)) * (wide - left - 8);
  const y = (value) => tall - bottom - (Math.max(0, value) / top) * (tall - bottom - 12);
  const steps = (value) => rows.flatMap((row, index) => [index, index + 1].map((end) => `${x(end).toFixed(1)},${y(value(row)).toFixed(1)}`));
  const around = [...steps((row) => row.value + Z * row.error), ...steps((row) => row.value - Z * row.error).reverse()];
  return svg("svg", { role: "img", "aria-label": described(title, rows), viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
    marks.flatMap((value) => [
      svg("line", { class: "frame", x1: left, x2: wide - 8, y1: y(value), y2: y(value) }),
      svg("text", { class: "faint", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, tick(value)),
    ]),
    svg("polygon", { class: "band", points: around.join(" "), "fill-opacity": 0.25 }),
    svg("polyline", { class: "step", points: steps((row) => row.value).join(" ") }),
    [["start", least], ["middle", (least + largest) / 2], ["end", largest]].map(([anchor, value], index) => svg("text", {
      class: "faint", x: left + (index / 2) * (wide - 8 - left), y: tall - 6, "text-anchor": anchor }, `${Number(value.toPrecision(4))}`)));
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
  return svg("svg", { role: "img", "aria-label": `${title}: ${rows.length} rows by ${columns.length} columns; the table below has the numbers`, class: "map",
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

// Lines over time within their confidence intervals, one a name; each has {name, points: [[time, value, error], ...]}, a
// point a window.
export function lines(title, tracks) {
  const [wide, tall, left, bottom] = [lineWidth(), 200, 46, 24];
  const points = tracks.flatMap((track) => track.points);
  const [first, last] = [Math.min(...points.map(([time]) => time)), Math.max(...points.map(([time]) => time))];
  const marks = ticks(Math.min(0, ...points.map(([, value]) => value)), Math.max(...points.map(([, value, error]) => value + Z * (error ?? 0)), 1e-9));
  const [least, top] = [marks[0], marks[marks.length - 1]];
  const x = (time) => left + (last === first ? 0.5 : (time - first) / (last - first)) * (wide - left - 8);
  const y = (value) => 12 + (1 - (Math.min(top, Math.max(least, value)) - least) / (top - least)) * (tall - bottom - 12);
  const step = Math.min(...tracks.flatMap(({ points: own }) => own.slice(1).map(([time], index) => time - own[index][0])));
  const at = (run, value) => run.map((point) => `${x(point[0])},${y(value(point))}`);
  const end = ([, value, error], side) => value + side * Z * (error ?? 0);
  const drawing = svg("svg", { role: "img", "aria-label": `${title}, ${tracks[0]?.points.length ?? 0} windows; the table below has the numbers`,
    viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
  marks.flatMap((value) => [
    svg("line", { class: "frame", x1: left, x2: wide - 8, y1: y(value), y2: y(value) }),
    svg("text", { class: "faint", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, tick(value)),
  ]),
  svg("text", { class: "faint", x: left, y: tall - 6 }, clock(new Date(first))),
  svg("text", { class: "faint", x: wide - 8, y: tall - 6, "text-anchor": "end" }, clock(new Date(last))),
  tracks.flatMap((track, index) => runs(track.points, step).flatMap((run) => [
    svg("polygon", { class: `around s${index % 6}`, points: [...at(run, (point) => end(point, 1)), ...at(run, (point) => end(point, -1)).reverse()].join(" ") }),
    svg("polyline", { class: `track s${index % 6}`, points: at(run, ([, value]) => value).join(" ") }),
    // Neither a line nor a band of one point can be seen.
    ...(run.length > 1 ? [] : [svg("line", { class: `track s${index % 6}`, x1: x(run[0][0]), x2: x(run[0][0]), y1: y(end(run[0], -1)), y2: y(end(run[0], 1)) }),
      svg("circle", { class: `track s${index % 6}`, cx: x(run[0][0]), cy: y(run[0][1]), r: 3 })]),
  ])),
  tracks.flatMap((track, index) => track.points.slice(-1).map(([time, value]) => svg("circle", { class: `track s${index % 6}`, cx: x(time), cy: y(value), r: 3 }))),
  // What a pointer over a point shows.
  tracks.flatMap((track) => track.points.map(([time, value, error]) => svg("circle", { class: "touch", cx: x(time), cy: y(value), r: 7 },
    svg("title", {}, `${track.name}, ${clock(new Date(time))}: ${spread(value, error)}`)))));
  const legend = el("ul", { class: "legend" }, tracks.map((track, index) => el("li", {},
    svg("svg", { width: 18, height: 8, "aria-hidden": "true" }, svg("line", { class: `track s${index % 6}`, x1: 0, x2: 18, y1: 4, y2: 4 })), track.name)));
  return el("div", {}, drawing, legend);
}

"use strict";
// Curves that show how each mean score changes over the checkpoints of a training, or over dated
// runs, with its interval.
const runs = (() => {
const {element, known} = marks;
const {facts, number, percent} = explain;
const [WIDE, TALL, LEFT, BELOW] = [300, 110, 26, 16];

// A figure for each score column. `open` is called with the index of the run that is clicked.
function curves(open) {
  return facts.series.curves.map(([name, points]) => curve(name, points, open));
}

function curve(name, points, open) {
  const {steps, labels} = facts.series;
  const title = facts.titles[name] || "with an unsupported claim"; // share of the responses with claims
  const shown = (value) => name ? number(value) : percent(value);
  const ends = points.flat().filter(known);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = Math.max(high - low, 0.02);
  const first = steps[0], span = steps[steps.length - 1] - first;
  const x = (i) => LEFT + (WIDE - LEFT - 8) * (steps[i] - first) / span;
  const y = (value) => 6 + (TALL - BELOW - 12) * (1 - (value - low) / room);
  const there = points.map((point, i) => [i, ...point]).filter(([, mean]) => known(mean));
  const ranged = there.filter(([, , from]) => known(from));
  const path = (list) => list.map(([i, value], n) => `${n ? "L" : "M"}${x(i)} ${y(value)}`).join("");
  const band = path(ranged.map(([i, , from]) => [i, from]))
    + path([...ranged].reverse().map(([i, , , to]) => [i, to])).replace(/^M/, "L");
  const words = there.map(([i, mean, from, to]) => `${labels[i]}: ${shown(mean)}${
    known(from) ? ` (${shown(from)} to ${shown(to)})` : ""}`);
  const svg = element("svg", {viewBox: `0 0 ${WIDE} ${TALL}`, role: "img",
    "aria-label": `${title} by ${facts.series.kind}: ${words.join("; ")}`},
  ranged.length ? element("path", {d: `${band}Z`, class: "band"}) : null,
  element("path", {d: path(there), class: "line"}),
  ...there.map(([i, mean]) => element("circle", {cx: x(i), cy: y(mean), r: 3, class: "point"})),
  ...[...new Set([high, low])].map((end) => element("text", {x: 0, y: y(end) + 4},
    name ? end.toFixed(2) : percent(end))));
  const buttons = there.map(([i, mean], n) => {
    const button = element("button", {type: "button", title: n
      ? `responses that changed from ${labels[there[n - 1][0]]}` : "responses of the first run"},
    `${labels[i]} `, element("b", {class: "n"}, shown(mean)));
    button.addEventListener("click", () => open(i));
    return button;
  });
  return element("figure", {class: "curve"},
    element("figcaption", {}, element("b", {}, title)), svg,
    element("div", {class: "steps"}, ...buttons));
}

return {curves};
})();

"use strict";
// Shows how the scores of a metric agree with human labels: a confusion matrix at the chosen
// threshold, and the curve of precision and recall over all thresholds.
const agree = (() => {
const {element, facts, number, percent} = explain;
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [220, 180, 34, 26];

// pairs: [score, label] of each response; the label is 1 for supported. `chosen` is called with a
// threshold when the reader drags the point on the curve.
function shown(pairs, name, threshold, chosen) {
  const count = (above, label) => pairs.filter(([score, said]) => (
    (score > threshold) === above && said === label)).length;
  const cell = (above, label, right) => element("td",
    {class: `n ${right ? "right" : "wrong"}`}, `${count(above, label)}`);
  const head = (words) => element("th", {scope: "col", class: "n"}, words);
  const line = (words, ...cells) => element("tr", {},
    element("th", {scope: "row"}, words), ...cells);
  const right = count(true, 1) + count(false, 0);
  const table = element("table", {class: "confusion"},
    element("caption", {}, `${facts.titles[name]} above ${threshold.toFixed(2)} agrees with people ${
      "about "}${right} of ${pairs.length} responses (${percent(right / pairs.length)})`),
    element("thead", {}, element("tr", {}, element("td", {}), head("people: supported"),
      head("people: not supported"))),
    element("tbody", {}, line("above", cell(true, 1, true), cell(true, 0, false)),
      line("not above", cell(false, 1, false), cell(false, 0, true))));
  return [table, curve(pairs, name, threshold, chosen)];
}

// [threshold, recall, precision] for each threshold that changes a decision, highest first.
function points(pairs) {
  const all = pairs.filter(([, said]) => said === 1).length;
  return [...new Set([0, ...pairs.map(([score]) => score)])].sort((a, b) => b - a).map((t) => {
    const taken = pairs.filter(([score]) => score > t);
    const right = taken.filter(([, said]) => said === 1).length;
    return taken.length && all ? [t, right / all, right / taken.length] : null;
  }).filter(Boolean);
}

function curve(pairs, name, threshold, chosen) {
  const found = points(pairs);
  const x = (recall) => LEFT + recall * (WIDTH - LEFT - 6);
  const y = (precision) => HEIGHT - BOTTOM - precision * (HEIGHT - BOTTOM - 18);
  const here = found.filter(([t]) => t <= threshold + 1e-9)[0] || found[found.length - 1];
  const words = here ? `precision ${percent(here[2])}, recall ${percent(here[1])}` : "no point";
  const svg = element("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "pr",
    "aria-label": `${facts.titles[name]}: precision by recall; at ${number(threshold)} ${words}`},
  element("path", {class: "axis", d: `M${x(0)} ${y(1)}V${y(0)}H${x(1)}`}),
  element("text", {x: x(0.5), y: HEIGHT - 4, "text-anchor": "middle"}, "recall"),
  element("text", {x: LEFT, y: y(1) - 8}, "precision"),
  ...[0, 1].flatMap((end) => [
    element("text", {x: x(end), y: HEIGHT - 14, "text-anchor": "middle"}, `${end}`),
    end ? null : element("text", {x: LEFT - 10, y: y(0)}, "0")]),
  element("path", {class: "line",
    d: found.map(([, r, p], i) => `${i ? "L" : "M"}${x(r)} ${y(p)}`).join("")}),
  ...(here ? [element("circle", {cx: x(here[1]), cy: y(here[2]), r: 5, class: "here"})] : []));
  const nearest = ({clientX, clientY}, box) => {
    const at = [clientX - box.left, clientY - box.top].map((one) => one * WIDTH / box.width);
    return found.map(([t, r, p]) => [(x(r) - at[0]) ** 2 + (y(p) - at[1]) ** 2, t])
      .sort(([a], [b]) => a - b)[0];
  };
  // While the point is dragged, the page replaces this curve by a new one. So the window listens to
  // the pointer, and positions are measured on the curve where the dragging began.
  svg.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    const move = (moved) => {
      const near = nearest(moved, box);
      if (near) chosen(near[1]);
    };
    move(event);
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), {once: true});
  });
  return element("figure", {class: "agreed"}, svg, element("figcaption", {},
    element("span", {}, `at ${threshold.toFixed(2)}: ${words}`,
      element("span", {class: "on-screen"}, "; drag the point"))));
}

return {shown};
})();

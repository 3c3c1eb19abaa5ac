"use strict";
// The values of a column that the rows kept, side by side: how many of their responses have an
// unsupported claim, and their means. The numbers are made where the page is written.
const groups = (() => {
const {element, known} = marks;
const {columns, facts, main, number, numbers, percent, several} = explain;
const FIRST = 4 + columns.length; // of a row's numbers, those of its groups; as in encode.py
const found = facts.groups || [];
const names = found.map((one) => one.column);

// Whether the row at a place has the value, by its place among those of the column.
function has(place, column, value) {
  const bits = numbers[place][FIRST + names.indexOf(column)];
  return Math.floor(bits / 2 ** value) % 2 === 1;
}

// Words of a filter that still holds, or "" for none.
function named(column, value) {
  const one = found[names.indexOf(column)];
  return one && one.values[value] !== undefined ? `${column}: ${one.values[value]}` : "";
}

function meter(share) {
  return element("svg", {class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none",
    "aria-hidden": "true"}, element("rect", {width: 100, height: 4, class: "rest"}),
  element("rect", {width: 100 * share, height: 4, class: "share"}));
}

const head = (words) => element("th", {scope: "col", class: "n"}, words);
const cell = (label, ...words) => element("td", {class: "n", "data-label": label}, ...words);

function line(one, [system, value, rows, judged, unsupported, contradicted, means], value_, pick) {
  const chosen = `${value}` === value_;
  const button = element("button", {type: "button", "aria-pressed": `${chosen}`},
    element("bdi", {}, one.values[value]));
  button.addEventListener("click", () => pick(chosen ? "" : `${value}`));
  const also = contradicted ? ` (${contradicted} contradicted)` : "";
  return element("tr", {class: chosen ? "chosen" : ""},
    element("th", {scope: "row"}, button),
    several ? element("td", {"data-label": "system"},
      element("bdi", {}, facts.systems[system])) : null,
    cell("responses", `${rows}`),
    judged ? element("td", {class: "n wide", "data-label": "unsupported claim",
      title: `${unsupported} of ${judged} responses with claims${also}`},
    `${unsupported} of ${judged}`, element("b", {}, ` ${percent(unsupported / judged)}`),
    meter(unsupported / judged)) : cell("unsupported claim", "–"),
    ...main.map((name) => cell(facts.titles[name], number(means[columns.indexOf(name)]))));
}

// The table of a column; `seen` are the places of the systems in view, and `pick` is told the
// value that was chosen, "" for none.
function table(column, value, seen, pick) {
  const one = found[names.indexOf(column)];
  const lines = one.lines.filter(([system]) => seen.has(system));
  return element("table", {class: "scores groups"},
    element("thead", {}, element("tr", {}, element("th", {scope: "col"}, column),
      several ? element("th", {scope: "col"}, "system") : null, head("responses"),
      head("with an unsupported claim"),
      ...main.map((name) => head(`mean ${facts.titles[name]}`)))),
    element("tbody", {}, ...lines.map((each) => line(one, each, value, pick))));
}

return {has, named, names, table};
})();

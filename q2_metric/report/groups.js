"use strict";
// A table with a line for each value of an input column, such as the model: how many responses have
// an unsupported claim, and the mean scores.
const groups = (() => {
const {element, known} = marks;
const {columns, countedAt, facts, main, number, numbers, percent, several} = explain;
const UNSUPPORTED = 32, CONTRADICTED = 64, CLAIMED = 256; // as in page.py
const FIRST = 4 + columns.length; // index of the first group in a row's numbers (page.py)
const found = facts.groups || [];
const names = found.map((one) => one.column);

// Whether a row has a value in a column. `place` is the index of the row, `value` the index of the
// value among the column's values.
function has(place, column, value) {
  const bits = numbers[place][FIRST + names.indexOf(column)];
  return Math.floor(bits / 2 ** value) % 2 === 1;
}

// A filter in words, such as "model: gpt"; "" if there is no such column or value.
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

// The rows of each system that have a value: [system, value, indexes of the rows].
const lines = new Map(found.map((one) => [one, one.values.flatMap((_, value) => {
  const rows = facts.systems.map(() => []);
  numbers.forEach(([system], place) => {
    if (has(place, one.column, value)) rows[system].push(place);
  });
  return rows.map((places, system) => [system, value, places]).filter((each) => each[2].length);
})]));

function mean(places, name) {
  const values = places.map((place) => countedAt(place, name)).filter(known);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

function line(one, [system, value, places], value_, pick) {
  const [judged, unsupported, contradicted] = [CLAIMED, UNSUPPORTED, CONTRADICTED].map(
    (flag) => places.filter((place) => numbers[place][1] & flag).length);
  const chosen = `${value}` === value_;
  const button = element("button", {type: "button", "aria-pressed": `${chosen}`},
    element("bdi", {}, one.values[value]));
  button.addEventListener("click", () => pick(chosen ? "" : `${value}`));
  const also = contradicted ? ` (${contradicted} contradicted)` : "";
  return element("tr", {class: chosen ? "chosen" : ""},
    element("th", {scope: "row"}, button),
    several ? element("td", {"data-label": "system"},
      element("bdi", {}, facts.systems[system])) : null,
    cell("responses", `${places.length}`),
    judged ? element("td", {class: "n wide", "data-label": "unsupported claim",
      title: `${unsupported} of ${judged} responses with claims${also}`},
    `${unsupported} of ${judged}`, element("b", {}, ` ${percent(unsupported / judged)}`),
    meter(unsupported / judged)) : cell("unsupported claim", "–"),
    ...main.map((name) => cell(facts.titles[name], number(mean(places, name)))));
}

// The table of a column, with all systems. `pick` is called with the index of the value that the
// reader chose, or with "" for none.
function table(column, value, pick) {
  const one = found[names.indexOf(column)];
  return element("table", {class: "scores groups"},
    element("thead", {}, element("tr", {}, element("th", {scope: "col"}, column),
      several ? element("th", {scope: "col"}, "system") : null, head("responses"),
      head("with an unsupported claim"),
      ...main.map((name) => head(`mean ${facts.titles[name]}`)))),
    element("tbody", {}, ...lines.get(one).map((each) => line(one, each, value, pick))));
}

return {has, named, names, table};
})();

"use strict";
// Labels that the reader gives on the page. They are stored in the page's URL, and replace the
// labels of the file. They are also written to the file if the reader saves rows.
const label = (() => {
const {element, units} = marks;
const {byId, facts, numbers, rowAt, several} = explain;
const LABEL = 2; // index of the label in a row's numbers (page.py)
const given = numbers.map((one) => one[LABEL]);
const mine = new Map();

function set(place, said) {
  if (said === null) mine.delete(place);
  else mine.set(place, said);
  numbers[place][LABEL] = said ?? given[place];
}

// The reader's labels as a text for the URL. "3y7n": row 3 is supported, row 7 is not.
const words = () => [...mine].map(([place, said]) => `${place}${said ? "y" : "n"}`).join("");

function read(text) {
  for (const place of [...mine.keys()]) set(place, null);
  for (const [, place, said] of text.matchAll(/(\d+)([yn])/g)) {
    if (numbers[place]) set(Number(place), said === "y" ? 1 : 0);
  }
}

function buttons(place, changed) {
  const made = [[1, "✓", "supported"], [0, "✗", "not supported"]].map(([said, sign, meaning]) => {
    const button = element("button", {type: "button", title: "keys: y and n set your label, j and k go to the next and the previous response, / to the search",
      "aria-label": `your label: ${meaning}`}, sign);
    button.addEventListener("click", () => {
      set(place, mine.get(place) === said ? null : said);
      press();
      changed();
    });
    return [said, button];
  });
  const press = () => made.forEach(
    ([said, button]) => button.setAttribute("aria-pressed", `${mine.get(place) === said}`));
  press();
  return element("span", {class: "label"}, "your label", ...made.map(([, button]) => button));
}

// Adds buttons beside the id of each response of a card. `changed` is called after each new label.
function add(card, item, changed) {
  const headings = card.querySelectorAll(".said .heading");
  item.places.forEach((place, i) => {
    if (!rowAt(place).error) headings[i].append(buttons(place, changed));
  });
}

// The row as an object that q2 score and q2 calibrate can read.
function plain(place) {
  const row = rowAt(place);
  const at = units(row.knowledge || "");
  const passages = (row.passages || []).map(({start, end, id}) => {
    const text = row.knowledge.slice(at(start), at(end));
    return id === null || id === undefined ? text : {id, text};
  });
  const said = numbers[place][LABEL];
  return {id: row.id, ...(several ? {system: facts.systems[row.system]} : {}),
    ...(row.question ? {question: row.question} : {}),
    ...((row.history || []).length ? {history: row.history} : {}),
    response: row.response,
    knowledge: passages.length ? passages : row.knowledge || "",
    ...(said === null ? {} : {label: said}), ...row.other};
}

// Saves the rows to a jsonl file.
function save(places) {
  const lines = places.map((place) => `${JSON.stringify(plain(place))}\n`);
  const url = URL.createObjectURL(new Blob(lines, {type: "application/jsonl"}));
  element("a", {href: url, download: "rows.jsonl"}).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// Handles keys: / goes to the search, j and k to the next and the previous response, y and n label
// the current one.
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("controls").elements.text.focus();
    return;
  }
  const card = event.target.closest("li.card");
  const next = {j: "nextElementSibling", k: "previousElementSibling"}[event.key];
  const there = next && (card ? card[next] : byId("list").querySelector("li.card"));
  if (there) {
    there.querySelector("summary").focus({preventScroll: true});
    const compact = there.classList.contains("compact");
    there.scrollIntoView({block: compact ? "nearest" : "center"});
  }
  const two = card ? card.querySelectorAll(".label button") : [];
  if ("yn".includes(event.key) && two.length === 2) two[event.key === "y" ? 0 : 1].click();
}

return {add, keys, read, save, words};
})();

"use strict";
// The list of responses: filter, sort, page, compare; its state is in the page's address.
(() => {
const {
  MEANINGS, SAME, SIGNS, asked, asking, byId, card, change, element, facts, fill, known, metrics,
  number, rows, several, signed,
} = explain;
const BINS = 20;
const SIZES = ["25", "50", "100", "500"];

// --- items, filters -------------------------------------------------------------------------

const single = rows.map((row, i) => ({key: `${i}`, rows: [row]}));
const paired = new Map(facts.pairs.map((one) => [`pair-${one.system}`,
  one.rows.map(([a, b]) => ({key: `${a}-${b}`, rows: [rows[a], rows[b]]}))]));

const valueOf = (item, metric) => (
  item.rows.length === 2 ? change(item, metric) : item.rows[0][metric]);

function itemsOf(view) {
  if (paired.has(view)) return paired.get(view);
  return view === "all" ? single
    : once(view, () => single.filter((item) => `${item.rows[0].system}` === view));
}

const anyRow = (wanted) => (item) => item.rows.some(wanted);
const KINDS = {
  any: ["all", () => true],
  better: ["better", (item, metric) => change(item, metric) >= SAME],
  worse: ["worse", (item, metric) => known(change(item, metric)) && change(item, metric) <= -SAME],
  differs: ["with an answer that differs",
    anyRow((row) => row.questions.some((q) => q.state === "differs"))],
  unanswered: ["with an unanswered question",
    anyRow((row) => row.questions.some((q) => q.how === "no_answer"))],
  supported: ["with every answer supported", anyRow((row) =>
    row.questions.length > 0 && row.questions.every((q) => q.state === "supported"))],
  fallback: ["without a valid question", anyRow((row) =>
    !row.error && asked(row) && row.questions.length === 0)],
  error: ["not scored", anyRow((row) => Boolean(row.error))],
};
const OF_PAIRS = ["better", "worse"];
const OF_QUESTIONS = ["differs", "unanswered", "supported", "fallback"];
const kindsOf = (view) => Object.keys(KINDS)
  .filter((name) => (paired.has(view) || !OF_PAIRS.includes(name))
  && (asking.length || !OF_QUESTIONS.includes(name)));

// What depends on all items of a view is counted once.
const counted = new Map();
function once(key, count) {
  if (!counted.has(key)) counted.set(key, count());
  return counted.get(key);
}

function searchable(row) {
  if (row.searchable === undefined) {
    const asked = row.questions.flatMap((q) => [q.question, q.response_answer, q.knowledge_answer]);
    const texts = [row.id, row.response, row.knowledge, ...(row.history || []), row.error];
    row.searchable = [...texts, ...asked]
      .filter((words) => typeof words === "string").join("\n").toLowerCase();
  }
  return row.searchable;
}

function filtered(state) {
  const wanted = state.text.trim().toLowerCase();
  const kind = KINDS[state.show][1];
  const low = state.min === "" ? -Infinity : Number(state.min);
  const high = state.max === "" ? Infinity : Number(state.max);
  const ranged = state.min !== "" || state.max !== "";
  const found = itemsOf(state.view).filter((item) => {
    const value = valueOf(item, state.metric);
    if (ranged && !(known(value) && value >= low - 1e-9 && value <= high + 1e-9)) return false;
    return kind(item, state.metric)
      && (!wanted || item.rows.some((row) => searchable(row).includes(wanted)));
  });
  const order = state.sort || Object.keys(sorts(state.view))[0];
  if (order === "order") return found;
  const sign = order === "low" ? 1 : -1;
  const size = order === "change" ? Math.abs : (value) => value;
  const keyed = found.map((item) => [valueOf(item, state.metric), item]);
  keyed.sort(([a], [b]) => known(a) && known(b) ? sign * (size(a) - size(b)) : known(b) - known(a));
  return keyed.map(([, item]) => item);
}

// --- state: what the controls say, kept in the address --------------------------------------

const form = byId("controls");
const TYPED = ["text", "min", "max"];
const INITIAL = {
  view: paired.size ? [...paired.keys()][0] : "all",
  show: "any",
  metric: metrics[0] || "",
  text: "",
  min: "", max: "", sort: "", size: SIZES[0], page: "1", open: "",
};
// The first is what an empty `sort` stands for.
const sorts = (view) => paired.has(view)
  ? {change: "largest change", high: "largest gain", low: "largest loss", order: "as in the file"}
  : {order: "as in the file", low: "lowest first", high: "highest first"};
let state = {...INITIAL};
let shown = [];

const VIEWS = [["all", "all systems"], ...facts.systems.map((name, i) => [`${i}`, name])];
for (const {system} of facts.pairs) {
  VIEWS.push([`pair-${system}`, `${facts.systems[system]} against ${facts.systems[0]}`]);
}

function read() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  state = {...INITIAL};
  for (const name of Object.keys(INITIAL)) state[name] = given[name] ?? INITIAL[name];
  const check = (name, values) => {
    if (!values.includes(state[name])) state[name] = INITIAL[name];
  };
  check("view", VIEWS.map(([value]) => value));
  check("show", kindsOf(state.view));
  check("sort", Object.keys(sorts(state.view)));
  check("metric", metrics);
  check("size", SIZES);
  for (const name of ["min", "max"]) if (!Number.isFinite(Number(state[name]))) state[name] = "";
}

function write(newEntry) {
  const changed = Object.entries(state).filter(([name, value]) => value !== INITIAL[name]);
  const hash = `#${new URLSearchParams(changed)}`;
  if ((location.hash || "#") === hash) return;
  window.history[newEntry ? "pushState" : "replaceState"](null, "", hash);
}

function update(wanted, newEntry = true) {
  const viewed = state.view;
  state = {...state, page: "1", open: "", ...wanted};
  if (paired.has(viewed) !== paired.has(state.view)) { // a range of scores is none of differences
    Object.assign(state, {min: "", max: "", sort: ""});
    if (OF_PAIRS.includes(state.show)) state.show = "any";
  }
  show();
  write(newEntry);
}

let writing = 0;
function remember(details) {
  if (!details.isConnected) return;
  const open = new Set(state.open.split(",").filter(Boolean));
  open[details.open ? "add" : "delete"](details.dataset.key);
  state.open = [...open].join(",");
  clearTimeout(writing); // once, where many open together
  writing = setTimeout(() => write(false), 50);
}

// --- showing ----------------------------------------------------------------------------------

function options(name, pairs) {
  const select = form.elements[name];
  select.replaceChildren(...pairs.map(([value, words]) => element("option", {value}, words)));
  select.value = state[name];
}

function showControls() {
  const two = paired.has(state.view);
  options("view", VIEWS);
  form.querySelector("[data-for=view]").hidden = !several;
  const items = itemsOf(state.view);
  options("show", kindsOf(state.view).map((name) => {
    const count = once(`${state.view} ${state.metric} ${name}`,
      () => items.filter((item) => KINDS[name][1](item, state.metric)).length);
    return [name, `${KINDS[name][0]} (${count.toLocaleString("en")})`];
  }));
  options("metric", metrics.map(
    (name) => [name, facts.titles[name] + (two ? ", difference" : "")]));
  options("sort", Object.entries(sorts(state.view)).map(
    ([value, words], i) => [i ? value : "", words]));
  options("size", SIZES.map((size) => [size, size]));
  for (const name of TYPED) {
    if (form.elements[name] !== document.activeElement) form.elements[name].value = state[name];
  }
}

function showList() {
  const size = Number(state.size);
  const pages = Math.max(1, Math.ceil(shown.length / size));
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(state.page)) || 1));
  state.page = `${page}`;
  const start = (page - 1) * size;
  const here = shown.slice(start, start + size);
  byId("list").replaceChildren(...here.map((item) => card(item, remember)));
  const opened = new Set(state.open.split(","));
  for (const [i, item] of here.entries()) {
    if (opened.has(item.key)) {
      const details = byId("list").children[i].firstChild;
      fill(details, item);
      details.open = true;
    }
  }
  const all = itemsOf(state.view).length;
  const of = all === shown.length ? "" : ` of ${all.toLocaleString("en")}`;
  const what = paired.has(state.view) ? "pairs" : "responses";
  byId("count").textContent = `${shown.length.toLocaleString("en")}${of} ${what}`;
  byId("pages").hidden = pages === 1;
  const total = shown.length.toLocaleString("en");
  byId("place").textContent = `${start + 1}–${start + here.length} of ${total}`;
  for (const button of byId("pages").querySelectorAll("button")) {
    const there = page + Number(button.dataset.step);
    button.setAttribute("aria-disabled", there < 1 || there > pages);
  }
  showOpenAll();
}

function showOpenAll() {
  const all = [...document.querySelectorAll("#list details")];
  const every = all.length && all.every((one) => one.open);
  byId("open-all").textContent = every ? "Close all" : "Open all";
}

function histogram(name) {
  const two = paired.has(state.view);
  const some = shown.map((item) => valueOf(item, name)).filter(known);
  const low = two ? -1 : 0;
  const width = (1 - low) / BINS;
  const count = (values) => {
    const bins = new Array(BINS).fill(0);
    for (const value of values) {
      const bin = Math.floor((value - low) / width + 1e-9);
      bins[Math.max(0, Math.min(BINS - 1, bin))]++;
    }
    return bins;
  };
  const before = once(`${state.view} ${name}`,
    () => count(itemsOf(state.view).map((item) => valueOf(item, name)).filter(known)));
  const now = count(some);
  const highest = Math.max(1, ...before);
  const mean = some.reduce((sum, value) => sum + value, 0) / some.length;
  const words = some.length
    ? `mean ${(two ? signed : number)(mean)} of ${some.length.toLocaleString("en")}` : "no score";
  const tall = (n) => n ? Math.max(1.5, 54 * n / highest) : 0;
  const svg = element("svg", {viewBox: "0 0 200 56", role: "img", preserveAspectRatio: "none",
    "aria-label": `${facts.titles[name]}: distribution, ${words}`});
  before.forEach((n, i) => {
    const ends = [low + i * width, low + (i + 1) * width].map((end) => Number(end.toFixed(3)));
    const bar = (height, class_) => element("rect",
      {x: i * 10 + 0.5, width: 9, y: 55 - height, height, class: class_});
    const whole = element("rect", {x: i * 10, width: 10, y: 0, height: 56, class: "hit"},
      element("title", {}, `${ends[0]} to ${ends[1]}: ${now[i].toLocaleString("en")}`));
    // A value on the edge belongs to the bar on its right.
    const max = i === BINS - 1 ? ends[1] : Number((ends[1] - 0.001).toFixed(3));
    whole.addEventListener("click", () => update({metric: name, min: `${ends[0]}`, max: `${max}`}));
    svg.append(bar(tall(n), "all"), bar(tall(now[i]), "now"), whole);
  });
  svg.append(element("path", {d: "M0 55.5H200", class: "axis"}));
  return element("figure", {class: name === state.metric ? "chosen" : ""},
    element("figcaption", {}, element("b", {}, facts.titles[name]), element("span", {}, words)),
    svg,
    element("div", {class: "ends", "aria-hidden": "true"}, element("span", {}, two ? "−1" : "0"),
      two ? element("span", {}, "0") : null, element("span", {}, "1")));
}

function show() {
  shown = filtered(state);
  showControls();
  showList();
  byId("histograms").replaceChildren(...metrics.map(histogram));
}

// --- what people do -----------------------------------------------------------------------------

let waiting = 0;
const typed = () => Object.fromEntries(TYPED.filter((name) => form.elements[name].validity.valid)
  .map((name) => [name, form.elements[name].value]));
form.addEventListener("input", (event) => {
  clearTimeout(waiting);
  if (TYPED.includes(event.target.name)) waiting = setTimeout(() => update(typed(), false), 150);
});
form.addEventListener("change", (event) => {
  const {name, value} = event.target;
  if (!TYPED.includes(name)) update({...typed(), [name]: value});
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  for (const name of TYPED) form.elements[name].value = "";
  update({...INITIAL, view: state.view});
});
byId("pages").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button || button.getAttribute("aria-disabled") === "true") return;
  update({page: `${Number(state.page) + Number(button.dataset.step)}`});
  byId("count").focus({preventScroll: true});
  byId("count").scrollIntoView();
});
function setOpen(details, open) {
  const key = details.dataset.key;
  if (open && key) fill(details, shown.find((item) => item.key === key));
  details.open = open;
}
byId("open-all").addEventListener("click", () => {
  const open = byId("open-all").textContent === "Open all";
  for (const details of document.querySelectorAll("#list details")) setOpen(details, open);
  showOpenAll();
});
byId("list").addEventListener("toggle", showOpenAll, true);
addEventListener("hashchange", () => {
  read();
  show();
});
// On paper, the signatures and every response of this page are open.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) setOpen(details, true);
});
addEventListener("afterprint", () => closed.forEach((details) => setOpen(details, false)));

if (asking.length) {
  byId("legend").append(...Object.entries(MEANINGS).map(([name, words]) => element("span", {},
    element("mark", {class: `asked ${name}`}, SIGNS[name]), ` ${words}`)));
}
read();
show();
const opened = document.querySelector("#list details[open]");
if (opened) opened.scrollIntoView({block: "center"});
})();

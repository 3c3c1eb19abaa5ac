"use strict";
// The list of responses, with filters, sorting and pages. Its state is stored in the page's URL.
(() => {
const {
  MEANINGS, SAME, SIGNS, asking, byId, card, change, countedAt, element, facts, fill, known, lineOf,
  main, metrics, number, numbers, percent, rowAt, scoreAt, several, signed,
} = explain;
const BINS = 20;
const CHUNK = 50; // number of cards that are made at a time if the list has a single page
const FULL = 8; // most items of a view that are shown in full; more are shown as a table
const SIZES = ["50", "25", "100", "500", "all"];
const count = (n) => n.toLocaleString("en");
// As in page.py.
const [SYSTEM, FLAGS, LABEL, WORST] = [0, 1, 2, 3];
const FLAG = {error: 1, asked: 2, differs: 4, unanswered: 8, supported: 16,
  unsupported: 32, contradicted: 64, miscited: 128, claimed: 256};

// --- items, filters -------------------------------------------------------------------------

const single = numbers.map((_, i) => ({key: `${i}`, places: [i]}));
const nameOf = (one) => `pair-${one.against}-${one.system}`;
const paired = new Map(facts.pairs.map((one) => [nameOf(one),
  one.rows.map(([a, b]) => ({key: `${a}-${b}`, places: [a, b]}))]));

const valueOf = (item, metric) => (
  item.places.length === 2 ? change(item, metric) : scoreAt(item.places[0], metric));

function itemsOf(view) {
  if (paired.has(view)) return paired.get(view);
  return view === "all" ? single
    : once(view, () => single.filter((item) => `${numbers[item.places[0]][SYSTEM]}` === view));
}

const has = (place, flag) => (numbers[place][FLAGS] & FLAG[flag]) !== 0;
const flagged = (flag) => (item) => item.places.some((place) => has(place, flag));
const inGroup = (item, {group, value}) => !group || value === ""
  || item.places.some((place) => groups.has(place, group, Number(value)));
const anyPlace = (wanted) => (item, state) => item.places.some((place) => wanted(place, state));
const judged = numbers.some((one) => known(one[WORST]));
const isLabelled = (place) => known(numbers[place][LABEL]);
const labelled = () => numbers.some((_, place) => isLabelled(place));
// A response is consistent if its score is above the threshold, but not if it equals the threshold
// (Q² paper, section 4.2).
const above = (place, metric, state) => scoreAt(place, metric) > Number(state.threshold);
const scored = (place, metric) => known(scoreAt(place, metric));
const [one, other] = [asking.length ? asking[0][0] : main[0],
  main.find((name) => facts.metrics.some((m) => m.details === "sentences" && m.columns[0] === name))
    || main[1]];
const KINDS = {
  any: ["all", () => true],
  better: ["better", (item, state) => change(item, state.metric) >= SAME],
  worse: ["worse", (item, state) =>
    known(change(item, state.metric)) && change(item, state.metric) <= -SAME],
  crossed: ["that crossed the threshold", (item, {metric, threshold}) => {
    const [a, b] = item.places.map((place) => countedAt(place, metric));
    return known(a) && known(b) && (a > Number(threshold)) !== (b > Number(threshold));
  }],
  labelled: ["with a label", anyPlace(isLabelled)],
  label: ["metric and label disagree", anyPlace((place, state) => isLabelled(place)
    && scored(place, state.metric)
    && above(place, state.metric, state) !== (numbers[place][LABEL] === 1))],
  disagree: [`${facts.titles[one]} and ${facts.titles[other]} disagree`,
    anyPlace((place, state) => scored(place, one) && scored(place, other)
      && above(place, one, state) !== above(place, other, state))],
  unsupported: ["with an unsupported claim", flagged("unsupported")],
  contradicted: ["with a contradicted claim", flagged("contradicted")],
  miscited: ["with a claim that cites the wrong passage", flagged("miscited")],
  differs: ["with an answer that speaks against support", flagged("differs")],
  unanswered: ["with an unanswered question", flagged("unanswered")],
  supported: ["with every answer supported", flagged("supported")],
  fallback: ["without a valid question", anyPlace((place) => !has(place, "error")
    && !has(place, "asked") && scored(place, one))],
  error: ["without a score", anyPlace((place, state) => !scored(place, state.metric))],
  fails: ["that fail the gate", (item, {metric, threshold}) => {
    const place = item.places[item.places.length - 1];
    return has(place, "error") || (scored(place, metric) && scoreAt(place, metric) < Number(threshold));
  }],
};
const OF_PAIRS = ["better", "worse", "crossed"];
const OF_LABELS = ["labelled", "label"];
const OF_CLAIMS = ["unsupported", "contradicted", "miscited"];
const OF_QUESTIONS = ["differs", "unanswered", "supported", "fallback"];
const kindsOf = (view) => Object.keys(KINDS)
  .filter((name) => (paired.has(view) || !OF_PAIRS.includes(name))
  && (!OF_LABELS.includes(name) || labelled()) && (name !== "disagree" || (one && other && one !== other))
  && (asking.length || !OF_QUESTIONS.includes(name))
  && (judged || !OF_CLAIMS.includes(name)));

// Remembers values that depend on all items of a view, so that each is computed once.
const counted = new Map();
function once(key, find) {
  if (!counted.has(key)) counted.set(key, find());
  return counted.get(key);
}

function searchable(place) {
  const row = rowAt(place);
  if (row.searchable === undefined) {
    const asked = row.questions.flatMap((q) => [q.question, q.response_answer, q.knowledge_answer]);
    const texts = [row.id, row.response, row.knowledge, row.question, ...(row.history || []),
      row.error, ...Object.values(row.other || {})];
    row.searchable = [...texts, ...asked]
      .filter((words) => typeof words === "string").join("\n").toLowerCase();
  }
  return row.searchable;
}

// How well an item matches the searched words: 0 if they are its id, 1 if they are a part of its
// id, 2 if they are in another text.
function nearness(item, wanted) {
  const ids = item.places.map((place) => `${rowAt(place).id}`.toLowerCase());
  if (ids.includes(wanted)) return 0;
  return ids.some((id) => id.includes(wanted)) ? 1 : 2;
}

// The lowest support of an unsupported claim of the item. null if all claims are supported; such
// items are sorted to the end.
const least = (item) => item.places.reduce((low, place) => {
  const value = numbers[place][WORST];
  return known(value) && (low === null || value < low) ? value : low;
}, null);

function filtered(state) {
  const wanted = state.text.trim().toLowerCase();
  const kind = KINDS[state.show][1];
  const low = state.min === "" ? -Infinity : Number(state.min);
  const high = state.max === "" ? Infinity : Number(state.max);
  const ranged = state.min !== "" || state.max !== "";
  const found = itemsOf(state.view).filter((item) => {
    const value = valueOf(item, state.metric);
    if (ranged && !(known(value) && value >= low - 1e-9 && value <= high + 1e-9)) return false;
    return kind(item, state) && inGroup(item, state)
      && (!wanted || item.places.some((place) => searchable(place).includes(wanted)));
  });
  const order = state.sort || Object.keys(sorts(state.view))[0];
  const sign = order === "low" || order === "worst" ? 1 : -1;
  const size = order === "change" ? Math.abs : (value) => value;
  const keyed = found.map((item) => [wanted ? nearness(item, wanted) : 0,
    order === "order" ? 0 : order === "worst" ? least(item) : valueOf(item, state.metric), item]);
  keyed.sort(([near, a], [far, b]) => near - far
    || (known(a) && known(b) ? sign * (size(a) - size(b)) : known(b) - known(a)));
  return keyed.map(([, , item]) => item);
}

// --- state: the values of the controls, stored in the URL ------------------------------------

const form = byId("controls");
const TYPED = ["text", "min", "max", "threshold"];
const INITIAL = {
  view: paired.size ? [...paired.keys()][facts.series ? facts.systems.length - 2 : 0] : "all",
  show: "any",
  metric: metrics[0] || "",
  text: "", group: facts.grouped, value: "",
  min: "", max: "", sort: "", size: SIZES[0], page: "1", open: "", threshold: "0.5", layout: "",
  mine: "",
};
const SELDOM = ["metric", "min", "max", "threshold", "size"];
// The ways to sort a view. The first is the default, for which `sort` is "".
const sorts = (view) => paired.has(view)
  ? {change: "largest change", high: "largest gain", low: "largest loss", order: "as in the file"}
  : {low: "lowest first", order: "as in the file", high: "highest first",
    ...(judged ? {worst: "worst claim first"} : {})};
let state = {...INITIAL};
let shown = [];

const VIEWS = [["all", "all systems"], ...facts.systems.map((name, i) => [`${i}`, name])];
for (const one of facts.pairs) {
  VIEWS.push([nameOf(one), `${facts.systems[one.system]} against ${facts.systems[one.against]}`]);
}

function read() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  state = {...INITIAL};
  for (const name of Object.keys(INITIAL)) state[name] = given[name] ?? INITIAL[name];
  const check = (name, values) => {
    if (!values.includes(state[name])) state[name] = INITIAL[name];
  };
  label.read(state.mine);
  state.mine = label.words();
  check("view", VIEWS.map(([value]) => value));
  check("show", kindsOf(state.view));
  check("sort", Object.keys(sorts(state.view)));
  check("metric", metrics);
  check("size", SIZES);
  check("layout", ["", "table", "full"]);
  check("group", ["", ...groups.names]);
  if (!groups.named(state.group, state.value)) state.value = "";
  for (const name of ["min", "max"]) if (!Number.isFinite(Number(state[name]))) state[name] = "";
  const threshold = Number(state.threshold || NaN);
  if (!(threshold >= 0 && threshold <= 1)) state.threshold = INITIAL.threshold;
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
  if (paired.has(viewed) !== paired.has(state.view)) { // a range of scores does not fit differences
    Object.assign(state, {min: "", max: "", sort: ""});
    if (OF_PAIRS.includes(state.show)) state.show = "any";
  }
  show();
  write(newEntry);
}

let writing = 0;
function remember(details) {
  if (!details.isConnected) return;
  const bare = details.querySelector(".top .id"); // of a line that was just opened
  if (bare) dress(details, itemOf(details.dataset.key));
  showLegend();
  const open = new Set(state.open.split(",").filter(Boolean));
  open[details.open ? "add" : "delete"](details.dataset.key);
  state.open = [...open].join(",");
  clearTimeout(writing); // if many open at the same time, the URL is written once
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
    const n = once(`${state.view} ${state.metric} ${state.threshold} ${state.group} ${state.value
    } ${state.mine} ${name}`,
    () => items.filter((item) => KINDS[name][1](item, state) && inGroup(item, state)).length);
    return [name, `${KINDS[name][0]} (${count(n)})`];
  }));
  options("metric", metrics.map(
    (name) => [name, facts.titles[name] + (two ? ", difference" : "")]));
  options("sort", Object.entries(sorts(state.view)).map(
    ([value, words], i) => [i ? value : "", words]));
  options("size", SIZES.map((size) => [size, size]));
  byId("threshold").textContent = Number(state.threshold).toFixed(2);
  for (const name of TYPED) {
    if (form.elements[name] !== document.activeElement) form.elements[name].value = state[name];
  }
}

function showList() {
  const size = state.size === "all" ? Math.max(1, shown.length) : Number(state.size);
  const pages = Math.max(1, Math.ceil(shown.length / size));
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(state.page)) || 1));
  state.page = `${page}`;
  const start = (page - 1) * size;
  const here = shown.slice(start, start + size);
  byId("list").replaceChildren(...(shown.length ? [] : [nothing()]));
  byId("columns").replaceChildren(...(shown.length && compact() ? headings() : []));
  byId("list").classList.toggle("two", paired.has(state.view));
  byId("columns").classList.toggle("two", paired.has(state.view));
  byId("layout").textContent = compact() ? "Show in full" : "Show as a table";
  made = 0;
  more(here);
  const all = itemsOf(state.view).length;
  const of = all === shown.length ? "" : ` of ${count(all)}`;
  const what = paired.has(state.view) ? "pairs" : "responses";
  const group = groups.named(state.group, state.value);
  byId("count").textContent = `${count(shown.length)}${of} ${what}${group && `, ${group}`}`;
  byId("pages").hidden = pages === 1;
  byId("place").textContent = `${count(start + 1)}–${count(start + here.length)} of ${
    count(shown.length)}`;
  for (const button of byId("pages").querySelectorAll("button")) {
    const there = page + Number(button.dataset.step);
    button.setAttribute("aria-disabled", there < 1 || there > pages);
  }
  showOpenAll();
}

// Whether each item is a line of a table until it is opened.
const compact = () => state.layout ? state.layout === "table" : itemsOf(state.view).length > FULL;

// The headings of the columns. A click on some of them sorts by their column.
function headings() {
  const title = facts.titles[state.metric];
  const asked = shown.slice(0, 9).some((item) => {
    const row = rowAt(item.places[0]);
    return row.question || (row.history || []).length;
  });
  const plain = (words) => element("span", {}, words);
  const sorting = (words, orders) => element("span",
    {"data-orders": Object.keys(orders).join(), title: "click to sort"},
    `${words} ${orders[state.sort] || ""}`.trim());
  const found = "worst claim, or the response";
  return [...["gate", "id", asked ? "question" : "response"].map(plain),
    ...(paired.has(state.view)
      ? [plain(title), sorting("change", {"": "↕", low: "↑", high: "↓"}), plain(found)]
      : [sorting(title, {"": "↑", high: "↓"}), judged ? sorting(found, {worst: "↑"}) : plain(found)])];
}

// What is shown if no item passes the filters: which filters these are, and a way out.
function nothing() {
  const group = groups.named(state.group, state.value);
  const range = [state.min && `from ${state.min}`, state.max && `to ${state.max}`].filter(Boolean);
  const filters = [state.text.trim() && `the search “${state.text.trim()}”`,
    state.show !== "any" && `“${KINDS[state.show][0]}”`,
    range.length && `${facts.titles[state.metric]} ${range.join(" ")}`, group].filter(Boolean);
  const all = element("button", {type: "reset", form: "controls"}, "Show all responses");
  return element("li", {class: "empty"}, element("p", {}, filters.length
    ? `No response passes ${filters.length > 1 ? "all of these filters" : "this filter"}: ${
      filters.join("; ")}.` : "There are no responses."), filters.length ? all : null);
}

// Cards are made when the end of the list comes into view. So a list of 10,000 opens as fast as one
// of 50.
let made = 0;
let waitingForEnd = null;
function more(here) {
  const opened = new Set(state.open.split(","));
  const until = Math.min(here.length, made + (state.size === "all" ? CHUNK : here.length));
  for (; made < until; made++) {
    const item = here[made];
    const line = compact() ? lineOf(item, state.metric, Number(state.threshold)) : null;
    const li = card(item, remember, line);
    byId("list").append(li);
    if (!line) dress(li, item);
    if (opened.has(item.key)) {
      setOpen(li.querySelector("details"), true);
    }
  }
  if (waitingForEnd) waitingForEnd.disconnect();
  if (made === here.length) return;
  waitingForEnd = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) more(here);
  }, {rootMargin: "800px"});
  waitingForEnd.observe(byId("list").lastChild);
}

// Adds the link and the buttons for labels to a response that is shown in full.
function dress(li, item) {
  li.querySelector(".top .id").replaceWith(link(item));
  label.add(li, item, relabelled);
}

// A link to this page with the response at the top and opened. In a table, the line has the id.
function link(item) {
  const {id} = rowAt(item.places[0]);
  const view = state.view === INITIAL.view ? {} : {view: state.view};
  return element("a", {class: compact() ? "link" : "id", title: "link to this response",
    href: `#${new URLSearchParams({...view, text: id, open: item.key, mine: state.mine})}`},
  compact() ? "link" : element("bdi", {}, id));
}

function relabelled() {
  state.mine = label.words();
  write(false);
  showControls();
  showNumbers();
}

function showOpenAll() {
  const all = [...document.querySelectorAll("#list details")];
  const every = all.length && all.every((one) => one.open);
  byId("open-all").textContent = every ? "Close all" : "Open all";
  showLegend();
}

// The legend explains only the signs that are on the screen.
function showLegend() {
  for (const one of byId("legend").children) {
    one.hidden = !document.querySelector(`#list ${one.dataset.of}`);
  }
}

// Precision and recall at the threshold, by the human labels: "above 0.50: precision 80 % (12 of
// 15), recall 75 %".
function precision(name) {
  const places = shown.flatMap((item) => item.places)
    .filter((place) => isLabelled(place) && scored(place, name));
  if (!places.length) return null;
  const taken = places.filter((place) => above(place, name, state));
  const right = taken.filter((place) => numbers[place][LABEL] === 1).length;
  const all = places.filter((place) => numbers[place][LABEL] === 1).length;
  const at = `above ${Number(state.threshold).toFixed(2)}: `;
  return element("p", {class: "precision"}, at + (taken.length
    ? `precision ${percent(right / taken.length)} (${count(right)} of ${count(taken.length)}), `
      + `recall ${all ? percent(right / all) : "–"}` : "none"));
}

function histogram(name) {
  const two = paired.has(state.view);
  const some = shown.map((item) => valueOf(item, name)).filter(known);
  const low = two ? -1 : 0;
  const width = (1 - low) / BINS;
  const binned = (values) => {
    const bins = new Array(BINS).fill(0);
    for (const value of values) {
      const bin = Math.floor((value - low) / width + 1e-9);
      bins[Math.max(0, Math.min(BINS - 1, bin))]++;
    }
    return bins;
  };
  const before = once(`${state.view} ${name}`,
    () => binned(itemsOf(state.view).map((item) => valueOf(item, name)).filter(known)));
  const now = binned(some);
  const highest = Math.max(1, ...before);
  const averaged = two ? some : shown.map((item) => countedAt(item.places[0], name)).filter(known);
  const mean = averaged.reduce((sum, value) => sum + value, 0) / averaged.length;
  const zeros = averaged.length - some.length;
  const words = averaged.length
    ? `${count(some.length)} ${two ? "change" : "score"}${some.length === 1 ? "" : "s"}${
      zeros ? ` and ${count(zeros)} without a claim, which count as 0` : ""
    }, mean ${(two ? signed : number)(mean)}` : "no score";
  const tall = (n) => n ? Math.max(1.5, 54 * n / highest) : 0;
  const svg = element("svg", {viewBox: "0 0 200 56", role: "img", preserveAspectRatio: "none",
    "aria-label": `${facts.titles[name]}: distribution, ${words}`});
  before.forEach((n, i) => {
    const ends = [low + i * width, low + (i + 1) * width].map((end) => Number(end.toFixed(3)));
    const bar = (height, class_) => element("rect",
      {x: i * 10 + 0.5, width: 9, y: 55 - height, height, class: class_});
    const whole = element("rect", {x: i * 10, width: 10, y: 0, height: 56, class: "hit"},
      element("title", {}, `${ends[0]} to ${ends[1]}: ${count(now[i])}`));
    // A value on the edge between two bars belongs to the bar on the right.
    const max = i === BINS - 1 ? ends[1] : Number((ends[1] - 0.001).toFixed(3));
    whole.addEventListener("click", () => update({metric: name, min: `${ends[0]}`, max: `${max}`}));
    svg.append(bar(tall(n), "all"), bar(tall(now[i]), "now"), whole);
  });
  svg.append(element("path", {d: "M0 55.5H200", class: "axis"}));
  if (!two) {
    svg.append(element("path", {d: `M${200 * Number(state.threshold)} 0V56`, class: "threshold"}));
  }
  return element("figure", {class: name === state.metric ? "chosen" : ""},
    element("figcaption", {}, element("b", {}, facts.titles[name]), element("span", {}, words)),
    svg,
    element("div", {class: "ends", "aria-hidden": "true"}, element("span", {}, two ? "−1" : "0"),
      two ? element("span", {}, "0") : null, element("span", {}, "1")),
    two ? null : precision(name));
}

function showAgreement() {
  const name = state.metric;
  const pairs = shown.flatMap((item) => item.places)
    .filter((place) => isLabelled(place) && scored(place, name))
    .map((place) => [scoreAt(place, name), numbers[place][LABEL]]);
  byId("agreement").replaceChildren(...(pairs.length
    ? agree.shown(pairs, name, Number(state.threshold),
      (threshold) => update({threshold: `${Math.round(1000 * threshold) / 1000}`}, false))
    : []));
}

function showGroups() {
  if (!groups.names.length) return;
  byId("groups").hidden = false;
  options("group", [["", "nothing"], ...groups.names.map((name) => [name, name])]);
  byId("grouped").replaceChildren(...(state.group
    ? [groups.table(state.group, state.value, (value) => update({value}))] : []));
}

function show() {
  shown = filtered(state);
  showControls();
  showGroups();
  showList();
  showNumbers();
}

function showNumbers() {
  byId("histograms").replaceChildren(...metrics.map(histogram));
  showAgreement();
}

// Shows the state that the URL contains.
function arrive() {
  read();
  show();
  if (state.group && !matchMedia("(max-width: 40rem)").matches) byId("groups").open = true;
  if (SELDOM.some((name) => state[name] !== INITIAL[name])) byId("filters").open = true;
  const opened = document.querySelector("#list details[open]");
  if (opened) opened.scrollIntoView({block: "center"});
}

// --- what the reader does -----------------------------------------------------------------------

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
byId("groups").addEventListener("change", (event) => update({group: event.target.value, value: ""}));
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  for (const name of TYPED) form.elements[name].value = "";
  update({...INITIAL, view: state.view, group: state.group, mine: state.mine, layout: state.layout});
});
byId("columns").addEventListener("click", ({target}) => {
  if (target.dataset.orders === undefined) return;
  const orders = target.dataset.orders.split(",");
  update({sort: orders[(orders.indexOf(state.sort) + 1) % orders.length]});
});
for (const link of document.querySelectorAll(".verdict a")) { // the reader's labels are kept
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const wanted = Object.fromEntries(new URLSearchParams(link.hash.slice(1)));
    update({...INITIAL, ...wanted, group: state.group, mine: state.mine, layout: state.layout});
  });
}
byId("pages").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button || button.getAttribute("aria-disabled") === "true") return;
  update({page: `${Number(state.page) + Number(button.dataset.step)}`});
  byId("count").focus({preventScroll: true});
  byId("count").scrollIntoView();
});
const itemOf = (key) => once(`item ${key}`, () => ({key, places: key.split("-").map(Number)}));
function setOpen(details, open) {
  const key = details.dataset.key;
  if (open && key) fill(details, itemOf(key));
  details.open = open;
}
byId("open-all").addEventListener("click", () => {
  const open = byId("open-all").textContent === "Open all";
  for (const details of document.querySelectorAll("#list details")) setOpen(details, open);
  showOpenAll();
});
byId("list").addEventListener("toggle", showOpenAll, true);
document.addEventListener("keydown", label.keys);
byId("layout").addEventListener("click", () => update({layout: compact() ? "full" : "table"}));
byId("save").addEventListener("click", () => label.save(shown.flatMap((item) => item.places)));
addEventListener("hashchange", arrive);

const claimed = numbers.some((_, place) => has(place, "claimed"));
byId("legend").append(...(claimed
  ? Object.entries(marks.STATES).slice(0, 3)
    .map(([words, state]) => ["claim", state, marks.SIGN[words], words])
  : Object.entries(MEANINGS).map(([state, words]) => ["asked", state, SIGNS[state], words])
).map(([kind, state, shown, words]) => element("span", {"data-of": `mark.${kind}.${state}`},
  element("mark", {class: `${kind} ${state}`}, shown), ` ${words}`)));
if (!facts.measured.every(Boolean)) {
  byId("legend").append(element("span", {"data-of": ".body"},
    `How often people agree with such findings was not measured for ${
      facts.measured.some(Boolean) ? "some systems" : "these models"}.`));
}
if (facts.series) {
  byId("runs").append(...runs.curves((system) => {
    const wanted = `pair-${Math.max(0, system - 1)}-${system || 1}`;
    update({view: paired.has(wanted) ? wanted : `${system}`});
    byId("count").focus({preventScroll: true});
    byId("count").scrollIntoView();
  }));
}
arrive();
})();

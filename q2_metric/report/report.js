"use strict";
// Shows the rows of the page: filter, sort, page, explain, compare.
// Texts reach the page as text nodes only (element() below), never as markup.
(() => {
const SIGNS = {supported: "✓", differs: "✗", open: "?"};
const MEANINGS = {
  supported: "supported by the knowledge",
  differs: "differs from the knowledge",
  open: "not answered by the knowledge, or undecided",
};
const WORST_FIRST = ["differs", "open", "supported"];
const SAME = 0.0005; // as in compare.py
const BINS = 20;
const JUDGED = {1: "entailment", 0.5: "neutral", 0: "contradiction"}; // of the whole response
const SIZES = ["25", "50", "100", "500"];
const NONE = "–";

const byId = (id) => document.getElementById(id);
const facts = JSON.parse(byId("facts").textContent);
const rows = JSON.parse(byId("rows").textContent);
const metrics = Object.keys(facts.titles).filter((name) => rows.some((row) => name in row));

// --- elements ---------------------------------------------------------------------------

function element(tag, attributes, ...children) {
  const made = tag === "svg" || tag === "rect" || tag === "title" || tag === "path"
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const text = (tag, class_, words) => element(tag, {class: `text ${class_}`, dir: "auto"}, words);
const known = (value) => typeof value === "number";
const number = (value) => known(value) ? value.toFixed(3) : NONE;
const signed = (value) => !known(value) ? NONE
  : Math.abs(value) < SAME ? "±0.000" : (value > 0 ? "+" : "−") + Math.abs(value).toFixed(3);
const letter = (place) => place < 26 ? String.fromCharCode(97 + place) : `s${place + 1}`;

// --- marks in texts -----------------------------------------------------------------------

// Places count code points, as in Python; strings here count UTF-16 units.
function units(whole) {
  if (!/[\ud800-\udbff]/.test(whole)) return (place) => place;
  const starts = [];
  for (let i = 0; i < whole.length; i += whole.codePointAt(i) > 0xffff ? 2 : 1) starts.push(i);
  starts.push(whole.length);
  return (place) => place < starts.length ? starts[place] : whole.length + 1;
}

// A mark of `piece` at `start`, or nothing where the text has something else there (as with
// resolved pronouns, where places are those of another text).
function markAt(whole, place, piece, rest) {
  if (!piece || !known(place)) return null;
  const start = units(whole)(place);
  return whole.startsWith(piece, start) ? {start, end: start + piece.length, ...rest} : null;
}

// The text cut where marks begin and end; each piece shows all the marks that cover it.
function marked(whole, marks) {
  const found = document.createDocumentFragment();
  const edges = [...new Set([0, whole.length, ...marks.flatMap((m) => [m.start, m.end])])];
  edges.sort((a, b) => a - b);
  for (let i = 0; i + 1 < edges.length; i++) {
    const [left, right] = [edges[i], edges[i + 1]];
    const over = marks.filter((mark) => mark.start < right && mark.end > left);
    const words = whole.slice(left, right);
    if (!over.length) {
      found.append(words);
      continue;
    }
    const state = WORST_FIRST.find((name) => over.some((mark) => mark.state === name));
    const classes = [...new Set(over.map((mark) => mark.kind)), state].filter(Boolean);
    const keys = over.map((mark) => mark.key).join(" ");
    found.append(element("mark", {class: classes.join(" "), "data-keys": keys}, words));
    for (const mark of over.filter((one) => one.end === right)) found.append(mark.sign());
  }
  return found;
}

function sign(state, key, words) {
  const name = `${words} ${key}: ${MEANINGS[state]}`;
  const shown = SIGNS[state] + key;
  return element("span", {class: `sign ${state}`, role: "img", "aria-label": name, title: name}, shown);
}

function tag(key, words) {
  return element("span", {class: "sign", role: "img", "aria-label": words, title: words}, key);
}

function responseMarks(row) {
  const marks = row.questions.map((question, i) => markAt(row.response, question.start, question.span, {
    kind: "asked", state: question.state, key: `${i + 1}`,
    sign: () => sign(question.state, i + 1, "question"),
  }));
  return marks.filter(Boolean);
}

function knowledgeMarks(row) {
  const marks = row.questions.map((question, i) => {
    const answer = question.knowledge_answer;
    // Scores of earlier versions do not say where the answer stands.
    const place = question.knowledge_start ?? firstPlace(row.knowledge, answer);
    return markAt(row.knowledge, place, answer, {
      kind: "asked", state: question.state, key: `${i + 1}`,
      sign: () => sign(question.state, i + 1, "answer to question"),
    });
  });
  (row.evidence || []).forEach((item, i) => {
    marks.push(markAt(row.knowledge, item.support_start, item.support, {
      kind: "support", key: letter(i),
      sign: () => tag(letter(i), `best support for sentence ${letter(i)}`),
    }));
  });
  return marks.filter(Boolean);
}

function firstPlace(whole, piece) {
  const unit = piece ? whole.indexOf(piece) : -1;
  return unit < 0 ? null : Array.from(whole.slice(0, unit)).length;
}

// --- one response -------------------------------------------------------------------------

function meter(value) {
  const filled = Math.max(0, Math.min(1, known(value) ? value : 0));
  return element("svg", {class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none",
    "aria-hidden": "true"}, element("rect", {width: 100, height: 4, class: "rest"}),
  element("rect", {width: 100 * filled, height: 4}));
}

function scoreLine(row, name) {
  return element("div", {class: "score"}, element("span", {class: "name"}, facts.titles[name]),
    element("b", {}, number(row[name])), meter(row[name]));
}

function scores(row) {
  const shown = metrics.filter((name) => name in row && name !== "q2_no_nli");
  return element("div", {class: "numbers"}, ...shown.map((name) => scoreLine(row, name)));
}

function badges(row) {
  const found = [];
  if (row.error) found.push("not scored");
  if (row.fallback) found.push("fallback");
  for (const name of metrics) {
    const decided = row[`${name}_consistent`];
    if (typeof decided === "boolean") {
      found.push(`${facts.titles[name]}: ${decided ? "consistent" : "inconsistent"}`);
    }
  }
  return found.map((words) => element("span", {class: "badge"}, words));
}

function response(row) {
  if (row.error) return text("p", "error", row.error);
  if (typeof row.response !== "string") {
    return element("p", {class: "absent"}, "The text of this response was not kept.");
  }
  return element("p", {class: "response text", dir: "auto"}, marked(row.response, responseMarks(row)));
}

function how(question) {
  const p = known(question.verdict_p) ? ` ${question.verdict_p.toFixed(2)}` : "";
  const judged = question.verdict ? `NLI: ${question.verdict}${p}` : "";
  const overlap = `token F1 ${number(question.f1)}`;
  return {
    equal: "The answers are equal.",
    no_answer: "The knowledge has no answer.",
    nli: `${judged} (${overlap}).`,
    token_f1: judged ? `${judged}, so ${overlap}.` : `${overlap}.`,
  }[question.how] || question.how || "";
}

function questions(row) {
  const list = row.questions.map((question, i) => element("li", {"data-key": `${i + 1}`},
    element("div", {class: "asking"}, sign(question.state, i + 1, "question"),
      text("span", "", question.question), element("b", {class: "n"}, number(question.score))),
    element("dl", {},
      element("div", {}, element("dt", {}, "response says"), text("dd", "", question.response_answer ?? NONE)),
      element("div", {}, element("dt", {}, "knowledge says"), text("dd", "", question.knowledge_answer ?? NONE))),
    element("p", {class: "how"}, how(question))));
  return element("ol", {class: "questions"}, ...list);
}

function sentences(row) {
  const list = row.evidence.map((item, i) => element("li", {"data-key": letter(i)},
    element("div", {class: "asking"}, element("span", {class: "sign"}, letter(i)),
      text("span", "", item.sentence), element("b", {class: "n"}, number(item.score))),
    item.support === null || item.support === undefined ? null
      : element("p", {class: "how"}, "Best support ", element("span", {class: "n"}, number(item.support_score)),
        ": ", element("bdi", {class: "text"}, item.support))));
  return element("ol", {class: "sentences"}, ...list);
}

function part(title, ...children) {
  return element("section", {class: "part"}, element("h3", {}, title), ...children);
}

function history(row) {
  if (!row.history || !row.history.length) return null;
  return part("Dialogue before", element("ol", {class: "turns"}, ...row.history.map((turn) => text("li", "", turn))));
}

function fellBack(row) {
  const label = JUDGED[row.q2_no_nli]; // no calibration changes this one
  return `: end-to-end NLI of the whole response${label ? `, ${label}` : ""}`;
}

function explained(row) {
  if (row.error) return null;
  const found = element("div", {class: "explained"});
  const left = element("div", {}), right = element("div", {});
  left.append(typeof row.knowledge === "string"
    ? part("Knowledge", element("p", {class: "knowledge text", dir: "auto"}, marked(row.knowledge, knowledgeMarks(row))))
    : part("Knowledge", element("p", {class: "absent"}, "Not kept.")));
  if ("q2" in row) {
    const plain = `Q² ${number(row.q2)}, by token F1 alone ${number(row.q2_no_nli)}`;
    right.append(part("Questions", ...row.questions.length
      ? ["q2_no_nli" in row ? element("p", {class: "how"}, plain) : null, questions(row)]
      : [element("p", {}, `No valid question${row.fallback ? fellBack(row) : ""}.`)]));
  }
  if (row.evidence && row.evidence.length) right.append(part("Sentences", sentences(row)));
  found.append(left, right);
  light(found);
  return found;
}

// Pointing at a question or sentence lights its marks.
function light(found) {
  for (const item of found.querySelectorAll("li[data-key]")) {
    const card = () => found.closest(".side") || found.closest("li.card");
    const set = (on) => {
      for (const mark of card().querySelectorAll("mark")) {
        if (mark.dataset.keys.split(" ").includes(item.dataset.key)) mark.classList.toggle("lit", on);
      }
    };
    item.addEventListener("pointerenter", () => set(true));
    item.addEventListener("pointerleave", () => set(false));
  }
}

// --- cards: one response, or two of the same turn -------------------------------------------

const system = (row) => element("bdi", {class: "system"}, facts.systems[row.system]);
const several = facts.systems && facts.systems.length > 1;

function heading(row) {
  const n = row.questions.length;
  return element("div", {class: "heading"}, facts.alone ? null : element("bdi", {class: "id"}, row.id),
    several ? system(row) : null,
    "q2" in row && !row.error ? element("span", {}, `${n} ${n === 1 ? "question" : "questions"}`) : null,
    ...badges(row));
}

function changes(item) {
  const list = metrics.filter((name) => name !== "q2_no_nli" && item.rows.every((row) => name in row));
  return element("div", {class: "numbers"}, element("bdi", {class: "id"}, item.rows[0].id), ...list.map((name) => {
    const value = change(item, name);
    const way = !known(value) || Math.abs(value) < SAME ? "" : value > 0 ? "up" : "down";
    return element("div", {class: `score ${way}`}, element("span", {class: "name"}, facts.titles[name]),
      element("b", {}, (way === "up" ? "▲ " : way === "down" ? "▼ " : "") + signed(value)));
  }));
}

function side(row, ...children) {
  const numbers = metrics.filter((name) => name in row && name !== "q2_no_nli")
    .map((name) => `${facts.titles[name]} ${number(row[name])}`).join("  ");
  return element("div", {class: "side"}, element("div", {class: "heading"}, system(row),
    element("span", {class: "n"}, numbers), ...badges(row)), response(row), ...children);
}

function card(item) {
  const two = item.rows.length === 2;
  const [first] = item.rows;
  const summary = element("summary", {}, two ? changes(item) : scores(first),
    two ? element("div", {class: "said sides"}, ...item.rows.map((row) => side(row)))
      : element("div", {class: "said"}, response(first), heading(first)));
  const details = element("details", {"data-key": item.key}, summary);
  details.addEventListener("toggle", () => {
    fill(details, item);
    remember(details);
  });
  return element("li", {class: "card"}, details);
}

function fill(details, item) {
  if (details.querySelector(".body")) return;
  const two = item.rows.length === 2;
  const [first, second] = item.rows;
  const turns = (row) => JSON.stringify(row.history || []);
  const body = element("div", {class: "body"}, history(first));
  if (!two) body.append(explained(first) || "");
  else {
    if (turns(first) !== turns(second)) body.append(history(second) || "");
    body.append(element("div", {class: "sides"}, ...item.rows.map((row) =>
      element("div", {class: "side"}, element("div", {class: "heading"}, system(row)), explained(row)))));
  }
  details.append(body);
}

// --- one response alone ---------------------------------------------------------------------

for (const row of rows) row.questions = row.questions || [];
byId("browser").hidden = false;
let remember = () => {};
if (facts.alone) {
  const made = card({key: "0", rows: [rows[0]]});
  byId("list").append(made);
  made.firstChild.open = true;
  return;
}

// --- items, filters -------------------------------------------------------------------------

const single = rows.map((row, i) => ({key: `${i}`, rows: [row]}));
const paired = new Map(facts.pairs.map((one) => [`pair-${one.system}`,
  one.rows.map(([a, b]) => ({key: `${a}-${b}`, rows: [rows[a], rows[b]]}))]));

function change(item, metric) {
  const [a, b] = item.rows.map((row) => row[metric]);
  return known(a) && known(b) ? b - a : null;
}
const valueOf = (item, metric) => item.rows.length === 2 ? change(item, metric) : item.rows[0][metric];

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
  differs: ["with an answer that differs", anyRow((row) => row.questions.some((q) => q.state === "differs"))],
  unanswered: ["with an unanswered question", anyRow((row) => row.questions.some((q) => q.how === "no_answer"))],
  supported: ["with every answer supported", anyRow((row) =>
    row.questions.length > 0 && row.questions.every((q) => q.state === "supported"))],
  fallback: ["without a valid question", anyRow((row) =>
    !row.error && "q2" in row && row.questions.length === 0)],
  error: ["not scored", anyRow((row) => Boolean(row.error))],
};

// What depends on all items of a view is counted once.
const counted = new Map();
function once(key, count) {
  if (!counted.has(key)) counted.set(key, count());
  return counted.get(key);
}

function searchable(row) {
  if (row.searchable === undefined) {
    const asked = row.questions.flatMap((q) => [q.question, q.response_answer, q.knowledge_answer]);
    row.searchable = [row.id, row.response, row.knowledge, ...(row.history || []), row.error, ...asked]
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
    return kind(item, state.metric) && (!wanted || item.rows.some((row) => searchable(row).includes(wanted)));
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
  view: paired.size ? [...paired.keys()][0] : "all", show: "any", metric: metrics[0] || "", text: "",
  min: "", max: "", sort: "", size: SIZES[0], page: "1", open: "",
};
// The first is what an empty `sort` stands for.
const sorts = (view) => paired.has(view)
  ? {change: "largest change", high: "largest gain", low: "largest loss", order: "as in the file"}
  : {order: "as in the file", low: "lowest first", high: "highest first"};
let state = {...INITIAL};
let shown = [];

const VIEWS = [["all", "all systems"], ...facts.systems.map((name, i) => [`${i}`, name])];
for (const one of facts.pairs) VIEWS.push([`pair-${one.system}`, `${facts.systems[one.system]} against ${facts.systems[0]}`]);

function read() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  state = {...INITIAL, ...Object.fromEntries(Object.entries(given).filter(([name]) => name in INITIAL))};
  const allowed = {view: VIEWS.map(([value]) => value), show: Object.keys(KINDS), metric: metrics,
    sort: Object.keys(sorts(state.view)), size: SIZES};
  for (const [name, values] of Object.entries(allowed)) {
    if (!values.includes(state[name])) state[name] = INITIAL[name];
  }
  for (const name of ["min", "max"]) if (!Number.isFinite(Number(state[name]))) state[name] = "";
}

function write(newEntry) {
  const changed = Object.entries(state).filter(([name, value]) => value !== INITIAL[name]);
  const hash = `#${new URLSearchParams(changed)}`;
  if ((location.hash || "#") !== hash) window.history[newEntry ? "pushState" : "replaceState"](null, "", hash);
}

function update(changes_, newEntry = true) {
  const viewed = state.view;
  state = {...state, page: "1", open: "", ...changes_};
  if (state.view !== viewed) { // a range of scores is none of differences
    if (paired.has(viewed) !== paired.has(state.view)) {
      Object.assign(state, {min: "", max: "", sort: ""});
      if (["better", "worse"].includes(state.show)) state.show = "any";
    }
  }
  show();
  write(newEntry);
}

let writing = 0;
remember = (details) => {
  if (!details.isConnected) return;
  const open = new Set(state.open.split(",").filter(Boolean));
  open[details.open ? "add" : "delete"](details.dataset.key);
  state.open = [...open].join(",");
  clearTimeout(writing); // once, where many open together
  writing = setTimeout(() => write(false), 50);
};

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
  const asks = metrics.includes("q2");
  const kinds = Object.keys(KINDS).filter((name) => two || !["better", "worse"].includes(name))
    .filter((name) => asks || !["differs", "unanswered", "supported", "fallback"].includes(name));
  options("show", kinds.map((name) => {
    const count = once(`${state.view} ${state.metric} ${name}`,
      () => items.filter((item) => KINDS[name][1](item, state.metric)).length);
    return [name, `${KINDS[name][0]} (${count.toLocaleString("en")})`];
  }));
  options("metric", metrics.map((name) => [name, facts.titles[name] + (two ? ", difference" : "")]));
  options("sort", Object.entries(sorts(state.view)).map(([value, words], i) => [i ? value : "", words]));
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
  const part_ = shown.slice(start, start + size);
  byId("list").replaceChildren(...part_.map(card));
  const opened = new Set(state.open.split(","));
  for (const [i, item] of part_.entries()) {
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
  byId("place").textContent = `${start + 1}–${start + part_.length} of ${shown.length.toLocaleString("en")}`;
  for (const button of byId("pages").querySelectorAll("button")) {
    const there = page + Number(button.dataset.step);
    button.setAttribute("aria-disabled", there < 1 || there > pages);
  }
  showOpenAll();
}

function showOpenAll() {
  const all = [...document.querySelectorAll("#list details")];
  byId("open-all").textContent = all.length && all.every((one) => one.open) ? "Close all" : "Open all";
}

function histogram(name) {
  const two = paired.has(state.view);
  const some = shown.map((item) => valueOf(item, name)).filter(known);
  const low = two ? -1 : 0;
  const width = (1 - low) / BINS;
  const count = (values) => {
    const bins = new Array(BINS).fill(0);
    for (const value of values) bins[Math.max(0, Math.min(BINS - 1, Math.floor((value - low) / width + 1e-9)))]++;
    return bins;
  };
  const before = once(`${state.view} ${name}`,
    () => count(itemsOf(state.view).map((item) => valueOf(item, name)).filter(known)));
  const now = count(some);
  const highest = Math.max(1, ...before);
  const mean = some.reduce((sum, value) => sum + value, 0) / some.length;
  const words = some.length ? `mean ${(two ? signed : number)(mean)} of ${some.length.toLocaleString("en")}` : "no score";
  const tall = (n) => n ? Math.max(1.5, 54 * n / highest) : 0;
  const svg = element("svg", {viewBox: "0 0 200 56", role: "img", preserveAspectRatio: "none",
    "aria-label": `${facts.titles[name]}: distribution, ${words}`});
  before.forEach((n, i) => {
    const ends = [low + i * width, low + (i + 1) * width].map((end) => Number(end.toFixed(3)));
    const bar = (height, class_) => element("rect", {x: i * 10 + 0.5, width: 9, y: 55 - height, height, class: class_});
    const whole = element("rect", {x: i * 10, width: 10, y: 0, height: 56, class: "hit"},
      element("title", {}, `${ends[0]} to ${ends[1]}: ${now[i].toLocaleString("en")}`));
    // A value on the edge belongs to the bar on its right.
    const max = i === BINS - 1 ? ends[1] : Number((ends[1] - 0.001).toFixed(3));
    whole.addEventListener("click", () => update({metric: name, min: `${ends[0]}`, max: `${max}`}));
    svg.append(bar(tall(n), "all"), bar(tall(now[i]), "now"), whole);
  });
  svg.append(element("path", {d: "M0 55.5H200", class: "axis"}));
  return element("figure", {class: name === state.metric ? "chosen" : ""},
    element("figcaption", {}, element("b", {}, facts.titles[name]), element("span", {}, words)), svg,
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

if (metrics.includes("q2")) {
  byId("legend").append(...Object.entries(MEANINGS).map(([name, words]) => element("span", {},
    element("mark", {class: `asked ${name}`}, SIGNS[name]), ` ${words}`)));
}
read();
show();
const opened = document.querySelector("#list details[open]");
if (opened) opened.scrollIntoView({block: "center"});
})();

"use strict";
// Makes the explanation of a response, or of two side by side, out of the page's rows.
// Texts reach the page as text nodes only (element() below), never as markup.
const explain = (() => {
const SIGNS = {supported: "✓", differs: "✗", open: "?"};
const MEANINGS = {
  supported: "supported by the knowledge",
  differs: "differs from the knowledge",
  open: "not answered by the knowledge, or undecided",
};
const WORST_FIRST = ["differs", "open", "supported"];
const SAME = 0.0005; // as in compare.py
const JUDGED = {1: "entailment", 0.5: "neutral", 0: "contradiction"}; // of the whole response
const REASONS = {no_claim: "claims nothing that could be checked"}; // why there is no score
const NONE = "–";

const byId = (id) => document.getElementById(id);
const facts = JSON.parse(byId("facts").textContent);
const rows = JSON.parse(byId("rows").textContent);
for (const row of rows) row.questions = row.questions || [];
const metrics = Object.keys(facts.titles).filter((name) => rows.some((row) => name in row));
// A metric's further columns stand beside its own where there is room for all.
const further = new Set(facts.metrics.flatMap((one) => one.columns.slice(1)));
const main = metrics.filter((name) => !further.has(name));
const asking = facts.metrics.filter((one) => one.details === "questions")
  .map((one) => one.columns).filter(([name]) => metrics.includes(name));
const asked = (row) => asking.some(([name]) => name in row);

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
const div = (class_, ...children) => element("div", {class: class_}, ...children);
const span = (class_, words) => element("span", {class: class_}, words);
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
  if (!piece || !known(place) || place < 0) return null;
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
  return element("span", {class: `sign ${state}`, role: "img", "aria-label": name, title: name},
    shown);
}

function tag(key, words) {
  return element("span", {class: "sign", role: "img", "aria-label": words, title: words}, key);
}

function responseMarks(row) {
  const marks = row.questions.map((question, i) => markAt(
    row.response, question.start, question.span, {
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
  return div("score", span("name", facts.titles[name]),
    element("b", {}, number(row[name])), meter(row[name]));
}

function scores(row) {
  const shown = main.filter((name) => name in row);
  return div("numbers", ...shown.map((name) => scoreLine(row, name)));
}

function badges(row) {
  const found = [];
  if (row.error) found.push("not scored");
  if (row.fallback) found.push("fallback");
  if (row.reason) found.push(REASONS[row.reason] || row.reason);
  for (const name of metrics) {
    const decided = row[`${name}_consistent`];
    if (typeof decided === "boolean") {
      found.push(`${facts.titles[name]}: ${decided ? "consistent" : "inconsistent"}`);
    }
  }
  return found.map((words) => span("badge", words));
}

function response(row) {
  if (row.error && typeof row.response !== "string") return null; // the error says why
  if (typeof row.response !== "string") {
    return element("p", {class: "absent"}, "The text of this response was not kept.");
  }
  return element("p", {class: "response text", dir: "auto"},
    marked(row.response, responseMarks(row)));
}

const failure = (row) => row.error ? text("p", "error", row.error) : null;

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

function answer(title, words) {
  return element("div", {}, element("dt", {}, title), text("dd", "", words ?? NONE));
}

function questions(row) {
  const list = row.questions.map((question, i) => element("li", {"data-key": `${i + 1}`},
    div("asking", sign(question.state, i + 1, "question"),
      text("span", "", question.question), element("b", {class: "n"}, number(question.score))),
    element("dl", {},
      answer("response says", question.response_answer),
      answer("knowledge says", question.knowledge_answer)),
    element("p", {class: "how"}, how(question))));
  return element("ol", {class: "questions"}, ...list);
}

function sentences(row) {
  const list = row.evidence.map((item, i) => element("li", {"data-key": letter(i)},
    div("asking", span("sign", letter(i)),
      text("span", "", item.sentence), element("b", {class: "n"}, number(item.score))),
    item.support === null || item.support === undefined ? null
      : element("p", {class: "how"}, "Best support ", span("n", number(item.support_score)),
        ": ", element("bdi", {class: "text"}, item.support))));
  return element("ol", {class: "sentences"}, ...list);
}

// What a combined score rests on: each number, and how far it moves the score's logit.
function pulls(row) {
  const list = row.parts.map((item) => element("li", {},
    div("asking", span("sign", item.pull < 0 ? "▼" : "▲"), text("span", "", item.name),
      element("b", {class: "n"}, number(item.value))),
    element("p", {class: "how"}, `moves the score by ${signed(item.pull)}`)));
  return element("ol", {class: "sentences"}, ...list);
}

function part(title, ...children) {
  return element("section", {class: "part"}, element("h3", {}, title), ...children);
}

function history(row) {
  if (!row.history || !row.history.length) return null;
  const turns = row.history.map((turn) => text("li", "", turn));
  return part("Dialogue before", element("ol", {class: "turns"}, ...turns));
}

function fellBack(row, [, further]) {
  const label = JUDGED[row[further]]; // no calibration changes this one
  return `: end-to-end NLI of the whole response${label ? `, ${label}` : ""}`;
}

function explained(row) {
  if (row.error && typeof row.knowledge !== "string") return null;
  const found = div("explained");
  const left = element("div", {}), right = element("div", {});
  left.append(typeof row.knowledge === "string"
    ? part("Knowledge", element("p", {class: "knowledge text", dir: "auto"},
      marked(row.knowledge, knowledgeMarks(row))))
    : part("Knowledge", element("p", {class: "absent"}, "Not kept.")));
  for (const columns of asking.filter(([name]) => name in row)) {
    const there = columns.filter((name) => name in row);
    const all = there.map((name) => `${facts.titles[name]} ${number(row[name])}`).join(", ");
    right.append(part("Questions", ...row.questions.length
      ? [there.length > 1 ? element("p", {class: "how"}, all) : null, questions(row)]
      : [element("p", {}, `No valid question${row.fallback ? fellBack(row, columns) : ""}.`)]));
  }
  if (row.evidence && row.evidence.length) right.append(part("Sentences", sentences(row)));
  if (row.parts && row.parts.length) right.append(part("What the score rests on", pulls(row)));
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
        const keys = mark.dataset.keys.split(" ");
        if (keys.includes(item.dataset.key)) mark.classList.toggle("lit", on);
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
  return div("heading", facts.alone ? null : element("bdi", {class: "id"}, row.id),
    several ? system(row) : null,
    asked(row) && !row.error ? span("", `${n} ${n === 1 ? "question" : "questions"}`) : null,
    ...badges(row));
}

function change(item, metric) {
  const [a, b] = item.rows.map((row) => row[metric]);
  return known(a) && known(b) ? b - a : null;
}

function changes(item) {
  const list = main.filter((name) => item.rows.every((row) => name in row));
  const id = element("bdi", {class: "id"}, item.rows[0].id);
  return div("numbers", id, ...list.map((name) => {
    const value = change(item, name);
    const way = !known(value) || Math.abs(value) < SAME ? "" : value > 0 ? "up" : "down";
    return div(`score ${way}`, span("name", facts.titles[name]),
      element("b", {}, (way === "up" ? "▲ " : way === "down" ? "▼ " : "") + signed(value)));
  }));
}

function side(row) {
  const numbers = main.filter((name) => name in row)
    .map((name) => `${facts.titles[name]} ${number(row[name])}`).join("  ");
  return div("side", div("heading", system(row),
    span("n", numbers), ...badges(row)), failure(row), response(row));
}

// A card of an item, {key, rows}; `toggled` is told when it opens or closes.
function card(item, toggled) {
  const two = item.rows.length === 2;
  const [first] = item.rows;
  const summary = element("summary", {}, two ? changes(item) : scores(first),
    two ? div("said sides", ...item.rows.map((row) => side(row)))
      : div("said", failure(first), response(first), heading(first)));
  const details = element("details", {"data-key": item.key}, summary);
  details.addEventListener("toggle", () => {
    fill(details, item);
    toggled(details);
  });
  return element("li", {class: "card"}, details);
}

function fill(details, item) {
  if (details.querySelector(".body")) return;
  const two = item.rows.length === 2;
  const [first, second] = item.rows;
  const turns = (row) => JSON.stringify(row.history || []);
  const body = div("body", history(first));
  if (!two) body.append(explained(first) || "");
  else {
    if (turns(first) !== turns(second)) body.append(history(second) || "");
    body.append(div("sides", ...item.rows.map((row) =>
      div("side", div("heading", system(row)), explained(row)))));
  }
  details.append(body);
}

byId("browser").hidden = false;
if (facts.alone) {
  const made = card({key: "0", rows}, () => {});
  byId("list").append(made);
  made.firstChild.open = true;
}
return {
  MEANINGS, SAME, SIGNS, asked, asking, byId, card, change, element, facts, fill, known, metrics,
  number, rows, several, signed,
};
})();

"use strict";
// Shows a response, or two responses side by side, with the evidence of their scores.
const explain = (() => {
const {
  SIGN, STATES, element, known, laidOut, letter, linesOf, marked, ofKnowledge, ofResponse, sign,
  units,
} = marks;
const SAME = 0.0005; // as in compare.py
const NONE = "–";
const SHORT = 60; // longest value (in characters) of another column that is shown beside the id

const byId = (id) => document.getElementById(id);
const facts = JSON.parse(byId("facts").textContent);
const {signs: SIGNS, meanings: MEANINGS, dropped: DROPPED, no_support: NO_SUPPORT} = facts.words;

// --- rows: each line is [numbers, row]; the row is parsed when it is shown ------------------

const lines = byId("rows").textContent.split("\n").filter((line) => line.startsWith("[["))
  .map((line) => line.endsWith(",") ? line.slice(0, -1) : line);
const numbers = lines.map((line) => JSON.parse(line.slice(1, line.indexOf("]") + 1)));
const columns = Object.keys(facts.titles);
const read = new Map();
function rowAt(place) {
  if (!read.has(place)) {
    const row = JSON.parse(lines[place])[1];
    row.questions = row.questions || [];
    for (const item of row.claims || []) item.state = STATES[item.verdict];
    row.prefix = "";
    read.set(place, row);
  }
  return read.get(place);
}
const FIRST = 4; // index of the first score in a row's numbers (page.py)
const scoreAt = (place, name) => numbers[place][FIRST + columns.indexOf(name)];
// The number that counts in the mean, as in scoring/outcome.py.
const SILENT = 512; // as in page.py
function countedAt(place, name) {
  const score = scoreAt(place, name);
  const [system, flags] = numbers[place];
  return !known(score) && flags & SILENT && facts.zero[system].includes(name) ? 0 : score;
}

const metrics = columns;
// Score columns besides the main column of their metric, such as "Q² without NLI". They are shown
// only in some places.
const further = new Set(facts.metrics.flatMap((one) => one.columns.slice(1)));
const main = metrics.filter((name) => !further.has(name));
const asking = facts.metrics.filter((one) => one.details === "questions")
  .map((one) => one.columns).filter(([name]) => metrics.includes(name));

// Metrics whose evidence is of another kind: a list of items that say in words what they are.
const ofOthers = facts.metrics.filter((one) => one.listed);

const text = (tag, class_, words) => element(tag, {class: `text ${class_}`, dir: "auto"}, words);
const div = (class_, ...children) => element("div", {class: class_}, ...children);
const span = (class_, words) => element("span", {class: class_}, words);
const number = (value) => known(value) ? value.toFixed(3) : NONE;
const percent = (share) => `${Math.round(100 * share)} %`;
const signed = (value) => !known(value) ? NONE
  : Math.abs(value) < SAME ? "±0.000" : (value > 0 ? "+" : "−") + Math.abs(value).toFixed(3);

// --- what a finding says ----------------------------------------------------------------------

// How often people called a response with such a finding supported. null if that was not measured.
function agreed(row, item) {
  const share = facts.measured[row.system] && facts.findings[item.kind];
  return share ? `${Math.round(100 * share[0])} of 100 such findings were judged supported` : null;
}

function chance(row, item) {
  const words = agreed(row, item);
  return words ? span("chance", words) : null;
}

function compared(question) {
  const p = known(question.verdict_p) ? ` ${question.verdict_p.toFixed(2)}` : "";
  const judged = question.verdict ? `${question.verdict}${p}` : "";
  const overlap = `word overlap ${known(question.f1) ? question.f1.toFixed(2) : NONE}`;
  const counts = question.score > 0 && question.score < 1
    ? `, counts ${question.score.toFixed(2)}` : "";
  return {
    equal: `equal${counts}`,
    no_answer: `no answer${counts}`,
    contradicted: "contradicted",
    nli: judged,
    token_f1: judged ? `${judged}, ${overlap}` : overlap,
  }[question.how] || question.how || "";
}

function signOf(row, question, i, words) {
  const key = `${row.prefix}${i + 1}`;
  const name = [`${words} ${key}: ${MEANINGS[question.state]}`, compared(question),
    agreed(row, question)].filter(Boolean).join(", ");
  return sign(question.state, SIGNS[question.state] + key, name);
}

const supports = (item) => known(item.passage_support) && item.passage_support >= NO_SUPPORT;

// --- one response -------------------------------------------------------------------------

function meter(value) {
  const filled = Math.max(0, Math.min(1, known(value) ? value : 0));
  return element("svg", {class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none",
    "aria-hidden": "true"}, element("rect", {width: 100, height: 4, class: "rest"}),
  element("rect", {width: 100 * filled, height: 4}));
}

function scoreLine(row, name) {
  return element("div", {class: "score", title: facts.glosses[name]},
    span("name", facts.titles[name]), element("b", {}, number(row[name])), meter(row[name]));
}

function scores(row) {
  const shown = main.filter((name) => name in row);
  return div("numbers", ...shown.map((name) => scoreLine(row, name)));
}

function badges(row) {
  const found = [];
  if (row.error) found.push("not scored");
  if (row.fallback) found.push("judged as a whole (fallback)");
  const why = facts.words.reasons[row.reason] || row.reason;
  const said = (row.plain || []).some((one) => one.toLowerCase() === `${why}.`);
  if (row.reason && !said) found.push(why);
  if (typeof row.label === "boolean") {
    found.push(`people: ${row.label ? "supported" : "not supported"}`);
  }
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
    return element("p", {class: "absent"}, "The text of this response was not saved.");
  }
  return element("div", {class: "response text", dir: "auto"},
    laidOut(row.response, ofResponse(row, signOf, tipOf)));
}

// The verdict on a claim in words: what was decided, by which passage, and whether the claim cites
// a supporting passage.
function tipOf(item) {
  const where = known(item.passage_number) ? `passage ${item.passage_number}` : "the knowledge";
  const found = {supported: `supported by ${where}`, contradicted: `contradicted by ${where}`,
    "not found": `not found; nearest in ${where}`}[item.verdict] || item.verdict;
  const said = item.passage ? `${found}: ${item.passage}` : found;
  const cited = CITED[item.citation];
  return cited ? `${said} (${cited})` : said;
}
const CITED = {right: "cites a passage that supports it",
  "wrong passage": "cites a passage that does not support it",
  unsupported: "cites a passage, but no passage supports it"};

// The question that the response answers, or the last turn before the response.
function asks(row) {
  const words = row.question || (row.history || []).at(-1);
  return words ? text("p", "question", words) : null;
}

const inWords = (row) => row.plain && row.plain.length && !row.error
  ? element("ul", {class: "plain"}, ...row.plain.map((words) => text("li", "", words))) : null;

const failure = (row) => row.error ? text("p", "error", row.error) : null;

function answer(title, words) {
  return element("div", {}, element("dt", {}, title), text("dd", "", words ?? NONE));
}

function how(row, item, words) {
  return element("p", {class: "how"}, element("span", {}, words), chance(row, item));
}

function questions(row) {
  const list = row.questions.map((question, i) => element("li",
    {"data-key": `${row.prefix}${i + 1}`},
    div("asking", signOf(row, question, i, "question"),
      text("span", "", question.question), element("b", {class: "n"}, number(question.score))),
    element("dl", {},
      answer("response says", question.response_answer),
      answer("knowledge says", question.knowledge_answer)),
    how(row, question, compared(question))));
  return element("ol", {class: "questions"}, ...list);
}

// The questions that were rejected, and the words of the response that no question asks about.
function notAsked(row) {
  const list = (row.dropped || []).map((one) => {
    const reason = DROPPED[one.reason] || one.reason;
    const other = one.answer ? `${reason} (its answer: ${one.answer})` : reason;
    return element("li", {}, text("span", "", one.question), text("p", "how", other));
  });
  const words = [...new Set((row.unasked || []).map(([, word]) => word))].join(", ");
  if (words) list.push(element("li", {}, text("span", "", `Words that no question asks about: ${words}`)));
  return list.length ? part("Not asked", element("ul", {class: "dropped"}, ...list)) : null;
}

// Whether the knowledge is a single sentence. Then the sentence is not shown again as support.
const only = (row) => typeof row.knowledge === "string" && row.claims.every((item) =>
  !item.passage || item.passage.trim() === row.knowledge.trim());

function support(row, item) {
  if (!known(item.passage_support) || item.verdict === "contradicted") return null;
  const quoted = () => element("bdi", {class: "text"}, item.passage);
  if (supports(item)) {
    return only(row) ? null : element("p", {class: "how"},
      "Support ", span("n", number(item.passage_support)), ": ", quoted());
  }
  const none = element("p", {class: "how none"}, item.support >= NO_SUPPORT
    ? "Supported by several sentences together. " : "No support found. ");
  if (only(row)) return none;
  const more = element("button", {type: "button", class: "more"}, "Show the nearest sentence");
  more.addEventListener("click", () => more.replaceWith(
    element("span", {}, "Nearest ", span("n", number(item.passage_support)), ": ", quoted())));
  none.append(more);
  return none;
}

function sentences(row) {
  const list = row.claims.map((item, i) => {
    const key = row.prefix + letter(i);
    const name = `claim ${key}: ${item.verdict}`;
    const against = item.against && element("p", {class: "how"}, "Contradicted by: ",
      element("bdi", {class: "text"},
        Array.from(row.knowledge).slice(...item.against).join("")));
    const more = [CITED[item.citation] ? element("p", {class: "how"},
      `[${item.cites.join(", ")}] ${CITED[item.citation]}`) : null,
    support(row, item), only(row) ? null : against,
    agreed(row, item) ? how(row, item, "") : null].filter(Boolean);
    const line = div("asking", sign(item.state, SIGN[item.verdict] + key, name),
      text("span", "", item.text), element("b", {class: "n"}, number(item.support)));
    if (item.verdict === "supported" && more.length) line.append(unfolds(more, key));
    return element("li", {"data-key": key}, line, ...more);
  });
  return element("ol", {class: "sentences"}, ...list);
}

// A button that shows the details of a claim. A supported claim takes one line until then.
function unfolds(more, key) {
  for (const one of more) one.hidden = true;
  const button = element("button", {type: "button", class: "more", "aria-expanded": "false",
    "aria-label": `why claim ${key} is supported`}, "why");
  button.addEventListener("click", () => {
    for (const one of more) one.hidden = !one.hidden;
    button.setAttribute("aria-expanded", `${!more[0].hidden}`);
  });
  return button;
}

// The inputs of a combined score, and in words how much each raises or lowers the score.
function pulls(row) {
  const list = row.parts.map((item) => element("li", {},
    div("asking", span("sign", item.contribution < 0 ? "▼" : "▲"), element("span", {},
      `${item.title}: `, element("span", {class: "chance"}, item.plain)))));
  return element("ol", {class: "sentences"}, ...list);
}

function part(title, ...children) {
  return element("section", {class: "part"}, element("h3", {}, title), ...children);
}

function history(row) {
  if (!row.history || row.history.length + Boolean(row.question) < 2) return null; // shown above
  const turns = row.history.map((turn) => text("li", "", turn));
  return part("Earlier turns", element("ol", {class: "turns"}, ...turns));
}

// The knowledge. It stays in view beside the findings.
function knowledge(...of) {
  const [row] = of;
  if (typeof row.knowledge !== "string") {
    return div("beside", part("Knowledge", element("p", {class: "absent"}, "The text of the knowledge was not saved.")));
  }
  const list = of.flatMap((one) => ofKnowledge(one, signOf, supports));
  const shown = element("ol", {class: "knowledge"}, ...numbered(row, list));
  return element("div",
    {class: "beside", tabindex: "0", role: "group", "aria-label": "Knowledge"},
    part("Knowledge", shown));
}

// The numbered passages of the knowledge. If it is a single text, its lines that are not blank.
// Verdicts use the same numbers.
function numbered(row, list) {
  const whole = row.knowledge;
  const at = units(whole);
  const listed = (row.passages || []).map((one) => ({start: at(one.start),
    words: whole.slice(at(one.start), at(one.end)), id: one.id}));
  const lines = listed.length ? listed : linesOf(whole).filter((line) => line.words.trim());
  return lines.map(({words, start}, i) => {
    const end = start + words.length;
    const here = list.filter((mark) => mark.start < end && mark.end > start)
      .map((mark) => ({...mark, start: Math.max(0, mark.start - start),
        end: Math.min(end, mark.end) - start, sign: mark.end <= end ? mark.sign : null}));
    return element("li", {}, lines.length > 1 && !/^\s*[[(]?\d{1,3}[\]).:]/.test(words) ? span("number", `${i + 1}`) : null,
      element("div", {class: "text", dir: "auto"},
        FENCE.test(words) ? laidOut(words, here) : marked(words, here)));
  });
}

const FENCE = /^\s*(```|~~~)/m; // a block of code

function findings(row) {
  const found = div("findings");
  if (row.claims && row.claims.length) found.append(part("Claims", sentences(row)));
  for (const names of asking.filter(([name]) => name in row)) {
    const there = names.filter((name) => name in row);
    const all = there.map((name) => `${facts.titles[name]} ${number(row[name])}`).join(", ");
    found.append(part("Questions", ...row.questions.length
      ? [there.length > 1 ? element("p", {class: "how"}, all) : null, questions(row)]
      : [fellBack(row)]));
  }
  if (row.parts && row.parts.length) {
    found.append(part("What raises and lowers the score", pulls(row)));
  }
  for (const {columns: [name], listed} of ofOthers.filter((one) => (row[one.listed] || []).length)) {
    found.append(part(facts.titles[name], element("ul", {class: "dropped"},
      ...row[listed].map((item) => text("li", "", item.plain)))));
  }
  found.append(notAsked(row) || "", longOthers(row) || "");
  return found;
}

function fellBack(row) {
  if (!row.fallback) return element("p", {}, "Nothing to ask about.");
  return div("whole", sign(row.state, SIGNS[row.state], MEANINGS[row.state]),
    element("p", {}, `Nothing to ask about, so the response was judged as a whole: ${
      number(row.whole)}, ${MEANINGS[row.state]}.`), chance(row, row));
}

function explained(row) {
  if (row.error && typeof row.knowledge !== "string") return null;
  const found = div("explained", knowledge(row), findings(row));
  light(found);
  return found;
}

// When the reader points at a question or claim, its marks in the texts are highlighted.
function light(found) {
  for (const item of found.querySelectorAll("li[data-key]")) {
    const set = (on) => {
      for (const mark of found.closest("li.card").querySelectorAll("mark")) {
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
const asked = (row) => asking.some(([name]) => name in row);

function heading(row) {
  const n = row.questions.length;
  return div("heading", facts.alone ? null : element("bdi", {class: "id"}, row.id),
    several ? system(row) : null,
    asked(row) && !row.error ? span("", `${n} ${n === 1 ? "question" : "questions"}`) : null,
    ...badges(row), ...others(row));
}

// The values of other input columns. Short values are shown beside the id, long values below.
const shownAs = (value) => typeof value === "string" ? value : JSON.stringify(value);
const otherOf = (row, long) => Object.entries(row.other || {})
  .map(([name, value]) => [name, shownAs(value)])
  .filter(([, words]) => words && words !== "null" && (words.length > SHORT) === long);
const others = (row) => otherOf(row, false)
  .filter(([, words]) => !several || words !== facts.systems[row.system]) // already shown
  .map(([name, words]) =>
  element("span", {class: "other"}, `${name}: `, element("bdi", {}, words)));
function longOthers(row) {
  const list = otherOf(row, true).map(([name, words]) => answer(name, words));
  return list.length ? part("Other columns", element("dl", {class: "others"}, ...list)) : null;
}

function change(item, metric) {
  const [a, b] = item.places.map((place) => countedAt(place, metric));
  return known(a) && known(b) ? b - a : null;
}

function changes(item, two) {
  const list = main.filter((name) => two.every((row) => name in row));
  const id = element("bdi", {class: "id"}, two[0].id);
  return div("numbers", id, ...list.map((name) => {
    return div("score", span("name", facts.titles[name]), changed(change(item, name)));
  }));
}

function side(row) {
  const shown = main.filter((name) => name in row)
    .map((name) => `${facts.titles[name]} ${number(row[name])}`).join("  ");
  return div("side", div("heading", system(row),
    span("n", shown), ...badges(row), ...others(row)), failure(row), response(row), inWords(row));
}

// The rows of an item. If two rows have the same knowledge, A or B before the number of a mark says
// which row the mark belongs to.
function rowsOf(item) {
  const found = item.places.map(rowAt);
  const [first, second] = found;
  const shared = found.length === 2 && typeof first.knowledge === "string"
    && first.knowledge === second.knowledge;
  found.forEach((row, i) => { row.prefix = shared ? "AB"[i] : ""; });
  return found;
}

// The card of an item ({key, places}). `toggled` is called when it is opened or closed. A card with
// a `line` (cells) shows only this line until it is opened.
function card(item, toggled, line = null) {
  const details = element("details", {"data-key": item.key},
    element("summary", {class: line ? "line" : null}, ...(line || ["Evidence"])));
  details.addEventListener("toggle", () => {
    fill(details, item);
    toggled(details);
  });
  return line ? element("li", {class: "card compact"}, details)
    : element("li", {class: "card"}, top(item), details);
}

function top(item) {
  const found = rowsOf(item);
  const [first] = found;
  return found.length === 2
    ? div("top", changes(item, found),
      div("said", asks(first), div("sides", ...found.map((row) => side(row)))))
    : div("top", scores(first),
      div("said", asks(first), failure(first), response(first), inWords(first), heading(first)));
}

// What speaks most against a response, in words, or else the response: [class, words].
function worst(row, said) {
  if (row.error) return ["differs", row.error];
  const failed = (row.claims || []).filter((item) => item.verdict in AGAINST);
  if (failed.length) {
    const least = failed.reduce((a, b) => (b.support ?? 1) < (a.support ?? 1) ? b : a);
    return ["differs", `${least.verdict}: ${least.text}`];
  }
  const right = row.questions.every((q) => q.how === "equal" || q.verdict === "entailment");
  return ["", (row.claims || []).length && right && !row.fallback && said !== row.response
    ? `supported: ${row.response}` : (row.plain || [])[0] || ""];
}
const AGAINST = {contradicted: true, "not found": true};

// The cells of an item in the table: whether it fails the gate (a score under the threshold), its
// id, what was asked, the score, and the worst claim or the response.
function lineOf(item, metric, threshold) {
  const found = rowsOf(item);
  const [first] = found;
  const last = found[found.length - 1];
  const [was, score] = [item.places[0], item.places[found.length - 1]].map(
    (place) => scoreAt(place, metric));
  const decided = last.error || (known(score) && score < threshold) ? "fail"
    : known(score) ? "pass" : NONE;
  const said = first.question || (first.history || []).at(-1) || last.response || "";
  const [state, words] = worst(last, said);
  const clipped = (class_, text_) => element("bdi", {class: class_, title: text_}, text_);
  return [span(`decided ${decided}`, decided), clipped("id", `${first.id}`), clipped("asks", said),
    ...(found.length === 2 ? [span("n", `${number(was)} → ${number(score)}`),
      changed(change(item, metric))] : [element("b", {class: "n"}, number(score))]),
    clipped(`worst ${state}`, words)];
}

function changed(value) {
  const way = !known(value) || Math.abs(value) < SAME ? "" : value > 0 ? "up" : "down";
  return element("b", {class: `change n ${way}`},
    (way === "up" ? "▲ " : way === "down" ? "▼ " : "") + signed(value));
}

function fill(details, item) {
  if (details.querySelector(".body")) return;
  const found = rowsOf(item);
  const [first, second] = found;
  const turns = (row) => JSON.stringify(row.history || []);
  if (details.querySelector(".line")) details.append(top(item));
  const body = div("body", history(first));
  details.append(body);
  if (!second) body.append(explained(first) || "");
  else {
    if (turns(first) !== turns(second)) body.append(history(second) || "");
    if (first.prefix) body.append(knowledge(first, second));
    const sides = found.map((row) => div("side", div("heading", system(row)),
      first.prefix ? findings(row) : explained(row)));
    body.append(div("sides", ...sides));
    if (first.prefix) light(body);
  }
}

byId("browser").hidden = false;
if (facts.alone) {
  const made = card({key: "0", places: [0]}, () => {});
  byId("list").append(made);
  made.querySelector("details").open = true;
}
return {
  MEANINGS, SAME, SIGNS, asking, byId, card, change, columns, countedAt, element, facts, fill,
  known, lineOf, main, metrics, number, numbers, percent, rowAt, scoreAt, several, signed,
};
})();

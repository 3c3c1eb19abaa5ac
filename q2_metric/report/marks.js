"use strict";
// Marks in texts: what was asked, what supports and what contradicts.
// Texts reach the page as text nodes only (element() below), never as markup.
const marks = (() => {
const SVG = new Set(["svg", "rect", "title", "path", "circle", "text", "line"]);
const WORST_FIRST = ["differs", "open", "supported"];

function element(tag, attributes, ...children) {
  const made = SVG.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const known = (value) => typeof value === "number";
const letter = (place) => place < 26 ? String.fromCharCode(97 + place) : `s${place + 1}`;

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
function marked(whole, list) {
  const found = document.createDocumentFragment();
  const edges = [...new Set([0, whole.length, ...list.flatMap((m) => [m.start, m.end])])];
  edges.sort((a, b) => a - b);
  for (let i = 0; i + 1 < edges.length; i++) {
    const [left, right] = [edges[i], edges[i + 1]];
    const over = list.filter((mark) => mark.start < right && mark.end > left);
    const words = whole.slice(left, right);
    if (!over.length) {
      found.append(words);
      continue;
    }
    const state = WORST_FIRST.find((name) => over.some((mark) => mark.state === name));
    const classes = [...new Set(over.map((mark) => mark.kind)), state].filter(Boolean);
    const keys = over.map((mark) => mark.key).join(" ");
    const title = over.find((mark) => mark.title);
    found.append(element("mark", {
      class: classes.join(" "), "data-keys": keys, title: title && title.title}, words));
    for (const mark of over.filter((one) => one.end === right && one.sign)) {
      found.append(mark.sign());
    }
  }
  return found;
}

function sign(state, shown, name) {
  return element("span",
    {class: `sign ${state}`, role: "img", "aria-label": name, title: name}, shown);
}

// The response: each span that was asked about, and lightly what no question has.
function ofResponse(row, signOf) {
  const asked = row.questions.map((question, i) => markAt(
    row.response, question.start, question.span, {
      kind: "asked", state: question.state, key: `${row.prefix}${i + 1}`,
      sign: () => signOf(row, question, i, "question"),
    })).filter(Boolean);
  const open = (row.unasked || []).map(([start, word]) => markAt(row.response, start, word,
    {kind: "unasked", key: "", title: "no question has this word"}));
  return [...asked, ...open.filter(Boolean)];
}

// The knowledge: each answer, the support of each sentence and what contradicts it.
function ofKnowledge(row, signOf, supports) {
  const found = row.questions.map((question, i) => {
    const answer = question.knowledge_answer;
    // Scores of earlier versions do not say where the answer stands.
    const place = question.knowledge_start ?? firstPlace(row.knowledge, answer);
    return markAt(row.knowledge, place, answer, {
      kind: "asked", state: question.state, key: `${row.prefix}${i + 1}`,
      sign: () => signOf(row, question, i, "answer to question"),
    });
  });
  (row.claims || []).forEach((item, i) => {
    const key = row.prefix + letter(i);
    const tag = (words) => () => sign("", key, `${words} claim ${key}`);
    if (supports(item)) {
      found.push(markAt(row.knowledge, item.passage_start, item.passage,
        {kind: "support", key, sign: tag("supports")}));
    }
    if (item.against) {
      const whole = Array.from(row.knowledge).slice(...item.against).join("");
      found.push(markAt(row.knowledge, item.against[0], whole,
        {kind: "against", key, sign: tag("contradicts")}));
    }
  });
  return found.filter(Boolean);
}

function firstPlace(whole, piece) {
  const unit = piece ? whole.indexOf(piece) : -1;
  return unit < 0 ? null : Array.from(whole.slice(0, unit)).length;
}

return {element, known, letter, marked, ofKnowledge, ofResponse, sign};
})();

"use strict";
// Marks parts of texts: claims, words that a question asks about, and passages that support or
// contradict. Users' texts become text nodes (element() below), never markup.
const marks = (() => {
const SVG = new Set(["svg", "rect", "title", "path", "circle", "text", "line"]);
const SIGN = {supported: "✓", contradicted: "≠", "not found": "✗", "not checked": "?"};
const STATES = {supported: "supported", "not found": "differs", contradicted: "contradicted",
  "not checked": "open"};
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

// A function that converts an offset in code points (as in Python) to one in UTF-16 units.
function units(whole) {
  if (!/[\ud800-\udbff]/.test(whole)) return (place) => place;
  const starts = [];
  for (let i = 0; i < whole.length; i += whole.codePointAt(i) > 0xffff ? 2 : 1) starts.push(i);
  starts.push(whole.length);
  return (place) => place < starts.length ? starts[place] : whole.length + 1;
}

// A mark of the text `piece` at the offset `place`. null if the text has other words there. (If
// pronouns were replaced by names, offsets refer to the replaced text.)
function markAt(whole, place, piece, rest) {
  if (!piece || !known(place) || place < 0) return null;
  const start = units(whole)(place);
  return whole.startsWith(piece, start) ? {start, end: start + piece.length, ...rest} : null;
}

// The text, cut where marks begin and end. Each piece shows all marks that cover it.
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
    const shapes = over.filter((mark) => mark.shape).map((mark) => mark.shape);
    const own = over.filter((mark) => !mark.shape);
    const sign = () => found.append(...own.filter((one) => one.end === right && one.sign)
      .map((one) => one.sign()));
    if (shapes.includes("hidden")) { // signs of Markdown, such as **
      sign();
      continue;
    }
    if (!own.length) {
      found.append(element("span", {class: shapes.join(" ")}, words));
      continue;
    }
    const inner = own.filter((mark) => mark.size)
      .sort((one, other) => one.size - other.size)[0];
    const state = inner ? inner.state : WORST_FIRST.find((name) => own.some((mark) => mark.state === name));
    const classes = [...new Set(own.map((mark) => mark.kind)), state, ...shapes].filter(Boolean);
    const keys = own.map((mark) => mark.key).join(" ");
    const title = own.find((mark) => mark.title);
    const tip = inner && inner.tip;
    const made = element("mark", {class: classes.join(" "), "data-keys": keys,
      title: title && title.title, tabindex: tip ? 0 : null}, words);
    if (tip) pointed(made, tip);
    found.append(made);
    sign();
  }
  return found;
}

function sign(state, shown, name) {
  return element("span",
    {class: `sign ${state}`, role: "img", "aria-label": name, title: name}, shown);
}

// Shows the words about a mark while the reader points at it, or while it has the focus.
const tips = element("div", {id: "tip", role: "tooltip", hidden: true});
document.body.append(tips);
function pointed(mark, words) {
  const show = () => {
    tips.textContent = words;
    tips.hidden = false;
    const {left, bottom, top} = mark.getBoundingClientRect();
    const {offsetWidth: width, offsetHeight: height} = tips;
    tips.style.left = `${Math.max(8, Math.min(left, document.body.clientWidth - width - 8))}px`;
    tips.style.top = `${bottom + height + 12 < innerHeight ? bottom + 6 : top - height - 6}px`;
  };
  const hide = () => { tips.hidden = true; };
  for (const name of ["pointerenter", "focus"]) mark.addEventListener(name, show);
  for (const name of ["pointerleave", "blur"]) mark.addEventListener(name, hide);
  mark.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}

// A text with its line breaks, in which a Markdown table becomes an HTML table, and a block of code
// is boxed. Marks stay on their words.
const RULE = /^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$/;
function laidOut(whole, list) {
  const all = [...list, ...shapes(whole)];
  const part = (start, end, of = all) => marked(whole.slice(start, end), of
    .filter((mark) => mark.start < end && mark.end > start)
    .map((mark) => ({...mark, start: Math.max(0, mark.start - start),
      end: Math.min(end, mark.end) - start, sign: mark.end <= end ? mark.sign : null})));
  const found = document.createDocumentFragment();
  const lines = linesOf(whole);
  let from = 0;
  for (let i = 0; i + 1 < lines.length; i++) {
    const fence = FENCE.exec(lines[i].words);
    if (fence) { // a block of code, up to the next fence or the end
      const close = lines.findIndex((line, n) => n > i && line.words.trim().startsWith(fence[1]));
      const last = close < 0 ? lines.length : close;
      const before = whole.slice(from, lines[i].start).trimEnd().length;
      if (before) found.append(part(from, from + before));
      const end = last < lines.length ? lines[last].start - 1 : whole.length;
      found.append(element("pre", {}, part(lines[i + 1].start, Math.max(end, lines[i + 1].start), list)));
      from = last + 1 < lines.length ? lines[last + 1].start : whole.length;
      i = last;
      continue;
    }
    if (!lines[i].words.includes("|") || !lines[i + 1].words.includes("|")
      || !RULE.test(lines[i + 1].words)) continue;
    let last = i + 2;
    while (last < lines.length && lines[last].words.includes("|")) last++;
    // Blank lines before and after a table are dropped, because the table has a margin.
    const before = whole.slice(from, lines[i].start).trimEnd().length;
    if (before) found.append(part(from, from + before));
    const rows = [lines[i], ...lines.slice(i + 2, last)].map((line, n) => element("tr", {},
      ...cells(line).map(([a, b]) => element(n ? "td" : "th", {}, part(a, b)))));
    found.append(element("table", {class: "given"}, ...rows));
    while (last < lines.length && !lines[last].words.trim()) last++;
    from = last < lines.length ? lines[last].start : whole.length;
    i = last - 1;
  }
  if (from < whole.length) found.append(part(from, whole.length));
  return found;
}

const FENCE = /^\s*(```|~~~)/;

function linesOf(whole) {
  let start = 0;
  return whole.split("\n").map((words) => {
    const line = {words, start};
    start += words.length + 1;
    return line;
  });
}

function cells({words, start}) {
  const found = [];
  let at = /^\s*\|?/.exec(words)[0].length;
  const end = words.replace(/\|?\s*$/, "").length;
  while (at <= end) {
    const bar = words.indexOf("|", at);
    const stop = bar < 0 || bar > end ? end : bar;
    const lead = /^\s*/.exec(words.slice(at, stop))[0].length;
    found.push([start + at + lead, start + at + words.slice(at, stop).trimEnd().length]);
    at = stop + 1;
  }
  return found.map(([a, b]) => [a, Math.max(a, b)]);
}

// Bold words, code and headings in Markdown. Their signs, such as **, are hidden.
function shapes(whole) {
  const found = [];
  const add = (pattern, shape) => {
    for (const match of whole.matchAll(pattern)) {
      const [before, after] = [match[1].length, (match[3] || "").length];
      const [start, end] = [match.index, match.index + match[0].length];
      found.push({start, end, shape, kind: ""},
        {start, end: start + before, shape: "hidden", kind: ""},
        {start: end - after, end, shape: "hidden", kind: ""});
    }
  };
  add(/(\*\*|__)(?=\S)([^*_\n]+?)(\1)/g, "bold");
  add(/(`)([^`\n]+)(`)/g, "code");
  add(/^(#{1,6} +)([^\n]+)()/gm, "bold");
  return found.filter((mark) => mark.end > mark.start);
}

// The marks of the response: its claims. Without claims, the words that questions ask about and,
// less visibly, the words that no question asks about.
function ofResponse(row, signOf, tipOf) {
  if (row.claims && row.claims.length) {
    const at = units(row.response);
    return row.claims.map((item, i) => ({
      start: at(item.start), end: at(item.end), size: item.end - item.start, kind: "claim",
      state: item.state, key: row.prefix + letter(i), tip: tipOf(item),
      sign: () => sign(item.state, SIGN[item.verdict], tipOf(item)),
    }));
  }
  const asked = row.questions.map((question, i) => markAt(
    row.response, question.start, question.span, {
      kind: "asked", state: question.state, key: `${row.prefix}${i + 1}`,
      sign: () => signOf(row, question, i, "question"),
    })).filter(Boolean);
  const open = (row.unasked || []).map(([start, word]) => markAt(row.response, start, word,
    {kind: "unasked", key: "", title: "no question asks about this word"}));
  return [...asked, ...open.filter(Boolean)];
}

// The marks of the knowledge: the answers to questions, and the sentences that support or contradict
// a claim.
function ofKnowledge(row, signOf, supports) {
  const found = row.questions.map((question, i) => {
    const answer = question.knowledge_answer;
    // Files of earlier versions do not contain the offset of the answer.
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

return {SIGN, STATES, element, known, laidOut, letter, linesOf, marked, ofKnowledge, ofResponse, sign, units};
})();

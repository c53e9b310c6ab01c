// Texts of people, models and tools. Rule: control and direction characters are made visible, and nothing is ever markup.

import { h, link } from "./dom.js";

// Controls but tab and line feed, marks of direction, characters without width, separators, tags, and halves of pairs.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/** Return a text in which nothing is hidden: such characters are written as `⟨U+202E⟩`. */
export function visible(text) {
  return String(text ?? "")
    .replace(/\r\n?/g, "\n")
    .replace(HIDDEN, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Return a text on one line. */
export function oneLine(text, limit = 200) {
  const line = visible(text).replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** Return a text on one line without the signs that `rich` reads, for a list. */
export function preview(text, limit = 120) {
  return oneLine(String(text ?? "").replace(/^\s*(?:#{1,6}|[-*•]|```+\w*|~~~+\w*)\s*/gm, "").replace(/\*\*|`/g, ""), limit);
}

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(https?:\/\/[^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])/g;

function inline(text) {
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    if (found.index > at) nodes.push(text.slice(at, found.index));
    if (found[1]) nodes.push(h("code", {}, found[1].slice(1, -1)));
    else if (found[2]) nodes.push(h("strong", {}, found[2].slice(2, -2)));
    else nodes.push(link(found[3]));
    at = found.index + found[0].length;
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

const FENCE = /^\s*(```+|~~~+)\s*([\w+#.-]*)\s*$/;
const ITEM = /^(\s*)(?:[-*•]|\d{1,3}[.)])\s+(.*)$/;
const HEADING = /^(#{1,6})\s+(.*)$/;

/**
 * Return a text as elements: paragraphs, lists, headings, code and links, in the few signs of Markdown that models use.
 * Whatever is not one of them stays as it was written.
 */
export function rich(text) {
  const made = document.createDocumentFragment();
  const lines = visible(text).split("\n");
  let paragraph = [];
  let list = null;
  const close = () => {
    if (paragraph.length) {
      const node = h("p", { dir: "auto" });
      paragraph.forEach((line, number) => node.append(...(number ? [h("br")] : []), ...inline(line)));
      made.append(node);
    }
    paragraph = [];
    list = null;
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const item = ITEM.exec(line);
    const heading = HEADING.exec(line);
    if (fence) {
      close();
      const code = [];
      for (at += 1; at < lines.length && lines[at].trim() !== fence[1]; at += 1) code.push(lines[at]);
      made.append(h("pre", { tabindex: "0", "data-language": fence[2] || null }, h("code", {}, code.join("\n"))));
    } else if (!line.trim()) {
      close();
    } else if (heading) {
      close();
      made.append(h("p.heading", { dir: "auto" }, inline(heading[2])));
    } else if (item) {
      const tag = /\d/.test(line.trim()[0]) ? "ol" : "ul";
      if (paragraph.length || (list && list.localName !== tag)) close();
      if (!list) made.append((list = h(tag)));
      list.append(h("li", { dir: "auto", class: item[1].length > 1 ? "deep" : null }, inline(item[2])));
    } else if (list && /^\s+/.test(line)) {
      list.lastChild.append(" ", ...inline(line.trim()));
    } else {
      if (list) close();
      paragraph.push(line);
    }
  }
  close();
  return made;
}

/** Return a span of time in words, such as `3 m`. */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m${s % 60 && s < 600 ? ` ${s % 60} s` : ""}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${Math.floor((s % 3600) / 60) ? ` ${Math.floor((s % 3600) / 60)} m` : ""}`;
  return `${Math.floor(s / 86400)} d`;
}

/** Return a moment for a list: `now`, `5 m`, `14:02`, `Mon`, `3 Nov`. */
export function moment(ms, now = Date.now()) {
  if (!ms) return "";
  const age = now - ms;
  if (age < 45_000) return "now";
  if (age < 3_600_000) return `${Math.max(1, Math.round(age / 60_000))} m`;
  const date = new Date(ms);
  if (date.toDateString() === new Date(now).toDateString()) return clock(ms);
  if (age < 6 * 86_400_000) return date.toLocaleDateString([], { weekday: "short" });
  return date.toLocaleDateString([], { day: "numeric", month: "short" });
}

/** Return the time of day. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
}

/** Return a number with a word: `1 session`, `2 sessions`. */
export function count(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

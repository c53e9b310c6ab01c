// Events: all of them, or those that a search finds. Words, and kind: actor: is:failed after: before:. Rows are made as they are seen.

import { h, keyed, setText } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { paced } from "./pace.js";
import { keepTabStop } from "./rows.js";
import { cellsOf, eventWords } from "./words.js";

const ROW = 26;
const TALLEST = 8_000_000;
const PAUSE_MS = 200;

/** Return a query in parts: words, and filters by name. */
export function parsed(query) {
  const made = { words: [], kind: [], actor: [], is: [], after: [], before: [], tool: [], state: [] };
  for (const [, name, value, word] of query.matchAll(/(\w+):(\S+)|(\S+)/g)) {
    if (name && name in made && name !== "words") made[name].push(value);
    else made.words.push(name ? `${name}:${value}` : word);
  }
  return made;
}

export function makeSearch({ model, seen, source, go }) {
  const counted = h("span.muted", { role: "status" });
  const rows = h("ol.events", { "data-rows": "", onkeydown: (event) => walkRows(event) });
  const space = h("div.space", {}, rows);
  const list = h("div.list", { tabindex: "0", onscroll: () => drawRows(), "aria-label": "Events" }, space);
  const node = h("section.view-search", { "aria-label": "Events" }, h("div.tools", {}, counted, h("button.outlined.small", { title: "Former hit (Shift N)", onclick: () => walk(-1) }, "‹ former"), h("button.outlined.small", { title: "Next hit (N)", onclick: () => walk(1) }, "next ›"), h("span.muted", {}, "words, kind:item.* actor:mate-1 is:failed after:300 before:2.5s")), list);
  let found = null;
  let asked = "";
  let timer = 0;
  let isPlaced = "";

  const size = () => (found ? found.length : model.count);
  const positionOf = (number) => (found ? found[number] : number);
  const factor = () => Math.max(1, (size() * ROW) / TALLEST);

  function draw() {
    const mark = `${seen.query}/${model.count}`;
    if (mark !== asked) {
      asked = mark;
      clearTimeout(timer);
      if (seen.query.trim()) timer = setTimeout(() => find(mark), PAUSE_MS);
      else {
        found = null;
        counted.textContent = `${model.count.toLocaleString("en")} events`;
      }
    }
    space.style.height = `${Math.min(size() * ROW, TALLEST)}px`;
    if (isPlaced !== `${seen.at}/${seen.query}`) {
      isPlaced = `${seen.at}/${seen.query}`;
      const place = found ? found.findIndex((at) => at >= seen.at - 1) : seen.at - 1;
      const top = (Math.max(0, place) * ROW) / factor();
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - ROW) list.scrollTop = top - list.clientHeight / 2;
    }
    drawRows();
  }

  async function find(mark) {
    const query = parsed(seen.query);
    let answer = null;
    const words = [...query.words, ...query.tool, ...query.state].join(" ");
    try {
      if (words) answer = (await source.get("search", { words })).found;
    } catch (error) {
      counted.textContent = error.message;
      return;
    }
    if (asked !== mark) return;
    found = filtered(query, answer ?? Array.from({ length: model.count }, (_, at) => at));
    counted.textContent = `${found.length.toLocaleString("en")} ${found.length === 1 ? "hit" : "hits"}${answer?.length === 5000 ? ", and more" : ""}`;
    isPlaced = "";
    draw();
  }

  function filtered(query, positions) {
    const { kind, actor, failed } = model.tables.events;
    const kinds = query.kind.map(pattern);
    const actors = query.actor.map(pattern);
    const fitsKind = model.lists.kinds.map((name) => kinds.every((each) => each.test(name)));
    const fitsActor = model.lists.actors.map((id, number) => actors.every((each) => each.test(id) || each.test(model.name(number)) || each.test(model.card(number).path ?? "")));
    const from = Math.max(0, ...query.after.map(place));
    const to = Math.min(model.count, ...query.before.map(place));
    const isFailed = query.is.includes("failed");
    return positions.filter((at) => at >= from && at < to && fitsKind[kind[at]] && fitsActor[actor[at]] && (!isFailed || failed[at]));
  }

  function pattern(text) {
    return new RegExp(`^${text.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`, "i");
  }

  /** Return the number of events up to a number of the journal, or a time such as `2.5s`. */
  function place(text) {
    const time = /^([\d.]+)(ms|s|m|h)$/.exec(text);
    if (time) return model.countAt(model.t(0) + Number(time[1]) * { ms: 0.001, s: 1, m: 60, h: 3600 }[time[2]]);
    return model.countUntil(Number(text) || 0);
  }

  let drawn = 0;

  const drawRows = paced(() => drawNow(), 0);

  async function drawNow() {
    const turn = (drawn += 1);
    const top = list.scrollTop * factor();
    const room = Math.ceil(list.clientHeight / ROW) + 2;
    const isLast = list.scrollTop + list.clientHeight >= list.scrollHeight - 1;
    const first = isLast ? Math.max(0, size() - room + 1) : Math.max(0, Math.floor(top / ROW));
    const wanted = Array.from({ length: Math.min(room, size() - first) }, (_, number) => positionOf(first + number));
    rows.style.translate = `0 ${isLast ? Math.max(0, space.clientHeight - wanted.length * ROW) : list.scrollTop - (factor() > 1 ? 0 : list.scrollTop % ROW)}px`;
    const known = new Map();
    try {
      if (found) for (const at of wanted) known.set(at, await source.event(at));
      else (await source.events(wanted[0] ?? 0, (wanted[wanted.length - 1] ?? -1) + 1)).forEach((event, number) => known.set(wanted[0] + number, event));
    } catch (error) {
      counted.textContent = error.message;
    }
    if (turn !== drawn) return;
    const items = wanted.map((at, place) => ({ at, number: first + place, event: known.get(at) }));
    keyed(rows, items, ({ at }) => at, (item) => update(make(item), item), update);
    keepTabStop(rows, 1);
  }

  function make({ at }) {
    return h("li", {}, h("button.step", { class: model.tables.events.failed[at] ? "is-failed" : "", onclick: () => go({ at: at + 1 }) }, ...cellsOf(model, at, null)));
  }

  function update(line, { at, number, event }) {
    const button = line.firstElementChild;
    line.setAttribute("aria-posinset", String(number + 1));
    line.setAttribute("aria-setsize", String(size()));
    if (at === seen.at - 1) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    setText(button.children[2], visible(model.name(model.tables.events.actor[at])));
    setText(button.children[3], event ? eventWords(model, event, 200) : "");
    return line;
  }

  /** Go from row to row by arrow keys; at the edge of what is in sight the list scrolls, and makes the next row. */
  function walkRows(event) {
    const next = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const line = next && event.target.closest("li")?.[next];
    if (!line) return;
    line.firstElementChild.focus();
    keepTabStop(rows);
    event.preventDefault();
  }

  function walk(step) {
    const hits = found ?? null;
    if (!hits) return go({ at: seen.at + step });
    const next = step > 0 ? hits.find((at) => at > seen.at - 1) : hits.findLast((at) => at < seen.at - 1);
    return next === undefined ? undefined : go({ at: next + 1 });
  }

  return { node, draw, walk };
}

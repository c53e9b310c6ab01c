// The tree of actors at the moment: state, turn and how long, mail, tokens.

import { h, icon, setText } from "../base/dom.js";
import { oneLine, visible } from "../base/texts.js";
import { makeRows } from "./rows.js";
import { seconds, showState, stateWords, tokens } from "./words.js";

const ROW = 28;

export function makeTree({ model, seen, go }) {
  const list = h("ul", { role: "tree", "aria-label": "Actors" });
  const scroller = h("div.tree", {}, list);
  const ended = h("input", { type: "checkbox", onchange: () => draw() });
  const find = h("input", { type: "search", placeholder: "Filter actors", "aria-label": "Filter actors", oninput: () => draw() });
  const node = h("aside.actors", { "aria-label": "Actors" }, h("header", {}, find, h("label.check", {}, ended, "ended")), scroller);
  const rows = makeRows(scroller, list, ROW, ({ actor }) => actor, make, update);
  const closed = new Set();
  let shown = [];

  function shownRows() {
    let all = model.tree(seen.at, { ended: ended.checked });
    if (!all.length) all = model.tree(seen.at, { ended: true });
    const words = find.value.trim().toLowerCase();
    if (!words && !closed.size) return all;
    let hidden = Infinity;
    return all.filter((row) => {
      if (row.depth > hidden && !words) return false;
      hidden = closed.has(row.actor) ? row.depth : Infinity;
      return !words || (model.card(row.actor).path ?? "").toLowerCase().includes(words);
    });
  }

  function make({ actor }) {
    const line = h("li", { role: "treeitem", tabindex: "-1", onclick: () => choose(actor), onkeydown: (event) => keyOn(event, actor) });
    line.append(h("button.fold", { tabindex: "-1", "aria-label": "Fold", onclick: (event) => { event.stopPropagation(); fold(actor); } }, icon("chevron")), h("span.sign"), h("span.name"), h("span.doing"), h("span.mail"), h("span.tokens"));
    return line;
  }

  function choose(actor) {
    go({ actor: actor === seen.actor ? 0 : actor });
  }

  function fold(actor) {
    if (!closed.delete(actor)) closed.add(actor);
    draw();
  }

  /** Keys of a tree beside those of a list: left and right fold, or go to the supervisor and the first child. */
  function keyOn(event, actor) {
    const place = shown.findIndex((row) => row.actor === actor);
    const { depth, children } = shown[place];
    const isOpen = children > 0 && !closed.has(actor);
    const focus = (to) => shown[to] && rows.show(to).focus();
    if (event.key === "Enter" || event.key === " ") choose(actor);
    else if (event.key === "ArrowRight") isOpen ? focus(place + 1) : children && fold(actor);
    else if (event.key === "ArrowLeft") isOpen ? fold(actor) : focus(shown.findLastIndex((row, at) => at < place && row.depth < depth));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function update(line, { actor, depth, children }, place) {
    const [foldButton, sign, name, doing, mail, used] = line.children;
    const state = model.actor(actor, seen.at);
    line.style.setProperty("--depth", depth);
    line.setAttribute("aria-level", depth + 1);
    line.setAttribute("aria-posinset", place + 1);
    line.setAttribute("aria-setsize", shown.length);
    line.setAttribute("aria-selected", String(actor === seen.actor));
    line.toggleAttribute("data-gone", state.is_gone);
    if (children) line.setAttribute("aria-expanded", String(!closed.has(actor)));
    foldButton.style.visibility = children ? "" : "hidden";
    foldButton.classList.toggle("is-closed", closed.has(actor));
    showState(sign, state);
    const path = model.card(actor).path ?? "";
    setText(name, visible(path.slice(path.lastIndexOf("/") + 1) || "(root)") + (state.incarnation > 1 ? ` ×${state.incarnation}` : ""));
    name.title = visible(path || "(root)");
    setText(doing, oneLine(activity(actor, state), 60));
    const box = model.mail(actor, seen.at);
    const waiting = box ? box.now + box.next + box.later : 0;
    setText(mail, waiting ? String(waiting) : "");
    mail.title = waiting ? `${waiting} messages wait: ${box.now} now, ${box.next} next, ${box.later} later` : "";
    const usage = model.usage(actor, seen.at);
    setText(used, usage ? tokens(usage.input + usage.output + usage.cache_read + usage.cache_write) : "");
    Object.assign(line.dataset, { actor: model.lists.actors[actor], state: state.state, incarnation: state.incarnation, turn: state.turn, busy: state.is_busy, mail: box ? `${box.now} ${box.next} ${box.later} ${box.leased}` : "", tokens: usage ? usage.input + usage.output : "" });
    used.title = usage ? `${usage.requests} requests, ${usage.calls} calls` : "";
  }

  function activity(actor, state) {
    if (!state.is_busy) return stateWords(state);
    const open = model.open(actor, seen.at);
    const inner = open[open.length - 1];
    if (!inner || inner.what === "actor") return stateWords(state);
    const text = inner.what === "model" ? "thinking" : inner.what === "turn" ? `turn ${state.turn}` : inner.name || inner.what;
    return `${text} · ${seconds(model.t(seen.at - 1) - model.t(inner.begin))}`;
  }

  function draw() {
    shown = shownRows();
    rows.draw(shown);
  }

  return { node, draw };
}

// The tree of actors at the moment: state, turn and how long, mail, tokens.

import { h, icon, keyed, setText } from "../base/dom.js";
import { oneLine, visible } from "../base/texts.js";
import { seconds, stateSign, stateWords, tokens } from "./words.js";

const MOST = 400;
const ROW = 28;
const LATER_MS = 120;

export function makeTree({ model, seen, go }) {
  const list = h("ul.tree", { role: "tree", "aria-label": "Actors" });
  const more = h("p.empty", { hidden: true });
  const ended = h("input", { type: "checkbox", onchange: () => draw() });
  const find = h("input", { type: "search", placeholder: "Filter actors", "aria-label": "Filter actors", oninput: () => draw() });
  const node = h("aside.actors", { "aria-label": "Actors" }, h("header", {}, find, h("label.check", {}, ended, "ended")), list, more);
  const closed = new Set();
  let timer = 0;

  function shownRows() {
    let rows = model.tree(seen.at, { ended: ended.checked });
    if (!rows.length) rows = model.tree(seen.at, { ended: true });
    const words = find.value.trim().toLowerCase();
    let hidden = Infinity;
    return rows.filter((row) => {
      if (row.depth > hidden && !words) return false;
      hidden = closed.has(row.actor) ? row.depth : Infinity;
      return !words || (model.card(row.actor).path ?? "").toLowerCase().includes(words);
    });
  }

  function make(row) {
    const line = h("li", { role: "treeitem", tabindex: "-1", onclick: () => go({ actor: row.actor === seen.actor ? 0 : row.actor }), onkeydown: (event) => keyOn(event, row) });
    line.append(h("button.fold", { type: "button", tabindex: "-1", "aria-label": "Fold", onclick: (event) => { event.stopPropagation(); fold(row.actor); } }, icon("chevron")), h("span.sign"), h("span.name"), h("span.doing"), h("span.mail"), h("span.tokens"));
    update(line, row);
    return line;
  }

  function fold(actor) {
    if (!closed.delete(actor)) closed.add(actor);
    draw();
  }

  function keyOn(event, row) {
    const lines = [...list.children];
    const place = lines.indexOf(event.currentTarget);
    if (event.key === "Enter") go({ actor: row.actor });
    else if (event.key === "ArrowDown") lines[place + 1]?.focus();
    else if (event.key === "ArrowUp") lines[place - 1]?.focus();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") closed.has(row.actor) === (event.key === "ArrowRight") && fold(row.actor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function update(line, { actor, depth, state, children }) {
    const [foldButton, sign, name, doing, mail, used] = line.children;
    line.style.setProperty("--depth", depth);
    line.setAttribute("aria-level", depth + 1);
    line.setAttribute("aria-selected", String(actor === seen.actor));
    line.toggleAttribute("data-gone", state.is_gone);
    line.tabIndex = actor === seen.actor || (!seen.actor && depth === 0) ? 0 : -1;
    if (children) line.setAttribute("aria-expanded", String(!closed.has(actor)));
    foldButton.style.visibility = children ? "" : "hidden";
    foldButton.classList.toggle("is-closed", closed.has(actor));
    sign.replaceChildren(stateSign(state));
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
    return `${text} for ${seconds(model.t(seen.at - 1) - model.t(inner.begin))}`;
  }

  function draw() {
    const rows = shownRows();
    // Those in sight at once, the others when the moment rests.
    const first = Math.floor(list.scrollTop / ROW) - 1;
    const last = first + Math.ceil((list.clientHeight || innerHeight) / ROW) + 3;
    const waiting = [];
    const wanted = rows.slice(0, MOST).map((row, place) => ({ ...row, place }));
    keyed(list, wanted, ({ actor }) => String(actor), make, (line, row) => {
      if (row.place >= first && row.place <= last) update(line, row);
      else waiting.push([line, row]);
    });
    clearTimeout(timer);
    if (waiting.length) timer = setTimeout(() => waiting.forEach(([line, row]) => update(line, row)), LATER_MS);
    more.hidden = rows.length <= MOST;
    more.textContent = `${rows.length - MOST} more; filter them by a part of their path.`;
  }

  return { node, draw };
}

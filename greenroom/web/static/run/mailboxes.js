// Mailboxes: depth of each lane at the moment and over time, and what waits in one of them, oldest first.

import { h, setText, svg, swap } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { paced } from "./pace.js";
import { makeRows } from "./rows.js";
import { seconds } from "./words.js";

const LANES = ["now", "next", "later", "leased", "postponed"];
const ROW = 33;
const POINTS = 300;

export function makeMailboxes({ model, seen, source, go }) {
  const body = h("tbody");
  const table = h("table.list.of-rows", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Mailbox"), ...LANES.map((lane) => h("th.right", { scope: "col" }, lane)), h("th", { scope: "col" }, "depth over time"))), body);
  const blank = h("p.blank", { hidden: true }, "No mailbox is on record at this moment. Only actors that are recorded in full have one.");
  const list = h("div.wide", { tabindex: "0" }, blank, table);
  const waiting = h("div.waiting");
  const node = h("section.view-mail", { "aria-label": "Mailboxes" }, list, waiting);
  const rows = makeRows(list, body, ROW, ({ actor }) => actor, make, update);
  const askSoon = paced(() => drawWaiting());
  let shown = "";
  let read = "";
  let all = [];

  function draw() {
    const mark = `${seen.at}/${model.count}/${seen.actor}`;
    if (mark === shown) return;
    shown = mark;
    const { mail } = model.tables;
    all = [];
    for (let actor = 1; actor < model.actors; actor += 1) {
      const row = model.row("mail", actor, seen.at);
      if (row >= 0) all.push({ actor, row, depth: mail.now[row] + mail.next[row] + mail.later[row] });
    }
    all.sort((a, b) => b.depth - a.depth || a.actor - b.actor);
    blank.hidden = all.length > 0;
    table.hidden = waiting.hidden = !all.length;
    list.style.setProperty("--tall", `${(all.length + 1) * ROW + 12}px`);
    rows.draw(all);
    if (all.length) askSoon();
  }

  function make({ actor }) {
    return h("tr", { "data-actor": model.lists.actors[actor] }, h("th", { scope: "row" }, h("button.link", { onclick: () => go({ actor }) }, visible(model.name(actor)))), ...LANES.map(() => h("td.right")), h("td", {}, picture()));
  }

  function update(line, { actor, row }) {
    const { mail } = model.tables;
    line.classList.toggle("is-chosen", actor === seen.actor);
    LANES.forEach((lane, number) => {
      const cell = line.children[number + 1];
      setText(cell, String(mail[lane][row]));
      cell.className = mail[lane][row] ? "right some" : "right none";
    });
    overTime(line.lastElementChild.firstElementChild, actor);
  }

  function picture() {
    const made = svg("svg", { viewBox: "0 0 300 21", preserveAspectRatio: "none", class: "spark", role: "img" });
    made.append(svg("path", { class: "sum" }), svg("path", { class: "now" }));
    return made;
  }

  /** Show the depth of a mailbox over the events of the run: the highest of each stretch, and the moment. */
  function overTime(drawn, actor) {
    const x = (event) => ((event / model.count) * POINTS).toFixed(1);
    drawn.lastElementChild.setAttribute("d", `M${x(seen.at)} 0 V21`);
    if (drawn.drawnUntil === model.count) return;
    drawn.drawnUntil = model.count;
    const { mail } = model.tables;
    const depths = new Map();
    let most = 1;
    for (const row of model.rowsOf.mail[actor]) {
      const place = Math.floor((mail.event[row] / model.count) * POINTS);
      const depth = mail.now[row] + mail.next[row] + mail.later[row];
      if (depth > most) most = depth;
      const had = depths.get(place);
      if (had) had.last = depth;
      if (had && depth > had.most) had.most = depth;
      else if (!had) depths.set(place, { most: depth, last: depth });
    }
    const y = (depth) => (20 - (depth / most) * 18).toFixed(1);
    const path = [...depths].map(([place, { most: top, last }], number) => `${number ? "H" : "M0 20 H"}${place} V${y(top)} h0.7 V${y(last)}`).join(" ");
    drawn.firstElementChild.setAttribute("d", `${path} H300 V20 Z`);
    drawn.setAttribute("aria-label", `at most ${most} messages`);
  }

  async function drawWaiting() {
    if (!all.length) return;
    const actor = all.some((each) => each.actor === seen.actor) ? seen.actor : all[0].actor;
    const mark = (read = `${actor}/${seen.at}`);
    const answer = await source.get("mailbox", { actor: model.lists.actors[actor], at: seen.at }).catch((error) => ({ error: error.message }));
    if (read !== mark) return;
    const lanes = Object.entries(answer.lanes ?? {});
    swap(
      waiting,
      h("h2", {}, `What waits for ${visible(model.name(actor))}`),
      answer.error ? h("p.empty", {}, answer.error) : "",
      lanes.length ? h("ul", {}, ...lanes.flatMap(([lane, messages]) => messages.slice(0, 200).map((message) => line(lane, message)))) : h("p.empty", {}, `Nothing at this moment; ${answer.accepted ?? 0} accepted so far, ${answer.died ?? 0} died.`),
    );
  }

  function line(lane, message) {
    const isKnown = message.position !== undefined;
    const from = isKnown && model.parent(message.position) >= 0 ? model.name(model.tables.events.actor[model.parent(message.position)]) : "";
    return h("li", {}, h("button.event.of-mail", { disabled: !isKnown, onclick: () => go({ at: message.position + 1 }) }, h("span.seq", {}, `#${message.msg}`), h("span", {}, visible(message.type ?? "not on record"), from ? h("small", {}, ` from ${visible(from)}`) : ""), h("small", {}, `${lane}${isKnown ? ` · ${seconds(model.t(seen.at - 1) - message.t)} old` : ""}`)));
  }

  return { node, draw };
}

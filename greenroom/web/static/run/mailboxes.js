// Mailboxes: depth of each lane at the moment and over time, and what waits in one of them, oldest first.

import { h } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { seconds } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const LANES = ["now", "next", "later", "leased", "postponed"];
const MOST = 300;

export function makeMailboxes({ model, seen, source, go }) {
  const list = h("div.wide", { tabindex: "0" });
  const waiting = h("div.waiting");
  const node = h("section.view-mail", { "aria-label": "Mailboxes" }, list, waiting);
  let shown = "";
  let read = "";

  function draw() {
    const mark = `${seen.at}/${model.count}/${seen.actor}`;
    if (mark === shown) return;
    shown = mark;
    const rows = [];
    for (let actor = 1; actor < model.actors; actor += 1) {
      const mail = model.mail(actor, seen.at);
      if (mail) rows.push({ actor, mail });
    }
    if (!rows.length) {
      list.replaceChildren(h("p.blank", {}, "No mailbox is on record at this moment. Only actors that are recorded in full have one."));
      waiting.replaceChildren();
      return;
    }
    rows.sort((a, b) => depth(b.mail) - depth(a.mail) || a.actor - b.actor);
    list.replaceChildren(h("table.list", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Mailbox"), ...LANES.map((lane) => h("th.right", { scope: "col" }, lane)), h("th", { scope: "col" }, "depth over time"))), h("tbody", {}, ...rows.slice(0, MOST).map(row))));
    drawWaiting(rows);
  }

  const depth = (mail) => mail.now + mail.next + mail.later;

  function row({ actor, mail }) {
    return h("tr", { class: actor === seen.actor ? "is-chosen" : "" }, h("th", { scope: "row" }, h("button.link", { type: "button", onclick: () => go({ actor }) }, visible(model.name(actor)))), ...LANES.map((lane) => h("td.right", { class: mail[lane] ? "some" : "none" }, String(mail[lane]))), h("td", {}, overTime(actor)));
  }

  /** Return the depth of a mailbox over the events of the run. */
  function overTime(actor) {
    const rows = model.rowsOf.mail[actor];
    const { mail } = model.tables;
    const every = Math.ceil(rows.length / 400);
    const found = rows.filter((_, number) => number % every === 0).map((at) => [mail.event[at], mail.now[at] + mail.next[at] + mail.later[at]]);
    const most = Math.max(1, ...found.map(([, value]) => value));
    const x = (event) => ((event / model.count) * 300).toFixed(1);
    const path = found.map(([event, value], number) => `${number ? "H" : "M0 20 H"}${x(event)} V${(20 - (value / most) * 18).toFixed(1)}`).join(" ");
    const svg = document.createElementNS(SVG, "svg");
    const attributes = { viewBox: "0 0 300 21", preserveAspectRatio: "none", class: "spark", role: "img", "aria-label": `at most ${most} messages` };
    for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
    for (const [d, name] of [[`${path} H300 V20 Z`, "sum"], [`M${x(seen.at)} 0 V21`, "now"]]) {
      const line = document.createElementNS(SVG, "path");
      line.setAttribute("d", d);
      line.setAttribute("class", name);
      svg.append(line);
    }
    return svg;
  }

  async function drawWaiting(rows) {
    const actor = rows.some((each) => each.actor === seen.actor) ? seen.actor : rows[0].actor;
    const mark = (read = `${actor}/${seen.at}`);
    const answer = await source.get("mailbox", { actor: model.lists.actors[actor], at: seen.at }).catch((error) => ({ error: error.message }));
    if (read !== mark) return;
    const lanes = Object.entries(answer.lanes ?? {});
    waiting.replaceChildren(
      h("h2", {}, `What waits for ${visible(model.name(actor))}`),
      answer.error ? h("p.empty", {}, answer.error) : "",
      lanes.length ? h("ul", {}, ...lanes.flatMap(([lane, messages]) => messages.slice(0, 200).map((message) => line(lane, message)))) : h("p.empty", {}, `Nothing at this moment; ${answer.accepted ?? 0} accepted so far, ${answer.died ?? 0} died.`),
    );
  }

  function line(lane, message) {
    const isKnown = message.position !== undefined;
    const from = isKnown && model.parent(message.position) >= 0 ? model.name(model.tables.events.actor[model.parent(message.position)]) : "";
    return h("li", {}, h("button.event.of-mail", { type: "button", disabled: !isKnown, onclick: () => go({ at: message.position + 1 }) }, h("span.seq", {}, `#${message.msg}`), h("span", {}, visible(message.type ?? "not on record"), from ? h("small", {}, ` from ${visible(from)}`) : ""), h("small", {}, `${lane}${isKnown ? ` · ${seconds(model.t(seen.at - 1) - message.t)} old` : ""}`)));
  }

  return { node, draw };
}

// The event at the moment: its fields, what led to it, and what can be copied of it.

import { copyFrom, h, iconButton, swap } from "../base/dom.js";
import { oneLine, visible } from "../base/texts.js";
import { paced } from "./pace.js";
import { commandFor, fieldsOf, named, seconds } from "./words.js";

const LONG = 400;

export function makeDetail({ model, seen, source, go }) {
  const body = h("div.body");
  const node = h("aside.detail", { "aria-label": "Event" }, body);
  let shown = "";

  const askSoon = paced(() => ask());

  function draw() {
    const position = seen.at - 1;
    const mark = `${position}/${model.count ? model.seq(position) : ""}/${model.taken.cards}`;
    if (mark === shown) return;
    shown = mark;
    askSoon();
  }

  async function ask() {
    const position = seen.at - 1;
    const mark = shown;
    if (position < 0) {
      body.replaceChildren(h("p.empty", {}, model.count ? "Before the first event." : "No events yet."));
      return;
    }
    let event;
    try {
      event = await source.event(position);
    } catch (error) {
      body.replaceChildren(h("p.empty", {}, error.message));
      shown = "";
      return;
    }
    if (shown === mark && event) swap(body, ...parts(position, event));
  }

  function parts(position, event) {
    const actor = model.tables.events.actor[position];
    const parent = model.parent(position);
    return [
      h(
        "header",
        {},
        h("h2", {}, visible(event.ev)),
        iconButton("copy", "Copy the event as JSON", ({ currentTarget }) => copyFrom(currentTarget, JSON.stringify(event))),
        iconButton("open", "Copy the command that shows this moment", ({ currentTarget }) => copyFrom(currentTarget, commandFor(model.run.run, event.seq))),
      ),
      h("p.under", {}, `event ${event.seq} · ${seconds(model.since(position))}`),
      actor ? h("p", {}, h("button.link", { onclick: () => go({ actor }) }, visible(model.name(actor))), event.inc > 1 ? ` incarnation ${event.inc}` : "") : h("p.empty", {}, "of the whole run"),
      h("dl", {}, ...fieldsOf(event).flatMap(([name, value]) => [h("dt", {}, visible(name)), h("dd", {}, shownValue(value))])),
      h("h3", {}, "Led to by"),
      parent >= 0 ? eventButton(parent, "cause") : h("p.empty", {}, event.parent ? `event ${event.parent}, which is not on record` : "not on record"),
      h("h3", {}, "Led to"),
      ...ledTo(position),
    ];
  }

  function shownValue(value) {
    const text = named(model, typeof value === "string" ? value : value !== null && typeof value === "object" ? JSON.stringify(value, null, 1) : String(value));
    if (text.length <= LONG && !text.includes("\n")) return visible(text);
    return h("details", {}, h("summary", {}, oneLine(text, 90), h("small", {}, ` ${text.length.toLocaleString("en")} characters`)), h("pre", { tabindex: "0" }, visible(text)));
  }

  function ledTo(position) {
    const found = model.ledTo(position);
    if (!found.length) return [h("p.empty", {}, "nothing on record")];
    return [...found.slice(0, 8).map((at) => eventButton(at)), ...(found.length > 8 ? [h("p.empty", {}, `${found.length - 8} more`)] : [])];
  }

  function eventButton(position, part = null) {
    const actor = model.tables.events.actor[position];
    return h("button.event", { "data-part": part, onclick: () => go({ at: position + 1 }) }, h("span.seq", {}, String(model.seq(position))), h("span", {}, visible(model.kind(position))), h("small", {}, actor ? visible(model.name(actor)) : ""));
  }

  return { node, draw };
}

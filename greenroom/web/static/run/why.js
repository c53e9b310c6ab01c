// Why: from the event at the moment back to its root, and what it led to.

import { h, swap } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { paced } from "./pace.js";
import { cellsOf } from "./words.js";

const MOST = 200;

export function makeWhy({ model, seen, source, go }) {
  const node = h("section.view-why", { "aria-label": "Why" });
  let shown = "";

  const askSoon = paced(() => ask());

  function draw() {
    const mark = `${seen.at}/${model.count}`;
    if (mark === shown) return;
    shown = mark;
    askSoon();
  }

  async function ask() {
    const position = seen.at - 1;
    const mark = shown;
    if (position < 0) {
      node.replaceChildren(h("p.blank", {}, "Choose an event."));
      return;
    }
    const chain = [position];
    for (let at = model.parent(position); at >= 0 && chain.length < MOST; at = model.parent(at)) chain.unshift(at);
    const led = model.ledTo(position);
    const events = new Map();
    await Promise.all([...chain.slice(-60), ...led.slice(0, 60)].map(async (at) => events.set(at, await source.event(at).catch(() => null))));
    if (shown !== mark) return;
    const above = causeOf(events.get(position));
    swap(
      node,
      h("h2", {}, chain.length > 1 ? `${chain.length - 1} steps from its root` : "Nothing on record led to this event"),
      h("ol.chain", {}, ...chain.map((at) => step(at, events.get(at), at === position))),
      above ? h("p.cause", {}, "Cause on record: ", h("strong", {}, visible(above))) : "",
      h("h2", {}, led.length ? `Led to ${led.length} ${led.length === 1 ? "event" : "events"}` : "Led to nothing on record"),
      h("ol.chain.led", {}, ...led.slice(0, 60).map((at) => step(at, events.get(at), false))),
    );
    node.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  function causeOf(event) {
    const cause = event?.cause;
    if (!cause || typeof cause !== "object") return "";
    return `${model.numberOf.has(cause.who) ? model.name(model.numberOf.get(cause.who)) : cause.who}: ${cause.why}`;
  }

  function step(at, event, isChosen) {
    return h("li", {}, h("button.step", { class: model.tables.events.failed[at] ? "is-failed" : "", "aria-current": isChosen ? "true" : null, onclick: () => go({ at: at + 1 }) }, ...cellsOf(model, at, event)));
  }

  return { node, draw };
}

// The chosen actor at the moment: its path, what it is, what it took, and why it was restarted.

import { copyFrom, h, iconButton, swap } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { paced } from "./pace.js";
import { stepName, totalsAt } from "./totals.js";
import { costOf, dollars, eventWords, seconds, stateSign, stateWords, tokens } from "./words.js";

const MOST_RESTARTS = 20;

export function makeCard({ model, seen, source, go }) {
  const node = h("section.card", { "aria-label": "Actor" });
  let shown = "";

  const askSoon = paced(() => ask());

  function draw() {
    const mark = [seen.actor, seen.at, model.count, model.taken.cards].join();
    if (mark === shown) return;
    shown = mark;
    askSoon();
  }

  async function ask() {
    const mark = shown;
    const { actor, at } = seen;
    const state = actor ? model.actor(actor, at) : null;
    node.hidden = !state;
    if (!state) return;
    const restarts = restartsOf(actor, at);
    const events = await Promise.all(restarts.map((position) => source.event(model.parent(position) < 0 ? position : model.parent(position)).catch(() => null)));
    if (shown !== mark) return;
    const { path = "", definition, model: name } = model.card(actor);
    const usage = model.usage(actor, at);
    const usd = usage && costOf(model, actor, usage);
    const total = totalsAt(model, at).get(actor);
    swap(
      node,
      h("header", {}, h("h2", {}, visible(model.name(actor))), stateSign(state), path ? iconButton("copy", "Copy its path", ({ currentTarget }) => copyFrom(currentTarget, path)) : ""),
      h(
        "dl",
        {},
        ...pair("state", stateWords(state)),
        ...pair("path", visible(path)),
        ...pair("definition", definition && visible(name ? `${definition}, ${name}` : definition)),
        ...pair("tokens", usage && `${tokens(usage.input + usage.output + usage.cache_read + usage.cache_write)} in ${usage.requests} requests${usd === null ? "" : `, ${dollars(usd)}`}`),
        ...pair("worked", total && seconds(total.working)),
        ...pair("longest step", total && total.step >= 0 && h("button.link", { onclick: () => go({ at: model.tables.slices.event[total.step] + 1 }) }, `${visible(stepName(model, total.step))}, ${seconds(total.longest)}`)),
      ),
      restarts.length ? h("h3", {}, `Restarted ${restarts.length === 1 ? "once" : `${restarts.length} times`}`) : "",
      ...restarts.map((position, place) => restart(position, events[place], actor)),
    );
  }

  function pair(name, value) {
    return value ? [h("dt", {}, name), h("dd", {}, value)] : [];
  }

  /** Return the events that began a later incarnation of an actor, before a moment. */
  function restartsOf(actor, at) {
    const { states } = model.tables;
    let incarnation = 1;
    const found = [];
    for (const row of model.rowsOf.states[actor] ?? []) {
      if (states.event[row] >= at) break;
      if (states.incarnation[row] > incarnation) found.push(states.event[row]);
      incarnation = Math.max(incarnation, states.incarnation[row]);
    }
    return found.slice(-MOST_RESTARTS);
  }

  /** Show why an actor was restarted: the event that led to it, and whose it was. */
  function restart(position, event, actor) {
    const cause = model.parent(position);
    const whose = cause < 0 ? 0 : model.tables.events.actor[cause];
    const why = event ? eventWords(model, event, 240) : "not on record";
    return h("button.event.of-restart", { onclick: () => go({ at: (cause < 0 ? position : cause) + 1, view: "why" }) }, h("span", {}, whose && whose !== actor ? `with ${visible(model.name(whose))}: ${why}` : why), h("small", {}, seconds(model.since(position))));
  }

  return { node, draw };
}

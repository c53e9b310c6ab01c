// What did not go as planned: failures, broken invariants, waits, restarts, retries, dead letters; each leads to its moment.

import { h } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { named, seconds } from "./words.js";

const LISTED = 200;
const REST_MS = 2000;
const TITLES = {
  failed: "Failures",
  unsound: "Broken invariants",
  stuck: "Work that nobody resumes",
  waits: "Waits",
  restarted: "Restarts",
  returned: "Items that came back",
  retried: "Retries",
  slow: "Slow",
  dead: "Dead letters",
};

export function makeFindings({ model, seen, source, go }) {
  const node = h("section.view-findings", { "aria-label": "Findings" });
  let read = -1;
  let isReading = false;
  let next = 0;
  let timer = 0;
  let found = { problems: [], why: "" };
  let shown = null;
  let marked = null;
  const buttons = new Map();

  async function look() {
    isReading = true;
    try {
      found = await source.get("findings");
      read = found.events ?? model.run.events;
    } catch (error) {
      found = { problems: [], why: error.message };
    }
    isReading = false;
    next = performance.now() + REST_MS;
    draw();
  }

  function draw() {
    if (read !== model.run.events && !isReading) {
      const left = next - performance.now();
      clearTimeout(timer);
      if (left > 0) timer = setTimeout(draw, left);
      else look();
    }
    if (read < 0 && isReading) {
      if (!node.firstElementChild) node.replaceChildren(h("p.blank", { role: "status" }, "Looking for problems…"));
      return;
    }
    if (shown !== found) {
      shown = found;
      marked = null;
      buttons.clear();
      const { problems, why } = found;
      if (problems.length) node.replaceChildren(why ? h("p.muted", {}, visible(why)) : "", ...Object.entries(TITLES).flatMap(([kind, title]) => group(title, problems.filter((problem) => problem.kind === kind))));
      else node.replaceChildren(h("p.blank", {}, why || "Nothing failed, nothing waits, every invariant that a journal can show holds."));
    }
    const now = buttons.get(model.seq(seen.at - 1)) ?? null;
    if (now === marked) return;
    marked?.removeAttribute("aria-current");
    now?.setAttribute("aria-current", "true");
    marked = now;
  }

  function group(title, problems) {
    if (!problems.length) return [];
    const left = problems.length - LISTED;
    return [h("section", { "data-kind": problems[0].kind }, h("h2", {}, title, h("span.badge.quiet", {}, problems.length.toLocaleString("en"))), h("ul", {}, ...problems.slice(0, LISTED).map(line)), left > 0 ? h("p.empty", {}, `${left.toLocaleString("en")} more`) : "")];
  }

  function line(problem) {
    const button = h("button.finding", { onclick: () => lead(problem) }, h("span.seq", {}, String(problem.seq)), h("span", {}, visible(named(model, problem.text))), h("small", {}, seconds(problem.t - model.t(0))));
    buttons.set(problem.seq, button);
    return h("li", {}, button);
  }

  function lead(problem) {
    const at = model.countUntil(problem.seq);
    go({ at, actor: model.tables.events.actor[at - 1] || seen.actor });
  }

  return { node, draw };
}

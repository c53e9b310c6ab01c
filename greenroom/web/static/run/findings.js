// What did not go as planned: failures, broken invariants, waits, restarts, retries, dead letters; each leads to its moment.

import { h } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { named, seconds } from "./words.js";

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
  let found = { problems: [], why: "" };
  let shown = "";

  async function draw() {
    if (read !== model.run.events && !isReading) {
      isReading = true;
      const events = model.run.events;
      if (read < 0) node.replaceChildren(h("p.blank", { role: "status" }, "Looking for problems…"));
      try {
        found = await source.get("findings");
        read = events;
      } catch (error) {
        found = { problems: [], why: error.message };
      }
      isReading = false;
    }
    if (isReading) return;
    const mark = JSON.stringify([found, seen.at]);
    if (mark === shown) return;
    shown = mark;
    const { problems, why } = found;
    if (!problems.length) {
      node.replaceChildren(h("p.blank", {}, why || "Nothing failed, nothing waits, every invariant that a journal can show holds."));
      return;
    }
    node.replaceChildren(...Object.entries(TITLES).flatMap(([kind, title]) => group(title, problems.filter((problem) => problem.kind === kind))));
  }

  function group(title, problems) {
    if (!problems.length) return [];
    return [h("h2", {}, title, h("span.badge.quiet", {}, String(problems.length))), h("ul", {}, ...problems.slice(0, 200).map((problem) => h("li", {}, h("button.finding", { type: "button", "aria-current": model.seq(seen.at - 1) === problem.seq ? "true" : null, onclick: () => lead(problem) }, h("span.seq", {}, String(problem.seq)), h("span", {}, visible(named(model, problem.text))), h("small", {}, seconds(problem.t - model.t(0)))))))];
  }

  function lead(problem) {
    const at = model.countUntil(problem.seq);
    go({ at, actor: model.tables.events.actor[at - 1] || seen.actor });
  }

  return { node, draw };
}

// The panel beside the chat: what waits for a person, and the runs that the session has started, as a tree.

import { h, icon, keyed, redraw } from "../base/dom.js";
import { clock, count, oneLine, rich, span, visible } from "../base/texts.js";
import { approvalCard, deliveryCard, pairingCard, stateOfRun } from "./cards.js";

/** Make the panel. */
export function makePanel({ state, go, act, readReport, close }) {
  const asks = h("div.cards");
  const noAsks = h("p.empty", {}, "Nothing waits for you.");
  const tree = h("ul.tree");
  const noRuns = h("p.empty", {}, "This session has started no sub-agents.");
  const stopAll = h("button.outlined.danger.small", { type: "button", hidden: true, onclick: () => act("subagents.stop", { sessionKey: state.current, target: "all" }) }, "Stop all");
  const waiting = h("span.count");
  const running = h("small");
  const node = h(
    "aside.panel",
    { "aria-label": "Activity" },
    h("header.bar", {}, h("h2", {}, "Activity"), h("button.ghost.close", { type: "button", "aria-label": "Close", title: "Close (Esc)", onclick: close }, icon("close"))),
    h("section", {}, h("h3", {}, "Waits for you", waiting), asks, noAsks),
    h("section", {}, h("h3", {}, "Sub-agents", running, stopAll), tree, noRuns),
  );

  function draw(key) {
    const here = new Set(state.questionsOf(key)); // they stand above the composer
    const cards = [
      ...(state.scopes.includes("approve") ? [...state.approvals.values()].filter((ask) => !here.has(ask)).map((ask) => ({ key: `a:${ask.approvalId}`, make: () => approvalCard(ask, { state, act, go }) })) : []),
      ...state.pairings.filter((row) => !row.approved).map((row) => ({ key: `p:${row.channel}:${row.accountId}:${row.sender}`, make: () => pairingCard(row, { act }) })),
      ...state.blocked().map((row) => ({ key: `d:${row.deliveryId}:${row.tries}`, make: () => deliveryCard(row, { act, state }) })),
    ];
    keyed(asks, cards, (card) => card.key, (card) => card.make(), () => {});
    noAsks.hidden = cards.length > 0;
    waiting.hidden = cards.length === 0;
    waiting.textContent = String(cards.length);
    const runs = state.childrenOf(key);
    drawTree(tree, runs, new Set([key]));
    noRuns.hidden = runs.length > 0;
    const open = runs.filter((run) => !run.endedAt).length;
    running.textContent = runs.length ? `${open ? `${open} of ` : ""}${runs.length}${open ? " running" : ""}` : "";
    stopAll.hidden = open < 2 || !state.scopes.includes("write");
  }

  function drawTree(list, runs, above) {
    keyed(list, runs, (run) => run.runId, (run) => makeRun(run, above), (item, run) => drawRun(item, run, above));
  }

  function makeRun(run, above) {
    const details = h("details", { ontoggle: () => details.open && readReport(details.parentNode.run) }, h("summary"), h("div.more"));
    const item = h("li", {}, details);
    item.below = h("ul.tree");
    drawRun(item, run, above);
    return item;
  }

  function drawRun(item, run, above) {
    item.run = run;
    const [summary, more] = item.firstChild.children;
    const [name, mark, word] = stateOfRun(run);
    const label = oneLine(run.label || run.task || run.sessionKey, 90);
    const begun = run.startedAt || run.createdAt;
    const took = begun ? span((run.endedAt || Date.now()) - begun) : "";
    redraw(summary, [label, name, mark, word, took], () => [
      h("span.state", { class: mark }, icon(name), h("span.sr", {}, word)),
      h("span.title", {}, label),
      h("small", {}, word, took ? ` · ${took}` : ""),
    ]);
    const asks = state.questionsOf(run.sessionKey).length;
    summary.classList.toggle("has-question", asks > 0);
    redraw(more, [run, asks], () => [
      run.task && run.task !== run.label ? h("p.task", {}, visible(run.task)) : null,
      run.error ? h("div.note.bad", {}, icon("alert"), h("span", {}, visible(run.error))) : null,
      run.reply ? h("div.report", {}, h("h4", {}, "Report"), h("div.text", {}, rich(run.reply))) : null,
      h("p.by", {}, [run.createdAt ? `asked ${clock(run.createdAt)}` : "", run.endedAt ? `ended ${clock(run.endedAt)}` : "", asks ? count(asks, "question") : ""].filter(Boolean).join(" · ")),
      h(
        "div.choices",
        {},
        h("button.outlined.small", { type: "button", onclick: () => go(run.sessionKey) }, icon("open"), "Open"),
        run.endedAt || !state.scopes.includes("write")
          ? null
          : h("button.outlined.small.danger", { type: "button", onclick: () => act("subagents.stop", { sessionKey: run.requester, target: run.runId }) }, icon("stop"), "Stop"),
      ),
    ]);
    const below = above.has(run.sessionKey) ? [] : state.childrenOf(run.sessionKey);
    if (below.length && !item.below.parentNode) item.append(item.below);
    if (!below.length) item.below.remove();
    else drawTree(item.below, below, new Set([...above, run.sessionKey]));
  }

  /** Open a run in the tree. */
  function open(run) {
    const details = tree.keyed?.get(run.runId)?.firstChild;
    if (!details) return;
    details.open = true;
    details.scrollIntoView({ block: "nearest" });
    details.firstChild.focus();
  }

  return { node, draw, open };
}

// The conversation of the chosen agent: prompts, thinking, text, calls with their results side by side; the moment's place is marked.

import { copyFrom, h, iconButton, swap } from "../base/dom.js";
import { oneLine, rich, visible } from "../base/texts.js";
import { paced } from "./pace.js";
import { seconds } from "./words.js";

const LINES = 20;
const PAGE = 200;
const CHIPS = 24;

export function makeTalk({ model, seen, source, go }) {
  const head = h("div.tools");
  const log = h("div.talk", { role: "log", tabindex: "0", "aria-label": "Conversation" });
  const node = h("section.view-talk", { "aria-label": "Conversation" }, head, log);
  let shown = "";
  let held = { actor: 0, from: 0, at: 0, count: 0, lines: [] };

  let read = { cards: -1, agents: [] };

  function agents() {
    if (read.cards !== model.taken.cards) read = { cards: model.taken.cards, agents: model.cards.map((card, number) => ({ card, actor: number })).filter(({ card }) => card?.definition !== undefined) };
    return read.agents;
  }


  const askSoon = paced(() => ask());
  let chips = "";
  let actor = 0;

  function draw() {
    const known = agents();
    actor = known.some((each) => each.actor === seen.actor) ? seen.actor : (known[0]?.actor ?? 0);
    const mark = `${actor}/${seen.at}/${known.length}`;
    if (mark === shown) return;
    shown = mark;
    drawHead(known);
    if (actor) askSoon();
    else log.replaceChildren(h("p.blank", {}, "No agent of this run has a conversation yet."));
  }

  function drawHead(known) {
    const mark = `${actor}/${known.length}/${model.taken.cards}`;
    if (mark === chips) return;
    chips = mark;
    const first = known.slice(0, CHIPS);
    if (actor && !first.some((each) => each.actor === actor)) first.unshift({ actor, card: model.card(actor) });
    head.replaceChildren(
      ...first.map((each) => h("button.chip", { "data-actor": model.lists.actors[each.actor], "aria-pressed": String(each.actor === actor), onclick: () => go({ actor: each.actor }) }, visible(model.name(each.actor)), h("small", {}, ` ${oneLine(each.card.definition, 30)}`))),
      known.length > CHIPS ? h("span.muted", {}, `${known.length - CHIPS} more: choose one in the tree`) : "",
      iconButton("copy", "Copy the conversation as Markdown", ({ currentTarget }) => copyAll(actor, currentTarget)),
    );
  }

  async function ask() {
    const mark = shown;
    try {
      const [answer, event] = await Promise.all([source.get("talk", { actor: model.lists.actors[actor], t: model.t(seen.at - 1) }), source.event(seen.at - 1).catch(() => null)]);
      if (shown !== mark) return;
      held = { actor, ...answer, call: event?.actor === model.lists.actors[actor] ? (event.call ?? "") : "" };
      show();
    } catch (error) {
      if (shown === mark) log.replaceChildren(h("p.blank", {}, visible(error.message)));
    }
  }

  async function further(from) {
    const mark = shown;
    try {
      const answer = await source.get("talk", { actor: model.lists.actors[held.actor], t: model.t(seen.at - 1), from: Math.max(0, from) });
      if (shown !== mark) return;  // another agent or moment was chosen meanwhile
      held = { ...held, ...answer };
      show(false);
    } catch (error) {
      if (shown === mark) log.replaceChildren(h("p.blank", {}, visible(error.message)));
    }
  }

  function show(toMoment = true) {
    const results = resultsOf(held);
    const parts = [];
    let isMarked = false;
    held.lines.forEach((line, place) => {
      const number = held.from + place;
      if (number >= held.at && !isMarked) {
        isMarked = true;
        parts.push(momentMark());
      }
      const made = partsOf(line, results);
      if (made.length) parts.push(h("article.turn", { class: number >= held.at ? "is-later" : "", "data-line": String(number) }, ...made));
    });
    if (!isMarked) parts.push(momentMark());
    const end = held.from + held.lines.length;
    log.dataset.actor = model.lists.actors[held.actor];
    swap(
      log,
      held.why ? h("p.blank", {}, visible(held.why)) : "",
      held.from > 0 ? h("button.outlined.small.earlier", { onclick: () => further(held.from - PAGE) }, `Earlier lines (${held.from})`) : "",
      ...parts,
      end < held.count ? h("button.outlined.small.earlier", { onclick: () => further(end) }, `Later lines (${held.count - end})`) : "",
    );
    if (toMoment) (log.querySelector(".is-chosen") ?? log.querySelector(".here"))?.scrollIntoView({ block: "center" });
  }

  function momentMark() {
    return h("p.here", {}, `event ${model.seq(seen.at - 1)} · ${seconds(model.since(seen.at - 1))}`);
  }

  function partsOf(line, results) {
    if (line.damaged) return [h("p.empty", {}, "This line is damaged.")];
    const isModel = line.message?.role === "assistant";
    const made = [];
    for (const block of blocksOf(line)) {
      if (block.type === "text" && block.text) made.push(said(line, isModel, block.text));
      else if (block.type === "thinking") made.push(h("details.thinking", {}, h("summary", {}, "Thinking"), h("div", {}, rich(block.thinking ?? ""))));
      else if (block.type === "tool_use") {
        const found = results.get(block);
        made.push(h("div.call", { "data-call": visible(block.id), class: held.call && block.id === held.call ? "is-chosen" : "" }, h("div", {}, h("h2", {}, visible(block.name), toEvent(block.id, "tool.begin", line)), folded(asText(block.input))), h("div", { class: `${found?.block.is_error ? "is-error" : ""} ${found?.isLater ? "is-later" : ""}`.trim() }, h("h2", {}, found ? (found.block.is_error ? "failed" : "result") : "no result yet", found ? toEvent(block.id, "tool.end", found.line) : ""), found ? folded(resultText(found.block)) : "")));
      } else if (block.type === "tool_result" && !results.has(block)) made.push(h("div.call", {}, h("div", {}, h("h2", {}, "result")), h("div", { class: block.is_error ? "is-error" : "" }, folded(resultText(block)))));
      else if (!["text", "tool_result"].includes(block.type)) made.push(h("p.empty", {}, visible(`${block.type}`)));
    }
    return made;
  }

  function said(line, isModel, text) {
    const origin = line.origin?.kind ?? (line.notices ? "notice" : line.isCompactSummary ? "summary" : "");
    const who = isModel ? model.name(held.actor) : origin ? oneLine(origin, 40) : "prompt";
    const body = h("div.text", {}, isModel ? rich(text) : visible(text));
    const isLong = !isModel && text.split("\n").length > LINES;
    return h("div.said", { class: isModel ? "by-model" : origin ? "by-notice" : "by-user" }, h("h2", {}, visible(who), timeOf(line, isModel)), isLong ? h("details", {}, h("summary", {}, oneLine(text, 120)), body) : body);
  }

  /** Return a button that leads to the event of a call, which names the call as its line does. */
  function toEvent(call, kind, line) {
    return h("button.link.to-event", { title: `Go to its event, ${kind}`, onclick: () => lead(call, kind, line) }, "event");
  }

  /** Go to the event of a call; where ids are used again, to the one that is nearest in time to the line. */
  async function lead(call, kind, line) {
    const { found } = await source.get("search", { words: String(call) }).catch(() => ({ found: [] }));
    const t = (Date.parse(line.timestamp) - Date.parse(model.run.started)) / 1000 || 0;
    const away = (at) => Math.abs(model.t(at) - t);
    const [position] = found.filter((at) => model.kind(at) === kind && model.tables.events.actor[at] === held.actor).sort((a, b) => away(a) - away(b));
    if (position !== undefined) go({ at: position + 1, actor: held.actor });
  }

  /** Return the time of a line; it leads to the event before it that it came from, which is found by the time. */
  function timeOf(line, isModel) {
    const words = (line.timestamp ?? "").slice(11, 19);
    const t = (Date.parse(line.timestamp) - Date.parse(model.run.started)) / 1000;
    if (Number.isNaN(t)) return h("time", {}, words);
    const kind = isModel ? "model.end" : "message.leased";
    return h("time", {}, h("button.link", { title: `Go to its event, ${kind}, matched by its time`, onclick: () => leadTo(t, kind) }, words));
  }

  function leadTo(t, kind) {
    // Transcripts round down to milliseconds.
    let at = model.countAt(t + 0.001) - 1;
    while (at >= 0 && !(model.kind(at) === kind && model.tables.events.actor[at] === held.actor)) at -= 1;
    if (at >= 0) go({ at: at + 1, actor: held.actor });
  }

  async function copyAll(actor, button) {
    const made = [`# ${model.name(actor)}`];
    for (let from = 0, count = 1; from < count; from += PAGE) {
      const answer = await source.get("talk", { actor: model.lists.actors[actor], t: model.t(model.count - 1), from });
      count = answer.count;
      for (const line of answer.lines)
        for (const block of blocksOf(line)) {
          if (block.type === "text") made.push(`## ${line.message.role}`, block.text);
          else if (block.type === "thinking") made.push("## thinking", block.thinking);
          else if (block.type === "tool_use") made.push(`## call ${block.name}`, `\`\`\`\n${asText(block.input)}\n\`\`\``);
          else if (block.type === "tool_result") made.push("## result", `\`\`\`\n${resultText(block)}\n\`\`\``);
        }
    }
    await copyFrom(button, made.join("\n\n"));
  }

  return { node, draw };
}

function blocksOf(line) {
  const content = line.message?.content;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block) => block && typeof block === "object") : [];
}

/**
 * Pair calls and results: a result is the one of the earliest call before it that has its id and none yet, because some models use ids again.
 *
 * The keys are the blocks of both; a call has its result, whether that is behind the moment, and its line.
 */
function resultsOf({ lines, from, at }) {
  const open = new Map();
  const pairs = new Map();
  lines.forEach((line, place) => {
    for (const block of blocksOf(line)) {
      if (block.type === "tool_use") open.set(block.id, [...(open.get(block.id) ?? []), block]);
      const call = block.type === "tool_result" ? open.get(block.tool_use_id)?.shift() : undefined;
      if (call) pairs.set(call, { block, line, isLater: from + place >= at }).set(block, call);
    }
  });
  return pairs;
}

function resultText(block) {
  if (typeof block.content === "string") return block.content;
  return (Array.isArray(block.content) ? block.content : []).map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}

function asText(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return JSON.stringify(value, null, 1);
  return Object.entries(value).map(([name, part]) => `${name}: ${typeof part === "string" ? part : JSON.stringify(part)}`).join("\n");
}

/** Return a text of which only the first lines are shown, until more are asked for. */
function folded(text) {
  const lines = visible(text).split("\n");
  const long = lines.length > LINES || text.length > 4000;
  if (!long) return h("pre", { tabindex: "0" }, lines.join("\n"));
  const pre = h("pre", { tabindex: "0" }, lines.slice(0, LINES).join("\n").slice(0, 4000));
  const more = h("button.link", { onclick: () => { pre.textContent = lines.join("\n"); more.remove(); pre.focus(); } }, `Show all ${lines.length.toLocaleString("en")} lines`);
  return h("div", {}, pre, more);
}

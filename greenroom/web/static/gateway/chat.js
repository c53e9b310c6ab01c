// The chat of one session: what was said, what is being said, and what could not be shown.

import { copy, h, icon, iconButton, keyed, redraw } from "../base/dom.js";
import { clock, count, oneLine, rich, span, visible } from "../base/texts.js";
import { approvalCard, stateOfRun } from "./cards.js";
import { nameOf, partsOf } from "./state.js";

const NEAR_PX = 90;
const FOLDED_LINES = 20;

/** Make the chat; `ask` asks the gateway for something, `act` changes something and tells failures. */
export function makeChat({ state, go, readOlder, act, togglePanel, showRun, resend, back }) {
  const title = h("h1", { tabindex: "-1" });
  const under = h("div.under");
  const stop = h("button.outlined.danger", { type: "button", hidden: true, onclick: () => act("chat.abort", { sessionKey: state.current }) }, icon("stop"), h("span", {}, "Stop"));
  const panelButton = iconButton("panel", "Activity (.)", togglePanel, { class: "toggle-panel" });
  const badge = h("span.count", { hidden: true });
  panelButton.append(badge);
  const entries = h("div.entries");
  const cards = h("div.asks", { "aria-label": "Questions", role: "group" });
  const log = h("div.log", { tabindex: "0", role: "log", "aria-label": "Conversation", onscroll: drawJump }, entries);
  const jump = h("button.jump", { type: "button", hidden: true, onclick: () => toEnd() }, icon("chevron"), "Newest");
  const node = h(
    "main.chat",
    {},
    h("header.bar", {}, iconButton("back", "All sessions", back, { class: "to-list" }), h("div.heading", {}, title, under), stop, panelButton),
    h("div.view", {}, log, jump),
    cards,
  );
  let shownKey = null;
  let wasAtEnd = true;

  function draw(key) {
    const isOther = key !== shownKey;
    wasAtEnd = isOther || isAtEnd();
    const height = log.scrollHeight;
    const top = log.scrollTop;
    if (isOther) {
      entries.keyed = new Map();
      entries.replaceChildren();
      shownKey = key;
    }
    drawHead(key);
    const had = entries.keyed?.size ?? 0;
    const all = entriesOf(key);
    keyed(entries, all, (entry) => entry.key, (entry) => makeEntry(entry), (element, entry) => updateEntry(element, entry));
    const asks = state.scopes.includes("approve") ? state.questionsOf(key) : [];
    keyed(cards, asks, (ask) => ask.approvalId, (ask) => approvalCard(ask, { state, act, go, isHere: true }), () => {});
    const older = had && all.length > had && all[0].key === "earlier" && top < 10;
    if (wasAtEnd) toEnd();
    else if (older) log.scrollTop = top + (log.scrollHeight - height);
    drawJump();
  }

  function drawHead(key) {
    const row = state.sessions.get(key) ?? { key };
    const run = state.runOf(key);
    const parent = row.spawnedBy ?? run?.requester;
    const activity = state.activity(key);
    const name = titleOf(row);
    redraw(title, [name], () => name);
    const model = row.settings?.model ?? state.agents.find((agent) => agent.id === partsOf(key).agent)?.model;
    redraw(under, [key, parent, model, activity, row.label], () => [
      parent
        ? h("button.crumb", { type: "button", onclick: () => go(parent) }, icon("back"), titleOf(state.sessions.get(parent) ?? { key: parent }))
        : null,
      h("button.key", { type: "button", title: "Copy the key of this session", onclick: (event) => copied(event, key) }, oneLine(key, 120)),
      model ? h("span.model", {}, oneLine(model, 40)) : null,
    ]);
    stop.hidden = !activity || !state.scopes.includes("write");
    badge.hidden = !state.waiting;
    badge.textContent = String(state.waiting);
  }

  /** The name of a session where its agent does not stand beside it. */
  function titleOf(row) {
    const { agent, kind } = partsOf(row.key);
    return kind === "main" && !row.label ? agentName(state, agent) : nameOf(row, state.runs);
  }

  function entriesOf(key) {
    const chat = state.chat(key);
    const made = [];
    if (chat.more) made.push({ key: "earlier", kind: "earlier" });
    let day = "";
    let tools = null;
    const marks = [
      ...state.childrenOf(key).filter((run) => run.endedAt).map((run) => ({ key: `run:${run.runId}`, kind: "child", run, at: run.endedAt })),
      ...chat.notes.map((note) => ({ key: `n:${note.at}:${note.kind}:${oneLine(note.text, 40)}`, ...note })),
    ].sort((a, b) => b.at - a.at);
    const marksBefore = (at) => {
      while (marks.length && marks.at(-1).at <= at) {
        const mark = marks.pop();
        if (mark.kind !== "child" || made.some((entry) => entry.at)) made.push(mark);
        tools = null;
      }
    };
    chat.messages.forEach((message, number) => {
      const at = Date.parse(message.at) || (message.at_s ?? 0) * 1000;
      const date = at ? new Date(at).toDateString() : day;
      if (date !== day) {
        made.push({ key: `day:${date}`, kind: "day", at });
        day = date;
        tools = null;
      }
      marksBefore(at);
      const id = message.id || `${chat.sessionId}:${(chat.more ?? 0) + number}`;
      if (message.role === "toolResult") {
        if (!tools) made.push((tools = { key: `tools:${id}`, kind: "tools", steps: [] }));
        tools.steps.push(message.text);
        return;
      }
      tools = null;
      made.push({ key: `m:${id}`, kind: kindOf(message), text: message.text, origin: message.origin, isCut: message.truncated, at });
    });
    marksBefore(Infinity);
    for (const step of chat.steps)
      made.push(step.tool ? { key: `s:${step.id}`, kind: "step", ...step } : { key: `s:${step.id}`, kind: "assistant", text: step.text });
    for (const each of chat.sending) made.push({ key: `p:${each.id}`, kind: "sending", ...each });
    if (chat.live?.text) made.push({ key: "live", kind: "live", ...chat.live });
    else if (state.activity(key) === "working") made.push({ key: "thinking", kind: "thinking" });
    if (chat.isRead && !made.length) made.push({ key: "empty", kind: "empty", session: key });
    if (!chat.isRead) made.push({ key: "reading", kind: "reading", isFailed: chat.isFailed });
    return made;
  }

  function makeEntry(entry) {
    const element = MAKERS[entry.kind](entry);
    element.shown = entry;
    return element;
  }

  function updateEntry(element, entry) {
    if (JSON.stringify(element.shown) === JSON.stringify(entry)) return;
    const fresh = MAKERS[entry.kind](entry);
    const isOpen = element.open;
    element.className = fresh.className;
    element.replaceChildren(...fresh.childNodes);
    if (isOpen !== undefined) element.open = isOpen;
    element.shown = entry;
  }

  const MAKERS = {
    earlier: () => h("button.earlier.outlined", { type: "button", onclick: () => readOlder(state.current) }, "Show earlier messages"),
    day: ({ at }) => h("div.day", {}, h("span", {}, new Date(at).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" }))),
    user: (entry) => said("user", "You", entry),
    other: (entry) => said("user other", `From ${oneLine(originOf(entry.origin), 60)}`, entry),
    assistant: (entry) => said("assistant", agentOf(), entry),
    live: (entry) => {
      const element = said("assistant live", agentOf(), entry);
      if (entry.isHoled) element.querySelector(".text").prepend(h("p.hole", {}, "… the beginning comes with the whole reply"));
      return element;
    },
    notice: ({ text, origin }) =>
      h("details.note.notice", {}, h("summary", {}, icon("tree"), h("span", {}, oneLine(text, 160)), h("small", {}, originOf(origin))), h("div.text", {}, rich(text))),
    child: ({ run }) => {
      const [name, mark, word] = stateOfRun(run);
      const took = run.startedAt ? ` · ${span(run.endedAt - run.startedAt)}` : "";
      return h(
        "div.ended",
        {},
        h("span.state", { class: mark }, icon(name)),
        h("button", { type: "button", onclick: () => showRun(run) }, oneLine(run.label || run.task, 80)),
        h("small", {}, `${word}${took}`),
      );
    },
    tools: ({ steps }) => toolsOf(steps),
    step: ({ tool, summary }) => h("div.step", {}, icon("tool"), h("b", {}, oneLine(tool, 60)), h("span", {}, oneLine(summary, 160))),
    thinking: () => h("div.thinking", { role: "status" }, h("span.dots", { "aria-hidden": "true" }, h("i"), h("i"), h("i")), h("span.sr", {}, "Working")),
    sending: ({ id, text, state: how, why }) => {
      const element = said("user sending", "You", { text });
      element.append(h("small.fate", { class: how === "failed" ? "bad" : null }, WORDS[how] ?? how, why ? `: ${oneLine(why, 200)}` : ""));
      if (how === "failed") element.append(h("button.outlined.small", { type: "button", onclick: () => resend(id) }, "Send again"));
      return element;
    },
    command: ({ text, asked }) => h("div.note.command", {}, h("small", {}, oneLine(asked, 80)), h("div.text", {}, ...plain(text))),
    error: ({ text }) => h("div.note.bad", { role: "alert" }, icon("alert"), h("span", {}, visible(text))),
    aborted: ({ text }) => h("div.note", {}, icon("stop"), h("span", {}, text)),
    gap: ({ text }) => h("div.note.gap", {}, icon("alert"), h("span", {}, text)),
    reading: ({ isFailed }) => (isFailed ? h("div.note.bad", {}, icon("alert"), h("span", {}, "The conversation could not be read.")) : skeleton()),
    empty: ({ session }) => emptyChat(state, session),
  };

  function agentOf() {
    return agentName(state, partsOf(state.current).agent);
  }

  function isAtEnd() {
    return log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_PX;
  }

  function toEnd() {
    log.scrollTop = log.scrollHeight;
  }

  function drawJump() {
    jump.hidden = isAtEnd();
  }

  return { node, draw, toEnd, focusTitle: () => title.focus(), scroll: log };
}

const WORDS = {
  sending: "Sending…",
  offline: "Will be sent when the connection is back",
  sent: "Accepted",
  queued: "Waits for its turn",
  steered: "The agent reads it at its next step",
  failed: "Not sent",
};

function kindOf({ role, origin }) {
  if (role === "assistant") return "assistant";
  const kind = origin?.kind ?? "human";
  if (kind === "human") return "user";
  return kind === "channel" ? "other" : "notice";
}

function originOf(origin) {
  return oneLine(origin?.name ?? origin?.from ?? origin?.server ?? origin?.kind ?? "", 60);
}

function said(classes, who, { text, at, isCut }) {
  return h(
    "article.said",
    { class: classes },
    h("header", {}, h("span.who", {}, who), at ? h("time", { datetime: new Date(at).toISOString() }, clock(at)) : null, copyButton(text)),
    h("div.text", {}, rich(text), isCut ? h("p.hole", {}, "… the rest is in the transcript") : null),
  );
}

function copyButton(text) {
  return iconButton("copy", "Copy this message", (event) => copied(event, text), { class: "copy" });
}

async function copied(event, text) {
  const button = event.currentTarget;
  if (!(await copy(text))) return;
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
}

function plain(text) {
  return [h("pre", {}, visible(text))];
}

const CALL = /^\[calls ([^\]]*)\] ?(.*)/;

function toolsOf(steps) {
  const calls = steps.filter((text) => CALL.test(text)).flatMap((text) => text.split("\n").map((line) => CALL.exec(line)?.slice(1) ?? [line, ""]));
  const results = steps.filter((text) => !CALL.test(text));
  const times = new Map();
  for (const [name] of calls) times.set(name, (times.get(name) ?? 0) + 1);
  const words = calls.length ? [...times].map(([name, number]) => `${oneLine(name, 60)}${number > 1 ? ` ×${number}` : ""}`).join(", ") : count(results.length, "result");
  return h(
    "details.tools",
    {},
    h("summary", {}, icon("tool"), h("span", {}, words)),
    ...calls.filter(([, about]) => about).map(([name, about]) => h("div.step", {}, h("b", {}, oneLine(name, 60)), h("span", {}, oneLine(about, 160)))),
    ...results.map((text) => {
      const lines = visible(text).split("\n");
      const shown = h("pre", { tabindex: "0" }, lines.slice(0, FOLDED_LINES).join("\n"));
      if (lines.length <= FOLDED_LINES) return shown;
      const more = h("button.outlined.small", { type: "button", onclick: () => { shown.textContent = lines.join("\n"); more.remove(); } }, `Show ${count(lines.length - FOLDED_LINES, "more line")}`);
      return h("div", {}, shown, more);
    }),
  );
}

function agentName(state, id) {
  return oneLine(state.agents.find((each) => each.id === id)?.name ?? id, 40);
}

function skeleton() {
  return h("div.skeleton", { role: "status", "aria-label": "Reading the conversation" }, h("i"), h("i"), h("i"));
}

function emptyChat(state, key) {
  return h(
    "div.blank",
    {},
    icon("chat"),
    h("h2", {}, `Talk to ${agentName(state, partsOf(key).agent)}`),
    h("p", {}, "Nothing was said here yet. Write a message below, or ", h("kbd", {}, "/"), " for commands."),
  );
}

// The page of a gateway: it connects state, connection and views. The address names the session that is shown: `#s=KEY`.

import { h, icon } from "../base/dom.js";
import { clock, oneLine, span } from "../base/texts.js";
import { makeChat } from "./chat.js";
import { makeComposer } from "./composer.js";
import { commandLine, lockedScreen, showHealth, showHelp } from "./dialogs.js";
import { makePanel } from "./panel.js";
import { makeSidebar } from "./sidebar.js";
import { Gateway } from "./rpc.js";
import { Seen } from "./seen.js";
import { State } from "./state.js";

const SESSIONS = 200;
const MESSAGES = 60;
const STATUS_MS = 15_000;

const state = new State();
const seen = new Seen();
const root = document.getElementById("app");
state.current = placeOf(location.hash).s ?? "";

const gateway = new Gateway({ onState: linkMoved, onHello: greeted, onEvent: heard });
const sidebar = makeSidebarLater();
const chat = makeChat({ state, go, readOlder, act, togglePanel, showRun, back: () => root.classList.remove("in-chat") });
const composer = makeComposer({ state, send });
const panel = makePanel({ state, go, act, readReport, close: () => root.classList.remove("with-panel") });
const banner = h("div.banner", { role: "status", hidden: true });
const toasts = h("div.toasts", { role: "alert" });
chat.node.append(composer.node);

// --- the address ---

function placeOf(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

function go(key) {
  if (key === state.current) {
    root.classList.add("in-chat");
    return;
  }
  history.pushState(null, "", `#${new URLSearchParams({ s: key })}`);
  show(key);
}

function show(key) {
  state.current = key;
  root.classList.add("in-chat");
  const now = state.chat(key);
  now.unread = 0;
  const row = state.sessions.get(key);
  if (row) seen.note(row);
  if (!now.isRead || now.isStale) anew(`history:${key}`);
  anew(`children:${key}`);
  draw();
  chat.toEnd();
}

addEventListener("hashchange", () => {
  const place = placeOf(location.hash);
  if (place.code) takeCode(place);
  else if (place.s && place.s !== state.current) show(place.s);
});

function takeCode({ code, s }) {
  const key = s ?? state.current;
  history.replaceState(null, "", key ? `#${new URLSearchParams({ s: key })}` : location.pathname);
  gateway.open(code);
}

// --- the connection ---

let brokeAt = 0;

function linkMoved(link) {
  if (link.name !== "open" && state.link.name === "open") brokeAt = Date.now();
  state.link = link;
  if (link.name === "unauthorized" && !state.agents.length) {
    root.className = "";
    root.replaceChildren(lockedScreen(link));
    return;
  }
  for (const each of state.chats.values())
    for (const mine of each.sending) if (mine.state === "sending" && link.name !== "open") mine.state = "offline";
  drawSoon();
}

async function greeted(hello, again) {
  state.commands = hello.snapshot?.commands ?? [];
  state.scopes = hello.scopes;
  state.stopping = "";
  for (const each of state.chats.values()) {
    each.live = null;
    each.isStale = true;
    for (const mine of each.sending) if (mine.state === "offline") mine.state = "sending";
  }
  await Promise.all([anew("agents"), anew("sessions"), anew("status"), anew("approvals"), anew("deliveries"), anew("pairings")]);
  state.current ||= state.listed()[0]?.key ?? "";
  if (!state.current) return; // the connection broke before the first answers
  if (!root.contains(chat.node)) root.replaceChildren(sidebar.node, h("div.middle", {}, banner, chat.node), panel.node, toasts);
  draw();
  const now = state.chat(state.current);
  const isTold = again && brokeAt;
  await Promise.all([anew(`history:${state.current}`), anew(`children:${state.current}`)]);
  if (isTold) {
    const text = `The connection was lost at ${clock(brokeAt)} for ${span(Date.now() - brokeAt)}. The conversation was read again.`;
    now.notes.push({ kind: "gap", text, at: Date.now() });
    brokeAt = 0;
  }
  draw();
  chat.toEnd();
}

function heard(name, payload) {
  const wanted = state.take(name, payload, state.current);
  if (name === "approval" && payload.expiresMs) state.expires.set(payload.approvalId, payload.expiresMs);
  if (name === "gap") noteGap(payload);
  for (const each of wanted) {
    const [what, key] = split(each);
    if (what === "history" && key !== state.current) state.chat(key).isStale = true;
    else if (what === "children" && key !== state.current) continue;
    else if (what === "report" && !state.runs.get(key)?.wasAsked) continue;
    else anew(each);
  }
  if (name === "chat" && payload.state !== "delta" && payload.sessionKey === state.current) {
    const row = state.sessions.get(state.current);
    if (row) seen.note({ ...row, updatedAt: Date.now() });
  }
  if (name === "agent" && !state.sessions.has(payload.sessionKey)) anew("sessions");
  drawSoon();
}

function noteGap({ sessionKeys }) {
  if (sessionKeys === null || sessionKeys === undefined || sessionKeys.includes(state.current))
    state.chat(state.current).notes.push({ kind: "gap", text: "This page was too slow and missed something. The conversation was read again.", at: Date.now() });
}

// --- reading anew: one question of a kind at a time, and once more if it was wanted meanwhile ---

const reading = new Map();

function split(name) {
  const at = name.indexOf(":");
  return at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)];
}

function anew(name) {
  const running = reading.get(name);
  if (running) {
    running.again = true;
    return running.promise;
  }
  const entry = { again: false };
  entry.promise = (async () => {
    const [what, key] = split(name);
    do {
      entry.again = false;
      try {
        await READERS[what](key);
      } catch (error) {
        if (what === "history" && error.code === "not_found") state.readHistory(key, { messages: [], sessionId: "" });
        else if (what === "history" && error.code !== "offline") state.chat(key).isFailed = true;
      }
    } while (entry.again);
    reading.delete(name);
    drawSoon();
  })();
  reading.set(name, entry);
  return entry.promise;
}

const READERS = {
  agents: async () => (state.agents = (await gateway.call("agents.list")).agents),
  sessions: async () => state.readSessions((await gateway.call("sessions.list", { limit: SESSIONS, messageLimit: 1 })).sessions),
  status: async () => (state.status = await gateway.call("status")),
  approvals: async () => {
    const { approvals } = await gateway.call("approvals.list");
    state.approvals = new Map(approvals.map((ask) => [ask.approvalId, { ...ask, expiresMs: state.expires.get(ask.approvalId) }]));
  },
  deliveries: async () => {
    const { deliveries } = await gateway.call("deliveries.list", { state: "open" });
    state.deliveries = new Map(deliveries.map((row) => [row.deliveryId, row]));
  },
  pairings: async () => {
    if (gateway.can("pairing.list")) state.pairings = (await gateway.call("pairing.list")).pairings;
  },
  history: async (key) => {
    const askedAt = Date.now();
    state.readHistory(key, await gateway.call("chat.history", { sessionKey: key, limit: MESSAGES, includeTools: true }), { askedAt });
  },
  children: async (key) => {
    if (!state.sessions.has(key)) return;
    const { subagents } = await gateway.call("subagents.list", { sessionKey: key });
    state.readRuns(key, subagents);
    for (const run of subagents)
      if ([...state.sessions.values()].some((row) => row.spawnedBy === run.sessionKey)) anew(`children:${run.sessionKey}`);
  },
  report: async (runId) => {
    const run = state.runs.get(runId);
    if (!run?.requester) return;
    const info = await gateway.call("subagents.info", { sessionKey: run.requester, target: runId });
    state.runs.set(runId, { ...state.runs.get(runId), ...info, wasAsked: true });
  },
};

function readReport(run) {
  state.runs.set(run.runId, { ...state.runs.get(run.runId), wasAsked: true });
  anew(`report:${run.runId}`);
}

async function readOlder(key) {
  const { more } = state.chat(key);
  try {
    const answer = await gateway.call("chat.history", { sessionKey: key, limit: MESSAGES, includeTools: true, before: more });
    state.readHistory(key, answer, { isOlder: true });
  } catch (error) {
    toast(error);
  }
  draw();
}

// --- changing ---

/** Change something; returns the answer, or null after a failure, which is told. */
async function act(method, params) {
  try {
    return await gateway.change(method, params);
  } catch (error) {
    toast(error);
    return null;
  } finally {
    if (method.startsWith("approvals")) anew("approvals");
    if (method.startsWith("deliveries")) anew("deliveries");
    if (method.startsWith("pairing")) anew("pairings");
    drawSoon();
  }
}

async function send(text) {
  const key = state.current;
  const now = state.chat(key);
  const mine = { id: crypto.randomUUID(), text, state: state.link.name === "open" ? "sending" : "offline" };
  now.sending.push(mine);
  if (state.sessions.has(key)) state.sessions.get(key).messages = [{ role: "user", text }];
  draw();
  chat.toEnd();
  try {
    const answer = await gateway.change("chat.send", { sessionKey: key, message: text });
    if (answer.status === "command") {
      now.sending = now.sending.filter((each) => each !== mine);
      if (answer.reply) now.notes.push({ kind: "command", asked: text, text: answer.reply, at: Date.now() });
      for (const each of ["sessions", `history:${key}`, `children:${key}`]) anew(each);
    } else {
      mine.state = answer.status === "started" ? "sent" : answer.status;
      if (!state.sessions.has(key)) anew("sessions");
      if (now.messages.some((each) => each.role === "user" && each.text.trim() === text.trim())) anew(`history:${key}`);
    }
  } catch (error) {
    Object.assign(mine, { state: "failed", why: error.message });
  }
  drawSoon();
}

function toast(error) {
  const node = h("div.toast", {}, icon("alert"), h("span", {}, oneLine(error.message, 300)));
  toasts.append(node);
  setTimeout(() => node.remove(), 8000);
}

// --- drawing ---

let planned = 0;

function drawSoon() {
  planned ||= requestAnimationFrame(draw);
}

function draw() {
  cancelAnimationFrame(planned);
  planned = 0;
  if (!root.contains(chat.node)) return;
  sidebar.draw(state.current);
  chat.draw(state.current);
  composer.draw(state.current);
  panel.draw(state.current);
  drawBanner();
  document.title = `${state.waiting ? `(${state.waiting}) ` : ""}greenroom`;
}

let bannerOf = "";

function drawBanner() {
  const { link, stopping } = state;
  const wait = link.name === "waiting" ? Math.max(1, Math.round((link.retryAt - Date.now()) / 1000)) : 0;
  const from = JSON.stringify([link.name, wait, stopping]);
  if (from === bannerOf) return;
  bannerOf = from;
  const is = link.name;
  banner.hidden = is === "open" && !stopping;
  banner.className = `banner ${is === "unauthorized" || is === "ended" ? "bad" : ""}`;
  if (is === "unauthorized")
    banner.replaceChildren(icon("alert"), h("span", {}, "The gateway was started again. What you see is from before, and nothing is sent. Open the address that this prints in this tab:"), commandLine("greenroom gateway open"));
  else if (is === "ended") banner.replaceChildren(icon("alert"), h("span", {}, `The gateway refused this page: ${oneLine(link.why, 200)}`));
  else if (is === "waiting")
    banner.replaceChildren(icon("alert"), h("span", {}, `${stopping ? "The gateway has stopped." : "The connection broke."} What you see may be old. Next try in ${wait} s.`), h("button.outlined.small", { type: "button", onclick: () => gateway.socket.hurry() }, "Try now"));
  else if (is === "connecting") banner.replaceChildren(icon("clock"), h("span", {}, "Connecting…"));
  else if (stopping) banner.replaceChildren(icon("alert"), h("span", {}, `The gateway stops: ${stopping}. Nothing new is taken.`));
}

function togglePanel() {
  root.classList.toggle(innerWidth >= 1180 ? "without-panel" : "with-panel");
}

function showRun(run) {
  if (getComputedStyle(panel.node).display === "none") togglePanel();
  panel.open(run);
}

function makeSidebarLater() {
  return makeSidebar({
    state,
    seen,
    go,
    showHelp: () => showHelp(state.commands),
    showHealth: async () => {
      try {
        state.health = await gateway.call("health");
        showHealth(state.health);
      } catch (error) {
        toast(error);
      }
    },
  });
}

addEventListener("keydown", (event) => {
  const isTyping = /^(input|textarea|select)$/i.test(event.target.localName);
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    if (isTyping) event.target.blur();
    root.classList.remove("with-panel");
    return;
  }
  if (isTyping) return;
  const action = { "/": sidebar.find, j: () => sidebar.step(1), k: () => sidebar.step(-1), i: composer.focus, ".": togglePanel, g: chat.toEnd, "?": () => showHelp(state.commands) }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

setInterval(() => {
  if (document.hidden) return;
  if (state.link.name === "open") anew("status");
}, STATUS_MS);
setInterval(() => document.hidden || drawSoon(), 1000);

const place = placeOf(location.hash);
if (place.code) takeCode(place);
else gateway.open();

// What the page knows of a gateway. Rule 1: the gateway's answers are the truth; events only keep it fresh. Rule 2: what may be missing is
// marked, until it was read anew. It knows no elements.

import { oneLine } from "../base/texts.js";

/** Return the parts of a session's key. */
export function partsOf(key) {
  const [, agent = "", kind = "", ...rest] = String(key).split(":").map((part) => decode(part));
  return { agent, kind, rest, isChild: kind === "subagent" };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return a name for people: a label, or words made of the key. */
export function nameOf(session, runs = new Map()) {
  if (session.label) return oneLine(session.label, 80);
  const { kind, rest, isChild } = partsOf(session.key);
  if (isChild) {
    const run = [...runs.values()].find((each) => each.sessionKey === session.key && (each.label || each.task));
    return oneLine(run?.label || run?.task || `sub-agent ${rest[0]?.slice(0, 8)}`, 80);
  }
  if (kind === "main") return "Main";
  if (kind === "cron") return oneLine(`job ${rest[0] ?? ""}`, 80);
  return oneLine([kind, ...rest.filter((part) => !["dm", "group", "channel"].includes(part))].join(" · "), 80);
}

const EMPTY = Object.freeze({ messages: [], more: null, isRead: false, isMissing: false });

export class State {
  constructor() {
    this.agents = [];
    this.sessions = new Map();
    this.chats = new Map();
    this.runs = new Map();
    this.approvals = new Map();
    this.expires = new Map();
    this.deliveries = new Map();
    this.pairings = [];
    this.status = null;
    this.health = null;
    this.commands = [];
    this.scopes = [];
    this.link = { name: "connecting" };
    this.current = "";
    this.stopping = "";
  }

  /** The chat of a session, as far as it is known. */
  chat(key) {
    if (!this.chats.has(key))
      this.chats.set(key, { ...EMPTY, notes: [], steps: [], live: null, sending: [], unread: 0, isStale: false });
    return this.chats.get(key);
  }

  /** Sessions for the list: main sessions of agents always, sub-agents never; those used last first. */
  listed() {
    const rows = [...this.sessions.values()].filter((row) => !partsOf(row.key).isChild && row.state !== "archived");
    for (const { id } of this.agents) {
      const key = `agent:${id}:main`;
      if (!this.sessions.has(key)) rows.push({ key, state: "", updatedAt: 0, settings: {}, isNew: true });
    }
    return rows.sort((a, b) => b.updatedAt - a.updatedAt || a.key.localeCompare(b.key));
  }

  /** The runs that a session has started, the newest first. */
  childrenOf(key) {
    return [...this.runs.values()]
      .filter((run) => run.requester === key)
      .sort((a, b) => b.createdAt - a.createdAt || a.runId.localeCompare(b.runId));
  }

  /** The run that a session of a sub-agent is for. */
  runOf(key) {
    return partsOf(key).isChild ? [...this.runs.values()].find((run) => run.sessionKey === key && run.requester) : undefined;
  }

  /** The runs of a session that have not ended. */
  openRuns(key) {
    return [...this.runs.values()].filter((run) => run.sessionKey === key && !run.endedAt);
  }

  /** What a session does now: `working`, `waiting`, or nothing. */
  activity(key) {
    const open = this.openRuns(key);
    if (open.some((run) => run.startedAt) || this.chats.get(key)?.live || this.sessions.get(key)?.isBusy) return "working";
    return open.length ? "waiting" : "";
  }

  /** Questions of a session and of what it has started. */
  questionsOf(key) {
    const of = new Set([key, ...this.descendants(key)]);
    return [...this.approvals.values()].filter((question) => of.has(question.sessionKey));
  }

  descendants(key, seen = new Set()) {
    for (const run of this.childrenOf(key)) {
      if (seen.has(run.sessionKey)) continue;
      seen.add(run.sessionKey);
      this.descendants(run.sessionKey, seen);
    }
    return seen;
  }

  /** Deliveries that a person has to decide about. */
  blocked() {
    return [...this.deliveries.values()].filter((row) => row.state === "blocked");
  }

  /** The number of things that wait for a person. */
  get waiting() {
    const askers = this.pairings.filter((row) => !row.approved).length;
    return (this.scopes.includes("approve") ? this.approvals.size : 0) + this.blocked().length + askers;
  }

  // --- answers ---

  readSessions(rows) {
    const had = this.sessions;
    this.sessions = new Map(rows.map((row) => [row.key, { ...had.get(row.key), ...row }]));
    for (const [key, row] of had) if (partsOf(key).isChild && !this.sessions.has(key)) this.sessions.set(key, row);
  }

  /** Take a part of a conversation; `askedAt` is when it was asked for. */
  readHistory(key, answer, { isOlder = false, askedAt = 0 } = {}) {
    const chat = this.chat(key);
    const isReset = chat.sessionId && answer.sessionId !== chat.sessionId;
    chat.messages = isOlder && !isReset ? [...answer.messages, ...chat.messages] : answer.messages;
    if (isReset) chat.notes = [];
    if (!isOlder) chat.steps = chat.steps.filter((step) => step.at > askedAt);
    chat.more = answer.nextOffset ?? null;
    chat.sessionId = answer.sessionId;
    chat.isRead = true;
    chat.isMissing = false;
    chat.isStale = false;
    const texts = new Set(answer.messages.filter((each) => each.role === "user").map((each) => each.text.trim()));
    chat.sending = chat.sending.filter((each) => each.state !== "sent" || !texts.has(each.text.trim()));
  }

  readRuns(key, rows) {
    for (const [id, run] of this.runs) if (run.requester === key) this.runs.delete(id);
    for (const row of rows) this.runs.set(row.runId, { requester: key, ...row });
  }

  // --- events ---

  /** Take an event into account; returns what has to be read anew: names such as `history:KEY`. */
  take(name, payload, current) {
    const key = payload.sessionKey ?? payload.key ?? "";
    switch (name) {
      case "session":
        this.sessions.set(payload.key, { ...this.sessions.get(payload.key), ...payload });
        return [];
      case "agent":
        return this.takeRun(key, payload);
      case "chat":
        return this.takeChat(key, payload, current);
      case "approval":
        if (payload.state === "answered") this.approvals.delete(payload.approvalId);
        return payload.state === "answered" ? [] : ["approvals"];
      case "pairing":
        return ["pairings"];
      case "delivery":
        if (payload.state === "settled" || payload.state === "dismissed") this.deliveries.delete(payload.deliveryId);
        else this.deliveries.set(payload.deliveryId, payload);
        return ["status"];
      case "shutdown":
        this.stopping = oneLine(payload.reason ?? "") || "it was told to";
        return [];
      case "gap":
        return this.takeGap(payload);
      default:
        return ["status"];
    }
  }

  takeRun(key, payload) {
    const chat = this.chat(key);
    if (payload.phase === "tool") {
      if (chat.live?.text) chat.steps.push({ id: `before:${payload.callId}`, text: chat.live.text, at: Date.now() });
      if (chat.live) chat.live = { ...chat.live, text: "", isHoled: false };
      chat.steps.push({ id: payload.callId, tool: payload.tool, summary: payload.summary ?? "", at: Date.now() });
      return [];
    }
    this.runs.set(payload.runId, { ...this.runs.get(payload.runId), ...payload });
    const row = this.sessions.get(key);
    if (row) row.updatedAt = Math.max(row.updatedAt, payload.endedAt ?? payload.startedAt ?? payload.createdAt ?? 0);
    if (row && payload.phase === "accepted" && !payload.requester && payload.task) row.messages = [{ role: "said", text: payload.task }];
    if (row && payload.phase === "end") row.isBusy = this.openRuns(key).length > 0;
    if (payload.phase === "start" && !payload.requester) return ["status", `history:${key}`];
    if (payload.phase === "end" && payload.requester) return ["status", `report:${payload.runId}`, `history:${key}`];
    return ["status"];
  }

  takeChat(key, { state, message = "", at = 0, error }, current) {
    const chat = this.chat(key);
    const row = this.sessions.get(key);
    if (state === "delta") {
      const had = at === 0 ? null : chat.live;
      const isWhole = had ? had.end === at : at === 0;
      const isHoled = !isWhole || (had?.isHoled ?? false);
      chat.live = { text: (isWhole ? had?.text ?? "" : "") + message, end: at + [...message].length, isHoled };
      return [];
    }
    if (state !== "final" && chat.live?.text)
      chat.steps.push({ id: `cut:${Date.now()}`, text: chat.live.text, at: Date.now() });
    chat.live = null;
    if (row) row.isBusy = false;
    if (state === "error" || state === "aborted")
      chat.notes.push({ kind: state, text: state === "error" ? error || message || "the turn failed" : "Stopped.", at: Date.now() });
    if (row && message) row.messages = [{ role: "assistant", text: message }];
    if (key !== current && state === "final") chat.unread += 1;
    return [`history:${key}`, "status"];
  }

  takeGap({ events = [], sessionKeys }) {
    const keys = sessionKeys ?? [...this.chats.keys()];
    for (const key of keys) if (this.chats.has(key)) this.chat(key).isStale = true;
    const anew = ["sessions", "status"];
    if (events.includes("approval")) anew.push("approvals");
    if (events.includes("delivery")) anew.push("deliveries");
    if (events.includes("pairing")) anew.push("pairings");
    return [...anew, ...keys.flatMap((key) => [`history:${key}`, `children:${key}`])];
  }
}

// Events, states and numbers in words.

import { h } from "../base/dom.js";
import { oneLine, visible } from "../base/texts.js";

const ID = /a[0-9a-f]{16}/g;
const BASE = new Set(["seq", "t", "ev", "actor", "inc", "parent"]);
const SIGNS = { pending: "is-waiting", running: "is-quiet", completed: "is-ok", failed: "is-broken", killed: "is-asking" };

/** Return seconds for people: `3.1 s`, `120 ms`, `4 m 10 s`. */
export function seconds(s) {
  if (!Number.isFinite(s)) return "";
  if (s === 0) return "0 s";
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 100) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${Math.floor(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} m`;
}

/** Return a number of tokens: `950`, `12.4 k`, `1.3 M`. */
export function tokens(number) {
  if (number < 1000) return String(number);
  return number < 1e6 ? `${(number / 1000).toFixed(number < 1e5 ? 1 : 0)} k` : `${(number / 1e6).toFixed(2)} M`;
}

/** Return dollars. */
export function dollars(usd) {
  return usd === 0 ? "$0" : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

const PRICED = ["input", "output", "cache_write", "cache_read"];

/** Return the dollars of an agent's tokens by list prices; null if its model has none. */
export function costOf(model, actor, usage) {
  const prices = model.run.prices?.[model.card(actor).model];
  return prices ? PRICED.reduce((sum, kind, number) => sum + (usage[kind] * prices[number]) / 1e6, 0) : null;
}

/** Return a text in which the ids of actors are names. */
export function named(model, text) {
  return String(text).replace(ID, (id) => (model.numberOf.has(id) ? model.name(model.numberOf.get(id)) : id));
}

/** Return the fields of an event besides where it belongs, as pairs. */
export function fieldsOf(event) {
  return Object.entries(event).filter(([name]) => !BASE.has(name));
}

function short(value) {
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(short).join(", ");
  return Object.values(value).map(short).join(": ");
}

/** Return what an event says, on one line. */
export function eventWords(model, event, limit = 160) {
  const said = fieldsOf(event);
  const words = { text: 1, summary: 1, error: 1, subject: 1, state: 1, tool: 1, reason: 1, why: 1, cause: 1, owner: 1, item: 1, type: 1, path: 1, description: 1 };
  const text = said
    .filter(([name, value]) => value !== "" && value !== null && !["call", "transcript", "msg", "journal", "capacity", "behavior"].includes(name))
    .map(([name, value]) => (words[name] ? short(value) : `${name} ${short(value)}`))
    .join(" · ");
  return oneLine(named(model, text), limit);
}

/** Return the cells of an event in a list: number, kind, actor, words, time. `event` is null if its line is not at hand. */
export function cellsOf(model, at, event) {
  const { actor, failed } = model.tables.events;
  return [h("span.seq", {}, String(model.seq(at))), h("span.kind", {}, `${failed[at] ? "▲ " : ""}${visible(model.kind(at))}`), h("span.who", {}, visible(model.name(actor[at]))), h("span.what", {}, event ? eventWords(model, event, 200) : ""), h("small", {}, seconds(model.since(at)))];
}

/** Return a sign for the state of an actor: told by its shape and its title as well as by its color. */
export function stateSign(state) {
  if (!state) return h("span.state", { title: "not made yet" });
  const words = stateWords(state);
  const sign = state.is_lost ? "is-broken" : state.is_unresponsive ? "is-broken" : state.is_busy ? "is-working" : (SIGNS[state.state] ?? "is-quiet");
  return h("span.state", { class: sign, title: words, role: "img", "aria-label": words });
}

/** Show the state of an actor in an element, which is changed only if the state has another sign or other words. */
export function showState(holder, state) {
  const sign = stateSign(state);
  if (!holder.firstElementChild?.isEqualNode(sign)) holder.replaceChildren(sign);
}

/** Return the state of an actor in words. */
export function stateWords(state) {
  if (!state) return "not made yet";
  const found = [];
  if (state.is_lost) found.push("lost with its process");
  else if (state.is_busy) found.push(`turn ${state.turn}`);
  else if (state.state === "running") found.push(state.turn ? "idle" : "running");
  else found.push(state.state);
  if (state.is_aborting) found.push("being aborted");
  if (state.is_unresponsive) found.push("unresponsive");
  if (state.is_suspended) found.push("suspended");
  if (state.is_draining) found.push("draining");
  if (state.kill) found.push("asked to be killed");
  else if (state.stop && state.state === "running") found.push("asked to stop");
  return found.join(", ");
}

/** Return the command that shows a run, or a moment of it, in a terminal. */
export function commandFor(run, seq = null) {
  // A journal may give its run any name: it is one word for a shell.
  const word = /^\w[\w-]*$/.test(run) ? run : `'${run.replace(/\p{Cc}/gu, "").replaceAll("'", "'\\''")}'`;
  return `greenroom replay ${word}${seq === null ? "" : ` --at ${seq}`}`;
}

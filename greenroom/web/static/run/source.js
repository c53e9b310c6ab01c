// Where a run comes from: a server on this machine. Rule 1: the token is kept in this tab, goes into headers only, and is worth nothing
// after a restart of the server. Rule 2: what was lost is asked for again from the last row; nothing comes twice.

import { Socket } from "../base/socket.js";

const TOKEN = "greenroom.page.token";
const PROTOCOL = "greenroom.page.1";
/** Requests that are under way at most: a browser opens no more connections, and refuses requests when very many wait. */
const MOST_REQUESTS = 6;

function stored() {
  try {
    return sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    return "";
  }
}

/** A run of a server. States are those of a socket, and `unauthorized`. */
export class ServedSource {
  /**
   * @param {import("./model.js").RunModel} model Receives the rows.
   * @param {() => void} onRows Called when there are further ones.
   * @param {(state: Object) => void} onState Called when the connection has another state.
   */
  constructor(model, onRows, onState) {
    this.model = model;
    this.onRows = onRows;
    this.onState = onState;
    this.run = "";
    this.token = stored();
    this.cache = new Map();
    this.underWay = 0;
    this.waiting = [];
    this.socket = new Socket("/live", (send) => this.greet(send), (frame) => this.take(frame), (state) => this.moved(state), () => [PROTOCOL, this.token]);
  }

  /** Keep a token that the address has brought. */
  useToken(token) {
    this.token = token;
    try {
      sessionStorage.setItem(TOKEN, token);
    } catch {
      // Without storage the token lasts until the page is loaded anew.
    }
  }

  /** Show a run. */
  open(run) {
    this.run = run;
    if (this.token) this.socket.open();
    else this.onState({ name: "unauthorized" });
  }

  /** Ask for data; raises an error whose text says what is wrong. */
  async get(name, said = {}) {
    if (this.underWay >= MOST_REQUESTS) await new Promise((turn) => this.waiting.push(turn));
    else this.underWay += 1;
    try {
      const answer = await fetch(`/data/${name}?${new URLSearchParams({ run: this.run, ...said })}`, { headers: { Authorization: `Bearer ${this.token}` } });
      if (answer.status === 401) throw new Error("The server was started again and has another token.");
      const body = await answer.json();
      if (!answer.ok) throw new Error(body.error ?? `The server answered ${answer.status}.`);
      return body;
    } finally {
      // What was asked for last is what is looked at.
      if (this.waiting.length) this.waiting.pop()();
      else this.underWay -= 1;
    }
  }

  /** Return the event at a position, as its line has it. */
  async event(position) {
    return (await this.events(position, position + 1))[0];
  }

  /** Return events from one position up to, and without, another; read in blocks that are kept. */
  async events(begin, end) {
    const block = 200;
    const found = [];
    for (let first = Math.floor(begin / block) * block; first < end; first += block) {
      const last = Math.min(first + block, this.model.count);
      let held = this.cache.get(first);
      if (!held || held.last < last) {
        held = { last, events: this.get("events", { from: first, to: last }) };
        held.events.catch(() => this.cache.delete(first));
        if (this.cache.size > 60) this.cache.delete(this.cache.keys().next().value);
        this.cache.set(first, held);
      }
      found.push(...(await held.events).slice(Math.max(0, begin - first), end - first));
    }
    return found;
  }

  // --- inside ---

  greet(send) {
    send({ run: this.run, has: this.model.has() });
  }

  take(frame) {
    if (this.socket.state.name !== "open") this.socket.greeted();
    if (!(frame instanceof ArrayBuffer)) return;
    if (this.model.add(frame)) this.onRows();
    else this.socket.end("This page is of another version of greenroom than its server. Load it anew.");
  }

  async moved(state) {
    this.onState(state);
    if (state.name !== "waiting") return;
    try {
      const answer = await fetch("/data/runs", { headers: { Authorization: `Bearer ${this.token}` } });
      if (answer.status === 401) {
        this.socket.end("");
        this.onState({ name: "unauthorized" });
      }
    } catch {
      // The server is not there: the socket tries again.
    }
  }
}

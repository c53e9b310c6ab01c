// The gateway's protocol over a socket. Rule 1: a change has a key, and is asked for again with it after a break, so it is done once.
// Rule 2: the token is kept in this tab only, and is worth nothing after a restart of the gateway.

import { Socket } from "../base/socket.js";

const PROTOCOL = 1;
const TOKEN = "greenroom.token";
const EVENTS = ["agent", "chat", "session", "delivery", "approval", "pairing", "channel", "cron", "health"];
const SCOPED = { approval: "approve", pairing: "admin" };

/** An error that the gateway told. */
export class RpcError extends Error {
  constructor({ code = "internal", message = "", details = {} } = {}) {
    super(message || code);
    this.code = code;
    this.path = details.path ?? "";
  }
}

function stored() {
  try {
    return sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    return "";
  }
}

function store(token) {
  try {
    if (token) sessionStorage.setItem(TOKEN, token);
    else sessionStorage.removeItem(TOKEN);
  } catch {
    // Without storage the token lasts until the page is loaded anew.
  }
}

export class Gateway {
  /**
   * @param {Object} to
   * @param {(state: Object) => void} to.onState States of the socket, and `unauthorized` with `had` (there was a right token before).
   * @param {(hello: Object, again: boolean) => void} to.onHello Called when calls may be made; `again` after a break.
   * @param {(name: string, payload: Object) => void} to.onEvent Called with each event.
   */
  constructor({ onState, onHello, onEvent }) {
    this.to = { onState, onHello, onEvent };
    this.token = stored();
    this.code = "";
    this.hello = null;
    this.calls = new Map();
    this.number = 0;
    this.socket = new Socket("/rpc", (send) => this.greet(send), (frame) => this.take(frame), (state) => this.moved(state));
  }

  /** Connect: with a one-time code, or with the token of this tab. */
  open(code = "") {
    if (code) this.code = code;
    if (this.code || this.token) this.socket.open();
    else this.to.onState({ name: "unauthorized", had: false });
  }

  /** True if the gateway has a method, and the token is good for it. */
  can(method) {
    return this.hello?.methods.includes(method) ?? false;
  }

  /** Look at something. */
  call(method, params = {}) {
    return new Promise((done, failed) => this.ask({ method, params, done, failed, isChange: false }));
  }

  /** Change something; it is asked for until it was answered, over breaks too. */
  change(method, params = {}) {
    const keyed = { ...params, idempotencyKey: crypto.randomUUID() };
    return new Promise((done, failed) => this.ask({ method, params: keyed, done, failed, isChange: true }));
  }

  /** The number of changes that wait for a connection or an answer. */
  get pending() {
    return [...this.calls.values()].filter((call) => call.isChange).length;
  }

  // --- inside ---

  greet(send) {
    const auth = this.code ? { code: this.code } : { token: this.token };
    send({
      type: "req",
      id: "connect",
      method: "connect",
      params: { minProtocol: PROTOCOL, maxProtocol: PROTOCOL, client: { id: "greenroom-page", version: "1" }, auth },
    });
  }

  ask(call) {
    this.number += 1;
    call.id = String(this.number);
    this.calls.set(call.id, call);
    this.send(call);
  }

  send({ id, method, params, isChange }) {
    const isSent = this.socket.send({ type: "req", id, method, params });
    if (!isSent && !isChange) this.settle(id, null, new RpcError({ code: "offline", message: "not connected" }));
  }

  settle(id, payload, error) {
    const call = this.calls.get(id);
    if (!call) return;
    this.calls.delete(id);
    if (error) call.failed(error);
    else call.done(payload ?? {});
  }

  take(frame) {
    if (frame.type === "event") this.to.onEvent(frame.event, frame.payload ?? {});
    else if (frame.id === "connect") this.connected(frame);
    else if (frame.ok && frame.payload?.status === "in_flight" && this.calls.get(frame.id)?.isChange)
      setTimeout(() => this.calls.has(frame.id) && this.send(this.calls.get(frame.id)), 1000);
    else this.settle(frame.id, frame.payload, frame.ok ? null : new RpcError(frame.error));
  }

  connected({ ok, payload, error }) {
    if (!ok) {
      const wasCode = Boolean(this.code);
      this.code = "";
      const had = Boolean(this.hello ?? this.token);
      if (wasCode && this.token) {
        this.open(); // a used code in the address, and a token that may still be good
      } else if (error?.code === "unauthorized") {
        store((this.token = ""));
        this.socket.end(error.message);
        this.refuse();
        this.to.onState({ name: "unauthorized", had, wasCode });
      } else {
        this.socket.end(error?.message ?? "refused");
      }
      return;
    }
    const again = this.hello !== null;
    this.code = "";
    this.hello = payload;
    if (payload.token) store((this.token = payload.token));
    this.socket.greeted();
    const events = EVENTS.filter((name) => !SCOPED[name] || payload.scopes.includes(SCOPED[name]));
    this.call("events.subscribe", { events }).catch(() => this.socket.send({}));
    for (const call of [...this.calls.values()]) if (call.isChange) this.send(call);
    this.to.onHello(payload, again);
  }

  moved(state) {
    if (state.name !== "open")
      for (const [id, call] of [...this.calls])
        if (!call.isChange) this.settle(id, null, new RpcError({ code: "offline", message: "the connection broke" }));
    this.to.onState(state);
  }

  /** Fail what waits: no answer will come for it. */
  refuse() {
    for (const id of [...this.calls.keys()])
      this.settle(id, null, new RpcError({ code: "unauthorized", message: "the gateway was restarted; it was not sent" }));
  }
}

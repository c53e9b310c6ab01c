// A WebSocket that connects again. Rule 1: a break is told in words, with the time of the next try. Rule 2: nothing is sent before the
// greeting was answered; what that means is the page's.

const FIRST_MS = 400;
const MOST_MS = 15_000;
const SILENT_MS = 45_000;

/**
 * States: `connecting`, `open`, `waiting` (with `retryAt`), `ended` (with `why`; no further try).
 */
export class Socket {
  /**
   * @param {string} path Path on the page's own server.
   * @param {(send: (frame: Object) => void) => void} greet Called when a connection stands: sends the first frame.
   * @param {(frame: Object) => void} onFrame Called with each frame.
   * @param {(state: Object) => void} onState Called when the state has changed.
   * @param {() => string[]} [protocols] Subprotocols to offer. A binary frame is given as an `ArrayBuffer`.
   */
  constructor(path, greet, onFrame, onState, protocols = () => []) {
    this.address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
    this.greet = greet;
    this.onFrame = onFrame;
    this.onState = onState;
    this.protocols = protocols;
    this.state = { name: "ended", why: "" };
    this.tries = 0;
    this.socket = null;
    this.timer = 0;
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
  }

  /** Connect now. */
  open() {
    clearTimeout(this.timer);
    this.drop();
    this.set({ name: "connecting" });
    const socket = (this.socket = new WebSocket(this.address, this.protocols()));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.greet((frame) => socket.send(JSON.stringify(frame)));
    socket.onmessage = ({ data }) => {
      this.watch(socket);
      if (socket === this.socket) this.onFrame(typeof data === "string" ? JSON.parse(data) : data);
    };
    socket.onclose = ({ code, reason }) => {
      if (socket !== this.socket) return;
      this.socket = null;
      if (this.state.name !== "ended") this.wait(reason || (code === 1006 ? "" : `code ${code}`));
    };
    this.watch(socket);
  }

  /** Say that the greeting was answered. */
  greeted() {
    this.tries = 0;
    this.set({ name: "open" });
  }

  /** Send a frame; false if there is no connection. */
  send(frame) {
    if (this.state.name !== "open" || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  /** Close for good, until `open`. */
  end(why) {
    clearTimeout(this.timer);
    this.set({ name: "ended", why });
    this.drop();
  }

  /** Connect at once if a try is planned. */
  hurry() {
    if (this.state.name === "waiting") this.open();
  }

  // --- inside ---

  wait(why) {
    const pause = Math.min(MOST_MS, FIRST_MS * 2 ** this.tries) * (0.75 + Math.random() / 2);
    this.tries += 1;
    this.set({ name: "waiting", why, retryAt: Date.now() + pause });
    this.timer = setTimeout(() => this.open(), pause);
  }

  /** A connection that is silent for longer than the server ever is counts as broken. */
  watch(socket) {
    clearTimeout(socket.silence);
    socket.silence = setTimeout(() => {
      if (socket !== this.socket) return;
      this.drop();
      this.wait("no sign of life");
    }, SILENT_MS);
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    if (!socket) return;
    clearTimeout(socket.silence);
    socket.close();
  }

  set(state) {
    this.state = state;
    this.onState(state);
  }
}

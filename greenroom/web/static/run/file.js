// A run that lies in the page's own file: parts that are unpacked when they are looked at. Nothing is loaded.

import { below } from "./model.js";

const LINES = 200;

/** Return a part of the file, unpacked; null if it has none of this name. */
async function unpacked(name) {
  const node = document.querySelector(`[data-part="${CSS.escape(name)}"]`);
  if (!node) return null;
  const packed = Uint8Array.from(atob(node.textContent), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function read(name) {
  const content = await unpacked(name);
  return content && JSON.parse(new TextDecoder().decode(content));
}

/** True if this page is a file with a run in it. */
export function holdsRun() {
  return Boolean(document.querySelector('[data-part="columns"]'));
}

/** The run of the file, with what a served one has. */
export class FileSource {
  constructor(model, onRows, onState) {
    this.model = model;
    this.onRows = onRows;
    this.onState = onState;
    this.run = "";
    this.token = "file";
    this.parts = new Map();
  }

  useToken() {}

  async open() {
    this.onState({ name: "open" });
    if (this.model.add(await unpacked("columns"))) this.onRows();
    else this.onState({ name: "ended", why: "This file is of another version of greenroom than its page." });
  }

  /** Return a part that is read once. */
  part(name) {
    if (!this.parts.has(name)) this.parts.set(name, read(name));
    return this.parts.get(name);
  }

  async get(name, said = {}) {
    if (name === "runs") return { runs: [], named: "" };
    if (name === "findings") return this.part("findings");
    if (name === "search") return { found: await this.search(said.words) };
    if (name === "talk") return this.talk(said);
    return this.mailbox(said);
  }

  async event(position) {
    return (await this.events(position, position + 1))[0];
  }

  async events(begin, end) {
    const { block } = this.model.run;
    const found = [];
    for (let number = Math.floor(begin / block); number * block < end; number += 1) {
      const events = (await this.part(`events-${number}`)) ?? [];
      found.push(...events.slice(Math.max(0, begin - number * block), end - number * block));
    }
    return found;
  }

  async search(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const { block } = this.model.run;
    const found = [];
    for (let first = 0; first < this.model.count && found.length < 5000; first += block)
      (await this.events(first, first + block)).forEach((event, number) => {
        const line = JSON.stringify(event).toLowerCase();
        if (wanted.every((word) => line.includes(word))) found.push(first + number);
      });
    return found;
  }

  async talk({ actor, t, from }) {
    const held = await this.part(`talk-${actor}`);
    if (!held) return { lines: [], from: 0, at: 0, count: 0, why: "This file was written without conversations, or none is kept of this agent." };
    const until = Date.parse(this.model.run.started ?? "") + (t + 0.001) * 1000;
    let latest = 0;
    const times = held.lines.map((line) => (latest = Math.max(latest, Date.parse(line.timestamp) || 0)));
    const at = below(times, until + 0.5);
    const first = from ?? Math.max(0, at - LINES / 2);
    return { lines: held.lines.slice(first, first + LINES), from: first, at, count: held.lines.length, why: held.why };
  }

  async mailbox({ actor, at }) {
    const number = this.model.numberOf.get(actor);
    const rows = (await this.part("mail")).filter((row) => row[1] === number && row[0] < at);
    const [, , held, accepted, died] = rows.at(-1) ?? [0, 0, {}, 0, 0];
    const missing = new Set(Object.values(held).flat());
    const puts = new Map();
    const put = this.model.numberOfKind.get("message.put");
    const { kind, actor: whose } = this.model.tables.events;
    for (let place = at - 1; place >= 0 && missing.size; place -= 1) {
      if (kind[place] !== put || whose[place] !== number) continue;
      const event = await this.event(place);
      if (missing.delete(event.msg)) puts.set(event.msg, { position: place, ...event });
    }
    return { lanes: Object.fromEntries(Object.entries(held).map(([lane, numbers]) => [lane, numbers.map((msg) => puts.get(msg) ?? { msg })])), accepted, died };
  }
}

// A run as columns. Rule 1: rows are only added; nothing is folded here. Rule 2: a moment is a number of events from the beginning, and
// the row of something at a moment is its last one among these events, found by halving.

const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };
const VERSION = 1;
const OF_ACTORS = ["states", "mail", "usage"];
const SNAPSHOT_EVERY = 400;

/** Columns of equal length that grow. */
class Table {
  constructor(columns) {
    this.rows = 0;
    this.columns = columns;
    for (const [name, width] of columns) this[name] = new ARRAYS[width](256);
  }

  /** Add rows whose columns lie one after another in a buffer; returns the place behind them. */
  add(buffer, place, rows) {
    const wanted = this.rows + rows;
    for (const [name, width] of this.columns) {
      const kind = ARRAYS[width];
      if (this[name].length < wanted) {
        const wider = new kind(Math.max(wanted, this[name].length * 2));
        wider.set(this[name]);
        this[name] = wider;
      }
      this[name].set(new kind(buffer, place, rows), this.rows);
      const bytes = rows * kind.BYTES_PER_ELEMENT;
      place += bytes + (-bytes & 7);
    }
    this.rows = wanted;
    return place;
  }
}

/** Return how many of the first values of a sorted list are below a bound. */
export function below(list, bound, value = (item) => item, length = list.length) {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value(list[middle]) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class RunModel {
  constructor() {
    this.run = {};
    this.tables = {};
    this.lists = { kinds: [], actors: [], labels: [], cards: [], patches: [] };
    this.cards = [];
    this.rowsOf = Object.fromEntries(OF_ACTORS.map((name) => [name, []]));
    this.slicesOf = [];
    this.end = new Map();
    this.states = [];
    this.flags = [];
    this.failures = [];
    this.numberOf = new Map();
    this.numberOfKind = new Map();
    this.snapshots = [{ patches: 0, sections: {} }];
    this.children = null;
    this.version = 0;
    this.named = { cards: -1, names: [] };
  }

  /** Return the number of events. */
  get count() {
    return this.tables.events?.rows ?? 0;
  }

  /** Return how many rows there are of each table and list. */
  has() {
    const rows = Object.entries(this.tables).map(([name, table]) => [name, table.rows]);
    return Object.fromEntries([...rows, ...Object.entries(this.lists).map(([name, items]) => [name, items.length])]);
  }

  /** Add what came: a head of JSON with its length, then columns. Returns false if it was made by another version of greenroom. */
  add(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    if (head.v !== VERSION) return false;
    this.run = head.run;
    this.states = head.states;
    this.flags = head.flags;
    let place = 4 + length;
    for (const [name, { from, rows, columns }] of Object.entries(head.tables)) {
      const table = (this.tables[name] ??= new Table(columns));
      if (table.rows !== from) throw new RangeError(`rows of ${name} are missing`);
      place = table.add(buffer, place, rows);
    }
    for (const [name, { from, items }] of Object.entries(head.lists)) {
      if (this.lists[name].length !== from) throw new RangeError(`items of ${name} are missing`);
      for (const item of items) this.lists[name].push(item);
    }
    this.sort(head);
    this.version += 1;
    return true;
  }

  sort({ tables, lists }) {
    lists.actors.items.forEach((id, number) => this.numberOf.set(id, lists.actors.from + number));
    lists.kinds.items.forEach((kind, number) => this.numberOfKind.set(kind, lists.kinds.from + number));
    for (const [number, card] of lists.cards.items) this.cards[number] = { ...this.cards[number], ...card };
    for (const name of OF_ACTORS) {
      const { from, rows } = tables[name];
      const { actor } = this.tables[name];
      for (let row = from; row < from + rows; row += 1) (this.rowsOf[name][actor[row]] ??= []).push(row);
    }
    const { slices, ends, events } = this.tables;
    for (let row = tables.slices.from; row < slices.rows; row += 1) (this.slicesOf[slices.actor[row]] ??= []).push(row);
    for (let row = tables.ends.from; row < ends.rows; row += 1) this.end.set(ends.slice[row], row);
    for (let row = tables.events.from; row < events.rows; row += 1) if (events.failed[row]) this.failures.push(row);
    if (tables.events.rows) this.children = null;
  }

  // --- events ---

  /** Return the number of events up to the one with a number of the journal. */
  countUntil(seq) {
    return below(this.tables.events?.seq ?? [], seq + 1, undefined, this.count);
  }

  /** Return the number of events up to a time in seconds. */
  countAt(t) {
    const { events } = this.tables;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events.t[middle] <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  seq(position) {
    return this.tables.events?.seq[position] ?? 0;
  }

  t(position) {
    return position < 0 || !this.count ? (this.tables.events?.t[0] ?? 0) : this.tables.events.t[Math.min(position, this.count - 1)];
  }

  kind(position) {
    return this.lists.kinds[this.tables.events.kind[position]];
  }

  /** Return the seconds since the first event. */
  since(position) {
    return this.t(position) - this.t(0);
  }

  /** Return the position of the event that led to one; -1 if it is not on record. */
  parent(position) {
    const seq = this.tables.events.parent[position];
    if (!seq || seq > this.seq(position)) return -1;
    const found = this.countUntil(seq) - 1;
    return found >= 0 && this.seq(found) === seq ? found : -1;
  }

  /** Return the positions of the events that one led to. */
  ledTo(position) {
    if (this.children === null) {
      this.children = new Map();
      for (let at = 0; at < this.count; at += 1) {
        const parent = this.tables.events.parent[at];
        if (!parent) continue;
        const found = this.children.get(parent);
        if (found) found.push(at);
        else this.children.set(parent, [at]);
      }
    }
    return this.children.get(this.seq(position)) ?? [];
  }

  // --- actors ---

  /** Return the last row of an actor in a table at a moment; -1 if there is none. */
  row(table, actor, at) {
    const rows = this.rowsOf[table][actor];
    if (!rows) return -1;
    const { event } = this.tables[table];
    const found = below(rows, at, (row) => event[row]);
    return found ? rows[found - 1] : -1;
  }

  /** Return the state of an actor at a moment; null if it was not made yet. */
  actor(actor, at) {
    const row = this.row("states", actor, at);
    if (row < 0) return null;
    const { states } = this.tables;
    const bits = states.flags[row];
    const is = {};
    this.flags.forEach((name, bit) => (is[name] = Boolean((bits >> bit) & 1)));
    return { state: this.states[states.state[row]], supervisor: states.supervisor[row], incarnation: states.incarnation[row], turn: states.turn[row], since: states.event[row], ...is };
  }

  /** Return the mail of an actor at a moment: numbers by lane. */
  mail(actor, at) {
    const row = this.row("mail", actor, at);
    const { mail } = this.tables;
    return row < 0 ? null : { now: mail.now[row], next: mail.next[row], later: mail.later[row], leased: mail.leased[row], postponed: mail.postponed[row] };
  }

  /** Return the tokens of an actor at a moment. */
  usage(actor, at) {
    const row = this.row("usage", actor, at);
    if (row < 0) return null;
    return Object.fromEntries(this.tables.usage.columns.map(([name]) => [name, this.tables.usage[name][row]]));
  }

  /** Return the slices that are open at a moment, the outermost first, with name and begin. */
  open(actor, at) {
    const { slices, ends } = this.tables;
    const rows = this.slicesOf[actor] ?? [];
    const found = [];
    for (let place = below(rows, at, (row) => slices.event[row]) - 1; place >= 0 && found.length < 40; place -= 1) {
      const row = rows[place];
      const end = this.end.get(row);
      if (end !== undefined && ends.event[end] < at) {
        if (this.lists.kinds[slices.what[row]] === "actor") break;
        continue;
      }
      found.unshift({ row, what: this.lists.kinds[slices.what[row]], name: this.lists.labels[slices.name[row]], begin: slices.event[row] });
    }
    return found;
  }

  /** Return the number of actors of the run. */
  get actors() {
    return this.lists.actors.length;
  }

  card(actor) {
    return this.cards[actor] ?? {};
  }

  /** Return the short name of an actor: the end of its path, as long as only one has it. */
  name(actor) {
    if (!actor) return "the run";
    if (this.named.cards !== this.lists.cards.length) {
      const ends = new Map();
      const paths = new Set();
      for (const card of this.cards) if (card?.path !== undefined) paths.add(card.path);
      for (const path of paths) ends.set(endOf(path), (ends.get(endOf(path)) ?? 0) + 1);
      this.named = { cards: this.lists.cards.length, ends };
    }
    const path = this.cards[actor]?.path;
    if (path === undefined) return this.lists.actors[actor] || "the run";
    if (path === "") return "(root)";
    return this.named.ends.get(endOf(path)) === 1 ? endOf(path) : path;
  }

  /** Return the number of the actor with a path or an id; 0 if there is none. */
  find(path) {
    if (this.numberOf.has(path)) return this.numberOf.get(path);
    for (let actor = this.cards.length - 1; actor > 0; actor -= 1) if (this.cards[actor]?.path === path) return actor;
    return 0;
  }

  /** Return the actors of a moment below their supervisors, as rows with their depth, in order of appearance. */
  tree(at, { ended = false } = {}) {
    const below = new Map();
    const seen = new Map();
    for (let actor = 1; actor < this.actors; actor += 1) {
      const state = this.actor(actor, at);
      if (state && (ended || !state.is_gone)) seen.set(actor, state);
    }
    for (const [actor, state] of seen) {
      const above = seen.has(state.supervisor) && state.supervisor !== actor ? state.supervisor : 0;
      if (below.has(above)) below.get(above).push(actor);
      else below.set(above, [actor]);
    }
    const rows = [];
    const waiting = (below.get(0) ?? []).map((actor) => [actor, 0]).reverse();
    while (waiting.length) {
      const [actor, depth] = waiting.pop();
      const children = below.get(actor) ?? [];
      rows.push({ actor, depth, state: seen.get(actor), children: children.length });
      for (const child of children.toReversed()) waiting.push([child, depth + 1]);
      below.delete(actor);
    }
    return rows;
  }

  // --- sections that are patches ---

  /** Return the sections at a moment, such as `items`: section, subject, value. They must not be changed. */
  sections(at) {
    const wanted = below(this.lists.patches, at, ([position]) => position);
    let start = this.snapshots[Math.min(Math.floor(wanted / SNAPSHOT_EVERY), this.snapshots.length - 1)];
    let sections = copied(start.sections);
    for (let place = start.patches; place < wanted; place += 1) {
      patch(sections, this.lists.patches[place][1]);
      if ((place + 1) % SNAPSHOT_EVERY === 0 && (place + 1) / SNAPSHOT_EVERY === this.snapshots.length) this.snapshots.push({ patches: place + 1, sections: copied(sections) });
    }
    return sections;
  }

  /** Return the positions and changed fields of one subject, in order. */
  history(section, subject) {
    return this.lists.patches.filter(([, [name, key]]) => name === section && key === subject).map(([position, [, , fields]]) => ({ position, fields }));
  }
}

function endOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

function copied(sections) {
  return Object.fromEntries(Object.entries(sections).map(([name, subjects]) => [name, new Map(subjects)]));
}

function patch(sections, [name, subject, fields]) {
  const subjects = (sections[name] ??= new Map());
  if (fields === null) subjects.delete(subject);
  else if ("" in fields) subjects.set(subject, fields[""]);
  else subjects.set(subject, { ...subjects.get(subject), ...fields });
}

// A run as columns. Rule 1: rows are only added; nothing is folded here. Rule 2: a moment is a number of events from the beginning, and
// the row of something at a moment is its last one among these events, found by halving.

const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };
const VERSION = 1;
const OF_ACTORS = ["states", "mail", "usage"];
const NONE = -1;

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

/** Return a list of numbers with room for some more. */
function roomFor(list, wanted) {
  if (list.length >= wanted) return list;
  const wider = new Int32Array(Math.max(wanted, list.length * 2)).fill(NONE, list.length);
  wider.set(list);
  return wider;
}

/** A part of the state that comes as patches: for each subject the events that changed it, the changed fields, and its values. */
class Subjects {
  constructor() {
    this.all = [];
    this.byKey = new Map();
  }

  add(position, key, fields) {
    let history = this.byKey.get(key);
    if (!history) {
      history = { key, positions: [], fields: [], values: [] };
      this.byKey.set(key, history);
      this.all.push(history);
    }
    const before = history.values[history.values.length - 1];
    history.positions.push(position);
    history.fields.push(fields);
    history.values.push(fields === null ? null : "" in fields ? fields[""] : { ...before, ...fields });
  }

  /** Return the subjects that there are at a moment, in order of appearance: key and value. */
  at(moment) {
    const found = [];
    for (const { key, positions, values } of this.all) {
      if (positions[0] >= moment) break;
      const value = values[below(positions, moment) - 1];
      if (value !== null) found.push([key, value]);
    }
    return found;
  }
}

export class RunModel {
  constructor() {
    this.run = {};
    this.tables = {};
    this.lists = { kinds: [], actors: [], labels: [] };
    this.taken = { cards: 0, patches: 0 };
    this.sections = new Map();
    this.cards = [];
    this.rowsOf = Object.fromEntries(OF_ACTORS.map((name) => [name, []]));
    this.slicesOf = [];
    this.ends = new Int32Array(256).fill(NONE);
    this.states = [];
    this.flags = [];
    this.failures = [];
    this.numberOf = new Map();
    this.numberOfKind = new Map();
    this.led = { count: 0, first: new Int32Array(0), last: new Int32Array(0), next: new Int32Array(0) };
    this.version = 0;
    this.named = { cards: -1, ends: new Map() };
  }

  /** Return the number of events. */
  get count() {
    return this.tables.events?.rows ?? 0;
  }

  /** Return how many rows there are of each table and list. */
  has() {
    const rows = Object.entries(this.tables).map(([name, table]) => [name, table.rows]);
    return { ...Object.fromEntries([...rows, ...Object.entries(this.lists).map(([name, items]) => [name, items.length])]), ...this.taken };
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
      if ((this.taken[name] ?? this.lists[name].length) !== from) throw new RangeError(`items of ${name} are missing`);
      if (name in this.taken) this.taken[name] += items.length;
      else for (const item of items) this.lists[name].push(item);
    }
    this.sort(head);
    this.version += 1;
    return true;
  }

  sort({ tables, lists }) {
    lists.actors.items.forEach((id, number) => this.numberOf.set(id, lists.actors.from + number));
    lists.kinds.items.forEach((kind, number) => this.numberOfKind.set(kind, lists.kinds.from + number));
    for (const [number, card] of lists.cards.items) this.cards[number] = { ...this.cards[number], ...card };
    for (const [position, [section, key, fields]] of lists.patches.items) {
      if (!this.sections.has(section)) this.sections.set(section, new Subjects());
      this.sections.get(section).add(position, key, fields);
    }
    for (const name of OF_ACTORS) {
      const { from, rows } = tables[name];
      const { actor } = this.tables[name];
      for (let row = from; row < from + rows; row += 1) (this.rowsOf[name][actor[row]] ??= []).push(row);
    }
    const { slices, ends, events } = this.tables;
    for (let row = tables.slices.from; row < slices.rows; row += 1) (this.slicesOf[slices.actor[row]] ??= []).push(row);
    this.ends = roomFor(this.ends, slices.rows);
    for (let row = tables.ends.from; row < ends.rows; row += 1) {
      // A message holds a part of each table: an end may come before the slice that it ends.
      this.ends = roomFor(this.ends, ends.slice[row] + 1);
      this.ends[ends.slice[row]] = row;
    }
    for (let row = tables.events.from; row < events.rows; row += 1) if (events.failed[row]) this.failures.push(row);
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
    if (!seq || seq > this.seq(position)) return NONE;
    const guess = seq - this.seq(0);  // numbers have no gaps, but in a damaged journal
    const found = this.seq(guess) === seq ? guess : this.countUntil(seq) - 1;
    return found >= 0 && this.seq(found) === seq ? found : NONE;
  }

  /** Return the positions of the events that one led to. */
  ledTo(position) {
    this.link();
    const found = [];
    for (let at = this.led.first[position]; at !== NONE && at !== undefined; at = this.led.next[at]) found.push(at);
    return found;
  }

  /** Have the events that came behind those that led to them. */
  link() {
    const { led, count } = this;
    if (led.count === count) return;
    for (const name of ["first", "last", "next"]) led[name] = roomFor(led[name], count);
    for (; led.count < count; led.count += 1) {
      const parent = this.parent(led.count);
      if (parent < 0) continue;
      if (led.first[parent] === NONE) led.first[parent] = led.count;
      else led.next[led.last[parent]] = led.count;
      led.last[parent] = led.count;
    }
  }

  // --- actors ---

  /** Return the last row of an actor in a table at a moment; -1 if there is none. */
  row(table, actor, at) {
    const rows = this.rowsOf[table][actor];
    if (!rows) return NONE;
    const { event } = this.tables[table];
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (event[rows[middle]] < at) low = middle + 1;
      else high = middle;
    }
    return low ? rows[low - 1] : NONE;
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
      const end = this.ends[row];
      if (end !== NONE && ends.event[end] < at) {
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

  /** Return the short name of an actor: as much of the end of its path as only one has. */
  name(actor) {
    if (!actor) return "the run";
    if (this.named.cards !== this.taken.cards) {
      const ends = new Map();
      const paths = new Set();
      for (const card of this.cards) if (card?.path !== undefined) paths.add(card.path);
      for (const path of paths) for (const parts of [1, 2]) ends.set(endOf(path, parts), (ends.get(endOf(path, parts)) ?? 0) + 1);
      this.named = { cards: this.taken.cards, ends };
    }
    const path = this.cards[actor]?.path;
    if (path === undefined) return this.lists.actors[actor] || "the run";
    if (path === "") return "(root)";
    return [1, 2].map((parts) => endOf(path, parts)).find((end) => this.named.ends.get(end) === 1) ?? path;
  }

  /** Return the number of the actor with a path or an id; 0 if there is none. */
  find(path) {
    if (this.numberOf.has(path)) return this.numberOf.get(path);
    for (let actor = this.cards.length - 1; actor > 0; actor -= 1) if (this.cards[actor]?.path === path) return actor;
    return 0;
  }

  /** Return the actors of a moment below their supervisors, as rows with their depth, in order of appearance. */
  tree(at, { ended = false } = {}) {
    const { states } = this.tables;
    const gone = 1 << this.flags.indexOf("is_gone");
    const rowOf = new Int32Array(this.actors).fill(NONE);
    for (let actor = 1; actor < this.actors; actor += 1) {
      const row = this.row("states", actor, at);
      if (row !== NONE && (ended || !(states.flags[row] & gone))) rowOf[actor] = row;
    }
    const first = new Int32Array(this.actors).fill(NONE);
    const next = new Int32Array(this.actors).fill(NONE);
    const children = new Int32Array(this.actors);
    for (let actor = this.actors - 1; actor > 0; actor -= 1) {
      if (rowOf[actor] === NONE) continue;
      const supervisor = states.supervisor[rowOf[actor]];
      const above = supervisor !== actor && rowOf[supervisor] !== NONE ? supervisor : 0;
      next[actor] = first[above];
      first[above] = actor;
      children[above] += 1;
    }
    const rows = [];
    const waiting = [];
    let depth = 0;
    for (let actor = first[0] ?? NONE; actor !== NONE || waiting.length; ) {
      if (actor === NONE) {
        actor = waiting.pop();
        depth -= 1;
        continue;
      }
      rows.push({ actor, depth, children: children[actor] });
      waiting.push(next[actor]);
      depth += 1;
      actor = first[actor];
    }
    return rows;
  }

  // --- sections that are patches ---

  /** Return the subjects of a section such as `items` at a moment: key and value, which must not be changed. */
  section(name, at) {
    return this.sections.get(name)?.at(at) ?? [];
  }

  /** Return the positions and changed fields of one subject, in order. */
  history(section, subject) {
    const { positions, fields } = this.sections.get(section)?.byKey.get(subject) ?? { positions: [], fields: [] };
    return positions.map((position, place) => ({ position, fields: fields[place] }));
  }
}

/** Return the last parts of a path. */
function endOf(path, parts) {
  return path.split("/").slice(-parts).join("/");
}

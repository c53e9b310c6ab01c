// The drawing list of the timeline: which bars and marks there are, without any drawing.

const NESTED = { actor: 0, session: 0, turn: 1, model: 2, tool: 2, compact: 2, fork: 2, permission: 3 };
const MARKS = {
  "child.restarted": "restart",
  "message.died": "dead",
  "turn.abort_requested": "abort",
  "actor.kill_requested": "kill",
  "permission.asked": "ask",
  "elicitation.asked": "ask",
  "actor.unresponsive": "stuck",
};

/** Return the rows of the whole run in tree order: an actor with its depth, children below their supervisor. */
export function timelineRows(model) {
  const above = new Map();
  for (let actor = 1; actor < model.actors; actor += 1) {
    const rows = model.rowsOf.states[actor];
    if (rows) above.set(actor, model.tables.states.supervisor[rows[0]]);
  }
  const below = new Map();
  for (const [actor, supervisor] of above) {
    const key = above.has(supervisor) && supervisor !== actor ? supervisor : 0;
    if (below.has(key)) below.get(key).push(actor);
    else below.set(key, [actor]);
  }
  const rows = [];
  const waiting = (below.get(0) ?? []).map((actor) => [actor, 0]).reverse();
  while (waiting.length) {
    const [actor, depth] = waiting.pop();
    rows.push({ actor, depth });
    for (const child of (below.get(actor) ?? []).toReversed()) waiting.push([child, depth + 1]);
    below.delete(actor);
  }
  return rows;
}

/**
 * Return the bars of an actor between two moments in seconds, the outermost first.
 * @returns {{row: number, what: string, name: string, level: number, begin: number, end: number, isOpen: boolean, outcome: string}[]}
 */
export function barsOf(model, actor, from, to) {
  const { slices, ends, events } = model.tables;
  const last = model.t(model.count - 1);
  const found = [];
  for (const row of model.slicesOf[actor] ?? []) {
    const begin = events.t[slices.event[row]];
    if (begin > to) break;
    const endRow = model.ends[row];
    const end = endRow < 0 ? last : events.t[ends.event[endRow]];
    if (end < from) continue;
    const what = model.lists.kinds[slices.what[row]];
    const outcome = endRow < 0 ? "open" : model.lists.kinds[ends.outcome[endRow]];
    found.push({ row, what, name: model.lists.labels[slices.name[row]], level: NESTED[what] ?? 2, begin, end, isOpen: outcome === "open", outcome });
  }
  return found;
}

/** The marks of all actors, which grow with the run. */
export class Marks {
  constructor() {
    this.count = 0;
    this.byActor = new Map();
  }

  /** Take the events that came. */
  take(model) {
    const shapes = model.lists.kinds.map((kind) => MARKS[kind]);
    const end = model.numberOfKind.get("actor.end");
    const { actor, kind, failed } = model.tables.events;
    for (; this.count < model.count; this.count += 1) {
      const at = this.count;
      const shape = shapes[kind[at]] ?? (failed[at] && kind[at] === end ? "crash" : undefined);
      if (!shape) continue;
      if (this.byActor.has(actor[at])) this.byActor.get(actor[at]).push({ at, shape });
      else this.byActor.set(actor[at], [{ at, shape }]);
    }
  }

  of(actor) {
    return this.byActor.get(actor) ?? [];
  }
}

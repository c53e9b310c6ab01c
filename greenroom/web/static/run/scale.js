// Time as a place on a picture. Rule: where idle stretches are folded, each is as wide as FOLDED of the whole, and time runs on behind it.

const FOLDED = 0.02;
const LONG = 0.08;
const MOST_FOLDS = 40;

/** A mapping of seconds to 0 … 1 and back. */
export class TimeScale {
  /**
   * @param {number} begin First second.
   * @param {number} end Last second.
   * @param {{begin: number, end: number}[]} gaps Idle stretches that are folded, in order.
   */
  constructor(begin, end, gaps = []) {
    this.begin = begin;
    this.end = Math.max(end, begin + 1e-6);
    this.gaps = gaps;
    const idle = gaps.reduce((sum, gap) => sum + gap.end - gap.begin, 0);
    const busy = Math.max(this.end - this.begin - idle, 1e-9);
    const room = 1 - gaps.length * FOLDED;
    this.points = [{ t: this.begin, x: 0 }];
    let x = 0;
    let t = this.begin;
    for (const gap of gaps) {
      x += ((gap.begin - t) / busy) * room;
      this.points.push({ t: gap.begin, x });
      x += FOLDED;
      this.points.push({ t: gap.end, x });
      t = gap.end;
    }
    this.points.push({ t: this.end, x: 1 });
  }

  place(t) {
    return between(this.points, t, "t", "x");
  }

  time(x) {
    return between(this.points, x, "x", "t");
  }
}

function between(points, value, from, to) {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][from] <= value) low = middle;
    else high = middle;
  }
  const a = points[low];
  const b = points[high];
  const span = b[from] - a[from];
  return span > 0 ? a[to] + ((value - a[from]) / span) * (b[to] - a[to]) : a[to];
}

/** Return the stretches without events, requests and calls that are long beside the rest, the longest first where there are too many. */
export function idleGaps(model) {
  const { t } = model.tables.events;
  const count = model.count;
  if (count < 3) return [];
  const lasted = t[count - 1] - t[0];
  const found = [];
  for (let at = 1; at < count; at += 1) if (t[at] - t[at - 1] > lasted * 0.04 && !works(model, t[at - 1], t[at])) found.push({ begin: t[at - 1], end: t[at] });
  const idle = found.reduce((sum, gap) => sum + gap.end - gap.begin, 0);
  const busy = Math.max(lasted - idle, lasted * 1e-6);
  return found
    .filter((gap) => gap.end - gap.begin > busy * LONG)
    .sort((a, b) => b.end - b.begin - (a.end - a.begin))
    .slice(0, MOST_FOLDS)
    .sort((a, b) => a.begin - b.begin);
}

/** True if a request or a call that came to its end went on for the whole of a stretch. */
function works({ tables: { slices, ends, events }, lists: { kinds }, ends: endOf }, from, to) {
  const [model, tool, completed, failed] = ["model", "tool", "completed", "failed"].map((kind) => kinds.indexOf(kind));
  const { t } = events;
  for (let row = 0; row < slices.rows && t[slices.event[row]] <= from; row += 1) {
    const end = endOf[row];
    if (end < 0 || t[ends.event[end]] < to || (slices.what[row] !== model && slices.what[row] !== tool)) continue;
    if (ends.outcome[end] === completed || ends.outcome[end] === failed) return true;
  }
  return false;
}

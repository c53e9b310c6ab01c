// When each session was last looked at in this browser, so that news from before a reload are marked. Only keys and times are kept.

const KEY = "greenroom.seen";
const MOST = 300;

export class Seen {
  constructor() {
    try {
      this.times = new Map(JSON.parse(localStorage.getItem(KEY) ?? "[]"));
    } catch {
      this.times = new Map();
    }
  }

  /** True if a session was used since it was looked at; one that never was counts as seen. */
  isNews({ key, updatedAt }) {
    return this.times.has(key) && updatedAt > this.times.get(key) + 1000;
  }

  /** Note that a session is looked at. */
  note({ key, updatedAt }) {
    this.times.delete(key);
    this.times.set(key, Math.max(updatedAt, Date.now()));
    while (this.times.size > MOST) this.times.delete(this.times.keys().next().value);
    try {
      localStorage.setItem(KEY, JSON.stringify([...this.times]));
    } catch {
      // It lasts as long as the page.
    }
  }
}

// The timeline: a row for each actor, nested bars for what lasted, marks for what went wrong, and the moment as a line through all of it.

import { h, setText, swap } from "../base/dom.js";
import { visible } from "../base/texts.js";
import { barsOf, Marks, timelineRows } from "./bars.js";
import { makeRows } from "./rows.js";
import { idleGaps, TimeScale } from "./scale.js";
import { makeTotals } from "./totals.js";
import { seconds, showState } from "./words.js";

const ROW = 30;
const AXIS = 26;
const MOST_LISTED = 500;
const PAN = 0.25;
const COLORS = ["life", "turn", "model", "tool", "wait", "bad", "line", "muted", "text", "accent", "surface", "warn"];
const SIGNS = { restart: "↻", dead: "✕", abort: "■", kill: "■", ask: "?", stuck: "!", crash: "▲" };
const WORDS = { restart: "restarted", dead: "dead letter", abort: "abort requested", kill: "kill requested", ask: "asked", stuck: "unresponsive", crash: "failed" };

export function makeTimeline({ model, seen, go }) {
  const totals = makeTotals({ model, seen, go });
  const canvas = h("canvas", { "aria-hidden": "true" });
  const names = h("ul.rows", { role: "list", "aria-label": "Actors of the timeline" });
  const hover = h("div.hover", { role: "tooltip", hidden: true });
  const fold = h("input", { type: "checkbox", checked: true, onchange: () => draw() });
  const quiet = h("input", { type: "checkbox", onchange: () => draw() });
  const asTable = h("button.outlined.small", { "aria-pressed": "false", onclick: () => toggleTable() }, "As a table");
  const withTotals = h("button.outlined.small", { "aria-pressed": "true", onclick: () => toggleTotals() }, "Totals");
  const table = h("div.facts", { hidden: true, tabindex: "0" });
  const zoomText = h("span.muted");
  const legend = h("div.legend", { "aria-hidden": "true" }, ...[["turn", "turn"], ["model", "model request"], ["tool", "tool call"], ["wait", "waits for somebody"], ["bad", "failed"]].map(([name, text]) => h("span", {}, h("i", { class: `of-${name}` }), text)));
  const now = h("div.now", { "aria-hidden": "true" });
  const area = h("div.area", {}, canvas, now, hover);
  const scroller = h("div.timeline", {}, names, area);
  const probes = h("div.probes", { hidden: true, "aria-hidden": "true" }, ...COLORS.map(() => h("i")));
  COLORS.forEach((name, number) => probes.children[number].style.setProperty("color", `var(--${name})`));
  const node = h("section.view-timeline", { "aria-label": "Timeline" }, h("div.tools", {}, h("button.outlined.small", { title: "Zoom in (+)", onclick: () => zoom(1.5) }, "+"), h("button.outlined.small", { title: "Zoom out (−)", onclick: () => zoom(1 / 1.5) }, "−"), h("button.outlined.small", { onclick: () => zoom(0) }, "Fit"), zoomText, h("label.check", {}, fold, "fold idle time"), h("label.check", {}, quiet, "supervisors too"), asTable, withTotals, legend), scroller, table, totals.node, probes);
  let window_ = { from: 0, to: 1 };
  let cache = { count: -1 };
  let shown = [];
  let dragged = null;
  let placed = { at: -1, count: -1, isSeen: true };
  let drawn = "";
  let listed = "";
  let color = {};
  let width = 0;
  let tall = 0;
  const marks = new Marks();
  const lines = makeRows(scroller, names, ROW, ({ actor }) => actor, makeName, updateName);

  // --- what is drawn ---

  function prepare() {
    if (cache.count === model.count && cache.folds === fold.checked && cache.quiet === quiet.checked) return;
    if (model.count) marks.take(model);
    const rows = timelineRows(model).filter(({ actor }) => quiet.checked || worked(actor));
    const top = Math.min(...rows.map(({ depth }) => depth));
    const gaps = fold.checked && model.count ? idleGaps(model) : [];
    cache = {
      count: model.count,
      folds: fold.checked,
      quiet: quiet.checked,
      rows: rows.map((row) => ({ ...row, depth: Math.min(row.depth - top, 3) })),
      scale: new TimeScale(model.t(0), model.t(model.count - 1), gaps),
    };
  }

  /** True for an actor that did something itself, or that something happened to. */
  function worked(actor) {
    const rows = model.slicesOf[actor] ?? [];
    return rows.length > 1 || (rows.length === 1 && (model.rowsOf.mail[actor]?.length ?? 0) > 0);
  }

  const xOf = (t, width) => ((cache.scale.place(t) - window_.from) / (window_.to - window_.from)) * width;
  const tOf = (x, width) => cache.scale.time(window_.from + (x / width) * (window_.to - window_.from));

  /** Look at the colors, which change with the theme; the first one tells. */
  function lookAtColors() {
    const first = getComputedStyle(probes.firstElementChild).color;
    if (color[COLORS[0]] !== first) color = Object.fromEntries(COLORS.map((name, number) => [name, getComputedStyle(probes.children[number]).color]));
  }

  /** Draw what is in sight; where only the moment has moved, only its line and the states. */
  function draw() {
    prepare();
    follow();
    totals.draw();
    Object.assign(scroller.dataset, { from: window_.from.toFixed(4), span: (window_.to - window_.from).toFixed(4), folds: cache.scale.gaps.length });
    if (!table.hidden) return drawTable();
    if (width) lookAtColors();
    lines.draw(cache.rows);
    if (!width) return;
    const full = AXIS + cache.rows.length * ROW;
    const height = Math.max(AXIS, Math.min(full, tall));
    const top = lines.top();
    const mark = [cache.count, cache.folds, cache.quiet, window_.from, window_.to, width, height, top, seen.actor, color.life].join();
    placeMoment();
    if (mark === drawn) return;
    drawn = mark;
    area.style.height = `${full}px`;
    const scale = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const from = tOf(0, width);
    const to = tOf(width, width);
    shown = [];
    drawAxis(pen, height);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS - 4, width, height);
    pen.clip();
    const first = Math.max(0, Math.floor((top - AXIS) / ROW));
    const last = Math.min(cache.rows.length, Math.ceil((top + height) / ROW));
    for (let number = first; number < last; number += 1) drawRow(pen, cache.rows[number].actor, AXIS + number * ROW - top, from, to);
    pen.restore();
    const zoomed = 1 / (window_.to - window_.from);
    setText(zoomText, zoomed > 1.01 ? `${zoomed.toFixed(1)}×` : "");
  }

  new ResizeObserver(() => {
    width = area.clientWidth;
    tall = scroller.clientHeight;
    draw();
  }).observe(scroller);

  function makeName({ actor }) {
    return h("li", {}, h("button", { onclick: () => go({ actor: actor === seen.actor ? 0 : actor }) }, h("span.sign"), h("span.name")));
  }

  function updateName(line, { actor, depth }) {
    const button = line.firstElementChild;
    button.style.setProperty("--depth", depth);
    button.setAttribute("aria-pressed", String(actor === seen.actor));
    const path = model.card(actor).path ?? "";
    showState(button.firstElementChild, model.actor(actor, seen.at));
    setText(button.lastElementChild, visible(path.slice(path.lastIndexOf("/") + 1) || "(root)"));
    button.title = visible(path || "(root)");
  }

  function drawAxis(pen, height) {
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const steps = Math.max(2, Math.floor(width / 110));
    pen.strokeStyle = color.line;
    pen.fillStyle = color.muted;
    pen.lineWidth = 1;
    for (let step = 0; step <= steps; step += 1) {
      const x = Math.round((step / steps) * width) + 0.5;
      pen.globalAlpha = 0.6;
      pen.beginPath();
      pen.moveTo(x, AXIS - 5);
      pen.lineTo(x, height);
      pen.stroke();
      pen.globalAlpha = 1;
      pen.textAlign = step === 0 ? "left" : step === steps ? "right" : "center";
      pen.fillText(seconds(tOf((step / steps) * width, width) - model.t(0)), step === 0 ? 2 : step === steps ? width - 2 : x, 10);
    }
    for (const gap of cache.scale.gaps) {
      const a = xOf(gap.begin, width);
      const b = xOf(gap.end, width);
      if (b < 0 || a > width) continue;
      pen.globalAlpha = 0.5;
      pen.fillStyle = color.line;
      for (let y = AXIS; y < height; y += 6) pen.fillRect(a, y, b - a, 1);
      pen.globalAlpha = 1;
    }
  }

  function drawRow(pen, actor, top, from, to) {
    if (actor === seen.actor) {
      pen.globalAlpha = 0.1;
      pen.fillStyle = color.accent;
      pen.fillRect(0, top, width, ROW);
      pen.globalAlpha = 1;
    }
    pen.fillStyle = color.line;
    pen.fillRect(0, top + ROW - 1, width, 1);
    const done = [-9, -9, -9, -9];
    for (const bar of barsOf(model, actor, from, to)) {
      const a = Math.max(-2, xOf(bar.begin, width));
      const b = Math.min(width + 2, Math.max(xOf(bar.end, width), a + 1.5));
      if (b <= done[bar.level] + 0.5 && bar.outcome !== "failed") continue; // nobody sees it behind the one before
      done[bar.level] = b;
      const [offset, high] = [[13, 4], [5, 20], [8, 14], [8, 14]][bar.level];
      const kind = bar.outcome === "failed" ? "bad" : { actor: "life", session: "life", turn: "turn", model: "model", permission: "wait" }[bar.what] ?? "tool";
      pen.fillStyle = bar.level === 0 && bar.outcome === "failed" ? color.life : color[kind];
      pen.globalAlpha = bar.level === 1 && kind !== "bad" ? 1 : bar.level === 1 ? 0.35 : 1;
      box(pen, a, top + offset, b - a, high, Math.min(3, high / 2));
      pen.globalAlpha = 1;
      if (bar.isOpen && b > 0) fade(pen, b, top + offset, high);
      if (bar.level === 2 && b - a > 46 && bar.name) {
        pen.fillStyle = color.surface;
        pen.font = "10px system-ui, sans-serif";
        pen.textAlign = "left";
        pen.fillText(bar.name.slice(0, Math.floor((b - a - 8) / 5.6)), a + 4, top + offset + high / 2 + 0.5);
      }
      if (bar.level) shown.push({ ...bar, actor, a, b, top: top + offset, bottom: top + offset + high });
    }
    for (const { at, shape } of marks.of(actor)) {
      const t = model.t(at);
      if (t < from || t > to) continue;
      const x = xOf(t, width);
      pen.fillStyle = shape === "ask" ? color.warn : color.bad;
      pen.font = "bold 11px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.fillText(SIGNS[shape], x, top + 5);
      shown.push({ actor, at, what: WORDS[shape], name: "", a: x - 5, b: x + 5, top: top - 2, bottom: top + 9, begin: t, end: t, outcome: "" });
    }
  }

  function box(pen, x, y, width, height, radius) {
    pen.beginPath();
    pen.roundRect(x, y, width, height, Math.min(radius, width / 2));
    pen.fill();
  }

  /** What is open ends ragged, at the edge of the record. */
  function fade(pen, x, y, high) {
    pen.fillStyle = color.surface;
    for (let step = 0; step < high; step += 4) pen.fillRect(x - (step % 8 ? 2 : 4), y + step, 4, 2);
  }

  function placeMoment() {
    const x = model.count ? xOf(seen.at ? model.t(seen.at - 1) : model.t(0), width) : -1;
    now.hidden = x < 0 || x > width;
    now.style.translate = `${x}px`;
  }

  // --- zoom, drag, hover ---

  function zoom(factor, middle = null) {
    if (!factor) window_ = { from: 0, to: 1 };
    else {
      const span = Math.min(1, Math.max(1e-5, (window_.to - window_.from) / factor));
      const center = middle ?? (model.count ? cache.scale.place(model.t(Math.max(0, seen.at - 1))) : 0.5);
      const share = Math.min(1, Math.max(0, (center - window_.from) / (window_.to - window_.from)));
      move(center - span * share, span);
    }
    draw();
  }

  function move(from, span) {
    const begin = Math.min(1 - span, Math.max(0, from));
    window_ = { from: begin, to: begin + span };
    placed.isSeen = !model.count || isIn(cache.scale.place(model.t(Math.max(0, seen.at - 1))));
  }

  /** Move what a zoomed timeline shows by a part of its width. */
  function pan(step) {
    const span = window_.to - window_.from;
    move(window_.from + step * span * PAN, span);
    draw();
  }

  /** Bring the moment in sight when it has moved; one that only follows the run stays out of sight where one has looked elsewhere. */
  function follow() {
    if (placed.at === seen.at && placed.count === model.count) return;
    const place = model.count ? cache.scale.place(model.t(Math.max(0, seen.at - 1))) : 0;
    const span = window_.to - window_.from;
    if (!isIn(place) && (placed.isSeen || !seen.isLive)) move(place - span / 2, span);
    placed = { at: seen.at, count: model.count, isSeen: isIn(place) };
  }

  function isIn(place) {
    return place >= window_.from && place <= window_.to;
  }

  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && !event.altKey) return;
    event.preventDefault();
    const x = event.offsetX / width;
    zoom(event.deltaY < 0 || event.deltaX < 0 ? 1.25 : 0.8, window_.from + x * (window_.to - window_.from));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    dragged = { x: event.offsetX, from: window_.from, hasMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      const by = event.offsetX - dragged.x;
      dragged.hasMoved ||= Math.abs(by) > 4;
      const span = window_.to - window_.from;
      if (dragged.hasMoved) {
        move(dragged.from - (by / width) * span, span);
        draw();
      }
    } else showHover(event);
  });
  canvas.addEventListener("pointerup", (event) => {
    const hasMoved = dragged?.hasMoved;
    dragged = null;
    if (!hasMoved) choose(event);
  });
  canvas.addEventListener("pointerleave", () => (hover.hidden = true));

  scroller.addEventListener("scroll", draw);

  function under(event) {
    return shown.findLast((bar) => event.offsetX >= bar.a - 1 && event.offsetX <= bar.b + 1 && event.offsetY >= bar.top && event.offsetY <= bar.bottom);
  }

  function choose(event) {
    const bar = under(event);
    if (bar?.at !== undefined) return go({ at: bar.at + 1, actor: bar.actor });
    const row = cache.rows[Math.floor((event.offsetY + scroller.scrollTop - AXIS) / ROW)];
    return go({ at: Math.max(1, model.countAt(tOf(event.offsetX, width))), ...(bar && row ? { actor: row.actor } : {}) });
  }

  function showHover(event) {
    const bar = under(event);
    hover.hidden = !bar;
    if (!bar) return;
    hover.replaceChildren(h("strong", {}, visible(bar.name ? `${bar.what} ${bar.name}` : bar.what)), h("span", {}, ` ${visible(model.name(bar.actor))}`), h("br"), h("small", {}, bar.at === undefined ? `${seconds(bar.end - bar.begin)} · ${bar.outcome} · from ${seconds(bar.begin - model.t(0))}` : `event ${model.seq(bar.at)}`));
    hover.style.left = `${Math.min(event.offsetX + 12, width - 220)}px`;
    hover.style.top = `${event.offsetY + scroller.scrollTop + 14}px`;
  }

  function toggleTotals() {
    totals.node.hidden = !totals.node.hidden;
    withTotals.setAttribute("aria-pressed", String(!totals.node.hidden));
    totals.draw();
  }

  // --- the same as a table ---

  function toggleTable() {
    table.hidden = !table.hidden;
    scroller.hidden = !table.hidden;
    asTable.setAttribute("aria-pressed", String(!table.hidden));
    draw();
  }

  /** Return what the picture shows of a stretch of time: bars and marks, by the number of the event that they begin with. */
  function factsOf(from, to) {
    const { slices, ends } = model.tables;
    const found = [];
    for (const { actor } of cache.rows) {
      for (const bar of barsOf(model, actor, from, to)) {
        const end = model.ends[bar.row];
        found.push({ ...bar, actor, at: slices.event[bar.row], last: end < 0 ? -1 : ends.event[end] });
      }
      for (const { at, shape } of marks.of(actor)) {
        const t = model.t(at);
        if (t >= from && t <= to) found.push({ actor, at, last: at, what: WORDS[shape], name: "", begin: t, end: t, outcome: "" });
      }
    }
    return found.sort((a, b) => a.at - b.at);
  }

  function drawTable() {
    const mark = [cache.count, cache.quiet, window_.from, window_.to].join();
    if (mark === listed) return;
    listed = mark;
    const found = model.count ? factsOf(cache.scale.time(window_.from), cache.scale.time(window_.to)) : [];
    const row = (fact) =>
      h(
        "tr",
        { "data-actor": model.lists.actors[fact.actor], "data-from": model.seq(fact.at), "data-to": fact.last < 0 ? "" : model.seq(fact.last) },
        h("th", { scope: "row" }, visible(model.name(fact.actor))),
        h("td", {}, visible(`${fact.what} ${fact.name}`.trim())),
        h("td.right", {}, h("button.link", { onclick: () => go({ at: fact.at + 1, actor: fact.actor }) }, seconds(fact.begin - model.t(0)))),
        h("td.right", {}, fact.outcome ? seconds(fact.end - fact.begin) : ""),
        h("td", {}, visible(fact.outcome)),
      );
    swap(table, h("table", {}, h("thead", {}, h("tr", {}, ...["Actor", "What", "From", "Took", "Outcome"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...found.slice(0, MOST_LISTED).map(row))), found.length > MOST_LISTED ? h("p.empty", {}, `${(found.length - MOST_LISTED).toLocaleString("en")} more; zoom in to see them.`) : "");
  }

  return { node, draw, zoom: (factor) => zoom(factor), pan };
}

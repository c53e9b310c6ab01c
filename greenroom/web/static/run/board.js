// The boards of the teams at the moment: items by status, and the history of one as a line of owners.

import { h, setText, swap } from "../base/dom.js";
import { rich, visible } from "../base/texts.js";
import { makeRows } from "./rows.js";
import { costOf, dollars, seconds, tokens } from "./words.js";

const COLUMNS = [["pending", "Pending"], ["in_progress", "In progress"], ["completed", "Completed"]];
const ROW = 84;

export function makeBoard({ model, seen, go }) {
  const board = h("div.board");
  const history = h("div.history", { "aria-live": "polite" });
  const blank = h("p.blank", {}, "No item is on a board at this moment.");
  const node = h("section.view-board", { "aria-label": "Board" }, blank, board, history);
  const lanes = COLUMNS.map(([status, title]) => makeLane(status, title));
  let chosen = "";
  let shown = "";
  let items = [];
  let statusOf = new Map();
  let blocksOf = new Map();

  function makeLane(status, title) {
    const count = h("span.badge.quiet");
    const list = h("ul");
    board.append(h("section.lane", {}, h("h2", {}, title, count), list));
    return { status, count, rows: makeRows(board, list, ROW, ([key]) => key, makeCard, update) };
  }

  function draw() {
    const mark = `${chosen}/${seen.at}/${model.taken.patches}`;
    if (mark === shown) return;
    shown = mark;
    items = model.section("items", seen.at);
    blank.hidden = items.length > 0;
    board.hidden = history.hidden = !items.length;
    statusOf = new Map();
    blocksOf = new Map();
    const found = new Map(COLUMNS.map(([status]) => [status, []]));
    for (const entry of items) {
      const [key, item] = entry;
      found.get(item.status)?.push(entry);
      statusOf.set(key, item.status);
      for (const id of item.blocked_by ?? []) {
        const other = besides(key, id);
        if (blocksOf.has(other)) blocksOf.get(other).push(item.id);
        else blocksOf.set(other, [item.id]);
      }
    }
    for (const { status, count, rows } of lanes) {
      setText(count, found.get(status).length.toLocaleString("en"));
      rows.draw(found.get(status));
    }
    drawHistory();
  }

  /** Return the key of the item of a number on the board of another one. */
  function besides(key, id) {
    return `${key.slice(0, key.lastIndexOf(" "))} ${id}`;
  }

  function makeCard([key]) {
    return h("li", { "data-item": key }, h("button.item", { onclick: () => { chosen = key === chosen ? "" : key; draw(); } }, h("span.id"), h("span.subject"), h("small", {}, h("b"), h("span"))));
  }

  function update(card, [key, item]) {
    const button = card.firstElementChild;
    const [id, subject, said] = button.children;
    const open = (item.blocked_by ?? []).filter((other) => statusOf.has(besides(key, other)) && statusOf.get(besides(key, other)) !== "completed");
    const blocks = blocksOf.get(key) ?? [];
    button.className = `item is-${item.status}`;
    button.setAttribute("aria-pressed", String(key === chosen));
    setText(id, `#${item.id}`);
    setText(subject, visible(item.subject));
    setText(said.firstElementChild, item.owner ? visible(item.owner) : "");
    const spent = spentOn(key);
    setText(said.lastElementChild, [item.owner ? "" : "no owner", spent.owners.size ? seconds(spent.s) : "", spent.tokens ? tokens(spent.tokens) : "", item.failures ? `failed ${item.failures}×` : "", item.claims > 1 ? `claimed ${item.claims}×` : "", open.length ? `waits for ${open.map((other) => `#${other}`).join(", ")}` : "", blocks.length ? `blocks ${blocks.map((other) => `#${other}`).join(", ")}` : ""].map((part, number) => (part && (number || item.owner) ? ` · ${part}` : part)).join(""));
    button.title = visible(item.subject);
  }

  /**
   * Return what the owners of an item took while they had it, up to the moment.
   *
   * The tokens are those that they used meanwhile, for whatever: an owner that works on two items at a time counts for both.
   */
  function spentOn(key) {
    const team = key.slice(0, key.lastIndexOf(" "));
    const spent = { s: 0, tokens: 0, requests: 0, usd: 0, isPriced: true, owners: new Set() };
    let since = 0;
    let owner = "";
    const settle = (until) => {
      if (!owner) return;
      const actor = Math.max(0, model.cards.findLastIndex((card) => card?.path?.endsWith(`teams/${team}/${owner}`)));
      spent.owners.add(owner);
      spent.s += model.t(until - 1) - model.t(since - 1);
      const [before, after] = actor ? [model.usage(actor, since), model.usage(actor, until)] : [null, null];
      if (!after) return;
      const used = Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before?.[name] ?? 0)]));
      const usd = costOf(model, actor, used);
      spent.tokens += used.input + used.output + used.cache_read + used.cache_write;
      spent.requests += used.requests;
      spent.usd += usd ?? 0;
      spent.isPriced &&= usd !== null;
    };
    let item = {};
    for (const { position, fields } of model.history("items", key)) {
      if (position >= seen.at) break;
      item = fields === null ? {} : { ...item, ...(fields[""] ?? fields) };
      const holder = item.status === "in_progress" ? (item.owner ?? "") : "";
      if (holder === owner) continue;
      settle(position + 1);
      owner = holder;
      since = position + 1;
    }
    settle(seen.at);
    return spent;
  }

  function spentWords({ s, tokens: used, requests, usd, isPriced, owners }) {
    if (!owners.size) return "";
    const parts = [seconds(s), used ? `${tokens(used)} tokens` : "", requests ? `${requests} ${requests === 1 ? "request" : "requests"}` : "", used && isPriced ? dollars(usd) : ""];
    return `${parts.filter(Boolean).join(" · ")} by ${[...owners].map(visible).join(", ")}`;
  }

  function drawHistory() {
    const found = chosen && items.find(([key]) => key === chosen);
    if (!found) {
      if (history.firstElementChild?.className !== "empty") history.replaceChildren(h("p.empty", {}, "Choose an item to see its history."));
      return;
    }
    const [key, item] = found;
    const steps = model.history("items", key);
    swap(
      history,
      h("h2", {}, `#${item.id} ${visible(item.subject)}`),
      h("p.spent", {}, spentWords(spentOn(key)) || "Nobody has had it yet."),
      h("ol.steps", {}, ...steps.map(({ position, fields }) => h("li", { class: position < seen.at ? "" : "is-later" }, h("button.event", { onclick: () => go({ at: position + 1 }) }, h("span.seq", {}, String(model.seq(position))), h("span", {}, `${visible(model.kind(position).slice(5))}${fields?.owner ? ` by ${visible(fields.owner)}` : fields && "owner" in fields && fields.owner === "" ? ", no owner" : ""}${fields?.why ? `: ${visible(fields.why)}` : ""}`), h("small", {}, seconds(model.since(position))))))),
      item.description ? h("details", {}, h("summary", {}, "Description"), h("div.text", {}, rich(item.description))) : "",
      item.findings ? h("details", {}, h("summary", {}, "Findings"), h("pre", { tabindex: "0" }, visible(item.findings))) : "",
    );
  }

  return { node, draw };
}

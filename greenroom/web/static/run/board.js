// The boards of the teams at the moment: items by status, and the history of one as a line of owners.

import { h } from "../base/dom.js";
import { rich, visible } from "../base/texts.js";
import { seconds } from "./words.js";

const COLUMNS = [["pending", "Pending"], ["in_progress", "In progress"], ["completed", "Completed"]];

export function makeBoard({ model, seen, go }) {
  const board = h("div.board");
  const history = h("div.history", { "aria-live": "polite" });
  const node = h("section.view-board", { "aria-label": "Board" }, board, history);
  let chosen = "";
  let shown = "";

  function draw() {
    const items = [...(model.sections(seen.at).items ?? new Map())];
    const mark = JSON.stringify([chosen, seen.at && items.map(([key, item]) => [key, item.status, item.owner, item.failures, item.subject])]);
    if (mark === shown) return;
    shown = mark;
    if (!items.length) {
      board.replaceChildren(h("p.blank", {}, "No item is on a board at this moment."));
      history.replaceChildren();
      return;
    }
    board.replaceChildren(...COLUMNS.map(([status, title]) => column(title, items.filter(([, item]) => item.status === status), items)));
    drawHistory(items.find(([key]) => key === chosen));
  }

  function column(title, found, all) {
    return h("section.lane", {}, h("h2", {}, title, h("span.badge.quiet", {}, String(found.length))), h("ul", {}, ...found.map(([key, item]) => card(key, item, all))));
  }

  function card(key, item, all) {
    const blocks = all.filter(([, other]) => other.blocked_by?.includes(item.id)).map(([, other]) => `#${other.id}`);
    const open = (item.blocked_by ?? []).filter((id) => all.some(([, other]) => other.id === id && other.status !== "completed"));
    return h(
      "li",
      {},
      h(
        "button.item",
        { type: "button", "aria-pressed": String(key === chosen), class: `is-${item.status}`, onclick: () => { chosen = key === chosen ? "" : key; draw(); } },
        h("span.id", {}, `#${item.id}`),
        h("span.subject", {}, visible(item.subject)),
        h("small", {}, item.owner ? h("b", {}, visible(item.owner)) : "no owner", item.failures ? ` · failed ${item.failures}×` : "", item.claims > 1 ? ` · claimed ${item.claims}×` : "", open.length ? ` · waits for ${open.map((id) => `#${id}`).join(", ")}` : "", blocks.length ? ` · blocks ${blocks.join(", ")}` : ""),
      ),
    );
  }

  function drawHistory(found) {
    if (!found) {
      history.replaceChildren(h("p.empty", {}, "Choose an item to see its history."));
      return;
    }
    const [key, item] = found;
    const steps = model.history("items", key);
    history.replaceChildren(
      h("h2", {}, `#${item.id} ${visible(item.subject)}`),
      h("ol.steps", {}, ...steps.map(({ position, fields }) => h("li", { class: position < seen.at ? "" : "is-later" }, h("button.event", { type: "button", onclick: () => go({ at: position + 1 }) }, h("span.seq", {}, String(model.seq(position))), h("span", {}, `${visible(model.kind(position).slice(5))}${fields?.owner ? ` by ${visible(fields.owner)}` : fields && "owner" in fields && fields.owner === "" ? ", no owner" : ""}${fields?.why ? `: ${visible(fields.why)}` : ""}`), h("small", {}, seconds(model.since(position))))))),
      item.description ? h("details", {}, h("summary", {}, "Description"), h("div.text", {}, rich(item.description))) : "",
      item.findings ? h("details", {}, h("summary", {}, "Findings"), h("pre", { tabindex: "0" }, visible(item.findings))) : "",
    );
  }

  return { node, draw };
}

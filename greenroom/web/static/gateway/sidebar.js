// The list of sessions, by agent, and the line about the gateway's health.

import { h, icon, iconButton, keyed, redraw, setText } from "../base/dom.js";
import { nextTheme, theme } from "../base/theme.js";
import { count, moment, oneLine, preview } from "../base/texts.js";
import { nameOf, partsOf } from "./state.js";

const THEMES = { system: ["half", "Theme: as the system"], light: ["sun", "Theme: light"], dark: ["moon", "Theme: dark"] };

/** Make the list; `go` opens a session, `showHealth` what the health line stands for. */
export function makeSidebar({ state, seen, go, showHealth, showHelp }) {
  const themeButton = iconButton("half", "Theme", () => {
    nextTheme();
    drawTheme();
  });
  const drawTheme = () => {
    const [name, label] = THEMES[theme()];
    themeButton.replaceChildren(icon(name));
    themeButton.title = label;
    themeButton.setAttribute("aria-label", label);
  };
  drawTheme();
  const filter = h("input", {
    type: "search",
    placeholder: "Find a session",
    "aria-label": "Find a session",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => draw(state.current),
    onkeydown: (event) => {
      if (event.key === "Escape") {
        filter.value = "";
        filter.blur();
        draw(state.current);
      } else if (event.key === "Enter" && order.length) go(order[0]);
    },
  });
  const list = h("nav.sessions", { "aria-label": "Sessions" });
  const nothing = h("p.empty", { hidden: true }, "No session has that name.");
  const health = h("button.health", { type: "button", onclick: showHealth, "aria-haspopup": "dialog" });
  const node = h(
    "aside.sidebar",
    { "aria-label": "Gateway" },
    h(
      "header.brand",
      {},
      h("span.mark", { "aria-hidden": "true" }, "G"),
      h("span.name", {}, "greenroom"),
      iconButton("hand", "Keys and commands (?)", showHelp),
      themeButton,
    ),
    h("label.search", {}, icon("search"), filter, h("kbd", { "aria-hidden": "true" }, "/")),
    list,
    nothing,
    health,
  );
  let order = [];

  function draw(current) {
    const words = filter.value.trim().toLowerCase();
    const fits = (row) => !words || `${nameOf(row, state.runs)} ${row.key}`.toLowerCase().includes(words);
    const rows = state.listed().filter(fits);
    const groups = new Map(state.agents.map((agent) => [agent.id, []]));
    for (const row of rows) {
      const { agent } = partsOf(row.key);
      if (!groups.has(agent)) groups.set(agent, []);
      groups.get(agent).push(row);
    }
    const shown = [...groups].filter(([, found]) => found.length);
    order = shown.flatMap(([, found]) => found.map((row) => row.key));
    keyed(list, shown, ([id]) => id, makeGroup, (group, item) => drawGroup(group, item, current));
    for (const item of shown) drawGroup(list.keyed.get(item[0]), item, current);
    nothing.hidden = rows.length > 0 || !words;
    drawHealth(health, state);
  }

  function makeGroup() {
    const group = h("section", {}, h("h2"), h("ul"));
    return group;
  }

  function drawGroup(group, [id, rows], current) {
    const agent = state.agents.find((each) => each.id === id);
    redraw(group.firstChild, [id, agent], () => [
      h("span", {}, oneLine(agent?.name ?? id, 40)),
      agent?.model ? h("small", { title: oneLine(agent.model) }, oneLine(agent.model, 40)) : null,
    ]);
    keyed(group.lastChild, rows, (row) => row.key, (row) => makeRow(row, current), (item, row) => drawRow(item, row, current));
  }

  function makeRow(row, current) {
    const button = h("button.row", { type: "button", onclick: () => go(row.key) });
    const item = h("li", {}, button);
    drawRow(item, row, current);
    return item;
  }

  function drawRow(item, row, current) {
    const button = item.firstChild;
    const root = state.sessions.get(current)?.spawnedBy ?? state.runOf(current)?.requester;
    const isCurrent = row.key === current || row.key === root;
    if (isCurrent) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    const last = row.messages?.at(-1);
    const facts = {
      name: nameOf(row, state.runs),
      last: last ? preview(last.text) : state.activity(row.key) === "working" ? "Working…" : row.isNew ? "Nothing said yet" : "",
      isMine: last?.role === "user",
      when: moment(row.updatedAt),
      activity: state.activity(row.key),
      broken: row.state === "broken" || Boolean(state.health?.sessions?.broken?.[row.key]),
      children: state.childrenOf(row.key).filter((run) => !run.endedAt).length,
      asks: state.questionsOf(row.key).length,
      unread: state.chats.get(row.key)?.unread ?? 0,
      isNews: row.key !== current && seen.isNews(row),
    };
    redraw(button, facts, () => [
      h("span.state", { class: stateOf(facts), title: wordsOf(facts) }, h("span.sr", {}, wordsOf(facts))),
      h("span.title", {}, facts.name),
      h("time", {}, facts.when),
      h("span.last", {}, facts.isMine ? h("span.you", {}, "You: ") : null, facts.last),
      facts.asks
        ? h("span.badge.warn", { title: count(facts.asks, "question") }, String(facts.asks))
        : facts.unread
          ? h("span.badge", { title: count(facts.unread, "new reply").replace("replys", "replies") }, String(facts.unread))
          : facts.isNews
            ? h("span.badge.dot", { title: "New since you were here" })
            : facts.children
              ? h("span.badge.quiet", { title: count(facts.children, "running sub-agent") }, icon("tree"), String(facts.children))
              : null,
    ]);
    button.classList.toggle("unread", Boolean(facts.unread || facts.isNews));
  }

  /** Open the session that stands next to the one that is shown. */
  function step(by) {
    const at = order.indexOf(state.current);
    const next = order[Math.min(order.length - 1, Math.max(0, at + by))];
    if (next) {
      go(next);
      list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    }
  }

  return { node, draw, step, find: () => filter.focus() };
}

function stateOf({ broken, activity, asks }) {
  return broken ? "is-broken" : asks ? "is-asking" : activity ? `is-${activity}` : "is-quiet";
}

function wordsOf({ broken, activity, asks }) {
  return broken ? "Broken: it needs a reset" : asks ? "It asks a question" : activity || "Nothing runs";
}

function drawHealth(node, state) {
  const { status, link, stopping } = state;
  const facts = [status, link.name, stopping];
  redraw(node, facts, () => {
    const [mark, words] = healthWords(state);
    return [
      h("span.state", { class: mark }),
      h("span.words", {}, words),
      status ? h("small", {}, `${status.sessions.open} open · ${status.runs} running`) : null,
      status ? h("small.version", {}, oneLine(status.version, 20)) : null,
    ];
  });
  setText(node.querySelector(".words"), healthWords(state)[1]);
}

/** Return the state of the gateway as a class and in words. */
export function healthWords({ status, link, stopping }) {
  if (link.name === "unauthorized" || link.name === "ended") return ["is-broken", "Not connected"];
  if (link.name !== "open") return ["is-waiting", "Connecting…"];
  if (stopping) return ["is-asking", "The gateway stops"];
  if (!status) return ["is-waiting", "Reading…"];
  if (status.status === "ok") return ["is-ok", "All parts work"];
  if (status.status === "starting") return ["is-waiting", "Starting"];
  return ["is-broken", `Degraded: ${oneLine(status.down.join(", "), 60) || "see health"}`];
}

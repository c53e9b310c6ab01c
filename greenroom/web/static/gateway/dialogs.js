// Dialogs: keys and commands, and the health of each part. And the screen of a page that has no token.

import { copy, h, icon } from "../base/dom.js";
import { showDialog } from "../base/dialog.js";
import { moment, oneLine, span, visible } from "../base/texts.js";

const KEYS = [
  ["/", "find a session"],
  ["J K", "next, former session"],
  ["I", "write a message"],
  [".", "show or hide activity"],
  ["G", "newest message"],
  ["Esc", "leave a field, close a panel"],
  ["?", "this list"],
];

/** Show the keys and the commands. */
export function showHelp(commands) {
  showDialog(
    "Keys and commands",
    h("table", {}, h("tbody", {}, ...KEYS.map(([key, words]) => h("tr", {}, h("th", { scope: "row" }, ...key.split(" ").map((each) => h("kbd", {}, each))), h("td", {}, words))))),
    h("h3", {}, "In a chat"),
    h(
      "table",
      {},
      h("tbody", {}, ...commands.map((command) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, `/${command.name}`)), h("td", {}, oneLine(command.summary, 120))))),
    ),
  );
}

/** Show the state of each part. */
export function showHealth(health) {
  const rows = (title, found) => (found.length ? [h("h3", {}, title), h("table", {}, h("tbody", {}, ...found.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((cell) => h("td", {}, cell))))))] : []);
  const { channels, lanes, sessions, deliveries, loopLag, memoryKb, config, journal } = health;
  showDialog(
    "Health",
    h("p.big", { class: health.status === "ok" ? "is-ok" : "is-broken" }, h("span.state"), health.status === "ok" ? "All parts work" : `${oneLine(health.status)}: ${oneLine(health.down.join(", "), 200)}`),
    ...rows("Channels", channels.map((each) => [`${oneLine(each.channel)}${each.accountId === "default" ? "" : ` / ${oneLine(each.accountId)}`}`, oneLine(each.state), each.error ? oneLine(each.error, 120) : each.lastContactAt ? `heard ${moment(each.lastContactAt)}` : "", each.due ? `${each.due} due` : ""])),
    ...rows("Lanes", Object.entries(lanes).map(([name, lane]) => [oneLine(name), `${lane.active ?? 0} of ${lane.width ?? "?"} busy`, `${lane.waiting ?? 0} waiting`])),
    ...rows("Sessions", [["open", String(sessions.open)], ["known", String(sessions.known)], ...Object.entries(sessions.broken).map(([key, why]) => [oneLine(key, 80), `broken: ${oneLine(why, 120)}`])]),
    ...rows("Process", [
      ["running for", span(Date.now() - health.startedAt)],
      ["deliveries", `${deliveries.due} due, ${deliveries.blocked} blocked`],
      ["event loop", `p50 ${loopLag.p50Ms.toFixed(1)} ms, p99 ${loopLag.p99Ms.toFixed(1)} ms late`],
      ["memory", `${Math.round(memoryKb / 1024)} MiB`],
      ["journal", `${journal.pendingBytes} bytes pending`],
      ["version", oneLine(health.version)],
    ]),
    ...(config.problems.length ? [h("h3", {}, "Configuration"), h("ul", {}, ...config.problems.map((problem) => h("li", {}, visible(problem))))] : []),
  );
}

/** Return the screen of a page without a token. */
export function lockedScreen({ had, wasCode }) {
  const words = had
    ? "The gateway was started again, or the code was used: tokens of pages end with it."
    : wasCode
      ? "The code in this address was used already, or is older than a minute."
      : "This page needs a code, which is good once and for a minute.";
  return h(
    "main.locked",
    {},
    h("div.sheet", {}, h("span.mark", { "aria-hidden": "true" }, "G"), h("h1", {}, "greenroom"), h("p", {}, words), h("p", {}, "Run this on the gateway's machine, and open the address that it prints in this tab:"), commandLine("greenroom gateway open")),
  );
}

/** Return a command that can be copied. */
export function commandLine(command) {
  return h(
    "div.command-line",
    {},
    h("code", {}, command),
    h("button.ghost", { type: "button", "aria-label": "Copy the command", title: "Copy", onclick: async (event) => {
      const button = event.currentTarget;
      if (await copy(command)) button.classList.add("done");
    } }, icon("copy")),
  );
}

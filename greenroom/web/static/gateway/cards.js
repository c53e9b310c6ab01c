// Cards about what waits for a person: questions about calls, people who ask to be paired, blocked deliveries.

import { h, icon } from "../base/dom.js";
import { clock, moment, oneLine, span, visible } from "../base/texts.js";
import { nameOf } from "./state.js";

/** States of a run: icon, class and word. The word says the same as the color. */
const STATES = {
  pending: ["clock", "is-waiting", "waiting"],
  running: ["tree", "is-working", "running"],
  ok: ["check", "is-ok", "done"],
  success: ["check", "is-ok", "done"],
  completed: ["check", "is-ok", "done"],
  error: ["close", "is-broken", "failed"],
  failed: ["close", "is-broken", "failed"],
  timeout: ["clock", "is-asking", "timed out"],
  killed: ["stop", "is-quiet", "stopped"],
  unknown: ["hand", "is-quiet", "ended, outcome unknown"],
};

/** Return icon, class and word for the state of a run. */
export function stateOfRun(run) {
  if (run.endedAt && run.state === "killed" && run.status !== "timeout") return STATES.killed;
  if (run.endedAt) return STATES[run.status] ?? STATES[run.state] ?? STATES.unknown;
  return run.startedAt ? STATES.running : STATES.pending;
}

/** Return a card for a question about a call. */
export function approvalCard(ask, { state, act, go, isHere }) {
  const node = h("section.card.ask", { "aria-label": `May ${oneLine(ask.tool, 60)} run?` });
  const answer = async (decision) => {
    node.inert = true;
    const answered = await act("approvals.resolve", { approvalId: ask.approvalId, decision });
    if (answered && !answered.taken) node.querySelector(".by").textContent = "Somebody else was faster.";
    if (!answered) node.inert = false;
  };
  const session = state.sessions.get(ask.sessionKey) ?? { key: ask.sessionKey };
  node.append(
    h("h3", {}, icon("hand"), h("span", {}, "May ", h("code", {}, oneLine(ask.tool, 80)), " run?")),
    h("pre", { tabindex: "0" }, visible(ask.summary || "-")),
    h(
      "div.by",
      {},
      isHere && ask.sessionKey === state.current
        ? "Asked in this session"
        : h("button.crumb", { type: "button", onclick: () => go(ask.sessionKey) }, nameOf(session, state.runs)),
      ask.expiresMs ? ` · refused by itself in ${span(ask.expiresMs - Date.now())}` : "",
    ),
    h(
      "div.choices",
      {},
      h("button.filled", { type: "button", onclick: () => answer("once") }, "Allow once"),
      h("button.outlined", { type: "button", title: "Until this session is closed", onclick: () => answer("always") }, "Always here"),
      h("button.outlined.danger", { type: "button", onclick: () => answer("deny") }, "Deny"),
    ),
  );
  return node;
}

/** Return a card for a blocked delivery. */
export function deliveryCard(row, { act, state }) {
  const { channel = "?", account, peer = "?", thread } = row.route ?? {};
  const mayWrite = state.scopes.includes("write");
  const change = (method) => async (event) => {
    const card = event.currentTarget.closest(".card");
    card.inert = true;
    if (!(await act(method, { deliveryId: row.deliveryId }))) card.inert = false;
  };
  return h(
    "section.card.delivery",
    { "aria-label": "A message that could not be sent" },
    h("h3", {}, icon("send"), h("span", {}, "Not sent to ", h("code", {}, oneLine([channel, account && account !== "default" ? account : "", peer, thread].filter(Boolean).join(" / "), 80)))),
    h("p", {}, oneLine(row.why || "the channel gave no reason", 240)),
    h("div.by", {}, `${row.tries} ${row.tries === 1 ? "try" : "tries"} · since ${clock(row.dueAt)}${row.parts > 1 ? ` · ${row.partsTaken} of ${row.parts} parts sent` : ""}`),
    mayWrite
      ? h(
          "div.choices",
          {},
          h("button.outlined", { type: "button", onclick: change("deliveries.retry") }, "Try again"),
          h("button.outlined.danger", { type: "button", onclick: change("deliveries.dismiss") }, "Give up"),
        )
      : null,
  );
}

/** Return a card for somebody who asks to be paired: the code stands in that person's chat, and is typed in here. */
export function pairingCard(row, { act }) {
  const code = h("input", { type: "text", "aria-label": "Code of this person", placeholder: "Code from their chat", maxlength: "16", autocomplete: "off", spellcheck: "false" });
  const decide = (method) => async (event) => {
    event.preventDefault();
    const card = event.currentTarget.closest(".card");
    if (!code.value.trim()) return code.focus();
    card.inert = true;
    if (!(await act(method, { channel: row.channel, accountId: row.accountId, code: code.value.trim().toUpperCase() }))) card.inert = false;
    return undefined;
  };
  return h(
    "section.card.pairing",
    { "aria-label": "Somebody asks to be paired" },
    h("h3", {}, icon("person"), h("span", {}, h("code", {}, oneLine(row.sender, 80)), " asks to write")),
    h("p", {}, `On ${oneLine(row.channel, 40)}${row.accountId === "default" ? "" : ` / ${oneLine(row.accountId, 40)}`}, since ${moment(row.askedAt)}. Type the code that this person was sent.`),
    h(
      "form.choices",
      { onsubmit: decide("pairing.approve") },
      code,
      h("button.filled", { type: "submit" }, "Pair"),
      h("button.outlined.danger", { type: "button", onclick: decide("pairing.reject") }, "Refuse"),
    ),
  );
}

// The page of a run: it connects the model, the source and the views. One moment for all views; the address names what is seen:
// `#run=…&at=SEQ&actor=PATH&view=NAME`. Without `at` the newest event is followed.

import { h, icon, iconButton } from "../base/dom.js";
import { showDialog } from "../base/dialog.js";
import { nextTheme, theme } from "../base/theme.js";
import { oneLine, span } from "../base/texts.js";
import { makeBoard } from "./board.js";
import { makeCard } from "./card.js";
import { makeDetail } from "./detail.js";
import { FileSource, holdsRun } from "./file.js";
import { makeFindings } from "./findings.js";
import { makeMailboxes } from "./mailboxes.js";
import { makeMessages } from "./messages.js";
import { RunModel } from "./model.js";
import { makeMomentBar } from "./moment.js";
import { paced } from "./pace.js";
import { makeSearch } from "./search.js";
import { ServedSource } from "./source.js";
import { makeTalk } from "./talk.js";
import { makeTimeline } from "./timeline.js";
import { makeTokens } from "./tokens.js";
import { makeTree } from "./tree.js";
import { makeWhy } from "./why.js";
import { commandFor, seconds } from "./words.js";

const THEMES = { system: ["half", "Theme of the system"], light: ["sun", "Light theme"], dark: ["moon", "Dark theme"] };
const KEYS = [
  ["J K", "next, former event; with Shift by 100"],
  ["[ ]", "former, next event of the chosen actor"],
  ["/", "search"],
  ["N", "next hit of the search; with Shift the former"],
  ["G", "go to an event by its number"],
  ["F", "follow the newest event"],
  ["Space", "play"],
  ["C", "what led to this event"],
  ["1 … 9", "views"],
  ["+ − 0", "zoom the timeline: in, out, the whole run"],
  ["← →", "earlier, later part of a zoomed timeline"],
  ["?", "this list"],
];
const root = document.getElementById("app");
const model = new RunModel();

/** What is seen; views read it, and change it by `go`. */
const seen = { at: 0, isLive: true, actor: 0, view: "timeline", query: "", link: { name: "connecting" }, runs: [] };
const isFile = holdsRun();
const source = new (isFile ? FileSource : ServedSource)(model, () => rowsCame(), (link) => linkMoved(link));
const context = { model, seen, source, go, place: () => seen.at };
const VIEWS = [
  ["timeline", "Timeline", makeTimeline],
  ["talk", "Conversation", makeTalk],
  ["board", "Board", makeBoard],
  ["mail", "Mailboxes", makeMailboxes],
  ["findings", "Findings", makeFindings],
  ["why", "Why", makeWhy],
  ["tokens", "Tokens", makeTokens],
  ["messages", "Messages", makeMessages],
  ["search", "Events", makeSearch],
].map(([name, title, make]) => ({ name, title, view: make(context) }));

const tree = makeTree(context);
const detail = makeDetail(context);
const card = makeCard(context);
detail.node.append(card.node);
const bar = makeMomentBar(context);
const banner = h("div.banner", { role: "status", hidden: true });
const title = h("h1", {}, "");
const under = h("p.under");
const standing = h("span.standing");
const search = h("input", { type: "search", placeholder: "Search events", "aria-label": "Search events", onkeydown: (event) => event.key === "Enter" && go({ view: "search", query: search.value }), oninput: () => seen.view === "search" && go({ query: search.value }, false) });
const tabs = h("div.tabs", { role: "tablist", "aria-label": "Views" }, ...VIEWS.map(({ name, title: text }, number) => h("button.tab", { role: "tab", id: `tab-${name}`, "aria-controls": "view", onclick: () => go({ view: name }) }, text, h("kbd", { "aria-hidden": "true" }, String(number + 1)))));
const stage = h("div.stage", { id: "view", role: "tabpanel", tabindex: "0" });
const themeButton = iconButton("half", "Theme", () => {
  nextTheme();
  showTheme();
  draw();
});

function showTheme() {
  const [name, label] = THEMES[theme()];
  themeButton.replaceChildren(icon(name));
  themeButton.title = label;
  themeButton.setAttribute("aria-label", label);
}

/** Show a panel for which there is no room beside the views, or hide it. */
function openPanel(name) {
  root.dataset.panel = root.dataset.panel === name ? "" : name;
}

function build() {
  showTheme();
  const runsButton = h("button.outlined.small.runs-button", { onclick: showRuns }, "Runs");
  root.replaceChildren(
    banner,
    h("header.top", {}, h("span.mark", { "aria-hidden": "true" }, "g"), h("div.heading", {}, title, under), standing, h("label.search", {}, icon("search"), search, h("kbd", {}, "/")), runsButton, iconButton("tree", "Actors", () => openPanel("tree")), iconButton("panel", "Event", () => openPanel("detail")), themeButton, h("button.ghost", { "aria-label": "Keys", title: "Keys", onclick: showKeys }, "?")),
    tree.node,
    h("main.middle", {}, tabs, stage),
    detail.node,
    bar.node,
  );
}

// --- the address ---

function placeOf(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

function address() {
  const said = source.run ? { run: source.run } : {};
  if (!seen.isLive) said.at = seen.at ? model.seq(seen.at - 1) : 0;
  if (seen.actor) said.actor = model.card(seen.actor).path || model.lists.actors[seen.actor];
  if (seen.view !== "timeline") said.view = seen.view;
  if (seen.query && seen.view === "search") said.find = seen.query;
  return `#${new URLSearchParams(said)}`;
}

/** Wanted places whose events or actors are not read yet. */
let wanted = {};

function take(said) {
  if (VIEWS.some(({ name }) => name === said.view)) seen.view = said.view;
  else if (!said.view) seen.view = "timeline";
  seen.query = said.find ?? "";
  search.value = seen.query;
  wanted = { at: said.at === undefined ? null : Number(said.at), actor: said.actor ?? "" };
  seen.isLive = wanted.at === null || Number.isNaN(wanted.at);
  if (seen.isLive) wanted.at = null;
  seen.actor = 0;
  settle();
}

/** Go where the address says, as far as it is read. */
function settle() {
  if (wanted.actor && model.find(wanted.actor)) {
    seen.actor = model.find(wanted.actor);
    wanted.actor = "";
  }
  if (wanted.at !== null && wanted.at !== undefined) {
    seen.at = model.countUntil(wanted.at);
    if (model.count && model.seq(model.count - 1) >= wanted.at) wanted.at = null;
  } else if (seen.isLive) seen.at = model.count;
}

/**
 * Show something else.
 * @param {{at?: number, actor?: number, view?: string, query?: string, isLive?: boolean}} part `at` is a number of events.
 * @param {boolean} isStep True for a step that the back button undoes.
 */
function go(part, isStep = true) {
  wanted = {};
  if (part.at !== undefined) part = { ...part, at: Math.max(0, Math.min(part.at, model.count)), isLive: false };
  Object.assign(seen, part);
  if (part.actor || part.view) root.dataset.panel = "";
  if (seen.isLive) seen.at = model.count;
  const next = address();
  if (isStep && next !== location.hash) history.pushState(null, "", next);
  else nameSoon();
  drawSoon();
}

/** Have the address name what is seen, when the slider rests. */
const nameSoon = paced(() => Object.keys(wanted).length || history.replaceState(null, "", address()), 200);

addEventListener("hashchange", () => follow());
addEventListener("popstate", () => follow());

function follow() {
  const said = placeOf(location.hash);
  if (said.token) {
    takeToken(said);
    if (!source.run) return void connect(said);
    source.open(source.run);
  }
  if (said.run && source.run && said.run !== source.run) {
    location.reload();
    return;
  }
  take(said);
  drawSoon();
}

// --- the connection ---

function linkMoved(link) {
  seen.link = link;
  drawSoon();
}

/** Draw what came: soon, and while much of the run is still to come, only now and then. */
const drawCome = paced(() => drawSoon(), 60);
const drawRead = paced(() => drawSoon(), 250);

function rowsCame() {
  settle();
  if (model.run.share < 1) drawRead();
  else drawCome();
}

async function begin() {
  const said = placeOf(location.hash);
  if (said.token) takeToken(said);
  build();
  root.classList.toggle("is-file", isFile);
  await connect(said);
}

/** Keep the token of an address, and take it out of the address bar. */
function takeToken(said) {
  source.useToken(said.token);
  delete said.token;
  history.replaceState(null, "", Object.keys(said).length ? `#${new URLSearchParams(said)}` : location.pathname);
}

/** Ask for the runs and show the one that the address names, or the one that the server was asked for. */
async function connect(said) {
  if (!source.token) return linkMoved({ name: "unauthorized" });
  try {
    const { runs, named } = await source.get("runs");
    seen.runs = runs;
    take(said);
    source.open(said.run ?? named);
  } catch (error) {
    linkMoved({ name: "unauthorized", why: error.message });
  }
  return undefined;
}

// --- drawing ---

let isDue = false;

function drawSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    draw();
  });
}

function draw() {
  const { run } = model;
  if (seen.link.name === "unauthorized") {
    banner.hidden = false;
    banner.className = "banner warn";
    banner.textContent = `This address is no longer valid: ${seen.link.why ?? "the server was started again, or this tab has no token"}. Open the address that the command prints.${model.count ? " What was read stays." : ""}`;
  } else showLink();
  title.textContent = oneLine(run.title || run.cwd?.split("/").pop() || run.run || "Run", 80);
  under.textContent = [run.run, run.model && run.model !== "playbook" ? oneLine(run.model, 40) : run.model === "playbook" ? "fixed rules" : "", model.count ? `${model.count.toLocaleString("en")} events in ${seconds(model.since(model.count - 1))}` : ""].filter(Boolean).join(" · ");
  standing.textContent = run.standing ?? "";
  standing.className = `standing is-${(run.standing ?? "").replace(" ", "-")}`;
  document.title = `${title.textContent} · greenroom`;
  for (const { name, view } of VIEWS) {
    const isShown = name === seen.view;
    const tab = tabs.querySelector(`#tab-${name}`);
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
    if (isShown) {
      if (stage.firstElementChild !== view.node) {
        keepScroll(stage.firstElementChild);
        stage.replaceChildren(view.node);
        restoreScroll(view.node);
        tab.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
      stage.setAttribute("aria-labelledby", tab.id);
      view.draw();
    }
  }
  tree.draw();
  detail.draw();
  card.draw();
  bar.draw();
  root.dataset.view = seen.view;
  root.dataset.at = model.count ? String(model.seq(seen.at - 1)) : "";
  root.dataset.events = String(model.count);
}

/** Note where a view is scrolled to, which it loses when it leaves the document. */
function keepScroll(node) {
  if (node) node.scrolled = [node, ...node.querySelectorAll("*")].filter((each) => each.scrollTop || each.scrollLeft).map((each) => [each, each.scrollTop, each.scrollLeft]);
}

function restoreScroll(node) {
  for (const [each, top, left] of node.scrolled ?? []) each.scrollTo({ top, left, behavior: "instant" });
}

function showLink() {
  const { name, retryAt, why } = seen.link;
  const { run } = model;
  const { standing: how, share, damaged_lines: damaged } = run;
  let text = "";
  if (name === "waiting" && how === "ended") text = `The run has ended, and the connection to the server of this page is lost. What was read stays; ${commandFor(run.folder || run.run)} --page shows the run again.`;
  else if (name === "waiting") text = `The connection to the server is lost${why ? ` (${oneLine(why, 80)})` : ""}. Next try in ${span(retryAt - Date.now())}.`;
  else if (name === "ended" && why) text = why;
  else if (how === "broken off") text = "The process of this run ended before the run did. It is shown as far as it was written; if it is resumed, it goes on here.";
  else if (how === "vanished") text = "The journal of this run was removed. It is shown as far as it was read.";
  else if (how === "replaced") text = "Another journal has taken the place of this run. It is shown as far as it was read.";
  else if (share < 1) text = `Read ${Math.floor(share * 100)} % of this run; what is read is shown already.`;
  else if (isFile && model.run.content !== "all" && model.count) text = model.run.content === "none" ? "This file holds no texts and no conversations." : "Texts are cut at 160 characters in this file.";
  else if (damaged) text = `${damaged} damaged lines were left out (${oneLine(model.run.damage, 120)}).`;
  banner.hidden = !text;
  banner.className = `banner ${how === "broken off" || name === "waiting" ? "warn" : ""}`;
  banner.textContent = text;
}

// --- dialogs and keys ---

function showKeys() {
  showDialog("Keys", h("table", {}, h("tbody", {}, ...KEYS.map(([key, words]) => h("tr", {}, h("th", { scope: "row" }, ...key.split(" ").map((each) => h("kbd", {}, each))), h("td", {}, words))))));
}

async function showRuns() {
  const { runs } = await source.get("runs").catch(() => ({ runs: seen.runs }));
  seen.runs = runs;
  const dialog = showDialog(
    "Runs",
    h(
      "ul.runs",
      {},
      ...runs.map((run) =>
        h(
          "li",
          {},
          h(
            "button",
            { "aria-current": run.run === source.run ? "true" : null, onclick: () => { dialog.close(); location.hash = `#${new URLSearchParams({ run: run.run })}`; } },
            h("span.standing", { class: `is-${run.standing.replace(" ", "-")}` }, run.standing),
            h("span.title", {}, oneLine(run.title || run.cwd || run.run, 60)),
            h("small", {}, `${run.run} · ${(run.started ?? "").slice(0, 16).replace("T", " ")} · ${run.events.toLocaleString("en")} events · ${seconds(run.took_s)}${run.branch_of ? ` · branch of ${run.branch_of}` : ""}`),
          ),
        ),
      ),
    ),
  );
}

function goTo() {
  const field = h("input", { type: "text", inputmode: "numeric", "aria-label": "Number of the event", placeholder: "Number of an event" });
  const dialog = showDialog("Go to an event", h("form.line", { onsubmit: (event) => { event.preventDefault(); dialog.close(); if (/^\d+$/.test(field.value.trim())) go({ at: model.countUntil(Number(field.value)) }); } }, field, h("button.filled", { type: "submit" }, "Go")));
  field.focus();
}

function own(step) {
  const { events } = model.tables;
  for (let at = seen.at - 1 + step; at >= 0 && at < model.count; at += step) if (!seen.actor || events.actor[at] === seen.actor) return go({ at: at + 1 });
  return undefined;
}

const ACTIONS = {
  j: () => go({ at: seen.at + 1 }, false),
  k: () => go({ at: seen.at - 1 }, false),
  J: () => go({ at: seen.at + 100 }, false),
  K: () => go({ at: seen.at - 100 }, false),
  "[": () => own(-1),
  "]": () => own(1),
  "/": () => {
    if (!search.checkVisibility()) {
      go({ view: "search" });
      draw(); // where there is little room, the field is there with its view
    }
    search.focus();
  },
  g: goTo,
  f: () => go({ isLive: true }),
  c: () => go({ view: "why" }),
  n: () => VIEWS[8].view.walk(1),
  N: () => VIEWS[8].view.walk(-1),
  "?": showKeys,
  " ": () => bar.play(),
  "+": () => VIEWS[0].view.zoom(1.5),
  "=": () => VIEWS[0].view.zoom(1.5),
  "-": () => VIEWS[0].view.zoom(1 / 1.5),
  0: () => VIEWS[0].view.zoom(0),
};
const PANS = { ArrowLeft: -1, ArrowRight: 1 };

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const field = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "Escape" && field === search) search.blur();
  if (event.key === "Escape" && !field) root.dataset.panel = "";
  if (field && !["range", "checkbox"].includes(field.type)) return;
  if (event.key === " " && event.target.closest?.("button, summary, a, input")) return;
  if (event.key in PANS && !field && seen.view === "timeline") VIEWS[0].view.pan(PANS[event.key]);
  const view = VIEWS[Number(event.key) - 1];
  const action = view ? () => go({ view: view.name }) : ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

tabs.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const number = VIEWS.findIndex(({ name }) => name === seen.view);
  const next = VIEWS[(number + step + VIEWS.length) % VIEWS.length];
  go({ view: next.name });
  tabs.querySelector(`#tab-${next.name}`).focus();
  event.preventDefault();
});

addEventListener("resize", drawSoon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
setInterval(() => seen.link.name === "waiting" && draw(), 1000);
begin();

// Where a person writes: a text that grows, commands with completion, and what becomes of what was sent.

import { h, icon, redraw } from "../base/dom.js";
import { oneLine } from "../base/texts.js";

const MOST_PX = 260;

/** Make the composer; `send` takes a text that is not empty. */
export function makeComposer({ state, send }) {
  const drafts = new Map();
  let key = null;
  let choices = [];
  let chosen = 0;
  const options = h("ul.options", { role: "listbox", id: "commands", "aria-label": "Commands", hidden: true });
  const text = h("textarea", {
    rows: "1",
    "aria-label": "Message",
    placeholder: "Write a message",
    autocomplete: "off",
    "aria-haspopup": "listbox",
    "aria-controls": "commands",
    "aria-autocomplete": "list",
    oninput: () => {
      drafts.set(key, text.value);
      fit();
      complete();
    },
    onkeydown: pressed,
    onblur: () => setTimeout(hide, 120),
  });
  const button = h("button.send", { type: "submit", "aria-label": "Send", title: "Send (Enter)" }, icon("arrow"));
  const line = h("div.line", { "aria-live": "polite" });
  const node = h(
    "form.composer",
    {
      onsubmit: (event) => {
        event.preventDefault();
        submit();
      },
    },
    options,
    h("div.box", {}, text, button),
    line,
  );

  function submit() {
    const said = text.value.trim();
    if (!said || !state.scopes.includes("write")) return;
    text.value = "";
    drafts.delete(key);
    hide();
    fit();
    send(said);
  }

  function pressed(event) {
    if (event.isComposing) return;
    const isOpen = !options.hidden;
    if (isOpen && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      choose((chosen + (event.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length);
    } else if (isOpen && (event.key === "Tab" || (event.key === "Enter" && text.value.trim() !== `/${choices[chosen].name}`))) {
      event.preventDefault();
      take(choices[chosen]);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape") {
      if (isOpen) hide();
      else text.blur();
      event.stopPropagation();
    }
  }

  function complete() {
    const typed = /^\/([\w-]*)$/.exec(text.value);
    choices = typed ? state.commands.filter((command) => command.name.startsWith(typed[1].toLowerCase())) : [];
    if (!choices.length) return hide();
    options.replaceChildren(
      ...choices.map((command, number) =>
        h(
          "li",
          { role: "option", id: `command-${command.name}`, onmousedown: (event) => { event.preventDefault(); take(command); }, onmousemove: () => choose(number) },
          h("b", {}, `/${command.name}`),
          command.usage ? h("code", {}, oneLine(command.usage, 60)) : null,
          h("span", {}, oneLine(command.summary, 90)),
        ),
      ),
    );
    options.hidden = false;
    choose(0);
    return undefined;
  }

  function choose(number) {
    chosen = number;
    [...options.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === number)));
    options.children[number].scrollIntoView({ block: "nearest" });
    text.setAttribute("aria-activedescendant", options.children[number].id);
  }

  function take(command) {
    text.value = `/${command.name}${command.usage ? " " : ""}`;
    drafts.set(key, text.value);
    hide();
    text.focus();
  }

  function hide() {
    options.hidden = true;
    text.removeAttribute("aria-activedescendant");
  }

  function fit() {
    text.style.height = "auto";
    text.style.height = `${Math.min(MOST_PX, text.scrollHeight)}px`;
  }

  function draw(current) {
    if (current !== key) {
      key = current;
      text.value = drafts.get(key) ?? "";
      hide();
      fit();
    }
    const mayWrite = !state.scopes.length || state.scopes.includes("write");
    text.disabled = !mayWrite;
    text.placeholder = mayWrite ? "Write a message, or / for commands" : "This page may only look";
    button.disabled = !text.value.trim();
    const activity = state.activity(current);
    const queued = state.openRuns(current).filter((run) => !run.startedAt).length;
    const words = [
      activity === "working" ? "Working" : activity === "waiting" ? "Waits for a place" : "",
      activity === "working" && queued ? `${queued} waiting behind it` : "",
    ].filter(Boolean);
    redraw(line, [words], () => [
      h("span.now", {}, words.join(" · ")),
      h("span.hint", {}, h("kbd", {}, "Enter"), " sends  ", h("kbd", {}, "Shift"), h("kbd", {}, "Enter"), " new line"),
    ]);
  }

  text.addEventListener("input", () => (button.disabled = !text.value.trim()));
  return { node, draw, focus: () => text.focus() };
}

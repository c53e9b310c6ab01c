// The bar with the moment that all views show: a slider over all events, failures on it, play, the number, the time.

import { h, setText } from "../base/dom.js";
import { seconds } from "./words.js";

const MOST_MARKS = 600;
const FRAME_MS = 50;
const PLAY_S = 20;

export function makeMomentBar({ model, seen, go }) {
  const range = h("input.slider", { type: "range", min: "0", step: "1", "aria-label": "Moment", oninput: () => go({ at: Number(range.value) }, false) });
  const marks = h("div.marks", { "aria-hidden": "true" });
  const number = h("input.number", { type: "text", inputmode: "numeric", "aria-label": "Number of the event", onkeydown: (event) => event.key === "Enter" && typed() });
  const time = h("span.time");
  const playButton = h("button.ghost", { "aria-label": "Play", title: "Play (Space)", onclick: () => play() }, "");
  const live = h("button.outlined.small.follow", { title: "Follow the newest event (F)", onclick: () => go({ isLive: true }) }, "");
  const step = (by, label, text) => h("button.ghost", { "aria-label": label, title: label, onclick: () => go({ at: seen.at + by }) }, text);
  const node = h("footer.moment", { "aria-label": "Moment" }, step(-1, "Former event (K)", "‹"), playButton, step(1, "Next event (J)", "›"), h("div.track", {}, marks, range), h("label.at", {}, number, time), live);
  let timer = 0;
  let drawn = -1;

  function typed() {
    const seq = Number(number.value.trim().replace(/[,\s]/g, ""));
    if (Number.isInteger(seq)) go({ at: model.countUntil(seq) });
    number.blur();
  }

  function play() {
    if (timer) {
      clearInterval(timer);
      timer = 0;
    } else {
      if (seen.at >= model.count) go({ at: 0 });
      let t = model.t(Math.max(0, seen.at - 1));
      const pace = Math.max(0.001, model.since(model.count - 1) / PLAY_S / (1000 / FRAME_MS));
      timer = setInterval(() => {
        t += pace;
        const next = Math.max(seen.at, model.countAt(t));
        if (next !== seen.at) go({ at: next }, false);
        if (next >= model.count) play();
      }, FRAME_MS);
    }
    draw();
  }

  function draw() {
    range.max = String(model.count);
    if (document.activeElement !== range || Number(range.value) !== seen.at) range.value = String(seen.at);
    const last = seen.at - 1;
    range.setAttribute("aria-valuetext", `event ${model.seq(last)}, ${seconds(model.since(last))}`);
    if (document.activeElement !== number) number.value = model.count ? String(model.seq(last)) : "";
    setText(time, model.count ? `of ${model.seq(model.count - 1).toLocaleString("en")} · ${seconds(Math.max(0, model.since(last)))}` : "");
    playButton.textContent = timer ? "❚❚" : "▶";
    playButton.setAttribute("aria-label", timer ? "Pause" : "Play");
    const behind = model.count - seen.at;
    const isRunning = model.run.standing === "running";
    live.classList.toggle("is-on", seen.isLive);
    setText(live, seen.isLive ? (isRunning ? "Live" : "End") : isRunning ? `Follow, ${behind.toLocaleString("en")} behind` : "To the end");
    if (drawn !== model.count) {
      drawn = model.count;
      const every = Math.ceil(model.failures.length / MOST_MARKS) || 1;
      marks.replaceChildren(
        ...model.failures
          .filter((_, place) => place % every === 0)
          .map((place) => {
            const mark = h("i");
            mark.style.left = `${((place + 1) / model.count) * 100}%`;
            return mark;
          }),
      );
    }
  }

  return { node, draw, play };
}


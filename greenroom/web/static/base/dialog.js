// Dialogs that lie over a page.

import { h, icon } from "./dom.js";

/** Show a dialog; it is closed by Escape, by its button, and by a click beside it. */
export function showDialog(title, ...children) {
  const dialog = h(
    "dialog",
    { "aria-label": title, onclick: (event) => event.target === dialog && dialog.close(), onclose: () => dialog.remove() },
    h("div.sheet", {}, h("div.head", {}, h("h2", {}, title), h("button.ghost", { "aria-label": "Close", onclick: () => dialog.close() }, icon("close"))), ...children),
  );
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

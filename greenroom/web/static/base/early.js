// Sets the chosen theme before anything is drawn. A classic script: modules run too late for that.
(() => {
  try {
    const theme = localStorage.getItem("greenroom.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage is switched off: the theme of the system it is.
  }
})();

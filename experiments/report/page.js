"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const colours = read("colours");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const plots = [...document.querySelectorAll(".plot")];
  const drawn = new Set();

  // A figure holds the colours of a light page; on a dark one each has its counterpart.
  const figure = (plot, light) => {
    let text = document.getElementById(plot.dataset.figure).textContent;
    if (!light) {
      for (const [role, colour] of Object.entries(colours.light)) text = text.replaceAll(colour, colours.dark[role]);
    }
    return JSON.parse(text);
  };
  const draw = (plot, light = !dark.matches, width = 0) => {
    const { data, layout } = figure(plot, light);
    if (width) layout.width = width;
    if (coarse.matches) layout.dragmode = false; // a finger on a figure is to move the page
    drawn.add(plot);
    return Plotly.react(plot, data, layout, { responsive: true, displayModeBar: false });
  };

  // Figures are drawn when they come near the window, so that a page with many of them opens at once.
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        near.unobserve(target);
        draw(target);
      }
    }
  }, { rootMargin: "400px" });
  for (const plot of plots) near.observe(plot);

  dark.addEventListener("change", () => drawn.forEach((plot) => draw(plot)));
  const visible = (plot) => plot.checkVisibility();
  addEventListener("beforeprint", () => {
    for (const plot of plots) if (visible(plot)) draw(plot, true, plot.closest(".charts") ? 330 : 660);
  });
  addEventListener("afterprint", () => drawn.forEach((plot) => draw(plot)));

  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
    return true;
  };
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copied(document.getElementById(button.dataset.copy).textContent);
      const label = button.dataset.label ??= button.textContent;
      button.textContent = done ? "Copied" : "Select the text and copy it";
      setTimeout(() => { button.textContent = label; }, 2000);
    });
  }
})();

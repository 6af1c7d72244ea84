"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const colours = read("colours");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll(".plot")];

  // A figure holds the colours of a light page; on a dark one each has its counterpart.
  const figure = (plot, light) => {
    let text = document.getElementById(plot.dataset.figure).textContent;
    if (!light) {
      for (const [role, colour] of Object.entries(colours.light)) text = text.replaceAll(colour, colours.dark[role]);
    }
    return JSON.parse(text);
  };
  const draw = (light, width) => {
    for (const plot of plots) {
      const { data, layout } = figure(plot, light);
      if (width) layout.width = width;
      Plotly.react(plot, data, layout, { responsive: true, displaylogo: false, displayModeBar: "hover" });
    }
  };
  draw(!dark.matches);
  dark.addEventListener("change", () => draw(!dark.matches));
  addEventListener("beforeprint", () => draw(true, 660));
  addEventListener("afterprint", () => draw(!dark.matches));

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

// Draws every plot in the colours of the light or dark theme, and again when the theme changes.
const { config, themes, panels } = JSON.parse(document.getElementById("plots").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function themed(value) {
  let text = JSON.stringify(value);
  for (const [name, colour] of Object.entries(themes[dark.matches ? "dark" : "light"])) {
    text = text.replaceAll(`"${name}"`, `"${colour}"`);
  }
  return JSON.parse(text);
}

function draw() {
  const options = { mode: "vega-lite", actions: false, config: themed(config), renderer: "canvas" };
  for (const place of document.querySelectorAll("[data-panel]")) {
    vegaEmbed(place, themed(panels[place.dataset.panel]), options).catch((error) => {
      place.textContent = `This plot could not be drawn: ${error.message}`;
    });
  }
}

dark.addEventListener("change", draw);
draw();

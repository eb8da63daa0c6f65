"use strict";
const chart = JSON.parse(document.getElementById("chart").textContent);
vegaEmbed("#picture", chart, {
  renderer: "svg",
  actions: {export: true, source: false, compiled: false, editor: false},
});

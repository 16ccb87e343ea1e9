"use strict";
// Every number shown was computed by the library for that target rate, or is a quotient of counts.
(() => {
  const data = JSON.parse(document.getElementById("figures").textContent);
  const { steps, present, histogram, names } = data;
  const nPlus = data.n_plus, nMinus = data.n_minus, last = steps.tp.length - 1;
  const byId = (id) => document.getElementById(id);
  const slider = byId("demand"), box = byId("demand-box");
  const missCost = byId("cost-fn"), alarmCost = byId("cost-fp");
  const backButton = byId("to-present"), cheapButton = byId("to-cheapest");
  const WIDTH = 420, LEFT = 10;  // of the plots, as the template draws them
  let place = null;  // of the target rate in the steps; null is the current threshold

  const group = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  const count = (n) => group(String(n));
  const percent = (share) => share === null ? "–" : (100 * share).toFixed(1) + "\u00a0%";
  const limits = (pair) => pair[0] === null ? "no such record" :
    `${(100 * pair[0]).toFixed(0)} to ${(100 * pair[1]).toFixed(0)}\u00a0%`;
  const money = (amount) => {
    const [whole, part] = amount.toFixed(Math.abs(amount) < 10 ? 2 : 0).split(".");
    return group(whole) + (part ? "." + part : "");
  };

  function costs() {
    const read = (input) => Number.parseFloat(input.value) || 0;
    return { ...data.costs, fn: read(missCost), fp: read(alarmCost) };
  }

  function costPerThousand(tp, fp) {
    const price = costs();
    const total = (nPlus - tp) * price.fn + fp * price.fp +
      tp * price.tp + (nMinus - fp) * price.tn;
    return 1000 * total / (nPlus + nMinus);
  }

  function stepAt(k) {
    if (k === null) {
      return { ...present, limits: (name) => present[name].slice(1) };
    }
    const limitsOf = (name) => [steps[name + "_lower"][k], steps[name + "_upper"][k]];
    return {
      tp: steps.tp[k], fp: steps.fp[k], threshold: steps.threshold[k],
      oob_tpr: steps.oob_tpr[k], oob_tnr: steps.oob_tnr[k], limits: limitsOf,
    };
  }

  function write(name, value, text) {
    for (const element of document.querySelectorAll(`[data-live="${name}"]`)) {
      element.textContent = text;
      element.dataset.value = value === null ? "" : String(value);
    }
  }

  function drawThreshold(step) {
    const svg = byId("histogram"), none = place === null && step.threshold === null;
    svg.classList.toggle("no-threshold", none);
    const span = histogram.high - histogram.low;
    const share = step.threshold === null ? 1 : (step.threshold - histogram.low) / span;
    const x = LEFT + WIDTH * Math.min(1, Math.max(0, share));
    byId("called-area").setAttribute("x", x);
    byId("called-area").setAttribute("width", LEFT + WIDTH - x);
    byId("other-area").setAttribute("width", x);
    for (const end of ["x1", "x2"]) byId("threshold-line").setAttribute(end, x);
    byId("threshold-name").setAttribute("x", Math.min(LEFT + WIDTH - 34, Math.max(LEFT + 34, x)));
  }

  function drawBar(counts) {
    let x = 0;
    document.querySelectorAll("#live-bar rect").forEach((rect, i) => {
      const width = 100 * counts[i] / (nPlus + nMinus);
      rect.setAttribute("x", x + "%");
      rect.setAttribute("width", width + "%");
      x += width;
    });
  }

  function drawCosts(step) {
    const all = steps.tp.map((tp, k) => costPerThousand(tp, steps.fp[k]));
    const own = costPerThousand(step.tp, step.fp);
    const top = Math.max(...all, own), low = Math.min(...all, own, 0);
    const y = (cost) => 200 - 180 * (cost - low) / (top - low || 1);
    const x = (k) => LEFT + WIDTH * k / last;
    const points = all.map((cost, k) => `${x(k).toFixed(1)},${y(cost).toFixed(1)}`);
    byId("cost-curve").setAttribute("points", points.join(" "));
    byId("cost-top").textContent = money(top);
    byId("cost-dot").setAttribute("cx", x(place === null ? Number(slider.value) * 10 : place));
    byId("cost-dot").setAttribute("cy", y(own));
    const best = all.indexOf(Math.min(...all));
    cheapButton.dataset.place = best;
    write("cheapest", best / last, `${(100 * best / last).toFixed(1)}\u00a0%`);
    for (const cell of document.querySelectorAll("[data-cost-of]")) {
      cell.textContent = money(all[Number(cell.dataset.costOf)]);
    }
  }

  function show() {
    const step = stepAt(place), { tp, fp } = step, fn = nPlus - tp, tn = nMinus - fp;
    const counts = { tp, fn, fp, tn };
    for (const [name, n] of Object.entries(counts)) write(name, n, count(n));
    write("tpr", tp / nPlus, percent(tp / nPlus));
    write("tnr", tn / nMinus, percent(tn / nMinus));
    const precision = tp + fp ? tp / (tp + fp) : null;
    write("precision", precision, percent(precision));
    for (const name of ["tpr", "tnr", "precision"]) {
      write(name + "-limits", null, limits(step.limits(name)));
    }
    const cost = costPerThousand(tp, fp);
    write("cost", cost, money(cost));
    write("oob-tpr", step.oob_tpr, percent(step.oob_tpr));
    write("oob-tnr", step.oob_tnr, percent(step.oob_tnr));
    write("threshold", step.threshold, step.threshold === null ? "none" : String(Number(step.threshold.toPrecision(4))));
    const demand = `${slider.value}\u00a0%`;
    const which = place === null ? "At the current threshold" : `At a target rate of ${demand}`;
    byId("state").textContent =
      `${which}: ${count(tp)} of ${count(nPlus)} ${names.positive} detected, ` +
      `${count(fp)} of ${count(nMinus)} ${names.negative} classified as ${names.positive}.`;
    slider.setAttribute("aria-valuetext", place === null ? "current threshold" : demand);
    backButton.setAttribute("aria-pressed", String(place === null));
    byId("code").textContent = place === null ? "model" :
      `model.with_rate(tpr=${place / last}, exceed=False)`;
    drawThreshold(step);
    drawBar([tp, fn, fp, tn]);
    drawCosts(step);
  }

  function goTo(k) {
    place = k;
    const start = present.oob_tpr === null ? present.tpr[0] : present.oob_tpr;
    const shown = k === null ? Math.round(1000 * start) : k;
    slider.value = box.value = (shown / 10).toFixed(1);
    box.removeAttribute("aria-invalid");
    show();
  }

  slider.addEventListener("input", () => goTo(Math.round(10 * Number(slider.value))));
  box.addEventListener("input", () => {
    const typed = Number.parseFloat(box.value);
    const valid = typed >= 0 && typed <= 100;
    box.setAttribute("aria-invalid", String(!valid));
    if (!valid) return;
    // A target rate between two steps is reached by the upper one.
    place = Math.ceil(10 * typed - 1e-9);
    slider.value = (place / 10).toFixed(1);
    show();
  });
  for (const input of [missCost, alarmCost]) input.addEventListener("input", show);
  backButton.addEventListener("click", () => goTo(null));
  cheapButton.addEventListener("click", () => goTo(Number(cheapButton.dataset.place)));
  document.documentElement.classList.add("js");
  goTo(null);
})();

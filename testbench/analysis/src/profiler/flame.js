"use strict";
// Boxes carry their start and length in cycles. A click shows one over the whole width, above its callers; the text field marks boxes
// whose names contain it.
const picture = document.documentElement;
const width = Number(picture.dataset.width);
const total = Number(picture.dataset.total);
const letter = Number(picture.dataset.letter);
const boxes = [...picture.querySelectorAll("g.box")].map((group) => ({
  group,
  rect: group.querySelector("rect"),
  label: group.querySelector("text"),
  name: group.dataset.name,
  short: group.dataset.short,
  depth: Number(group.dataset.depth),
  start: Number(group.dataset.start),
  cycles: Number(group.dataset.cycles),
}));
const words = picture.getElementById("words");
const reset = picture.getElementById("reset");
const found = picture.getElementById("found");
const said = words.textContent;
const share = (cycles) => `${((100 * cycles) / total).toFixed(2)} %`;
const zoom = (to) => {
  const from = to ? to.start : 0;
  const length = to ? to.cycles : total;
  const scale = width / length;
  for (const box of boxes) {
    const left = Math.max((box.start - from) * scale, 0);
    const right = Math.min((box.start + box.cycles - from) * scale, width);
    const size = right - left;
    const caller = to && box.depth < to.depth;
    box.group.style.display = size < 0.3 ? "none" : "";
    if (size < 0.3) continue;
    box.group.style.opacity = caller ? 0.5 : 1;
    box.rect.setAttribute("x", left.toFixed(2));
    box.rect.setAttribute("width", size.toFixed(2));
    box.label.setAttribute("x", (left + 2).toFixed(2));
    box.label.textContent = box.short.slice(0, Math.floor(Math.max(size - 4, 0) / letter));
  }
  reset.style.display = to ? "" : "none";
};
const search = (text) => {
  const wanted = text.trim().toLowerCase();
  let sum = 0;
  let end = 0;
  // From callers to callees: what is inside of a found box counts once.
  const order = [...boxes].sort((a, b) => a.start - b.start || a.depth - b.depth);
  for (const box of order) {
    const hit = wanted !== "" && box.name.toLowerCase().includes(wanted);
    box.rect.classList.toggle("hit", hit);
    if (hit && box.start >= end) {
      sum += box.cycles;
      end = box.start + box.cycles;
    }
  }
  found.textContent = wanted === "" ? "" : `found: ${sum} cycles, ${share(sum)}`;
};
for (const box of boxes) {
  box.group.addEventListener("click", () => zoom(box.cycles === total ? null : box));
  box.group.addEventListener("mouseenter", () => {
    words.textContent = `${box.name}: ${box.cycles} cycles, ${share(box.cycles)}`;
  });
  box.group.addEventListener("mouseleave", () => {
    words.textContent = said;
  });
}
reset.addEventListener("click", () => zoom(null));
const field = picture.querySelector("input");
if (field) field.addEventListener("input", () => search(field.value));
zoom(null);

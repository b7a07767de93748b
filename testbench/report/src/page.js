"use strict";
// Tables: a click on a column's name sorts, a second one reverses; words select the rows that contain all of them.
for (const box of document.querySelectorAll("figure.table")) {
  const body = box.querySelector("tbody");
  const heads = [...box.querySelectorAll("th")];
  const rows = [...body.rows];
  const key = (row, column) => {
    const cell = row.cells[column];
    const number = cell && cell.dataset.number;
    return [number === undefined ? null : Number(number), cell ? cell.textContent : ""];
  };
  // Cells without a number come last, in both directions.
  const compare = (a, b, direction) => {
    if (a[0] !== null && b[0] !== null) return direction * (a[0] - b[0]);
    if (a[0] !== null || b[0] !== null) return a[0] !== null ? -1 : 1;
    if ((a[1] === "") !== (b[1] === "")) return a[1] !== "" ? -1 : 1;
    return direction * (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0);
  };
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = rows.map((row) => [key(row, column), row]);
      sorted.sort((a, b) => compare(a[0], b[0], down ? -1 : 1));
      body.append(...sorted.map((one) => one[1]));
    });
  });
  const input = box.querySelector("input");
  const output = box.querySelector("output");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word);
    let shown = 0;
    for (const row of rows) {
      const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    output.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
  });
}
// Figures: the values of the point that is nearest to the pointer.
const tip = document.getElementById("tip");
let near = null;
const leave = () => {
  if (near) near.classList.remove("near");
  near = null;
  tip.hidden = true;
};
for (const figure of document.querySelectorAll("svg.figure")) {
  const points = [...figure.querySelectorAll("g.point")].map((group) => {
    const title = group.querySelector("title");
    const text = title.textContent;
    // The browser would show it as well.
    title.remove();
    group.setAttribute("aria-label", text);
    return { group, text };
  });
  figure.addEventListener("mousemove", (event) => {
    let best = null;
    let least = 24;
    for (const point of points) {
      const box = point.group.lastElementChild.getBoundingClientRect();
      const x = box.left + box.width / 2 - event.clientX;
      const y = box.top + box.height / 2 - event.clientY;
      const distance = Math.hypot(x, y);
      if (distance < least) [best, least] = [point, distance];
    }
    leave();
    if (!best) return;
    near = best.group;
    near.classList.add("near");
    tip.textContent = best.text;
    tip.hidden = false;
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.max(event.clientY - tip.offsetHeight - 10, 2)}px`;
  });
  figure.addEventListener("mouseleave", leave);
}

"use strict";

// The theme: what the system prefers, until the button says otherwise.
const root = document.documentElement;
const themeButton = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
}
function showTheme() {
  themeButton.setAttribute("aria-pressed", String(isDark()));
}
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
systemDark.addEventListener("change", showTheme);
themeButton.hidden = false;
showTheme();

// The table: a heading's button sorts by its column, and again turns the order round. What is not recorded stays last.
const table = document.getElementById("cells");
const body = table.tBodies[0];
const order = new Intl.Collator("en", { numeric: true });
function compareTexts(a, b, direction) {
  if (a === "" || b === "") return (a === "") - (b === "");
  const difference = Number(a) - Number(b);
  return direction * (Number.isNaN(difference) ? order.compare(a, b) : difference);
}
for (const heading of table.tHead.rows[0].cells) {
  heading.firstElementChild.addEventListener("click", () => {
    const numeric = heading.classList.contains("number");
    const before = heading.getAttribute("aria-sort");
    const ascending = before === "descending" || (before !== "ascending" && !numeric);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = (row) => row.cells[heading.cellIndex].dataset.value;
    body.append(...[...body.rows].sort((a, b) => compareTexts(value(a), value(b), ascending ? 1 : -1)));
  });
}

// The filter: every word typed must be in the row.
const filter = document.getElementById("filter");
const only = document.getElementById("only");
const count = document.getElementById("count");
function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of body.rows) {
    const text = [...row.cells].slice(0, 3).map((cell) => cell.textContent).join(" ").toLowerCase();
    row.hidden = !words.every((word) => text.includes(word)) || Boolean(only?.checked && !row.matches(".flagged"));
    shown += !row.hidden;
  }
  document.getElementById("no-rows").hidden = shown > 0;
  count.value = `${shown} of ${body.rows.length} rows`;
}
filter.addEventListener("input", applyFilter);
only?.addEventListener("change", applyFilter);

// A tip at the pointer says what a chart's mark stands for: its label, exact figures included.
const tip = document.getElementById("tip");
function showTip(event) {
  const mark = event.target.closest?.(".chart [aria-label][role=graphics-symbol]");
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.getAttribute("aria-label");
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - width - 8);
  const below = event.clientY + 18;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below + height > innerHeight ? event.clientY - height - 12 : below}px`;
}
document.addEventListener("pointermove", showTip);
document.addEventListener("pointerdown", showTip);
document.addEventListener("scroll", () => { tip.hidden = true; }, { capture: true, passive: true });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

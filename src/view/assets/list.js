"use strict";
/* The list of events. Only the rows in sight exist. */

const list = element("list");
const ROW = 22;
/* `at` is the time from which the next event is looked for when none is chosen. */
const listed = { items: null, chosen: -1, at: null };

const textOf = (item) => `${itemHost(item)} ${itemText(item)}`.toLowerCase();

/* The items that the query asks for, and which the view shows. */
function filter() {
  const { tests, unknown } = parseQuery(element("query").value);
  const shown = [];
  for (let item = 0; item < items.count; item++) {
    if (!view.background && items.type[item] === MESSAGE && run.messages.background[items.ref[item]]) continue;
    if (tests.length) {
      const text = textOf(item);
      if (!tests.every((test) => test(item, text))) continue;
    }
    shown.push(item);
  }
  listed.items = Uint32Array.from(shown);
  element("rows").style.height = `${ROW * shown.length}px`;
  element("count").textContent = `${shown.length.toLocaleString("en")} of ${items.count.toLocaleString("en")}`
    + (unknown.length ? `; not understood: ${unknown.join(" ")}` : "");
  // Rows beyond the new end would keep the list from becoming shorter.
  element("rows").replaceChildren();
  scrollToItem(Math.max(listed.chosen, 0));
}

function drawRows() {
  const first = Math.max(Math.floor(list.scrollTop / ROW) - 5, 0);
  const last = Math.min(Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 5, listed.items.length);
  const rows = [];
  for (let place = first; place < last; place++) {
    const item = listed.items[place];
    const row = document.createElement("div");
    row.className = "row";
    row.id = `row-${item}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", listed.items.length);
    row.setAttribute("aria-selected", item === listed.chosen);
    row.style.top = `${ROW * place}px`;
    for (const [tag, text] of [["time", ms(items.at[item])], ["b", itemHost(item)], ["span", itemText(item)]]) {
      row.append(Object.assign(document.createElement(tag), { textContent: text }));
    }
    row.addEventListener("click", () => choose(item));
    rows.push(row);
  }
  element("rows").replaceChildren(...rows);
  list.setAttribute("aria-activedescendant", listed.chosen < 0 ? "" : `row-${listed.chosen}`);
}

/* Brings the row of an item, or the one that would be after it, into sight. */
function scrollToItem(item) {
  const place = lowerBound(listed.items, item);
  const top = ROW * place;
  if (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight) {
    list.scrollTop = top - list.clientHeight / 2;
  }
  drawRows();
}

/* The next event in the list after the chosen one; backwards with -1. If none is chosen, after the
   violation or the time that is shown, or the first in view. */
function step(direction) {
  if (!listed.items.length) return;
  let place = lowerBound(listed.items, listed.chosen);
  const isListed = listed.items[place] === listed.chosen;
  if (listed.chosen < 0) {
    const isInView = listed.at !== null && view.from <= toU(listed.at) && toU(listed.at) <= view.to;
    // The first item that is later than the time.
    const later = isInView ? lowerBound(items.at, listed.at + 1) : lowerBound(items.at, toT(Math.max(view.from, 0)));
    place = lowerBound(listed.items, later) + Math.min(direction, 0);
  } else if (direction < 0 || isListed) place += direction;
  choose(listed.items[Math.min(Math.max(place, 0), listed.items.length - 1)], "step");
}

list.addEventListener("scroll", drawRows);
list.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  step(by);
});
element("query").addEventListener("input", () => { filter(); moved(); });

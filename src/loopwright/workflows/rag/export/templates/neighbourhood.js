"use strict";
(() => {
  const svg = document.getElementById("graph");
  const details = document.getElementById("details");
  const hint = [...details.childNodes];
  const boxes = [...svg.querySelectorAll(".box")];
  const lines = [...svg.querySelectorAll(".line")];
  const words = [...svg.querySelectorAll(".word")];
  const places = boxes.map((box) => {
    const at = box.transform.baseVal.consolidate().matrix;
    return { x: at.e, y: at.f };
  });
  const ends = (drawn) => [Number(drawn.dataset.source), Number(drawn.dataset.target)];
  const linked = boxes.map(() => new Set());
  for (const line of lines) {
    const [source, target] = ends(line);
    linked[source].add(target);
    linked[target].add(source);
  }
  const whole = svg.viewBox.baseVal;
  const all = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  let view = { ...all };
  let chosen = null;
  let found = null;
  document.body.classList.add("live");

  function look(next) {
    const most = Math.max(all.width, all.height) * 3;
    if (next.width > most || next.width < 80) return;
    view = next;
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }

  function point(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return { x: at.x, y: at.y };
  }

  function zoom(factor, at = { x: view.x + view.width / 2, y: view.y + view.height / 2 }) {
    look({
      x: at.x - (at.x - view.x) * factor, y: at.y - (at.y - view.y) * factor,
      width: view.width * factor, height: view.height * factor,
    });
  }

  function draw(number) {
    boxes[number].setAttribute("transform", `translate(${places[number].x} ${places[number].y})`);
    for (const drawn of [...lines, ...words]) {
      const [source, target] = ends(drawn);
      if (source !== number && target !== number) continue;
      const [a, b] = [places[source], places[target]];
      const at = Number(drawn.dataset.at || 0.5);
      const middle = { x: a.x + at * (b.x - a.x), y: a.y + at * (b.y - a.y) };
      if (drawn.tagName === "text") {
        drawn.setAttribute("x", middle.x);
        drawn.setAttribute("y", middle.y - 6);
      } else {
        for (const path of drawn.children) path.setAttribute("d", `M${a.x} ${a.y}L${middle.x} ${middle.y}L${b.x} ${b.y}`);
      }
    }
  }

  function tell(ids) {
    // Copies of what stands in the lists: nothing is parsed as markup here.
    const copies = ids.map((id) => {
      const copy = document.createElement("div");
      const item = document.getElementById(id);
      copy.className = item.className;
      copy.append(...[...item.childNodes].map((child) => child.cloneNode(true)));
      return copy;
    });
    details.replaceChildren(...(copies.length ? copies : hint));
    details.scrollTop = 0;
  }

  function light() {
    const kept = (number) =>
      (found === null || found.has(number)) && (chosen === null || number === chosen || linked[chosen].has(number));
    const near = (drawn) => {
      const [source, target] = ends(drawn);
      return chosen === null ? kept(source) && kept(target) : source === chosen || target === chosen;
    };
    boxes.forEach((box, number) => {
      box.classList.toggle("faint", !kept(number));
      box.classList.toggle("chosen", number === chosen);
    });
    for (const drawn of [...lines, ...words]) {
      drawn.classList.toggle("faint", !near(drawn));
      drawn.classList.toggle("lit", chosen !== null && near(drawn));
    }
  }

  function choose(number) {
    chosen = number;
    light();
    tell(number === null ? [] : [`n${number}`]);
  }

  boxes.forEach((box, number) => {
    for (const kind of ["pointerenter", "focus"]) {
      box.addEventListener(kind, () => { if (chosen === null) tell([`n${number}`]); });
    }
    box.addEventListener("click", (event) => {
      event.preventDefault();
      if (!dragged) choose(chosen === number ? null : number);
    });
  });
  for (const line of lines.filter((line) => line.dataset.facts)) {
    const show = () => tell(line.dataset.facts.split(" ").map((place) => `f${place}`));
    for (const kind of ["pointerenter", "focus"]) line.addEventListener(kind, show);
    line.addEventListener("click", (event) => { event.preventDefault(); show(); });
  }

  let held = null;
  let dragged = false;
  svg.addEventListener("dragstart", (event) => event.preventDefault());
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || held) return;
    const box = event.target.closest(".box");
    held = { id: event.pointerId, from: point(event), number: box ? Number(box.dataset.number) : null };
    dragged = false;
  });
  window.addEventListener("pointermove", (event) => {
    if (!held || event.pointerId !== held.id) return;
    const to = point(event);
    const [x, y] = [to.x - held.from.x, to.y - held.from.y];
    // A click that trembles is no drag; three pixels of the screen are.
    if (!dragged && Math.hypot(x, y) * (svg.getScreenCTM().a || 1) < 3) return;
    dragged = true;
    svg.classList.add("moving");
    if (held.number === null) {
      look({ ...view, x: view.x - x, y: view.y - y });
    } else {
      const place = places[held.number];
      place.x += x;
      place.y += y;
      held.from = to;
      draw(held.number);
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    window.addEventListener(kind, () => { held = null; svg.classList.remove("moving"); });
  }
  svg.addEventListener("click", (event) => {
    if (!dragged && !event.target.closest("a")) choose(null);
  });
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 100) / 400), point(event));
  }, { passive: false });
  document.getElementById("closer").addEventListener("click", () => zoom(1 / 1.3));
  document.getElementById("farther").addEventListener("click", () => zoom(1.3));
  document.getElementById("whole").addEventListener("click", () => { look({ ...all }); choose(null); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null); });

  const items = [...document.querySelectorAll(".lists .item")];
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const texts = items.map((item) => plain(item.textContent));
  const search = document.getElementById("search");
  search.addEventListener("input", () => {
    const wanted = plain(search.value.trim());
    found = wanted ? new Set() : null;
    items.forEach((item, place) => {
      const fits = texts[place].includes(wanted);
      item.hidden = !fits;
      if (found && fits && item.id.startsWith("n")) found.add(Number(item.id.slice(1)));
    });
    document.getElementById("found").value = found ? `${found.size} of ${boxes.length} boxes` : "";
    light();
  });
})();

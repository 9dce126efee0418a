// Filters and sorts the rows of a report. Without it, the page shows all of them, worst first.
'use strict';
{
  const controls = document.getElementById('filters');
  const main = document.querySelector('main');
  const control = (id) => document.getElementById(id);
  const folded = (text) => text.normalize('NFKC').toLowerCase();
  const number = (text) => (text === '-' ? Infinity : Number(text));
  const words = (text) => text.split(' ').filter(Boolean);

  const rows = [...main.querySelectorAll('article')].map((element) => {
    const { rank, score, level, found, tools } = element.dataset;
    const name = element.querySelector('h2 bdi').textContent;
    return {
      element,
      name,
      rank: Number(rank),
      score: number(score),
      level,
      searched: folded(name),
      found: new Set(words(found)),
      tools: words(tools).map(number),
    };
  });

  const names = new Intl.Collator(undefined, { numeric: true });
  // Equal ones, infinities too, stay in the order of the page; what has no score comes last in any order.
  const less = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
  const orders = {
    worst: () => 0,
    best: (a, b) => (a.score === Infinity || b.score === Infinity ? less(a.score, b.score) : less(b.score, a.score)),
    name: (a, b) => names.compare(a.name, b.name),
  };

  function wanted() {
    const value = (id) => control(id)?.value ?? '';
    const text = folded(value('filter-name').trim());
    const found = value('filter-found');
    const level = value('filter-level');
    const flag = value('filter-flag');
    return (row) =>
      row.searched.includes(text) &&
      (found === '' || (found === '-' ? row.found.size === 0 : row.found.has(found))) &&
      (level === '' || row.level === level) &&
      (flag === '' || row.element.classList.contains(flag));
  }

  function filter() {
    const fits = wanted();
    let shown = 0;
    for (const row of rows) {
      const hidden = !fits(row);
      row.element.hidden = hidden;
      if (!hidden) shown += 1;
    }
    control('shown').textContent = `${shown} of ${rows.length} shown`;
  }

  function sort() {
    const { value } = control('sort');
    const order = orders[value] ?? ((a, b) => less(a.tools[value], b.tools[value]));
    main.append(...[...rows].sort((a, b) => order(a, b) || a.rank - b.rank).map((row) => row.element));
  }

  function reset() {
    for (const input of controls.querySelectorAll('input, select')) {
      if (input.type === 'search') input.value = '';
      else input.selectedIndex = 0;
    }
    filter();
    sort();
  }

  if (controls) {
    controls.hidden = false;
    controls.addEventListener('input', (event) => (event.target.id === 'sort' ? sort() : filter()));
    control('reset').addEventListener('click', reset);
    // A browser that goes back keeps what was chosen.
    addEventListener('pageshow', () => {
      filter();
      sort();
    });
  }
}

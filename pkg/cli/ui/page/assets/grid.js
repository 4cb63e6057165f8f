// The children of an array as a grid on a canvas: one draw for 10,000 children.
'use strict';
(() => {
  const section = document.querySelector('[data-grid]');
  if (!section) return;
  const canvas = section.querySelector('canvas');
  const box = section.querySelector('.grid-scroll');
  const mode = section.querySelector('.grid-mode');
  const legend = section.querySelector('.grid-legend');
  const told = section.querySelector('.grid-child');
  const names = {s: 'SUBMITTED', p: 'PENDING', r: 'RUNNABLE', i: 'STARTING', u: 'RUNNING', c: 'SUCCEEDED', f: 'FAILED'};
  let data = null;
  let results = [];
  let colors = {};
  let at = 0; // the child that the keyboard is on
  let layout = {columns: 1, cell: 12, left: 0, top: 0};
  let childAt = []; // the child at each place of a matrix
  let version = '';

  function readColors() {
    const style = getComputedStyle(section);
    colors = {text: style.getPropertyValue('--text'), muted: style.getPropertyValue('--muted'), surface: style.getPropertyValue('--surface'), focus: style.getPropertyValue('--accent'), empty: style.getPropertyValue('--border')};
    const probe = batchctl.element('span');
    section.append(probe);
    for (const [letter, name] of Object.entries(names)) {
      probe.className = 's-' + name.toLowerCase();
      colors[letter] = getComputedStyle(probe).color;
    }
    for (const name of ['text', 'muted', 'surface', 'focus', 'empty']) {
      probe.className = '';
      probe.style.setProperty('color', colors[name]);
      colors[name] = getComputedStyle(probe).color;
    }
    probe.remove();
  }

  // values returns the numbers that the mode colours by; null for the status.
  function values() {
    if (mode.value === 'status') return null;
    if (mode.value === 'seconds') return data.seconds.map((s) => (s < 0 ? null : s));
    return results.find((c) => c.name === mode.value)?.values || null;
  }

  function arrange() {
    const width = Math.max(200, box.clientWidth);
    if (data.places) {
      const columns = data.columns.values.length;
      const rows = data.rows.values.length;
      const ctx = canvas.getContext('2d');
      ctx.font = '12px "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
      const longest = data.rows.values.slice(0, 500).reduce((w, text) => Math.max(w, ctx.measureText(text).width), 0);
      const left = Math.min(Math.max(longest, ctx.measureText(data.rows.name).width) + 12, width * 0.35);
      const cell = Math.max(6, Math.min(32, Math.floor((width - left - 8) / columns)));
      layout = {columns, rows, cell, left, top: 44};
      childAt = new Array(columns * rows).fill(-1);
      data.places.forEach((place, child) => { childAt[place] = child; });
    } else {
      const cell = Math.max(5, Math.min(28, Math.floor(Math.sqrt(width * 480 / data.size))));
      const columns = Math.max(1, Math.floor(width / cell));
      layout = {columns, rows: Math.ceil(data.size / columns), cell, left: 0, top: 0};
      childAt = null;
    }
  }

  function placeOf(child) { return data.places ? data.places[child] : child; }

  function draw() {
    if (!data) return;
    arrange();
    const {columns, rows, cell, left, top} = layout;
    const scale = devicePixelRatio || 1;
    const width = Math.ceil(left + columns * cell + 2);
    const height = Math.ceil(top + rows * cell + 2);
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.setProperty('width', width + 'px');
    canvas.style.setProperty('height', height + 'px');
    const ctx = canvas.getContext('2d');
    ctx.scale(scale, scale);
    ctx.clearRect(0, 0, width, height);
    const numbers = values();
    let low = Infinity;
    let high = -Infinity;
    if (numbers) for (const n of numbers) if (n !== null) { low = Math.min(low, n); high = Math.max(high, n); }
    const gap = cell >= 8 ? 1 : 0.5;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.font = `${Math.floor(cell * 0.6)}px "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif`;
    for (let child = 0; child < data.size; child++) {
      const place = placeOf(child);
      const x = left + (place % columns) * cell;
      const y = top + Math.floor(place / columns) * cell;
      const letter = data.statuses[child];
      if (numbers) {
        ctx.fillStyle = numbers[child] === null ? colors.empty : shade(high > low ? (numbers[child] - low) / (high - low) : 0.5);
        ctx.fillRect(x, y, cell - gap, cell - gap);
        if (numbers[child] === null && cell >= 8) cross(ctx, x, y, cell - gap, colors.muted);
        continue;
      }
      ctx.fillStyle = colors[letter] || colors.empty;
      if (letter === 's' || letter === 'p' || letter === 'r') { // children that wait are outlines
        ctx.globalAlpha = 0.35;
        ctx.fillRect(x, y, cell - gap, cell - gap);
        ctx.globalAlpha = 1;
      } else {
        ctx.fillRect(x, y, cell - gap, cell - gap);
      }
      if (cell >= 14) {
        ctx.fillStyle = letter === 's' || letter === 'p' || letter === 'r' ? colors.text : colors.surface;
        ctx.fillText(batchctl.marks[names[letter]] || '?', x + (cell - gap) / 2, y + (cell - gap) / 2 + 1);
      } else if (letter === 'f') {
        cross(ctx, x, y, cell - gap, colors.surface);
      }
    }
    if (data.places) labels(ctx);
    focus(ctx);
    tellLegend(numbers, low, high);
  }

  function cross(ctx, x, y, size, color) {
    ctx.strokeStyle = color;
    ctx.lineWidth = Math.max(1, size / 8);
    ctx.beginPath();
    ctx.moveTo(x + size * 0.2, y + size * 0.2);
    ctx.lineTo(x + size * 0.8, y + size * 0.8);
    ctx.moveTo(x + size * 0.8, y + size * 0.2);
    ctx.lineTo(x + size * 0.2, y + size * 0.8);
    ctx.stroke();
  }

  // shade is a colour between a light and a dark end; lightness rises evenly, so the order is visible without colour.
  function shade(t) {
    return `hsl(${220 + 40 * (1 - t)} 62% ${86 - 58 * t}%)`;
  }

  function labels(ctx) {
    const {columns, rows, cell, left, top} = layout;
    ctx.fillStyle = colors.muted;
    ctx.font = '12px "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
    ctx.textAlign = 'left';
    ctx.fillText(data.columns.name, left, 9);
    ctx.textAlign = 'right';
    ctx.fillText(data.rows.name, left - 6, top - 12);
    const every = Math.max(1, Math.ceil(14 / cell));
    for (let r = 0; r < rows; r += every) ctx.fillText(fit(ctx, data.rows.values[r], left - 10), left - 6, top + r * cell + cell / 2);
    ctx.textAlign = 'left';
    let free = left;
    for (let c = 0; c < columns; c++) {
      const text = data.columns.values[c];
      const x = left + c * cell;
      const w = ctx.measureText(text).width;
      if (x < free) continue;
      ctx.fillText(fit(ctx, text, 120), x, top - 12);
      free = x + Math.min(w, 120) + 8;
    }
  }

  function fit(ctx, text, width) {
    if (ctx.measureText(text).width <= width) return text;
    while (text.length > 1 && ctx.measureText(text + '…').width > width) text = text.slice(0, -1);
    return text + '…';
  }

  function focus(ctx) {
    if (document.activeElement !== canvas) return;
    const {columns, cell, left, top} = layout;
    const place = placeOf(at);
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = 2;
    ctx.strokeRect(left + (place % columns) * cell - 0.5, top + Math.floor(place / columns) * cell - 0.5, cell, cell);
  }

  function tellLegend(numbers, low, high) {
    legend.replaceChildren();
    if (numbers) {
      if (low > high) { legend.textContent = 'no numbers yet'; return; }
      const format = (n) => (mode.value === 'seconds' ? batchctl.duration(n * 1000) : String(+n.toPrecision(4)));
      legend.append(format(low) + ' ', batchctl.element('span', 'ramp'), ' ' + format(high));
      return;
    }
    const counts = {};
    for (const letter of data.statuses) counts[letter] = (counts[letter] || 0) + 1;
    for (const [letter, n] of Object.entries(counts)) {
      const item = batchctl.element('span', 'count s-' + names[letter].toLowerCase(), (batchctl.marks[names[letter]]) + ' ' + n + ' ' + names[letter].toLowerCase());
      legend.append(item, ' ');
    }
  }

  function tell(child) {
    let text = 'child ' + child + ': ' + names[data.statuses[child]];
    if (data.labels) text += ', ' + data.labels[child];
    if (data.exits[child] >= 0) text += ', exit code ' + data.exits[child];
    if (data.seconds[child] >= 0) text += ', ran ' + batchctl.duration(data.seconds[child] * 1000);
    for (const column of results) if (column.values[child] !== null) text += ', ' + column.name + '=' + (column.measured ? +column.values[child].toPrecision(4) : column.values[child]);
    if (told.textContent !== text) told.textContent = text;
  }

  function childUnder(event) {
    const r = canvas.getBoundingClientRect();
    const {columns, rows, cell, left, top} = layout;
    const c = Math.floor((event.clientX - r.left - left) / cell);
    const line = Math.floor((event.clientY - r.top - top) / cell);
    if (c < 0 || c >= columns || line < 0 || line >= rows) return -1;
    const place = line * columns + c;
    const child = childAt ? childAt[place] : place;
    return child < data.size ? child : -1;
  }

  function openChild(child) {
    const href = batchctl.isCopy ? data.pages?.[child] : batchctl.job(data.id + ':' + child);
    if (href) location.assign(href);
  }

  canvas.addEventListener('mousemove', (event) => {
    const child = data ? childUnder(event) : -1;
    canvas.style.setProperty('cursor', child >= 0 ? 'pointer' : 'default');
    if (child >= 0) tell(child);
  });
  canvas.addEventListener('click', (event) => {
    const child = data ? childUnder(event) : -1;
    if (child >= 0) openChild(child);
  });
  canvas.addEventListener('focus', draw);
  canvas.addEventListener('blur', draw);
  canvas.addEventListener('keydown', (event) => {
    if (!data) return;
    if (event.key === 'Enter') return openChild(at);
    const {columns, rows} = layout;
    const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns}[event.key];
    if (step === undefined && event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    let place = placeOf(at);
    do {
      place = event.key === 'Home' ? 0 : event.key === 'End' ? columns * rows - 1 : place + step;
      if (place < 0 || place >= columns * rows) break;
      const child = childAt ? childAt[place] : place;
      if (child >= 0 && child < data.size) { at = child; break; }
    } while (step !== undefined);
    if (event.key === 'End') at = data.size - 1;
    draw();
    tell(at);
  });
  mode.addEventListener('change', draw);
  addEventListener('resize', draw);
  document.addEventListener('themed', () => { readColors(); draw(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColors(); draw(); });

  const empty = {values: 'the children printed no numbers', measurements: 'no child was measured: write "measure": true in the job file'};
  for (const button of section.querySelectorAll('.grid-read')) {
    button.addEventListener('click', async () => {
      button.disabled = true;
      told.textContent = 'reading';
      try {
        const columns = await batchctl.get('/jobs/' + encodeURIComponent(section.dataset.grid) + '/children/' + button.dataset.columns);
        results = [...results, ...columns];
        showResults(columns);
        told.textContent = columns.length ? '' : empty[button.dataset.columns];
      } catch (error) {
        told.textContent = error.message;
        button.disabled = false;
      }
    });
  }

  function showResults(columns) {
    for (const column of columns) {
      if ([...mode.options].some((o) => o.value === column.name)) continue;
      const o = batchctl.element('option', '', (column.measured ? '' : 'result ') + column.name);
      o.value = column.name;
      mode.append(o);
    }
    if (columns.length) mode.value = columns[columns.length - 1].name;
    draw();
  }

  async function read() {
    const copy = section.querySelector('.grid-data');
    try {
      data = copy ? JSON.parse(copy.textContent) : await batchctl.get('/jobs/' + encodeURIComponent(section.dataset.grid) + '/children');
      if (data.results) { results = data.results; showResults(results); mode.value = 'status'; }
      draw();
    } catch (error) {
      told.textContent = error.message;
    }
  }
  document.addEventListener('refreshed', () => {
    const now = document.getElementById('grid-version')?.dataset.version;
    if (now !== version) { version = now; read(); }
  });
  version = document.getElementById('grid-version')?.dataset.version;
  readColors();
  read();
})();

// The log of a job. Text becomes text nodes, so it never becomes markup.
'use strict';
(() => {
  const section = document.querySelector('.log');
  if (!section) return;
  const lines = section.querySelector('.log-lines');
  const state = section.querySelector('.log-state');
  const search = section.querySelector('.log-search');
  const matches = section.querySelector('.log-matches');
  const wrap = section.querySelector('.log-wrap');
  const times = section.querySelector('.log-times');
  const follow = section.querySelector('.log-follow');
  const mostLines = 20000; // as logShown of the server
  let count = 0; // of the lines that are shown
  let total = 0; // of the lines of the log
  let found = [];
  let chosen = -1;
  let ended = '';

  function show(line) {
    const row = batchctl.element('div', 'line');
    const time = batchctl.element('time', 'at', new Date(line.t).toISOString().slice(11, 23));
    row.append(time);
    for (const span of line.s || []) row.append(span.c ? batchctl.element('span', span.c, span.t) : span.t);
    if (line.cut) row.append(batchctl.element('span', 'ctl', ` … ${line.cut} more bytes; batchctl logs shows them`));
    return row;
  }

  // Lines are shown once for each frame, in chunks, of which the browser lays out only the visible ones.
  const chunkSize = 200;
  let waiting = [];
  let frame = 0;
  function add(part) {
    for (const line of part.lines) waiting.push(line);
    total = part.from + part.lines.length;
    if (waiting.length > mostLines) waiting = waiting.slice(-mostLines);
    if (!frame) frame = requestAnimationFrame(flush);
  }

  function flush() {
    frame = 0;
    const batch = waiting;
    waiting = [];
    let chunk = lines.lastChild;
    for (const line of batch) {
      if (!chunk || chunk.childElementCount === chunkSize) {
        chunk = batchctl.element('div', 'chunk');
        lines.append(chunk);
      }
      chunk.append(show(line));
    }
    if (chunk) chunk.style.setProperty('contain-intrinsic-size', `auto ${chunk.childElementCount * 19}px`);
    count += batch.length;
    while (count > mostLines && lines.childElementCount > 1) {
      count -= lines.firstChild.childElementCount;
      lines.firstChild.remove();
    }
    tell(ended);
    if (follow?.checked) lines.scrollTop = lines.scrollHeight;
    if (search.value) searchSoon(false);
  }

  function tell(note) {
    const number = (n) => n.toLocaleString('en-US');
    const all = total === 1 ? '1 line' : number(total) + ' lines';
    // A page that was too slow can also miss lines in between.
    const text = count < total ? `${number(count)} of ${all}; the others: ${section.dataset.command}` : all;
    state.textContent = [text, note].filter(Boolean).join(', ');
  }

  // find marks what matches the search, without changing the lines.
  function find(jump) {
    const wanted = search.value.toLowerCase();
    const was = found[chosen];
    found = [];
    if (wanted) {
      for (const row of lines.querySelectorAll('.line')) {
        const nodes = [];
        const walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
        let text = '';
        for (let node = walk.nextNode(); node; node = walk.nextNode()) {
          if (node.parentNode.tagName === 'TIME') continue;
          nodes.push([text.length, node]);
          text += node.data;
        }
        const lower = text.toLowerCase();
        for (let i = lower.indexOf(wanted); i >= 0 && found.length < 5000; i = lower.indexOf(wanted, i + wanted.length)) {
          const range = document.createRange();
          range.setStart(...point(nodes, i));
          range.setEnd(...point(nodes, i + wanted.length));
          found.push(range);
        }
      }
    }
    if (window.Highlight && CSS.highlights) {
      CSS.highlights.set('found', new Highlight(...found));
    }
    // New lines keep the chosen match, and lines before it may be gone.
    chosen = jump || !was ? -1 : found.findIndex((r) => r.startContainer === was.startContainer && r.startOffset === was.startOffset);
    if (chosen < 0) CSS.highlights?.delete('chosen');
    matches.textContent = !wanted ? '' : chosen >= 0 ? `${chosen + 1} of ${found.length}` : found.length === 1 ? '1 match' : found.length + ' matches';
    if (jump && found.length) go(1);
  }

  function point(nodes, offset) {
    let [start, node] = nodes[0];
    for (const [from, other] of nodes) if (from <= offset) { start = from; node = other; }
    return [node, Math.min(offset - start, node.data.length)];
  }

  function go(step) {
    if (!found.length) return;
    chosen = (chosen + step + found.length) % found.length;
    const row = found[chosen].startContainer.parentElement.closest('.line');
    row.scrollIntoView({block: 'nearest'});
    if (window.Highlight && CSS.highlights) CSS.highlights.set('chosen', new Highlight(found[chosen]));
    matches.textContent = `${chosen + 1} of ${found.length}`;
    if (follow) follow.checked = false;
  }

  // searchSoon searches once the lines and the search have not changed for a moment, or twice a second.
  let wait = 0;
  let jumps = false;
  function searchSoon(jump) {
    jumps ||= jump;
    if (jump) clearTimeout(wait);
    if (!wait || jump) wait = setTimeout(() => { wait = 0; find(jumps); jumps = false; }, jump ? 150 : 500);
  }
  search.addEventListener('input', () => searchSoon(true));
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  });
  wrap.addEventListener('change', () => lines.classList.toggle('wrapped', wrap.checked));
  times.addEventListener('change', () => lines.classList.toggle('timed', times.checked));
  lines.addEventListener('wheel', (event) => { if (event.deltaY < 0 && follow) follow.checked = false; }, {passive: true});

  const copy = section.querySelector('.log-data');
  if (copy) {
    const all = JSON.parse(copy.textContent);
    add(all);
    if (!all.lines.length) tell('');
    return;
  }
  const topic = 'log:' + section.dataset.log;
  state.textContent = 'waiting for the first line';
  batchctl.on(topic, add);
  document.addEventListener('reset', (event) => {
    if (event.detail !== topic) return;
    lines.replaceChildren();
    waiting = [];
    count = total = 0;
  });
  document.addEventListener('ended', (event) => {
    if (event.detail !== topic) return;
    ended = 'the job has ended';
    tell(ended);
  });
})();

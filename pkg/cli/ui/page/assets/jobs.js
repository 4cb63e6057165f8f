// The list of jobs: only the visible rows exist, and the server sorts, filters and groups.
'use strict';
(() => {
  const view = document.getElementById('jobs-view');
  if (!view) return;
  const form = document.getElementById('filters');
  const space = document.getElementById('jobs-space');
  const body = document.getElementById('jobs-rows');
  const count = document.getElementById('jobs-count');
  const pageSize = 200;
  const around = 10; // rows above and below the visible ones
  let pages = new Map(); // the rows of a page, or a promise of them
  let total = Number(view.dataset.total);
  let active = -1;
  let open = new Set();
  let height = rowHeight();
  let drawn = '';
  let asked = new AbortController();

  function rowHeight() {
    return parseFloat(getComputedStyle(view).getPropertyValue('--row')) || 36;
  }

  // query returns what the form asks for.
  function query() {
    const q = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value && !(name === 'sort' && value === 'created')) q.append(name, value);
    return q;
  }

  // ask requests the page of rows with this number.
  function ask(number) {
    if (pages.has(number)) return;
    const q = query();
    q.set('from', number * pageSize);
    q.set('n', pageSize);
    for (const key of open) q.append('open', key);
    const wanted = pages;
    pages.set(number, null);
    batchctl.get('/jobs/rows?' + q, asked.signal).then((data) => {
      if (pages !== wanted) return;
      pages.set(number, data.rows || []);
      total = data.total;
      tell(data);
      draw(true);
    }).catch((error) => {
      if (error.name === 'AbortError') return;
      pages.delete(number);
      count.textContent = error.message;
    });
  }

  function tell(data) {
    let text = data.jobs === 1 ? '1 job' : data.jobs.toLocaleString('en') + ' jobs';
    for (const [status, n] of Object.entries(data.counts || {})) text += ', ' + n.toLocaleString('en') + ' ' + status;
    if (data.reading) text += '; reading more';
    if (count.textContent !== text) count.textContent = text;
  }

  // draw shows the rows at the place to which the view is scrolled.
  function draw(again) {
    const top = Math.max(0, view.scrollTop);
    const first = Math.max(0, Math.floor(top / height) - around);
    const end = Math.min(total, Math.ceil((top + view.clientHeight) / height) + around);
    const key = first + ' ' + end;
    if (!again && key === drawn) return;
    drawn = key;
    space.style.setProperty('height', total * height + 'px');
    body.style.setProperty('transform', `translateY(${first * height}px)`);
    view.setAttribute('aria-rowcount', total);
    view.setAttribute('role', form.elements.group.value ? 'treegrid' : 'grid');
    const rows = [];
    for (let i = first; i < end; i++) {
      const page = pages.get(Math.floor(i / pageSize));
      if (page === undefined) ask(Math.floor(i / pageSize));
      rows.push(page && page[i % pageSize] ? row(page[i % pageSize], i) : placeholder(i));
    }
    body.replaceChildren(...rows);
    const next = Math.floor(end / pageSize) + (end % pageSize > pageSize / 2 ? 1 : 0);
    if (next * pageSize < total) ask(next);
    const on = body.querySelector('.active');
    if (on) view.setAttribute('aria-activedescendant', on.id); else view.removeAttribute('aria-activedescendant');
  }

  function base(i, name) {
    const r = batchctl.element('div', 'row' + (name ? ' ' + name : '') + (i === active ? ' active' : ''));
    r.setAttribute('role', 'row');
    r.setAttribute('aria-rowindex', i + 2);
    if (i === active) r.setAttribute('aria-selected', 'true');
    r.id = 'row-' + i;
    r.dataset.index = i;
    return r;
  }

  function cell(r, ...content) {
    const c = batchctl.element('span');
    c.setAttribute('role', 'gridcell');
    c.append(...content);
    r.append(c);
    return c;
  }

  function placeholder(i) {
    const r = base(i, 'empty');
    cell(r, '…');
    return r;
  }

  function status(name) {
    const s = batchctl.element('span', 'status s-' + name.toLowerCase());
    const m = batchctl.element('span', 'mark', batchctl.marks[name] || '?');
    m.setAttribute('aria-hidden', 'true');
    s.append(m, name);
    return s;
  }

  function row({job, group}, i) {
    if (group) {
      const r = base(i, 'group');
      r.setAttribute('aria-expanded', group.open ? 'true' : 'false');
      const c = cell(r, group.open ? '▾ ' : '▸ ', batchctl.element('strong', '', group.label), ' ', batchctl.element('small', 'muted', group.jobs === 1 ? '1 job' : group.jobs + ' jobs'));
      for (const [name, n] of Object.entries(group.counts || {})) {
        const s = batchctl.element('span', 'count s-' + name.toLowerCase(), (batchctl.marks[name] || '?') + ' ' + n);
        s.title = n + ' ' + name;
        c.append(' ', s);
      }
      if (form.elements.group.value === 'workflow' && group.key) {
        const link = batchctl.element('a', 'more', 'graph');
        link.href = '/workflows/' + encodeURIComponent(group.key);
        link.tabIndex = -1;
        c.append(' ', link);
      }
      r.dataset.key = group.key;
      return r;
    }
    const now = Date.now();
    const r = base(i, '');
    cell(r, status(job.status));
    const link = batchctl.element('a', '', job.name);
    link.href = batchctl.job(job.id);
    link.tabIndex = -1;
    const more = job.size ? ' array of ' + job.size : '';
    cell(r, link, batchctl.element('small', 'muted', more + ' ' + job.id.slice(0, 8)));
    cell(r, job.queue || '');
    cell(r, job.created ? batchctl.duration(Math.max(0, now - job.created)) + ' ago' : '');
    const began = job.started || job.stopped || now;
    cell(r, job.created ? batchctl.duration(Math.max(0, began - job.created)) : '');
    cell(r, job.started ? batchctl.duration(Math.max(0, (job.stopped || now) - job.started)) : '–');
    const reason = cell(r, job.reason || '');
    reason.className = 'muted';
    if (job.reason) reason.title = job.reason;
    return r;
  }

  // restart asks for everything again. keep leaves the rows in place until the new ones are here.
  function restart(keep) {
    asked.abort();
    asked = new AbortController();
    const old = pages;
    pages = new Map();
    if (keep) {
      const at = Math.floor(view.scrollTop / height / pageSize);
      for (const number of [at, at + 1]) if (old.get(number)) refetch(number, old.get(number));
      ask(at); // also while there is no row yet
    } else {
      view.scrollTop = 0;
      active = -1;
      ask(0);
    }
    draw(true);
  }

  // refetch shows the old rows until the new ones are here.
  function refetch(number, rows) {
    ask(number);
    pages.set(number, rows);
  }

  let wait = 0;
  function changed() {
    clearTimeout(wait);
    wait = setTimeout(() => {
      open = new Set();
      const q = query();
      history.replaceState(null, '', '/jobs' + (String(q) ? '?' + q : ''));
      restart(false);
    }, 120);
  }
  form.addEventListener('input', changed);
  form.addEventListener('submit', (event) => { event.preventDefault(); changed(); });

  let frame = 0;
  view.addEventListener('scroll', () => {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(false); });
  }, {passive: true});
  addEventListener('resize', () => { height = rowHeight(); draw(true); });

  function toggle(key) {
    if (open.has(key)) open.delete(key); else open.add(key);
    restart(true);
  }

  view.addEventListener('click', (event) => {
    const r = event.target.closest('.row');
    if (!r || r.dataset.index === undefined || event.target.closest('a')) return;
    if (r.classList.contains('group')) return toggle(r.dataset.key);
    r.querySelector('a')?.click();
  });

  view.addEventListener('keydown', (event) => {
    const page = Math.max(1, Math.floor(view.clientHeight / height) - 2);
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity}[event.key];
    const on = body.querySelector('.active');
    if (step !== undefined) {
      event.preventDefault();
      active = Math.min(total - 1, Math.max(0, (active < 0 && step > 0 ? -1 : active) + step));
      const at = active * height;
      if (at < view.scrollTop) view.scrollTop = at;
      else if (at + height * 2 > view.scrollTop + view.clientHeight) view.scrollTop = at + height * 2 - view.clientHeight;
      draw(true);
    } else if (event.key === 'Enter' && on) {
      if (on.classList.contains('group')) toggle(on.dataset.key); else on.querySelector('a')?.click();
    } else if ((event.key === 'ArrowRight' || event.key === 'ArrowLeft') && on?.classList.contains('group')) {
      if ((event.key === 'ArrowRight') !== open.has(on.dataset.key)) toggle(on.dataset.key);
    }
  });

  // A list that is being read changes often: ask at most twice a second.
  let soon = 0;
  batchctl.on('jobs', () => {
    soon ||= setTimeout(() => { soon = 0; restart(true); }, 500);
  });
  setInterval(() => draw(true), 5000); // durations of running jobs grow
  restart(false);
})();

// Live pages: server-sent events tell that something changed, and the page asks for itself again.
'use strict';
const batchctl = (() => {
  const topics = JSON.parse(document.body.dataset.topics || '[]');
  const handlers = new Map((topics || []).map((topic) => [topic, refreshSoon]));
  const state = document.getElementById('live');
  const theme = document.getElementById('theme'); // absent in a copy on the disk
  let source = null;
  let versions = {};
  let pending = 0;
  let last = 0;

  // tell shows the state of the connection.
  function tell(text, kind) {
    if (!state || state.textContent === text) return;
    state.textContent = text;
    state.dataset.kind = kind;
  }

  // refreshSoon asks for the page again, at most once a second, and not while a request is under way.
  function refreshSoon() {
    if (pending) return;
    pending = setTimeout(refresh, Math.max(0, last + 1000 - Date.now()));
  }

  async function refresh() {
    try {
      const answer = await fetch(location.href, {headers: {Accept: 'text/html'}});
      if (answer.status === 403) return tell('this page was opened by an earlier server: open the new address', 'bad');
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      for (const part of document.querySelectorAll('[data-live]')) {
        const other = fresh.getElementById(part.id);
        if (other) swap(part, other);
      }
      for (const part of document.querySelectorAll('[data-load]')) {
        const other = fresh.getElementById(part.id);
        if (other && (other.dataset.key !== part.dataset.key || other.dataset.load !== part.dataset.load)) {
          part.dataset.key = other.dataset.key;
          part.dataset.load = other.dataset.load;
          load(part);
        }
      }
      document.dispatchEvent(new Event('refreshed'));
    } catch {
      // The event source reports a server that has gone.
    } finally {
      last = Date.now();
      pending = 0;
    }
  }

  // swap puts the content of a new part in place of the old, and keeps the focus, open details and a selection.
  function swap(part, other) {
    if (part.innerHTML === other.innerHTML) return;
    const selection = getSelection();
    if (!selection.isCollapsed && part.contains(selection.anchorNode)) return;
    const open = [...part.querySelectorAll('details[open]')].map((d) => d.id);
    const links = [...part.querySelectorAll('a[href], button')];
    const focus = links.findIndex((link) => link === document.activeElement);
    const scrolled = [...part.querySelectorAll('.scroll')].map((box) => box.scrollLeft);
    part.replaceChildren(...other.childNodes);
    for (const details of part.querySelectorAll('details')) if (open.includes(details.id)) details.open = true;
    if (focus >= 0) [...part.querySelectorAll('a[href], button')][focus]?.focus({preventScroll: true});
    part.querySelectorAll('.scroll').forEach((box, i) => { box.scrollLeft = scrolled[i] || 0; });
  }

  // load fills a part that takes longer than the page.
  async function load(part) {
    if (!part.dataset.load) return part.replaceChildren();
    const from = part.dataset.load;
    try {
      const answer = await fetch(from);
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (part.dataset.load === from) part.replaceChildren(...fresh.body.childNodes);
      reachable();
    } catch {
      part.textContent = 'the server did not answer';
    }
  }

  function connect() {
    if (source || !handlers.size) return;
    const query = new URLSearchParams([...handlers.keys()].map((topic) => ['topic', topic]));
    source = new EventSource('/events?' + query);
    source.onopen = () => tell('live', 'good');
    source.onerror = () => {
      tell('not connected, trying again', 'bad');
      if (source && source.readyState === EventSource.CLOSED) { // the server refused: try again later
        source = null;
        setTimeout(connect, 5000);
      }
    };
    for (const [topic, handle] of handlers) {
      source.addEventListener(topic, (event) => {
        const data = JSON.parse(event.data);
        if (!('version' in data)) return handle(data); // lines of a log
        tell(data.problem ? 'the target does not answer: ' + data.problem : 'live', data.problem ? 'bad' : 'good');
        if (versions[topic] === data.version) return;
        versions[topic] = data.version;
        handle(data); // also the first: the page may be older
      });
    }
    source.addEventListener('end', (event) => document.dispatchEvent(new CustomEvent('ended', {detail: event.data})));
    for (const name of ['gap', 'reset']) {
      source.addEventListener(name, (event) => document.dispatchEvent(new CustomEvent(name, {detail: JSON.parse(event.data).topic})));
    }
    source.addEventListener('problem', (event) => {
      const {error} = JSON.parse(event.data);
      tell(error ? 'the target does not answer: ' + error : 'live', error ? 'bad' : 'good');
    });
  }

  // A browser opens few connections to one server. Pages that nobody sees leave theirs to others.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else {
      connect();
      refreshSoon();
    }
  });

  theme?.addEventListener('click', () => {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    document.documentElement.dataset.theme = dark ? 'light' : 'dark';
    document.cookie = 'batchctl-theme=' + document.documentElement.dataset.theme + '; path=/; max-age=31536000; samesite=strict';
    document.dispatchEvent(new Event('themed'));
  });

  // The durations of what still runs grow without an event.
  if (theme) {
    setInterval(() => {
      for (const e of document.querySelectorAll('[data-since]')) e.textContent = batchctl.duration(Math.max(0, Date.now() - e.dataset.since));
    }, 1000);
  }

  // A button with data-copy copies the text before it. Browsers allow that only on a secure origin, such as 127.0.0.1.
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    const from = button.closest('.patch').querySelector('pre');
    const told = button.parentElement.querySelector('output');
    try {
      await navigator.clipboard.writeText(from.textContent);
      told.textContent = '✓ copied';
    } catch {
      getSelection().selectAllChildren(from);
      told.textContent = 'selected: copy it with the keyboard';
    }
  });

  // A part that scrolls sideways must be reachable with the keyboard.
  function reachable() {
    for (const box of document.querySelectorAll('.scroll:not(.graph)')) {
      if (box.scrollWidth > box.clientWidth) {
        box.tabIndex = 0;
        box.setAttribute('role', 'group');
        box.setAttribute('aria-label', box.closest('section')?.querySelector('h2')?.textContent || document.querySelector('h1').textContent);
      } else {
        for (const name of ['tabindex', 'role', 'aria-label']) box.removeAttribute(name);
      }
    }
  }
  addEventListener('resize', reachable);
  document.addEventListener('refreshed', reachable);

  addEventListener('DOMContentLoaded', () => {
    reachable();
    document.querySelectorAll('[data-load]').forEach(load);
    if (!document.hidden && theme) connect(); // a copy on the disk has no server
  });

  return {
    // on calls handle with the events of a topic.
    on(topic, handle) { handlers.set(topic, handle); },
    // post sends JSON, and returns the answer.
    async post(path, body) {
      const answer = await fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
      const data = await answer.json();
      if (!answer.ok) throw new Error([data.Message, data.Hint].filter(Boolean).join(': '));
      return data;
    },
    // get returns JSON.
    async get(path, signal) {
      const answer = await fetch(path, {signal});
      const data = await answer.json();
      if (!answer.ok) throw new Error([data.Message, data.Hint].filter(Boolean).join(': '));
      return data;
    },
    // element creates an element with a class and a text.
    element(name, className, text) {
      const e = document.createElement(name);
      if (className) e.className = className;
      if (text !== undefined) e.textContent = text;
      return e;
    },
    // duration formats milliseconds as batchctl does: 950ms, 12s, 3m, 2h5m, 3d4h.
    duration(ms) {
      if (ms < 1000) return Math.round(ms) + 'ms';
      const s = Math.floor(ms / 1000);
      if (s < 60) return s + 's';
      if (s < 3600) return Math.floor(s / 60) + 'm' + (s % 60 ? (s % 60) + 's' : '');
      if (s < 86400) return Math.floor(s / 3600) + 'h' + (Math.floor(s / 60) % 60 ? Math.floor(s / 60) % 60 + 'm' : '');
      return Math.floor(s / 86400) + 'd' + (Math.floor(s / 3600) % 24 ? Math.floor(s / 3600) % 24 + 'h' : '');
    },
    marks: {SUBMITTED: '·', PENDING: '◦', RUNNABLE: '○', STARTING: '◐', RUNNING: '●', SUCCEEDED: '✓', FAILED: '✕'},
    // job returns the address of a job's page.
    job(id) { return theme ? '/jobs/' + encodeURIComponent(id).replaceAll('%3A', ':') : id.replace(/[:#]/g, '_') + '.html'; },
    isCopy: !theme,
  };
})();

// Journeys through the pages of batchctl ui, for TestBrowser. Each prints a line of JSON. Its argument names the servers.
'use strict';
const {chromium} = require('playwright-core');
const {execFileSync} = require('child_process');
const assert = require('assert/strict');
const fs = require('fs');
const path = require('path');

const config = JSON.parse(process.argv[2]);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const desktop = {width: 1440, height: 900};
const phone = {width: 390, height: 844};
const print = (line) => console.log(JSON.stringify(line));
let browser;
let note; // measured values of the current journey

// cli runs batchctl beside the pages, and returns what it prints.
function cli(...args) {
  return execFileSync('batchctl', args, {cwd: config.work, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28});
}

// newest returns the id of the newest job with a name.
function newest(name) { return JSON.parse(cli('list', '--name', name, '--output', 'json'))[0].jobId; }

// workflow returns the address of a submission.
function workflow() { return '/workflows/' + JSON.parse(cli('status', 'calibration', '--output', 'json'))[0].tags['batchctl:run']; }

// running waits until a job runs.
async function running(id) {
  await until(() => JSON.parse(cli('status', id, '--output', 'json'))[0].status === 'RUNNING', 'job ' + id + ' runs');
}

async function until(condition, what, ms = 10000) {
  for (const end = Date.now() + ms; ; await new Promise((f) => setTimeout(f, 50))) {
    if (await condition()) return;
    if (Date.now() > end) assert.fail('this did not happen in time: ' + what);
  }
}

// visitor is a browser without cookies. It collects everything that no page may do.
async function visitor(server, options = {}) {
  const context = await browser.newContext({viewport: desktop, ...options});
  const origin = server ? new URL(server.address).origin : 'file://';
  const problems = [];
  await context.exposeFunction('pwned', (n) => problems.push('a text of a job ran as script ' + n));
  await context.exposeFunction('violated', (text) => problems.push('Content-Security-Policy: ' + text));
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (e) => window.violated(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile + ':' + e.lineNumber));
    window.sources = [];
    const Native = window.EventSource;
    window.EventSource = class extends Native { constructor(...args) { super(...args); window.sources.push(this); } };
  });
  context.on('request', (r) => { if (!/^(data|blob|about):/.test(r.url()) && !r.url().startsWith(origin)) problems.push('request to ' + r.url()); });
  context.on('response', async (r) => { if (r.status() >= 500) problems.push(`status of ${r.status()}: ${r.url()} ${(await r.text().catch(String)).replace(/^[^]*<main[^>]*>/, '').slice(0, 300)}`); });
  context.on('weberror', (e) => problems.push('error in the page: ' + e.error().stack));
  context.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') problems.push('console: ' + m.text() + ' ' + m.location().url); });
  context.on('dialog', (d) => { problems.push('dialog: ' + d.message()); d.dismiss(); });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  if (server) {
    await page.goto(server.address);
    await page.waitForURL('**/queues');
  }
  return {
    page, context, problems,
    go: async (to) => {
      await page.goto(origin + to);
      await loaded(page);
    },
    async leave() {
      await context.close();
      assert.deepEqual(problems, []);
    },
  };
}

// loaded waits until the parts of a page that follow later are here.
async function loaded(page) {
  await page.waitForFunction(() => ![...document.querySelectorAll('[data-load]')].some((p) => p.dataset.load && /^(looking for the cause|adding up|comparing the files.*|reading the record.*|simulating.*)$/.test(p.textContent)));
}

// frame waits until the page has been drawn once more, after handlers of a new size.
async function frame(page) { await page.evaluate(() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))); }

// accessible checks a page with axe.
async function accessible(page, name) {
  await frame(page);
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run({resultTypes: ['violations']})).violations.map((v) => v.id + ': ' +
    v.nodes.map((n) => n.html.slice(0, 160) + ' ' + (n.any[0] || n.all[0] || n.none[0]).message).slice(0, 4).join('\n   ')));
  assert.deepEqual(found, [], 'axe: ' + name);
}

// inspect checks a page with axe, in both themes and on a phone, and takes screenshots. Nothing on the page changes
// afterwards, so it comes last. hide are selectors of what differs from run to run.
async function inspect(page, name, {hide = [], dark = false} = {}) {
  await loaded(page);
  await page.setViewportSize(phone);
  await accessible(page, name + ', 390 px');
  await page.setViewportSize(desktop);
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({colorScheme});
    await accessible(page, name + ', ' + colorScheme);
  }
  await page.evaluate(() => {
    for (const s of window.sources) s.close();
    window.fetch = () => new Promise(() => {});
  });
  const views = [desktop, {width: 800, height: 900}, phone].map((size) => ({size, name: `${name}-${size.width}`, colorScheme: 'light'}));
  if (dark) views.push({size: desktop, name: name + '-dark', colorScheme: 'dark'});
  const show = async (view) => {
    await page.setViewportSize(view.size);
    await page.emulateMedia({colorScheme: view.colorScheme});
    await page.evaluate(() => {
      scrollTo(0, 0);
      for (const c of document.querySelectorAll('.chunk')) c.style.contentVisibility = 'visible';
    });
    await fits(page, view.name);
  };
  if (config.seen) {
    for (const view of views) {
      await show(view);
      await page.screenshot({path: path.join(config.seen, view.name + '.png'), fullPage: true});
    }
  }
  for (const view of views) {
    await show(view);
    await record(page, view.name, hide);
  }
}

// fits checks that a page does not scroll sideways.
async function fits(page, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name}: the page scrolls sideways by ${wide} px`);
}

// record takes a screenshot to compare: without ids, times and addresses.
async function record(page, name, hide = []) {
  await page.evaluate((hide) => {
    for (const e of document.querySelectorAll(['#live', ...hide].join(', '))) e.style.setProperty(e.tagName === 'svg' ? 'display' : 'visibility', e.tagName === 'svg' ? 'none' : 'hidden');
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const text = node.data.replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '00000000-0000-4000-8000-000000000000').replace(/\b(?=[a-f]*[0-9])[0-9a-f]{8}\b/g, '00000000')
        .replace(/\d{4}-\d\d-\d\d/g, '2026-01-01').replace(/\d\d:\d\d(:\d\d)?(\.\d+)?/g, (t) => t.replace(/\d/g, '0'))
        .replace(/\b\d+(\.\d+)?(ms|s|m|h|d)(\d+(s|m|h))?\b/g, '1s').replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:10000').replace(/\/tmp\/\S+/g, '/tmp');
      if (text !== node.data) node.data = text;
    }
  }, hide);
  await frame(page);
  await page.screenshot({path: path.join(config.screens, name + '.png'), fullPage: true, animations: 'disabled'});
  print({screen: name});
}

const charts = '#job-times svg, #depth-head ~ .chart svg, #use-head ~ .chart svg, .spark svg, #gantt-head ~ .chart svg';
let submitted; // the job of the journey that submits one

const journeys = {
  async 'open with the key'() {
    const v = await visitor(config.local);
    assert.equal(new URL(v.page.url()).search, '');
    assert.equal((await v.page.content()).includes(new URL(config.local.address).searchParams.get('key')), false);
    const [cookie] = await v.context.cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, 'Strict');
    assert.equal(await v.page.evaluate(() => document.cookie), '');
    await v.leave();
    const stranger = await browser.newContext();
    assert.equal((await stranger.request.get(new URL(config.local.address).origin + '/queues')).status(), 403);
    await stranger.close();
  },

  async 'queues change live'() {
    const v = await visitor(config.local);
    const card = v.page.locator('article', {hasText: 'cpu-job-queue'});
    const count = card.locator('.s-running dd');
    const before = Number(await count.textContent());
    assert.ok(before >= 2, before + ' jobs run');
    cli('submit', 'hold.json');
    await until(async () => Number(await count.textContent()) === before + 1, 'the queue shows the new job');
    cli('stop', newest('hold'));
    await until(async () => Number(await count.textContent()) === before, 'the queue shows that the job has stopped');
    await until(async () => await v.page.textContent('#live') === 'live', 'the page tells that it is live');
    await inspect(v.page, 'queues', {hide: ['.spark svg']});
    await v.leave();
  },

  async 'queue with charts'() {
    const v = await visitor(config.local);
    await v.page.click('text=cpu-job-queue');
    assert.match(await v.page.textContent('h1'), /cpu-job-queue/);
    assert.ok(await v.page.locator('#depth-head ~ .chart .wide svg').isVisible());
    await inspect(v.page, 'queue', {hide: [charts]});
    await v.leave();
    const cloud = await visitor(config.aws);
    await cloud.go('/queues/cpu');
    await cloud.page.waitForSelector('text=Usage by share');
    await until(async () => await cloud.page.textContent('#live') === 'live', 'the page is live');
    await inspect(cloud.page, 'queue-shares', {hide: [charts]});
    await cloud.leave();
  },

  async 'search, filter and sort jobs'() {
    const v = await visitor(config.local);
    const {page} = v;
    await page.click('nav >> text=Jobs');
    const names = () => page.locator('#jobs-rows .row a').allTextContents();
    await page.waitForSelector('#jobs-rows >> text=sweep');
    await page.fill('[name=q]', 'sweep');
    await until(async () => (await names()).join() === 'sweep', 'only sweep is listed');
    assert.match(page.url(), /\?q=sweep$/);
    await page.fill('[name=q]', '');
    await page.selectOption('[name=status]', 'SUCCEEDED');
    await until(async () => { const n = await names(); return n.includes('prepare') && !n.includes('sweep'); }, 'only SUCCEEDED jobs are listed');
    await page.selectOption('[name=status]', '');
    await page.selectOption('[name=sort]', 'name');
    await until(async () => { const n = await names(); return n.length > 5 && n.join() === [...n].sort().join(); }, 'the jobs are sorted by name');
    const sorted = await names();
    await page.check('[name=reverse]');
    await until(async () => (await names()).join() === [...sorted].reverse().join(), 'the order is reversed');
    assert.match(page.url(), /sort=name&reverse=1/);
    await page.reload();
    await until(async () => (await names()).join() === [...sorted].reverse().join(), 'a reload keeps the order');
    assert.equal(await page.inputValue('[name=sort]'), 'name');
    await page.click('#jobs-rows >> text=report');
    await page.waitForURL('**/jobs/' + newest('report'));
    await page.goBack();
    await page.waitForSelector('#jobs-rows >> text=sweep');
    await inspect(page, 'jobs', {dark: true});
    await v.leave();
  },

  async 'group jobs by workflow'() {
    const v = await visitor(config.local);
    const {page} = v;
    await v.go('/jobs');
    await page.selectOption('[name=group]', 'workflow');
    const group = page.locator('.row.group', {hasText: 'calibration'});
    await group.locator('strong').click();
    await page.waitForSelector('#jobs-rows >> text=sweep');
    await group.locator('strong').click();
    await page.waitForSelector('#jobs-rows >> text=sweep', {state: 'detached'});
    await page.focus('#jobs-view');
    await page.keyboard.press('Home');
    for (let i = 0; !(await page.textContent('.row.active')).includes('calibration'); i++) {
      assert.ok(i < 20, 'the arrow keys reach the group');
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector('#jobs-rows >> text=sweep');
    assert.equal(await page.getAttribute('.row.active', 'aria-expanded'), 'true');
    await page.keyboard.press('ArrowLeft');
    await page.waitForSelector('#jobs-rows >> text=sweep', {state: 'detached'});
    await page.keyboard.press('Enter');
    await page.waitForSelector('#jobs-rows >> text=sweep');
    await page.keyboard.press('ArrowDown');
    const first = await page.locator('.row.active a').getAttribute('href');
    await page.keyboard.press('Enter');
    await page.waitForURL('**' + first);
    await page.goBack();
    await page.locator('.row.group', {hasText: 'calibration'}).locator('a').click();
    await page.waitForURL('**/workflows/*');
    assert.equal(await page.textContent('h1'), 'calibration');
    await v.go('/jobs?group=workflow');
    await page.locator('.row.group', {hasText: 'calibration'}).locator('strong').click();
    await page.waitForSelector('#jobs-rows >> text=sweep');
    await inspect(page, 'jobs-grouped');
    await v.leave();
  },

  async '100,000 jobs'() {
    const v = await visitor(config.aws);
    const {page} = v;
    await v.go('/jobs');
    await page.waitForFunction(() => document.getElementById('jobs-count').textContent.startsWith('100,0'), null, {timeout: 60000});
    const frames = await page.evaluate(() => new Promise((f) => {
      const view = document.getElementById('jobs-view');
      const times = [];
      const end = performance.now() + 5000;
      requestAnimationFrame(function next(t) {
        times.push(t);
        view.scrollTop += 61; // not a multiple of a row
        if (t < end) requestAnimationFrame(next); else f(times);
      });
    }));
    const gaps = frames.slice(1).map((t, i) => t - frames[i]).sort((a, b) => a - b);
    const fps = 1000 / gaps[gaps.length >> 1];
    const jumped = await page.evaluate(() => new Promise((f) => {
      const view = document.getElementById('jobs-view');
      const begun = performance.now();
      view.scrollTop = view.scrollHeight;
      requestAnimationFrame(function next() {
        const last = document.querySelector('#jobs-rows .row:last-child');
        if (Number(last.getAttribute('aria-rowindex')) > 100000 && last.querySelector('a')) f(performance.now() - begun);
        else requestAnimationFrame(next);
      });
    }));
    note = `: ${fps.toFixed(0)} frames a second, the slowest of 20 takes ${gaps[Math.floor(gaps.length * 0.95)].toFixed(0)} ms; ${jumped.toFixed(0)} ms after a jump to the end`;
    assert.ok(fps >= 30, note);
    assert.ok(jumped < 1000, note);
    assert.ok(await page.locator('#jobs-rows .row').count() < 100, 'only the visible rows exist');
    const begun = Date.now();
    await page.fill('[name=q]', 'train-077 status:failed');
    await page.waitForFunction(() => document.getElementById('jobs-count').textContent === '2 jobs, 2 FAILED');
    note += `; a search takes ${Date.now() - begun} ms`;
    await page.fill('[name=q]', '');
    await page.waitForFunction(() => document.getElementById('jobs-count').textContent.startsWith('100,0'));
    await inspect(page, 'jobs-many');
    await v.leave();
  },

  async 'page of a job'() {
    const v = await visitor(config.local);
    const {page} = v;
    await v.go('/jobs/' + newest('sweep') + ':5');
    await page.waitForSelector('#verdict >> text=Why it failed');
    const text = await page.innerText('main');
    for (const part of ['sweep:5', 'FAILED', 'cpu-job-queue', 'No space left on device', 'exit code', 'Attempts', 'Timeline', 'Environment', 'MATRIX_LR', 'team']) assert.ok(text.includes(part), part + ' is on the page');
    assert.ok(await page.locator('#job-times .wide svg').isVisible());
    assert.match(await page.textContent('#price'), /no price|\$|nothing|attempts/i);
    await page.click('summary >> text=Description');
    await page.waitForSelector('ol.source >> text=jobDefinition');
    await page.click('summary >> text=Description');
    await inspect(page, 'job', {hide: ['#job-times .wide svg', '#job-times .narrow svg'], dark: true});
    await v.leave();
  },

  async 'follow a log'() {
    const v = await visitor(config.local);
    const {page} = v;
    await v.go('/jobs/' + newest('train'));
    const lines = page.locator('.log-lines .line');
    await page.waitForSelector('.log-lines .line');
    const before = await lines.count();
    await until(async () => await lines.count() > before + 3, 'lines arrive');
    await until(async () => page.evaluate(() => { const l = document.querySelector('.log-lines'); return l.scrollHeight > l.clientHeight && l.scrollHeight - l.scrollTop - l.clientHeight < 4; }), 'the log shows its end', 30000);
    await page.fill('.log-search', 'STEP 1');
    await page.waitForFunction(() => /^1 of /.test(document.querySelector('.log-matches').textContent));
    await page.press('.log-search', 'Enter');
    await page.waitForFunction(() => /^2 of /.test(document.querySelector('.log-matches').textContent));
    await page.press('.log-search', 'Shift+Enter');
    await page.press('.log-search', 'Shift+Enter');
    await page.waitForFunction(() => { const [, n, all] = document.querySelector('.log-matches').textContent.match(/(\d+) of (\d+)/); return n === all; });
    assert.equal(await page.isChecked('.log-follow'), false, 'a search ends following');
    assert.equal(await page.evaluate(() => CSS.highlights.get('chosen').size), 1);
    const chosen = await page.textContent('.log-matches');
    const n = await lines.count();
    await until(async () => await lines.count() > n + 5, 'more lines arrive');
    assert.equal((await page.textContent('.log-matches')).split(' ')[0], chosen.split(' ')[0], 'new lines keep the chosen match');
    await page.fill('.log-search', '');
    await page.waitForFunction(() => !CSS.highlights.get('chosen')?.size && !CSS.highlights.get('found')?.size);
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('.log-lines')).whiteSpace), 'pre-wrap');
    await page.uncheck('.log-wrap');
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('.log-lines')).whiteSpace), 'pre');
    assert.equal(await page.locator('.log-lines .at').first().isVisible(), false);
    await page.check('.log-times');
    assert.match(await page.locator('.log-lines .at').first().textContent(), /^\d\d:\d\d:\d\d\.\d\d\d$/);
    assert.equal(await page.locator('.log-lines .at').first().isVisible(), true);
    assert.equal((await page.content()).includes('ghp_abc'), false, 'the token is masked');
    await inspect(page, 'log', {hide: ['#job-times svg', '.log-lines', '.log-state']});
    await v.leave();
  },

  async 'hostile texts'() {
    const v = await visitor(config.local);
    const {page} = v;
    const bidi = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/;
    await v.go('/jobs/' + newest('hostile'));
    await page.waitForSelector('.log-lines >> text=last line', {timeout: 30000});
    const log = await page.textContent('.log-lines');
    for (const part of ['<img src=x onerror=pwned(13)>', '</script><script>pwned(14)</script>', 'user<U+202E>txt.exe', 'a␀b', 'more bytes']) assert.ok(log.includes(part), part + ' is in the log');
    assert.equal(await page.locator('.log-lines .f1').first().textContent(), 'red');
    assert.equal(await page.locator('.log-lines .b.g4').first().textContent(), 'bold on blue');
    const text = await page.innerText('main');
    assert.ok(text.includes('"><script>pwned(12)</script>'), 'the value is a text');
    assert.equal(bidi.test(text), false, 'no character turns text around');
    const begun = Date.now();
    await page.uncheck('.log-wrap');
    await page.check('.log-wrap');
    await page.fill('.log-search', 'last line');
    await page.waitForFunction(() => document.querySelector('.log-matches').textContent === '1 of 1');
    note = `: ${Date.now() - begun} ms to search beside a line of 10 MB`;
    assert.ok(Date.now() - begun < 2000, note);
    await page.fill('.log-search', '');
    await inspect(page, 'hostile-log', {hide: ['#job-times svg']});
    await v.go('/jobs/' + newest('hostile-results') + '/results');
    assert.ok((await page.innerText('table')).includes('<img src=x onerror=pwned(15)>'));
    await accessible(page, 'hostile results');
    await v.go('/jobs/' + newest('hostile-results'));
    await page.click('text=Read results');
    await page.waitForSelector('option:has-text("<img src=x")', {state: 'attached'});
    await v.leave();

    const cloud = await visitor(config.aws);
    for (const to of ['/queues', '/queues/' + encodeURIComponent('"><img src=x onerror=pwned(1)>'), '/jobs?q=queue:img', ...['workflow', 'tag:' + '<img src=x onerror=pwned(3)></script><script>pwned(4)</script>', 'queue'].map((g) => '/jobs?group=' + encodeURIComponent(g)),
      ...config.hostile.map((id) => '/jobs/' + encodeURIComponent(id))]) {
      await cloud.page.goto(new URL(config.aws.address).origin + to);
      await cloud.page.waitForFunction(() => !document.querySelector('#jobs-view') || document.querySelector('#jobs-rows a, .group'));
      assert.equal(bidi.test(await cloud.page.innerText('body')), false, to + ': no character turns text around');
      assert.equal(await cloud.page.locator('img[src=x], script:not([src])').count(), 0, to);
      await cloud.page.hover('h1');
    }
    // Commands may reject the last two ids, and the page then shows why.
    const rejected = cloud.problems.filter((p) => /status of (404|502)/.test(p) && config.hostile.slice(2).some((id) => p.includes('/jobs/' + encodeURIComponent(id))));
    for (const p of rejected) cloud.problems.splice(cloud.problems.indexOf(p), 1);
    await cloud.go('/jobs/' + config.hostile[0]);
    await cloud.page.waitForSelector('.log-lines .line');
    assert.ok((await cloud.page.textContent('.log-lines')).includes('<img src=x onerror=pwned(8)>'));
    await inspect(cloud.page, 'hostile-job', {hide: ['#job-times svg']});
    await cloud.go('/jobs?q=queue:img');
    await cloud.page.locator('#jobs-rows a', {hasText: 'javascript:pwned(5)'}).click();
    await cloud.page.waitForFunction(() => /javascript:pwned\(5\)/.test(document.querySelector('h1').textContent));
    await cloud.leave();
  },

  async 'grid of a matrix'() {
    const v = await visitor(config.local);
    const {page} = v;
    const id = newest('sweep');
    await v.go('/jobs/' + id);
    await page.waitForFunction(() => document.querySelector('.grid-legend').textContent.includes('1 failed'));
    const place = await page.evaluate(() => { const c = document.querySelector('.grid-canvas').getBoundingClientRect(); return {x: c.width, y: c.height}; });
    const told = () => page.textContent('.grid-child');
    // Child 5 has lr=0.01 (the second row) and seed=2 (the second column) of 3 rows and 4 columns.
    const cell = (place.y - 46) / 3;
    const at = {x: place.x - 2 - cell * 2.5, y: 44 + cell * 1.5};
    await page.hover('.grid-canvas', {position: at});
    await until(async () => /child 5: FAILED, lr=0.01 seed=2, exit code 3/.test(await told()), 'the grid tells the child under the mouse');
    await page.focus('.grid-canvas');
    await page.keyboard.press('Home');
    await until(async () => /child 0: SUCCEEDED, lr=0.1 seed=1/.test(await told()), 'Home goes to the first child');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await until(async () => /child 5: FAILED/.test(await told()), 'arrow keys follow rows and columns');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/jobs/' + id + ':5');
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('.grid-legend').textContent.includes('1 failed'));
    await page.click('.grid-canvas', {position: at});
    await page.waitForURL('**/jobs/' + id + ':5');
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('.grid-legend').textContent.includes('1 failed'));
    await page.waitForSelector('#verdict >> text=Why it failed');
    await inspect(page, 'array', {dark: true});
    await v.leave();
  },

  async '10,000 children'() {
    const v = await visitor(config.aws);
    const {page} = v;
    await page.addInitScript(() => addEventListener('DOMContentLoaded', () => {
      const legend = document.querySelector('.grid-legend');
      if (legend) new MutationObserver(() => { window.drawn ||= performance.now(); }).observe(legend, {childList: true});
    }));
    await v.go('/jobs/' + config.array);
    await page.waitForFunction(() => document.querySelector('.grid-legend').textContent.includes('failed'), null, {timeout: 30000});
    const {page: first, arrived, drawn} = await page.evaluate(() => ({drawn: window.drawn, page: performance.getEntriesByType('navigation')[0].responseEnd,
      arrived: performance.getEntriesByType('resource').find((e) => e.name.endsWith('/children')).responseEnd}));
    note = `: the page takes ${first.toFixed(0)} ms, the children arrive after ${arrived.toFixed(0)} ms, and are drawn after ${drawn.toFixed(0)} ms`;
    assert.ok(drawn - arrived < 1000 && drawn < 2000, note);
    assert.match(await page.textContent('.grid-legend'), /8000 succeeded/);
    await page.focus('.grid-canvas');
    await page.keyboard.press('End');
    await until(async () => /child 9999/.test(await page.textContent('.grid-child')), 'End goes to the last child');
    await page.selectOption('.grid-mode', 'seconds');
    await page.waitForSelector('.grid-legend .ramp');
    await page.selectOption('.grid-mode', 'status');
    await inspect(page, 'array-many');
    await v.leave();
  },

  async 'colour children by a result'() {
    const v = await visitor(config.local);
    const {page} = v;
    await v.go('/jobs/' + newest('sweep'));
    await page.waitForFunction(() => document.querySelector('.grid-legend').textContent.includes('1 failed'));
    await page.click('text=Read results');
    await page.waitForSelector('.grid-legend .ramp');
    assert.deepEqual(await page.locator('.grid-mode option').allTextContents(), ['status', 'duration', 'result accuracy', 'result loss']);
    await page.selectOption('.grid-mode', 'accuracy');
    assert.match(await page.textContent('.grid-legend'), /0.79\s+0.9/);
    await page.focus('.grid-canvas');
    await page.keyboard.press('Home');
    await until(async () => /accuracy=0.9, loss=0/.test(await page.textContent('.grid-child')), 'the grid tells the results of a child');
    await page.evaluate(() => document.activeElement.blur());
    await inspect(page, 'array-results');
    await v.leave();
  },

  async 'graph of a workflow'() {
    const v = await visitor(config.local);
    const {page} = v;
    await v.go('/jobs?group=workflow');
    await page.locator('.row.group', {hasText: 'pipeline'}).locator('a').click();
    await page.waitForSelector('.graph svg');
    const statusOf = (name) => page.locator('#workflow tr', {hasText: name}).locator('.status').textContent();
    await until(async () => /RUNNING/.test(await statusOf('fetch')) && /PENDING/.test(await statusOf('publish')), 'fetch runs and publish waits');
    fs.writeFileSync(path.join(config.work, 'gate'), '');
    await until(async () => /SUCCEEDED/.test(await statusOf('publish')), 'the jobs succeed', 20000);
    await until(async () => await page.locator('.graph .graph-s-SUCCEEDED').count() >= 4, 'the graph shows it');
    await page.locator('.graph a', {hasText: 'publish'}).first().click();
    await page.waitForURL('**/jobs/' + newest('publish'));
    await v.go('/jobs?group=workflow');
    await page.locator('.row.group', {hasText: 'calibration'}).locator('a').click();
    await page.waitForSelector('.graph svg');
    assert.ok((await page.innerText('main')).includes('critical path'));
    await inspect(page, 'workflow', {hide: ['#gantt-head ~ .chart svg'], dark: true});
    await v.leave();
  },

  async 'check a job file'() {
    const v = await visitor(config.local);
    const {page} = v;
    await page.click('nav >> text=Check');
    await page.waitForFunction(() => /^\d+ error|no problems/.test(document.getElementById('check-state').textContent));
    await page.fill('#editor', '{\n  "name": "a b",\n  "imgae": "public.ecr.aws/docker/library/busybox:1.36",\n  "command": ["true"],\n  "resources": { "vcpus": 0.5, "memory": "1 GB" },\n  "timeout": "10m",\n  "tags": { "team": "nlp" }\n}\n');
    const problem = page.locator('#problems li', {hasText: 'imgae'});
    await problem.first().waitFor();
    await problem.first().locator('.where').click();
    assert.equal(await page.evaluate(() => { const e = document.getElementById('editor'); return e.value.slice(e.selectionStart, e.selectionEnd); }), '"imgae"');
    assert.ok(await page.locator('.editor-marks mark').count() >= 2, 'problems are marked in the text');
    assert.equal(await page.isVisible('#check-plan'), false);
    await inspect(page, 'check-problems', {dark: true});
    await page.reload();
    await page.fill('#editor', '{\n  "name": "fixed",\n  "imgae": "public.ecr.aws/docker/library/busybox:1.36",\n  "commnad": ["true"],\n  "resources": { "vcpus": 1, "memory": 64 },\n  "timeout": "10m",\n  "tags": { "team": "nlp" }\n}\n');
    await page.locator('#problems li', {hasText: 'imgae'}).locator('button', {hasText: 'Fix'}).first().click();
    await page.waitForFunction(() => document.getElementById('editor').value.includes('"image"'));
    await page.waitForFunction(() => /^1 error/.test(document.getElementById('check-state').textContent));
    await page.click('#check-fix-all');
    await page.waitForFunction(() => document.getElementById('check-state').textContent === 'no problems');
    await page.waitForFunction(() => document.getElementById('plan-text').textContent.includes('fixed') && document.getElementById('cost-text').textContent !== '');
    await page.focus('#editor');
    await page.keyboard.press('Control+z');
    await page.waitForFunction(() => /^1 error/.test(document.getElementById('check-state').textContent));
    const drop = await page.evaluateHandle((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], 'dropped.json', {type: 'application/json'}));
      return data;
    }, fs.readFileSync(path.join(config.work, 'calibration.json'), 'utf8'));
    await page.dispatchEvent('#editor', 'drop', {dataTransfer: drop});
    await page.waitForFunction(() => document.getElementById('editor').value.includes('calibration') && document.getElementById('plan-text').textContent.includes('sweep'));
    await inspect(page, 'check-plan');
    await v.leave();
  },

  async 'submit a job file'() {
    const v = await visitor(config.local);
    const {page} = v;
    await v.go('/check');
    const count = () => JSON.parse(cli('list', '--limit', '0', '--output', 'json')).length;
    const before = count();
    await page.fill('#editor', fs.readFileSync(path.join(config.work, 'hold.json'), 'utf8').replace('"hold"', '"submitted"'));
    await page.waitForFunction(() => !document.getElementById('check-submit').disabled);
    await page.click('#check-submit');
    await page.waitForFunction(() => document.getElementById('confirm-command').textContent.includes('batchctl submit'));
    assert.equal(await page.evaluate(() => document.activeElement.id), 'confirm-cancel', 'the safe button has the focus');
    await accessible(page, 'dialog');
    await page.click('#confirm-cancel');
    assert.equal(await page.isVisible('#confirm'), false);
    assert.equal(count(), before, 'cancel changes nothing');
    await page.click('#check-submit');
    await page.waitForFunction(() => !document.getElementById('confirm-yes').disabled);
    await page.keyboard.press('Escape');
    assert.equal(count(), before, 'Escape changes nothing');
    await page.click('#check-submit');
    await page.waitForFunction(() => !document.getElementById('confirm-yes').disabled);
    await page.click('#confirm-yes');
    await page.waitForSelector('#confirm-result a');
    await record(page, 'dialog-1440');
    assert.equal(count(), before + 1);
    await page.click('#confirm-result a');
    await page.waitForURL('**/jobs/' + newest('submitted'));
    await v.leave();
    submitted = newest('submitted');
  },

  async 'stop and retry a job'() {
    const v = await visitor(config.local);
    const {page} = v;
    await running(submitted);
    await v.go('/jobs/' + submitted);
    await page.click('button:has-text("Stop")');
    await page.waitForFunction(() => document.getElementById('confirm-command').textContent.includes('batchctl stop'));
    await page.click('#confirm-yes');
    await page.waitForSelector('#confirm-result >> text=done');
    await page.click('#confirm-cancel');
    await page.waitForSelector('h1 .s-failed');
    assert.equal(JSON.parse(cli('status', submitted, '--output', 'json'))[0].status, 'FAILED');
    await page.click('button:has-text("Retry")');
    await page.waitForFunction(() => document.getElementById('confirm-command').textContent.includes('batchctl retry'));
    await page.click('#confirm-yes');
    await page.waitForSelector('#confirm-result a');
    const again = await page.textContent('#confirm-result a');
    assert.notEqual(again, submitted);
    await page.click('#confirm-result a');
    await page.waitForURL('**/jobs/' + again);
    cli('stop', again);
    await v.leave();

    const reader = await visitor(config.readOnly);
    await reader.go('/jobs/' + newest('train'));
    assert.equal(await reader.page.locator('[data-action]').count(), 0);
    const answer = await reader.context.request.post(new URL(config.readOnly.address).origin + '/actions/stop', {data: {Job: newest('train')}, headers: {Origin: new URL(config.readOnly.address).origin}});
    assert.equal(answer.status(), 400);
    assert.match((await answer.json()).Message, /--allow-changes/);
    assert.equal(JSON.parse(cli('status', newest('train'), '--output', 'json'))[0].status, 'RUNNING');
    await reader.leave();
  },

  async reports() {
    const v = await visitor(config.local);
    const {page} = v;
    await page.click('nav >> text=Reports');
    await page.waitForSelector('text=sweep');
    await until(async () => { await page.reload(); return await page.locator('text=tag team').count() > 0; }, 'the tags are read');
    await inspect(page, 'reports');
    await v.go('/reports');
    await page.click('text=tag team');
    assert.ok((await page.innerText('table')).includes('vision'));
    await inspect(page, 'report-cost', {hide: ['.chart svg', '.n']});
    await v.go('/reports');
    await page.click('text=sweep');
    assert.ok(await page.locator('.heatmap img').evaluate((i) => i.complete && i.naturalWidth > 100));
    await page.click('.pill:has-text("accuracy")');
    await page.waitForURL('**value=accuracy');
    await inspect(page, 'report-results', {dark: true});
    await v.leave();
  },

  async platform() {
    const v = await visitor(config.local);
    const {page} = v;
    await page.click('nav >> text=Platform');
    await page.waitForSelector('text=differences between the files and the target');
    const text = await page.innerText('main');
    for (const part of ['night', 'requiredTags']) assert.ok(text.includes(part), part);
    await inspect(page, 'platform');
    await v.leave();
  },

  async 'themes and zoom'() {
    const v = await visitor(config.local);
    const {page} = v;
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.click('#theme');
    const dark = await background();
    assert.notEqual(dark, light);
    await page.reload();
    assert.equal(await background(), dark, 'a reload keeps the theme');
    await page.click('nav >> text=Jobs');
    await page.waitForLoadState();
    assert.equal(await background(), dark);
    await page.click('#theme');
    assert.equal(await background(), light);
    await v.leave();
    const sweep = newest('sweep');
    for (const options of [{viewport: {width: 720, height: 450}, deviceScaleFactor: 2}, {viewport: {width: 390, height: 844}, isMobile: true, hasTouch: true}, {viewport: {width: 320, height: 640}}]) {
      const zoomed = await visitor(config.local, options);
      for (const to of ['/queues', '/queues/cpu-job-queue', '/jobs', '/jobs?group=workflow', '/jobs/' + sweep, '/jobs/' + sweep + ':5', '/jobs/' + sweep + '/results', '/jobs/' + newest('hostile'), workflow(), '/check', '/reports',
        '/reports/cost', '/reports/sizes', `/reports/compare?good=${sweep}:4&bad=${sweep}:5`, '/queues/cpu-job-queue?forecast=1', '/reports/whatif', '/reports/sizing', '/reports/accuracy', '/platform', '/nowhere']) {
        if (to === '/nowhere') { await zoomed.page.goto(new URL(config.local.address).origin + to); zoomed.problems.length = 0; } else await zoomed.go(to);
        await fits(zoomed.page, to + ' at ' + options.viewport.width);
      }
      await zoomed.leave();
    }
  },

  async 'keyboard only'() {
    const v = await visitor(config.local);
    const {page} = v;
    for (const to of ['/queues', '/jobs', '/jobs/' + newest('sweep') + ':5', '/jobs/' + newest('sweep'), workflow(), '/check', '/reports', '/reports/sizes', '/reports/compare', '/reports/whatif', '/reports/sizing', '/reports/accuracy', '/platform']) {
      await v.go(to);
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement.className), 'skip', to + ': the first is the skip link');
      assert.ok(await page.evaluate(() => document.activeElement.getBoundingClientRect().left >= 0), 'the skip link is visible');
      const reached = await page.evaluate(() => {
        window.wanted = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((e) => !e.disabled && e.tabIndex >= 0 && e.checkVisibility());
        return window.wanted.length;
      });
      const seen = new Set();
      for (let i = 0; i < reached + 20; i++) {
        const on = await page.evaluate(() => {
          const e = document.activeElement;
          if (e === document.body) return null;
          const style = getComputedStyle(e);
          return {at: window.wanted.indexOf(e), html: e.outerHTML.slice(0, 120), ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0};
        });
        if (!on) break;
        assert.ok(on.ring, `${to}: the focus is visible on ${on.html}`);
        seen.add(on.at);
        await page.keyboard.press('Tab');
      }
      const missed = await page.evaluate((seen) => window.wanted.filter((e, i) => !seen.includes(i) && e.isConnected).map((e) => e.outerHTML.slice(0, 120)), [...seen]);
      assert.deepEqual(missed, [], to + ': Tab reaches everything');
    }
    await v.go('/queues');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
    await v.leave();
  },

  async 'copy on the disk'() {
    const v = await visitor(null);
    const {page} = v;
    await page.goto('file://' + config.copy);
    assert.equal(await page.textContent('h1'), 'calibration');
    assert.ok(await page.locator('.graph svg').isVisible());
    await inspect(page, 'copy', {hide: ['#gantt-head ~ .chart svg']});
    await page.reload();
    await page.locator('.graph a', {hasText: 'sweep'}).first().click();
    await page.waitForFunction(() => document.querySelector('.grid-legend').textContent.includes('1 failed'));
    await page.focus('.grid-canvas');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('file://**_5.html');
    await page.waitForSelector('.log-lines >> text=No space left on device');
    await page.fill('.log-search', 'space');
    await page.waitForFunction(() => document.querySelector('.log-matches').textContent === '1 of 1');
    await page.waitForSelector('text=Why it failed');
    await page.click('.crumbs >> text=Overview');
    await page.waitForURL('file://**/index.html');
    await v.leave();
  },

  async '10,000 events'() {
    const memory = () => fs.existsSync('/proc') && Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${config.local.pid}/status`, 'utf8'))[1]) / 1024;
    const v = await visitor(config.local);
    const {page} = v;
    const session = await v.context.newCDPSession(page);
    await session.send('Performance.enable');
    const measure = async () => {
      await page.evaluate(() => gc());
      await session.send('HeapProfiler.collectGarbage');
      const {metrics} = await session.send('Performance.getMetrics');
      const of = (name) => metrics.find((m) => m.name === name).value;
      return {heap: of('JSHeapUsedSize') / (1 << 20), nodes: of('Nodes')};
    };
    await page.waitForFunction(() => document.getElementById('live').textContent === 'live');
    const before = memory();
    cli('submit', 'burst.json');
    await v.go('/jobs/' + newest('burst'));
    // Lines go in chunks of 200.
    await page.waitForFunction(() => /^(19,[89]\d\d|20,000) of 60,000 lines/.test(document.querySelector('.log-state').textContent), null, {timeout: 60000});
    const server = memory() - before;
    const first = await measure();
    // Send as many events again as a page gets in a long night.
    const publish = () => page.evaluate(async () => {
      const topic = 'log:' + document.querySelector('[data-log]').dataset.log;
      for (let i = 0; i < 10000; i++) {
        window.sources[0].dispatchEvent(new MessageEvent(topic, {data: JSON.stringify({from: 60000 + i, lines: [{t: Date.now(), s: [{t: 'event ' + i}, {t: 'red', c: 'f1'}]}]})}));
        if (i % 100 === 0) await new Promise((f) => setTimeout(f));
      }
    });
    await publish();
    await publish();
    await publish();
    const second = await measure();
    await publish();
    const third = await measure();
    note = `: the heap has ${first.heap.toFixed(0)}, ${second.heap.toFixed(0)} and ${third.heap.toFixed(0)} MiB, and there are ${first.nodes}, ${second.nodes} and ${third.nodes} nodes; the server has ${server.toFixed(0)} MiB more`;
    assert.ok(third.heap < 100 && third.heap < second.heap * 1.2 + 2, note);
    assert.ok(third.nodes < 250000 && third.nodes < second.nodes * 1.1, note);
    assert.ok(server < 50, note);
    await v.leave();
  },
};
Object.assign(journeys, require('./reports.js')({config, desktop, phone, cli, newest, until, visitor, loaded, accessible, fits}));

(async () => {
  const sandbox = process.getuid && process.getuid() === 0 ? ['--no-sandbox'] : []; // Chromium has none for root
  browser = await chromium.launch({executablePath: config.chromium, args: [...sandbox, '--js-flags=--expose-gc', '--font-render-hinting=none', '--disable-lcd-text']});
  const page = await browser.newPage();
  print({fonts: await page.evaluate(() => ['-apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif', 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace'].map((font) => {
    const ctx = document.createElement('canvas').getContext('2d');
    ctx.font = '20px ' + font;
    return ctx.measureText('The quick brown fox ✓●○◐✕').width.toFixed(1);
  }).join(' '))});
  await page.close();
  for (const [name, run] of Object.entries(journeys)) {
    if (!new RegExp(config.journey).test(name)) continue;
    const begun = Date.now();
    let error = '';
    note = '';
    let timer;
    try {
      await Promise.race([run(), new Promise((_, fail) => { timer = setTimeout(() => fail(new Error('the journey takes longer than 60 s')), 60000); })]);
    } catch (e) {
      error = e.stack;
      for (const context of browser.contexts()) {
        for (const page of context.pages()) error += `\n${page.url()} shows:\n${(await page.evaluate(() => document.getElementById('main').innerText).catch(String)).slice(0, 500)}`;
      }
    }
    clearTimeout(timer);
    for (const context of browser.contexts()) await context.close();
    print({journey: name, error, note, seconds: (Date.now() - begun) / 1000});
  }
  await browser.close();
})();

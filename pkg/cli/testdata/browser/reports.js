// Journeys through measurements and reports, for TestBrowser. They come after those of journeys.js, because they submit jobs.
'use strict';
const assert = require('assert/strict');
const fs = require('fs');
const path = require('path');

module.exports = ({config, desktop, phone, cli, newest, until, visitor, loaded, accessible, fits}) => {
  // checked checks a page with axe, in both themes and on a phone. Its figures differ from run to run, so it has no screenshot.
  async function checked(page, name) {
    await loaded(page);
    for (const colorScheme of ['dark', 'light']) {
      await page.emulateMedia({colorScheme});
      await accessible(page, name + ', ' + colorScheme);
      if (config.seen) await page.screenshot({path: path.join(config.seen, name + '-' + colorScheme + '.png'), fullPage: true});
    }
    for (const size of [{width: 800, height: 900}, phone]) {
      await page.setViewportSize(size);
      await accessible(page, `${name}, ${size.width} px`);
      await fits(page, `${name} at ${size.width} px`);
      if (config.seen) await page.screenshot({path: path.join(config.seen, `${name}-${size.width}.png`), fullPage: true});
    }
    await page.setViewportSize(desktop);
  }

  // measured submits jobs with "measure" once, and waits for them.
  let submitted = false;
  function measured() {
    if (submitted) return;
    submitted = true;
    const defaults = {image: 'public.ecr.aws/docker/library/busybox:1.36', resources: {vcpus: 1, memory: '64 MiB'}, timeout: '10m', tags: {team: 'vision'}, measure: true};
    fs.writeFileSync(path.join(config.work, 'measured.json'), JSON.stringify({name: 'measured', defaults, jobs: [
      {name: 'solo', command: ['sh', '-c', 'sleep 1; echo solo']},
      {name: 'grid', array: {matrix: {lr: ['1', '2'], seed: ['3', '4']}}, command: ['sh', '-c', 'sleep 1; echo done']},
    ]}));
    cli('submit', 'measured.json', '--wait');
  }

  return {
    async 'measurements of a job and an array'() {
      measured();
      const v = await visitor(config.local);
      const {page} = v;
      await v.go('/jobs/' + newest('solo'));
      await page.waitForSelector('#measured table');
      assert.match(await page.innerText('#measured tbody'), /^1[^]*SUCCEEDED\s+[\d.]+ [KM]iB of 64 MiB\s+[\d.e-]+ of 1/);
      assert.ok(Number(await page.locator('#measured meter').first().getAttribute('value')) <= 100);
      await checked(page, 'measured-job');
      const grid = newest('grid');
      await v.go('/jobs/' + grid);
      await page.waitForSelector('#measured table');
      assert.match(await page.innerText('#measured tbody'), /peak memory\s+4\s+64 MiB/);
      await page.focus('text=Read measurements');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.grid-legend .ramp');
      const options = await page.locator('.grid-mode option').allTextContents();
      assert.ok(options.includes('peak memory MiB') && options.includes('busy CPUs'), String(options));
      await page.selectOption('.grid-mode', 'peak memory MiB');
      await page.focus('.grid-canvas');
      await page.keyboard.press('Home');
      await until(async () => /peak memory MiB=\d/.test(await page.textContent('.grid-child')), 'the grid tells the measurements of a child');
      await checked(page, 'measured-array');
      await v.go('/jobs/' + newest('sweep') + ':5');
      await page.waitForSelector('#measured >> text=Not measured');
      await v.leave();
    },

    async 'right-sizing and comparison'() {
      measured();
      const v = await visitor(config.local);
      const {page} = v;
      await v.go('/reports');
      await page.click('text=Right-sizing');
      await page.waitForSelector('h2:has-text("solo")');
      assert.match(await page.innerText('main'), /No proposal: [^]*"measure": true/);
      await checked(page, 'right-sizing');
      const sweep = newest('sweep');
      await v.go('/jobs/' + sweep + ':5');
      await page.click('text=Compare with another run');
      await page.waitForURL('**/reports/compare?*');
      assert.equal(await page.inputValue('input[name=bad]'), sweep + ':5');
      await page.focus('input[name=good]');
      await page.keyboard.type(sweep + ':4');
      await page.keyboard.press('Enter');
      await page.waitForSelector('text=likely cause');
      assert.match(await page.innerText('main'), /cell\.seed/);
      await checked(page, 'comparison');
      await v.go('/reports/compare?good=' + newest('hostile') + '&bad=' + newest('hostile-results'));
      await page.waitForSelector('h3:has-text("Differences")');
      assert.equal(await page.locator('main img, main script').count(), 0);
      await v.leave();
    },

    async 'forecast, what-if and sizing'() {
      const v = await visitor(config.local);
      const {page} = v;
      const before = JSON.parse(cli('top', '--output', 'json')).queues.find((q) => q.name === 'cpu-job-queue').maxvCpus;
      await v.go('/queues/cpu-job-queue');
      await page.click('text=Forecast usage, waiting time and cost');
      await page.waitForSelector('#forecast table');
      await checked(page, 'forecast');
      await page.selectOption('#when select', 'calibration.json');
      await page.focus('#when button');
      await page.keyboard.press('Enter');
      await page.waitForSelector('#when .cause:has-text("starts")');
      await page.click('text=What if this queue were different?');
      await page.waitForURL('**/reports/whatif?*');
      assert.equal(await page.inputValue('select[name=queue]'), 'cpu-job-queue');
      await page.selectOption('select[name=file]', 'calibration.json');
      await page.fill('input[name=count]', '20');
      await page.focus('input[name=max]');
      await page.keyboard.type('16');
      await page.keyboard.press('Enter');
      await page.waitForSelector('pre:has-text(\'"maxvCpus": 16\')');
      assert.match(await page.innerText('main'), /after the change[^]*\u2192/);
      await checked(page, 'what-if');
      await v.go('/reports/sizing');
      await page.focus('form button');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.cause:has-text("95 % of the waits")');
      await checked(page, 'sizing');
      assert.equal(JSON.parse(cli('top', '--output', 'json')).queues.find((q) => q.name === 'cpu-job-queue').maxvCpus, before, 'nothing changed');
      await v.leave();
    },

    async 'accuracy of forecasts'() {
      const v = await visitor(config.local);
      const {page} = v;
      await v.go('/queues/default?forecast=1');
      await page.waitForSelector('#forecast .note:has-text("Do not rely on this forecast")');
      assert.match(await page.innerText('#forecast'), /Of 40 earlier forecasts, 55 % were right[^]* 1m later than forecast/);
      await checked(page, 'forecast-poor');
      await page.click('text=All queues');
      await page.waitForURL('**/reports/accuracy');
      assert.match(await page.innerText('tbody'), /default\s+40\s+0\s+55 %\s+1m\s+poor: do not rely on it/);
      await checked(page, 'accuracy');
      await v.leave();
    },

    async 'Spot, a policy and patches'() {
      const v = await visitor(config.account, {permissions: ['clipboard-read', 'clipboard-write']});
      const {page} = v;
      await v.go('/reports/whatif?queue=cpu-job-queue');
      await page.selectOption('select[name=type]', 'SPOT');
      await page.fill('input[name=reclaims]', '0.05');
      await page.selectOption('select[name=policy]', 'fair');
      await page.focus('form button');
      await page.keyboard.press('Enter');
      await page.waitForSelector('pre:has-text(\'"type": "SPOT"\')');
      assert.match(await page.innerText('pre >> nth=0'), /"type": "SPOT"/);
      assert.deepEqual(Object.keys(JSON.parse(await page.innerText('pre >> nth=1')).queues), ['cpu', 'default']);
      for (const [at, name] of ['Copy for apply', 'Copy for the platform file'].entries()) {
        await page.focus('text=' + name);
        await page.keyboard.press('Enter');
        await until(async () => await page.locator('.patch output').nth(at).textContent() === '\u2713 copied', 'the button says that it copied');
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await page.locator('.patch pre').nth(at).textContent());
      }
      await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')); });
      await page.click('text=Copy for apply');
      await until(async () => await page.evaluate(() => getSelection().toString()) === await page.innerText('.patch pre >> nth=0'), 'without the permission, the text is selected');
      await checked(page, 'what-if-account');
      await v.go('/reports/sizing');
      await page.selectOption('select[name=queue]', 'cpu-job-queue');
      await page.selectOption('select[name=wait]', '8h');
      await page.focus('form button');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.cause:has-text("on Spot")');
      assert.match(await page.innerText('main'), /\d+ sets tried; [^]*"cpu": \{\s+"computeEnvironments"/);
      await checked(page, 'sizing-account');
      await v.leave();
    },
  };
};

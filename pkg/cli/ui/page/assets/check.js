// The checker: problems appear in the text as you type, with the plan and the price beside it.
'use strict';
(() => {
  const editor = document.getElementById('editor');
  if (!editor) return;
  const state = document.getElementById('check-state');
  const list = document.getElementById('problems');
  const marks = document.querySelector('.editor-marks');
  const numbers = document.querySelector('.editor-lines');
  const plan = document.getElementById('check-plan');
  const fixAll = document.getElementById('check-fix-all');
  const submit = document.getElementById('check-submit');
  let turn = 0;
  let answer = null;
  let wait = 0;

  function outline() {
    numbers.textContent = editor.value.split('\n').map((_, i) => i + 1).join('\n');
    const parts = [];
    let from = 0;
    const problems = [...(answer?.text === editor.value ? answer.Problems : [])].sort((a, b) => a.From - b.From);
    for (const p of problems) {
      const start = Math.max(p.From, from);
      const end = Math.max(start, Math.min(p.To, editor.value.length));
      if (end <= start) continue;
      parts.push(editor.value.slice(from, start), batchctl.element('mark', p.Severity, editor.value.slice(start, end)));
      from = end;
    }
    parts.push(editor.value.slice(from) + '\n');
    marks.replaceChildren(...parts);
    scroll();
  }

  function scroll() {
    marks.style.setProperty('transform', `translate(${-editor.scrollLeft}px, ${-editor.scrollTop}px)`);
    numbers.style.setProperty('transform', `translateY(${-editor.scrollTop}px)`);
  }

  async function check() {
    const text = editor.value;
    const mine = ++turn;
    try {
      const data = await batchctl.post('/check', {text});
      if (mine !== turn) return data; // a newer text is under way
      answer = {...data, text};
      show();
    } catch (error) {
      if (mine === turn) state.textContent = error.message;
    }
    return answer;
  }

  function plural(n, noun) { return n + ' ' + noun + (n === 1 ? '' : 's'); }

  function show() {
    state.textContent = answer.Problems.length ? plural(answer.Errors, 'error') + ', ' + plural(answer.Warnings, 'warning') : 'no problems';
    document.getElementById('check-command').textContent = answer.Command;
    const none = answer.Problems.length ? [] : [batchctl.element('li', 'none', 'no problems')];
    list.replaceChildren(...none, ...answer.Problems.map((p) => {
      const item = batchctl.element('li', p.Severity);
      const where = batchctl.element('button', 'quiet where', `${p.Line}:${p.Column}`);
      where.type = 'button';
      where.setAttribute('aria-label', `${p.Line}:${p.Column}, go to this line and column`);
      where.addEventListener('click', () => {
        editor.focus();
        editor.setSelectionRange(p.From, p.To);
      });
      item.append(where, ' ', batchctl.element('strong', '', p.Severity), ' ', p.Message, ' ', batchctl.element('code', 'muted', p.Rule));
      if (p.Hint) item.append(batchctl.element('p', 'muted', p.Hint));
      if (p.Fix) {
        const fix = batchctl.element('button', '', 'Fix: ' + (p.FixNote || p.Hint));
        fix.type = 'button';
        fix.addEventListener('click', () => { replace(p.Fix); check(); });
        item.append(fix);
      }
      return item;
    }));
    fixAll.disabled = !answer.Problems.some((p) => p.Fix);
    if (submit) submit.disabled = answer.Errors > 0 || !editor.value.trim();
    plan.hidden = !answer.Plan && !answer.PlanProblem;
    document.getElementById('plan-text').textContent = answer.Plan || answer.PlanProblem;
    document.getElementById('cost-text').textContent = answer.Cost || 'unknown';
    outline();
  }

  // replace changes the text in a way that the browser can undo.
  function replace(text) {
    editor.focus();
    const at = editor.selectionStart;
    editor.select();
    if (!document.execCommand('insertText', false, text)) editor.value = text;
    editor.setSelectionRange(Math.min(at, text.length), Math.min(at, text.length));
    outline();
  }

  fixAll.addEventListener('click', async () => {
    for (let round = 0; round < 50; round++) {
      const data = await check();
      const next = data?.Problems.find((p) => p.Fix && p.Fix !== editor.value);
      if (!next) break;
      replace(next.Fix);
    }
    check();
  });

  editor.addEventListener('input', () => {
    outline();
    clearTimeout(wait);
    wait = setTimeout(check, 250);
  });
  editor.addEventListener('scroll', scroll, {passive: true});
  // Tab leaves the field, as everywhere on the page.
  for (const name of ['dragover', 'drop']) {
    document.addEventListener(name, async (event) => {
      if (![...event.dataTransfer.types].includes('Files')) return;
      event.preventDefault();
      if (name === 'dragover') return;
      const file = event.dataTransfer.files[0];
      if (file.size > 2 << 20) { state.textContent = file.name + ' is larger than 2 MiB'; return; }
      replace(await file.text());
      check();
    });
  }
  batchctl.editor = editor;
  outline();
  check();
})();

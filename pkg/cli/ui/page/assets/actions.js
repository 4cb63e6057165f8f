// Changes: each asks first, and shows the command that does the same.
'use strict';
(() => {
  const dialog = document.getElementById('confirm');
  if (!dialog) return;
  const text = document.getElementById('confirm-text');
  const command = document.getElementById('confirm-command');
  const result = document.getElementById('confirm-result');
  const yes = document.getElementById('confirm-yes');
  const cancel = document.getElementById('confirm-cancel');
  let request = null;

  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-action]');
    if (!button) return;
    request = {action: button.dataset.action, body: {Job: button.dataset.job || '', Submission: 'submission' in button.dataset, Text: button.dataset.action === 'submit' ? batchctl.editor.value : ''}};
    text.textContent = button.dataset.text;
    command.textContent = '';
    result.replaceChildren();
    yes.hidden = false;
    yes.disabled = true;
    cancel.textContent = 'Cancel';
    dialog.showModal();
    cancel.focus();
    try {
      command.textContent = (await batchctl.post('/actions/' + request.action, {...request.body, Only: true})).Command;
      yes.disabled = false;
    } catch (error) {
      fail(error.message);
    }
  });

  function fail(message) {
    const box = batchctl.element('p', 'problem', message);
    result.replaceChildren(box);
  }

  yes.addEventListener('click', async (event) => {
    event.preventDefault(); // the dialog stays open and shows what happened
    yes.disabled = true;
    result.replaceChildren(batchctl.element('p', 'muted', 'working'));
    try {
      const done = await batchctl.post('/actions/' + request.action, request.body);
      result.replaceChildren();
      if (done.Failed) fail([done.Failed, done.Hint].filter(Boolean).join('\n'));
      else result.append(batchctl.element('p', 's-succeeded', '✓ done'));
      for (const id of done.Jobs || []) {
        const link = batchctl.element('a', '', id);
        link.href = batchctl.job(id);
        const line = batchctl.element('p');
        line.append(link);
        result.append(line);
      }
      const output = [done.Output, done.Notes].filter((t) => t && t.trim()).join('\n');
      if (output && !(done.Jobs || []).length) result.append(batchctl.element('pre', '', output));
      yes.hidden = true;
      cancel.textContent = 'Close';
      cancel.focus();
    } catch (error) {
      fail(error.message);
      yes.disabled = false;
    }
  });
})();

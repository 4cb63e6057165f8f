// Package ui serves batchctl's pages: queues, jobs, arrays and workflows in a browser.
//
// A page shows what a command prints. The server runs the command in this process with --output json, so the pages
// have the commands' rules: the target, the masked credentials, the ledger and the error messages. pkg/ui/web decides
// who may ask, and shares what changes among the open tabs. The packages below get what pages show (source), render it
// (page, show), and have the pages in groups.
package ui

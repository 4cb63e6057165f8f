// Package page renders the pages of batchctl ui: their frame, templates, charts, style sheet and scripts. It also has
// the types with which a group of pages tells the server its addresses.
package page

// Package plantext writes reviewed plans as text: placements and prices for terminals, and the report in Markdown for
// comments on changes. It prints nothing.
package plantext

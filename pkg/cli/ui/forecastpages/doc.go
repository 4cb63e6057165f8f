// Package forecastpages has the pages about forecasts: of a queue, of a proposed change and of recorded jobs, and how
// good earlier ones were.
package forecastpages

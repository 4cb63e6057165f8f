// Package forecastpages has the pages about forecasts: of a queue, of a proposed change and of a trace, and how good
// earlier forecasts were.
package forecastpages

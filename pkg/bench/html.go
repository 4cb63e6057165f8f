package bench

import (
	"fmt"
	"slices"
	"strings"
)

// HTML is the report as one page that loads nothing and runs nothing. It follows the
// light or dark ground that its reader prefers, and fits a phone.
func (r *Report) HTML() string {
	p := r.page()
	at := slices.IndexFunc(p.sections, func(s section) bool { return s.heading == "Costs" })
	if at < 0 {
		at = min(len(p.sections), 2)
	}
	p.sections = slices.Insert(p.sections, at, r.speedUps(), r.timesBySize(), r.stacked())
	p.drop()
	return p.html()
}

func (p *page) html() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
<h1>%s</h1>
`, escape(p.title), pageStyle, escape(p.title))
	for _, s := range p.sections {
		s.html(&b)
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.String()
}

func (s section) html(b *strings.Builder) {
	b.WriteString("<section>\n")
	if s.heading != "" {
		fmt.Fprintf(b, "<h2>%s</h2>\n", escape(s.heading))
	}
	for i, words := range s.words {
		class := ""
		if i == 0 && s.heading == "Decision" {
			class = ` class="lead"`
		}
		fmt.Fprintf(b, "<p%s>%s</p>\n", class, escape(words))
	}
	if s.table != nil {
		s.table.html(b)
	}
	if len(s.items) > 0 {
		b.WriteString("<ul>\n")
		for _, item := range s.items {
			fmt.Fprintf(b, "<li>%s</li>\n", escape(item))
		}
		b.WriteString("</ul>\n")
	}
	if len(s.figures) > 0 {
		b.WriteString(`<div class="figures">` + "\n")
		for _, f := range s.figures {
			fmt.Fprintf(b, "<figure>\n%s<figcaption>%s</figcaption>\n</figure>\n", f.svg, escape(f.caption))
		}
		b.WriteString("</div>\n")
	}
	b.WriteString("</section>\n")
}

func (t *table) html(b *strings.Builder) {
	cell := func(tag string, i int, text string) {
		class := ""
		if i > 0 && !t.left[i] {
			class = ` class="number"`
		}
		fmt.Fprintf(b, "<%s%s>%s</%[1]s>", tag, class, escape(text))
	}
	row := func(tag, class string, cells []string) {
		fmt.Fprintf(b, "<tr%s>", class)
		for i, text := range cells {
			cell(tag, i, text)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString(`<div class="wide" tabindex="0"><table>` + "\n<thead>\n")
	row("th", "", t.head)
	b.WriteString("</thead>\n<tbody>\n")
	for n, cells := range t.rows {
		class := ""
		if t.total && n == len(t.rows)-1 {
			class = ` class="total"`
		}
		row("td", class, cells)
	}
	b.WriteString("</tbody>\n</table></div>\n")
}

// pageStyle has the colours of both grounds. The six of the series are told apart with
// the common kinds of colour blindness (Okabe and Ito's palette, darkened for a white
// ground and lightened for a dark one).
const pageStyle = `
:root{--ground:#fff;--ink:#1c2024;--soft:#5b6570;--rule:#d8dde2;--panel:#f6f8fa;--c0:#0067a8;--c1:#c2500a;--c2:#00805c;--c3:#a0498a;--c4:#8a6d00;--c5:#4b5ac0}
@media (prefers-color-scheme: dark){:root{--ground:#14181c;--ink:#e6eaee;--soft:#9aa6b2;--rule:#343c44;--panel:#1c2228;--c0:#5cb4ee;--c1:#f0904a;--c2:#3cc79c;--c3:#dc8ac6;--c4:#dcc04a;--c5:#9aa6ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:16px}
h1{font-size:1.5rem;line-height:1.25;margin:.5em 0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:1.8em 0 .4em}
p,ul{margin:.4em 0;max-width:75ch;overflow-wrap:anywhere}
ul{padding-left:1.2em}
.lead{font-size:1.15rem;font-weight:600}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.3em .7em;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:600}
td:first-child{min-width:13em}
td{font-variant-numeric:tabular-nums}
.number{text-align:right;white-space:nowrap}
th.number{white-space:normal;vertical-align:bottom}
.total td{font-weight:600;border-top:2px solid var(--soft)}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:16px}
figure{margin:0;padding:8px;background:var(--panel);border:1px solid var(--rule);border-radius:6px}
figcaption{font-size:.85rem;color:var(--soft);overflow-wrap:anywhere}
svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--ink)}
svg .tick{fill:var(--soft);font-size:11px}
.middle{text-anchor:middle}
.end{text-anchor:end}
.grid{stroke:var(--rule);stroke-width:.7}
.rule{stroke:var(--soft);stroke-width:1.3;stroke-dasharray:5 4}
.rule.cost{stroke-dasharray:1.5 3.5;stroke-width:1.8}
.line{fill:none;stroke-width:1.6}
.line.c0{stroke:var(--c0)}.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}.line.c4{stroke:var(--c4)}.line.c5{stroke:var(--c5)}
.dot.c0,.part.c0{fill:var(--c0)}.dot.c1,.part.c1{fill:var(--c1)}.dot.c2,.part.c2{fill:var(--c2)}.dot.c3,.part.c3{fill:var(--c3)}.dot.c4,.part.c4{fill:var(--c4)}.dot.c5,.part.c5{fill:var(--c5)}
@media print{figure{break-inside:avoid}}
`

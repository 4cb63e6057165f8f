package graph

import "github.com/batchctl/batchctl/pkg/draw"

// tips are the heads of the arrows. Each ends tipLength behind the line that it is at.
var tips = []struct{ id, class, refX, size string }{
	{"tip", "tip", "3", "8"},
	{"tip-wide", "tip", "4.5", "11.4"},
	{"tip-failure", "tip failure", "3", "8"},
	{"tip-critical", "tip critical", "4.5", "11.4"},
}

const monospace = `ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace`

// basicRules are those of every picture, for draw.Sheet.
const basicRules = `.name{font:600 13px ` + monospace + `;fill:$ink}
.small{font:11px ` + monospace + `;fill:$soft}
.title{font:600 15px ` + monospace + `;fill:$ink}
.ground{fill:$ground}
.box{fill:$panel;stroke:$line}
.sheet{fill:$sheet;stroke:$line}
.edge{fill:none;stroke:$line;stroke-width:1.4}
.n-to-n{stroke-width:3.5}
.sequential{stroke-dasharray:1.5 4;stroke-width:2}
.always,.failure{stroke-dasharray:6 4}
.tip{fill:$line}
`

// criticalRules are those of the critical path. They come after basicRules and before lastRules, so that an edge of
// Failure keeps its colour.
const criticalRules = `.node.critical .box{stroke:$ink;stroke-width:3}
.edge.critical{stroke:$ink;stroke-width:3}
.n-to-n.critical{stroke-width:5}
.tip.critical{fill:$ink}
`

// linkRules are those of links. The box of the link that has the focus stands out from one
// on the critical path, too.
const linkRules = `a:hover .name{text-decoration:underline}
a:focus-visible .node .box{stroke:$accent;stroke-width:4}
`

// lastRules are those of the edges of Failure and of the statuses.
var lastRules = func() string {
	rules := ".edge.failure{stroke:$FAILED}\n.tip.failure{fill:$FAILED;stroke-dasharray:none}\n.s-other{fill:$ink}\n"
	for _, status := range statuses {
		rules += ".s-" + status + "{fill:$" + status + "}\n"
	}
	return rules
}()

// Stylesheet is the style sheet for pages that hold SVGFragment. Its colours are pairs of
// light-dark(), so they follow the page's color-scheme. It has no @import or url.
func Stylesheet() string {
	return draw.PageSheet(basicRules+criticalRules+linkRules+lastRules, classPrefix)
}

// classPrefix begins the class names of an SVG that is part of a page.
const classPrefix = "graph-"

package bench

import (
	"bytes"
	_ "embed" // for report.html.tmpl and report.css
	"html/template"
	"slices"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/draw"
)

//go:embed report.html.tmpl
var reportTemplate string

//go:embed report.css
var reportStyle string

// parsedReport parses the template once, when the first report is written.
var parsedReport = sync.OnceValues(func() (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{"line": diag.Printable}).Parse(reportTemplate)
})

// HTML is the report as one page that loads nothing and runs nothing. It follows the
// light or dark ground that its reader prefers, and fits a phone. It opens with the
// decision in one sentence and the charts of the speed-up, or of the times where the
// sides have no row in common.
func (r *Report) HTML() ([]byte, error) {
	p := r.page()
	charts := []section{r.speedUps(), r.timesBySize(), r.stacked()}
	opening := 0
	if len(charts[0].Figures) == 0 {
		opening = 1
	}
	at := slices.IndexFunc(p.Sections, func(s section) bool { return s.Heading == "Costs" })
	if at < 0 {
		at = len(p.Sections)
	}
	p.Sections = slices.Insert(p.Sections, at, slices.Delete(slices.Clone(charts), opening, opening+1)...)
	p.Sections = slices.Insert(p.Sections, 0, charts[opening])
	if r.Decision != nil && len(r.Decision.Sentences) > 0 {
		p.Lead = r.Decision.Sentences[0]
		decision := slices.IndexFunc(p.Sections, func(s section) bool { return s.Heading == "Decision" })
		p.Sections[decision].Sentences = r.Decision.Sentences[1:]
	}
	p.drop()
	t, err := parsedReport()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		*page
		Style template.CSS
	}{p, template.CSS(draw.Sheet(reportStyle, ""))})
	return b.Bytes(), err
}

// Number reports whether the column is aligned to the right.
func (t *table) Number(column int) bool { return column > 0 && !t.Left[column] }

// Sum reports whether the row is the total.
func (t *table) Sum(row int) bool { return t.Total && row == len(t.Rows)-1 }

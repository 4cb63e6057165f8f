package report

import (
	"bytes"
	_ "embed" // for report.html.tmpl and report.css
	"html/template"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/draw"
)

//go:embed report.html.tmpl
var pageTemplate string

//go:embed report.css
var pageStyle string

// parsed parses the template once, when the first report is written.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("report").Funcs(template.FuncMap{"line": diag.Printable}).Parse(pageTemplate)
})

// HTML is the report as one page that loads nothing and runs nothing. It follows the
// light or dark ground that its reader prefers, and fits a phone.
func (p *Page) HTML() ([]byte, error) {
	t, err := parsed()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		*Page
		Sheet template.CSS
	}{p, template.CSS(draw.Sheet(pageStyle+p.Style, ""))})
	return b.Bytes(), err
}

// Number reports whether the column is aligned to the right.
func (t *Table) Number(column int) bool { return column > 0 && !t.Left[column] }

// Sum reports whether the row is the total.
func (t *Table) Sum(row int) bool { return t.Total && row == len(t.Rows)-1 }

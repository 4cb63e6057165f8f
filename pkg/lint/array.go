package lint

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/spec"
)

func arrayRules() []*Rule {
	return []*Rule{
		(&Rule{
			Name: "array-size-min", Severity: diag.Error, Confidence: High,
			Doc:    "An array job has at least 2 children.",
			Source: apiReference + ", ArrayProperties.size",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					if size, ok := arraySize(j.Job).Int(); ok && size < catalog.MinArraySize {
						j.Report(fmt.Sprintf("an array has at least %d children, not %d", catalog.MinArraySize, size), "for one job leave the array out", arraySize(j.Job))
					}
				}
			},
		}).onlyWith("arrayProperties"),
		(&Rule{
			Name: "array-size-max", Severity: diag.Error, Confidence: High,
			Doc:    "An array job has at most 10,000 children.",
			Source: apiReference + ", ArrayProperties.size; " + userGuide + ", service quotas",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					if size, ok := arraySize(j.Job).Int(); ok && size > catalog.MaxArraySize {
						j.Report(fmt.Sprintf("an array has at most %d children, not %d", catalog.MaxArraySize, size),
							fmt.Sprintf("split it into %d arrays", (size+catalog.MaxArraySize-1)/catalog.MaxArraySize), arraySize(j.Job))
					}
				}
			},
		}).onlyWith("arrayProperties"),
	}
}

func arraySize(j *spec.Job) *jsontree.Node { return j.Submit.Get("arrayProperties").Get("size") }

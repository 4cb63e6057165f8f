package cfn

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// inScript is a document in a script, such as the request of aws batch submit-job --cli-input-json. It is checked like
// a file of its own, and its problems are moved to the script.
type inScript struct {
	*document.File
	problems diag.List
	request  userdata.Request
}

// documentsIn returns the documents in a script that batchctl reads, and the values that are not checked.
func documentsIn(f *document.File) (found []inScript, unknown []Unchecked) {
	if !document.CallsBatch(f.Source.Text) {
		return nil, nil
	}
	skip := func(at diag.Span, why string) {
		unknown = append(unknown, Unchecked{&jsontree.Node{Source: f.Source, Span: at}, intrinsic.Because(why)})
	}
	requests, why := userdata.Requests(f.Source)
	if why != "" && strings.Contains(f.Source.Text, "aws batch") {
		skip(diag.Span{End: 1}, why)
	}
	for _, r := range requests {
		o := document.Options{Hosts: true, Recognize: r.Operation == "", Kind: document.KindOfCommand(r.Operation)}
		switch {
		case r.Given:
			skip(r.At, "only the shell knows the request")
			continue
		case r.Text == nil && o.Kind != "":
			skip(r.At, "batchctl reads only the --cli-input-json of aws batch "+r.Operation)
			continue
		case r.Text == nil:
			continue // it creates nothing
		case r.Operation != "" && o.Kind == "":
			skip(r.Place(diag.Span{End: 1}), "batchctl does not check aws batch "+r.Operation)
			continue
		}
		doc, problems := document.Load(diag.NewSource(f.Source.Name, r.String()), o)
		switch {
		case doc == nil && o.Recognize:
			continue
		case doc != nil && doc.Unchecked != "":
			skip(r.Place(diag.Span{End: 1}), "batchctl does not check "+doc.Unchecked)
			continue
		}
		for _, d := range problems {
			if d.Rule == jsontree.RulePlaceholder {
				skip(r.Place(d.Span), "the shell or another program fills it in")
			}
		}
		if doc != nil {
			for _, u := range NotKnown(doc) {
				skip(r.Place(u.Node.Span), u.Why.String())
			}
		}
		found = append(found, inScript{doc, problems, r})
	}
	return found, unknown
}

// CheckScript returns the problems of the documents in a script; none for other files. The function adds the problems
// that rules find in a document to those that loading it found; the document is nil if it cannot be loaded.
func CheckScript(f *document.File, rules func(doc *document.File, loading diag.List) diag.List) (all diag.List) {
	if f.Kind != document.KindUserData {
		return nil
	}
	found, _ := documentsIn(f)
	for _, one := range found {
		for _, d := range rules(one.File, one.problems) {
			if d.Rule == jsontree.RulePlaceholder {
				continue // not checked
			}
			d.Source, d.Span, d.Fix = f.Source, one.request.Place(d.Span), nil
			all = append(all, d)
		}
	}
	return all
}

// forHost reports whether a script is user data of a host that runs containers.
func forHost(f *document.File) bool {
	return f.Forced || !f.IsPlainScript() && userdata.ForHost(f.Source.Text)
}

// MayBeUserData reports whether a script mentions the ECS agent, but nothing else shows that it is user data.
func MayBeUserData(f *document.File) bool {
	return f.IsPlainScript() && userdata.ForHost(f.Source.Text)
}

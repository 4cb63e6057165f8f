package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// suggestion is what to do about a member that the API does not have.
type suggestion struct {
	hint string
	fix  *diag.Fix
	// meant is the member of the same object that it stands for; "" if there is none.
	meant string
}

// unknownMember returns what to do about a member that the API does not have in the innermost of the
// objects around it.
func (f userFile) unknownMember(n *jsontree.Node, around []shape.Object) (s suggestion, isNew bool) {
	if n.Name == "waivers" && !f.compact() {
		return suggestion{hint: document.NoWaivers}, false
	}
	if shape.IsNote(n.Name) {
		return suggestion{hint: "remove it", fix: f.remove(n)}, false
	}
	known := shape.Suggest(n, around)
	if known.Hint == "" {
		return suggestion{hint: "AWS Batch rejects a member that it does not have"}, true
	}
	s = suggestion{hint: known.Hint, meant: known.Meant}
	if known.Renames {
		s.fix = rename(n, known.Meant)
	}
	return s, false
}

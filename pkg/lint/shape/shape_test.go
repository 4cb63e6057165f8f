package shape

import (
	"slices"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func TestOf(t *testing.T) {
	s := Of(document.KindJobQueue)
	if s.Kind != jsontree.Object || s.Members["priority"].Kind != jsontree.Number || !slices.Contains(s.Members["state"].Words, "ENABLED") {
		t.Errorf("%+v", s)
	}
	if order := s.Members["computeEnvironmentOrder"]; order.Kind != jsontree.Array || order.Element.Members["order"] == nil {
		t.Errorf("%+v", order)
	}
	if Of(document.KindJob) != nil {
		t.Error("a job file is not a request")
	}
}

func TestUnknown(t *testing.T) {
	root, _ := jsontree.Parse(diag.NewSource("t.json", `{"jobDefinitionName": "a", "Type": 1, "$comment": 2, "parameters": {"x": "y"}, "containerProperties": {"environment": [{"key": "a"}]}}`))
	var got []string
	Object{Node: root, Shape: Of(document.KindJobDefinition)}.Unknown(func(n *jsontree.Node, around []Object) {
		got = append(got, around[len(around)-1].Name+"."+n.Name)
	})
	if want := []string{".Type", "environment.key"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPath(t *testing.T) {
	root, _ := jsontree.Parse(diag.NewSource("t.json", `{"containerProperties": {}}`))
	o := Object{Node: root, Shape: Of(document.KindJobDefinition)}
	if got := o.Path("job_role_ARN"); !slices.Equal(got, []string{"containerProperties", "jobRoleArn"}) {
		t.Errorf("%q", got)
	}
	if got := o.Path("nothing"); got != nil {
		t.Errorf("%q", got)
	}
	if got := o.Shape.Folded(Fold("job-definition-name")); got != "jobDefinitionName" {
		t.Errorf("%q", got)
	}
}

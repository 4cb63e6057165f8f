// Package shape describes the JSON of requests to AWS Batch: which members an object has, and of which type
// each value is. It reads the structs of the AWS SDK, and the members that are newer. It also suggests what a member
// that a request does not have stands for.
package shape

import (
	"reflect"
	"strings"
	"sync"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Shape is the type of a JSON value.
type Shape struct {
	Kind jsontree.Kind
	// Whole means that a number has no fraction.
	Whole bool
	// Words are the values of a string that has a list of them.
	Words []string
	// Members are those of a structure.
	Members map[string]*Shape
	// Element is the shape of the elements of a list, or of the values of a map.
	Element *Shape

	indexed sync.Once
	index   map[string][][]string // see names
}

// requests holds the shape of each request. They share the shapes of common structures.
var requests = sync.OnceValue(func() map[document.Kind]*Shape {
	seen := map[reflect.Type]*Shape{}
	return map[document.Kind]*Shape{
		document.KindJobDefinition:      read(reflect.TypeFor[awsbatch.RegisterJobDefinitionInput](), seen),
		document.KindSubmitJob:          read(reflect.TypeFor[awsbatch.SubmitJobInput](), seen),
		document.KindJobQueue:           read(reflect.TypeFor[awsbatch.CreateJobQueueInput](), seen),
		document.KindComputeEnvironment: read(reflect.TypeFor[awsbatch.CreateComputeEnvironmentInput](), seen),
		document.KindSchedulingPolicy:   read(reflect.TypeFor[awsbatch.CreateSchedulingPolicyInput](), seen),
		document.KindConsumableResource: read(reflect.TypeFor[awsbatch.CreateConsumableResourceInput](), seen),
		document.KindQuotaShare:         read(reflect.TypeFor[awsbatch.CreateQuotaShareInput](), seen),
		document.KindServiceEnvironment: read(reflect.TypeFor[awsbatch.CreateServiceEnvironmentInput](), seen),

		document.KindUpdateComputeEnvironment: read(reflect.TypeFor[awsbatch.UpdateComputeEnvironmentInput](), seen),
	}
})

// Of returns the shape of the request that a native document is; nil for documents of other kinds.
func Of(kind document.Kind) *Shape { return requests()[kind] }

// read returns the shape of a type of the SDK. Types refer to themselves, so seen holds a
// shape before its members are complete.
func read(t reflect.Type, seen map[reflect.Type]*Shape) *Shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s := seen[t]; s != nil {
		return s
	}
	s := &Shape{}
	seen[t] = s
	switch t.Kind() {
	case reflect.Struct:
		s.Kind, s.Members = jsontree.Object, map[string]*Shape{}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Name != "ResultMetadata" {
				s.Members[strings.ToLower(f.Name[:1])+f.Name[1:]] = read(f.Type, seen)
			}
		}
		for member, typ := range apimodel.Get().Structures[t.Name()] {
			s.Members[member] = newer(typ)
		}
	case reflect.Slice:
		s.Kind, s.Element = jsontree.Array, read(t.Elem(), seen)
	case reflect.Map:
		s.Kind, s.Element = jsontree.Object, read(t.Elem(), seen)
	case reflect.Bool:
		s.Kind = jsontree.Bool
	case reflect.String:
		s.Kind = jsontree.String
		if values, ok := t.MethodByName("Values"); ok {
			list := values.Func.Call([]reflect.Value{reflect.Zero(t)})[0]
			for i := range list.Len() {
				s.Words = append(s.Words, list.Index(i).String())
			}
			s.Words = append(s.Words, apimodel.Get().Enumerations[t.Name()]...)
		}
	default:
		s.Kind, s.Whole = jsontree.Number, t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64
	}
	return s
}

// newer returns the shape of a type that the SDK does not have, in the notation of apimodel.
func newer(typ string) *Shape {
	n := apimodel.Get()
	switch inner := strings.Trim(typ, "[]{}"); {
	case strings.HasPrefix(typ, "["):
		return &Shape{Kind: jsontree.Array, Element: newer(inner)}
	case strings.HasPrefix(typ, "{"):
		return &Shape{Kind: jsontree.Object, Element: newer(inner)}
	case typ == "number":
		return &Shape{Kind: jsontree.Number}
	case typ == "boolean":
		return &Shape{Kind: jsontree.Bool}
	case n.Structures[typ] != nil:
		s := &Shape{Kind: jsontree.Object, Members: map[string]*Shape{}}
		for member, below := range n.Structures[typ] {
			s.Members[member] = newer(below)
		}
		return s
	}
	return &Shape{Kind: jsontree.String, Words: n.Enumerations[typ]}
}

// Compare calls visit for n and for every value below it, with the value that contains it and the shapes of both.
// The shape is nil for a member that the request does not have.
func (s *Shape) Compare(n, parent *jsontree.Node, in *Shape, visit func(n, parent *jsontree.Node, s, in *Shape)) {
	visit(n, parent, s, in)
	if s == nil || !n.Is(s.Kind) {
		return
	}
	for c := range n.Children() {
		switch {
		case s.Element != nil:
			s.Element.Compare(c, n, s, visit)
		case !strings.HasPrefix(c.Name, "$"):
			s.Members[c.Name].Compare(c, n, s, visit)
		}
	}
}

// Object is an object of a request, with the members that it can have.
type Object struct {
	Node  *jsontree.Node
	Shape *Shape
	// Name is the member that contains the object.
	Name string
	// Spell returns the name of a member as the document writes it; nil: as the API does.
	Spell func(member string) string
}

// Unknown calls visit for every member in or below the object that the request does not have, with the objects
// around the member, the outermost first.
func (o Object) Unknown(visit func(n *jsontree.Node, around []Object)) { o.unknown(nil, visit) }

// unknown is Unknown with the objects around o, the outermost first. An element of a list
// replaces the list among them.
func (o Object) unknown(around []Object, visit func(n *jsontree.Node, around []Object)) {
	s := o.Shape
	if !o.Node.Is(s.Kind) {
		return
	}
	if s.Element == nil {
		around = append(around[:len(around):len(around)], o)
	}
	for c := range o.Node.Children() {
		switch of := s.Members[c.Name]; {
		case s.Element != nil:
			Object{c, s.Element, o.Name, o.Spell}.unknown(around, visit)
		case strings.HasPrefix(c.Name, "$"):
		case of == nil:
			visit(c, around)
		default:
			Object{c, of, c.Name, o.Spell}.unknown(around, visit)
		}
	}
}

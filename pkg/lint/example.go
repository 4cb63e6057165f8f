package lint

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// Example shows a rule by files that break it and by their good twin.
type Example struct {
	Bad []ExampleFile `json:"bad"`
	// BadMore counts the files like the bad ones that are left out.
	BadMore int `json:"badMore,omitempty"`
	// Found is what `batchctl validate` prints of the rule about the bad files.
	Found string `json:"found"`
	// Good is those of the files that are written otherwise in the good twin.
	Good []ExampleFile `json:"good"`
	// GoodSame counts the files that are the same in it.
	GoodSame int `json:"goodSame,omitempty"`
	// GoodFewer counts the files that are not there in it.
	GoodFewer int `json:"goodFewer,omitempty"`
}

// ExampleFile is a file of an example.
type ExampleFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Cut says that an ellipsis stands in the text for what is left out: the file is
	// about its size.
	Cut bool `json:"cut,omitempty"`
}

// Example returns the rule's example; every rule of Documented has one.
func (r Rule) Example() Example { return examples()[r.Name] }

// The examples are made from testdata, so that what is shown is what is tested.
//
//go:generate go test . -run TestExamples -update
//go:embed examples.json.gz
var examplesGzip []byte

// examples is unpacked when somebody asks for an example.
var examples = sync.OnceValue(func() map[string]Example {
	all, err := unpack(examplesGzip)
	if err != nil {
		panic(fmt.Errorf("read the examples of the rules: %w", err)) // only a file of ours that is wrong
	}
	return all
})

func unpack(packed []byte) (all map[string]Example, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(r).Decode(&all)
	}
	return all, err
}

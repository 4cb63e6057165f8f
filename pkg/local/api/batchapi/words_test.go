package batchapi

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/lint/examples"
)

// TestWordsOfRules checks that each name in the table is that of a rule, with an example.
func TestWordsOfRules(t *testing.T) {
	for rule := range wordsOfRules {
		if e, ok := examples.Of(rule); !ok || len(e.Bad) == 0 {
			t.Errorf("there is no rule %s with an example", rule)
		}
	}
}

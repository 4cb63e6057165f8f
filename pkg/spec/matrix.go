package spec

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

func (l *lowering) matrix(array *jsontree.Node) *sweep.Sweep { return nil }

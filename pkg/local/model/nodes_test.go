package model

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"
)

// TestNodeRange checks that every accepted range is ascending, whatever its text, and that forms
// with an open end reach the last node.
func TestNodeRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(1, 100).Draw(t, "nodes")
		from, to, ok := NodeRange(aws.String(rapid.StringMatching(`[0-9]{0,3}:?[0-9a]{0,3}`).Draw(t, "text")), n)
		if ok && (from < 0 || to < from) {
			t.Fatalf("%d to %d", from, to)
		}
	})
	for text, want := range map[string]string{":": "0 9 true", "3": "3 3 true", "3:": "3 9 true", ":3": "0 3 true", "2:1": "2 1 false", "": "-1 -1 false", "x:2": "-1 2 false"} {
		from, to, ok := NodeRange(&text, 10)
		if got := fmt.Sprint(from, to, ok); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestJoinNodes checks that containers of two nodes depend on those of their own node, and that the volumes of two pods
// differ.
func TestJoinNodes(t *testing.T) {
	pod := aPod([]types.EksVolume{{Name: aws.String("v"), EmptyDir: &types.EksEmptyDir{}}}, nil, "v /v")
	pod.InitContainers = aPod(nil, nil).Containers
	pod.InitContainers[0].Name = aws.String("first")
	all := joinNodes([][]Part{podParts(pod), podParts(pod)}, 1)
	got := ""
	for _, p := range all {
		got += fmt.Sprint(p.Node, " ", p.Name(), " after ", p.After)
		for _, v := range p.Pod.EmptyDirs {
			got += " with " + v.Volume
		}
		got += "\n"
	}
	const want = "0 first after [{3 START}]\n0 Default after [{0 SUCCESS} {3 START}] with 0-v\n1 first after []\n1 Default after [{2 SUCCESS}] with 1-v\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package plan

import (
	"math"
	"testing"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// TestFargateBillsASize checks that containers which ask together for no size of Fargate cost the next larger one, with
// its storage, its address and its least time.
func TestFargateBillsASize(t *testing.T) {
	n := Need{Platform: catalog.X86, Attempts: 2, Children: 10, TimeoutSeconds: 90, StorageGB: 10, PublicIP: true,
		Parts: []Part{{Nodes: 1, Request: catalog.Request{VCPUs: 0.75, MemoryMiB: 1536, Fargate: true}}}}
	fit := EnvironmentFit{Type: "FARGATE", Fits: true, Holds: []catalog.Placement{{Fits: true}}, environment: catalog.Environment{Type: "FARGATE"}}
	c := CostIn(fit, n, nil, "us-east-1")
	hour := 0.04048 + 2*0.004445 + 10*0.000111 + 0.005
	if math.Abs(c.ShareHour-hour) > 1e-12 || math.Abs(c.Least-hour*900/3600) > 1e-12 || math.Abs(c.Most-2*c.Least) > 1e-12 {
		t.Errorf("%v an hour, from %v to %v, want %v: %s", c.ShareHour, c.Least, c.Most, hour, c.Unknown)
	}
	n.Platform, n.StorageGB, n.PublicIP = catalog.Windows, 0, false
	if c := CostIn(fit, n, nil, "us-east-1"); math.Abs(c.Least-10*300*(0.13748+2*0.01005)/3600) > 1e-12 {
		t.Errorf("90 s on Windows cost %v, want 5 minutes", c.Least)
	}
}

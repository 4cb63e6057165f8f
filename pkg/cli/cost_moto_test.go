package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
)

// The machines of a queue, earlier runs and ended jobs on moto_server.
func TestCostAgainstMoto(t *testing.T) {
	t.Parallel()
	u := newUser(t, moto(t))
	u.write("array.json", `{"name": "train", "image": "public.ecr.aws/docker/library/busybox:1.37", "command": ["true"], "queue": "cpu", "array": {"size": 150},
  "resources": {"vcpus": 1, "memory": "2 GiB"}, "timeout": "90m", "tags": {"team": "a"}}`)
	out, _ := u.types(exit.OK, "cost array.json")
	u.wants(out, "train up to 21.60 USD 150 1 1h30m 0.048 0.0163 to 0.048 1/2 of m5.large", // 150 x 1.5 h x 0.096 USD/h
		"no run of definition train is known to have SUCCEEDED in queue cpu at aws 123456789012 us-east-1")
	_, said := u.types(exit.Problem, "submit array.json --max-cost 21")
	u.wants(said, "the jobs may cost 21.60 USD, more than the limit of 21.00 USD: nothing was sent")
	u.types(exit.OK, "submit array.json --max-cost 21.60")
	u.types(exit.OK, "wait train")

	for _, line := range []string{"cost train --by tag:team --json", "cost train --since 1d --queue cpu --by tag:team --json"} {
		out, _ = u.types(exit.OK, line)
		var spent struct {
			Prices struct{ Date, Region string }
			Rows   []struct {
				Name       string
				Jobs, Runs int
				Cost       struct{ High struct{ Without []any } }
			}
			Total struct{ Runs int }
		}
		if err := json.Unmarshal([]byte(out), &spent); err != nil {
			t.Fatal(err)
		}
		if len(spent.Rows) != 1 || spent.Rows[0].Name != "a" || spent.Rows[0].Jobs != 1 || spent.Rows[0].Runs != 150 || spent.Total.Runs != 150 ||
			spent.Prices.Region != "us-east-1" || spent.Prices.Date == "" || spent.Rows[0].Cost.High.Without != nil {
			t.Errorf("%s: %s", line, out)
		}
	}
}

//go:build unix

package local

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/usage"
)

// TestMeasuredJobs checks that the log of a job that asks for it ends with one measurement, also after its limit, and
// that the command neither measures itself nor needs a launcher.
func TestMeasuredJobs(t *testing.T) {
	w := open(t, Options{Executor: process.New(nil, ""), LogLimit: testLimit})
	text := func(stream *string) string {
		_, file, _ := strings.Cut(*stream, "/default/")
		text, err := w.engine.directory.root.ReadFile("logs/" + file + ".log")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	show := `printf "%s" "$BATCHCTL_MEASURE:"`
	for _, c := range []struct {
		name     string
		value    string
		command  []string
		want     string // before the measurement
		measured bool
	}{
		{"measured", "1", []string{"sh", "-c", show}, ":\n", true},
		{"with the launcher", "1", []string{"batchctl", "measure", "--", "sh", "-c", show + "; echo"}, ":\n", true},
		{"failed", "1", []string{"sh", "-c", "echo x >&2; exit 3"}, "x\n", true},
		{"killed", "1", []string{"sh", "-c", "kill -9 $$"}, "", true},
		{"over the limit", "1", []string{"sh", "-c", "yes 0123456 | head -c 3000000"},
			strings.Repeat("0123456\n", testLimit/8) + "\nbatchctl: the log has reached its limit of 1 MiB; the job continues, but batchctl does not keep the rest of its output\n", true},
		{"not asked", "", []string{"sh", "-c", show}, ":", false},
		{"asked otherwise", "yes", []string{"sh", "-c", show}, "yes:", false},
	} {
		name := strings.ReplaceAll(c.name, " ", "-")
		w.register(name, "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.Command = c.command
			if c.value != "" {
				in.ContainerProperties.Environment = []types.KeyValuePair{{Name: aws.String(usage.Variable), Value: &c.value}}
			}
		})
		id := w.submit(name)
		w.idle()
		got := text(w.job(id).Container.LogStreamName)
		if !c.measured {
			if got != c.want {
				t.Errorf("%s: %q", c.name, got)
			}
			continue
		}
		rest, found := strings.CutPrefix(got, c.want)
		u, ok := usage.Parse(rest)
		if !found || !ok || strings.Count(rest, "\n") != 1 || u.PeakMemory == nil && u.Source != "processes" || *u.MemoryLimit != 64<<20 || u.Container != "" {
			t.Errorf("%s: %q", c.name, got[max(0, len(got)-400):])
		}
	}
}

// TestMeasuredContainers checks that each container of a task that asks for it is measured in its own log.
func TestMeasuredContainers(t *testing.T) {
	w := open(t, Options{Executor: process.New(nil, "")})
	ask := func(p types.TaskContainerProperties) types.TaskContainerProperties {
		p.Environment = append(p.Environment, types.KeyValuePair{Name: aws.String(usage.Variable), Value: aws.String("1")})
		return p
	}
	part := func(name string) types.TaskContainerProperties {
		return types.TaskContainerProperties{Name: &name, Image: aws.String("busybox"), Command: []string{"sh", "-c", "echo " + name}, Essential: aws.Bool(name == "a"),
			ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}}
	}
	w.register("several", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties, in.EcsProperties = nil, modeltest.Task(ask(part("a")), part("b"))
	})
	id := w.submit("several")
	w.idle()
	for i, c := range w.job(id).EcsProperties.TaskProperties[0].Containers {
		file := model.PartStream((*c.LogStreamName)[strings.LastIndexByte(*c.LogStreamName, '/')+1:], i)
		text, err := w.engine.directory.root.ReadFile("logs/" + file + ".log")
		_, last, _ := strings.Cut(string(text), "\n")
		u, ok := usage.Parse(last)
		if err != nil || ok != (i == 0) || ok && u.Container != "a" {
			t.Errorf("container %s: %q, %v", *c.Name, text, err)
		}
	}
}

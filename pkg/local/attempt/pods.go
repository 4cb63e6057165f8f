package attempt

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// nodeUID is the UID of the Kubernetes node in AWS_BATCH_JOB_KUBERNETES_NODE_UID (user guide, "job environment
// variables"). There is no node object, so it is the UUID of nothing.
const nodeUID = "00000000-0000-0000-0000-000000000000"

// podCleaner is an executor that keeps volumes of pods, which exist as long as the pod.
type podCleaner interface {
	// ClearPod removes the volumes of a pod whose containers have ended.
	ClearPod(id string) error
}

// carryOutPod runs the containers of pods, if this machine can provide everything that the pods depend on. The volumes
// of all nodes belong to one id.
func (l *Life) carryOutPod(ctx context.Context, base Attempt) model.Outcome {
	x, err := l.Executor(ctx)
	if err != nil {
		return NotStarted(err)
	}
	for _, pod := range l.Task.Job.Pods {
		if gaps := model.PodGaps(pod, Contained(x)); len(gaps) > 0 {
			return podNotStarted(errors.New("the local engine cannot provide " + strings.Join(gaps, ", ")))
		}
	}
	if len(l.Task.Job.Parts) == 0 {
		return podNotStarted(errors.New("the pod has no containers"))
	}
	base.PodID = base.ID
	o := l.carryOutTask(ctx, base)
	hasVolumes := func(p model.Part) bool { return len(p.Pod.EmptyDirs) > 0 }
	if c, ok := x.(podCleaner); ok && slices.ContainsFunc(l.Task.Job.Parts, hasVolumes) {
		if err := c.ClearPod(base.PodID); err != nil {
			l.Log.Warn("a volume of a pod was not removed", "job", l.Task.ID(), "error", err)
		}
	}
	return o
}

// podNotStarted is the outcome of a pod that this machine cannot run. The cause is in the status reason: it is not
// that of one container.
func podNotStarted(err error) model.Outcome {
	o := NotStarted(errors.New("the pod did not start"))
	o.StatusReason += ": " + err.Error()
	return o
}

// podOutcome returns the result of a pod whose containers have ended: that of the first container that
// failed, in the order of the pod. Without a failure it is that of the last one. Of nodes, the main one counts.
func podOutcome(g *group) model.Outcome {
	j := g.life.Task.Job
	from, to := j.PartsOf(j.MainNode())
	o := g.results[to-1]
	for _, one := range g.results[from:to] {
		if one.Exit == nil || *one.Exit != 0 || one.Reason != "" {
			o = one
			break
		}
	}
	o.Containers, o.LogCut, o.Without = g.ends, g.logCut, g.without
	return o
}

// inPod completes the attempt of a container of a pod: parameters and variables are replaced in
// its entrypoint and args, and variables in the values of its variables.
func inPod(a Attempt, p *model.PodPart, base Attempt, parameters map[string]string) (Attempt, error) {
	entrypoint, err := model.Substitute(p.Entrypoint, parameters)
	if err != nil {
		return a, err
	}
	// A value may name a variable before it. The variables of Batch are before all others.
	values := map[string]string{}
	for _, v := range base.Environment {
		values[aws.ToString(v.Name)] = aws.ToString(v.Value)
	}
	environment := make([]types.KeyValuePair, 0, len(a.Environment))
	ofBatch := maps.Clone(values)
	for _, v := range a.Environment {
		name, value := aws.ToString(v.Name), aws.ToString(v.Value)
		if _, is := ofBatch[name]; !is {
			value = expand(value, values)
		}
		values[name] = value
		environment = append(environment, Variable(name, value))
	}
	part := *p
	part.Entrypoint = expandAll(entrypoint, values)
	a.Command, a.Environment, a.Pod, a.PodID = expandAll(a.Command, values), environment, &part, base.PodID
	return a, nil
}

// expandAll replaces the variables in each argument.
func expandAll(arguments []string, values map[string]string) []string {
	out := make([]string, len(arguments))
	for i, text := range arguments {
		out[i] = expand(text, values)
	}
	return out
}

// expand replaces $(NAME) by the value of a variable, and $$ by $. A reference to an unknown
// variable stays, and so does every other dollar (API reference of EksContainer.command).
func expand(text string, values map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := values[name]
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteString("$")
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed && known:
			out.WriteString(value)
			text = rest
		default:
			out.WriteString("$")
			text = after
		}
	}
}

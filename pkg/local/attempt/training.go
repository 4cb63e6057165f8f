package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// Training is what a container of a training job gets besides its image, command and variables.
type Training struct {
	// Entrypoint replaces the entrypoint of the image; empty: it does not.
	Entrypoint []string
	// Directory is the absolute path of the directory that the container has as /opt/ml. The model that
	// SageMaker would upload stays there.
	Directory string
	// Isolated means that the container has no network.
	Isolated bool
}

// NeedsContainer is the member of a training job that an executor without containers cannot provide.
const NeedsContainer = "AlgorithmSpecification.TrainingImage (it needs an engine with --executor podman)"

// UnprovidedError is why a training job cannot run on this machine. No retry can help.
type UnprovidedError struct {
	// Members are the parts of the request that the machine cannot provide.
	Members []string
}

// Error lists the members.
func (e *UnprovidedError) Error() string {
	return "not available here: " + strings.Join(e.Members, ", ")
}

// trainingOf returns what the executor needs of the newest attempt of a service job. SageMaker sets two
// variables (developer guide, "How Amazon SageMaker AI provides training information"). Nothing in the
// command is a Ref:: parameter of AWS Batch.
func trainingOf(t *model.Task) (Attempt, error) {
	j, last, v := t.Job, t.Last(), t.Job.Service.Training
	a := Attempt{ID: last.Stream, Job: t.ID(), Container: j.Container, Command: j.Container.Command, GPUs: last.GPUs,
		Environment: append(j.Container.Environment[:len(j.Container.Environment):len(j.Container.Environment)],
			Variable("TRAINING_JOB_NAME", j.TrainingName(last)), Variable("TRAINING_JOB_ARN", j.TrainingARN(last))),
		Training: &Training{Entrypoint: v.Algorithm.Entrypoint, Isolated: v.Isolated}}
	if missing := v.Unprovided(); len(missing) > 0 {
		return a, &UnprovidedError{missing}
	}
	return a, nil
}

// train runs the attempt of a training job in a new directory, which is below that of the job.
func (l *Life) train(ctx context.Context, a Attempt) model.Outcome {
	l.Preparing()
	a.Training.Directory = filepath.Join(a.Directory, a.ID)
	err := l.inTime(ctx, func() error { return writeInputs(a.Training.Directory, l.Task.Job.Service.Training) })
	if err != nil {
		return NotStarted(err)
	}
	o := l.carryOut(ctx, a)
	o.Failure = failure(a.Training.Directory)
	return o
}

// TrainingHost is the name of the only host of a training job.
const TrainingHost = "algo-1"

// groupName is the name that SageMaker gives to the only group of instances.
const groupName = "homogeneousCluster"

// writeInputs writes the files that SageMaker puts into /opt/ml (developer guide, "How Amazon SageMaker AI
// provides training information" and "processes training output"). The user of a container may be any,
// so everyone can write there; only the engine's user can reach the directory on this machine.
func writeInputs(dir string, v *model.Training) error {
	group := map[string]any{"instance_group_name": groupName, "instance_type": v.Resources.InstanceType,
		"hosts": []string{TrainingHost}}
	parameters := v.HyperParameters
	if parameters == nil {
		parameters = map[string]string{}
	}
	for _, sub := range []string{"", "input", "input/config", "input/data", "model", "output", "output/data"} {
		path := filepath.Join(dir, sub)
		if err := cmp.Or(os.MkdirAll(path, 0o700), os.Chmod(path, 0o777)); err != nil {
			return fmt.Errorf("create the directory of a training job: %w", err)
		}
	}
	for name, content := range map[string]any{
		"hyperparameters.json": parameters,
		"inputdataconfig.json": map[string]any{},
		"resourceconfig.json": map[string]any{"current_host": TrainingHost,
			"current_instance_type": v.Resources.InstanceType, "current_group_name": groupName,
			"hosts": []string{TrainingHost}, "instance_groups": []any{group}, "network_interface_name": "eth0"},
	} {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, "input/config", name)
		if err := cmp.Or(os.WriteFile(path, text, 0o600), os.Chmod(path, 0o644)); err != nil {
			return fmt.Errorf("write the input of a training job: %w", err)
		}
	}
	return nil
}

// maxFailure is how many bytes of a failure file SageMaker returns (developer guide, "How Amazon SageMaker
// AI processes training output").
const maxFailure = 1024

// failure returns what the container wrote to /opt/ml/output/failure; "" if it wrote nothing. The file
// may be a link or a pipe: nothing outside the directory is read.
func failure(dir string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	const name = "output/failure"
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, maxFailure)
	n, err := io.ReadFull(file, text)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text[:n])), "")
}

package lint

import (
	"encoding/hex"
	"fmt"
	"net/url"
	slash "path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// bucketRules is the page with the form of bucket names.
const bucketRules = "Amazon S3 User Guide, general purpose bucket naming rules"

// stagedLocation is one input or output.
type stagedLocation struct {
	Job      Job
	node     *jsontree.Node // the member
	path     string         // in the container
	location *jsontree.Node // the source or the destination
	sha256   *jsontree.Node
	isInput  bool
	found    document.Found // for a local source
	// isCheckpoint means that node is the value of a checkpoint's path, and location is empty if the file has none.
	isCheckpoint bool
}

// staging holds the inputs and outputs of all jobs.
var staging = newFact(func(p *Pass, old []stagedLocation) []stagedLocation {
	all := old[:0]
	for _, j := range p.Submits() {
		if j.IsStaged() {
			all = append(all, stagedLocations(j)...)
		}
	}
	return all
})

// stagedLocations returns the inputs of a job, then its outputs, in the order of the file, then its checkpoint.
func stagedLocations(j Job) (all []stagedLocation) {
	for _, in := range j.Inputs {
		all = append(all, stagedLocation{j, in.Node, in.Path, in.Source, in.SHA256, true, in.Local, false})
	}
	for _, out := range j.Outputs {
		all = append(all, stagedLocation{j, out.Node, out.Path, out.Destination, nil, false, document.Found{}, false})
	}
	if j.Checkpoint != nil {
		all = append(all, checkpointLocation(j, j.Checkpoint))
	}
	return all
}

// stagingRules returns the rules about inputs and outputs, which `batchctl stage` moves
// before and after the job's command in its container.
func stagingRules() []*Rule {
	return []*Rule{
		// One input or output alone.
		over("stage-place", High, staging.of, stagedLocation.checkLocation,
			"The source of an input is s3://bucket/key, s3://bucket/prefix/, https://host/file or a local path. The destination of an output is in S3 or a local path.",
			ourStaging),
		over("stage-bucket-name", High, staging.of, stagedLocation.checkBucket,
			"The name of an S3 bucket has 3 to 63 lower-case letters, digits, hyphens and dots. It begins and ends with a letter or a digit.",
			bucketRules).
			quoting("Bucket names must be between 3 (min) and 63 (max) characters long."),
		over("stage-path", High, staging.of, stagedLocation.checkPath,
			"The path in the container is absolute, or relative to the working directory, without . and .. elements. It cannot be the root of the file system or belong to the kernel (/proc, /sys, /dev).",
			ourStaging),
		over("stage-path-twice", High, (*Pass).Submits, checkInputPaths,
			"Two inputs have the same path, or one has a path below the file of another, so only one of them can exist.",
			ourStaging),
		warns(over("stage-output-over-input", High, (*Pass).Submits, checkOutputPaths,
			"An output directory contains an input, so the job uploads the input again; or an output is in a directory that is an input. Equal paths are allowed, for a program that continues from its last results.",
			ourStaging)),
		over("stage-array-output", High, staging.of, stagedLocation.checkArrayOutput,
			"The children of an array write to the same location in S3 and overwrite each other. Put ${AWS_BATCH_JOB_ARRAY_INDEX}, ${AWS_BATCH_JOB_ID} or the values of all axes into the location.",
			ourStaging),
		// Values that depend on the container and on the child.
		warns(over("stage-variable-unset", High, staging.of, stagedLocation.checkVariables,
			"${NAME} in a location is a variable of the container, but nothing in the files sets it. Unless the image does, the job fails before its program "+
				"starts. For a literal ${NAME}, write $${NAME}.", ourStaging)),
		over("stage-sha256", High, staging.of, stagedLocation.checkSum,
			"A checksum has 64 hexadecimal digits and is for a single file, not for a prefix or a directory.",
			ourStaging),
		warns(over("stage-plain-http", High, staging.of, stagedLocation.checkPlainHTTP,
			"Anyone on the network path can change a file that is downloaded over http. Use https, or give the file's sha256.",
			"practice")),
		warns(over("stage-no-role", Medium, (*Pass).Submits, checkStagingRole,
			"The job reads or writes S3 but has no job role. So it has no permissions, or those of its instance, which are meant for other tasks. batchctl does "+
				"not report jobs with credentials or an endpoint in their environment.",
			api("ContainerProperties.jobRoleArn"))),
		over("stage-readonly-root", High, (*Pass).Submits, checkWritable,
			"The root file system of the container is read-only and no volume or tmpfs is mounted at the path of an input, so the input cannot be downloaded.",
			api("ContainerProperties.readonlyRootFilesystem")).shownBy(FileFormat),
		over("stage-image", High, (*Pass).Submits, checkStagingImage,
			"The entry point of the image batchctl-workloads reads the command as the name of a workload, so batchctl cannot put another program in front of it.",
			"cmd/batchctl-workloads/gpu.Dockerfile"),
	}
}

// checkPlainHTTP reports an input over http without a checksum.
func (s stagedLocation) checkPlainHTTP() {
	if s.isInput && strings.HasPrefix(s.location.Text, "http://") && s.sha256 == nil {
		s.Job.Report("anyone on the network path can change a file that comes over http",
			`write https://, or add "sha256"`, s.location)
	}
}

// checkStagingImage reports the image whose entry point does not run the command.
func checkStagingImage(j Job) {
	image := j.Known().Get("containerProperties").Get("image")
	name, _, _ := strings.Cut(slash.Base(image.Str()), ":")
	if name, _, _ = strings.Cut(name, "@"); j.IsStaged() && name == "batchctl-workloads" {
		j.Report("the entry point of this image reads the command as a workload, so batchctl stage cannot run first",
			"use an image without an entry point, or remove inputs and outputs", image)
	}
}

// scheme returns the part of a location before ://, or "" for a local path.
func scheme(location string) string {
	if document.IsLocal(location) {
		return ""
	}
	s, _, _ := strings.Cut(location, ":")
	return s
}

// s3Parts returns the bucket and the key of an S3 location, a URL with two slashes.
func s3Parts(location string) (bucket, key string, ok bool) {
	rest, ok := strings.CutPrefix(location, "s3://")
	bucket, key, _ = strings.Cut(rest, "/")
	return bucket, key, ok
}

// checkLocation reports a source or destination that batchctl cannot read or write: an
// unknown scheme, an incomplete URL, or variables that cannot be parsed.
func (s stagedLocation) checkLocation() {
	if s.isCheckpoint {
		s.checkCheckpointLocation()
		return
	}
	text := s.location.Text
	report := func(hint, format string, args ...any) { s.Job.Report(fmt.Sprintf(format, args...), hint, s.location) }
	if _, err := stage.Variables(withoutReferences(text)); err != nil && scheme(text) != "" {
		report("", "%v", err)
		return
	}
	switch scheme(text) {
	case "":
		s.checkLocal()
	case "s3":
		bucket, key, ok := s3Parts(text)
		switch {
		case !ok:
			report(`write s3://bucket/key`, "%s is not a location in S3", quote(text))
		case bucket == "":
			report(`write s3://bucket/key`, "%s has no bucket", quote(text))
		case key == "" && !strings.HasSuffix(text, "/"):
			report("write "+quote(text+"/")+", or add the key of an object", "%s has only a bucket", quote(text))
		}
	case "https", "http":
		if !s.isInput {
			report("write s3://bucket/prefix/, or a local path",
				"an output cannot go to %s: there is no standard way to upload a file to a web server", quote(text))
			return
		}
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "":
			report("write https://host/file", "%s is not the URL of a file", quote(text))
		case strings.HasSuffix(u.Path, "/") || u.Path == "":
			report("list each file; only S3 and local paths can be directories",
				"%s does not name a file, and a web server cannot list its files", quote(text))
		}
	default:
		hint := "write s3://bucket/key, https://host/file, or a local path"
		if strings.HasPrefix(text, "file:") {
			hint = "write only the path, relative to this file"
		}
		if !s.isInput {
			hint = "write s3://bucket/prefix/, or a local path"
		}
		if lower := strings.ToLower(scheme(text)); lower == "s3" || lower == "https" || lower == "http" {
			hint = "write " + quote(lower+text[len(lower):])
		}
		report(hint, "unknown kind of location: %s", quote(scheme(text)+":"))
	}
}

// withoutReferences replaces each reference to a cell's value by a letter, so that the
// location can be parsed.
func withoutReferences(text string) string {
	for _, m := range slices.Backward(sweep.References(text)) {
		text = text[:m.From] + "x" + text[m.To:]
	}
	return text
}

// checkLocal checks a local path. A source has been searched for already.
func (s stagedLocation) checkLocal() {
	text := s.location.Text
	clean := slash.Clean(strings.ReplaceAll(text, `\`, "/"))
	switch {
	case text == "":
		s.Job.Report("the location is missing", "write s3://bucket/key, or a local path", s.location)
	case s.isInput:
	case slash.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || len(clean) > 1 && clean[1] == ':':
		s.Job.Report(quote(text)+" is outside of this file's directory", "write a path below it, such as \"results/\"",
			s.location)
	case strings.Contains(text, "${"):
		s.Job.Report("a local path cannot contain ${",
			"use a path without it; each child of an array gets its own directory below the path", s.location)
	}
}

// checkBucket reports an invalid bucket name. A name with a variable and the ARN of an
// access point are not checked.
func (s stagedLocation) checkBucket() {
	bucket, _, ok := s3Parts(s.location.Text)
	if !ok || bucket == "" || strings.Contains(bucket, "${") || strings.HasPrefix(bucket, "arn:") {
		return
	}
	// ends reports whether a character can be at either end of the name.
	ends := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	strange := strings.IndexFunc(bucket, func(r rune) bool {
		return r > 0x7f || !ends(byte(r)) && r != '-' &&
			r != '.'
	})
	hint := "use 3 to 63 lower-case letters, digits, hyphens and dots"
	if lower := strings.ToLower(bucket); lower != bucket && strings.IndexFunc(lower,
		func(r rune) bool { return r > 0x7f || !ends(byte(r)) && r != '-' && r != '.' }) < 0 {
		hint = "did you mean " + quote(lower) + "?"
	}
	switch {
	case len(bucket) < 3 || len(bucket) > 63:
		s.Job.Report(fmt.Sprintf("the name of a bucket must have 3 to 63 characters, not %d", len(bucket)), hint,
			s.location)
	case strange >= 0:
		s.Job.Report(fmt.Sprintf("the name of a bucket contains only lower-case letters, digits, hyphens and dots, not %q", []rune(bucket[strange:])[0]), hint, s.location)
	case !ends(bucket[0]) || !ends(bucket[len(bucket)-1]) || strings.Contains(bucket, ".."):
		s.Job.Report("the name of a bucket must begin and end with a letter or a digit, without two dots in a row",
			hint, s.location)
	}
}

// systemPaths belong to the kernel.
var systemPaths = []string{"/proc", "/sys", "/dev"}

// checkPath reports a path in the container at which nothing can be placed.
func (s stagedLocation) checkPath() {
	at, fix := key(s.node), rename
	if s.isCheckpoint {
		at, fix = s.node, replace
	}
	// A slash at the end is allowed: it marks a directory.
	p := strings.TrimSuffix(s.path, "/")
	clean := slash.Clean(p)
	isWindows := strings.Contains(p, `\`) || len(p) > 1 && p[1] == ':'
	switch {
	case s.path == "":
		s.Job.Report("the path in the container is missing", `write a path such as "/data/train"`, at)
	case clean == "." || p == "":
		what := "the working directory itself"
		if p == "" {
			what = "the root of the file system"
		}
		s.Job.Report(quote(s.path)+" is "+what, "write a directory below it", at)
	case isWindows:
		s.Job.Report(quote(s.path)+" is a Windows path",
			"write it with slashes, as on Linux; inputs and outputs are for Linux containers", at)
	case slices.Contains(strings.Split(p, "/"), ".."):
		s.Job.Report("a path in the container cannot contain ..", "write the path without ..", at)
	case clean != p:
		s.Job.ReportFix(fix(s.node, clean), quote(s.path)+" is another spelling of "+quote(clean),
			"write "+quote(clean), at)
	default:
		for _, system := range systemPaths {
			if within(system, clean) && !within("/dev/shm", clean) {
				s.Job.Report(system+" belongs to the kernel", "choose another path", at)
			}
		}
	}
}

// within reports whether one clean path is another or below it.
func within(outer, inner string) bool { return inner == outer || strings.HasPrefix(inner, outer+"/") }

// cleanPath returns a path in a container without redundant elements, so that paths can be
// compared. Containers are on Linux, whatever batchctl runs on.
func cleanPath(p string) string { return slash.Clean(p) }

// checkInputPaths reports each input whose path equals that of an earlier input, or is below
// or above one that is a file.
func checkInputPaths(j Job) {
	for i, in := range j.Inputs {
		for _, other := range j.Inputs[:i] {
			a, b := cleanPath(in.Path), cleanPath(other.Path)
			line, _ := other.Node.Source.Position(other.Node.Key.Start)
			switch {
			case a == b:
				j.Report(fmt.Sprintf("line %d already has an input at this path", line), "give it another path",
					key(in.Node))
			case within(b, a) && oneFile(other):
				j.Report(fmt.Sprintf("line %d puts a file at %s, so nothing can be below it", line, quote(b)),
					"give it another path", key(in.Node))
			case within(a, b) && oneFile(in):
				j.Report(fmt.Sprintf("line %d puts an input below %s, which is a file here", line, quote(a)),
					"give it another path", key(in.Node))
			}
		}
	}
}

// oneFile reports whether an input is certainly not a directory.
func oneFile(in document.Input) bool {
	if scheme(in.Source.Text) == "" {
		return in.Local.Path != "" && !in.Local.Dir
	}
	return !strings.HasSuffix(in.Source.Text, "/")
}

// checkOutputPaths reports outputs that contain an input or are in one.
func checkOutputPaths(j Job) {
	for _, out := range j.Outputs {
		for _, in := range j.Inputs {
			to, from := cleanPath(in.Path), cleanPath(out.Path)
			switch {
			case to == from:
			case within(from, to):
				j.Report(fmt.Sprintf("this output contains the input at %s, which the job would upload again",
					quote(to)), "use a separate directory for the program's output", key(out.Node))
			case within(to, from) && oneFile(in):
				j.Report(fmt.Sprintf("an input puts a file at %s, so nothing can be below it", quote(to)),
					"use a separate directory for the program's output", key(out.Node))
			case within(to, from):
				j.Report(fmt.Sprintf("this path is inside the input at %s, which may contain a file of that name",
					quote(to)), "use a separate directory for the program's output", key(out.Node))
			}
		}
	}
}

// The variables of a container that keep children of an array apart.
const (
	variableIndex = "AWS_BATCH_JOB_ARRAY_INDEX"
	variableJobID = "AWS_BATCH_JOB_ID"
)

// manyCells bounds the cells whose values are compared with each other.
const manyCells = 20_000

// checkArrayOutput checks that each child of an array has its own location in S3. batchctl gives each child its own
// directory below a local path.
func (s stagedLocation) checkArrayOutput() {
	if s.isInput || s.isCheckpoint || !isArray(s.Job.Job) || document.IsLocal(s.location.Text) {
		return
	}
	names, err := stage.Variables(withoutReferences(s.location.Text))
	if err != nil {
		return
	}
	var axes []string
	for _, m := range sweep.References(s.location.Text) {
		axes = append(axes, m.Name)
	}
	for _, name := range names {
		switch {
		case name == variableIndex, name == variableJobID, name == sweep.CellVariable:
			return
		case s.Job.Sweep == nil:
		case slices.Contains(s.Job.Sweep.Templates, name):
			return // it contains values of the child
		default:
			for _, axis := range s.Job.Sweep.Names {
				if name == sweep.Variable(axis) {
					axes = append(axes, axis)
				}
			}
		}
	}
	const hint = "write ${" + variableIndex + "} into it"
	if len(axes) == 0 {
		s.Job.Report("all children of the array write to this location", hint, s.location)
		return
	}
	// Some axes may be enough, if the cells do not repeat their values.
	if s.Job.Sweep != nil && s.Job.Sweep.Len() <= manyCells && !distinctCells(s.Job.Sweep, axes) {
		s.Job.Report(fmt.Sprintf("children with the same %s write to the same location",
			strings.Join(slices.Compact(slices.Sorted(slices.Values(axes))), ", ")), hint, s.location)
	}
}

// distinctCells reports whether no two cells have the same values of all of the axes.
func distinctCells(s *sweep.Sweep, axes []string) bool {
	seen := make(map[string]bool, s.Len())
	for i := range s.Len() {
		values := s.Cell(i)
		var mark strings.Builder
		for _, axis := range axes {
			at := slices.Index(s.Names, axis)
			if at < 0 {
				return true // another rule reports it
			}
			fmt.Fprintf(&mark, "%q", values[at])
		}
		if seen[mark.String()] {
			return false
		}
		seen[mark.String()] = true
	}
	return true
}

// batchVariables are the variables that AWS Batch and Amazon ECS set in every container
// (user guide, job environment variables; ECS developer guide, container metadata).
var batchVariables = []string{"AWS_BATCH_CE_NAME", "AWS_BATCH_JOB_ATTEMPT", variableJobID, "AWS_BATCH_JQ_NAME",
	"AWS_EXECUTION_ENV", "ECS_CONTAINER_METADATA_URI", "ECS_CONTAINER_METADATA_URI_V4", "HOSTNAME"}

// arrayVariables are the variables that AWS Batch sets in the children of an array.
var arrayVariables = []string{variableIndex, "AWS_BATCH_JOB_ARRAY_SIZE"}

// checkVariables reports variables in a location that no part of the files sets. Without
// the definition, nothing is known about the container.
func (s stagedLocation) checkVariables() {
	names, err := stage.Variables(withoutReferences(s.location.Text))
	if err != nil || scheme(s.location.Text) == "" || s.Job.Known() == nil {
		return
	}
	for _, name := range names {
		switch {
		case slices.Contains(batchVariables, name), s.sets(name):
		case slices.Contains(arrayVariables, name) && isArray(s.Job.Job):
		case slices.Contains(arrayVariables, name):
			s.Job.Report(fmt.Sprintf("only children of an array have ${%s}, and this job is not an array", name),
				"write ${"+variableJobID+"}", s.location)
		case strings.HasPrefix(name, "AWS_BATCH"):
			hint := ""
			if near := near(name, slices.Concat(batchVariables, arrayVariables)); near != "" {
				hint = "did you mean ${" + near + "}?"
			}
			s.Job.Report(fmt.Sprintf("AWS Batch has no variable %s", name), hint, s.location)
		default:
			s.Job.Report(fmt.Sprintf("nothing here sets the variable %s", name),
				fmt.Sprintf("add it to the environment, or write $${%s} for the literal text", name), s.location)
		}
	}
}

// sets reports whether the job sets a variable in its container.
func (s stagedLocation) sets(name string) bool {
	box := s.Job.Known().Get("containerProperties") // it is the job's only container
	for _, list := range []*jsontree.Node{box.Get("environment"), box.Get("secrets"),
		s.Job.Submit.Get("containerOverrides").Get("environment")} {
		if list.With("name", name) != nil {
			return true
		}
	}
	if s.Job.Sweep == nil {
		return false
	}
	return name == sweep.CellVariable || slices.ContainsFunc(s.Job.Sweep.Names,
		func(axis string) bool { return sweep.Variable(axis) == name })
}

// checkSum reports a checksum of the wrong form, and one for a directory.
func (s stagedLocation) checkSum() {
	if s.sha256 == nil {
		return
	}
	sum, err := hex.DecodeString(s.sha256.Str())
	switch {
	case err != nil || len(sum) != 32:
		s.Job.Report("a sha256 must have 64 hexadecimal digits", "compute it with sha256sum FILE", s.sha256)
	case strings.HasSuffix(s.location.Text, "/") || s.found.Dir:
		s.Job.Report("a checksum is for a single file, and this is a directory",
			"write the path of a file, or remove the checksum", s.sha256)
	}
}

// ownAccess are variables that let a container use S3 without a role, or another service
// than AWS's.
var ownAccess = []string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}

// checkStagingRole reports a job without jobRoleArn, at its first location in S3.
func checkStagingRole(j Job) {
	definition := j.Known()
	if !j.IsStaged() || definition.Get("containerProperties") == nil ||
		definition.Get("containerProperties").Get("jobRoleArn") != nil {
		return
	}
	for _, s := range stagedLocations(j) {
		if scheme(s.location.Text) != "s3" {
			continue
		}
		if !slices.ContainsFunc(ownAccess, s.sets) {
			j.Report("the job uses S3 but has no jobRoleArn", `add "jobRoleArn": "arn:aws:iam::<account>:role/..."`,
				s.location)
		}
		return
	}
}

// checkWritable reports inputs outside of the volumes that the container can write to. A
// relative path depends on the image's working directory, so it is not checked.
func checkWritable(j Job) {
	// A container can write to volumes that are not read-only, to tmpfs and to /dev/shm.
	box := j.Known().Get("containerProperties")
	if n := box.Get("readonlyRootFilesystem"); !n.Is(jsontree.Bool) || n.Text != "true" {
		return
	}
	var writable []string
	for m := range box.Get("mountPoints").Children() {
		if n := m.Get("readOnly"); !n.Is(jsontree.Bool) || n.Text != "true" {
			writable = append(writable, slash.Clean(m.Get("containerPath").Str()))
		}
	}
	for m := range box.Get("linuxParameters").Get("tmpfs").Children() {
		writable = append(writable, slash.Clean(m.Get("containerPath").Str()))
	}
	check := func(path string, at *jsontree.Node) {
		to := cleanPath(path)
		if slash.IsAbs(to) && !within("/dev/shm", to) && !slices.ContainsFunc(writable,
			func(dir string) bool { return within(dir, to) }) {
			j.Report("the root file system is read-only, and no writable volume is mounted at "+quote(to),
				"mount a volume there, or remove readonlyRootFilesystem", at)
		}
	}
	for _, in := range j.Inputs {
		check(in.Path, key(in.Node))
	}
	if j.Checkpoint != nil {
		check(j.Checkpoint.Path.Text, j.Checkpoint.Path)
	}
}

package lint

import (
	"encoding/hex"
	"fmt"
	"iter"
	"net/url"
	slash "path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
)

const bucketRules = "Amazon S3 User Guide, general purpose bucket naming rules"

// stagedPlace is one input or output, as the rules see it.
type stagedPlace struct {
	Job
	node    *jsontree.Node // the member
	path    string         // in the container
	place   *jsontree.Node // the source or the destination
	sha256  *jsontree.Node
	isInput bool
	found   document.Found // for a source of this machine
}

// staging yields the inputs and outputs of all jobs.
func (p *Pass) staging() iter.Seq[stagedPlace] {
	return func(yield func(stagedPlace) bool) {
		for _, j := range p.Submits() {
			if !j.IsStaged() {
				continue
			}
			for _, s := range j.stagedPlaces() {
				if !yield(s) {
					return
				}
			}
		}
	}
}

func (j Job) stagedPlaces() (all []stagedPlace) {
	for _, in := range j.Inputs {
		all = append(all, stagedPlace{j, in.Node, in.Path, in.Source, in.SHA256, true, in.Local})
	}
	for _, out := range j.Outputs {
		all = append(all, stagedPlace{j, out.Node, out.Path, out.Destination, nil, false, document.Found{}})
	}
	return all
}

// stagedRule is a rule over inputs and outputs.
func stagedRule(name string, severity diag.Severity, c Confidence, doc, source string, look func(stagedPlace)) *Rule {
	return &Rule{Name: name, Severity: severity, Confidence: c, Doc: doc, Source: source, Run: func(p *Pass) {
		for s := range p.staging() {
			look(s)
		}
	}}
}

func stagingRules() []*Rule {
	return []*Rule{
		stagedRule("stage-place", diag.Error, High,
			"Where an input comes from is s3://bucket/key, s3://bucket/prefix/, https://host/file or a path of this machine; where an output goes is in S3 or a path of this machine.",
			ourStaging, stagedPlace.checkPlace),
		stagedRule("stage-bucket-name", diag.Error, High,
			"The name of a bucket in S3 has 3 to 63 lower case letters, digits, hyphens and dots, and begins and ends with a letter or a digit.",
			bucketRules, stagedPlace.checkBucket),
		stagedRule("stage-path", diag.Error, High,
			"The path in the container is written as it is: absolute, or relative to the working directory, without . and .., and never the root of the file system or what the kernel shows there (/proc, /sys, /dev).",
			ourStaging, stagedPlace.checkPath),
		{
			Name: "stage-path-twice", Severity: diag.Error, Confidence: High,
			Doc:    "Two inputs go to one path, or one goes below a path at which another one is a file, so only one of them could be there.",
			Source: ourStaging,
			Run:    checkPathsOnce,
		},
		{
			Name: "stage-output-over-input", Severity: diag.Warning, Confidence: High,
			Doc:    "A directory is carried away that holds what was brought, so all of that is sent back; or an output lies in a directory that is brought. Equal paths are for a program that goes on from what it left.",
			Source: ourStaging,
			Run:    checkOutputsApart,
		},
		{
			Name: "stage-array-output", Severity: diag.Error, Confidence: High,
			Doc:    "The children of an array write to one place in S3, each over what the others wrote. ${AWS_BATCH_JOB_ARRAY_INDEX}, ${AWS_BATCH_JOB_ID} or the values of all axes in the place keep them apart.",
			Source: ourStaging,
			Run:    checkArrayOutputs,
		},
		stagedRule("stage-variable-unset", diag.Warning, High,
			"${NAME} in a place stands for a variable of the container, and nothing in the files sets this one: the job would end before its program begins. The image may set it; what is meant literally is written $${NAME}.",
			ourStaging, stagedPlace.checkVariables),
		stagedRule("stage-sha256", diag.Error, High,
			"A checksum is that of one file: 64 hexadecimal digits, and not for a prefix or a directory.",
			ourStaging, stagedPlace.checkSum),
		stagedRule("stage-plain-http", diag.Warning, High,
			"What comes over http can be changed on its way by anybody, and the program would run with it. Over https, or held against its sha256, it cannot.",
			"practice", checkPlainHTTP),
		{
			Name: "stage-no-role", Severity: diag.Warning, Confidence: Medium,
			Doc:    "The job moves files in S3, and no job role is named: its container would have the rights of the instance that it runs on, which are others', or none. One with credentials or an endpoint in its environment is not reported.",
			Source: api("ContainerProperties.jobRoleArn"),
			Run:    checkStagingRoles,
		},
		{
			Name: "stage-readonly-root", Severity: diag.Error, Confidence: High,
			Doc:    "The root file system of the container is read-only, and no volume or tmpfs is where an input goes, so it cannot be brought there.",
			Source: api("ContainerProperties.readonlyRootFilesystem"),
			Run:    checkReadOnlyRoots,
		},
		{
			Name: "stage-image", Severity: diag.Error, Confidence: High,
			Doc:    "The image of the shipped workloads has an entry point that takes the command as the name of a workload, so nothing can be put in front of it.",
			Source: "cmd/batchctl-workloads/gpu.Dockerfile",
			Run:    checkStagingImages,
		},
	}
}

func checkPathsOnce(p *Pass) {
	for _, j := range p.Submits() {
		if len(j.Inputs) > 1 {
			j.twicePlaced()
		}
	}
}

func checkOutputsApart(p *Pass) {
	for _, j := range p.Submits() {
		if len(j.Inputs) > 0 && len(j.Outputs) > 0 {
			j.mixedPlaces()
		}
	}
}

func checkArrayOutputs(p *Pass) {
	for s := range p.staging() {
		if !s.isInput && isArray(s.Job.Job) && !document.IsLocal(s.place.Text) {
			s.keepsApart()
		}
	}
}

func checkPlainHTTP(s stagedPlace) {
	if s.isInput && strings.HasPrefix(s.place.Text, "http://") && s.sha256 == nil {
		s.Report("anybody on the way can change what comes over http", `write https://, or add "sha256"`, s.place)
	}
}

func checkStagingRoles(p *Pass) {
	for _, j := range p.Submits() {
		if j.IsStaged() {
			j.wantsStagingRole()
		}
	}
}

func checkReadOnlyRoots(p *Pass) {
	for _, j := range p.Submits() {
		if len(j.Inputs) > 0 {
			j.writesToRoot()
		}
	}
}

func checkStagingImages(p *Pass) {
	for _, j := range p.Submits() {
		image := j.Known().Get("containerProperties").Get("image")
		name, _, _ := strings.Cut(slash.Base(image.Str()), ":")
		if name, _, _ = strings.Cut(name, "@"); j.IsStaged() && name == "batchctl-workloads" {
			j.Report("the entry point of this image takes the command as a workload, and batchctl stage would have to stand in front of it",
				"use an image without an entry point, or leave inputs and outputs out", image)
		}
	}
}

// scheme is the part of a place before ://, "" for a path of this machine.
func scheme(place string) string {
	if document.IsLocal(place) {
		return ""
	}
	s, _, _ := strings.Cut(place, ":")
	return s
}

// s3Parts are the bucket and the key of an S3 place, which is a URL of two slashes.
func s3Parts(place string) (bucket, key string, ok bool) {
	rest, ok := strings.CutPrefix(place, "s3://")
	bucket, key, _ = strings.Cut(rest, "/")
	return bucket, key, ok
}

func (s stagedPlace) checkPlace() {
	text := s.place.Text
	report := func(hint, format string, args ...any) { s.Report(fmt.Sprintf(format, args...), hint, s.place) }
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
			report(`write s3://bucket/key`, "%s is no place in S3", quote(text))
		case bucket == "":
			report(`write s3://bucket/key`, "%s names no bucket", quote(text))
		case key == "" && !strings.HasSuffix(text, "/"):
			report("write "+quote(text+"/")+", or name an object behind it", "%s names a bucket alone", quote(text))
		}
	case "https", "http":
		if !s.isInput {
			report("write s3://bucket/prefix/, or a path of this machine", "an output cannot go to %s: there is no one way to send files there", quote(text))
			return
		}
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "":
			report("write https://host/file", "%s is no URL of a file", quote(text))
		case strings.HasSuffix(u.Path, "/") || u.Path == "":
			report("name each file; a directory can come from S3 or from this machine", "%s names no file, and a web server has no list of its files", quote(text))
		}
	default:
		hint := "write s3://bucket/key, https://host/file, or a path of this machine"
		if strings.HasPrefix(text, "file:") {
			hint = "write the path alone, relative to this file"
		}
		if !s.isInput {
			hint = "write s3://bucket/prefix/, or a path of this machine"
		}
		if lower := strings.ToLower(scheme(text)); lower == "s3" || lower == "https" || lower == "http" {
			hint = "write " + quote(lower+text[len(lower):])
		}
		report(hint, "%s is no kind of place that is known here", quote(scheme(text)+":"))
	}
}

// withoutReferences has a letter for each reference to a cell's value: where the places
// are read, they are gone.
func withoutReferences(text string) string {
	for _, m := range slices.Backward(sweep.References(text)) {
		text = text[:m.From] + "x" + text[m.To:]
	}
	return text
}

// checkLocal holds what is said of a path of this machine; that of a source has been looked
// for.
func (s stagedPlace) checkLocal() {
	text := s.place.Text
	clean := slash.Clean(strings.ReplaceAll(text, `\`, "/"))
	switch {
	case text == "":
		s.Report("a place is missing", "write s3://bucket/key, or a path of this machine", s.place)
	case s.isInput:
	case slash.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || len(clean) > 1 && clean[1] == ':':
		s.Report(quote(text)+" lies outside of this file's directory", "write a path below it, such as \"results/\"", s.place)
	case strings.Contains(text, "${"):
		s.Report("${ has no meaning in a path of this machine", "each child of an array gets its own directory below it", s.place)
	}
}

func (s stagedPlace) checkBucket() {
	bucket, _, ok := s3Parts(s.place.Text)
	if !ok || bucket == "" || strings.Contains(bucket, "${") || strings.HasPrefix(bucket, "arn:") {
		return
	}
	ends := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	strange := strings.IndexFunc(bucket, func(r rune) bool { return r > 0x7f || !ends(byte(r)) && r != '-' && r != '.' })
	hint := "a name has 3 to 63 lower case letters, digits, hyphens and dots"
	if lower := strings.ToLower(bucket); lower != bucket && strings.IndexFunc(lower, func(r rune) bool { return r > 0x7f || !ends(byte(r)) && r != '-' && r != '.' }) < 0 {
		hint = "did you mean " + quote(lower) + "?"
	}
	switch {
	case len(bucket) < 3 || len(bucket) > 63:
		s.Report(fmt.Sprintf("the name of a bucket has 3 to 63 characters, not %d", len(bucket)), hint, s.place)
	case strange >= 0:
		s.Report(fmt.Sprintf("the name of a bucket holds only lower case letters, digits, hyphens and dots, not %q", []rune(bucket[strange:])[0]), hint, s.place)
	case !ends(bucket[0]) || !ends(bucket[len(bucket)-1]) || strings.Contains(bucket, ".."):
		s.Report("the name of a bucket begins and ends with a letter or a digit, and has no two dots together", hint, s.place)
	}
}

// systemPaths belong to the kernel.
var systemPaths = []string{"/proc", "/sys", "/dev"}

func (s stagedPlace) checkPath() {
	at := key(s.node)
	p := strings.TrimSuffix(s.path, "/")
	clean := slash.Clean(p)
	isWindows := strings.Contains(p, `\`) || len(p) > 1 && p[1] == ':'
	switch {
	case s.path == "":
		s.Report("a path in the container is missing", `write where it is, such as "/data/train"`, at)
	case clean == "." || p == "":
		what := "the working directory itself"
		if p == "" {
			what = "the root of the file system"
		}
		s.Report(quote(s.path)+" is "+what, "name a directory below it", at)
	case isWindows:
		s.Report(quote(s.path)+" is a path of Windows", "write it with slashes, as on Linux; inputs and outputs are for Linux containers", at)
	case slices.Contains(strings.Split(p, "/"), ".."):
		s.Report("a path in the container has no ..", "write where it is", at)
	case clean != p:
		s.ReportFix(rename(s.node, clean), quote(s.path)+" is another spelling of "+quote(clean), "write "+quote(clean), at)
	default:
		for _, system := range systemPaths {
			if within(system, clean) && !within("/dev/shm", clean) {
				s.Report(system+" is the kernel's", "choose another path", at)
			}
		}
	}
}

// within reports whether one clean path is another or below it.
func within(outer, inner string) bool { return inner == outer || strings.HasPrefix(inner, outer+"/") }

func cleanPath(p string) string { return slash.Clean(p) }

func (j Job) twicePlaced() {
	for i, in := range j.Inputs {
		for _, other := range j.Inputs[:i] {
			a, b := cleanPath(in.Path), cleanPath(other.Path)
			line, _ := other.Node.Source.Position(other.Node.Key.Start)
			switch {
			case a == b:
				j.Report(fmt.Sprintf("line %d brings something to this path already", line), "give it another path", key(in.Node))
			case within(b, a) && oneFile(other):
				j.Report(fmt.Sprintf("line %d brings a file to %s, so there is nothing below it", line, quote(b)), "give it another path", key(in.Node))
			case within(a, b) && oneFile(in):
				j.Report(fmt.Sprintf("line %d brings something below %s, which this makes a file", line, quote(a)), "give it another path", key(in.Node))
			}
		}
	}
}

// oneFile reports whether an input is known to be no directory.
func oneFile(in document.Input) bool {
	if scheme(in.Source.Text) == "" {
		return in.Local.Path != "" && !in.Local.Dir
	}
	return !strings.HasSuffix(in.Source.Text, "/")
}

func (j Job) mixedPlaces() {
	for _, out := range j.Outputs {
		for _, in := range j.Inputs {
			to, from := cleanPath(in.Path), cleanPath(out.Path)
			switch {
			case to == from:
			case within(from, to):
				j.Report(fmt.Sprintf("what is brought to %s is carried away with it", quote(to)), "let the program write into a directory of its own", key(out.Node))
			case within(to, from) && oneFile(in):
				j.Report(fmt.Sprintf("an input makes %s a file, so there is nothing below it", quote(to)), "let the program write into a directory of its own", key(out.Node))
			case within(to, from):
				j.Report(fmt.Sprintf("it lies in what is brought to %s, which may have a file of that name", quote(to)), "let the program write into a directory of its own", key(out.Node))
			}
		}
	}
}

// The variables of a container that keep children of an array apart.
const (
	variableIndex = "AWS_BATCH_JOB_ARRAY_INDEX"
	variableJobID = "AWS_BATCH_JOB_ID"
)

// manyCells bounds the cells whose values are held against each other.
const manyCells = 20_000

// keepsApart holds that each child of an array has its own place.
func (s stagedPlace) keepsApart() {
	names, err := stage.Variables(withoutReferences(s.place.Text))
	if err != nil {
		return
	}
	var axes []string
	for _, m := range sweep.References(s.place.Text) {
		axes = append(axes, m.Name)
	}
	for _, name := range names {
		switch {
		case name == variableIndex, name == variableJobID, name == sweep.CellVariable:
			return
		case s.Sweep == nil:
		case slices.Contains(s.Sweep.Templates, name):
			return // it holds values of the child
		default:
			for _, axis := range s.Sweep.Names {
				if name == sweep.Variable(axis) {
					axes = append(axes, axis)
				}
			}
		}
	}
	const hint = "write ${" + variableIndex + "} into it"
	if len(axes) == 0 {
		s.Report("all children of the array write to this place", hint, s.place)
		return
	}
	if s.Sweep != nil && s.Sweep.Len() <= manyCells && !distinctCells(s.Sweep, axes) {
		s.Report(fmt.Sprintf("children with the same %s write to one place", strings.Join(slices.Compact(slices.Sorted(slices.Values(axes))), ", ")), hint, s.place)
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
				return true // said elsewhere
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

// batchVariables are what AWS Batch, and Amazon ECS below it, set in every container
// (user guide, job environment variables; ECS developer guide, container metadata).
var batchVariables = []string{"AWS_BATCH_CE_NAME", "AWS_BATCH_JOB_ATTEMPT", variableJobID, "AWS_BATCH_JQ_NAME",
	"AWS_EXECUTION_ENV", "ECS_CONTAINER_METADATA_URI", "ECS_CONTAINER_METADATA_URI_V4", "HOSTNAME"}

// arrayVariables are what AWS Batch sets in the children of an array.
var arrayVariables = []string{variableIndex, "AWS_BATCH_JOB_ARRAY_SIZE"}

func (s stagedPlace) checkVariables() {
	names, err := stage.Variables(withoutReferences(s.place.Text))
	if err != nil || scheme(s.place.Text) == "" || s.Known() == nil {
		return
	}
	for _, name := range names {
		switch {
		case slices.Contains(batchVariables, name), s.sets(name):
		case slices.Contains(arrayVariables, name) && isArray(s.Job.Job):
		case slices.Contains(arrayVariables, name):
			s.Report(fmt.Sprintf("${%s} is set in the children of an array, and this job has none", name), "write ${"+variableJobID+"}", s.place)
		case strings.HasPrefix(name, "AWS_BATCH"):
			hint := ""
			if near := near(name, slices.Concat(batchVariables, arrayVariables)); near != "" {
				hint = "did you mean ${" + near + "}?"
			}
			s.Report(fmt.Sprintf("AWS Batch sets no variable %s", name), hint, s.place)
		default:
			s.Report(fmt.Sprintf("nothing here sets the variable %s", name), fmt.Sprintf("add it to the environment; what is meant literally is written $${%s}", name), s.place)
		}
	}
}

// sets reports whether the job gives its container a variable.
func (s stagedPlace) sets(name string) bool {
	for _, list := range s.variableLists() {
		for v := range list.Children() {
			if v.Get("name").Str() == name {
				return true
			}
		}
	}
	if s.Sweep == nil {
		return false
	}
	return name == sweep.CellVariable || slices.ContainsFunc(s.Sweep.Names, func(axis string) bool { return sweep.Variable(axis) == name })
}

// variableLists are what a job says of the variables of its one container.
func (j Job) variableLists() []*jsontree.Node {
	box := j.Known().Get("containerProperties")
	return []*jsontree.Node{box.Get("environment"), box.Get("secrets"), j.Submit.Get("containerOverrides").Get("environment")}
}

func (s stagedPlace) checkSum() {
	if s.sha256 == nil {
		return
	}
	sum, err := hex.DecodeString(s.sha256.Str())
	switch {
	case err != nil || len(sum) != 32:
		s.Report("a sha256 is 64 hexadecimal digits", "make it: sha256sum FILE", s.sha256)
	case strings.HasSuffix(s.place.Text, "/") || s.found.Dir:
		s.Report("a checksum is that of one file, and this is a directory", "name the file, or remove the checksum", s.sha256)
	}
}

// ownAccess are variables with which a container reaches S3 without a role, or another
// service than AWS's.
var ownAccess = []string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}

func (j Job) wantsStagingRole() {
	definition := j.Known()
	if definition.Get("containerProperties") == nil || definition.Get("containerProperties").Get("jobRoleArn") != nil {
		return
	}
	for _, s := range j.stagedPlaces() {
		if scheme(s.place.Text) != "s3" {
			continue
		}
		if !slices.ContainsFunc(ownAccess, s.sets) {
			j.Report("the job reaches S3, and no jobRoleArn says with whose rights", `add "jobRoleArn": "arn:aws:iam::<account>:role/..."`, s.place)
		}
		return
	}
}

func (j Job) writesToRoot() {
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
	for _, in := range j.Inputs {
		to := cleanPath(in.Path)
		if slash.IsAbs(to) && !within("/dev/shm", to) && !slices.ContainsFunc(writable, func(dir string) bool { return within(dir, to) }) {
			j.Report("the root file system is read-only, and no volume that can be written to is at "+quote(to),
				"mount a volume there, or leave readonlyRootFilesystem out", key(in.Node))
		}
	}
}

package lint

import (
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// The parts of sentences that state a refusal, and those of advice.
var (
	refuses = regexp.MustCompile(`\b(cannot|can't|can only|must( then)?|requires|Required|unable|are(n't| not)|is not supported|doesn't (support|fit|attempt)|does not (support|exist)|not found|` +
		`limit of|maximum of|invalid|EINVAL|FAILED|blocked|deadlock|will wait|is not considered finished|higher than|error and exit)\b`)
	advises = regexp.MustCompile(`(?i)\b(should|recommend|don't|isn't applicable|must not specify|might|may|reserved)\b`)
)

// An error needs more than documentation, or a sentence of a document that states the refusal.
func TestErrorsAreCertain(t *testing.T) {
	for _, r := range Documented() {
		switch {
		case r.Evidence == "":
			t.Errorf("%s has no evidence", r.Name)
		case (r.Quote != "") != (r.Severity == diag.Error && r.Evidence == Documentation):
			t.Errorf("%s is %s by %s (%s), with the quote %q", r.Name, r.Severity, r.Evidence, r.Source, r.Quote)
		case r.Quote != "" && (!refuses.MatchString(r.Quote) || advises.MatchString(r.Quote)):
			t.Errorf("%s: the quote does not state a refusal: %q", r.Name, r.Quote)
		case len(strings.Fields(r.Quote)) > 25:
			t.Errorf("%s: the quote is long: %q", r.Name, r.Quote)
		case r.Severity == diag.Warning && r.Evidence == APIModel:
			t.Errorf("%s is a warning about what the API model rules out", r.Name)
		case r.Severity == diag.Error && strings.Contains(r.Source, derived):
			t.Errorf("%s is an error that only follows from the documentation", r.Name)
		case r.canWarn && (r.Severity != diag.Error || r.Evidence == Documentation):
			t.Errorf("%s sometimes warns, but has no certain errors", r.Name)
		case r.Severity == diag.Error && r.Confidence == Low:
			t.Errorf("%s is an error of low confidence", r.Name)
		}
	}
}

// Each quote from the API references of AWS Batch and Amazon ECS is in the comments of the SDK, which AWS generates
// from them.
func TestQuotesAreInTheReference(t *testing.T) {
	text := strings.NewReplacer(" ", "", "\n", "", "\t", "", "//", "", "\u2019", "'")
	var reference strings.Builder
	for _, service := range []string{"batch", "batch/types", "ecs/types"} {
		p, err := build.Import("github.com/aws/aws-sdk-go-v2/service/"+service, ".", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.GoFiles {
			comments, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(&reference, string(comments))
		}
	}
	quoted := 0
	for _, r := range Rules() {
		if r.Quote == "" || !strings.HasPrefix(r.Source, apiReference) && !strings.HasPrefix(r.Source, ecsAPI) {
			continue
		}
		if quoted++; !strings.Contains(reference.String(), text.Replace(r.Quote)) {
			t.Errorf("%s: %s does not say %q", r.Name, r.Source, r.Quote)
		}
	}
	if quoted < 25 {
		t.Errorf("only %d quotes are from the references", quoted)
	}
}

// The class of a source, for sources of each kind.
func TestEvidenceOfSources(t *testing.T) {
	for source, want := range map[string]Evidence{
		tried("Volume.name"):                             ServiceAnswer,
		api("Volume.name"):                               APIModel,
		guide("job timeouts"):                            Documentation,
		derived:                                          Documentation,
		jsonStandard + ", section 4":                     FileFormat,
		cfnSchema + "AWS::Batch::JobQueue":               APIModel,
		"the service's error quoted in public files":     ServiceAnswer,
		"cfn-lint's schema of AWS::Batch::JobDefinition": Documentation,
		ecsUnits: Documentation,
	} {
		if got := evidenceOf(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

// Each rule's own example is waived in the platform file, and in job files that it consists
// of, except where the evidence is certain.
func TestEveryUncertainProblemCanBeWaived(t *testing.T) {
	inJobFiles := 0
	for _, r := range Rules() {
		if r.Scope == waiverTopic {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			waiver := fmt.Sprintf(`{ "rule": %q, "reason": "agreed" }`, r.Name)
			hold := func(place string, seen diag.List) {
				t.Helper()
				if len(seen) == 0 {
					t.Errorf("%s: the example breaks nothing", place)
				}
				for _, d := range seen {
					want := r.Scope == policyTopic || d.Severity == diag.Warning || r.Evidence == Documentation
					if (d.Waived != nil) != want {
						t.Errorf("%s: %s: waived %v, want %v", place, d.Error(), d.Waived != nil, want)
					}
				}
			}
			docs, platform := exampleUnder(t, r, waiver)
			hold("platform file", byRule(Check(docs, platform, Rules()), r.Name))

			docs, platform = exampleUnder(t, r, "")
			compact := len(docs) > 0
			for _, f := range docs {
				compact = compact && (f.Kind == document.KindJob || f.Kind == document.KindWorkflow)
				for _, j := range f.Jobs {
					j.Waivers = append(j.Waivers, waiverOf(tree(waiver)))
				}
			}
			if compact {
				inJobFiles++
				hold("job file", byRule(Check(docs, platform, Rules()), r.Name))
			}
		})
	}
	if inJobFiles < 40 {
		t.Errorf("only %d examples are job files", inJobFiles)
	}
}

// exampleUnder loads the bad example of a rule below its platform file, to which it adds a
// waiver.
func exampleUnder(t *testing.T, r Rule, waiver string) (docs []*document.File, platform *document.Platform) {
	t.Helper()
	e := example(t, r.Name)
	text := "{}"
	own, ok := e.Bad.Platform()
	if ok {
		text = own.Text
	}
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "{"))
	if rest != "}" {
		rest = ", " + rest
	}
	f, problems := document.Load(diag.NewSource(document.PlatformFile, fmt.Sprintf(`{ "waivers": [%s]%s`, waiver, rest)), document.Options{Kind: document.KindPlatform})
	if f == nil || f.Platform == nil {
		t.Fatal(problems)
	}
	if ok && r.Scope == "platform" {
		return []*document.File{f}, f.Platform
	}
	for _, file := range e.Bad.Documents() {
		doc, found := loadSource(diag.NewSource(file.Name, file.Text), f.Platform, fileIn(e.Bad))
		if doc == nil {
			t.Fatal(found)
		}
		docs = append(docs, doc)
	}
	return docs, f.Platform
}

// A waiver of the platform file can be for some names only, and an ended one is named.
func TestPlatformWaiverOfNames(t *testing.T) {
	const definition = `{ "jobDefinitionName": %q, "type": "container", "timeout": { "attemptDurationSeconds": 60 }, "containerProperties": { "image": "busybox:latest", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] } }`
	platform, problems := document.Load(diag.NewSource(document.PlatformFile, `{ "waivers": [
		{ "rule": "image-latest", "reason": "agreed", "jobs": ["train-*", "eval"] },
		{ "rule": "image-latest", "reason": "agreed", "jobs": ["old"], "until": "2001-01-01" }] }`), document.Options{Kind: document.KindPlatform})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, want := range map[string]string{"train-a": "waived", "eval": "waived", "evaluate": "", "old": "its waiver ended on 2001-01-01"} {
		found := byRule(Check([]*document.File{file(fmt.Sprintf(definition, name))}, platform.Platform, Rules()), "image-latest")
		if len(found) != 1 || (found[0].Waived != nil) != (want == "waived") || want != "waived" && !strings.HasSuffix(found[0].Message, want) {
			t.Errorf("%s: %v, want %q", name, found, want)
		}
	}
	found := Check([]*document.File{platform}, platform.Platform, Rules())
	if len(found) != 1 || found[0].Rule != "waiver-expired" {
		t.Errorf("the platform file: %v", found)
	}
}

// A warning about the form of a document can be waived in both places, by the name that the
// report shows; an error cannot.
func TestFormIsWaived(t *testing.T) {
	platform, _ := document.Load(diag.NewSource(document.PlatformFile, `{ "waivers": [{ "rule": "jobdef-unknown-member", "reason": "newer" }, { "rule": "unknown-member", "reason": "newer" }] }`), document.Options{Kind: document.KindPlatform})
	if found := Check([]*document.File{platform}, platform.Platform, Rules()); len(found) > 0 {
		t.Errorf("the platform file: %v", found)
	}
	const job = `{ "name": "a", "image": "x:1", "timeout": "1h", "resources": { "vcpus": 1, "memory": 2048 }, %s }`
	newer := `"jobDefinition": { "containerProperties": { "quantumCores": 3 } }`
	waivers := `, "waivers": [{ "rule": "jobdef-unknown-member", "reason": "newer" }, { "rule": "unknown-member", "reason": "newer" }]`
	for _, tt := range []struct {
		text     string
		platform *document.Platform
		want     bool
	}{
		{newer, nil, false}, {newer, platform.Platform, true}, {newer + waivers, nil, true}, {`"comand": ["a"]` + waivers, nil, false},
	} {
		f, form := document.Load(diag.NewSource("t.json", fmt.Sprintf(job, tt.text)), document.Options{Platform: tt.platform})
		form = Waive(f, tt.platform, form)
		for _, found := range []diag.List{form, Settle(append(form, Check([]*document.File{f}, tt.platform, Rules())...))} {
			for _, d := range found {
				if ours := strings.HasSuffix(d.Rule, "unknown-member"); ours && (d.Waived != nil) != tt.want {
					t.Errorf("%s: %v: waived %v, want %v", tt.text, d, d.Waived != nil, tt.want)
				}
			}
			if len(found) == 0 {
				t.Errorf("%s: nothing found", tt.text)
			}
		}
	}
}

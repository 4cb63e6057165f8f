package cmdline

import (
	"slices"
	"strings"
)

// Vocabulary is what our commands are called by the AWS CLI (aws batch WORD) and by the
// tools that people come from. A word of theirs is no second name: it is answered with
// ours, so that scripts and what people tell each other stay the same.
var Vocabulary = []synonyms{
	{"validate", []string{"check", "lint", "test"}},
	{"validate --rules", []string{"rules"}},
	{"plan", []string{"diff", "preview", "dry-run", "register", "register-job-definition"}},
	{"cost", []string{"price", "prices", "estimate"}},
	{"submit", []string{"apply", "create", "submit-job"}},
	{"retry", []string{"rerun", "resubmit"}},
	{"run", []string{"exec", "execute", "local"}},
	{"gc", []string{"clean", "prune", "deregister-job-definition"}},
	{"status", []string{"describe", "describe-jobs", "get", "show", "inspect"}},
	{"list", []string{"ls", "ps", "jobs", "history", "list-jobs"}},
	{"logs", []string{"tail"}},
	{"wait", []string{"attach"}},
	{"stop", []string{"cancel", "cancel-job", "terminate", "terminate-job", "kill", "abort", "delete", "rm"}},
	{"explain", []string{"why", "debug", "diagnose"}},
	{"queues", []string{"describe-job-queues", "describe-compute-environments", "get-job-queue-snapshot"}},
	{"infra deploy", []string{"deploy", "create-job-queue", "update-job-queue", "create-compute-environment", "update-compute-environment"}},
	{"infra destroy", []string{"destroy", "delete-job-queue", "delete-compute-environment"}},
	{"top", []string{"watch", "monitor", "dashboard"}},
	{"serve", []string{"server", "daemon", "engine"}},
	{"init", []string{"new"}},
	{"fmt", []string{"format"}},
}

// flagVocabulary is the same for flags. Which of ours is meant depends on what the command has.
var flagVocabulary = []synonyms{
	{"--output", []string{"--format", "--output-format"}},
	{"--queue", []string{"--job-queue"}},
	{"--status", []string{"--job-status", "--state"}},
	{"--parameters", []string{"--params"}},
	{"--env", []string{"--environment"}},
	{"--endpoint-url", []string{"--endpoint"}},
	{"--follow", []string{"--watch"}},
	{"--wait", []string{"--watch", "--follow"}},
	{"--yes", []string{"--force", "--auto-approve"}},
}

// synonyms are other words for a name of ours.
type synonyms struct {
	Name  string
	Words []string
}

// ours returns the name that a word of another tool stands for, "" for none
// or the name is not there to be used.
func ours(vocabulary []synonyms, word string, usable func(name string) bool) string {
	for _, s := range vocabulary {
		if slices.Contains(s.Words, strings.ToLower(word)) && usable(s.Name) {
			return s.Name
		}
	}
	return ""
}

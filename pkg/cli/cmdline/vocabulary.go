package cmdline

import (
	"slices"
	"strings"
)

// Vocabulary has the names of batchctl's commands in the AWS CLI (aws batch NAME) and in
// other tools. These names are no aliases: the error shows batchctl's name, so that every
// script uses the same one.
var Vocabulary = []synonyms{
	{"validate", []string{"check", "lint", "test"}},
	{"validate --rules", []string{"rules"}},
	{"plan", []string{"preview", "dry-run", "register", "register-job-definition"}},
	{"cost", []string{"price", "prices", "estimate"}},
	{"submit", []string{"create", "submit-job"}},
	{"retry", []string{"rerun", "resubmit"}},
	{"run", []string{"exec", "execute", "local"}},
	{"gc", []string{"clean", "prune", "deregister-job-definition"}},
	{"status", []string{"describe", "describe-jobs", "get", "show", "inspect"}},
	{"list", []string{"ls", "ps", "jobs", "list-jobs"}},
	{"logs", []string{"tail"}},
	{"wait", []string{"attach"}},
	{"stop", []string{"cancel", "cancel-job", "terminate", "terminate-job", "kill", "abort", "delete", "rm"}},
	{"explain", []string{"why", "debug", "diagnose"}},
	{"history", []string{"attempts", "sacct"}},
	{"advise", []string{"advice", "recommend", "rightsize", "right-size"}},
	{"diff", []string{"compare"}},
	{"queues", []string{"describe-job-queues", "describe-compute-environments", "get-job-queue-snapshot"}},
	{"infra deploy", []string{"deploy", "create-job-queue", "update-job-queue", "create-compute-environment",
		"update-compute-environment"}},
	{"infra destroy", []string{"destroy", "delete-job-queue", "delete-compute-environment"}},
	{"top", []string{"watch", "monitor", "dashboard"}},
	{"serve", []string{"server", "daemon", "engine"}},
	{"init", []string{"new"}},
	{"fmt", []string{"format"}},
}

// flagVocabulary is the same for flags. One name can stand for several flags; the first one
// that the command has is meant.
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

// synonyms are the names of other tools for one of batchctl's names.
type synonyms struct {
	Name  string
	Other []string
}

// ours returns batchctl's name for a name of another tool. It returns "" if there
// is none, or if usable rejects it.
func ours(vocabulary []synonyms, other string, usable func(name string) bool) string {
	for _, s := range vocabulary {
		if slices.Contains(s.Other, strings.ToLower(other)) && usable(s.Name) {
			return s.Name
		}
	}
	return ""
}

package document

import (
	"net/url"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// notifyMember is the receivers of a message when the job has ended.
var notifyMember = member{name: "notify", ofPlatform: true, read: readReceivers,
	noNative: func(job *Job) (why, hint string) {
		if len(job.Notify) == 0 {
			return "", ""
		}
		return "AWS Batch does not send messages, so notify has no native form", submitInstead
	}}

// readReceivers reads the receivers of notifications.
func readReceivers(l *lowering, n *jsontree.Node, job *Job) {
	receivers := []*jsontree.Node{n}
	if n.Is(jsontree.Array) {
		receivers = slices.Collect(n.Children())
	}
	for _, r := range receivers {
		if !r.Is(jsontree.String) || isPlaceholder(r) {
			continue
		}
		if why, hint := CheckReceiver(r.Text); why != "" {
			l.report(RuleBadValue, r, r.Span, hint, "%s", why)
			continue
		}
		if !slices.Contains(job.Notify, r.Text) {
			job.Notify, job.NotifyNodes = append(job.Notify, r.Text), append(job.NotifyNodes, r)
		}
	}
}

// CheckReceiver returns why a text is not a receiver of notifications, and a hint; "" for a URL or
// the ARN of a topic. It does not show the text, since a URL can contain a secret.
func CheckReceiver(text string) (why, hint string) {
	const form = `write an https:// URL, or the ARN of an SNS topic`
	if strings.HasPrefix(text, "arn:") {
		parts := strings.Split(text, ":")
		if len(parts) != 6 || parts[2] != "sns" || parts[3] == "" || parts[4] == "" || parts[5] == "" {
			return "this is not the ARN of an SNS topic", `write arn:aws:sns:REGION:ACCOUNT:NAME`
		}
		if !isTopicName(parts[5]) {
			return "the ARN has no name of an SNS topic",
				"write 1 to 256 letters, digits, hyphens and underscores; the name of a FIFO topic ends in .fifo"
		}
		return "", ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "this is neither an https:// URL nor the ARN of an SNS topic", form
	case u.User != nil:
		return "the URL contains a user or a password, which every reader of this file can see",
			"use a URL with the receiver's token in its path, or an SNS topic"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "the URL is not encrypted", "write https://; http:// works only for this machine"
	}
	return "", ""
}

// isTopicName reports whether SNS accepts a name (API reference, CreateTopic).
func isTopicName(name string) bool {
	return len(name) <= 256 && strings.Trim(strings.TrimSuffix(name, ".fifo"),
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == "" && name != ".fifo"
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.") &&
		!strings.ContainsFunc(host, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
}

package batch

import "strings"

// UnknownAccount stands for the account in the label of a target if the account could not be queried.
const UnknownAccount = "(account not known)"

// WithoutAccount removes the account from the label of a target, such as `aws 123456789012 us-east-1`.
func WithoutAccount(label string) string {
	rest, ok := strings.CutPrefix(label, "aws ")
	if !ok {
		return label
	}
	if after, ok := strings.CutPrefix(rest, UnknownAccount+" "); ok {
		return "aws " + after
	}
	if account, after, ok := strings.Cut(rest, " "); ok && strings.Trim(account, "0123456789") == "" {
		return "aws " + after
	}
	return label
}

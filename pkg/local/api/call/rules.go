package call

// BrokenRules is an error of a check of requests. The answer has its message, and its notice the names of the rules: a
// client may compare messages with those of AWS Batch, which have no such names.
type BrokenRules struct {
	Message string
	Rules   []string
}

// Error returns the message, without the rules.
func (b *BrokenRules) Error() string { return b.Message }

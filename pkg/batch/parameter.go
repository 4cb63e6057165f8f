package batch

import "strings"

// DirectoryParameter is the parameter of SubmitJob with the absolute path of the job file's directory, which batchctl
// sends to the local engine and never to AWS. No command can refer to it, because of its colon.
const DirectoryParameter = "batchctl:directory"

// ParameterReference returns the name of the parameter that an element of a command stands
// for: the whole element is Ref::name. AWS documents only this form. Public job definitions
// also have Ref::name inside a longer element, and nothing public says what AWS does with
// it, so batchctl leaves such an element unchanged.
func ParameterReference(element string) (name string, ok bool) {
	name, ok = strings.CutPrefix(element, "Ref::")
	ok = ok && name != "" && strings.IndexFunc(name, func(r rune) bool { return !inParameterName(r) }) < 0
	if !ok {
		return "", false
	}
	return name, true
}

// inParameterName reports whether a parameter's name can contain a character: a letter, a
// digit, a hyphen, an underscore or a period.
func inParameterName(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
}

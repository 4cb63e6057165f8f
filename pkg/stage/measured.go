package stage

import "strings"

// measuredFolder is the folder beside a job's outputs with the measurements of its attempts.
const measuredFolder = ".batchctl-measured/"

// IsMeasurement reports whether a key, or a name below a prefix, is that of a measurement. Downloads of
// a prefix leave such objects out: they are not part of an output.
func IsMeasurement(name string) bool {
	return strings.HasPrefix(name, measuredFolder) || strings.Contains(name, "/"+measuredFolder)
}

// MeasuredAt returns where the measurement of an attempt is, beside the first output in S3: "" without
// one, or if a variable is unknown. The id of a job, or of a child with its index, and the number of the
// attempt are part of the key, so no two attempts share one.
func (d *Document) MeasuredAt(look func(name string) (string, bool)) string {
	for _, out := range d.Outputs {
		url, err := Expand(out.To, look)
		if err != nil || !strings.HasPrefix(url, "s3://") || strings.Count(url, "/") < 3 {
			continue
		}
		key, err := Expand("${"+jobIDVariable+"}/${"+attemptVariable+"}.json", look)
		if err != nil {
			return ""
		}
		return url[:strings.LastIndexByte(url, '/')+1] + measuredFolder + strings.Replace(key, ":", "/", 1)
	}
	return ""
}

// MeasuredAt is Document.MeasuredAt for this container. A document that cannot be read has no place.
func (s *Stager) MeasuredAt() string {
	text, _ := s.variable(Variable)
	d, err := Parse(text)
	if err != nil {
		return ""
	}
	return d.MeasuredAt(s.expansion)
}

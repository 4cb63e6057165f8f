package diag

import (
	"encoding/xml"
	"io"
)

type checkstyle struct {
	XMLName xml.Name          `xml:"checkstyle"`
	Version string            `xml:"version,attr"`
	Files   []*checkstyleFile `xml:"file"`
}

type checkstyleFile struct {
	Name   string            `xml:"name,attr"`
	Errors []checkstyleError `xml:"error"`
}

type checkstyleError struct {
	Line     int    `xml:"line,attr"`
	Column   int    `xml:"column,attr"`
	Severity string `xml:"severity,attr"`
	Message  string `xml:"message,attr"`
	Source   string `xml:"source,attr"`
}

// writeCheckstyle writes the problems as the XML report of Checkstyle's XMLLogger
// (https://checkstyle.org), which many review bots read. It has a file element for every file
// with problems, in the order of the list, with an error element for each. source is the rule.
// A problem without a source is at 1:1 of the file "-". Waived problems are left out, because
// the report cannot express them. Everything that could not be checked is an error of the file "-".
// The error is that of w.
func writeCheckstyle(w io.Writer, l List, unread []string) error {
	report := checkstyle{Version: "4.3"}
	files := map[string]*checkstyleFile{}
	for _, d := range l.Open().masked() {
		name := Printable(d.file())
		f := files[name]
		if f == nil {
			f = &checkstyleFile{Name: name}
			files[name] = f
			report.Files = append(report.Files, f)
		}
		r := d.region()
		f.Errors = append(f.Errors, checkstyleError{r.StartLine, r.StartColumn, d.Severity.String(),
			Printable(d.advice()), Printable(d.ruleID())})
	}
	if len(unread) > 0 {
		f := &checkstyleFile{Name: noFile}
		for _, why := range unread {
			f.Errors = append(f.Errors, checkstyleError{1, 1, Error.String(), Printable(why), unreadRule})
		}
		report.Files = append(report.Files, f)
	}
	return writeXML(w, report)
}

// writeXML writes v as an XML document. Texts must be printable: XML has no way to
// write some characters, and encoding/xml replaces them without an error.
func writeXML(w io.Writer, v any) error {
	text, err := xml.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(xml.Header + string(text) + "\n"))
	return err
}

package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// completion answers textDocument/completion. Without a document, or outside its root, the
// list is empty.
func (s *server) completion(p positionParams) (any, error) {
	list := completionList{Items: []completionItem{}}
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return list, nil
	}
	c := &completer{server: s, doc: d, cursor: cursorAt(d.text.s, d.text.offset(p.Position, s.encoding))}
	c.file, c.platform = s.read(d)
	if c.file == nil || c.cursor.top() == nil {
		return list, nil
	}
	c.steps = c.cursor.path()
	c.schemas = topOf(c.file.Kind).at(c.steps)
	switch c.cursor.want {
	case wantName:
		c.names()
	case wantValue:
		c.values()
	}
	list.Items = append(list.Items, c.items...)
	return list, nil
}

// read returns the document's file and its platform, or nil if batchctl does not read such
// documents. A text that is not recognised yet is parsed only for this call.
func (s *server) read(d *openDocument) (*document.File, *document.Platform) {
	s.check()
	p, err := s.checker.PlatformOf(d.document())
	if err != nil {
		return nil, nil
	}
	if d.file != nil {
		return d.file, p.Content
	}
	file, _, _ := s.checker.Load(d.document())
	if file == nil || !d.known && !begun(file, p.Path != "") {
		return nil, nil
	}
	if file.Kind == "" {
		file.Kind = document.KindJob
	}
	return file, p.Content
}

// begun reports whether a text that is not recognised yet may become a document of
// batchctl: all of its members are known. A text with no member, or only a name, may be
// any file; then a platform file that governs the directory decides.
func begun(file *document.File, governed bool) bool {
	top, promising := topOf(file.Kind), governed
	for m := range file.Root.Children() {
		if known(top, m.Name) == "" {
			return false
		}
		promising = promising || m.Name != "name"
	}
	return promising && file.Root.Is(jsontree.Object)
}

// completer collects the completions at the cursor.
type completer struct {
	*server
	doc      *openDocument
	file     *document.File
	platform *document.Platform
	cursor   cursor
	// steps and schemas belong to the innermost open bracket.
	steps   []step
	schemas applicable
	items   []completionItem
}

// container returns the node of the innermost open bracket, or nil.
func (c *completer) container() *jsontree.Node { return startingAt(c.file.Root, c.cursor.top().start) }

// startingAt returns the value that begins at that offset; nil for no such value.
func startingAt(n *jsontree.Node, offset int) *jsontree.Node {
	if n == nil || n.Span.Start == offset {
		return n
	}
	for child := range n.Children() {
		if child.Span.Start <= offset && offset < child.Span.End {
			return startingAt(child, offset)
		}
	}
	return nil
}

// names offers the members that the object can have and does not have.
func (c *completer) names() {
	present := map[string]bool{}
	for m := range c.container().Children() {
		present[m.Name] = present[m.Name] || m.Key.Start != c.cursor.token.Start
	}
	span := c.cursor.replaced(c.doc.text.s)
	for _, m := range c.schemas.members() {
		if present[m.name] {
			continue
		}
		item := c.item(m.name, itemProperty, span, quote(m.name))
		item.Detail = m.place.title()
		if m.required {
			item.Detail = strings.TrimPrefix(item.Detail+", required", ", ")
		}
		item.Documentation = markdown(m.place.explain(m.name, c.schemas.link()))
		c.value(&item, m.place, span)
		if i := c.cursor.comma; i >= 0 {
			at := c.doc.text.spanToRange(diag.Span{Start: i, End: i}, c.encoding)
			item.AdditionalTextEdits = []textEdit{{at, ","}}
		}
		c.items = append(c.items, item)
	}
}

// templates are empty values by JSON type; the cursor goes to $1.
var templates = map[string]string{"string": `"$1"`, "object": "{$1}", "array": "[$1]"}

// value adds the colon, an empty value and the comma to the name in an item, if the text after
// it lacks them.
func (c *completer) value(item *completionItem, p applicable, span diag.Span) {
	rest := strings.TrimLeft(c.doc.text.s[span.End:], " \t\r\n")
	if strings.HasPrefix(rest, ":") {
		return
	}
	value := "$1"
	if types := p.types(); len(types) > 0 && templates[types[0]] != "" {
		value = templates[types[0]]
	}
	if strings.HasPrefix(rest, `"`) {
		value += ","
	}
	text := item.TextEdit.NewText
	if !c.client.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport {
		item.TextEdit.NewText = text + ": " + strings.Replace(value, "$1", "", 1)
		return
	}
	item.InsertTextFormat = formatSnippet
	item.TextEdit.NewText = strings.ReplaceAll(text, "$", `\$`) + ": " + value
}

// values offers values for the cursor from the schema, the platform file and the workflow.
func (c *completer) values() {
	span := c.cursor.replaced(c.doc.text.s)
	p := c.schemas.step(c.cursor.top().step())
	add := func(kind int, text, detail string) {
		if c.cursor.quoted && !strings.HasPrefix(text, `"`) {
			return
		}
		item := c.item(strings.Trim(text, `"`), kind, span, text)
		item.Detail = detail
		if !slices.ContainsFunc(c.items, func(i completionItem) bool { return i.TextEdit.NewText == text }) {
			c.items = append(c.items, item)
		}
	}
	for _, w := range c.declaredNames(p) {
		add(itemReference, quote(w.text), w.detail)
	}
	for n := range p.each("enum") {
		add(itemEnumMember, source(n), "")
	}
	if slices.Contains(p.types(), "boolean") {
		add(itemValue, "true", "")
		add(itemValue, "false", "")
	}
	for n := range p.each("examples") {
		add(itemValue, source(n), "example")
	}
}

// source returns a value as written in its text.
func source(n *jsontree.Node) string { return n.Source.Text[n.Span.Start:n.Span.End] }

// item adds an item that replaces the span. The editor shows the items in the order in
// which they were added.
func (c *completer) item(label string, kind int, span diag.Span, text string) completionItem {
	item := completionItem{
		Label: label, Kind: kind, FilterText: text, InsertTextFormat: formatPlain,
		SortText: fmt.Sprintf("%04d", len(c.items)),
		TextEdit: textEdit{c.doc.text.spanToRange(span, c.encoding), text},
	}
	if !c.cursor.quoted {
		item.FilterText = label
	}
	return item
}

// quote returns a text as a JSON string.
func quote(s string) string {
	// A string always encodes.
	text, _ := json.Marshal(s)
	return string(text)
}

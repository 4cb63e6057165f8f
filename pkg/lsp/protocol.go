package lsp

// The parts of the Language Server Protocol 3.17 that the server uses. Each type has the
// name of the protocol's interface, or a similar one, and only the members that are used.

// position is a line and a character in it, both from 0. The unit of characters is the
// encoding of the session.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// textRange is a range of positions; the end is exclusive.
type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// textEdit replaces a range of a document.
type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

// initializeParams are the capabilities of the client on which answers depend.
type initializeParams struct {
	Capabilities struct {
		General struct {
			PositionEncodings []encoding `json:"positionEncodings"`
		} `json:"general"`
		TextDocument struct {
			Completion struct {
				CompletionItem struct {
					SnippetSupport bool `json:"snippetSupport"`
				} `json:"completionItem"`
			} `json:"completion"`
		} `json:"textDocument"`
		Workspace struct {
			WorkspaceEdit struct {
				DocumentChanges bool `json:"documentChanges"`
			} `json:"workspaceEdit"`
			DidChangeWatchedFiles struct {
				DynamicRegistration bool `json:"dynamicRegistration"`
			} `json:"didChangeWatchedFiles"`
		} `json:"workspace"`
	} `json:"capabilities"`
}

type initializeResult struct {
	Capabilities serverCapabilities `json:"capabilities"`
	ServerInfo   serverInfo         `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// serverCapabilities tells the client which requests the server answers.
type serverCapabilities struct {
	PositionEncoding   encoding          `json:"positionEncoding"`
	TextDocumentSync   syncOptions       `json:"textDocumentSync"`
	HoverProvider      bool              `json:"hoverProvider"`
	CompletionProvider completionOptions `json:"completionProvider"`
	CodeActionProvider codeActionOptions `json:"codeActionProvider"`
	FormattingProvider bool              `json:"documentFormattingProvider"`
}

type syncOptions struct {
	OpenClose bool `json:"openClose"`
	Change    int  `json:"change"`
	Save      bool `json:"save"`
}

// incrementalSync allows a client to send only the parts of a text that changed
// (TextDocumentSyncKind).
const incrementalSync = 2

type completionOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

type codeActionOptions struct {
	CodeActionKinds []string `json:"codeActionKinds"`
}

// documentID names a document; without a version, in messages that have none, it is nil.
type documentID struct {
	URI     string `json:"uri"`
	Version *int   `json:"version,omitempty"`
}

type didOpenParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type didChangeParams struct {
	TextDocument   documentID      `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
}

// contentChange replaces a range of a text, or the whole text without a range.
type contentChange struct {
	Range *textRange `json:"range,omitempty"`
	Text  string     `json:"text"`
}

type documentParams struct {
	TextDocument documentID `json:"textDocument"`
}

type positionParams struct {
	TextDocument documentID `json:"textDocument"`
	Position     position   `json:"position"`
}

// publishParams are all problems of one document; an empty list removes the earlier ones.
type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// diagnostic is a problem as an editor shows it.
type diagnostic struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code,omitempty"`
	// CodeDescription links to the page about the rule.
	CodeDescription *codeDescription `json:"codeDescription,omitempty"`
	Source          string           `json:"source"`
	Message         string           `json:"message"`
	// Data is the fix, for clients that do not ask for code actions.
	Data *fixData `json:"data,omitempty"`
}

type codeDescription struct {
	Href string `json:"href"`
}

type fixData struct {
	Title string     `json:"title"`
	Edits []textEdit `json:"edits"`
}

type hoverResult struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

// markup is a text in Markdown.
type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(s string) *markup { return &markup{"markdown", s} }

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

// completionItem is a proposal with the edit that inserts it.
type completionItem struct {
	Label               string     `json:"label"`
	Kind                int        `json:"kind"`
	Detail              string     `json:"detail,omitempty"`
	Documentation       *markup    `json:"documentation,omitempty"`
	SortText            string     `json:"sortText"`
	FilterText          string     `json:"filterText"`
	InsertTextFormat    int        `json:"insertTextFormat"`
	TextEdit            textEdit   `json:"textEdit"`
	AdditionalTextEdits []textEdit `json:"additionalTextEdits,omitempty"`
}

// Kinds of completion items, and how their text is read.
const (
	itemProperty   = 10
	itemValue      = 12
	itemReference  = 18
	itemEnumMember = 20

	formatPlain   = 1
	formatSnippet = 2
)

type codeActionParams struct {
	TextDocument documentID `json:"textDocument"`
	Range        textRange  `json:"range"`
	Context      struct {
		Only []string `json:"only"`
	} `json:"context"`
}

// codeAction is an edit that the editor offers at a range.
type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics,omitempty"`
	IsPreferred bool          `json:"isPreferred,omitempty"`
	Edit        workspaceEdit `json:"edit"`
}

// workspaceEdit has one of its two members; the second one is for clients that check the
// version of the documents.
type workspaceEdit struct {
	Changes         map[string][]textEdit `json:"changes,omitempty"`
	DocumentChanges []documentEdit        `json:"documentChanges,omitempty"`
}

type documentEdit struct {
	TextDocument documentID `json:"textDocument"`
	Edits        []textEdit `json:"edits"`
}

// registrationParams ask the client to watch files that are not open in it.
type registrationParams struct {
	Registrations []registration `json:"registrations"`
}

type registration struct {
	ID      string       `json:"id"`
	Method  string       `json:"method"`
	Options watchOptions `json:"registerOptions"`
}

type watchOptions struct {
	Watchers []watcher `json:"watchers"`
}

type watcher struct {
	GlobPattern string `json:"globPattern"`
}

package infra

// Actions of a proposal.
const (
	Create = "create"
	Update = "update"
	None   = "none"
)

// Proposal is what deploying a template would change.
type Proposal struct {
	Stack string `json:"stack"`
	// Action is Create, Update or None.
	Action  string   `json:"action"`
	Changes []Change `json:"changes"`
	// Price is what the changes add to the monthly bill; nil for None.
	Price *Price `json:"price,omitempty"`
	// Replaced is the status of a stack that must be deleted and created again; "" for others.
	Replaced string `json:"replaces,omitempty"`

	set, stackID string // of the change set
}

package logsapi

import (
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/wire"
)

// The errors of CloudWatch Logs for an unknown group and an unknown stream. Clients distinguish
// them by their messages.
var errNoGroup = &wire.Fault{Type: "ResourceNotFoundException", Message: "The specified log group does not exist."}

var errNoStream = &wire.Fault{Type: "ResourceNotFoundException", Message: "The specified log stream does not exist."}

var errToken = call.Invalid("The specified nextToken is invalid.")

// The errors of CloudWatch Logs for a group and a stream that exist.
var errGroupExists = &wire.Fault{Type: "ResourceAlreadyExistsException",
	Message: "The specified log group already exists"}

var errStreamExists = &wire.Fault{Type: "ResourceAlreadyExistsException",
	Message: "The specified log stream already exists"}

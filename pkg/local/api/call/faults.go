package call

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Invalid returns the error of CloudWatch Logs and ECS for a parameter with an invalid value.
func Invalid(format string, args ...any) error {
	return &wire.Fault{Type: "InvalidParameterException", Message: fmt.Sprintf(format, args...)}
}

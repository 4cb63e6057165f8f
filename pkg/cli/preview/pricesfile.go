package preview

import "github.com/batchctl/batchctl/pkg/catalog"

// PricesFile is the value of --prices: the path of a file of prices that replaces the platform file's.
type PricesFile string

// Usage is the help of the flag.
func (PricesFile) Usage() string {
	return "a <FILE> of newer prices, or of other Regions, on demand and on Spot, with the columns " +
		catalog.PricesHead + " (default: the platform file's prices)"
}

package cmdline

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/catalog"
)

// Versions are the versions of the program and of the data in it.
type Versions struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Date is the time of the commit, as RFC 3339.
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// SDK is the version of the AWS SDK's Batch client, which defines the requests.
	SDK string `json:"sdk"`
	// InstanceTypes, FargateSizes and Prices are the dates of the built-in tables.
	InstanceTypes string `json:"instanceTypes"`
	FargateSizes  string `json:"fargateSizes"`
	Prices        string `json:"prices"`
}

// Version returns the versions. A build outside a repository has placeholders for
// version and commit.
func Version() Versions {
	own := buildinfo.Own()
	v := Versions{Version: own.Version, Commit: cmp.Or(own.Commit, "(commit not recorded)"),
		Date: "(date not recorded)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		InstanceTypes: catalog.InstanceTypesDate, FargateSizes: catalog.FargateSizesDate, Prices: catalog.PricesDate}
	if !own.Time.IsZero() {
		v.Date = own.Time.Format(time.RFC3339)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/aws/aws-sdk-go-v2/service/batch" {
			v.SDK = m.Version
		}
	}
	return v
}

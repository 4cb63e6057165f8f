package cmdline

import (
	"runtime"
	"runtime/debug"

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
	v := Versions{Version: "(devel)", Commit: "(commit not recorded)", Date: "(date not recorded)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		InstanceTypes: catalog.InstanceTypesDate, FargateSizes: catalog.FargateSizesDate, Prices: catalog.PricesDate}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/aws/aws-sdk-go-v2/service/batch" {
			v.SDK = m.Version
		}
	}
	return v
}

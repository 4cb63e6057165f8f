package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/mod/semver"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

const (
	// latestRelease describes the newest release that is no pre-release (GitHub's REST API, "Get the latest release").
	latestRelease = "https://api.github.com/repos/batchctl/batchctl/releases/latest"
	// latestTimeout is the time for the whole question.
	latestTimeout = 10 * time.Second
	// maxRelease limits the bytes of the answer.
	maxRelease = 1 << 20
)

// versionCommand is batchctl version.
func versionCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name: "version", Usage: "print version information",
		UsageText: "batchctl version [FLAGS]",
		Description: cmdline.Help("Include this in a bug report. Only --check sends a request. There is no telemetry.",
			"batchctl version\nbatchctl version --check"),
	}, versionOptions{URL: latestRelease, Output: cmdline.Outputs(cmdline.JSON[versionOutput]())},
		func(ctx context.Context, o versionOptions) error { return version(ctx, con, o) })
}

// versionOptions are the flags of version.
type versionOptions struct {
	Check bool   `flag:"check" usage:"check GitHub for a newer release"`
	URL   string `flag:"releases-url" usage:"query this <URL> instead, for a mirror"`
	cmdline.Output
}

// release is a release of batchctl, in GitHub's words.
type release struct {
	Tag string `json:"tag_name"`
	URL string `json:"html_url"`
}

// versionOutput is the JSON output of batchctl version.
type versionOutput struct {
	cmdline.Versions
	// Formats are the versions of the formats that this batchctl writes.
	Formats cmdline.Formats `json:"formats"`
	// Latest is the newest release, with --check.
	Latest string `json:"latest,omitempty"`
	// LatestURL is its page.
	LatestURL string `json:"latestUrl,omitempty"`
	// Outdated says whether Latest is newer than this program. It is missing if this program is not a release.
	Outdated *bool `json:"outdated,omitempty"`
}

// version prints the versions of the program. With --check, it also compares the program with the newest release.
func version(ctx context.Context, con *term.Console, o versionOptions) error {
	v := versionOutput{Versions: cmdline.Version(), Formats: cmdline.FormatVersions()}
	if o.Check {
		latest, err := newestRelease(ctx, o.URL)
		if err != nil {
			return exit.Fail(exit.NotDone, "check for a newer version: %v", err).
				Try("see https://github.com/batchctl/batchctl/releases, or name a mirror: --releases-url URL")
		}
		v.Latest, v.LatestURL = latest.Tag, latest.URL
		if semver.IsValid(v.Version) {
			outdated := semver.Compare(v.Version, latest.Tag) < 0
			v.Outdated = &outdated
		}
	}
	if o.Format == "json" {
		return con.JSON(v)
	}
	text := fmt.Sprintf("batchctl %s %s %s %s %s\naws-sdk-go-v2/service/batch %s\ninstance types of %s, Fargate sizes of %s, prices of %s\n",
		v.Version, v.Commit, v.Date, v.Go, v.Platform, v.SDK, v.InstanceTypes, v.FargateSizes, v.Prices)
	switch {
	case !o.Check:
	case v.Outdated == nil:
		text += fmt.Sprintf("newest release: %s, %s; this program is not a release\n", v.Latest, v.LatestURL)
	case *v.Outdated:
		text += fmt.Sprintf("newest release: %s, %s\n", v.Latest, v.LatestURL)
	default:
		text += "this is the newest release\n"
	}
	return con.PrintUnmasked(text)
}

// newestRelease asks a server for the newest release.
func newestRelease(ctx context.Context, url string) (release, error) {
	ctx, cancel := context.WithTimeout(ctx, latestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return release{}, err
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("User-Agent", "batchctl") // GitHub requires one; it has no version in it
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return release{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxRelease))
	if err != nil {
		return release{}, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return release{}, fmt.Errorf("%s: there is no release", url)
	default:
		return release{}, fmt.Errorf("%s: status %s", url, answer.Status)
	}
	var r release
	if err := json.Unmarshal(body, &r); err != nil || !semver.IsValid(r.Tag) {
		return release{}, fmt.Errorf("%s: the answer names no release", url)
	}
	return r, nil
}

package userdata

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// A script that another program completes is read with a word in each of its placeholders, and the other lines are
// still checked at their places.
func TestTemplatesOfOtherTools(t *testing.T) {
	const head = "#!/bin/bash\nset -euo pipefail\n"
	for script, want := range map[string]string{
		"mdadm --create ${{device}} --level 0 /dev/nvme1n1\n":               "",
		"mdadm --create ${{ device }} --level 0\nsystemctl start ecs\n":     ECSStart,
		"echo {{ size | default(100) }}\n":                                  "",
		"{% if gpu == \"yes\" and (a) %}\nnvidia-smi\n{% endif %}\n":        "",
		"mount <%= device %> /scratch\n":                                    "",
		"mdadm --create ${{device}} --level 0\nif true; then echo a\n":      Syntax,
		"echo \"${name:-a}\" '{{.Names}}'\nawk '{{print $1}}' /etc/hosts\n": "",
	} {
		src := diag.NewSource("t.sh", head+script)
		found := Check(FromSource(src), Host{Unknown: true})
		switch {
		case want == "" && len(found) > 0, want != "" && (len(found) != 1 || found[0].Rule != want):
			t.Errorf("%q: %v, want %q", script, found, want)
		}
	}
}

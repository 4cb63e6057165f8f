package catalog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// typeForm matches a type or a family: the series (c), the generation (8), what tells families of a
// generation apart (gn, i-6tb, -b200), and the size. The sizes are those that EC2 has used.
var typeForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z]+)([0-9]{1,2})([a-z0-9-]*)(\.(nano|micro|small|medium|large|xlarge|[0-9]+xlarge|metal|metal-[0-9]+xl))?$`)
})

// ended are the families that EC2 has ended.
var ended = []string{"cc1", "cc2", "cg1", "cr1", "f1", "hs1"}

// MayBeNewer reports whether an entry of instanceTypes that the catalogue does not know looks like a type or
// family that EC2 has added since: one of a new series, of one of the two newest generations of a known series, or of
// at most two more. It is false for a typo, a wrong case and an old generation, in which EC2 adds nothing.
func (c *Catalog) MayBeNewer(entry string) bool {
	parts := typeForm().FindStringSubmatch(entry)
	if parts == nil || slices.Contains(ended, parts[1]+parts[2]+parts[3]) || len(c.Expand(entry)) > 0 {
		return false
	}
	generation, err := strconv.Atoi(parts[2])
	newest := c.newest(parts[1])
	if newest == 0 { // EC2 numbers new series from 1, or as the other series of the time
		newest = c.newest("c")
		return err == nil && (generation == 1 || generation >= newest-2 && generation <= newest+2)
	}
	return err == nil && generation >= newest-1 && generation <= newest+2
}

// newest returns the newest generation of a series; 0 for an unknown series.
func (c *Catalog) newest(series string) (generation int) {
	for family := range c.orEmbedded().byFamily {
		rest, ok := strings.CutPrefix(family, series)
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(rest[:end]); ok && err == nil {
			generation = max(generation, n)
		}
	}
	return generation
}

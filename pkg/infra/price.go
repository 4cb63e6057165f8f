package infra

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// Price is what resources cost a month in US dollars, or what a change set adds to that. It does not include free
// tiers and discounts.
type Price struct {
	// Region is the Region of the prices, and Prices names their table with its date.
	Region string `json:"region"`
	Prices string `json:"prices"`
	// Charges are the resources with a price.
	Charges []Charge `json:"charges"`
	// Low and High are the sum of the charges. They differ where AWS chooses an instance type.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Usage names costs that depend on use.
	Usage []string `json:"usage,omitempty"`
	// Unknown is what the sum does not include.
	Unknown []Missing `json:"unknown,omitempty"`
}

// Missing is resources without a price, and the reason.
type Missing struct {
	Resources []string `json:"resources"`
	Why       string   `json:"why"`
}

// Charge is a resource that costs money whether it is used or not. A resource that a change set removes has
// negative amounts.
type Charge struct {
	Resource string `json:"resource"`
	// What names it in the singular, and How adds what its price depends on: "interface endpoint" " in 2 zones".
	What string  `json:"what"`
	How  string  `json:"how,omitempty"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Known reports whether the sum includes every resource.
func (p *Price) Known() bool { return len(p.Unknown) == 0 }

// Add adds another price.
func (p *Price) Add(o *Price) {
	p.Charges = append(p.Charges, o.Charges...)
	p.Low, p.High = p.Low+o.Low, p.High+o.High
	for _, text := range o.Usage {
		p.Usage = appendOnce(p.Usage, text)
	}
	for _, m := range o.Unknown {
		p.miss(m.Why, m.Resources...)
	}
}

// miss adds resources without a price.
func (p *Price) miss(why string, resources ...string) {
	i := slices.IndexFunc(p.Unknown, func(m Missing) bool { return m.Why == why })
	if i < 0 {
		i, p.Unknown = len(p.Unknown), append(p.Unknown, Missing{Why: why})
	}
	for _, name := range resources {
		p.Unknown[i].Resources = appendOnce(p.Unknown[i].Resources, name)
	}
}

// appendOnce appends a text that the list does not have.
func appendOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// NewPrice returns the price of nothing.
func NewPrice(prices *catalog.Prices, region string) *Price {
	return &Price{Region: region, Prices: prices.String(), Charges: []Charge{}}
}

// charge adds a resource. before is what it costs now, and after what it will cost; both have no price for a
// resource that does not exist.
func (p *Price) charge(resource string, before, after quote) {
	for _, text := range after.usage {
		p.Usage = appendOnce(p.Usage, text)
	}
	for _, q := range []quote{before, after} {
		if q.unknown != "" {
			p.miss(q.unknown, resource)
			return
		}
	}
	if before.low == after.low && before.high == after.high {
		return
	}
	c := Charge{Resource: resource, What: after.what, How: after.how, Low: after.low - before.low,
		High: after.high - before.high}
	switch {
	case after.what == "": // removed: the smallest saving is the higher end
		c.What, c.How, c.Low, c.High = before.what, before.how, after.low-before.high, after.high-before.low
	case before.what != "":
		c.How += ", changed"
	}
	p.Charges = append(p.Charges, c)
	p.Low, p.High = p.Low+min(c.Low, c.High), p.High+max(c.Low, c.High)
}

// PriceOf returns what all resources of templates cost that are deployed with these parameters, in their order.
// A template imports from those before it.
func PriceOf(templates []Template, given map[string]string, prices *catalog.Prices, region string) *Price {
	p := NewPrice(prices, region)
	exports := map[string]string{}
	for _, t := range templates {
		e, err := Evaluate(t.Body, given, exports, region)
		if err != nil {
			p.miss(err.Error(), t.Name)
			continue
		}
		p.resources(e, prices)
		maps.Copy(exports, e.Exports())
	}
	return p
}

// resources adds all resources of a template.
func (p *Price) resources(e *Evaluation, prices *catalog.Prices) {
	q := quoting{prices, p.Region, e}
	for _, r := range e.Resources() {
		after := q.quote(r)
		if r.Maybe && after.high > 0 {
			after = quote{unknown: "only CloudFormation knows whether it is created", usage: after.usage}
		}
		p.charge(r.Name, quote{}, after)
	}
}

// change adds a change of a change set. A retained resource continues to cost money.
func (p *Price) change(c Change, before, after *Evaluation, prices *catalog.Prices) {
	quoteIn := func(e *Evaluation) (quote, EvaluatedResource) {
		// A macro of the template can have added a resource that the text does not have.
		r := EvaluatedResource{Name: c.Name, Type: c.Type}
		if e != nil && e.Resource(c.Name) != nil {
			found, exists := e.resource(c.Name)
			if !exists {
				return quote{}, found
			}
			r = found
		}
		return quoting{prices, p.Region, e}.quote(r), r
	}
	switch c.Action {
	case "Add":
		q, _ := quoteIn(after)
		p.charge(c.Name, quote{}, q)
	case "Remove":
		if q, r := quoteIn(before); !r.Retained {
			p.charge(c.Name, q, quote{})
		}
	case "Modify":
		was, _ := quoteIn(before)
		is, _ := quoteIn(after)
		is.usage = nil // not new
		p.charge(c.Name, was, is)
	case "Dynamic":
		p.miss("CloudFormation decides what happens to it when the change set is executed", c.Name)
	}
}

// Standing describes the charges, alike ones together: "a NAT gateway", "10 interface endpoints in 2 zones".
func (p *Price) Standing() (list []string) {
	counts := map[Charge]int{}
	var kinds []Charge
	for _, c := range p.Charges {
		kind := Charge{What: c.What, How: c.How}
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		article := "a "
		if strings.ContainsRune("aeiouAEIOU", rune(kind.What[0])) {
			article = "an "
		}
		text := article + kind.What + kind.How
		if n := counts[kind]; n > 1 {
			text = fmt.Sprintf("%d %ss%s", n, kind.What, kind.How)
		}
		list = append(list, text)
	}
	return list
}

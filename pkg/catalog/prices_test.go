package catalog

import (
	"math"
	"strings"
	"testing"
)

func TestCarriedPrices(t *testing.T) {
	var none *Prices
	if got := none.String(); got != "prices of "+PricesDate {
		t.Errorf("called %q", got)
	}
	if !none.Has(PricesRegion) || len(none.Regions()) != 1 || !strings.Contains(none.orCarried().Source, "karpenter-provider-aws at ") {
		t.Errorf("Regions %v, source %q", none.Regions(), none.orCarried().Source)
	}
	for name, want := range map[string]float64{"m5.large": 0.096, "g5.8xlarge": 2.448, "c5.24xlarge": 4.08, "p5.48xlarge": 55.04} {
		if got, ok := none.Instance(PricesRegion, name); !ok || got != want {
			t.Errorf("%s costs %v, want %v", name, got, want)
		}
	}
	for platform, want := range map[string]FargatePrice{X86: {0.04048, 0.004445}, Arm: {0.03238, 0.00356}, Windows: {0.13748, 0.01005}} {
		if got, ok := none.Fargate(PricesRegion, platform); !ok || got != want {
			t.Errorf("Fargate on %s: %v, want %v", platform, got, want)
		}
	}
	if _, ok := none.Instance("eu-west-1", "m5.large"); ok || none.Has("eu-west-1") {
		t.Error("a Region that is not in the table has a price")
	}
}

// Nearly every type on which a job can be placed has a price. The exceptions are listed,
// so that an incomplete table does not pass.
func TestTypesWithoutPrice(t *testing.T) {
	var types *Catalog
	var prices *Prices
	var without []string
	for name := range types.orEmbedded().byName {
		if _, ok := prices.Instance(PricesRegion, name); !ok {
			without = append(without, name)
		}
	}
	if len(without) > 25 {
		t.Errorf("%d types have no price: %v", len(without), without)
	}
}

// A larger size of a family never costs less than a smaller one.
func TestPricesRiseWithSize(t *testing.T) {
	var types *Catalog
	var prices *Prices
	for family := range types.orEmbedded().byFamily {
		list := types.Expand(family)
		for i, a := range list {
			for _, b := range list[i+1:] {
				pa, okA := prices.Instance(PricesRegion, a.Name)
				pb, okB := prices.Instance(PricesRegion, b.Name)
				if okA && okB && b.VCPUs >= 2*a.VCPUs && b.MemoryMiB >= 2*a.MemoryMiB && pb < pa {
					t.Errorf("%s: %s costs %v and %s %v", family, a.Name, pa, b.Name, pb)
				}
			}
		}
	}
}

func TestReadPrices(t *testing.T) {
	p, err := ReadPrices(strings.NewReader("\ufeff# date: 2026-11-01\r\n# source: our contract\n# kept by finance\n"+PricesHead+"\n"+
		"eu-west-1,m5.large,0.107\n# a note\neu-west-1,fargate-arm64-vcpu,0.03\neu-west-1,fargate-arm64-gb,0.003\n"), "ours.csv")
	if err != nil {
		t.Fatal(err)
	}
	if p.String() != "ours.csv of 2026-11-01" || p.Source != "our contract" {
		t.Errorf("%s from %s", p, p.Source)
	}
	if usd, ok := p.Instance("eu-west-1", "m5.large"); !ok || usd != 0.107 {
		t.Errorf("m5.large: %v", usd)
	}
	if _, ok := p.Fargate("eu-west-1", X86); ok {
		t.Error("half a price was taken")
	}
	if price, ok := p.Fargate("eu-west-1", Arm); !ok || price != (FargatePrice{0.03, 0.003}) {
		t.Errorf("Fargate: %v", price)
	}
}

func TestSpotPrices(t *testing.T) {
	p, err := ReadPrices(strings.NewReader(PricesHead+"\neu-west-1,m5.large,0.107\neu-west-1,spot:m5.large,0.035-0.061\neu-west-1,spot:c5.large,0.04\n"+
		"eu-west-1,spot:fargate-x86_64-vcpu,0.012-0.015\neu-west-1,spot:fargate-x86_64-gb,0.0013-0.0016\neu-west-1,spot:fargate-arm64-gb,0.001\n"), "p")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]PricePeriod{"m5.large": {0.035, 0.061}, "c5.large": {0.04, 0.04}} {
		if got, ok := p.Spot("eu-west-1", name); !ok || got != want {
			t.Errorf("%s costs %v on Spot, want %v", name, got, want)
		}
	}
	if _, ok := p.Instance("eu-west-1", "c5.large"); ok {
		t.Error("a Spot price was taken for one on demand")
	}
	if low, high, ok := p.FargateSpot("eu-west-1", X86); !ok || low != (FargatePrice{0.012, 0.0013}) || high != (FargatePrice{0.015, 0.0016}) {
		t.Errorf("Fargate Spot: %v to %v", low, high)
	}
	if _, _, ok := p.FargateSpot("eu-west-1", Arm); ok {
		t.Error("half a price was taken")
	}
	var carried *Prices
	if carried.Day() != PricesDate || carried.Origin() == "" {
		t.Error("the carried table has no day or origin")
	}
	on := 0
	for name := range priced().spot[PricesRegion] {
		span, _ := carried.Spot(PricesRegion, name)
		if usd, ok := carried.Instance(PricesRegion, name); !ok || span.High != usd || span.Low > usd || span.Low < usd/10 {
			t.Errorf("%s costs %v on Spot and %v on demand", name, span, usd)
		}
		on++
	}
	if on < 800 {
		t.Errorf("%d types have a price on Spot", on)
	}
}

// TestMonthlyPrices: batchctl's own table has every item with a price a month or for each GB, and prices volumes.
func TestMonthlyPrices(t *testing.T) {
	var carried *Prices
	for _, item := range MonthlyItems() {
		if usd, ok := carried.Monthly(PricesRegion, item); !ok || usd <= 0 {
			t.Errorf("%s costs %v, %v", item, usd, ok)
		}
	}
	if _, ok := carried.Monthly(PricesRegion, "m5.large"); ok {
		t.Error("an instance type has a price a month")
	}
	for v, want := range map[Volume]float64{
		{Type: "gp3", GB: 60, IOPS: 3000, MiBps: 250}: 9.8, {Type: "gp3", GB: 10, IOPS: 100}: 0.8, {Type: "gp3", IOPS: 3100}: 0.5, {Type: "gp2", GB: 10, IOPS: 9000}: 1, {Type: "st1", GB: 1000}: 45,
		{Type: "io1", GB: 1}: -1, {Type: "", GB: 1}: -1, {Type: "gp3-iops"}: -1,
	} {
		if usd, ok := carried.VolumeMonth(PricesRegion, v); ok != (want >= 0) || ok && math.Abs(usd-want) > 1e-9 {
			t.Errorf("%+v costs %v %v, want %v", v, usd, ok, want)
		}
	}
}

func TestReadPricesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                          "it contains no on-demand price",
		PricesHead:                                  "it contains no on-demand price",
		"type,usd\nm5.large,1":                      "line 1: wrong number of fields",
		"a,b,c\n":                                   "line 1: want the header " + PricesHead,
		"# date: soon\n":                            `line 1: invalid date "soon": want a day`,
		PricesHead + "\nx,m5.large,0":               `line 2: invalid price "0" in usd_per_hour`,
		PricesHead + "\nx,m5.large,NaN":             `line 2: invalid price "NaN" in usd_per_hour`,
		PricesHead + "\nx,m5.large,$1":              `line 2: invalid price "$1" in usd_per_hour`,
		PricesHead + "\n,m5.large,1":                "line 2: no region",
		PricesHead + "\nx,m5,1":                     `line 2: unknown item "m5": want an instance type`,
		PricesHead + "\nx,fargate-vcpu,1":           `line 2: unknown item "fargate-vcpu": want one of`,
		PricesHead + "\nx,month:car,1":              `line 2: unknown item "month:car": want one of month:secret`,
		PricesHead + "\nx,gb:water,1":               `line 2: unknown item "gb:water": want one of month:secret`,
		PricesHead + "\nx,spot:nat-gateway,1":       "line 2: nat-gateway has no Spot price",
		PricesHead + "\nx,spot:month:secret,1":      "line 2: month:secret has no Spot price",
		PricesHead + "\nx,spot:m5,1":                `line 2: unknown item "m5": want an instance type`,
		PricesHead + "\nx,spot:a.b,2-1":             `line 2: invalid range "2-1" in usd_per_hour: write the lower price first`,
		PricesHead + "\nx,spot:a.b,1-":              `line 2: invalid price "" in usd_per_hour`,
		PricesHead + "\nx,a.b,1-2":                  `line 2: invalid price "1-2" in usd_per_hour`,
		PricesHead + "\nx,spot:a.b,1":               "it contains no on-demand price",
		PricesHead + "\nx,spot:a.b,1\nx,spot:a.b,1": "line 3: a second price for spot:a.b in x",
		PricesHead + "\nx,a.b,1\nx,a.b,2":           "line 3: a second price for a.b in x",
		"# n\n" + PricesHead + "\nx,\"a.b\nc,1":     `line 4: extraneous or missing " in quoted-field`,
	} {
		if _, err := ReadPrices(strings.NewReader(text), "p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadPrices(f *testing.F) {
	f.Add(PricesHead + "\nus-east-1,m5.large,0.096\nus-east-1,fargate-x86_64-vcpu,0.04\n")
	f.Add("# date: 2026-11-01\n# source: x\n" + PricesHead + "\na,b.c,1e3\n")
	f.Add("#\n#:\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadPrices(strings.NewReader(text), "")
		if err != nil {
			return
		}
		for _, region := range p.Regions() {
			for item := range p.regions[region] {
				if usd, ok := p.Instance(region, item); !ok || !(usd > 0 && usd <= mostPrice) {
					t.Errorf("%s in %s costs %v", item, region, usd)
				}
			}
		}
	})
}

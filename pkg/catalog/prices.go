package catalog

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/packed"
)

// PricesDate is the date of batchctl's own prices, the same as in prices.csv.
const PricesDate = "2026-07-20"

// PricesRegion is the Region of batchctl's own prices, which apply to Regions without
// prices.
const PricesRegion = "us-east-1"

// PricesHead is the header of a price file: one price a line, in US dollars an hour. Lines
// before it may have its date and origin, "# date: 2026-07-20" and "# source: ...", and
// describe the range of its Spot prices, "# spot: ...". An item is an instance type, or
// one of FargateItems, HourlyItems or MonthlyItems; the last have other units. With "spot:"
// before it, it has a Spot price, which may be a range: 0.035-0.061.
const PricesHead = "region,item,usd_per_hour"

// SpotItem is the prefix of an item with a Spot price.
const SpotItem = "spot:"

// FargateItems returns the items of Fargate's price in a price file: a vCPU and a GB of
// memory by platform, and a GB of storage beyond FargateStorageGB.
func FargateItems() []string {
	items := []string{fargateStorage}
	for _, platform := range []string{X86, Arm, Windows} {
		items = append(items, fargateItem(platform, "vcpu"), fargateItem(platform, "gb"))
	}
	return items
}

const (
	// Windows is a platform with its own Fargate price, in addition to X86 and Arm.
	Windows = "windows"
	// FargateStorageGB is the free storage of a task, in GB (Fargate pricing page).
	FargateStorageGB = 20

	fargateStorage = "fargate-storage-gb"
)

func fargateItem(platform, part string) string { return "fargate-" + platform + "-" + part }

// PricePeriod is the range of a price that changes, in US dollars an hour.
type PricePeriod struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Prices is a dated table of prices: on demand, and on Spot if its file has them. Nil is the
// table in batchctl. It does not include Savings Plans and discounts.
type Prices struct {
	// Date is the date of the table, such as 2026-07-20; "" if its file does not have it.
	Date string
	// Source is the origin of the prices; "" if the file does not have it.
	Source string
	// Between describes the range of the Spot prices; "" if the file does not, and they
	// are those of its date.
	Between string
	// name is the name of a supplied file.
	name    string
	regions map[string]map[string]float64
	// spot holds the items without SpotItem.
	spot map[string]map[string]PricePeriod
}

// priced parses the table on first use.
var priced = sync.OnceValue(func() *Prices {
	p, err := ReadPrices(strings.NewReader(packed.Text(files(), "prices.csv")), "")
	if err != nil {
		panic(err) // the data is part of the program, and a test reads all of it
	}
	return p
})

func (p *Prices) orCarried() *Prices {
	if p == nil {
		return priced()
	}
	return p
}

// String names the table by its date, and by its file if it was supplied: "prices of
// 2026-07-20", "prices.csv of 2026-11-01".
func (p *Prices) String() string {
	p = p.orCarried()
	what := "prices"
	if p.name != "" {
		what = p.name
	}
	if p.Date != "" {
		what += " of " + p.Date
	}
	return what
}

// Day returns the date of the table; "" if its file does not have it.
func (p *Prices) Day() string { return p.orCarried().Date }

// Origin returns the origin of the prices; "" if the file does not have it.
func (p *Prices) Origin() string { return p.orCarried().Source }

// Regions returns the Regions with prices, sorted.
func (p *Prices) Regions() []string {
	var list []string
	for region := range p.orCarried().regions {
		list = append(list, region)
	}
	slices.Sort(list)
	return list
}

// Has reports whether the table has prices for a Region.
func (p *Prices) Has(region string) bool {
	_, ok := p.orCarried().regions[region]
	return ok
}

// Instance returns the on-demand price of an instance type in US dollars an hour.
func (p *Prices) Instance(region, name string) (usd float64, ok bool) {
	usd, ok = p.orCarried().regions[region][name]
	return usd, ok
}

// FargatePrice is the on-demand price of Fargate in US dollars an hour.
type FargatePrice struct{ VCPU, GB float64 }

// Fargate returns the price of Fargate on a platform: X86, Arm or Windows.
func (p *Prices) Fargate(region, platform string) (price FargatePrice, ok bool) {
	items := p.orCarried().regions[region]
	vcpu, hasVCPU := items[fargateItem(platform, "vcpu")]
	gb, hasGB := items[fargateItem(platform, "gb")]
	return FargatePrice{vcpu, gb}, hasVCPU && hasGB
}

// SpotBetween describes the range of the Spot prices; "" if they are those of the table's
// date.
func (p *Prices) SpotBetween() string { return p.orCarried().Between }

// Spot returns the range of an instance type's Spot price at the date of the table. It
// changes often.
func (p *Prices) Spot(region, name string) (PricePeriod, bool) {
	s, ok := p.orCarried().spot[region][name]
	return s, ok
}

// FargateSpot returns the lowest and highest prices of Fargate Spot on a platform.
func (p *Prices) FargateSpot(region, platform string) (low, high FargatePrice, ok bool) {
	items := p.orCarried().spot[region]
	vcpu, hasVCPU := items[fargateItem(platform, "vcpu")]
	gb, hasGB := items[fargateItem(platform, "gb")]
	return FargatePrice{vcpu.Low, gb.Low}, FargatePrice{vcpu.High, gb.High}, hasVCPU && hasGB
}

// FargateStorage returns the price of a GB of a task's storage beyond
// FargateStorageGB, in US dollars an hour.
func (p *Prices) FargateStorage(region string) (usd float64, ok bool) {
	usd, ok = p.orCarried().regions[region][fargateStorage]
	return usd, ok
}

// ReadPricesFile reads a file as ReadPrices does.
func ReadPricesFile(path string) (*Prices, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	p, err := ReadPrices(f, filepath.Base(path))
	return p, withoutPath(err)
}

// withoutPath returns the cause of an error about a file: messages name the file themselves.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

const (
	maxPriceFile = 16 << 20
	// mostPrice is above any price an hour, and keeps products exact in a float64.
	mostPrice = 1e6
)

// ReadPrices reads a table with the header PricesHead. The name is the file's, for messages.
// It fails for any other format, an invalid price, and an item that is neither an instance
// type nor one of FargateItems.
func ReadPrices(r io.Reader, name string) (*Prices, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPriceFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxPriceFile {
		return nil, fmt.Errorf("longer than %d MiB", maxPriceFile>>20)
	}
	p := &Prices{name: name, regions: map[string]map[string]float64{}, spot: map[string]map[string]PricePeriod{}}
	skipped, body, err := p.readNotes(string(text))
	if err != nil {
		return nil, err
	}
	rows := csv.NewReader(strings.NewReader(body))
	rows.FieldsPerRecord = 3
	rows.Comment = '#'
	rows.ReuseRecord = true
	for first := true; ; first = false {
		row, err := rows.Read()
		if err == io.EOF {
			break
		}
		if slip, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, fmt.Errorf("line %d: %w", skipped+slip.Line, slip.Err)
		}
		if err != nil {
			return nil, err
		}
		line, _ := rows.FieldPos(0)
		switch {
		case !first:
			err = p.add(row)
		case strings.Join(row, ",") != PricesHead:
			err = fmt.Errorf("want the header %s", PricesHead)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", skipped+line, err)
		}
	}
	if len(p.regions) == 0 {
		return nil, errors.New("it contains no on-demand price")
	}
	return p, nil
}

// readNotes reads the lines before the header, and returns their number and what
// comes after them.
func (p *Prices) readNotes(text string) (lines int, body string, err error) {
	text = strings.TrimPrefix(text, "\ufeff")
	for strings.HasPrefix(text, "#") {
		line, rest, _ := strings.Cut(text, "\n")
		lines++
		key, value, _ := strings.Cut(strings.TrimPrefix(line, "#"), ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "date":
			if _, err := time.Parse(time.DateOnly, value); err != nil {
				return 0, "", fmt.Errorf("line %d: invalid date %q: want a day such as 2026-07-20", lines, value)
			}
			p.Date = value
		case "spot":
			p.Between = value
		case "source":
			p.Source = strings.TrimPrefix(p.Source+"; "+value, "; ")
		}
		text = rest
	}
	return lines, text, nil
}

func (p *Prices) add(row []string) error {
	region, item, figure := row[0], row[1], row[2]
	item, isSpot := strings.CutPrefix(item, SpotItem)
	if region == "" {
		return errors.New("no region")
	}
	if err := checkItem(item); err != nil {
		return err
	}
	if isSpot {
		return p.addSpot(region, item, figure)
	}
	usd, err := priceOf(figure)
	if err != nil {
		return err
	}
	return put(p.regions, region, item, usd, item)
}

func (p *Prices) addSpot(region, item, figure string) error {
	if slices.Contains(HourlyItems(), item) || slices.Contains(MonthlyItems(), item) {
		return fmt.Errorf("%s has no Spot price", item)
	}
	from, to, isRange := strings.Cut(figure, "-")
	if !isRange {
		to = from
	}
	low, err := priceOf(from)
	if err != nil {
		return err
	}
	high, err := priceOf(to)
	if err != nil {
		return err
	}
	if low > high {
		return fmt.Errorf("invalid range %q in usd_per_hour: write the lower price first", figure)
	}
	return put(p.spot, region, item, PricePeriod{low, high}, SpotItem+item)
}

func checkItem(item string) error {
	isFargate := strings.HasPrefix(item, "fargate")
	switch {
	case slices.Contains(HourlyItems(), item) || slices.Contains(MonthlyItems(), item):
	case strings.HasPrefix(item, MonthItem) || strings.HasPrefix(item, GBItem):
		return fmt.Errorf("unknown item %q: want one of %s", item, strings.Join(MonthlyItems(), " "))
	case isFargate && !slices.Contains(FargateItems(), item):
		return fmt.Errorf("unknown item %q: want one of %s", item, strings.Join(FargateItems(), " "))
	case !isFargate && !strings.Contains(item, "."):
		return fmt.Errorf("unknown item %q: want an instance type or one of %s", item,
			strings.Join(FargateItems(), " "))
	}
	return nil
}

func priceOf(figure string) (float64, error) {
	usd, err := strconv.ParseFloat(figure, 64)
	if err != nil || !(usd > 0 && usd <= mostPrice) { // NaN too
		return 0, fmt.Errorf("invalid price %q in usd_per_hour", figure)
	}
	return usd, nil
}

func put[T any](table map[string]map[string]T, region, item string, price T, called string) error {
	if table[region] == nil {
		table[region] = map[string]T{}
	}
	if _, twice := table[region][item]; twice {
		return fmt.Errorf("a second price for %s in %s", called, region)
	}
	table[region][item] = price
	return nil
}

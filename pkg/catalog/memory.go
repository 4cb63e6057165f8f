package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// MemoryFigure is the memory that a host of an instance type registered with ECS, as its users
// published it.
type MemoryFigure struct {
	// MiB is before AgentReserveMiB. AtLeast means that a job of this size ran, so the host had
	// as much or more.
	MiB     int
	AtLeast bool
	// AMI is the image of the host, as far as it was published; Source is where.
	AMI, Source string
}

// UsableMiB returns the memory that a job can certainly have: the least that a host of the type was
// seen to register (measured-memory.csv), or without a figure the nominal size less 4.5 % and
// 210 MiB; both less AgentReserveMiB. The formula is below every published figure: by 0 to 3 % on
// Nitro instances, by up to 9 % on the smallest of older generations.
func (t InstanceType) UsableMiB() int {
	least := 0
	for _, f := range t.measured {
		if !f.AtLeast && (least == 0 || f.MiB < least) {
			least = f.MiB
		}
	}
	if least == 0 {
		least = t.MemoryMiB*955/1000 - 210
		for _, f := range t.measured {
			least = max(least, f.MiB)
		}
	}
	return max(0, least-AgentReserveMiB)
}

// MostUsableMiB returns the memory above which no job can start. Between UsableMiB and this figure
// it depends on the AMI. It is the most that a host of the type was seen to register, if the AMI
// is known. Figures without an AMI are from kernels that have been replaced, so there, and without
// a figure, it is the bound for all hosts of that generation.
func (t InstanceType) MostUsableMiB() int {
	most := 0
	for _, f := range t.measured {
		if f.AMI == "" || f.AtLeast {
			most = max(most, f.MiB, t.generationMiB())
		}
		most = max(most, f.MiB)
	}
	if most == 0 {
		most = t.generationMiB()
	}
	return max(t.UsableMiB(), most-AgentReserveMiB)
}

// generationMiB is more than any host of the type's generation has after boot. A Linux kernel
// describes each page of 4 KiB in 64 bytes (Documentation/mm/memory-model), so it never offers more
// than 63/64 of the memory. On Nitro hosts of up to 512 GiB the firmware keeps more: the highest
// published figure is 0.967 of the nominal size.
func (t InstanceType) generationMiB() int {
	if t.isNitro() && t.MemoryMiB < 512*1024 {
		return t.MemoryMiB * 97 / 100
	}
	return t.MemoryMiB / 64 * 63
}

// isNitro reports whether the type is certainly of the Nitro system: from the fifth generation of
// the C, D, M and R families, the fourth of the G and P families, and Arm, AMD and Intel burstable
// types since T3. Other types get the wider bound.
func (t InstanceType) isNitro() bool {
	family, _, _ := strings.Cut(t.Name, ".")
	letters := strings.TrimRight(family, "abcdefghijklmnopqrstuvwxyz-")
	i := strings.IndexAny(letters, "0123456789")
	if i < 1 {
		return false
	}
	generation, err := strconv.Atoi(strings.TrimLeft(letters[i:], "-"))
	if err != nil {
		return false
	}
	first := map[string]int{"c": 5, "m": 5, "r": 5, "g": 4, "p": 4, "t": 3, "gr": 6, "hpc": 6, "inf": 1, "trn": 1,
		"a": 1, "i": 4, "x": 2, "is": 4, "im": 4, "vt": 1, "dl": 1}
	least, ok := first[letters[:i]]
	return ok && generation >= least
}

// memoryDoubt says how much memory a type has for jobs where that depends on the AMI.
func (t InstanceType) memoryDoubt() string {
	if len(t.measured) == 0 {
		return fmt.Sprintf("no figure is published for %s; hosts with %d MiB have between %d and %d MiB for jobs",
			t.Name, t.MemoryMiB, t.UsableMiB(), t.MostUsableMiB())
	}
	var seen []string
	for _, f := range t.measured {
		amount := MiB(f.MiB - AgentReserveMiB)
		if f.AtLeast {
			amount += " or more"
		}
		if f.AMI != "" {
			amount += " with " + f.AMI
		}
		seen = append(seen, amount+" ("+f.Source+")")
	}
	return fmt.Sprintf("jobs on %s had %s; other AMIs have up to %d MiB", t.Name, strings.Join(seen, ", "),
		t.MostUsableMiB())
}

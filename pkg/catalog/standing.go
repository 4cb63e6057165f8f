package catalog

// Items of a price file that cost money by the hour while they exist, used or not.
const (
	// NATGateway is one gateway, without its traffic.
	NATGateway = "nat-gateway"
	// PublicIPv4 is one address, in use or not.
	PublicIPv4 = "public-ipv4"
	// VPCEndpoint is an interface endpoint in one availability zone, without its traffic.
	VPCEndpoint = "vpc-endpoint"
)

// HourlyItems returns the items that cost money by the hour while they exist.
func HourlyItems() []string { return []string{NATGateway, PublicIPv4, VPCEndpoint} }

// Hourly returns the price of one of HourlyItems in US dollars an hour.
func (p *Prices) Hourly(region, item string) (usd float64, ok bool) {
	usd, ok = p.orCarried().regions[region][item]
	return usd, ok
}

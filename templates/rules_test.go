package templates

import "testing"

// An existing network must be named completely, because otherwise a new one would be created as well.
func TestExistingNetwork(t *testing.T) {
	const vpc, subnets, routes = "ExistingVpcId", "ExistingSubnetIds", "ExistingRouteTableIds"
	for _, test := range []struct {
		given   map[string]string
		allowed bool
	}{
		{nil, true},
		{map[string]string{vpc: "vpc-1", subnets: "subnet-1"}, true},
		{map[string]string{vpc: "vpc-1", subnets: "subnet-1", routes: "rtb-1"}, true},
		{map[string]string{vpc: "vpc-1"}, false},
		{map[string]string{subnets: "subnet-1"}, false},
		{map[string]string{routes: "rtb-1"}, false},
	} {
		allowed := true
		for _, rule := range section(parse(t, file("network")), "Rules") {
			for _, a := range list(at(rule, "Assertions")) {
				allowed = allowed && (!isTrue(t, at(rule, "RuleCondition"), test.given) || isTrue(t, at(a, "Assert"), test.given))
			}
		}
		if allowed != test.allowed {
			t.Errorf("%v: allowed is %v", test.given, allowed)
		}
	}
}

// isTrue evaluates a condition over parameters; those that are not given are "".
func isTrue(t *testing.T, condition any, given map[string]string) bool {
	t.Helper()
	if inner, ok := at(condition, "Fn::Not").([]any); ok {
		return !isTrue(t, inner[0], given)
	}
	sides, ok := at(condition, "Fn::Equals").([]any)
	if !ok {
		t.Fatalf("not known: %v", condition)
	}
	name, _ := at(sides[0], "Ref").(string)
	return given[name] == sides[1]
}

package lint

// consumableRules returns the rules about consumable resources, such as licences: the
// requests of jobs, and the CreateConsumableResource requests that create them.
func consumableRules() []*Rule {
	return []*Rule{
		row("consumable-list-max-5", High, in(definitions, "consumableResourceProperties.consumableResourceList"),
			atMost(5, "request fewer, or combine several into one resource"),
			"A job requests at most 5 consumable resources.", tried("ConsumableResourceProperties")),
		row("consumable-duplicate", Medium, in(definitions, "consumableResourceProperties.consumableResourceList"),
			distinct("consumableResource", "add the quantities up"),
			"A job names each consumable resource once.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("consumable-members", Medium, in(jobs, "consumableResourceProperties.consumableResourceList[]",
			"consumableResourcePropertiesOverride.consumableResourceList[]"),
			both(needs("consumableResource", "quantity: 1"), filledMember("consumableResource", `"licences"`)),
			"A request for a consumable resource names the resource and the quantity.",
			cfnReference+"AWS::Batch::JobDefinition ConsumableResourceRequirement").
			quoting("Required: Yes"),
		row("consumable-quantity-positive", Low,
			in(jobs, "consumableResourceProperties.consumableResourceList[].quantity",
				"consumableResourcePropertiesOverride.consumableResourceList[].quantity"),
			atLeast(1, "remove the entry if the job needs none"),
			"The documentation does not say what a quantity below 1 means.", derived),
		row("consumable-total-nonnegative", High, in(consumables, "totalQuantity"), atLeast(0, ""),
			"The total quantity of a resource is 0 or more.", tried("CreateConsumableResource.totalQuantity")),
		row("consumable-type-enum", High, in(consumables, "resourceType"), oneOf("REPLENISHABLE", "NON_REPLENISHABLE"),
			"A resource is REPLENISHABLE, if it is available again when its job ends, or NON_REPLENISHABLE.",
			api("CreateConsumableResource.resourceType")),
		row("consumable-resource-name-charset", Medium, in(consumables, "consumableResourceName"),
			like(lazy(`^[A-Za-z0-9_-]{1,128}$`), "1 to 128 "+nameCharset, ""),
			"The name of a consumable resource is 1 to 128 letters, digits, hyphens and underscores.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
	}
}

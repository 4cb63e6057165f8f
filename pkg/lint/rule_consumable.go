package lint

func consumableRules() []*Rule {
	return []*Rule{
		row("consumable-list-max-5", High, in(definitions, "consumableResourceProperties.consumableResourceList"), atMost(5, "ask for fewer, or put several into one resource"),
			"A job asks for at most 5 consumable resources.", tried("ConsumableResourceProperties")),
		row("consumable-duplicate", Medium, in(definitions, "consumableResourceProperties.consumableResourceList"), distinct("consumableResource", "add the quantities up"),
			"A job names each consumable resource once.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("consumable-members", Medium, in(jobs, "consumableResourceProperties.consumableResourceList[]", "consumableResourcePropertiesOverride.consumableResourceList[]"), needs("consumableResource", "quantity: 1"),
			"A demand on a consumable resource says which, and how much.", api("ConsumableResourceRequirement")),
		row("consumable-quantity-positive", Low, in(jobs, "consumableResourceProperties.consumableResourceList[].quantity", "consumableResourcePropertiesOverride.consumableResourceList[].quantity"),
			atLeast(1, "leave the resource out if the job needs none"), "Asking for none of a resource is not documented.", derived),
		row("consumable-total-nonnegative", High, in(consumables, "totalQuantity"), atLeast(0, ""),
			"There is no less than nothing of a resource.", tried("CreateConsumableResource.totalQuantity")),
		row("consumable-type-enum", High, in(consumables, "resourceType"), oneOf("REPLENISHABLE", "NON_REPLENISHABLE"),
			"A resource comes back when its job ends (REPLENISHABLE), or it does not.", api("CreateConsumableResource.resourceType")),
		row("consumable-resource-name-charset", Medium, in(consumables, "consumableResourceName"), like(lazy(`^[A-Za-z0-9_-]{1,128}$`), "1 to 128 "+nameCharset, ""),
			"The name of a consumable resource is 1 to 128 letters, digits, hyphens and underscores.", "answered so by the service in 2026-09 (cdk-preflight)"),
	}
}

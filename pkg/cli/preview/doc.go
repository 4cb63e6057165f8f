// Package preview shows what would happen: plan, cost, graph and verify.
package preview

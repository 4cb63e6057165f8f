// Package cloud manages the infrastructure below jobs: stacks, ECS tasks, hosts, and the local engine as a server.
package cloud

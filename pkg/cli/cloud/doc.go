// Package cloud manages what lies under the jobs: stacks, ECS tasks, hosts, and the local engine as a server.
package cloud

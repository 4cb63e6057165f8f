package batchapi

import (
	"github.com/batchctl/batchctl/pkg/local/api/call"
)

// API answers requests of AWS Batch.
type API struct {
	consumables         consumables
	definitions         definitions
	environments        environments
	jobs                jobs
	policies            policies
	queues              queues
	quotaShares         quotaShares
	serviceEnvironments serviceEnvironments
	serviceJobs         serviceJobs
	tags                tags
}

// New returns the AWS Batch of an engine.
func New(b Backend, settings Settings) *API {
	s := &service{Settings: settings, backend: b}
	return &API{consumables: consumables{s}, definitions: definitions{s}, environments: environments{s}, jobs: jobs{s},
		policies: policies{s},
		queues:   queues{s}, quotaShares: quotaShares{s}, serviceEnvironments: serviceEnvironments{s},
		serviceJobs: serviceJobs{s}, tags: tags{s}}
}

// Operations returns the handlers of the operations that the engine implements.
func (a *API) Operations() map[string]call.Handler {
	return map[string]call.Handler{
		"CancelJob":                    call.Serve(a.jobs.cancelJob),
		"CreateComputeEnvironment":     call.Serve(a.environments.createComputeEnvironment),
		"CreateConsumableResource":     call.Serve(a.consumables.createConsumableResource),
		"CreateJobQueue":               call.Serve(a.queues.createJobQueue),
		"CreateQuotaShare":             call.Serve(a.quotaShares.createQuotaShare),
		"CreateSchedulingPolicy":       call.Serve(a.policies.createSchedulingPolicy),
		"CreateServiceEnvironment":     call.Serve(a.serviceEnvironments.createServiceEnvironment),
		"DeleteComputeEnvironment":     call.Serve(a.environments.deleteComputeEnvironment),
		"DeleteConsumableResource":     call.Serve(a.consumables.deleteConsumableResource),
		"DeleteJobQueue":               call.Serve(a.queues.deleteJobQueue),
		"DeleteQuotaShare":             call.Serve(a.quotaShares.deleteQuotaShare),
		"DeleteSchedulingPolicy":       call.Serve(a.policies.deleteSchedulingPolicy),
		"DeleteServiceEnvironment":     call.Serve(a.serviceEnvironments.deleteServiceEnvironment),
		"DeregisterJobDefinition":      call.Serve(a.definitions.deregisterJobDefinition),
		"DescribeComputeEnvironments":  call.Serve(a.environments.describeComputeEnvironments),
		"DescribeConsumableResource":   call.Serve(a.consumables.describeConsumableResource),
		"DescribeJobDefinitions":       call.Serve(a.definitions.describeJobDefinitions),
		"DescribeJobQueues":            call.Serve(a.queues.describeJobQueues),
		"DescribeJobs":                 call.Serve(a.jobs.describeJobs),
		"DescribeQuotaShare":           call.Serve(a.quotaShares.describeQuotaShare),
		"DescribeSchedulingPolicies":   call.Serve(a.policies.describeSchedulingPolicies),
		"DescribeServiceEnvironments":  call.Serve(a.serviceEnvironments.describeServiceEnvironments),
		"DescribeServiceJob":           call.Serve(a.serviceJobs.describeServiceJob),
		"GetJobQueueSnapshot":          call.Serve(a.queues.getJobQueueSnapshot),
		"ListConsumableResources":      call.Serve(a.consumables.listConsumableResources),
		"ListJobs":                     call.Serve(a.jobs.listJobs),
		"ListJobsByConsumableResource": call.Serve(a.consumables.listJobsByConsumableResource),
		"ListQuotaShares":              call.Serve(a.quotaShares.listQuotaShares),
		"ListSchedulingPolicies":       call.Serve(a.policies.listSchedulingPolicies),
		"ListServiceJobs":              call.Serve(a.serviceJobs.listServiceJobs),
		"ListTagsForResource":          call.Serve(a.tags.listTagsForResource),
		"RegisterJobDefinition":        call.Serve(a.definitions.registerJobDefinition),
		"SubmitJob":                    call.Serve(a.jobs.submitJob),
		"SubmitServiceJob":             call.Serve(a.serviceJobs.submitServiceJob),
		"TagResource":                  call.Serve(a.tags.tagResource),
		"TerminateJob":                 call.Serve(a.jobs.terminateJob),
		"TerminateServiceJob":          call.Serve(a.serviceJobs.terminateServiceJob),
		"UntagResource":                call.Serve(a.tags.untagResource),
		"UpdateComputeEnvironment":     call.Serve(a.environments.updateComputeEnvironment),
		"UpdateConsumableResource":     call.Serve(a.consumables.updateConsumableResource),
		"UpdateJobQueue":               call.Serve(a.queues.updateJobQueue),
		"UpdateQuotaShare":             call.Serve(a.quotaShares.updateQuotaShare),
		"UpdateSchedulingPolicy":       call.Serve(a.policies.updateSchedulingPolicy),
		"UpdateServiceEnvironment":     call.Serve(a.serviceEnvironments.updateServiceEnvironment),
		"UpdateServiceJob":             call.Serve(a.serviceJobs.updateServiceJob),
	}
}

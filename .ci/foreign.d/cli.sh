#!/bin/sh
# What scripts do with the AWS CLI: cli.sh AWS [ENDPOINT]. Old versions read no endpoint from the environment.
set -eu
# shellcheck disable=SC2086 # two words, or none
call() { "$program" "$@" --output text $endpoint; }
program=$1
endpoint=${2:+--endpoint-url $2}
fail() {
	echo "$*"
	exit 1
}

call batch register-job-definition --job-definition-name cli --type container --container-properties \
	'{"image": "busybox", "vcpus": 1, "memory": 64, "command": ["echo", "Ref::who"]}' >/dev/null
first=$(call batch submit-job --job-name first --job-queue default --job-definition cli --parameters who=cli --query jobId)
# F1: a dependency on a plain job may have a type.
second=$(call batch submit-job --job-name second --job-queue default --job-definition cli:1 --parameters who=again --depends-on "jobId=$first,type=SEQUENTIAL" --query jobId)
for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	status=$(call batch describe-jobs --jobs "$first" "$second" --query 'jobs[].status')
	case $status in *SUBMITTED* | *PENDING* | *RUNN* | *STARTING*) [ "$turn" != 20 ] && sleep 0.5 ;; *) break ;; esac
done
[ "$(echo $status)" = "SUCCEEDED SUCCEEDED" ] || fail "status $status"
stream=$(call batch describe-jobs --jobs "$second" --query 'jobs[0].container.logStreamName')
[ "$(call logs get-log-events --log-group-name /aws/batch/job --log-stream-name "$stream" --query 'events[].message')" = again ] || fail "no log"
[ "$(call batch list-jobs --job-queue default --job-status SUCCEEDED --page-size 1 --query 'length(jobSummaryList)' | tail -n 1)" != 0 ] || fail "no job listed"
# The skeleton that the CLI generates has an empty value for every member.
[ -n "$(call batch list-jobs --cli-input-json "$("$program" batch list-jobs --generate-cli-skeleton | sed -e 's/"jobQueue": "[^"]*"/"jobQueue": "default"/' -e 's/"jobStatus": "[^"]*"/"jobStatus": "SUCCEEDED"/' \
	-e 's/"maxResults": 0/"maxResults": 9/' -e '/"filters"/,/^    \]/c "filters": []')" --query 'jobSummaryList[].jobId')" ] || fail "a skeleton lists nothing"
# F8: another service is named as what is missing, without a retry.
said=$("$program" sts get-caller-identity --endpoint-url "$AWS_ENDPOINT_URL_BATCH" 2>&1) && fail "STS answers"
case $said in *"does not implement sts"*) ;; *) fail "STS: $said" ;; esac
# F10: AWS's words for two filters.
said=$(call batch list-jobs --job-queue default --filters name=JOB_NAME,values=a name=JOB_DEFINITION,values=b 2>&1) && fail "two filters are accepted"
case $said in *"Only one filter key-value pair can be specified."*) ;; *) fail "two filters: $said" ;; esac
call batch deregister-job-definition --job-definition cli:1 >/dev/null

// Synthesises stacks with every construct of aws-cdk-lib/aws-batch, and with the members of the
// newest API in its CloudFormation types. The argument is the output folder.
const cdk = require('aws-cdk-lib');
const { aws_batch: batch, aws_ec2: ec2, aws_ecs: ecs, aws_efs: efs, aws_eks: eks, aws_iam: iam, aws_secretsmanager: secrets } = cdk;

const app = new cdk.App({ outdir: process.argv[2], analyticsReporting: false });
const image = ecs.ContainerImage.fromRegistry('public.ecr.aws/docker/library/busybox:1.37');
const stack = (name, build) => {
  const s = new cdk.Stack(app, name);
  build(s, () => new ec2.Vpc(s, 'Vpc'));
};
const hour = cdk.Duration.hours(1);

stack('Ec2', (s, vpc) => {
  const environment = new batch.ManagedEc2EcsComputeEnvironment(s, 'Environment', { vpc: vpc(), maxvCpus: 64, instanceTypes: [ec2.InstanceType.of(ec2.InstanceClass.M5, ec2.InstanceSize.LARGE)] });
  new batch.JobQueue(s, 'Queue', { computeEnvironments: [{ computeEnvironment: environment, order: 1 }], priority: 10 });
  const container = new batch.EcsEc2ContainerDefinition(s, 'Container', {
    image, cpu: 1, memory: cdk.Size.mebibytes(2048), command: ['true'], privileged: false,
    environment: { LEVEL: 'info' }, ulimits: [{ name: batch.UlimitName.NOFILE, hardLimit: 1024, softLimit: 1024 }],
    linuxParameters: new batch.LinuxParameters(s, 'Linux', { sharedMemorySize: cdk.Size.mebibytes(64), maxSwap: cdk.Size.mebibytes(128), swappiness: 10 }),
    secrets: { TOKEN: batch.Secret.fromSecretsManager(new secrets.Secret(s, 'Token')) },
    volumes: [batch.EcsVolume.host({ name: 'scratch', containerPath: '/scratch', hostPath: '/tmp' })],
  });
  const definition = new batch.EcsJobDefinition(s, 'Job', { container, timeout: hour, retryAttempts: 3, retryStrategies: [batch.RetryStrategy.of(batch.Action.RETRY, batch.Reason.SPOT_INSTANCE_RECLAIMED), batch.RetryStrategy.of(batch.Action.EXIT, batch.Reason.custom({ onReason: '*' }))] });
  definition.grantSubmitJob(new iam.User(s, 'User'), new batch.JobQueue(s, 'Second', { computeEnvironments: [{ computeEnvironment: environment, order: 1 }] }));
});

stack('Spot', (s, vpc) => {
  const environment = new batch.ManagedEc2EcsComputeEnvironment(s, 'Environment', { vpc: vpc(), spot: true, spotBidPercentage: 80, useOptimalInstanceClasses: true });
  new batch.JobQueue(s, 'Queue', { computeEnvironments: [{ computeEnvironment: environment, order: 1 }] });
});

stack('Gpu', (s, vpc) => {
  const environment = new batch.ManagedEc2EcsComputeEnvironment(s, 'Environment', {
    vpc: vpc(), maxvCpus: 64, useOptimalInstanceClasses: false, instanceTypes: [ec2.InstanceType.of(ec2.InstanceClass.G5, ec2.InstanceSize.XLARGE)],
    images: [{ imageType: batch.EcsMachineImageType.ECS_AL2023_NVIDIA }],
  });
  new batch.JobQueue(s, 'Queue', { computeEnvironments: [{ computeEnvironment: environment, order: 1 }] });
  new batch.EcsJobDefinition(s, 'Job', { timeout: hour, container: new batch.EcsEc2ContainerDefinition(s, 'Container', { image, cpu: 4, gpu: 1, memory: cdk.Size.mebibytes(12000) }) });
});

stack('Fargate', (s, vpc) => {
  const network = vpc();
  const environment = new batch.FargateComputeEnvironment(s, 'Environment', { vpc: network, spot: true });
  new batch.JobQueue(s, 'Queue', { computeEnvironments: [{ computeEnvironment: environment, order: 1 }] });
  const fileSystem = new efs.FileSystem(s, 'Files', { vpc: network });
  new batch.EcsJobDefinition(s, 'Job', { timeout: hour, container: new batch.EcsFargateContainerDefinition(s, 'Container', {
    image, cpu: 1, memory: cdk.Size.mebibytes(2048), ephemeralStorageSize: cdk.Size.gibibytes(50), fargatePlatformVersion: ecs.FargatePlatformVersion.LATEST,
    fargateCpuArchitecture: ecs.CpuArchitecture.ARM64, assignPublicIp: true, volumes: [batch.EcsVolume.efs({ name: 'files', containerPath: '/files', fileSystem })],
  }) });
});

stack('Nodes', (s, vpc) => {
  const environment = new batch.ManagedEc2EcsComputeEnvironment(s, 'Environment', { vpc: vpc(), maxvCpus: 256, useOptimalInstanceClasses: false, instanceTypes: [new ec2.InstanceType('c5.xlarge')] });
  new batch.JobQueue(s, 'Queue', { computeEnvironments: [{ computeEnvironment: environment, order: 1 }] });
  new batch.MultiNodeJobDefinition(s, 'Job', { timeout: hour, instanceType: new ec2.InstanceType('c5.xlarge'), mainNode: 0, containers: [
    { startNode: 0, endNode: 0, container: new batch.EcsEc2ContainerDefinition(s, 'Main', { image, cpu: 2, memory: cdk.Size.mebibytes(2048) }) },
    { startNode: 1, endNode: 3, container: new batch.EcsEc2ContainerDefinition(s, 'Worker', { image, cpu: 2, memory: cdk.Size.mebibytes(2048) }) },
  ] });
});

stack('Eks', (s, vpc) => {
  const environment = new batch.ManagedEc2EksComputeEnvironment(s, 'Environment', {
    vpc: vpc(), kubernetesNamespace: 'batch', eksCluster: eks.Cluster.fromClusterAttributes(s, 'Cluster', { clusterName: 'cluster' }),
    instanceTypes: [ec2.InstanceType.of(ec2.InstanceClass.M5, ec2.InstanceSize.LARGE)], maxvCpus: 64,
  });
  new batch.JobQueue(s, 'Queue', { computeEnvironments: [{ computeEnvironment: environment, order: 1 }] });
  new batch.EksJobDefinition(s, 'Job', { timeout: hour, serviceAccount: 'runner', container: new batch.EksContainerDefinition(s, 'Container', {
    image, cpuLimit: 1, memoryLimit: cdk.Size.mebibytes(512), command: ['true'], volumes: [batch.EksVolume.emptyDir({ name: 'scratch', mountPath: '/scratch' })],
  }) });
});

stack('FairShare', (s, vpc) => {
  const schedulingPolicy = new batch.FairshareSchedulingPolicy(s, 'Policy', { computeReservation: 20, shareDecay: hour, shares: [{ shareIdentifier: 'team*', weightFactor: 0.5 }] });
  const environment = new batch.ManagedEc2EcsComputeEnvironment(s, 'Environment', { vpc: vpc(), useOptimalInstanceClasses: true });
  new batch.JobQueue(s, 'Queue', { schedulingPolicy, computeEnvironments: [{ computeEnvironment: environment, order: 1 }] });
  new batch.UnmanagedComputeEnvironment(s, 'Own', { unmanagedvCPUs: 64 });
});

// The CloudFormation types, with the members of 2026.
stack('Newest', (s, vpc) => {
  const network = vpc();
  const role = (name, service) => new iam.Role(s, name, { assumedBy: new iam.ServicePrincipal(service) });
  const environment = new batch.CfnComputeEnvironment(s, 'Environment', {
    type: 'managed', ecsSettings: { containerInsights: 'enhanced' },
    computeResources: {
      type: 'ECS_MANAGED_INSTANCES', maxvCpus: 64, capacityTags: { Team: 'research' },
      managedInstancesProvider: {
        infrastructureRoleArn: role('Infrastructure', 'ecs.amazonaws.com').roleArn, propagateTags: 'CAPACITY_PROVIDER',
        instanceLaunchTemplate: {
          ec2InstanceProfileArn: 'arn:aws:iam::123456789012:instance-profile/hosts', capacityOptionType: 'ON_DEMAND', instanceRequirements: { allowedInstanceTypes: ['m7g.large'] },
          networkConfiguration: { subnets: network.privateSubnets.map((n) => n.subnetId), securityGroups: ['sg-0123456789abcdef0'] }, storageConfiguration: { storageSizeGiB: 100 },
        },
      },
    },
  });
  new batch.CfnJobQueue(s, 'Queue', { priority: 1, jobQueueType: 'ecs_managed_instances', computeEnvironmentOrder: [{ order: 1, computeEnvironment: environment.attrComputeEnvironmentArn }] });
  new batch.CfnJobDefinition(s, 'Job', {
    type: 'Container', platformCapabilities: ['MANAGED_INSTANCES'], timeout: { attemptDurationSeconds: 3600 },
    ecsProperties: { taskProperties: [{ networkMode: 'host', executionRoleArn: role('Execution', 'ecs-tasks.amazonaws.com').roleArn, containers: [{ name: 'main', image: 'public.ecr.aws/docker/library/busybox:1.37', resourceRequirements: [{ type: 'VCPU', value: '1' }, { type: 'MEMORY', value: '512' }] }] }] },
  });
  const service = new batch.CfnServiceEnvironment(s, 'Service', { serviceEnvironmentType: 'SAGEMAKER_TRAINING', capacityLimits: [{ maxCapacity: 4, capacityUnit: 'NUM_INSTANCES' }] });
  new batch.CfnJobQueue(s, 'Training', { priority: 1, jobQueueType: 'SAGEMAKER_TRAINING', serviceEnvironmentOrder: [{ order: 1, serviceEnvironment: service.attrServiceEnvironmentArn }] });
  new batch.CfnConsumableResource(s, 'Licences', { resourceType: 'REPLENISHABLE', totalQuantity: 4 });
  new batch.CfnSchedulingPolicy(s, 'Policy', { fairsharePolicy: { shareDecaySeconds: 600, shareDistribution: [{ shareIdentifier: 'a', weightFactor: 1 }] } });
});

app.synth();
